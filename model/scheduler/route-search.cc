/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "route-search.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Rows of up to this many words are searched completely, longer ones by samples.
constexpr std::size_t EXHAUSTIVE_WORDS = 4;
/// Chunks weighed for one sender, in long rows.
constexpr uint32_t CHUNKS_PER_SENDER = 8;
/// Chunks weighed for one port, in long rows.
constexpr uint32_t CHUNKS_PER_SEARCH = 32;
/// No link is in the way.
constexpr DirectedLinkId NO_LINK = -1;

} // namespace

RouteSearch::RouteSearch(const Topology& topology,
                         const std::vector<uint32_t>& free,
                         const BroadcastProgress& progress,
                         const GreedyWeights& weights,
                         PlannerRandom& random)
    : m_topology(topology),
      m_free(free),
      m_progress(progress),
      m_weights(weights),
      m_random(random),
      m_reachedIn(topology.GetNNodes(), 0),
      m_towards(topology.GetNNodes()),
      m_length(topology.GetNNodes()),
      m_blockedBy(topology.GetNNodes()),
      m_open(progress.GetRowWords())
{
}

void
RouteSearch::Begin(DirectedLinkId last)
{
    ++m_search;
    m_last = last;
    m_receiver = m_topology.GetTarget(last);
    m_reachedIn[m_receiver] = m_search;
    m_queue.clear();
    m_nConsidered = 0;
    const uint64_t* missing = m_progress.GetMissing(m_receiver);
    std::copy(missing, missing + m_open.size(), m_open.begin());
    if (!m_topology.IsServer(m_topology.GetSource(last)))
    {
        Reach(m_topology.GetSource(last), last, 1);
    }
}

void
RouteSearch::Reach(NodeId node, DirectedLinkId towards, uint32_t length)
{
    m_reachedIn[node] = m_search;
    m_towards[node] = towards;
    m_length[node] = length;
    m_blockedBy[node] = NO_LINK;
    m_queue.push_back(node);
}

bool
RouteSearch::FindFree(DirectedLinkId last, Route& route)
{
    route.cost = std::numeric_limits<double>::infinity();
    Begin(last);
    DirectedLinkId bestFirst = NO_LINK;
    auto consider = [&](DirectedLinkId first, uint32_t length) {
        const double before = route.cost;
        ConsiderSender(first, length, route);
        bestFirst = route.cost < before ? first : bestFirst;
    };
    if (m_queue.empty())
    {
        consider(last, 1);
    }
    const bool exhaustive = m_open.size() <= EXHAUSTIVE_WORDS;
    for (std::size_t i = 0; i < m_queue.size(); ++i)
    {
        const NodeId node = m_queue[i];
        const Topology::Ports ports = m_topology.GetPorts(node);
        const std::size_t rotation = m_random.Below(ports.size());
        for (std::size_t k = 0; k < ports.size(); ++k)
        {
            const std::size_t index = k + rotation;
            const Topology::Port& port = ports[index < ports.size() ? index : index - ports.size()];
            const DirectedLinkId link = Reverse(port.out);
            if (m_free[link] == 0 || m_reachedIn[port.neighbor] == m_search)
            {
                continue;
            }
            if (m_topology.IsServer(port.neighbor))
            {
                m_reachedIn[port.neighbor] = m_search;
                consider(link, m_length[node] + 1);
                if (!exhaustive && m_nConsidered >= CHUNKS_PER_SEARCH)
                {
                    break;
                }
            }
            else
            {
                Reach(port.neighbor, link, m_length[node] + 1);
            }
        }
        if (!exhaustive && m_nConsidered >= CHUNKS_PER_SEARCH)
        {
            break;
        }
    }
    if (bestFirst == NO_LINK)
    {
        return false;
    }
    TracePath(bestFirst, route.links);
    return true;
}

double
RouteSearch::GetCost(ChunkId chunk)
{
    return m_weights.noise * m_random.Unit() - m_weights.rarity * m_progress.GetDemand(chunk) -
           m_weights.spread * m_progress.GetLackingShare(m_receiver, chunk);
}

void
RouteSearch::ConsiderSender(DirectedLinkId first, uint32_t length, Route& best)
{
    const uint64_t* held = m_progress.GetHeld(m_topology.GetSource(first));
    const std::size_t words = m_open.size();
    const bool exhaustive = words <= EXHAUSTIVE_WORDS;
    uint32_t left = exhaustive ? std::numeric_limits<uint32_t>::max() : CHUNKS_PER_SENDER;
    std::size_t word = exhaustive ? 0 : m_random.Below(words);
    for (std::size_t i = 0; i < words && left > 0; ++i)
    {
        uint64_t chunks = held[word] & m_open[word];
        for (; chunks != 0 && left > 0; --left)
        {
            const int bit = __builtin_ctzll(chunks);
            chunks &= chunks - 1;
            m_open[word] &= ~(uint64_t{1} << bit);
            ++m_nConsidered;
            const ChunkId chunk = word * BitMatrix::WORD_BITS + bit;
            const double cost = GetCost(chunk) + m_weights.hop * length;
            if (cost < best.cost)
            {
                best.cost = cost;
                best.chunk = chunk;
            }
        }
        word = word + 1 < words ? word + 1 : 0;
    }
}

void
RouteSearch::TracePath(DirectedLinkId first, std::vector<DirectedLinkId>& links) const
{
    links.assign(1, first);
    while (links.back() != m_last)
    {
        links.push_back(m_towards[m_topology.GetTarget(links.back())]);
    }
}

void
RouteSearch::FindBlocked(DirectedLinkId last,
                         const std::vector<ChunkId>& comingChunks,
                         std::size_t limit,
                         std::vector<BlockedRoute>& routes)
{
    routes.clear();
    Begin(last);
    // First all that lies behind free links: there only the chunks can be in the way.
    for (ChunkId chunk : comingChunks)
    {
        m_open[chunk / BitMatrix::WORD_BITS] |= uint64_t{1} << (chunk % BitMatrix::WORD_BITS);
    }
    if (m_queue.empty())
    {
        AddBlocked(last, NO_LINK, 1, routes);
        return;
    }
    for (std::size_t i = 0; i < m_queue.size(); ++i)
    {
        const NodeId node = m_queue[i];
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const DirectedLinkId link = Reverse(port.out);
            if (m_free[link] == 0 || m_reachedIn[port.neighbor] == m_search)
            {
                continue;
            }
            if (m_topology.IsServer(port.neighbor))
            {
                m_reachedIn[port.neighbor] = m_search;
                AddBlocked(link, NO_LINK, m_length[node] + 1, routes);
            }
            else
            {
                Reach(port.neighbor, link, m_length[node] + 1);
            }
        }
    }
    for (ChunkId chunk : comingChunks)
    {
        m_open[chunk / BitMatrix::WORD_BITS] &= ~(uint64_t{1} << (chunk % BitMatrix::WORD_BITS));
    }
    FindBehindFullLinks(limit, routes);
}

void
RouteSearch::FindBehindFullLinks(std::size_t limit, std::vector<BlockedRoute>& routes)
{
    for (std::size_t i = 0; i < m_queue.size() && routes.size() < limit; ++i)
    {
        const NodeId node = m_queue[i];
        const Topology::Ports ports = m_topology.GetPorts(node);
        const std::size_t rotation = m_random.Below(ports.size());
        for (std::size_t k = 0; k < ports.size(); ++k)
        {
            const Topology::Port& port = ports[(k + rotation) % ports.size()];
            const DirectedLinkId link = Reverse(port.out);
            if (m_reachedIn[port.neighbor] == m_search || link == Reverse(m_last) ||
                (m_free[link] == 0 && m_blockedBy[node] != NO_LINK))
            {
                continue;
            }
            const DirectedLinkId full = m_free[link] == 0 ? link : m_blockedBy[node];
            if (m_topology.IsServer(port.neighbor))
            {
                m_reachedIn[port.neighbor] = m_search;
                AddBlocked(link, full, m_length[node] + 1, routes);
            }
            else
            {
                Reach(port.neighbor, link, m_length[node] + 1);
                m_blockedBy[port.neighbor] = full;
            }
        }
    }
}

void
RouteSearch::AddBlocked(DirectedLinkId first,
                        DirectedLinkId fullLink,
                        uint32_t length,
                        std::vector<BlockedRoute>& routes)
{
    Route route;
    ConsiderSender(first, length, route);
    if (route.cost < std::numeric_limits<double>::infinity())
    {
        const uint64_t bit = uint64_t{1} << (route.chunk % BitMatrix::WORD_BITS);
        TracePath(first, route.links);
        routes.push_back({std::move(route), fullLink != NO_LINK, fullLink});
        m_open[route.chunk / BitMatrix::WORD_BITS] |= bit;
    }
}

} // namespace ns3::allreduce
