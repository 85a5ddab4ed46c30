/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "collective-times.h"

#include "ns3/breadth-first-search.h"
#include "ns3/scheduler-factory.h"
#include "ns3/topology-metrics.h"
#include "ns3/verified-plan.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr NodeId NOWHERE = std::numeric_limits<NodeId>::max();

/// @return by node: its number in the network between servers, or NOWHERE
std::vector<NodeId>
NumberNodes(const Topology& topology, const std::vector<NodeId>& servers)
{
    std::vector<std::vector<uint32_t>> hops;
    for (const NodeId server : servers)
    {
        const auto pass = [](NodeId, const Topology::Port&) { return true; };
        hops.push_back(SearchBreadthFirst(topology, server, pass).distance);
    }
    std::vector<NodeId> numbers(topology.GetNNodes(), NOWHERE);
    for (std::size_t i = 0; i < servers.size(); ++i)
    {
        numbers[servers[i]] = i;
    }
    NodeId next = servers.size();
    for (NodeId node = 0; node < topology.GetNNodes(); ++node)
    {
        bool isBetween = false;
        for (std::size_t i = 0; i < servers.size() && !isBetween; ++i)
        {
            for (std::size_t j = 0; j < i && !isBetween; ++j)
            {
                isBetween = uint64_t{hops[i][node]} + hops[j][node] == hops[i][servers[j]];
            }
        }
        if (isBetween && numbers[node] == NOWHERE)
        {
            numbers[node] = next++;
        }
    }
    return numbers;
}

} // namespace

Topology
CutOut(const Topology& topology, const std::vector<NodeId>& servers)
{
    const std::vector<NodeId> numbers = NumberNodes(topology, servers);
    const uint32_t nNodes = std::count_if(numbers.begin(), numbers.end(), [](NodeId number) {
        return number != NOWHERE;
    });
    std::vector<Link> links;
    for (Link link : topology.GetLinks())
    {
        link.a = numbers[link.a];
        link.b = numbers[link.b];
        if (link.a != NOWHERE && link.b != NOWHERE)
        {
            links.push_back(link);
        }
    }
    return {topology.GetName() + " in part",
            static_cast<uint32_t>(servers.size()),
            nNodes - static_cast<uint32_t>(servers.size()),
            links};
}

CollectiveTimes::CollectiveTimes(Topology topology, std::string scheduler)
    : m_topology(std::move(topology)),
      m_scheduler(std::move(scheduler))
{
    CreateScheduler(m_scheduler);
}

double
CollectiveTimes::GetShare(std::vector<NodeId> servers)
{
    if (servers.size() < 2)
    {
        return 1;
    }
    std::sort(servers.begin(), servers.end());
    const auto found = m_byServers.find(servers);
    if (found != m_byServers.end())
    {
        return found->second;
    }
    const double share = std::min(1.0, Compare(servers));
    m_byServers.emplace(std::move(servers), share);
    return share;
}

std::size_t
CollectiveTimes::GetNPlans() const
{
    return m_byServers.size();
}

/// Plans an AllReduce of servers. @return its rounds over those of a ring with chunks as large
double
CollectiveTimes::Compare(const std::vector<NodeId>& servers) const
{
    const Topology part = CutOut(m_topology, servers);
    const uint32_t n = servers.size();
    const uint32_t chunksPerServer = std::max<uint32_t>(1, ComputeMeanPorts(part));
    const Ptr<AllReduceScheduler> scheduler = CreateScheduler(m_scheduler);
    const VerifiedPlan plan = PlanVerified(part, MakeRoots(n, chunksPerServer), *scheduler);
    return plan.GetRounds().size() / (2.0 * (n - 1) * chunksPerServer);
}

} // namespace ns3::allreduce
