/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "route-search.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

namespace
{

/// With more chunks than this only a sample of them is weighed for each port.
constexpr uint32_t MAX_CHUNKS_TO_WEIGH_ALL = 256;
/// How many chunks are weighed for one port, when sampling.
constexpr uint32_t CHUNKS_PER_PORT = 16;
/// How many of them for one sender.
constexpr uint32_t CHUNKS_PER_SENDER = 4;
/// How many blocked routes to find at most.
constexpr std::size_t MAX_BLOCKED_ROUTES = 16;

constexpr DirectedLinkId NO_ROUTE_LINK = std::numeric_limits<DirectedLinkId>::max();
constexpr double NO_ROUTE = std::numeric_limits<double>::infinity();

} // namespace

RouteSearch::RouteSearch(const BroadcastProblem& problem,
                         const std::vector<uint32_t>& free,
                         const BroadcastProgress& progress,
                         const GreedyWeights& weights,
                         PlannerRandom& random)
    : m_problem(problem),
      m_topology(*problem.topology),
      m_free(free),
      m_progress(progress),
      m_weights(weights),
      m_random(random),
      m_sampling(progress.GetNChunks() > MAX_CHUNKS_TO_WEIGH_ALL),
      m_open(progress.GetRowWords()),
      m_reachedIn(m_topology.GetNNodes(), 0),
      m_towards(m_topology.GetNNodes()),
      m_length(m_topology.GetNNodes()),
      m_fullOnPath(m_topology.GetNNodes())
{
}

template <typename Visit>
void
RouteSearch::VisitLinksInto(NodeId node, Visit visit)
{
    const Topology::Ports ports = m_topology.GetPorts(node);
    const Topology::Port* start = ports.begin() + m_random.Below(ports.size());
    for (const Topology::Port* port = start; port != ports.end(); ++port)
    {
        visit(port->neighbor, Reverse(port->out));
    }
    for (const Topology::Port* port = ports.begin(); port != start; ++port)
    {
        visit(port->neighbor, Reverse(port->out));
    }
}

template <typename GoOn, typename Consider>
void
RouteSearch::SearchFreeLinks(GoOn goOn, Consider consider)
{
    const NodeId next = m_topology.GetSource(m_last);
    if (m_topology.IsServer(next))
    {
        consider(next, m_last, 1);
    }
    for (std::size_t i = 0; i < m_queue.size() && goOn(); ++i)
    {
        const uint32_t length = m_length[m_queue[i]] + 1;
        VisitLinksInto(m_queue[i], [&](NodeId from, DirectedLinkId link) {
            if (m_free[link] == 0 || IsReached(from))
            {
                return;
            }
            if (m_topology.IsServer(from))
            {
                m_reachedIn[from] = m_search;
                consider(from, link, length);
            }
            else
            {
                ReachSwitch(from, link, length, NO_ROUTE_LINK);
            }
        });
    }
}

void
RouteSearch::BeginRound()
{
    m_startWord = m_sampling ? m_random.Below(m_open.size()) : 0;
}

bool
RouteSearch::FindFree(DirectedLinkId last, Route& route)
{
    Begin(last);
    Choice best{NO_ROUTE, 0, NO_ROUTE_LINK};
    SearchFreeLinks([&] { return m_nToWeigh > 0; },
                    [&](NodeId sender, DirectedLinkId first, uint32_t length) {
                        ConsiderSender(sender, first, length, best);
                    });
    if (best.first == NO_ROUTE_LINK)
    {
        return false;
    }
    route.chunk = best.chunk;
    TracePath(best.first, route.links);
    return true;
}

void
RouteSearch::FindBlocked(DirectedLinkId last,
                         const std::vector<ChunkId>& coming,
                         std::vector<BlockedRoute>& routes)
{
    routes.clear();
    Begin(last);
    FindComing(coming, routes);
    FindBehindFullLinks(routes);
}

void
RouteSearch::Begin(DirectedLinkId last)
{
    ++m_search;
    m_last = last;
    m_receiver = m_topology.GetTarget(last);
    m_reachedIn[m_receiver] = m_search;
    m_salt = m_random();
    OpenMissing();
    m_queue.clear();
    const NodeId next = m_topology.GetSource(last);
    if (!m_topology.IsServer(next))
    {
        ReachSwitch(next, last, 1, NO_ROUTE_LINK);
    }
}

void
RouteSearch::OpenMissing()
{
    const uint64_t* missing = m_progress.GetMissing(m_receiver);
    std::copy(missing, missing + m_open.size(), m_open.begin());
    m_nToWeigh = m_progress.GetNMissing(m_receiver);
    if (m_sampling)
    {
        m_nToWeigh = std::min(m_nToWeigh, CHUNKS_PER_PORT);
    }
}

bool
RouteSearch::IsReached(NodeId node) const
{
    return m_reachedIn[node] == m_search;
}

void
RouteSearch::ReachSwitch(NodeId node, DirectedLinkId link, uint32_t length, DirectedLinkId fullLink)
{
    m_reachedIn[node] = m_search;
    m_towards[node] = link;
    m_length[node] = length;
    m_fullOnPath[node] = fullLink;
    m_queue.push_back(node);
}

void
RouteSearch::ConsiderSender(NodeId sender, DirectedLinkId first, uint32_t length, Choice& best)
{
    const uint64_t* held = m_progress.GetHeld(sender);
    const std::size_t words = m_open.size();
    uint32_t toWeigh = m_sampling ? std::min(m_nToWeigh, CHUNKS_PER_SENDER) : m_nToWeigh;
    m_nToWeigh -= toWeigh;
    std::size_t word = m_startWord;
    for (std::size_t i = 0; i < words && toWeigh > 0; ++i)
    {
        for (uint64_t chunks = held[word] & m_open[word]; chunks != 0 && toWeigh > 0; --toWeigh)
        {
            const uint64_t lowest = chunks & -chunks;
            const ChunkId chunk = word * BitMatrix::WORD_BITS + __builtin_ctzll(chunks);
            chunks ^= lowest;
            m_open[word] ^= lowest; // no farther server can send it at a lower cost
            const double cost = GetCost(chunk, length);
            if (cost < best.cost)
            {
                best = {cost, chunk, first};
            }
        }
        word = word + 1 < words ? word + 1 : 0;
    }
    m_nToWeigh += toWeigh;
}

inline double
RouteSearch::GetCost(ChunkId chunk, uint32_t length) const
{
    // Fibonacci hashing spreads the bits.
    const double random = (((m_salt ^ chunk) * SPLIT_MIX_STEP) >> 32) * 0x1p-32;
    return m_weights.length * length + m_weights.noise * random -
           m_weights.rarity * m_progress.GetDemand(chunk) -
           m_weights.spread * m_progress.GetLackingShare(m_receiver, chunk);
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
RouteSearch::FindComing(const std::vector<ChunkId>& coming, std::vector<BlockedRoute>& routes)
{
    SearchFreeLinks([] { return true; },
                    [&](NodeId sender, DirectedLinkId first, uint32_t) {
                        for (ChunkId chunk : coming)
                        {
                            if (m_progress.Holds(sender, chunk))
                            {
                                AddBlocked(chunk, first, NO_ROUTE_LINK, routes);
                            }
                        }
                    });
}

void
RouteSearch::FindBehindFullLinks(std::vector<BlockedRoute>& routes)
{
    for (std::size_t i = 0; i < m_queue.size() && routes.size() < MAX_BLOCKED_ROUTES; ++i)
    {
        const NodeId node = m_queue[i];
        const uint32_t length = m_length[node] + 1;
        VisitLinksInto(node, [&](NodeId from, DirectedLinkId link) {
            const bool isFull = m_free[link] == 0;
            const bool isUp = m_problem.capacity[link] > 0;
            if (!isUp || IsReached(from) || (isFull && m_fullOnPath[node] != NO_ROUTE_LINK))
            {
                return;
            }
            const DirectedLinkId fullLink = isFull ? link : m_fullOnPath[node];
            if (!m_topology.IsServer(from))
            {
                ReachSwitch(from, link, length, fullLink);
                return;
            }
            m_reachedIn[from] = m_search;
            OpenMissing();
            Choice best{NO_ROUTE, 0, NO_ROUTE_LINK};
            ConsiderSender(from, link, length, best);
            if (best.first != NO_ROUTE_LINK)
            {
                AddBlocked(best.chunk, link, fullLink, routes);
            }
        });
    }
}

void
RouteSearch::AddBlocked(ChunkId chunk,
                        DirectedLinkId first,
                        DirectedLinkId fullLink,
                        std::vector<BlockedRoute>& routes) const
{
    routes.push_back({{chunk, {}}, fullLink != NO_ROUTE_LINK, fullLink});
    TracePath(first, routes.back().route.links);
}

} // namespace ns3::allreduce
