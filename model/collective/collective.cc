/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "collective.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// All kinds and their names.
constexpr std::array<std::pair<CollectiveKind, const char*>, 5> KINDS{{
    {CollectiveKind::ALL_REDUCE, "allreduce"},
    {CollectiveKind::REDUCE_SCATTER, "reduce-scatter"},
    {CollectiveKind::ALL_GATHER, "all-gather"},
    {CollectiveKind::BROADCAST, "broadcast"},
    {CollectiveKind::REDUCE, "reduce"},
}};

/// @return whether all servers of the group contribute; else the root does
bool
DoAllContribute(CollectiveKind kind)
{
    return kind != CollectiveKind::ALL_GATHER && kind != CollectiveKind::BROADCAST;
}

/// @return whether all servers of the group receive; else the root does
bool
DoAllReceive(CollectiveKind kind)
{
    return kind != CollectiveKind::REDUCE_SCATTER && kind != CollectiveKind::REDUCE;
}

/// @return why the sets are not sets of servers; "" if they are
std::string
FindFaultOfSets(const Collective& collective, const Topology& topology)
{
    for (std::size_t i = 0; i < collective.sets.size(); ++i)
    {
        const std::vector<NodeId>& set = collective.sets[i];
        if (std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) != set.end())
        {
            return "set " + std::to_string(i) + " is not ascending, expected each server once";
        }
        if (!set.empty() && !topology.IsServer(set.back()))
        {
            return "set " + std::to_string(i) + " has " + std::to_string(set.back()) +
                   ", which is not a server of " + topology.GetName();
        }
    }
    return "";
}

/// @return why a chunk's sets are not possible; "" if they are
std::string
FindFaultOfChunk(const Collective& collective, ChunkId chunk)
{
    for (const uint32_t set : {collective.contributors[chunk], collective.receivers[chunk]})
    {
        if (set >= collective.sets.size())
        {
            return "chunk " + std::to_string(chunk) + " names set " + std::to_string(set) +
                   ", expected one below " + std::to_string(collective.sets.size());
        }
    }
    const std::vector<NodeId>& contributors = collective.sets[collective.contributors[chunk]];
    if (!std::binary_search(contributors.begin(), contributors.end(), collective.roots[chunk]))
    {
        return "chunk " + std::to_string(chunk) + ": its root " +
               std::to_string(collective.roots[chunk]) + " does not contribute, expected it to";
    }
    return "";
}

void
CheckGroups(const std::vector<Group>& groups, uint32_t nServers)
{
    if (groups.empty())
    {
        FailInput("no groups, expected 1 or more");
    }
    std::vector<bool> isTaken(nServers, false);
    for (const Group& group : groups)
    {
        if (group.servers.size() < 2)
        {
            FailInput("a group of ", group.servers.size(), " servers, expected 2 or more");
        }
        for (const NodeId server : group.servers)
        {
            if (server >= nServers)
            {
                FailInput("server ", server, " of a group, expected one below ", nServers);
            }
            if (isTaken[server])
            {
                FailInput("server ", server, " is in two groups or twice in one, expected once");
            }
            isTaken[server] = true;
        }
        if (HasOneRoot(group.kind) &&
            std::find(group.servers.begin(), group.servers.end(), group.root) ==
                group.servers.end())
        {
            FailInput("root ", group.root, " is not in its group, expected one of its servers");
        }
    }
}

/// Adds the chunks of one group to a collective.
void
AddGroup(const Group& group, uint32_t nChunks, Collective& collective)
{
    std::vector<NodeId> servers = group.servers;
    std::sort(servers.begin(), servers.end());
    const uint32_t all = collective.sets.size();
    collective.sets.push_back(servers);
    std::vector<uint32_t> alone(servers.size(), 0); // by position: the set of that server
    for (uint32_t i = 0; i < nChunks; ++i)
    {
        const std::size_t position =
            HasOneRoot(group.kind)
                ? std::lower_bound(servers.begin(), servers.end(), group.root) - servers.begin()
                : std::size_t{i} * servers.size() / nChunks;
        if (alone[position] == 0 && !(DoAllContribute(group.kind) && DoAllReceive(group.kind)))
        {
            alone[position] = collective.sets.size();
            collective.sets.push_back({servers[position]});
        }
        collective.roots.push_back(servers[position]);
        collective.contributors.push_back(DoAllContribute(group.kind) ? all : alone[position]);
        collective.receivers.push_back(DoAllReceive(group.kind) ? all : alone[position]);
    }
}

} // namespace

const char*
ToString(CollectiveKind kind)
{
    return std::find_if(KINDS.begin(),
                        KINDS.end(),
                        [kind](const auto& entry) { return entry.first == kind; })
        ->second;
}

bool
HasOneRoot(CollectiveKind kind)
{
    return kind == CollectiveKind::BROADCAST || kind == CollectiveKind::REDUCE;
}

CollectiveKind
ParseCollectiveKind(const std::string& text, const std::string& what)
{
    for (const auto& [kind, name] : KINDS)
    {
        if (text == name)
        {
            return kind;
        }
    }
    FailInput(what,
              " ",
              Quote(text),
              ": expected allreduce, reduce-scatter, all-gather, broadcast or reduce");
}

bool
operator==(const Collective& x, const Collective& y)
{
    return x.roots == y.roots && x.sets == y.sets && x.contributors == y.contributors &&
           x.receivers == y.receivers && x.mayRelay == y.mayRelay;
}

std::string
FindFault(const Collective& collective, const Topology& topology)
{
    if (collective.roots.empty())
    {
        return "no chunks, expected 1 or more";
    }
    for (const NodeId root : collective.roots)
    {
        if (!topology.IsServer(root))
        {
            return "chunk root " + std::to_string(root) + " is not a server of " +
                   topology.GetName();
        }
    }
    if (collective.IsOfAll() && collective.receivers.empty())
    {
        return "";
    }
    if (collective.contributors.size() != collective.GetNChunks() ||
        collective.receivers.size() != collective.GetNChunks())
    {
        return std::to_string(collective.contributors.size()) + " sets of contributors and " +
               std::to_string(collective.receivers.size()) + " of receivers, expected one for " +
               "each of " + std::to_string(collective.GetNChunks()) + " chunks";
    }
    std::string fault = FindFaultOfSets(collective, topology);
    bool hasWork = false;
    for (ChunkId chunk = 0; fault.empty() && chunk < collective.GetNChunks(); ++chunk)
    {
        fault = FindFaultOfChunk(collective, chunk);
        hasWork = hasWork || (fault.empty() && GetMembers(collective, chunk).size() > 1);
    }
    return !fault.empty() || hasWork ? fault
                                     : "no chunk has a contributor or receiver besides its root, "
                                       "expected at least one";
}

std::vector<NodeId>
GetMembers(const Collective& collective, ChunkId chunk)
{
    const std::vector<NodeId>& contributors = collective.sets[collective.contributors[chunk]];
    const std::vector<NodeId>& receivers = collective.sets[collective.receivers[chunk]];
    std::vector<NodeId> members;
    std::set_union(contributors.begin(),
                   contributors.end(),
                   receivers.begin(),
                   receivers.end(),
                   std::back_inserter(members));
    return members;
}

uint64_t
CountLeastWorkloads(const Collective& collective, uint32_t nServers)
{
    if (collective.IsOfAll())
    {
        return 2 * uint64_t{collective.GetNChunks()} * (nServers - 1);
    }
    uint64_t count = 0;
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const auto& receivers = collective.sets[collective.receivers[chunk]];
        const bool isRootAmong =
            std::binary_search(receivers.begin(), receivers.end(), collective.roots[chunk]);
        count += collective.sets[collective.contributors[chunk]].size() - 1;
        count += receivers.size() - isRootAmong;
    }
    return count;
}

ChunkMembers::ChunkMembers(const Collective& collective, uint32_t nServers)
    : contributors(nServers, collective.GetNChunks()),
      receivers(nServers, collective.GetNChunks())
{
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        if (collective.IsOfAll())
        {
            for (NodeId server = 0; server < nServers; ++server)
            {
                contributors.Set(server, chunk);
            }
            continue;
        }
        for (const NodeId server : collective.sets[collective.contributors[chunk]])
        {
            contributors.Set(server, chunk);
        }
        for (const NodeId server : collective.sets[collective.receivers[chunk]])
        {
            receivers.Set(server, chunk);
        }
        receivers.Set(collective.roots[chunk], chunk);
    }
    if (collective.IsOfAll())
    {
        receivers = contributors;
    }
    else if (!collective.mayRelay)
    {
        mayHold = receivers;
        for (NodeId server = 0; server < nServers; ++server)
        {
            for (std::size_t i = 0; i < mayHold.GetRowWords(); ++i)
            {
                mayHold.GetRow(server)[i] |= contributors.GetRow(server)[i];
            }
        }
    }
}

Collective
MakeCollective(const std::vector<Group>& groups,
               uint32_t nServers,
               uint32_t chunksPerServer,
               bool mayRelay)
{
    CheckGroups(groups, nServers);
    std::size_t largest = 0;
    for (const Group& group : groups)
    {
        largest = std::max(largest, group.servers.size());
    }
    Collective collective;
    collective.mayRelay = mayRelay;
    for (const Group& group : groups)
    {
        AddGroup(group, largest * chunksPerServer, collective);
    }
    if (largest == nServers && groups[0].kind == CollectiveKind::ALL_REDUCE)
    {
        return Collective(std::move(collective.roots));
    }
    return collective;
}

} // namespace ns3::allreduce
