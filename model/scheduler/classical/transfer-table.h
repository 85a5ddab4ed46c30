/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRANSFER_TABLE_H
#define ALLREDUCE_TRANSFER_TABLE_H

#include "flow-tree.h"

#include "ns3/allreduce-state.h"
#include "ns3/path-table.h"
#include "ns3/server-graph.h"
#include "ns3/switch-path-search.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The transfers that flow-trees are made of, numbered, and the paths that they take.
 *
 * A *transfer* is what one workload does: data goes from a server to another one over switches. An
 * edge of a flow-tree takes several transfers where no path of switches joins its two servers.
 */
class TransferTable
{
  public:
    /// The number of a transfer.
    using Id = uint32_t;

    /// A sender, a receiver and what is known of the paths between them.
    struct Transfer
    {
        NodeId from;        //!< the sending server
        NodeId to;          //!< the receiving server
        uint32_t nLinks;    //!< links of a shortest path
        PathId usual;       //!< the path that a search finds while all links have room
        PathId preferred;   //!< a path to be tried before, or NO_PATH
        DirectedLinkId out; //!< the link that every path begins with, or NO_LINK
        DirectedLinkId in;  //!< the link that every path ends with, or NO_LINK
    };

    /// Stands for no link.
    static constexpr DirectedLinkId NO_LINK = ~DirectedLinkId{0};
    /// Stands for no transfer.
    static constexpr Id NO_TRANSFER = ~Id{0};

    /**
     * @param topology the network, which must outlive the table
     * @param preferred paths to be tried first
     */
    TransferTable(const Topology& topology, const PreferredPaths& preferred);

    /**
     * List the transfers of a shortest path between two servers. Of several paths it is the one
     * whose relays the paths before use least.
     *
     * @param from where the path begins
     * @param to where it ends
     * @param [in,out] transfers the list to append to
     * @throws InputError if there is no path
     */
    void AppendTransfers(NodeId from, NodeId to, std::vector<Id>& transfers);

    /**
     * @param from the sender
     * @param neighbor the receiver's index among the sender's neighbors in GetGraph()
     * @return the transfer between them, which is a new one if it was not known
     */
    Id FindOrAdd(NodeId from, uint32_t neighbor);

    /// @return who can send to whom
    const ServerGraph& GetGraph() const
    {
        return m_graph;
    }

    /// @return the number of directed links in the network
    std::size_t GetNDirectedLinks() const
    {
        return m_topology.GetNDirectedLinks();
    }

    /// @return the number of transfers
    std::size_t GetSize() const
    {
        return m_transfers.size();
    }

    /// @return a transfer @param transfer its number
    const Transfer& Get(Id transfer) const
    {
        return m_transfers[transfer];
    }

    /// @return the directed links of a transfer's usual path @param transfer its number
    PathTable::Links GetUsualLinks(Id transfer) const
    {
        return m_paths.GetLinks(m_transfers[transfer].usual);
    }

    /**
     * @param transfer the transfer
     * @param state says which links have room now
     * @return whether a link that every path has is full: a quick look before FindPath
     */
    bool IsFull(Id transfer, const AllReduceState& state) const
    {
        const DirectedLinkId out = m_transfers[transfer].out;
        const DirectedLinkId in = m_transfers[transfer].in;
        return (in != NO_LINK && state.GetFreeCapacity(in) == 0) ||
               (out != NO_LINK && state.GetFreeCapacity(out) == 0);
    }

    /**
     * Find a path with room: the preferred one, else a shortest.
     *
     * @param transfer the transfer
     * @param state says which links have room now
     * @param detour links more than the shortest path that it may have
     * @param [out] path the path
     * @return whether there is one
     */
    bool FindPath(Id transfer, const AllReduceState& state, uint32_t detour, Path& path);

  private:
    /// @return the index of the best relay among the neighbors of a server
    uint32_t ChooseNeighbor(NodeId from,
                            NodeId to,
                            const std::vector<uint32_t>& nTransfersTo) const;
    /// @return whether a path between two servers does without a link, in either direction
    bool HasPathWithout(DirectedLinkId link, NodeId from, NodeId to);
    bool HasRoom(PathId path, const AllReduceState& state) const;

    const Topology& m_topology;
    const PreferredPaths& m_preferred;
    ServerGraph m_graph;
    SwitchPathSearch m_search;
    PathTable m_paths;
    std::vector<Transfer> m_transfers;
    Path m_found;                                      //!< the result of a search
    std::vector<std::vector<Id>> m_ids;                //!< by server and index of its neighbor
    std::vector<std::vector<uint32_t>> m_nTransfersTo; //!< by target and server; made when needed
    std::vector<uint32_t> m_nRelayed;                  //!< by server: paths that it is a relay on
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRANSFER_TABLE_H */
