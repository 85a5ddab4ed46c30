/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_WORKLOAD_DISPATCHER_H
#define ALLREDUCE_WORKLOAD_DISPATCHER_H

#include "dispatcher.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Says which workload of some rounds can begin: what it needs has arrived, its receiver has
 * granted it, and its port is free.
 *
 * Every port of a server, out and in, takes its workloads in the order of the rounds, as many at a
 * time as it has the rate for (see ComputeWorkloadRates). A receiver grants a workload when it is
 * its turn at the port where it comes in, as rendezvous protocols do. Without this servers that
 * are ahead would crowd the ports of those that are behind. A sender begins when the grant is there
 * and it is the workload's turn at the port where it goes out. A direct link has one queue, the
 * receiver's. Links in the middle of a path have no queue. Where links differ in their rates, a
 * workload that lacks nothing else begins when those that have begun leave it its rate on them:
 * fast ports would fill the queues of slow links between switches. It begins at once where all
 * links are equally fast, and where grants are messages, since none tells what others send there.
 *
 * A workload waits until all workloads of its chunk that come to its sender in earlier rounds have
 * been completed. A reduce that has arrived is completed, that is, merged into what its receiver
 * holds, when the receiver has begun what it sends of that chunk in this round and in earlier ones,
 * lest that carries away more than was planned.
 *
 * All comes to an end, whatever is in a round: sort what is to happen by round, in a round the
 * beginnings before the completions, and the beginnings by their position. The first thing that has
 * not happened waits only for what comes before it, and has happened, and for what has begun to get
 * through the network. For a beginning waits for completions of earlier rounds and for those before
 * it at its ports, a completion for beginnings of no later round. What it finds in the middle of
 * its path has begun, and no more can begin than there is. Were reduces to begin only when the
 * receiver has begun what it sends in the same round, two servers that exchange what they hold
 * would wait for each other.
 *
 * The rounds of a plan give the workloads the freedom of the network; a single round gives the
 * barrier.
 */
class WorkloadDispatcher : public Dispatcher
{
  public:
    /**
     * @param topology the network, which must outlive the dispatcher
     * @param grantsAtOnce whether grants arrive as soon as they are given; if not, FindGrant says
     * which there are, and Grant that they have arrived
     */
    WorkloadDispatcher(const Topology& topology, bool grantsAtOnce);

    /**
     * Take on rounds; those before must be over.
     *
     * @param rounds the rounds
     */
    void Load(std::vector<WorkloadList> rounds);

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

    /**
     * @param round a round
     * @return its workloads
     */
    const WorkloadList& GetWorkloads(uint32_t round) const;

    /**
     * @param index a workload
     * @return whether it has begun
     */
    bool HasBegun(uint32_t index) const;

  private:
    /// A workload and what it waits for.
    struct Entry
    {
        uint32_t round;                    //!< its round
        uint32_t position;                 //!< from 0, in the round
        uint64_t rateBps;                  //!< what it gets of the links on its path
        std::optional<DirectedLinkId> out; //!< the first link of its path, unless it is the last
        DirectedLinkId in;                 //!< the last link of its path
        uint32_t nBeginBlockers{0};        //!< what has to be complete before it begins
        uint32_t nCompletionBlockers{0};   //!< what has to begin before it is complete
        bool isGranted{false};             //!< the grant has arrived
        bool hasBegun{false};              //!< BeginNext has returned it
        bool holdsPorts{false};            //!< has begun and not sent everything
        bool hasArrived{false};            //!< and is complete or is to be
        std::vector<uint32_t> afterCompletion; //!< those that begin when it is complete
        std::vector<uint32_t> afterBegin;      //!< those that are completed after it has begun
    };

    /// A port of a server in one direction.
    struct PortQueue
    {
        std::deque<uint32_t> waiting; //!< workloads in order
        std::deque<uint32_t> granted; //!< in: those that were granted, in order
        uint64_t busyBps{0};          //!< what is taken of its rate

        /// Forget all, keep the memory.
        void Clear()
        {
            waiting.clear();
            granted.clear();
            busyBps = 0;
        }
    };

    /// A link in one direction as the middle of paths.
    struct InnerLink
    {
        uint64_t busyBps{0};        //!< what is taken of its rate by those that have begun
        std::set<uint32_t> blocked; //!< those that lack nothing but room here
    };

    /// How far a round has come.
    struct RoundCount
    {
        uint32_t nBegun{0};     //!< workloads that have begun
        uint32_t nCompleted{0}; //!< workloads that are complete
    };

    void AddEntries();
    /// Let the workload that is the next entry wait for a port.
    void AddWaiting(DirectedLinkId port);
    void AddBlockers();
    void AddIfCompletable(uint32_t index);
    bool HasRoom(DirectedLinkId port, uint32_t index) const;
    /// Call with the links of a workload's path that are no ports of its ends.
    template <typename Call>
    void ForEachInnerLink(uint32_t index, Call call) const;
    /// @return whether these have room; if not, the workload waits at the first that has none
    bool IsWayFree(uint32_t index);
    void TakeWay(uint32_t index);
    void FreeWay(uint32_t index);
    void GiveGrants(DirectedLinkId port);
    bool IsReady(uint32_t index) const;
    void AddIfReady(uint32_t index);
    void AddReadyAt(DirectedLinkId port);
    void AddReadyAtPorts(uint32_t index);

    const Topology& m_topology;              //!< the network
    bool m_grantsAtOnce;                     //!< grants need no time
    std::vector<WorkloadList> m_rounds;      //!< the rounds
    std::vector<Entry> m_entries;            //!< by index
    std::vector<PortQueue> m_ports;          //!< by directed link
    std::vector<InnerLink> m_inner;          //!< by directed link; empty: nobody waits for them
    std::vector<DirectedLinkId> m_usedPorts; //!< those that any workload takes, ascending
    std::vector<RoundCount> m_counts;        //!< by round
    std::deque<uint32_t> m_grants;           //!< what FindGrant is to return
    std::deque<uint32_t> m_ready;            //!< workloads that were ready when noted
    std::deque<uint32_t> m_completable;      //!< what CompleteNext is to return
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_WORKLOAD_DISPATCHER_H */
