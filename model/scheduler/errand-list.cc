/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "errand-list.h"

#include "ns3/allreduce-error.h"
#include "ns3/topology-metrics.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// @return by server: edges between it and the root @param next towards the root, by server
std::vector<uint32_t>
ComputeDepths(const std::vector<NodeId>& next, NodeId root)
{
    std::vector<uint32_t> depth(next.size(), UNREACHABLE);
    depth[root] = 0;
    Path way;
    for (NodeId server = 0; server < next.size(); ++server)
    {
        way.clear();
        NodeId node = server;
        for (; depth[node] == UNREACHABLE; node = next[node])
        {
            way.push_back(node);
        }
        for (; !way.empty(); way.pop_back())
        {
            depth[way.back()] = depth[node] + 1;
            node = way.back();
        }
    }
    return depth;
}

/// Decides between errands of the same urgency.
struct SortKey
{
    uint32_t length; //!< of the way
    ErrandId errand; //!< the errand, also if all else is equal
    uint64_t tie;    //!< decides before

    bool operator<(const SortKey& other) const
    {
        return std::tie(length, tie, errand) < std::tie(other.length, other.tie, other.errand);
    }
};

} // namespace

ErrandList::ErrandList(const AllReduceState& state,
                       const std::vector<FlowTree>& trees,
                       const PreferredPaths& preferred)
    : m_roots(state.GetRoots()),
      m_nServers(state.GetTopology().GetNServers()),
      m_hops(state.GetTopology(), preferred)
{
    const std::size_t nErrands = std::size_t{2} * (m_nServers - 1) * trees.size();
    m_urgencies.reserve(nErrands);
    m_ways.reserve(nErrands);
    m_firstHops.reserve(nErrands + 1);
    m_firstHops.push_back(0);
    for (ChunkId chunk = 0; chunk < trees.size(); ++chunk)
    {
        AddTree(chunk, trees[chunk]);
    }
}

void
ErrandList::AddTree(ChunkId chunk, const FlowTree& tree)
{
    const NodeId root = m_roots[chunk];
    const std::vector<uint32_t> up = ComputeDepths(tree.reduceTo, root);
    const std::vector<uint32_t> down = ComputeDepths(tree.broadcastFrom, root);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (server != root)
        {
            // First what is deep in its tree on the way up and what is high on the way down: most
            // others wait for it.
            Add(server, tree.reduceTo[server], m_nServers - up[server]);
            Add(tree.broadcastFrom[server], server, m_nServers + down[server]);
        }
    }
}

void
ErrandList::Add(NodeId from, NodeId to, uint32_t urgency)
{
    m_urgencies.push_back(urgency);
    m_hops.AppendWay(from, to, m_ways);
    const std::size_t nHops = m_ways.size() - m_firstHops.back();
    if (nHops > std::numeric_limits<uint16_t>::max() ||
        m_ways.size() > std::numeric_limits<uint32_t>::max())
    {
        FailInput("flow-trees with ",
                  m_ways.size(),
                  " hops or more, ",
                  nHops,
                  " of them from server ",
                  from,
                  " to ",
                  to,
                  ", are too large: expected at most 2^32 - 1 hops, 65535 on a way");
    }
    m_firstHops.push_back(m_ways.size());
}

uint32_t
ErrandList::CountLinks(const Errand& errand) const
{
    uint32_t nLinks = 0;
    for (uint32_t i = 0; i < errand.nHops; ++i)
    {
        nLinks += GetHop(errand.firstHop + i).nLinks;
    }
    return nLinks;
}

ErrandId
ErrandList::GetReduce(ChunkId chunk, NodeId server) const
{
    return 2 * (chunk * (m_nServers - 1) + server - (server > m_roots[chunk]));
}

std::vector<ErrandId>
ErrandList::Sort(const ErrandOrder& order) const
{
    std::vector<uint32_t> first(2 * m_nServers + 1, 0); // by urgency, which is less than 2 n
    for (const uint32_t urgency : m_urgencies)
    {
        ++first[urgency + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::mt19937_64 random(order.seed);
    std::vector<SortKey> keys(GetSize());
    std::vector<uint32_t> next = first;
    for (ErrandId id = 0; id < GetSize(); ++id)
    {
        const Errand errand = Get(id);
        const NodeId from = GetHop(errand.firstHop).from;
        const uint32_t nLinks = CountLinks(errand);
        keys[next[m_urgencies[id]]++] = {
            order.isLongestFirst ? ~nLinks : nLinks,
            id,
            order.seed == 0 ? (from + m_nServers - m_roots[errand.chunk]) % m_nServers : random()};
    }
    std::vector<ErrandId> sorted;
    sorted.reserve(keys.size());
    for (std::size_t i = 0; i + 1 < first.size(); ++i)
    {
        std::sort(keys.begin() + first[i], keys.begin() + first[i + 1]);
    }
    for (const SortKey& key : keys)
    {
        sorted.push_back(key.errand);
    }
    return sorted;
}

} // namespace ns3::allreduce
