/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DELIVERY_PATHS_H
#define ALLREDUCE_DELIVERY_PATHS_H

#include "path-table.h"

#include "ns3/allreduce-topology.h"

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
class DeliveryPaths
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

    /// @param path a path or the reverse of one @return its links, valid until the next Find
    PathTable::Links GetLinks(PathId path) const
    {
        return m_table.GetLinks(path);
    }

    /// @param path a path @return the server where it begins
    NodeId GetSource(PathId path) const
    {
        return m_table.GetTarget(Reverse(path));
    }

    /// @param path a path or the reverse of one @param [out] nodes all its nodes
    void GetNodes(PathId path, Path& nodes) const
    {
        m_table.GetNodes(path, nodes);
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
    PathTable m_table;                                     //!< all paths
    std::map<std::vector<DirectedLinkId>, PathId> m_known; //!< by links
    std::vector<std::vector<PathId>> m_pathsTo;            //!< by server
    std::vector<uint32_t> m_linkPrices;                    //!< by link
    std::vector<uint32_t> m_prices;                        //!< by path / 2
    std::vector<DirectedLinkId> m_back;                    //!< links of AddPathsBack, last first
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DELIVERY_PATHS_H */
