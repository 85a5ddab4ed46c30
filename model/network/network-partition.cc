/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "network-partition.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#ifdef ALLREDUCE_METIS
#include <metis.h>
#endif

namespace ns3::allreduce
{

namespace
{

/// A rank may have so much more to do than the mean.
constexpr double MOST_IMBALANCE = 1.25;

/// How often the plan uses nodes and links.
struct Load
{
    std::vector<uint64_t> nodes; //!< by node
    std::vector<uint64_t> links; //!< by link
};

/// Nodes that stay together, and what is between such groups.
struct GroupGraph
{
    std::vector<uint32_t> groups;                        //!< by node
    std::vector<uint64_t> loads;                         //!< by group
    std::vector<std::map<uint32_t, uint64_t>> neighbors; //!< by group: load between them
};

Load
ComputeLoad(const Topology& topology, const AllReduceSchedule& plan)
{
    // Of nodes and links that are not used, few and near ones should be cut nevertheless.
    Load load{std::vector<uint64_t>(topology.GetNNodes(), 1),
              std::vector<uint64_t>(topology.GetNLinks(), 1)};
    for (const WorkloadList& round : plan.rounds)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const NodeRange path = round.Get(i).path;
            for (const NodeId node : path)
            {
                ++load.nodes[node];
            }
            for (const DirectedLinkId link : FindLinks(topology, path))
            {
                ++load.links[GetLinkId(link)];
            }
        }
    }
    return load;
}

uint32_t
FindGroup(std::vector<uint32_t>& leaders, uint32_t node)
{
    while (leaders[node] != node)
    {
        leaders[node] = leaders[leaders[node]];
        node = leaders[node];
    }
    return node;
}

/// @return the graph in which links with less than a delay are not cut
GroupGraph
MakeGroups(const Topology& topology, const Load& load, int64_t leastDelayNs)
{
    std::vector<uint32_t> leaders(topology.GetNNodes());
    std::iota(leaders.begin(), leaders.end(), 0);
    for (const Link& link : topology.GetLinks())
    {
        if (link.delayNs < leastDelayNs)
        {
            leaders[FindGroup(leaders, link.b)] = FindGroup(leaders, link.a);
        }
    }
    GroupGraph graph;
    std::map<uint32_t, uint32_t> numbers;
    for (NodeId node = 0; node < topology.GetNNodes(); ++node)
    {
        const uint32_t group =
            numbers.emplace(FindGroup(leaders, node), numbers.size()).first->second;
        graph.groups.push_back(group);
        graph.loads.resize(numbers.size());
        graph.loads[group] += load.nodes[node];
    }
    graph.neighbors.resize(numbers.size());
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        const uint32_t a = graph.groups[topology.GetLink(id).a];
        const uint32_t b = graph.groups[topology.GetLink(id).b];
        if (a != b)
        {
            graph.neighbors[a][b] += load.links[id];
            graph.neighbors[b][a] += load.links[id];
        }
    }
    return graph;
}

#ifdef ALLREDUCE_METIS

/// @return a load as a number that METIS can add up
idx_t
Scale(uint64_t load, uint64_t most)
{
    constexpr double LARGEST = 10'000;
    return 1 + static_cast<idx_t>(LARGEST * load / most);
}

/// @return by group: its rank
std::vector<uint32_t>
CutGroups(const GroupGraph& graph, uint32_t nRanks)
{
    uint64_t most = *std::max_element(graph.loads.begin(), graph.loads.end());
    for (const auto& neighbors : graph.neighbors)
    {
        for (const auto& [other, load] : neighbors)
        {
            most = std::max(most, load);
        }
    }
    std::vector<idx_t> first{0};
    std::vector<idx_t> others;
    std::vector<idx_t> otherLoads;
    std::vector<idx_t> loads;
    for (uint32_t group = 0; group < graph.loads.size(); ++group)
    {
        loads.push_back(Scale(graph.loads[group], most));
        for (const auto& [other, load] : graph.neighbors[group])
        {
            others.push_back(other);
            otherLoads.push_back(Scale(load, most));
        }
        first.push_back(others.size());
    }
    idx_t nGroups = loads.size();
    idx_t nConstraints = 1;
    idx_t nParts = nRanks;
    idx_t cut = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NCUTS] = 8;
    std::vector<idx_t> parts(nGroups);
    METIS_PartGraphRecursive(&nGroups,
                             &nConstraints,
                             first.data(),
                             others.data(),
                             loads.data(),
                             nullptr,
                             otherLoads.data(),
                             &nParts,
                             nullptr,
                             nullptr,
                             options,
                             &cut,
                             parts.data());
    return {parts.begin(), parts.end()};
}

#else

/// @return by group: its rank
std::vector<uint32_t>
CutGroups(const GroupGraph& graph, uint32_t nRanks)
{
    std::vector<uint32_t> order;
    std::vector<bool> isFound(graph.loads.size(), false);
    for (uint32_t group = 0; group < graph.loads.size(); ++group)
    {
        if (!isFound[group])
        {
            order.push_back(group);
            isFound[group] = true;
        }
        for (const auto& [other, load] : graph.neighbors[order[group]])
        {
            if (!isFound[other])
            {
                order.push_back(other);
                isFound[other] = true;
            }
        }
    }
    const double all = std::accumulate(graph.loads.begin(), graph.loads.end(), 0.0);
    double before = 0;
    std::vector<uint32_t> ranks(graph.loads.size());
    for (const uint32_t group : order)
    {
        ranks[group] = std::min<uint32_t>(nRanks - 1, nRanks * before / all);
        before += graph.loads[group];
    }
    return ranks;
}

#endif

/// @return who simulates what if links with less than a delay are not cut
NetworkPartition
Cut(const Topology& topology, const Load& load, int64_t leastDelayNs, uint32_t nRanks)
{
    const GroupGraph graph = MakeGroups(topology, load, leastDelayNs);
    if (graph.loads.size() < nRanks)
    {
        return NetworkPartition(topology.GetNNodes(), 0);
    }
    const std::vector<uint32_t> ranks = CutGroups(graph, nRanks);
    NetworkPartition partition;
    for (const uint32_t group : graph.groups)
    {
        partition.push_back(ranks[group]);
    }
    return partition;
}

bool
IsBalanced(const Topology& topology,
           const Load& load,
           const NetworkPartition& partition,
           uint32_t nRanks)
{
    std::vector<uint64_t> loads(nRanks, 0);
    std::vector<bool> hasServer(nRanks, false);
    for (NodeId node = 0; node < partition.size(); ++node)
    {
        loads[partition[node]] += load.nodes[node];
        hasServer[partition[node]] = hasServer[partition[node]] || topology.IsServer(node);
    }
    const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
    return *std::max_element(loads.begin(), loads.end()) <= MOST_IMBALANCE * all / nRanks &&
           std::count(hasServer.begin(), hasServer.end(), true) == nRanks;
}

} // namespace

NetworkPartition
PartitionNetwork(const Topology& topology, const AllReduceSchedule& plan, uint32_t nRanks)
{
    const Load load = ComputeLoad(topology, plan);
    std::set<int64_t, std::greater<>> delays;
    for (const Link& link : topology.GetLinks())
    {
        delays.insert(link.delayNs);
    }
    delays.erase(0);
    if (delays.empty())
    {
        FailInput(topology.GetName(),
                  ": no link has a delay, expected some that can be between ranks");
    }
    NetworkPartition partition(topology.GetNNodes(), 0);
    for (const int64_t delay : delays)
    {
        partition = Cut(topology, load, delay, nRanks);
        if (IsBalanced(topology, load, partition, nRanks))
        {
            return partition;
        }
    }
    CheckPartition(topology, partition, nRanks, topology.GetName());
    return partition;
}

NetworkPartition
ReadPartition(std::istream& in, const std::string& name, const Topology& topology, uint32_t nRanks)
{
    NetworkPartition partition;
    std::string line;
    while (std::getline(in, line))
    {
        const std::string place = name + ", line " + std::to_string(partition.size() + 1);
        if (partition.size() == topology.GetNNodes())
        {
            FailInput(place, ": expected ", topology.GetNNodes(), " lines, one for each node");
        }
        const uint64_t rank = ParseNumber(line, place);
        if (rank >= nRanks)
        {
            FailInput(place, ": rank ", rank, ", expected 0 to ", nRanks - 1);
        }
        partition.push_back(rank);
    }
    if (partition.size() != topology.GetNNodes())
    {
        FailInput(name,
                  ": ",
                  partition.size(),
                  " lines, expected ",
                  topology.GetNNodes(),
                  ", one for each node");
    }
    CheckPartition(topology, partition, nRanks, name);
    return partition;
}

void
CheckPartition(const Topology& topology,
               const NetworkPartition& partition,
               uint32_t nRanks,
               const std::string& name)
{
    for (uint32_t rank = 0; rank < nRanks; ++rank)
    {
        const auto servers = partition.begin() + topology.GetNServers();
        if (std::find(partition.begin(), servers, rank) == servers)
        {
            FailInput(name, ": rank ", rank, " has no server, expected one at least");
        }
    }
    for (const Link& link : topology.GetLinks())
    {
        if (link.delayNs == 0 && partition[link.a] != partition[link.b])
        {
            FailInput(name,
                      ": link ",
                      link.a,
                      "-",
                      link.b,
                      " is between two ranks and has no delay, expected one");
        }
    }
}

} // namespace ns3::allreduce
