/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COLLECTIVE_RUN_H
#define ALLREDUCE_COLLECTIVE_RUN_H

#include "allreduce-application.h"
#include "allreduce-session.h"
#include "collective-progress.h"
#include "control-plane.h"
#include "cut-off-watch.h"
#include "transfer-numbers.h"
#include "workload-dispatcher.h"

#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/round-prover.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Runs the collectives of a session on the network, one at a time: gets rounds from the
 * prover, emits their workloads as flows, and goes on when they have arrived.
 *
 * The dispatcher says which workloads may begin, the control plane carries what servers tell each
 * other, the progress says how far the collective has come. This class moves flows between them,
 * and decides what happens when rounds are over, links change, or nothing arrives any more.
 */
class CollectiveRun
{
  public:
    /// How a collective is to be run.
    struct Settings
    {
        uint32_t number{0};       //!< of the collective in the session, from 0
        uint64_t bytes{0};        //!< size of all chunks
        bool hasBarriers{true};   //!< a round begins when the one before is over
        bool usesMessages{false}; //!< servers agree by messages
        bool verifiesData{false}; //!< flows carry real numbers
        Time watchdog{Time(0)};   //!< fail if nothing arrives for so long; 0: the transport knows
    };

    /// Who is told what happens.
    struct Owner
    {
        std::function<void(uint32_t)> roundStarted;     //!< a round's number
        std::function<void(uint32_t, Time)> roundEnded; //!< the same and how long it took
        std::function<void(uint32_t, const std::vector<WorkloadList>&)>
            handedOut; //!< rounds are about to begin: the number of the first, and the rounds
        std::function<void(uint32_t, const std::string&)>
            replanned;                  //!< from which round on, and by whom
        std::function<void(Time)> done; //!< the collective is over; how long it took
        std::function<void(const std::string&)> failed; //!< and why
        std::function<void()> stopped;                  //!< all ranks stop now
    };

    /**
     * @param network where
     * @param scheduler who plans
     * @param transport what carries the workloads
     * @param collective what is to be summed where
     * @param applications by server: its part; must outlive this
     * @param owner who is told what happens
     */
    CollectiveRun(Ptr<AllReduceNetwork> network,
                  Ptr<AllReduceScheduler> scheduler,
                  Ptr<AllReduceTransport> transport,
                  Collective collective,
                  const std::vector<AllReduceApplication*>& applications,
                  Owner owner);

    CollectiveRun(const CollectiveRun&) = delete;
    CollectiveRun& operator=(const CollectiveRun&) = delete;

    /// @param settings how to run the collective that begins now
    void Begin(const Settings& settings);

    /// Give up; nothing happens any more.
    void Close();

    /// The simulation is over: let go of the network.
    void Dispose();

    /// The collective is over here: tell all ranks when to stop.
    void EndAllRanks();

    /// @return what gives the rounds
    RoundProver& GetProver();

    /// @return when each round of the last collective was
    const std::vector<AllReduceSession::RoundTimes>& GetRoundTimes() const;

    /// @return how long they took
    const std::vector<Time>& GetRoundDurations() const;

    /// @return when the last collective began
    Time GetBegin() const;

    /// @return how many flows were aborted
    uint32_t GetNAborted() const;

    /// @return how many grants, tokens and releases were sent
    uint64_t GetNMessages() const;

    /// @return how much of the present collective is done, 0 to 1; none if there is none
    std::optional<double> GetShareDone() const;

  private:
    /// A workload that has begun and not landed.
    struct Flow
    {
        uint32_t index;                        //!< its index at the dispatcher
        CollectiveProgress::Transfer transfer; //!< what is under way with it
        AllReduceFlow watched;                 //!< what can be watched
        std::vector<DirectedLinkId> links;     //!< those it crosses
        Bytes arrived;                         //!< what has arrived, if that matters
    };

    // Rounds: collective-run.cc
    void GoOn();
    void EndRounds();
    std::vector<WorkloadList> GetNextRounds();
    void NumberTransfers();
    void Prepare();
    void NotePrepared(NodeId server);
    std::vector<TransferPlan> FindFirstTransfers() const;
    void AddFirstMessages(std::vector<TransferPlan>& transfers) const;
    void BeginRounds();
    void NoteBarrierOver();
    void NoteNothingUnderWay();
    void ComeTogether();
    void PlanBarrier();
    void NoteRoundBegun(uint32_t round);
    void NoteRoundEnded(uint32_t round);
    void NoteLinkChanged(LinkId link, bool isUp);
    void GoOnSoon();
    void End();
    void Fail(const std::string& reason);
    void CheckProgress();
    Time GetPatience() const;
    std::string DescribeStuck() const;

    // Flows: collective-run-flows.cc
    void BeginWorkloads();
    void BeginWorkload(uint32_t index);
    void GiveGrants();
    void NoteGranted(const std::vector<uint32_t>& indices);
    Flow MakeFlow(uint32_t index);
    Flow TakeFlow(TransferId transfer);
    void Emit(TransferId transfer, const Workload& workload, const Flow& flow);
    void DeliverEmpty(TransferId transfer);
    void NoteSent(TransferId transfer);
    void NoteDelivered(TransferId transfer, const Bytes& data);
    void NoteMessage(TransferId transfer);
    void LandArrived();
    void Finish(const Flow& flow);
    void AbortFlowsOver(LinkId link);
    uint64_t GetBytesOf(ChunkId chunk) const;
    bool IsHere(NodeId server) const;

    // Where several ranks simulate the network: collective-run-ranks.cc
    void BeginEverywhere();
    void EndEverywhere();
    std::optional<IncomingTransfer> FindIncoming(TransferId transfer);
    void NoteBarrierMessage(TransferId transfer, const Bytes& data);
    void StopAt(Time stop);
    Time GetEndMargin() const;
    bool AwaitsOthers() const;

    Ptr<AllReduceNetwork> m_network;                          //!< where
    Ptr<AllReduceTransport> m_transport;                      //!< what carries the workloads
    Collective m_collective;                                  //!< what is to be summed where
    Owner m_owner;                                            //!< who is told what happens
    const std::vector<AllReduceApplication*>& m_applications; //!< by server
    Settings m_settings;                                      //!< of the present collective
    RoundProver m_prover;                                     //!< gives the rounds
    ControlPlane m_control;                                   //!< grants, tokens and releases
    CutOffWatch m_cutOff;                                     //!< whether servers can go on
    std::unique_ptr<CollectiveProgress> m_progress;           //!< how far the collective has come
    std::unique_ptr<WorkloadDispatcher> m_dispatcher;         //!< the rounds under way
    std::map<TransferId, Flow> m_flows;                       //!< the workloads under way
    std::map<uint32_t, Flow> m_arrivals;                      //!< by index: arrived and not landed
    TransferId m_nextTransfer{0};           //!< the name of the next flow or message
    std::vector<WorkloadList> m_nextRounds; //!< they begin when the transport is ready
    uint32_t m_firstRound{0};               //!< number of the dispatcher's first round
    std::vector<AllReduceSession::RoundTimes> m_roundTimes; //!< by round
    std::vector<Time> m_roundDurations;                     //!< by round
    bool m_isRunning{false};                                //!< a collective is under way
    bool m_isClosed{false};                                 //!< see Close
    bool m_isHalted{false};                                 //!< the rounds were cut short
    bool m_isPrepared{false};                               //!< the transport knows the paths
    bool m_isGathering{false};                              //!< servers say when they are prepared
    bool m_hasGathered{false};                              //!< so server 0 begins the first round
    uint32_t m_nPrepared{0};                                //!< servers that are
    bool m_hasBegun{false};                                 //!< the clock of the collective runs
    Time m_begin;                                           //!< of the present collective
    Time m_lastArrival;                                     //!< when there last was progress
    EventId m_watch;                                        //!< looks for progress
    EventId m_next;                                         //!< goes on
    uint32_t m_nAborted{0};                                 //!< see GetNAborted

    // Where several ranks simulate the network
    std::unique_ptr<TransferNumbers> m_numbers; //!< names of transfers; none in one process
    /// By index: what has begun anywhere and not ended.
    std::vector<std::optional<CollectiveProgress::Transfer>> m_begun;
    std::vector<bool> m_isDelivered; //!< by transfer: from another rank, or a message
    uint32_t m_nAwaited{0};          //!< workloads to servers here in this round
    bool m_isStopKnown{false};       //!< servers here know when all stop
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_COLLECTIVE_RUN_H */
