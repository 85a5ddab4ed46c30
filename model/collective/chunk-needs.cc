/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chunk-needs.h"

#include "ns3/breadth-first-search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Parts of the network whose nodes reach each other.
class Islands
{
  public:
    /// @param state says which links are up @param mayPass whether a server passes something on
    Islands(const AllReduceState& state, const std::function<bool(NodeId)>& mayPass)
        : m_island(state.GetTopology().GetNNodes(), NONE)
    {
        const Topology& topology = state.GetTopology();
        const auto isOpen = [&](NodeId, const Topology::Port& port) {
            return state.IsLinkUp(GetLinkId(port.out)) &&
                   (!topology.IsServer(port.neighbor) || mayPass(port.neighbor));
        };
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            if (m_island[server] != NONE || !mayPass(server))
            {
                continue;
            }
            const BreadthFirstTree tree = SearchBreadthFirst(topology, server, isOpen);
            for (const NodeId node : tree.order)
            {
                m_island[node] = m_nNodes.size();
            }
            m_nNodes.push_back(tree.order.size());
        }
    }

    /// @return which one a server is on, from 0 @param server one that passes things on
    uint32_t Get(NodeId server) const
    {
        return m_island[server];
    }

    /// @return how many there are
    std::size_t GetN() const
    {
        return m_nNodes.size();
    }

    /// @return the one with most of the servers, else most nodes, else the first of the servers
    uint32_t FindMain(const std::vector<NodeId>& servers) const
    {
        std::vector<uint32_t> nServers(GetN(), 0);
        for (const NodeId server : servers)
        {
            ++nServers[Get(server)];
        }
        return Get(*std::max_element(servers.begin(), servers.end(), [&](NodeId x, NodeId y) {
            const uint32_t a = Get(x);
            const uint32_t b = Get(y);
            return std::pair(nServers[a], m_nNodes[a]) < std::pair(nServers[b], m_nNodes[b]);
        }));
    }

  private:
    static constexpr uint32_t NONE = std::numeric_limits<uint32_t>::max();

    std::vector<uint32_t> m_island;    //!< by node
    std::vector<std::size_t> m_nNodes; //!< by island
};

/// Finds servers that are cut off.
class CutOffFinder
{
  public:
    explicit CutOffFinder(const AllReduceState& state)
        : m_state(state),
          m_nServers(state.GetTopology().GetNServers()),
          m_isCutOff(m_nServers, false),
          m_whole(state, [](NodeId) { return true; })
    {
    }

    std::vector<NodeId> Find(bool needEachOther)
    {
        const bool isOfMembers = m_state.GetMayHold().GetNColumns() > 0;
        if (m_whole.GetN() > 1 || isOfMembers)
        {
            const ChunkNeeds needs(m_state);
            for (ChunkId chunk = 0; chunk < m_state.GetNChunks(); ++chunk)
            {
                if (!m_state.IsEverywhere(chunk))
                {
                    Check(needs, chunk, isOfMembers ? FindIslandsOfMembers(chunk) : m_whole);
                }
            }
            if (needEachOther)
            {
                CheckAll(needs);
            }
        }
        std::vector<NodeId> found;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            if (m_isCutOff[server])
            {
                found.push_back(server);
            }
        }
        return found;
    }

  private:
    const Islands& FindIslandsOfMembers(ChunkId chunk)
    {
        const auto [place, isNew] =
            m_ofMembers.try_emplace(GetMembers(m_state.GetCollective(), chunk), std::nullopt);
        if (isNew)
        {
            place->second.emplace(m_state, [this, chunk](NodeId server) {
                return m_state.MayHold(server, chunk);
            });
        }
        return *place->second;
    }

    /// Whoever wants something of a chunk needs a server that has it on the same island.
    void Check(const ChunkNeeds& needs, ChunkId chunk, const Islands& islands)
    {
        std::vector<NodeId> concerned;
        std::vector<bool> isSupplied(islands.GetN(), false);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            const bool supplies = needs.hasSum.Test(server, chunk);
            if (supplies || needs.gives.Test(server, chunk) || needs.lacksSum.Test(server, chunk))
            {
                concerned.push_back(server);
            }
            if (supplies)
            {
                isSupplied[islands.Get(server)] = true;
            }
        }
        const auto isServed = [&](NodeId server) { return isSupplied[islands.Get(server)]; };
        if (std::all_of(concerned.begin(), concerned.end(), isServed))
        {
            return;
        }
        const uint32_t main = islands.FindMain(concerned);
        for (const NodeId server : concerned)
        {
            // Where most are without the sum, those that have it are cut off from them.
            const bool isMissed = !isSupplied[main] && needs.hasSum.Test(server, chunk);
            const bool isCutOff = islands.Get(server) != main && (!isServed(server) || isMissed);
            m_isCutOff[server] = m_isCutOff[server] || isCutOff;
        }
    }

    /// All that have something left to do need each other.
    void CheckAll(const ChunkNeeds& needs)
    {
        std::vector<NodeId> busy;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            if (needs.collects.CountRow(server) > 0 || needs.gives.CountRow(server) > 0 ||
                needs.lacksSum.CountRow(server) > 0)
            {
                busy.push_back(server);
            }
        }
        const uint32_t main = busy.empty() ? 0 : m_whole.FindMain(busy);
        for (const NodeId server : busy)
        {
            m_isCutOff[server] = m_isCutOff[server] || m_whole.Get(server) != main;
        }
    }

    const AllReduceState& m_state; //!< what is left
    uint32_t m_nServers;           //!< number of servers
    std::vector<bool> m_isCutOff;  //!< by server
    Islands m_whole;               //!< if everybody passes things on
    /// By members of a chunk: if only they do.
    std::map<std::vector<NodeId>, std::optional<Islands>> m_ofMembers;
};

} // namespace

ChunkNeeds::ChunkNeeds(const AllReduceState& state)
    : collects(state.GetTopology().GetNServers(), state.GetNChunks()),
      gives(state.GetPartials()),
      hasSum(state.GetFinals()),
      lacksSum(collects)
{
    const std::vector<NodeId>& roots = state.GetRoots();
    for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
    {
        gives.Clear(roots[chunk], chunk);
        hasSum.Set(roots[chunk], chunk);
        if (!state.IsFinal(chunk))
        {
            collects.Set(roots[chunk], chunk);
        }
    }
    for (NodeId server = 0; server < state.GetTopology().GetNServers(); ++server)
    {
        for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
        {
            if (!hasSum.Test(server, chunk) && state.IsReceiver(server, chunk))
            {
                lacksSum.Set(server, chunk);
            }
        }
    }
}

std::vector<NodeId>
FindCutOff(const AllReduceState& state, bool needEachOther)
{
    return CutOffFinder(state).Find(needEachOther);
}

} // namespace ns3::allreduce
