/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SEARCH_PATHS_H
#define ALLREDUCE_SEARCH_PATHS_H

#include "ns3/allreduce-topology.h"
#include "ns3/path-table.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Add some of the shortest paths over switches between any two servers.
 *
 * @param topology the network
 * @param [in,out] paths gets them
 */
void AddShortestPaths(const Topology& topology, PathIndex& paths);

/// @ingroup allreduce
/// The paths that a search chooses from: by the server to which they lead, with their prices.
class SearchPaths : public PathTable
{
  public:
    /**
     * @param topology the network, which must outlive the paths
     * @param paths all paths
     */
    SearchPaths(const Topology& topology, PathTable paths);

    /// @param server a server @return the paths that lead there
    const std::vector<PathId>& GetPathsTo(NodeId server) const
    {
        return m_pathsTo[server];
    }

    /// @param path a path @return how scarce its links are: their prices, and 1 for each link
    uint32_t GetPrice(PathId path) const
    {
        return m_prices[path / 2];
    }

  private:
    std::vector<std::vector<PathId>> m_pathsTo; //!< by server
    std::vector<uint32_t> m_prices;             //!< by path / 2
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SEARCH_PATHS_H */
