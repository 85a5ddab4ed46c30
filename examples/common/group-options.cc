/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "group-options.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <numeric>
#include <set>

namespace ns3::allreduce
{

namespace
{

std::vector<std::string>
Split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    boost::split(parts, text, [separator](char c) { return c == separator; });
    return parts;
}

/// @return whether a way of one of the groups could lead over a server that is not of it
bool
CouldRelay(const Topology& topology, const std::vector<Group>& groups)
{
    return std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
        const std::set<NodeId> members(group.servers.begin(), group.servers.end());
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            if (members.count(server) == 0 && topology.GetPorts(server).size() > 1)
            {
                return true;
            }
        }
        return false;
    });
}

} // namespace

void
GroupOptions::AddTo(ProgramOptions& options)
{
    options.Add("collective",
                collective,
                "allreduce, reduce-scatter, all-gather, broadcast or reduce");
    options.Add("servers", servers, "the servers that take part, as 0-7,12; default: all");
    options.Add("groups",
                groups,
                "several groups that do it at the same time, planned together, as '0-7;8-15'");
    options.Add("root", root, "the root of a broadcast or a reduce; default: the first server");
    options.Add("relay", relay, "all or none: whether other servers may pass chunks on");
}

bool
GroupOptions::AreGiven() const
{
    return collective != "allreduce" || !servers.empty() || !groups.empty();
}

std::vector<NodeId>
ParseServers(const std::string& text, const std::string& what, uint32_t nServers)
{
    std::vector<NodeId> servers;
    for (const std::string& part : Split(text, ','))
    {
        const std::size_t dash = part.find('-');
        const uint64_t first = ParseNumber(part.substr(0, dash), what);
        const uint64_t last =
            dash == std::string::npos ? first : ParseNumber(part.substr(dash + 1), what);
        if (first > last || last >= nServers)
        {
            FailInput(what,
                      " ",
                      Quote(part),
                      ": expected a server or a range of servers from 0 to ",
                      nServers - 1);
        }
        for (uint64_t server = first; server <= last; ++server)
        {
            servers.push_back(server);
        }
    }
    return servers;
}

std::vector<Group>
GroupOptions::MakeGroups(const Topology& topology) const
{
    if (!servers.empty() && !groups.empty())
    {
        FailInput("--servers and --groups: expected one of them");
    }
    const CollectiveKind kind = ParseCollectiveKind(collective, "--collective");
    if (!root.empty() && (!HasOneRoot(kind) || !groups.empty()))
    {
        FailInput("--root: expected --collective=broadcast or reduce, and one group");
    }
    std::vector<Group> made;
    for (const std::string& part : Split(groups.empty() ? servers : groups, ';'))
    {
        Group group;
        group.kind = kind;
        group.servers.resize(topology.GetNServers());
        std::iota(group.servers.begin(), group.servers.end(), 0);
        if (!servers.empty() || !groups.empty())
        {
            const std::string what = groups.empty() ? "--servers" : "--groups";
            group.servers = ParseServers(part, what, topology.GetNServers());
        }
        group.root = root.empty() ? group.servers.front() : ParseNumber(root, "--root");
        made.push_back(std::move(group));
    }
    return made;
}

Collective
GroupOptions::Make(const Topology& topology, uint32_t chunksPerServer) const
{
    if (relay != "all" && relay != "none")
    {
        FailInput("--relay ", Quote(relay), ": expected all or none");
    }
    const std::vector<Group> made = MakeGroups(topology);
    if (relay == "none" && !CouldRelay(topology, made))
    {
        FailInput("--relay=none: has no effect on ",
                  topology.GetName(),
                  ", where no server outside of a group has two links");
    }
    Collective collective =
        MakeCollective(made, topology.GetNServers(), chunksPerServer, relay == "all");
    CheckGroupsConnected(topology, collective);
    return collective;
}

} // namespace ns3::allreduce
