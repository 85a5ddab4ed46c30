/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HOP_TABLE_H
#define ALLREDUCE_HOP_TABLE_H

#include "flow-tree.h"
#include "path-table.h"
#include "server-graph.h"

#include "ns3/allreduce-state.h"
#include "ns3/switch-path-search.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// Names a hop in a HopTable.
using HopId = uint32_t;

/// @ingroup allreduce
/// A step that one workload takes: from a server to another, over switches.
struct Hop
{
    NodeId from;        //!< the sending server
    NodeId to;          //!< the receiving server
    uint32_t nLinks;    //!< links of a shortest path
    PathId usual;       //!< the path that a search finds while all links have room
    PathId preferred;   //!< a path to be tried before, or HopTable::NO_PATH
    DirectedLinkId out; //!< the link that every path begins with, or HopTable::NO_LINK
    DirectedLinkId in;  //!< the link that every path ends with, or HopTable::NO_LINK
};

/**
 * @ingroup allreduce
 *
 * @brief The hops that flow-trees use, named by numbers, and the paths that they take.
 */
class HopTable
{
  public:
    /// Stands for no path.
    static constexpr PathId NO_PATH = ~PathId{0};
    /// Stands for no link.
    static constexpr DirectedLinkId NO_LINK = ~DirectedLinkId{0};

    /**
     * @param topology the network, which must outlive the table
     * @param preferred paths to be tried first
     */
    HopTable(const Topology& topology, const PreferredPaths& preferred);

    /**
     * Name the hops of a shortest way between two servers. Of several ways it is the one whose
     * relays are least used by the ways before.
     *
     * @param from where the way begins
     * @param to where it ends
     * @param [in,out] way to which the hops are appended
     * @throws InputError if there is no way
     */
    void AppendWay(NodeId from, NodeId to, std::vector<HopId>& way);

    /**
     * Name a hop.
     *
     * @param from its sender
     * @param place of its receiver among the sender's neighbors in GetGraph()
     * @return its name
     */
    HopId FindOrAdd(NodeId from, uint32_t place);

    /// @return who can send to whom
    const ServerGraph& GetGraph() const
    {
        return m_graph;
    }

    /// @return the number of hops that have a name
    std::size_t GetSize() const
    {
        return m_hops.size();
    }

    /// @return the hop @param hop its name
    const Hop& Get(HopId hop) const
    {
        return m_hops[hop];
    }

    /// @return the directed links of a hop's usual path @param hop its name
    PathTable::Links GetUsualLinks(HopId hop) const
    {
        return m_paths.GetLinks(m_hops[hop].usual);
    }

    /**
     * @param hop the hop
     * @param state says which links have room now
     * @return whether a link that every path has is full: a quick look before FindPath
     */
    bool IsFull(HopId hop, const AllReduceState& state) const
    {
        const DirectedLinkId out = m_hops[hop].out;
        const DirectedLinkId in = m_hops[hop].in;
        return (in != NO_LINK && state.GetFreeCapacity(in) == 0) ||
               (out != NO_LINK && state.GetFreeCapacity(out) == 0);
    }

    /**
     * Find a path with room: the preferred one, else a shortest.
     *
     * @param hop the hop
     * @param state says which links have room now
     * @param detour links more than the shortest path that it may have
     * @param [out] path the path
     * @return whether there is one
     */
    bool FindPath(HopId hop, const AllReduceState& state, uint32_t detour, Path& path);

  private:
    static constexpr HopId NO_HOP = ~HopId{0};

    /// @return the best relay's place among the neighbors of a server
    uint32_t ChooseNeighbor(NodeId from, NodeId to, const std::vector<uint32_t>& hopsTo) const;
    /// @return whether a path between two servers does without a link, in either direction
    bool HasPathWithout(DirectedLinkId link, NodeId from, NodeId to);
    /// @return whether all links of a path have room
    bool HasRoom(PathId path, const AllReduceState& state) const;

    const Topology& m_topology;                  //!< the network
    const PreferredPaths& m_preferred;           //!< paths to be tried first
    ServerGraph m_graph;                         //!< who can send to whom
    SwitchPathSearch m_search;                   //!< finds paths
    PathTable m_paths;                           //!< of the hops
    std::vector<Hop> m_hops;                     //!< by name
    Path m_found;                                //!< a path that a search has found
    std::vector<std::vector<HopId>> m_names;     //!< by server and place among its neighbors
    std::vector<std::vector<uint32_t>> m_hopsTo; //!< by target: hops from each server, when needed
    std::vector<uint32_t> m_nRelayed;            //!< by server: ways that it is a relay on
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HOP_TABLE_H */
