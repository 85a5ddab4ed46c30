/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-placement.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// From how many servers a ring is tried to grow.
constexpr std::size_t MOST_ATTEMPTS = 8;

} // namespace

FreePathSearch::FreePathSearch(const Topology& topology, const std::vector<uint64_t>& freeBps)
    : m_topology(topology),
      m_freeBps(freeBps),
      m_seen(topology.GetNNodes(), 0),
      m_parent(topology.GetNNodes(), 0),
      m_isBlocked(topology.GetNNodes(), false)
{
}

void
FreePathSearch::SetBlocked(const std::vector<NodeId>& nodes)
{
    for (const NodeId node : m_blocked)
    {
        m_isBlocked[node] = false;
    }
    m_blocked = nodes;
    for (const NodeId node : m_blocked)
    {
        m_isBlocked[node] = true;
    }
}

void
FreePathSearch::SetFirstPort(uint32_t port)
{
    m_firstPort = port;
}

bool
FreePathSearch::IsSeen(NodeId node) const
{
    return m_seen[node] == m_search;
}

void
FreePathSearch::See(NodeId node, NodeId parent)
{
    m_seen[node] = m_search;
    m_parent[node] = parent;
    m_queue.push_back(node);
}

Path
FreePathSearch::FindNearest(NodeId from, uint64_t bandwidthBps, const Score& score)
{
    ++m_search;
    m_queue.clear();
    See(from, from);
    std::size_t levelBegin = 0;
    std::optional<NodeId> best;
    int64_t bestScore = -1;
    while (levelBegin < m_queue.size() && !best)
    {
        const std::size_t levelEnd = m_queue.size();
        for (std::size_t i = levelBegin; i < levelEnd; ++i)
        {
            const NodeId node = m_queue[i];
            if (node != from && m_isBlocked[node])
            {
                continue;
            }
            const Topology::Ports ports = m_topology.GetPorts(node);
            const std::size_t nPorts = ports.size();
            std::size_t next = m_firstPort % nPorts;
            for (std::size_t n = 0; n < nPorts; ++n, next = next + 1 == nPorts ? 0 : next + 1)
            {
                const Topology::Port& port = ports[next];
                if (IsSeen(port.neighbor) || m_freeBps[port.out] < bandwidthBps)
                {
                    continue;
                }
                See(port.neighbor, node);
                const int64_t value =
                    m_topology.IsServer(port.neighbor) ? score(port.neighbor) : -1;
                if (value > bestScore)
                {
                    bestScore = value;
                    best = port.neighbor;
                }
            }
        }
        levelBegin = levelEnd;
    }
    return best ? TraceBack(from, *best) : Path();
}

Path
FreePathSearch::TraceBack(NodeId from, NodeId to) const
{
    Path path{to};
    while (path.back() != from)
    {
        path.push_back(m_parent[path.back()]);
    }
    std::reverse(path.begin(), path.end());
    return path;
}

RingPlacement::RingPlacement(const GpuCluster& cluster)
    : m_cluster(cluster),
      m_nGpus(cluster.GetNGpus()),
      m_free(cluster.gpus.size(), 0),
      m_byFree(1 + *std::max_element(cluster.gpus.begin(), cluster.gpus.end())),
      m_place(cluster.gpus.size(), 0),
      m_freeBps(cluster.topology.GetNDirectedLinks()),
      m_search(cluster.topology, m_freeBps)
{
    for (NodeId server = 0; server < m_free.size(); ++server)
    {
        m_place[server] = m_byFree[0].size();
        m_byFree[0].push_back(server);
    }
    for (NodeId server = m_free.size(); server-- > 0;)
    {
        SetFree(server, cluster.gpus[server]);
    }
    for (DirectedLinkId link = 0; link < m_freeBps.size(); ++link)
    {
        m_freeBps[link] = cluster.GetReservable(link);
        m_reservableBps += m_freeBps[link];
    }
}

void
RingPlacement::SetFree(NodeId server, uint32_t nFree)
{
    // The last of the old list takes the server's place there.
    std::vector<NodeId>& before = m_byFree[m_free[server]];
    m_place[before.back()] = m_place[server];
    before[m_place[server]] = before.back();
    before.pop_back();
    m_nFree += nFree - m_free[server];
    m_free[server] = nFree;
    m_place[server] = m_byFree[nFree].size();
    m_byFree[nFree].push_back(server);
}

bool
RingPlacement::Place(JobId job, uint32_t workers, uint64_t bandwidthBps)
{
    if (workers > m_nFree)
    {
        return false;
    }
    SpreadPaths(job, bandwidthBps);
    if (PlaceOnOne(job, workers, bandwidthBps))
    {
        return true;
    }
    const auto firsts = FindRoomiest(MOST_ATTEMPTS);
    return std::any_of(firsts.begin(), firsts.end(), [&](NodeId first) {
        return PlaceFrom(first, job, workers, bandwidthBps);
    });
}

bool
RingPlacement::PlaceOnOne(JobId job, uint32_t workers, uint64_t bandwidthBps)
{
    const auto server = FindTightest(workers);
    if (!server)
    {
        return false;
    }
    RingEmbedding ring{job, bandwidthBps, {}, {}, {}};
    AddShare(ring, {*server, workers});
    return Close(std::move(ring));
}

std::optional<NodeId>
RingPlacement::FindTightest(uint32_t workers) const
{
    for (std::size_t nFree = workers; nFree < m_byFree.size(); ++nFree)
    {
        if (!m_byFree[nFree].empty())
        {
            return m_byFree[nFree].back();
        }
    }
    return std::nullopt;
}

std::vector<NodeId>
RingPlacement::FindRoomiest(std::size_t most) const
{
    std::vector<NodeId> servers;
    for (std::size_t nFree = m_byFree.size() - 1; nFree > 0 && servers.size() < most; --nFree)
    {
        const std::vector<NodeId>& equal = m_byFree[nFree];
        const std::size_t n = std::min(equal.size(), most - servers.size());
        servers.insert(servers.end(), equal.rbegin(), equal.rbegin() + n);
    }
    return servers;
}

bool
RingPlacement::PlaceFrom(NodeId first, JobId job, uint32_t workers, uint64_t bandwidthBps)
{
    RingEmbedding ring{job, bandwidthBps, {}, {}, {}};
    uint32_t nMissing = workers - std::min(workers, m_free[first]);
    AddShare(ring, {first, workers - nMissing});
    while (nMissing > 0)
    {
        // Just enough room is best, then much room; a server of this ring has none left.
        const auto score = [this, nMissing](NodeId server) -> int64_t {
            const int64_t nFree = m_free[server];
            return nFree == 0 ? -1 : nFree >= nMissing ? 2 * int64_t(m_nGpus) - nFree : nFree;
        };
        m_search.SetBlocked(ring.servers);
        const Path path = m_search.FindNearest(ring.servers.back(), bandwidthBps, score);
        if (!AddPath(ring, path))
        {
            return false;
        }
        const uint32_t share = std::min(nMissing, m_free[path.back()]);
        AddShare(ring, {path.back(), share});
        nMissing -= share;
    }
    return Close(std::move(ring));
}

bool
RingPlacement::PlaceOn(JobId job, const std::vector<ServerShare>& shares, uint64_t bandwidthBps)
{
    SpreadPaths(job, bandwidthBps);
    RingEmbedding ring{job, bandwidthBps, {}, {}, {}};
    std::vector<NodeId> members;
    for (const ServerShare& share : shares)
    {
        members.push_back(share.server);
    }
    for (std::size_t i = 0; i < shares.size(); ++i)
    {
        AddShare(ring, shares[i]);
        if (i + 1 == shares.size())
        {
            break;
        }
        m_search.SetBlocked(members);
        const Path path = m_search.FindNearest(shares[i].server, bandwidthBps, [&](NodeId server) {
            return server == shares[i + 1].server ? 0 : -1;
        });
        if (!AddPath(ring, path))
        {
            return false;
        }
    }
    return Close(std::move(ring));
}

/// Rings that reserve nothing do not see where others are: as in ECMP a hash spreads them.
void
RingPlacement::SpreadPaths(JobId job, uint64_t bandwidthBps)
{
    constexpr uint32_t KNUTH = 2654435761;
    m_search.SetFirstPort(bandwidthBps == 0 ? (job * KNUTH) >> 16 : 0);
}

void
RingPlacement::AddShare(RingEmbedding& ring, ServerShare share)
{
    ring.servers.push_back(share.server);
    ring.workers.push_back(share.workers);
    SetFree(share.server, m_free[share.server] - share.workers);
}

/// @return whether there was a path; if not, the ring is undone
bool
RingPlacement::AddPath(RingEmbedding& ring, const Path& path)
{
    if (path.empty())
    {
        Undo(ring);
        return false;
    }
    Reserve(ring, path);
    ring.paths.push_back(path);
    return true;
}

/// Joins the last server to the first and keeps the ring.
/// @return whether that was possible; if not, it is undone
bool
RingPlacement::Close(RingEmbedding ring)
{
    if (ring.servers.size() > 1)
    {
        m_search.SetBlocked(ring.servers);
        const NodeId first = ring.servers.front();
        const Path path =
            m_search.FindNearest(ring.servers.back(), ring.bandwidthBps, [first](NodeId server) {
                return server == first ? 0 : -1;
            });
        if (!AddPath(ring, path))
        {
            return false;
        }
    }
    Keep(std::move(ring));
    return true;
}

void
RingPlacement::Reserve(const RingEmbedding& ring, const Path& path)
{
    ForEachLink(m_cluster.topology, path, [&](DirectedLinkId link) {
        m_freeBps[link] -= ring.bandwidthBps;
        m_reservedBps += ring.bandwidthBps;
    });
}

void
RingPlacement::Undo(const RingEmbedding& ring)
{
    for (std::size_t i = 0; i < ring.servers.size(); ++i)
    {
        SetFree(ring.servers[i], m_free[ring.servers[i]] + ring.workers[i]);
    }
    for (const DirectedLinkId link : GetLinks(m_cluster.topology, ring))
    {
        m_freeBps[link] += ring.bandwidthBps;
        m_reservedBps -= ring.bandwidthBps;
    }
}

void
RingPlacement::Keep(RingEmbedding ring)
{
    if (ring.job >= m_ringOfJob.size())
    {
        m_ringOfJob.resize(ring.job + 1, NO_RING);
    }
    m_ringOfJob[ring.job] = m_rings.size();
    m_rings.push_back(std::move(ring));
}

RingEmbedding
RingPlacement::Remove(JobId job)
{
    const uint32_t index = m_ringOfJob[job];
    RingEmbedding ring = std::move(m_rings[index]);
    if (index + 1 < m_rings.size())
    {
        m_rings[index] = std::move(m_rings.back());
        m_ringOfJob[m_rings[index].job] = index;
    }
    m_rings.pop_back();
    m_ringOfJob[job] = NO_RING;
    Undo(ring);
    return ring;
}

void
RingPlacement::Restore(RingEmbedding ring)
{
    for (std::size_t i = 0; i < ring.servers.size(); ++i)
    {
        SetFree(ring.servers[i], m_free[ring.servers[i]] - ring.workers[i]);
    }
    for (const Path& path : ring.paths)
    {
        Reserve(ring, path);
    }
    Keep(std::move(ring));
}

void
RingPlacement::RestoreIfFree(const RingEmbedding& ring)
{
    bool isFree = true;
    for (std::size_t i = 0; i < ring.servers.size() && isFree; ++i)
    {
        isFree = m_free[ring.servers[i]] >= ring.workers[i];
    }
    std::vector<DirectedLinkId> links = GetLinks(m_cluster.topology, ring);
    std::sort(links.begin(), links.end());
    uint64_t needed = 0;
    for (std::size_t i = 0; i < links.size() && isFree; ++i)
    {
        // A ring can cross a link several times.
        needed = ring.bandwidthBps + (i > 0 && links[i] == links[i - 1] ? needed : 0);
        isFree = m_freeBps[links[i]] >= needed;
    }
    if (isFree)
    {
        Restore(ring);
    }
}

void
RingPlacement::Clear()
{
    while (!m_rings.empty())
    {
        Remove(m_rings.back().job);
    }
}

const RingEmbedding*
RingPlacement::Find(JobId job) const
{
    return job < m_ringOfJob.size() && m_ringOfJob[job] != NO_RING ? &m_rings[m_ringOfJob[job]]
                                                                   : nullptr;
}

const std::vector<RingEmbedding>&
RingPlacement::GetRings() const
{
    return m_rings;
}

uint32_t
RingPlacement::GetNFreeGpus() const
{
    return m_nFree;
}

uint32_t
RingPlacement::GetNFreeGpus(NodeId server) const
{
    return m_free[server];
}

uint32_t
RingPlacement::GetNGpus() const
{
    return m_nGpus;
}

uint64_t
RingPlacement::GetReservedBps() const
{
    return m_reservedBps;
}

uint64_t
RingPlacement::GetReservableBps() const
{
    return m_reservableBps;
}

} // namespace ns3::allreduce
