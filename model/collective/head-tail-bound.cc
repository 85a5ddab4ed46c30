/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "head-tail-bound.h"

#include "server-flow.h"
#include "server-hops.h"

#include <algorithm>
#include <map>
#include <set>

namespace ns3::allreduce
{

namespace
{

/// Chunks with the same head and tail.
struct Batch
{
    uint64_t head;    //!< the first round in which one of them can come in
    uint64_t tail;    //!< rounds that follow
    uint64_t nChunks; //!< how many chunks
};

/// @return the rounds that a machine needs which takes some chunks in each round, and the head
HeadTailBound
BoundMachine(const std::vector<Batch>& batches, uint64_t width)
{
    std::set<uint64_t> heads;
    std::set<uint64_t> tails;
    for (const Batch& batch : batches)
    {
        heads.insert(batch.head);
        tails.insert(batch.tail);
    }
    HeadTailBound best;
    for (const uint64_t head : heads)
    {
        for (const uint64_t tail : tails)
        {
            uint64_t nChunks = 0;
            for (const Batch& batch : batches)
            {
                nChunks += batch.head >= head && batch.tail >= tail ? batch.nChunks : 0;
            }
            const uint64_t rounds = head - 1 + (nChunks + width - 1) / width + tail;
            if (nChunks > 0 && rounds > best.rounds)
            {
                best = {rounds, head, width, {}};
            }
        }
    }
    return best;
}

/// Finds heads and tails of the chunks at the ways into sets of servers.
class HeadsAndTails
{
  public:
    HeadsAndTails(const Topology& topology,
                  const ReduceGrowth& growth,
                  const std::vector<uint64_t>& nChunks)
        : m_topology(topology),
          m_growth(growth),
          m_nChunks(nChunks),
          m_flow(topology, GetCapacities(topology)),
          m_isInside(topology.GetNServers(), false)
    {
    }

    /// @return the bound for a set of servers
    HeadTailBound Bound(const std::vector<NodeId>& set)
    {
        for (const NodeId server : set)
        {
            m_isInside[server] = true;
        }
        const uint64_t width = m_flow.FindCut(m_isInside);
        HeadTailBound bound = BoundMachine(MakeBatches(set, width), width);
        bound.servers = set;
        for (const NodeId server : set)
        {
            m_isInside[server] = false;
        }
        return bound;
    }

  private:
    /// @return the chunks, those with equal heads and tails together
    std::vector<Batch> MakeBatches(const std::vector<NodeId>& set, uint64_t width) const
    {
        const std::vector<uint32_t> hops = ComputeServerHops(m_topology, set);
        const uint64_t headInside = FindHeadInside(set.size(), width);
        const uint64_t tailOutside = FindTailOutside(set, width);
        std::map<std::pair<uint64_t, uint64_t>, uint64_t> counts;
        for (NodeId root = 0; root < m_topology.GetNServers(); ++root)
        {
            if (m_nChunks[root] == 0)
            {
                continue;
            }
            const uint64_t final = m_growth.GetFinalRound(root);
            const auto headAndTail = m_isInside[root] ? std::pair(headInside, final)
                                                      : std::pair(final + hops[root], tailOutside);
            counts[headAndTail] += m_nChunks[root];
        }
        std::vector<Batch> batches;
        for (const auto& [headAndTail, n] : counts)
        {
            batches.push_back({headAndTail.first, headAndTail.second, n});
        }
        return batches;
    }

    /// @return the first round in which the last contribution from outside can come in
    uint64_t FindHeadInside(uint64_t setSize, uint64_t width) const
    {
        const uint64_t nOutside = m_topology.GetNServers() - setSize;
        uint32_t round = 0;
        for (uint64_t nInside = 0; nInside < nOutside; ++round)
        {
            uint64_t most = 0;
            for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
            {
                if (!m_isInside[server])
                {
                    most = std::max<uint64_t>(most, m_growth.GetMost(server, round));
                }
            }
            nInside += width * most;
        }
        return round;
    }

    /// @return rounds from the first broadcast into a set until all of it can have the sum
    uint64_t FindTailOutside(const std::vector<NodeId>& set, uint64_t width) const
    {
        uint64_t mostPorts = 0;
        for (const NodeId server : set)
        {
            uint64_t ports = 0;
            for (const Topology::Port& port : m_topology.GetPorts(server))
            {
                ports += m_topology.GetCapacity(port.out);
            }
            mostPorts = std::max(mostPorts, ports);
        }
        uint64_t rounds = 0;
        for (uint64_t reached = width; reached < set.size(); ++rounds)
        {
            reached += reached * mostPorts + width;
        }
        return rounds;
    }

    const Topology& m_topology;
    const ReduceGrowth& m_growth;           //!< how fast sums become final
    const std::vector<uint64_t>& m_nChunks; //!< by root
    ServerFlow m_flow;                      //!< finds cuts
    std::vector<bool> m_isInside;           //!< by server: whether it is in the set at hand
};

} // namespace

HeadTailBound
ComputeHeadTailBound(const Topology& topology,
                     const ReduceGrowth& growth,
                     const std::vector<uint64_t>& nChunks,
                     const std::vector<std::vector<NodeId>>& sets)
{
    HeadsAndTails headsAndTails(topology, growth, nChunks);
    HeadTailBound best;
    auto attempt = [&](const std::vector<NodeId>& set) {
        HeadTailBound bound = headsAndTails.Bound(set);
        if (bound.rounds > best.rounds)
        {
            best = std::move(bound);
        }
    };
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        attempt({server});
    }
    for (const std::vector<NodeId>& set : sets)
    {
        attempt(set);
    }
    return best;
}

} // namespace ns3::allreduce
