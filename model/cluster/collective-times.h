/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COLLECTIVE_TIMES_H
#define ALLREDUCE_COLLECTIVE_TIMES_H

#include "ns3/allreduce-topology.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Cut out the part of a network that lies between some of its servers: all nodes on shortest paths
 * between two of them. Other servers in between only pass on, as switches do.
 *
 * @param topology the network
 * @param servers some of its servers, at least two that are connected
 * @return their network; server i is the i-th of them
 */
Topology CutOut(const Topology& topology, const std::vector<NodeId>& servers);

/**
 * @ingroup allreduce
 *
 * @brief How long plans take for the very servers that a job got, compared with a ring.
 *
 * A plan has the links between these servers to itself, each with the job's bandwidth. Plans are
 * made once for each set of servers, proven, and kept.
 */
class CollectiveTimes
{
  public:
    /**
     * @param topology the network
     * @param scheduler who plans, as CreateScheduler takes it
     * @throws InputError if there is no such scheduler
     */
    CollectiveTimes(Topology topology, std::string scheduler);

    /**
     * @param servers of a job
     * @return time of the plan / time of a ring on as many servers; 1 if the ring is faster, or
     * there is one server
     */
    double GetShare(std::vector<NodeId> servers);

    /// @return for how many sets of servers plans were made
    std::size_t GetNPlans() const;

  private:
    double Compare(const std::vector<NodeId>& servers) const;

    Topology m_topology;
    std::string m_scheduler;                           //!< who plans
    std::map<std::vector<NodeId>, double> m_byServers; //!< by servers in ascending order: the share
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_COLLECTIVE_TIMES_H */
