/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DELIVERY_PLAN_H
#define ALLREDUCE_DELIVERY_PLAN_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/path-table.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The paths that a search chooses from: between any two servers some of the shortest ones
 * over switches, and those of the plan that it began with.
 */
class DeliveryPaths : public PathTable
{
  public:
    /// @param topology the network, which must outlive the paths
    explicit DeliveryPaths(const Topology& topology);

    /**
     * @param links from one server to another, in this order
     * @return the path, which is a new one if it was not known
     */
    PathId Find(const std::vector<DirectedLinkId>& links);

    /// @param server a server @return the paths that lead there
    const std::vector<PathId>& GetPathsTo(NodeId server) const
    {
        return m_pathsTo[server];
    }

    /// @param path a path @return the server where it begins
    NodeId GetSource(PathId path) const
    {
        return GetTarget(Reverse(path));
    }

    /// @param path a path @return how scarce its links are: their prices, and 1 for each link
    uint32_t GetPrice(PathId path) const
    {
        return m_prices[path / 2];
    }

  private:
    /// Add some of the shortest paths from a server to all others.
    void AddPathsFrom(NodeId source);
    /// Add paths back to where the distances are from. @param node how far it has come
    void AddPathsBack(NodeId node, const std::vector<uint32_t>& distances, uint32_t& nAdded);

    const Topology& m_topology;                            //!< the network
    std::map<std::vector<DirectedLinkId>, PathId> m_known; //!< by links
    std::vector<std::vector<PathId>> m_pathsTo;            //!< by server
    std::vector<uint32_t> m_linkPrices;                    //!< by link
    std::vector<uint32_t> m_prices;                        //!< by path / 2
    std::vector<DirectedLinkId> m_back;                    //!< links of AddPathsBack, last first
};

/// The half of a chunk's AllReduce in which partial sums go up to the root.
constexpr uint32_t UP = 0;
/// The half in which final sums come down.
constexpr uint32_t DOWN = 1;

/**
 * @ingroup allreduce
 *
 * @brief A plan as searches see it: for each half, chunk and server but the root one *delivery*.
 *
 * Both halves are trees that lead from the root to all servers. Down, a delivery brings the final
 * sum from the server's parent. Up, it is the reduce of the server's partial sum to its parent,
 * seen backwards: what is sent over the reversed path. So what holds for one half holds for the
 * other one with time reversed.
 *
 * The index of a delivery within its half is chunk * servers + server; those of roots mean nothing.
 */
struct DeliveryPlan
{
    uint32_t nRounds{0};                         //!< rounds of the plan
    std::array<std::vector<PathId>, 2> paths;    //!< by half, index: from parent to server
    std::array<std::vector<uint32_t>, 2> rounds; //!< by half, index: when it is sent
};

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param nChunks number of chunks
 * @param rounds a plan of whole sums: every server sends one reduce and gets one broadcast
 * @param [in,out] paths gets those of the plan
 * @return the plan as deliveries
 */
DeliveryPlan MakeDeliveries(const Topology& topology,
                            std::size_t nChunks,
                            const std::vector<WorkloadList>& rounds,
                            DeliveryPaths& paths);

/**
 * @ingroup allreduce
 *
 * @param plan the deliveries
 * @param roots the root of each chunk
 * @param paths their paths
 * @return the workloads of each round
 */
std::vector<WorkloadList> MakeRounds(const DeliveryPlan& plan,
                                     const std::vector<NodeId>& roots,
                                     const DeliveryPaths& paths);

/// Play a plan backwards. @param [in,out] plan the deliveries
void Mirror(DeliveryPlan& plan);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DELIVERY_PLAN_H */
