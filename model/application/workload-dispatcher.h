/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_WORKLOAD_DISPATCHER_H
#define ALLREDUCE_WORKLOAD_DISPATCHER_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Says which workload of some rounds can begin: what it needs has arrived and its ports are
 * free.
 *
 * Every port of a server, out and in, takes its workloads in the order of the rounds, as many at a
 * time as it has the rate for (see ComputeWorkloadRates): a receiver lets a sender begin when it is
 * its turn, as rendezvous protocols do. Without this servers that are ahead would crowd the ports of those that are behind. A
 * workload waits for all workloads of its chunk that come to its sender in earlier rounds. A reduce
 * also waits until its receiver has begun what it sends of that chunk in earlier rounds, lest that
 * carries away more than was planned. So nothing waits for a later round, and all comes to an end.
 *
 * The rounds of a plan give the workloads the freedom of the network; a single round gives the
 * barrier.
 */
class WorkloadDispatcher
{
  public:
    /// @param topology the network, which must outlive the dispatcher
    explicit WorkloadDispatcher(const Topology& topology);

    /**
     * Take on rounds; those before must be over.
     *
     * @param rounds the rounds
     */
    void Load(std::vector<WorkloadList> rounds);

    /// @return a workload that can begin now, and has begun with that; none if there is none
    std::optional<uint32_t> BeginNext();

    /**
     * A workload's sender has sent everything.
     *
     * @param index what BeginNext returned
     */
    void FreePorts(uint32_t index);

    /**
     * A workload has arrived; its ports are free, too.
     *
     * @param index what BeginNext returned
     */
    void Finish(uint32_t index);

    /// Let no more workloads begin.
    void Halt();

    /**
     * @param index a workload
     * @return the workload
     */
    Workload Get(uint32_t index) const;

    /**
     * @param index a workload
     * @return its round, from 0
     */
    uint32_t GetRound(uint32_t index) const;

    /**
     * @param index a workload
     * @return its place in its round
     */
    uint32_t GetPosition(uint32_t index) const;

    /**
     * @param index a workload
     * @return what it gets of the links on its path, in bit/s
     */
    uint64_t GetRate(uint32_t index) const;

    /// @return the number of rounds
    uint32_t GetNRounds() const;

    /**
     * @param round a round
     * @return how many of its workloads have begun
     */
    uint32_t GetNBegun(uint32_t round) const;

    /**
     * @param round a round
     * @return whether all of its workloads have arrived
     */
    bool IsRoundOver(uint32_t round) const;

  private:
    /// The ports that a workload needs.
    using Ports = boost::container::static_vector<DirectedLinkId, 2>;

    /// A workload and what it waits for.
    struct Entry
    {
        uint32_t round;         //!< its round
        uint32_t position;      //!< its place in the round
        uint64_t rateBps;       //!< what it gets of the links on its path
        Ports ports;            //!< the first link of its path and the last, if it is another
        uint32_t nBlockers{0};  //!< what it still waits for
        bool holdsPorts{false}; //!< has begun and not sent everything
        std::vector<uint32_t> afterEnd;   //!< those that wait until it has arrived
        std::vector<uint32_t> afterBegin; //!< those that wait until it has begun
    };

    /// A port of a server in one direction.
    struct PortQueue
    {
        std::deque<uint32_t> waiting; //!< workloads in order
        uint64_t busyBps{0};          //!< what the workloads that use it now get together
    };

    /// How far a round has come.
    struct RoundCount
    {
        uint32_t nBegun{0};    //!< workloads that have begun
        uint32_t nFinished{0}; //!< workloads that have arrived
    };

    void AddEntries();
    void AddBlockers();
    void Unblock(const std::vector<uint32_t>& waiting);
    bool IsReady(uint32_t index) const;
    void NoteIfReady(DirectedLinkId port);

    const Topology& m_topology;         //!< the network
    std::vector<WorkloadList> m_rounds; //!< the rounds
    std::vector<Entry> m_entries;       //!< by index
    std::vector<PortQueue> m_ports;     //!< by directed link
    std::vector<RoundCount> m_counts;   //!< by round
    std::deque<uint32_t> m_ready;       //!< workloads that were ready when noted
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_WORKLOAD_DISPATCHER_H */
