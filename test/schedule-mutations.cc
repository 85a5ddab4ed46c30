/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "schedule-mutations.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// @return a random round that is not empty
OwnRound&
DrawRound(OwnSchedule& schedule, TestRandom& random)
{
    while (true)
    {
        OwnRound& round = schedule.rounds[Draw(random, schedule.rounds.size())];
        if (!round.empty())
        {
            return round;
        }
    }
}

OwnWorkload&
DrawWorkload(OwnSchedule& schedule, TestRandom& random)
{
    OwnRound& round = DrawRound(schedule, random);
    return round[Draw(random, round.size())];
}

/// Takes a random workload out. @return the workload
OwnWorkload
TakeWorkload(OwnSchedule& schedule, TestRandom& random)
{
    OwnRound& round = DrawRound(schedule, random);
    const uint32_t index = Draw(random, round.size());
    OwnWorkload workload = round[index];
    round.erase(round.begin() + index);
    return workload;
}

} // namespace

std::map<std::string, Mutation>
GetMutations()
{
    std::map<std::string, Mutation> mutations;
    mutations["drop a workload"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        TakeWorkload(s, random);
        return true;
    };
    mutations["duplicate a workload"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        const OwnWorkload copy = DrawWorkload(s, random);
        DrawRound(s, random).push_back(copy);
        return true;
    };
    mutations["swap two workloads"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        std::swap(DrawWorkload(s, random), DrawWorkload(s, random));
        return true;
    };
    mutations["move a workload"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        const OwnWorkload workload = TakeWorkload(s, random);
        s.rounds[Draw(random, s.rounds.size())].push_back(workload);
        return true;
    };
    mutations["change a chunk"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        DrawWorkload(s, random).chunk = Draw(random, s.collective.roots.size() + 1);
        return true;
    };
    mutations["change a kind"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        WorkloadKind& kind = DrawWorkload(s, random).kind;
        kind = kind == WorkloadKind::REDUCE ? WorkloadKind::BROADCAST : WorkloadKind::REDUCE;
        return true;
    };
    mutations["change a node"] = [](OwnSchedule& s, const Topology& t, TestRandom& random) {
        Path& path = DrawWorkload(s, random).path;
        path[Draw(random, path.size())] = Draw(random, t.GetNNodes() + 1);
        return true;
    };
    mutations["cut a path"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        Path& path = DrawWorkload(s, random).path;
        path.erase(path.begin() + Draw(random, path.size()));
        return true;
    };
    mutations["lengthen a path"] = [](OwnSchedule& s, const Topology& t, TestRandom& random) {
        Path& path = DrawWorkload(s, random).path;
        path.insert(path.begin() + Draw(random, path.size() + 1), Draw(random, t.GetNNodes()));
        return true;
    };
    mutations["take another path"] = [](OwnSchedule& s, const Topology& t, TestRandom& random) {
        const std::vector<Path> paths = FindAllPaths(t);
        DrawWorkload(s, random).path = paths[Draw(random, paths.size())];
        return true;
    };
    mutations["reverse a path"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        Path& path = DrawWorkload(s, random).path;
        std::reverse(path.begin(), path.end());
        return true;
    };
    mutations["change a root"] = [](OwnSchedule& s, const Topology& t, TestRandom& random) {
        s.collective.roots[Draw(random, s.collective.roots.size())] =
            Draw(random, t.GetNServers() + 1);
        return true;
    };
    mutations["drop a chunk"] = [](OwnSchedule& s, const Topology&, TestRandom&) {
        s.collective.roots.pop_back();
        return true;
    };
    mutations["merge two rounds"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        if (s.rounds.size() < 2)
        {
            return false;
        }
        const uint32_t index = Draw(random, s.rounds.size() - 1);
        OwnRound& first = s.rounds[index];
        const OwnRound& second = s.rounds[index + 1];
        first.insert(first.end(), second.begin(), second.end());
        s.rounds.erase(s.rounds.begin() + index + 1);
        return true;
    };
    mutations["swap two rounds"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        std::swap(s.rounds[Draw(random, s.rounds.size())], s.rounds[Draw(random, s.rounds.size())]);
        return true;
    };
    mutations["drop a round"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        s.rounds.erase(s.rounds.begin() + Draw(random, s.rounds.size()));
        return true;
    };
    mutations["change contributors"] = [](OwnSchedule& s, const Topology& t, TestRandom& random) {
        auto& contributors = DrawWorkload(s, random).contributors;
        if (contributors.empty() || Draw(random, 2) == 0)
        {
            contributors.push_back(Draw(random, t.GetNServers() + 1));
        }
        else
        {
            contributors.pop_back();
        }
        return true;
    };
    mutations["name the sender"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        OwnWorkload& workload = DrawWorkload(s, random);
        workload.contributors = {workload.path.front()};
        return true;
    };
    return mutations;
}

std::map<std::string, Mutation>
GetGroupMutations()
{
    std::map<std::string, Mutation> mutations;
    mutations["forbid or allow relays"] = [](OwnSchedule& s, const Topology&, TestRandom&) {
        s.collective.mayRelay = !s.collective.mayRelay;
        return true;
    };
    mutations["change a set"] = [](OwnSchedule& s, const Topology& t, TestRandom& random) {
        auto& set = s.collective.sets[Draw(random, s.collective.sets.size())];
        set.push_back(Draw(random, t.GetNServers() + 1));
        std::sort(set.begin(), set.end());
        return true;
    };
    mutations["take out of a set"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        auto& set = s.collective.sets[Draw(random, s.collective.sets.size())];
        if (!set.empty())
        {
            set.erase(set.begin() + Draw(random, set.size()));
        }
        return true;
    };
    mutations["mix up a set"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        auto& set = s.collective.sets[Draw(random, s.collective.sets.size())];
        std::reverse(set.begin(), set.end());
        return set.size() > 1;
    };
    mutations["name other contributors"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        auto& indices = s.collective.contributors;
        indices[Draw(random, indices.size())] = Draw(random, s.collective.sets.size() + 1);
        return true;
    };
    mutations["name other receivers"] = [](OwnSchedule& s, const Topology&, TestRandom& random) {
        auto& indices = s.collective.receivers;
        indices[Draw(random, indices.size())] = Draw(random, s.collective.sets.size() + 1);
        return true;
    };
    mutations["drop a chunk's receivers"] = [](OwnSchedule& s, const Topology&, TestRandom&) {
        s.collective.receivers.pop_back();
        return true;
    };
    return mutations;
}

} // namespace ns3::allreduce
