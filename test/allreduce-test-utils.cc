/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-state.h"
#include "ns3/remainder-planner.h"
#include "ns3/schedule-file.h"
#include "ns3/scheduler-factory.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// Carries out workloads with numbers.
class NumberExecutor
{
  public:
    NumberExecutor(const Topology& topology, const Collective& collective)
        : m_topology(topology),
          m_collective(collective),
          m_roots(collective.roots),
          m_sums(collective.roots.size(), 0),
          m_places(topology.GetNServers(), std::vector<Place>(collective.roots.size()))
    {
        for (const Link& link : topology.GetLinks())
        {
            m_capacity[std::minmax({link.a, link.b})] = link.capacity;
        }
        TestRandom random(20240131);
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            for (ChunkId chunk = 0; chunk < m_roots.size(); ++chunk)
            {
                const uint64_t number = random();
                if (!IsIn(server, chunk, collective.contributors))
                {
                    continue;
                }
                m_places[server][chunk].own = {{server}, number};
                m_sums[chunk] += number;
            }
        }
    }

    /// @return what is wrong with a round, or ""
    std::string Execute(const OwnRound& round)
    {
        std::map<std::pair<NodeId, NodeId>, uint32_t> load;
        for (const OwnWorkload& workload : round)
        {
            const std::string fault = Load(workload, load);
            if (!fault.empty())
            {
                return fault;
            }
        }
        std::vector<Arrival> arrivals;
        for (const OwnWorkload& workload : round)
        {
            arrivals.push_back(Send(workload));
        }
        // What leaves a server in a round is what it had at the beginning.
        for (const Arrival& arrival : arrivals)
        {
            Receive(arrival);
        }
        return "";
    }

    /// @return the first server that lacks a sum, or ""
    std::string CheckEnd() const
    {
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            for (ChunkId chunk = 0; chunk < m_roots.size(); ++chunk)
            {
                if (server != m_roots[chunk] && !IsIn(server, chunk, m_collective.receivers))
                {
                    continue;
                }
                const Place& place = m_places[server][chunk];
                const uint64_t result =
                    m_roots[chunk] == server ? place.own.number : place.result.value_or(0);
                if (result != m_sums[chunk])
                {
                    return "server " + std::to_string(server) + " has a wrong sum of chunk " +
                           std::to_string(chunk);
                }
            }
        }
        return "";
    }

  private:
    /// A sum and whose numbers are in it.
    struct Part
    {
        std::set<NodeId> owners; //!< nobody: there is nothing
        uint64_t number{0};      //!< their sum

        void Add(const Part& other)
        {
            owners.insert(other.owners.begin(), other.owners.end());
            number += other.number;
        }
    };

    /// What a server has of a chunk.
    struct Place
    {
        Part own;                       //!< what plain reduces are merged into
        std::vector<Part> apart;        //!< what came by name
        std::optional<uint64_t> result; //!< what a broadcast brought
    };

    /// What reaches a server.
    struct Arrival
    {
        const OwnWorkload* workload; //!< the workload that brings it
        Part part;                   //!< of a reduce
        uint64_t result{0};          //!< of a broadcast
    };

    /// @return whether a server is in the set of a chunk @param sets contributors or receivers
    bool IsIn(NodeId server, ChunkId chunk, const std::vector<uint32_t>& sets) const
    {
        if (m_collective.IsOfAll())
        {
            return true;
        }
        const auto& set = m_collective.sets[sets[chunk]];
        return std::find(set.begin(), set.end(), server) != set.end();
    }

    std::string Load(const OwnWorkload& workload,
                     std::map<std::pair<NodeId, NodeId>, uint32_t>& load) const
    {
        const Path& path = workload.path;
        if (path.size() < 2 || workload.chunk >= m_roots.size() ||
            !m_topology.IsServer(path.front()) || !m_topology.IsServer(path.back()))
        {
            return "ends or chunk are not possible";
        }
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            if (i > 0 && m_topology.IsServer(path[i]))
            {
                return "passes a server";
            }
            if (++load[{path[i], path[i + 1]}] > FindCapacity(path[i], path[i + 1]))
            {
                return "link over capacity";
            }
        }
        return "";
    }

    /// @return the capacity of the link between two nodes; 0 if there is none
    uint32_t FindCapacity(NodeId x, NodeId y) const
    {
        const auto capacity = m_capacity.find(std::minmax({x, y}));
        return capacity == m_capacity.end() ? 0 : capacity->second;
    }

    Arrival Send(const OwnWorkload& workload)
    {
        Arrival arrival{&workload, {}, 0};
        Place& place = m_places[workload.path.front()][workload.chunk];
        if (workload.kind == WorkloadKind::BROADCAST)
        {
            arrival.result = place.result.value_or(place.own.number);
            return arrival;
        }
        const std::set<NodeId> wanted(workload.contributors.begin(), workload.contributors.end());
        auto take = [&](Part& part) {
            const bool isWanted =
                wanted.empty() ||
                std::includes(wanted.begin(), wanted.end(), part.owners.begin(), part.owners.end());
            if (isWanted)
            {
                arrival.part.Add(part);
                part = {};
            }
        };
        take(place.own);
        std::for_each(place.apart.begin(), place.apart.end(), take);
        return arrival;
    }

    void Receive(const Arrival& arrival)
    {
        const OwnWorkload& workload = *arrival.workload;
        const NodeId target = workload.path.back();
        Place& place = m_places[target][workload.chunk];
        if (workload.kind == WorkloadKind::BROADCAST)
        {
            place.result = arrival.result;
        }
        else if (workload.contributors.empty() || target == m_roots[workload.chunk])
        {
            place.own.Add(arrival.part);
        }
        else
        {
            place.apart.push_back(arrival.part);
        }
    }

    const Topology& m_topology;                               //!< the network
    const Collective& m_collective;                           //!< what is to be summed where
    const std::vector<NodeId>& m_roots;                       //!< by chunk
    std::vector<uint64_t> m_sums;                             //!< by chunk: the true sum
    std::vector<std::vector<Place>> m_places;                 //!< [server][chunk]
    std::map<std::pair<NodeId, NodeId>, uint32_t> m_capacity; //!< by the two nodes, ascending
};

/// Extends a path by all simple continuations over switches.
void
ExtendPath(const Topology& topology, Path& path, std::vector<Path>& found)
{
    for (const Topology::Port& port : topology.GetPorts(path.back()))
    {
        if (std::find(path.begin(), path.end(), port.neighbor) != path.end())
        {
            continue;
        }
        path.push_back(port.neighbor);
        if (topology.IsServer(port.neighbor))
        {
            found.push_back(path);
        }
        else
        {
            ExtendPath(topology, path, found);
        }
        path.pop_back();
    }
}

} // namespace

uint32_t
Draw(TestRandom& random, uint32_t limit)
{
    return random() % limit;
}

std::string
GetError(const std::function<void()>& call)
{
    try
    {
        call();
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "";
}

bool
Contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

Topology
MakeTestStar(uint32_t nServers, uint32_t capacity)
{
    std::vector<Link> links;
    for (NodeId server = 0; server < nServers; ++server)
    {
        Link link;
        link.a = server;
        link.b = nServers;
        link.capacity = capacity;
        links.push_back(link);
    }
    return Topology("star", nServers, 1, links);
}

Topology
MakeTestLine(uint32_t nServers)
{
    std::vector<Link> links;
    for (NodeId server = 0; server + 1 < nServers; ++server)
    {
        Link link;
        link.a = server;
        link.b = server + 1;
        links.push_back(link);
    }
    return Topology("line", nServers, 0, links);
}

Topology
MakeRandomNetwork(TestRandom& random, const RandomNetworkSize& size)
{
    const uint32_t nServers = 2 + Draw(random, size.mostServers - 1);
    const uint32_t nSwitches = Draw(random, size.mostSwitches + 1);
    const uint32_t nNodes = nServers + nSwitches;
    std::vector<NodeId> nodes(nNodes);
    for (NodeId node = 0; node < nNodes; ++node)
    {
        nodes[node] = node;
        std::swap(nodes[node], nodes[Draw(random, node + 1)]);
    }
    std::set<std::pair<NodeId, NodeId>> pairs;
    for (uint32_t i = 1; i < nNodes; ++i)
    {
        pairs.insert(std::minmax({nodes[i], nodes[Draw(random, i)]}));
    }
    for (uint32_t i = Draw(random, nNodes + 1); i > 0; --i)
    {
        const NodeId a = Draw(random, nNodes);
        const NodeId b = Draw(random, nNodes);
        if (a != b)
        {
            pairs.insert(std::minmax({a, b}));
        }
    }
    std::vector<Link> links;
    for (const auto& [a, b] : pairs)
    {
        Link link;
        link.a = a;
        link.b = b;
        link.capacity = 1 + Draw(random, size.mostCapacity);
        links.push_back(link);
    }
    return Topology("random", nServers, nSwitches, links);
}

std::vector<Topology>
MakeFamilies()
{
    std::vector<Topology> networks;
    std::vector<std::string> specs = GetTopologyExamples();
    specs.emplace_back("bcube:2,1");
    for (const std::string& spec : specs)
    {
        const Topology whole = ParseTopology(spec);
        networks.push_back(whole);
        networks.push_back(Degrade(whole, 0.1, 2));
        networks.push_back(MixCapacity(whole, 0.3, 3));
    }
    return networks;
}

std::vector<Topology>
MakeFamiliesAndRandom(TestRandom& random, uint32_t nRandom, const RandomNetworkSize& size)
{
    std::vector<Topology> networks = MakeFamilies();
    for (uint32_t i = 0; i < nRandom; ++i)
    {
        networks.push_back(MakeRandomNetwork(random, size));
    }
    return networks;
}

bool
AreServersConnected(const AllReduceState& state)
{
    const Topology& topology = state.GetTopology();
    std::vector<Link> links;
    for (LinkId link = 0; link < topology.GetNLinks(); ++link)
    {
        if (state.IsLinkUp(link))
        {
            links.push_back(topology.GetLink(link));
        }
    }
    return topology.WithLinks("rest", links).AreServersConnected();
}

std::vector<Path>
FindAllPaths(const Topology& topology)
{
    std::vector<Path> found;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        Path path{server};
        ExtendPath(topology, path, found);
    }
    return found;
}

Workload
OwnWorkload::Get() const
{
    return {chunk,
            kind,
            {path.data(), path.data() + path.size()},
            {contributors.data(), contributors.data() + contributors.size()}};
}

OwnSchedule::OwnSchedule(const AllReduceSchedule& schedule)
    : collective(schedule.collective)
{
    for (const WorkloadList& list : schedule.rounds)
    {
        OwnRound round;
        for (std::size_t i = 0; i < list.GetSize(); ++i)
        {
            const Workload workload = list.Get(i);
            round.push_back({workload.chunk,
                             workload.kind,
                             Path(workload.path.begin(), workload.path.end()),
                             {workload.contributors.begin(), workload.contributors.end()}});
        }
        rounds.push_back(std::move(round));
    }
}

AllReduceSchedule
OwnSchedule::Get() const
{
    AllReduceSchedule schedule;
    schedule.collective = collective;
    for (const OwnRound& round : rounds)
    {
        WorkloadList list;
        for (const OwnWorkload& workload : round)
        {
            list.Add(workload.Get());
        }
        schedule.rounds.push_back(std::move(list));
    }
    return schedule;
}

std::vector<std::string>
GetNamesWithoutLearning()
{
    std::vector<std::string> names = GetSchedulerNames();
    names.erase(std::remove(names.begin(), names.end(), "hrl"), names.end());
    return names;
}

AllReduceSchedule
PlanFromStart(const std::string& name,
              const Topology& topology,
              uint32_t chunksPerServer,
              uint64_t seed)
{
    const Ptr<AllReduceScheduler> scheduler = CreateScheduler(name);
    scheduler->SetAttribute("Seed", UintegerValue(seed));
    const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
    return Plan(*scheduler, AllReduceState(topology, roots));
}

bool
AreEqual(const std::vector<WorkloadList>& x, const std::vector<WorkloadList>& y)
{
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& a, const auto& b) {
        for (std::size_t i = 0; i < a.GetSize(); ++i)
        {
            if (i >= b.GetSize() || !(a.Get(i) == b.Get(i)))
            {
                return false;
            }
        }
        return a.GetSize() == b.GetSize();
    });
}

std::string
ExecuteWithNumbers(const Topology& topology, const OwnSchedule& schedule)
{
    NumberExecutor executor(topology, schedule.collective);
    for (const OwnRound& round : schedule.rounds)
    {
        const std::string fault = executor.Execute(round);
        if (!fault.empty())
        {
            return fault;
        }
    }
    return executor.CheckEnd();
}

std::string
ExecuteOnState(const Topology& topology, const OwnSchedule& schedule)
{
    return GetError([&] {
        AllReduceState state(topology, schedule.collective);
        for (const OwnRound& round : schedule.rounds)
        {
            for (const OwnWorkload& workload : round)
            {
                state.Start(workload.Get());
            }
            state.EndRound();
        }
        if (!state.IsDone())
        {
            FailInput(state.GetNMissing(), " sums are missing");
        }
    });
}

std::string
FormatSchedule(const Topology& topology, const AllReduceSchedule& schedule)
{
    std::ostringstream text;
    WriteSchedule(topology, schedule, text);
    return text.str();
}

AllReduceSchedule
MakeRandomSchedule(const Topology& topology, bool hasParts, TestRandom& random)
{
    AllReduceSchedule schedule;
    for (uint32_t i = 0; i < 1 + Draw(random, 5); ++i)
    {
        schedule.collective.roots.push_back(Draw(random, topology.GetNServers()));
    }
    AllReduceState state(topology, schedule.collective);
    const std::vector<Path> paths = FindAllPaths(topology);
    for (uint32_t round = 0; round < 4; ++round)
    {
        WorkloadList list;
        for (uint32_t attempt = 0; attempt < 40; ++attempt)
        {
            OwnWorkload workload{Draw(random, schedule.collective.GetNChunks()),
                                 Draw(random, 2) ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST,
                                 paths[Draw(random, paths.size())],
                                 {}};
            if (hasParts && workload.kind == WorkloadKind::REDUCE && Draw(random, 2))
            {
                workload.contributors = {Draw(random, topology.GetNServers())};
            }
            if (state.IsLegal(workload.Get()))
            {
                state.Start(workload.Get());
                list.Add(workload.Get());
            }
        }
        state.EndRound();
        schedule.rounds.push_back(list);
    }
    for (WorkloadList& list : PlanRemainderGreedily(state, 1, 1))
    {
        schedule.rounds.push_back(std::move(list));
    }
    return schedule;
}

Collective
DrawCollective(const Topology& topology, TestRandom& random)
{
    const uint32_t nServers = topology.GetNServers();
    const uint32_t chunksPerServer = 1 + Draw(random, 8);
    if (Draw(random, 2) == 0)
    {
        return MakeRoots(nServers, chunksPerServer);
    }
    std::vector<NodeId> servers(nServers);
    std::iota(servers.begin(), servers.end(), 0);
    for (std::size_t i = servers.size(); i > 1; --i)
    {
        std::swap(servers[i - 1], servers[Draw(random, i)]);
    }
    const uint32_t nGroups = 1 + Draw(random, std::min(3U, nServers / 2));
    std::vector<Group> groups;
    std::size_t next = 0;
    for (uint32_t i = 0; i < nGroups; ++i)
    {
        const std::size_t left = nServers - next - 2 * (nGroups - i - 1);
        const std::size_t n = 2 + Draw(random, left - 1);
        Group group;
        group.kind = static_cast<CollectiveKind>(Draw(random, 5));
        group.servers.assign(servers.begin() + next, servers.begin() + next + n);
        std::sort(group.servers.begin(), group.servers.end());
        group.root = group.servers[Draw(random, n)];
        groups.push_back(group);
        next += n;
    }
    return MakeCollective(groups, nServers, chunksPerServer, Draw(random, 3) != 0);
}

} // namespace ns3::allreduce
