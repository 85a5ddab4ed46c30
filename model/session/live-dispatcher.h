/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LIVE_DISPATCHER_H
#define ALLREDUCE_LIVE_DISPATCHER_H

#include "dispatcher.h"
#include "workload-dispatcher.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"
#include "ns3/live-view.h"
#include "ns3/nstime.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Follows a plan as long as the network is what was announced; from the first surprise on it
 * asks a scheduler what a port of a server does next, whenever the port has rate left.
 *
 * What the plan has begun until then goes on. A transfer that is chosen takes what its path has
 * left of the believed rates. It is sent faster if links were announced to be faster: else nobody
 * would see that a link is not slow any more. Then it keeps its links until it has arrived, since
 * what has been sent waits in queues. Ports are asked about when a transfer has left them, when
 * data has arrived at their server, and all of them when something has happened that no transfer
 * brought about.
 *
 * There are no rounds. For traces and pages a round is what begins within the time in which a chunk
 * crosses the fastest link.
 */
class LiveDispatcher : public Dispatcher
{
  public:
    /**
     * @param announced the network as it is announced, which must outlive this
     * @param scheduler whom to ask
     * @param state how far the collective has come, which must outlive this
     * @param chunkBytes size of a chunk
     */
    LiveDispatcher(const Topology& announced,
                   Ptr<AllReduceScheduler> scheduler,
                   const AllReduceState& state,
                   uint64_t chunkBytes);

    /**
     * Begin, or go on when nothing was under way.
     *
     * @param plan what somebody has planned for the announced network; no workloads: nobody has
     */
    void Begin(std::vector<WorkloadList> plan);

    /// What was under way is over; nothing begins before Begin.
    void Clear();

    /// @return the plan that is followed, as far as it has come; nullptr: none
    const WorkloadDispatcher* GetFollowed() const;

    /// @return by round: what has begun since Begin
    std::vector<WorkloadList> ListRounds() const;

    /// @param believedBps by directed link: the rate that it seems to have, without regard to links
    /// that are down and servers that are not ready
    void SetBelieved(const std::vector<uint64_t>& believedBps);

    /// @param server a server @param isReady whether it takes part
    void SetReady(NodeId server, bool isReady);

    /// Something has happened that no transfer brought about: the scheduler begins anew.
    void NotifySurprise();

    /// @param index a workload that was aborted
    void Drop(uint32_t index);

    /// @return by directed link: the believed rate; 0 where nothing can be sent
    const std::vector<uint64_t>& GetBelievedBps() const;

    std::optional<uint32_t> FindGrant() override;
    void Grant(uint32_t index) override;
    std::optional<uint32_t> BeginNext() override;
    void FreePorts(uint32_t index) override;
    void NotifyArrived(uint32_t index) override;
    std::optional<uint32_t> CompleteNext() override;
    void Halt() override;
    Workload Get(uint32_t index) const override;
    uint32_t GetRound(uint32_t index) const override;
    uint32_t GetPosition(uint32_t index) const override;
    uint64_t GetRate(uint32_t index) const override;
    uint64_t GetExpectedRate(uint32_t index) const override;
    uint32_t GetSize() const override;
    uint32_t GetNRounds() const override;
    uint32_t GetNBegun(uint32_t round) const override;
    bool IsRoundOver(uint32_t round) const override;

  private:
    /// A transfer that has begun.
    struct Entry
    {
        ChosenTransfer transfer;           //!< what goes where
        uint32_t planned{0};               //!< its index in the plan, if it is of one
        std::vector<DirectedLinkId> links; //!< of its path
        uint32_t round{0};                 //!< in which it began
        uint32_t position{0};              //!< in that round
        uint64_t rateBps{0};               //!< that it is believed to get
        uint64_t paceBps{0};               //!< at which it is sent
        std::vector<double> taken;         //!< by link of its path: the share that it takes
        bool holdsPorts{true};             //!< has not sent everything
        bool isTrailing{false};            //!< has sent everything, and not arrived
        bool hasArrived{false};            //!< it was not aborted so far
        uint32_t underWay{0};              //!< index in the list of those under way
    };

    /// How far a round has come.
    struct RoundCount
    {
        uint32_t nBegun{0};     //!< transfers that have begun
        uint32_t nCompleted{0}; //!< transfers that are complete
    };

    LiveView GetView() const;
    bool IsLastRoundPast() const;
    /// @return whether links are believed to be as announced, and all servers are ready
    bool IsAsAnnounced() const;
    std::optional<uint32_t> FollowPlan();
    std::optional<uint32_t> CompleteInPlan();
    /// What the plan has begun goes on.
    void LeavePlan();
    void UpdateBelieved();
    void UpdateFree(DirectedLinkId link);
    /// A transfer's links are free for others.
    void GiveBackLinks(Entry& entry);
    /// A transfer that has sent everything has arrived, or was aborted.
    void EndTrail(Entry& entry);
    void AskPort(DirectedLinkId port);
    void AskPortsOf(NodeId server);
    void AskAllPorts();
    bool HasRateLeft(DirectedLinkId port) const;
    uint32_t AddChosen(ChosenTransfer&& transfer);
    uint32_t AddPlanned(uint32_t planned);
    Entry MakeEntry(ChosenTransfer&& transfer) const;
    /// It begins. @return its index
    uint32_t Add(Entry&& entry);
    void FindRates(Entry& entry) const;
    void TakeLinks(Entry& entry);
    void BeginTrail(Entry& entry);
    /// It has arrived, or was aborted.
    void EndTransfer(uint32_t index);
    void NotifyScheduler();

    const Topology& m_topology;                     //!< as announced
    Ptr<AllReduceScheduler> m_scheduler;            //!< whom to ask
    const AllReduceState& m_state;                  //!< how far the collective has come
    const uint64_t m_chunkBytes;                    //!< size of a chunk
    Time m_roundLength;                             //!< of rounds for traces and pages
    Time m_begin;                                   //!< when the collective began
    Time m_lastRoundBegin;                          //!< when the last round began
    std::unique_ptr<WorkloadDispatcher> m_followed; //!< the plan; none: the scheduler is asked
    std::vector<uint32_t> m_entryOf;                //!< by index in the plan, of what has begun
    bool m_hasAsked{false};                         //!< the scheduler knows the collective
    std::vector<uint64_t> m_announcedBps;           //!< by directed link
    std::vector<uint64_t> m_seemingBps;             //!< by directed link: see SetBelieved
    std::vector<uint64_t> m_believedBps;            //!< by directed link: see LiveView
    std::vector<uint64_t> m_freeBps;                //!< by directed link: see LiveView
    std::vector<double> m_taken;                    //!< by directed link: share of its rate
    std::vector<uint64_t> m_pacedBps;               //!< by directed link: what is sent over it
    std::vector<uint32_t> m_nTrailing;              //!< by directed link: see Entry
    std::vector<bool> m_isReady;                    //!< by server
    std::deque<Entry> m_entries;                    //!< by index
    std::vector<TransferUnderWay> m_underWay;       //!< see LiveView
    std::vector<uint32_t> m_underWayIndices;        //!< of these, in the same order
    std::vector<RoundCount> m_counts;               //!< by round
    std::deque<DirectedLinkId> m_ask;               //!< ports to ask about
    std::vector<bool> m_isToAsk;                    //!< by directed link: it is among them
    std::vector<uint32_t> m_completable;            //!< what CompleteNext is to return
    std::vector<uint32_t> m_arrived;                //!< complete, and the scheduler is to be told
    bool m_isSurprised{false};                      //!< the scheduler is to begin anew
    bool m_isHalted{true};                          //!< nothing more begins
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LIVE_DISPATCHER_H */
