/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-topology.h"

#include "allreduce-error.h"
#include "topology-metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace ns3::allreduce
{

namespace
{

/**
 * Servers on an outer circle, switches on an inner one.
 *
 * @param nServers number of servers
 * @param nSwitches number of switches
 * @return a position for each node
 */
std::vector<Position>
PlaceOnCircles(uint32_t nServers, uint32_t nSwitches)
{
    const double turn = 2 * std::acos(-1.0);
    std::vector<Position> positions;
    positions.reserve(nServers + nSwitches);
    auto place = [&](uint32_t count, double radius) {
        for (uint32_t i = 0; i < count; ++i)
        {
            const double angle = turn * i / count;
            positions.push_back({0.5 + radius * std::cos(angle), 0.5 + radius * std::sin(angle)});
        }
    };
    place(nServers, 0.48);
    place(nSwitches, 0.25);
    return positions;
}

} // namespace

bool
operator==(const Link& x, const Link& y)
{
    return x.a == y.a && x.b == y.b && x.capacity == y.capacity && x.rateBps == y.rateBps &&
           x.delayNs == y.delayNs && x.errorRate == y.errorRate;
}

Topology::Topology(std::string name, uint32_t nServers, uint32_t nSwitches, std::vector<Link> links)
    : m_name(std::move(name)),
      m_nServers(nServers),
      m_nSwitches(nSwitches),
      m_links(std::move(links)),
      m_positions(PlaceOnCircles(nServers, nSwitches))
{
    CheckLinks();
    BuildPorts();
}

const std::string&
Topology::GetName() const
{
    return m_name;
}

const std::vector<Link>&
Topology::GetLinks() const
{
    return m_links;
}

const Link&
Topology::GetLink(LinkId link) const
{
    return m_links[link];
}

std::optional<DirectedLinkId>
Topology::FindDirectedLink(NodeId from, NodeId to) const
{
    if (from >= GetNNodes())
    {
        return std::nullopt;
    }
    const auto ports = GetPorts(from);
    const auto port =
        std::lower_bound(ports.begin(), ports.end(), to, [](const Port& p, NodeId neighbor) {
            return p.neighbor < neighbor;
        });
    if (port == ports.end() || port->neighbor != to)
    {
        return std::nullopt;
    }
    return port->out;
}

void
Topology::CheckPath(const Path& path) const
{
    auto fail = [&](const auto&... why) {
        FailInput("path ", FormatPath(path), " in ", m_name, ": ", why...);
    };
    if (path.size() < 2)
    {
        fail("expected two nodes or more");
    }
    for (const NodeId node : path)
    {
        if (node >= GetNNodes())
        {
            fail("unknown node ", node, ", expected a node below ", GetNNodes());
        }
    }
    std::unordered_set<NodeId> seen;
    for (const NodeId node : path)
    {
        if (!seen.insert(node).second)
        {
            fail("visits ", Describe(node), " twice");
        }
    }
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
    {
        if (!FindDirectedLink(path[i], path[i + 1]))
        {
            fail("no link between ", Describe(path[i]), " and ", Describe(path[i + 1]));
        }
    }
}

std::vector<uint32_t>
Topology::GetCapacities() const
{
    std::vector<uint32_t> capacities(GetNDirectedLinks());
    for (DirectedLinkId link = 0; link < capacities.size(); ++link)
    {
        capacities[link] = GetCapacity(link);
    }
    return capacities;
}

bool
Topology::AreServersConnected() const
{
    if (m_nServers == 0)
    {
        return true;
    }
    const std::vector<uint32_t> distance = ComputeDistances(*this, 0);
    return std::count(distance.begin(), distance.begin() + m_nServers, UNREACHABLE) == 0;
}

std::string
Topology::Describe(NodeId node) const
{
    return (IsServer(node) ? "server " : "switch ") + std::to_string(node);
}

const std::vector<Position>&
Topology::GetPositions() const
{
    return m_positions;
}

void
Topology::SetPositions(std::vector<Position> positions)
{
    if (positions.size() != GetNNodes())
    {
        FailInput(m_name,
                  ": ",
                  positions.size(),
                  " positions, expected one for each of the ",
                  GetNNodes(),
                  " nodes");
    }
    m_positions = std::move(positions);
}

Topology
Topology::WithLinks(std::string name, std::vector<Link> links) const
{
    Topology other(std::move(name), m_nServers, m_nSwitches, std::move(links));
    other.m_positions = m_positions;
    return other;
}

void
Topology::CheckLinks() const
{
    std::unordered_set<uint64_t> joined;
    for (const Link& link : m_links)
    {
        auto fail = [&](const auto&... why) {
            FailInput(m_name, ": link ", link.a, "-", link.b, ": ", why...);
        };
        const auto [low, high] = std::minmax(link.a, link.b);
        if (high >= GetNNodes())
        {
            fail("unknown node ", high, ", expected a node below ", GetNNodes());
        }
        if (low == high)
        {
            fail("joins a node to itself");
        }
        if (!joined.insert(uint64_t{low} << 32 | high).second)
        {
            fail("the pair is joined twice, expected one link with a larger capacity");
        }
        if (link.capacity == 0)
        {
            fail("capacity 0, expected 1 or more");
        }
        if (link.rateBps == 0 || link.rateBps > Link::MAX_RATE_BPS)
        {
            fail("rate ", link.rateBps, " bit/s, expected 1 to ", Link::MAX_RATE_BPS);
        }
        if (link.delayNs < 0 || link.delayNs > Link::MAX_DELAY_NS)
        {
            fail("delay ", link.delayNs, " ns, expected 0 to ", Link::MAX_DELAY_NS);
        }
        if (!(link.errorRate >= 0 && link.errorRate <= 1))
        {
            fail("error rate ", link.errorRate, ", expected 0 to 1");
        }
    }
}

void
Topology::BuildPorts()
{
    m_firstPort.assign(GetNNodes() + 1, 0);
    for (const Link& link : m_links)
    {
        ++m_firstPort[link.a + 1];
        ++m_firstPort[link.b + 1];
    }
    std::partial_sum(m_firstPort.begin(), m_firstPort.end(), m_firstPort.begin());
    m_ports.resize(GetNDirectedLinks());
    std::vector<uint32_t> next(m_firstPort.begin(), m_firstPort.end() - 1);
    for (DirectedLinkId out = 0; out < GetNDirectedLinks(); ++out)
    {
        m_ports[next[GetSource(out)]++] = {GetTarget(out), out};
    }
    for (NodeId node = 0; node < GetNNodes(); ++node)
    {
        std::sort(m_ports.begin() + m_firstPort[node],
                  m_ports.begin() + m_firstPort[node + 1],
                  [](const Port& x, const Port& y) { return x.neighbor < y.neighbor; });
    }
}

std::string
FormatPath(const Path& path)
{
    std::string text;
    for (const NodeId node : path)
    {
        text += (text.empty() ? "" : "-") + std::to_string(node);
    }
    return text;
}

} // namespace ns3::allreduce
