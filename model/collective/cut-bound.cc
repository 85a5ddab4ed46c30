/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cut-bound.h"

#include "link-prices.h"
#include "server-flow.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace ns3::allreduce
{

namespace
{

/// @return whether x proves more than y
bool
ProvesMore(const CutBound& x, const CutBound& y)
{
    __extension__ typedef unsigned __int128 Product;
    return Product{x.crossings} * y.width > Product{y.crossings} * x.width;
}

/// @return by server: whether it contributes to or receives some chunk
std::vector<bool>
FindMembers(const Collective& collective, uint32_t nServers)
{
    std::vector<bool> isMember(nServers, false);
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        for (const NodeId server : GetMembers(collective, chunk))
        {
            isMember[server] = true;
        }
    }
    return isMember;
}

/// Tries sides, and keeps the best.
class SideTrial
{
  public:
    SideTrial(const Topology& topology,
              const Collective& collective,
              const std::vector<uint64_t>& widths,
              const std::vector<uint64_t>& sizes)
        : m_topology(topology),
          m_collective(collective),
          m_widths(widths),
          m_sizes(sizes)
    {
    }

    /// Try a single side. @param isInside by node
    void TryOne(const std::vector<bool>& isInside)
    {
        CutBound bound;
        bound.nSides = 1;
        for (const bool isIn : isInside)
        {
            bound.side.push_back(isIn ? 0 : NO_SIDE);
        }
        bound.crossings = CountCrossings(isInside);
        Keep(std::move(bound));
    }

    /// Try several sides, on which all servers are that may hold a chunk.
    /// @param side by node @param nSides how many
    void TryParts(std::vector<uint32_t> side, uint32_t nSides)
    {
        CutBound bound{std::move(side), nSides, 0, 1};
        const std::vector<std::set<uint32_t>> sidesOfSet = FindSidesOfSets(bound.side);
        for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
        {
            const auto& contributors = sidesOfSet[m_collective.contributors[chunk]];
            const auto& receivers = sidesOfSet[m_collective.receivers[chunk]];
            const bool isRootApart = receivers.count(bound.side[m_collective.roots[chunk]]) == 0;
            bound.crossings +=
                m_sizes[chunk] * (contributors.size() - 1 + receivers.size() + isRootApart - 1);
        }
        Keep(std::move(bound));
    }

    const CutBound& GetBest() const
    {
        return m_best;
    }

  private:
    /// @return what leaves the side or comes into it, whichever is more
    uint64_t CountCrossings(const std::vector<bool>& isInside) const
    {
        std::vector<std::size_t> nInside;
        for (const auto& set : m_collective.sets)
        {
            nInside.push_back(
                std::count_if(set.begin(), set.end(), [&](NodeId s) { return isInside[s]; }));
        }
        uint64_t leaving = 0;
        uint64_t entering = 0;
        for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
        {
            const uint32_t contributors = m_collective.contributors[chunk];
            const uint32_t receivers = m_collective.receivers[chunk];
            if (isInside[m_collective.roots[chunk]])
            {
                const bool hasReceiversOutside =
                    nInside[receivers] < m_collective.sets[receivers].size();
                const bool hasContributorsOutside =
                    nInside[contributors] < m_collective.sets[contributors].size();
                leaving += hasReceiversOutside ? m_sizes[chunk] : 0;
                entering += hasContributorsOutside ? m_sizes[chunk] : 0;
            }
            else
            {
                leaving += nInside[contributors] > 0 ? m_sizes[chunk] : 0;
                entering += nInside[receivers] > 0 ? m_sizes[chunk] : 0;
            }
        }
        return std::max(leaving, entering);
    }

    std::vector<std::set<uint32_t>> FindSidesOfSets(const std::vector<uint32_t>& side) const
    {
        std::vector<std::set<uint32_t>> sides;
        for (const auto& set : m_collective.sets)
        {
            auto& sidesOfSet = sides.emplace_back();
            for (const NodeId server : set)
            {
                sidesOfSet.insert(side[server]);
            }
        }
        return sides;
    }

    void Keep(CutBound bound)
    {
        bound.width = 0;
        for (LinkId id = 0; id < m_topology.GetNLinks(); ++id)
        {
            const Link& link = m_topology.GetLink(id);
            if (bound.side[link.a] != bound.side[link.b])
            {
                const uint64_t nBorders =
                    (bound.side[link.a] != NO_SIDE) + (bound.side[link.b] != NO_SIDE);
                bound.width += nBorders * m_widths[id];
            }
        }
        if (bound.width > 0 && ProvesMore(bound, m_best))
        {
            m_best = std::move(bound);
        }
    }

    const Topology& m_topology;
    const Collective& m_collective;        //!< what is to be summed where
    const std::vector<uint64_t>& m_widths; //!< by link
    const std::vector<uint64_t>& m_sizes;  //!< by chunk
    CutBound m_best;                       //!< the best so far
};

/// Finds sides for one group of servers with max-flows.
class GroupCuts
{
  public:
    GroupCuts(const Topology& topology,
              const std::vector<NodeId>& group,
              const std::vector<int64_t>& widths,
              SideTrial& trial)
        : m_topology(topology),
          m_group(group),
          m_widths(widths),
          m_flow(topology, widths),
          m_trial(trial)
    {
    }

    /// Try the least cut between the first server and each other one.
    void TryLeastCuts()
    {
        for (std::size_t i = 1; i < m_group.size(); ++i)
        {
            Clear();
            m_flow.SetSupply(m_group[0], m_flow.GetUnlimited());
            m_flow.SetDemand(m_group[i], m_flow.GetUnlimited());
            m_flow.Run();
            m_trial.TryOne(GetSide());
        }
    }

    /// Try the sides with most roots outside for their width. @param nRoots by server: chunks
    void TryRootsOutside(const std::map<NodeId, int64_t>& nRoots)
    {
        int64_t all = 0;
        for (const auto& [server, n] : nRoots)
        {
            all += n;
        }
        Ratio ratio{0, 1};
        while (ImproveRatio(nRoots, all, ratio))
        {
        }
    }

  private:
    /// Roots outside a side over its width.
    struct Ratio
    {
        int64_t roots; //!< outside
        int64_t width; //!< of its border
    };

    /**
     * Look for a side S with a better ratio: roots outside of S * width > width of S * roots, that
     * is: roots * B(S) + width * (roots in S) < width * (all roots). A min cut has the least of
     * the left side over all S with a given server in it.
     */
    bool ImproveRatio(const std::map<NodeId, int64_t>& nRoots, int64_t all, Ratio& ratio)
    {
        const Ratio last = ratio;
        std::vector<int64_t> scaled;
        for (const int64_t width : m_widths)
        {
            scaled.push_back(std::max<int64_t>(last.roots, 1) * width);
        }
        m_flow.SetWidths(scaled);
        for (const NodeId server : m_group)
        {
            Clear();
            for (const auto& [root, n] : nRoots)
            {
                m_flow.SetDemand(root, last.width * n);
            }
            m_flow.SetSupply(server, m_flow.GetUnlimited() + last.width * all);
            m_flow.Run();
            const std::vector<bool> side = GetSide();
            const Ratio found = Measure(side, nRoots, all);
            if (found.width > 0 && found.roots * ratio.width > ratio.roots * found.width)
            {
                ratio = found;
                m_trial.TryOne(side);
            }
        }
        const int64_t divisor = std::gcd(ratio.roots, ratio.width);
        ratio = {ratio.roots / divisor, ratio.width / divisor};
        return ratio.roots * last.width > last.roots * ratio.width;
    }

    Ratio Measure(const std::vector<bool>& side,
                  const std::map<NodeId, int64_t>& nRoots,
                  int64_t all) const
    {
        Ratio ratio{all, 0};
        for (const auto& [root, n] : nRoots)
        {
            ratio.roots -= side[root] ? n : 0;
        }
        for (LinkId id = 0; id < m_topology.GetNLinks(); ++id)
        {
            const Link& link = m_topology.GetLink(id);
            ratio.width += side[link.a] != side[link.b] ? m_widths[id] : 0;
        }
        return ratio;
    }

    void Clear()
    {
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            m_flow.SetSupply(server, 0);
            m_flow.SetDemand(server, 0);
        }
    }

    std::vector<bool> GetSide() const
    {
        std::vector<bool> isInside;
        for (NodeId node = 0; node < m_topology.GetNNodes(); ++node)
        {
            isInside.push_back(m_flow.IsOnSourceSide(node));
        }
        return isInside;
    }

    const Topology& m_topology;
    const std::vector<NodeId>& m_group;   //!< its servers
    const std::vector<int64_t>& m_widths; //!< by link
    ServerFlow m_flow;                    //!< finds cuts
    SideTrial& m_trial;                   //!< what to try sides with
};

/// What is known of a group: the servers of some chunks.
struct ChunkGroup
{
    bool hasAllReduce{false};         //!< some of its chunks go to all who contribute
    std::map<NodeId, int64_t> nRoots; //!< by server: chunks
};

/// @return the sets of servers that share chunks
std::map<std::vector<NodeId>, ChunkGroup>
ListGroups(const Collective& collective)
{
    std::map<std::vector<NodeId>, ChunkGroup> groups;
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const auto& contributors = collective.sets[collective.contributors[chunk]];
        const auto& receivers = collective.sets[collective.receivers[chunk]];
        ChunkGroup& group = groups[GetMembers(collective, chunk)];
        ++group.nRoots[collective.roots[chunk]];
        group.hasAllReduce |= contributors.size() > 1 && receivers.size() > 1;
    }
    return groups;
}

/// @return the widths, smaller if they are large, so that no flow overflows
std::vector<int64_t>
ScaleDown(const std::vector<uint64_t>& widths)
{
    uint64_t divisor = 0;
    uint64_t largest = 1;
    for (const uint64_t width : widths)
    {
        divisor = std::gcd(divisor, width);
        largest = std::max(largest, width);
    }
    constexpr uint64_t MOST = 1 << 16;
    divisor = std::max(divisor, (largest + MOST - 1) / MOST);
    std::vector<int64_t> scaled;
    for (const uint64_t width : widths)
    {
        scaled.push_back(width == 0 ? 0 : std::max<int64_t>(1, width / divisor));
    }
    return scaled;
}

/// Links that end at a server which may hold nothing carry nothing.
void
ClearUnusedLinks(const Topology& topology,
                 const std::vector<bool>& mayHold,
                 std::vector<uint64_t>& widths)
{
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        for (const NodeId end : {topology.GetLink(id).a, topology.GetLink(id).b})
        {
            if (topology.IsServer(end) && !mayHold[end])
            {
                widths[id] = 0;
            }
        }
    }
}

/// Try the least sides around some sets of servers. @param flow of links that may be used
void
TryPartition(const Topology& topology,
             const std::vector<std::vector<NodeId>>& parts,
             ServerFlow& flow,
             SideTrial& trial)
{
    std::vector<uint32_t> side(topology.GetNNodes(), NO_SIDE);
    for (uint32_t part = 0; part < parts.size(); ++part)
    {
        std::vector<bool> isInside(topology.GetNServers(), false);
        for (const NodeId server : parts[part])
        {
            isInside[server] = true;
        }
        flow.FindCut(isInside);
        for (NodeId node = 0; node < topology.GetNNodes(); ++node)
        {
            if (flow.IsOnSourceSide(node) && side[node] == NO_SIDE)
            {
                side[node] = part;
            }
        }
    }
    trial.TryParts(std::move(side), parts.size());
}

/// Try all servers apart, and the parts of the price bound. @param usable widths
void
TryParts(const Topology& topology,
         const std::vector<uint64_t>& widths,
         const std::vector<int64_t>& usable,
         const std::vector<bool>& mayHold,
         SideTrial& trial)
{
    std::vector<std::vector<NodeId>> apart;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        if (mayHold[server])
        {
            apart.push_back({server});
        }
    }
    ServerFlow flow(topology, usable);
    TryPartition(topology, apart, flow, trial);
    TryPartition(topology, FindLinkPrices(topology, widths).parts, flow, trial);
}

} // namespace

std::vector<bool>
FindHolders(const Topology& topology, const Collective& collective)
{
    const uint32_t nServers = topology.GetNServers();
    return collective.mayRelay ? std::vector<bool>(nServers, true)
                               : FindMembers(collective, nServers);
}

CutBound
FindBestCut(const Topology& topology,
            const Collective& collective,
            const std::vector<uint64_t>& widths,
            std::vector<uint64_t> sizes)
{
    sizes.resize(collective.GetNChunks(), 1);
    const std::vector<bool> isMember = FindMembers(collective, topology.GetNServers());
    const std::vector<bool> mayHold = FindHolders(topology, collective);
    std::vector<uint64_t> usable = widths;
    ClearUnusedLinks(topology, mayHold, usable);
    SideTrial trial(topology, collective, usable, sizes);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        if (isMember[server])
        {
            std::vector<bool> isInside(topology.GetNNodes(), false);
            isInside[server] = true;
            trial.TryOne(isInside);
        }
    }
    const std::vector<int64_t> scaled = ScaleDown(usable);
    for (const auto& [servers, group] : ListGroups(collective))
    {
        GroupCuts cuts(topology, servers, scaled, trial);
        if (group.hasAllReduce)
        {
            cuts.TryLeastCuts();
        }
        cuts.TryRootsOutside(group.nRoots);
    }
    TryParts(topology, widths, scaled, mayHold, trial);
    return trial.GetBest();
}

} // namespace ns3::allreduce
