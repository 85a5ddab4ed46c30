/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "soak-judge.h"

#include "allreduce-test-utils.h"

#include "ns3/allreduce-units.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// @return the servers of a set of a chunk; all servers if there are no sets
std::vector<NodeId>
GetServers(const Topology& topology,
           const Collective& collective,
           const std::vector<uint32_t>& sets,
           ChunkId chunk)
{
    if (!sets.empty())
    {
        return collective.sets[sets[chunk]];
    }
    std::vector<NodeId> servers(topology.GetNServers());
    std::iota(servers.begin(), servers.end(), 0);
    return servers;
}

/// @return whether a server takes part in a chunk
bool
TakesPart(const Topology& topology, const Collective& collective, ChunkId chunk, NodeId server)
{
    for (const auto* sets : {&collective.contributors, &collective.receivers})
    {
        const auto servers = GetServers(topology, collective, *sets, chunk);
        if (std::count(servers.begin(), servers.end(), server) > 0)
        {
            return true;
        }
    }
    return false;
}

/// Something that happens to a transfer.
struct FlowEvent
{
    /// What that is; of what happens at the same time the first comes first.
    enum Kind
    {
        END,      //!< it arrives, or is aborted
        MOMENT,   //!< it begins and arrives
        BEGINNING //!< it begins
    };

    Time time;                 //!< when
    Kind kind{END};            //!< what
    std::size_t order{0};      //!< a smaller one ended before
    const AllReduceFlow* flow; //!< to which one
    bool hasArrived{false};    //!< it is not aborted
};

/// @return what happened to the transfers of an iteration until some time, in order
std::vector<FlowEvent>
ListFlowEvents(const SessionRecord& record, uint32_t iteration, Time until)
{
    std::vector<FlowEvent> events;
    for (const auto* flows : {&record.flows, &record.abortedFlows, &record.unfinishedFlows})
    {
        for (const AllReduceFlow& flow : *flows)
        {
            const Time end = flow.begin + flow.duration;
            const bool hasArrived = flows == &record.flows;
            const bool isMoment = hasArrived && flow.duration.IsZero();
            const std::size_t order = &flow - flows->data();
            const bool isNothing = flow.duration.IsZero() && flows == &record.abortedFlows;
            if (flow.iteration != iteration || flow.begin > until || isNothing)
            {
                continue;
            }
            events.push_back({flow.begin,
                              isMoment ? FlowEvent::MOMENT : FlowEvent::BEGINNING,
                              order,
                              &flow,
                              hasArrived});
            if (!isMoment && flows != &record.unfinishedFlows && end <= until)
            {
                events.push_back({end, FlowEvent::END, order, &flow, hasArrived});
            }
        }
    }
    std::sort(events.begin(), events.end(), [](const FlowEvent& x, const FlowEvent& y) {
        return std::tie(x.time, x.kind, x.order) < std::tie(y.time, y.kind, y.order);
    });
    return events;
}

} // namespace

SoakJudge::SoakJudge(const SoakCase& drawn,
                     const Experiment& experiment,
                     const ExperimentResult& result,
                     const RunOptions& run,
                     Time start,
                     Time end)
    : m_drawn(drawn),
      m_experiment(experiment),
      m_collective(experiment.plan.GetCollective()),
      m_result(result),
      m_nIterations(run.iterations),
      m_computeTime(NanoSeconds(ParseTime(run.computeTime, "compute time"))),
      m_start(start),
      m_end(end)
{
}

std::string
SoakJudge::FindWrong() const
{
    std::string wrong = FindWrongRelay();
    if (wrong.empty() && !m_result.failure.empty())
    {
        // What happens at the same time may have happened before.
        wrong = FindWrongCutOff(m_end);
        wrong = wrong.empty() ? "" : FindWrongCutOff(m_end - NanoSeconds(1));
    }
    else if (wrong.empty())
    {
        wrong = FindWrongSums();
        wrong = wrong.empty() ? FindWrongTimes() : wrong;
    }
    return wrong.empty() ? FindWrongGap() : wrong;
}

bool
SoakJudge::IsImpossible(const Topology& topology, const Collective& collective)
{
    const Holdings holdings = MakeHoldings(topology, collective);
    const auto isUp = [](const Link&) { return true; };
    return !FindUnmet(topology, collective, holdings, isUp, false).empty();
}

SoakJudge::Holdings
SoakJudge::MakeHoldings(const Topology& topology, const Collective& collective)
{
    Holdings holdings(collective.GetNChunks(), std::vector<Holding>(topology.GetNServers()));
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        for (const NodeId server : GetServers(topology, collective, collective.contributors, chunk))
        {
            holdings[chunk][server].parts = {server};
        }
        NoteSum(topology, collective, chunk, holdings);
    }
    return holdings;
}

void
SoakJudge::NoteSum(const Topology& topology,
                   const Collective& collective,
                   ChunkId chunk,
                   Holdings& holdings)
{
    Holding& atRoot = holdings[chunk][collective.roots[chunk]];
    if (atRoot.parts.size() ==
        GetServers(topology, collective, collective.contributors, chunk).size())
    {
        atRoot.hasSum = true;
    }
}

std::vector<uint32_t>
SoakJudge::FindIslands(const Topology& topology,
                       const IsUp& isUp,
                       const std::function<bool(NodeId)>& mayPass)
{
    std::vector<uint32_t> island(topology.GetNNodes());
    std::iota(island.begin(), island.end(), 0);
    const auto isOpen = [&](NodeId node) { return !topology.IsServer(node) || mayPass(node); };
    for (const Link& link : topology.GetLinks())
    {
        if (isUp(link) && isOpen(link.a) && isOpen(link.b))
        {
            const uint32_t joined = island[link.b];
            const uint32_t other = island[link.a];
            std::replace(island.begin(), island.end(), other, joined);
        }
    }
    return island;
}

std::pair<std::set<NodeId>, std::set<NodeId>>
SoakJudge::FindSides(const Topology& topology,
                     const Collective& collective,
                     const std::vector<Holding>& holdings,
                     ChunkId chunk)
{
    std::set<NodeId> wanting;
    std::set<NodeId> having;
    for (const NodeId server : GetServers(topology, collective, collective.receivers, chunk))
    {
        if (!holdings[server].hasSum)
        {
            wanting.insert(server);
        }
    }
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        if (holdings[server].hasSum)
        {
            having.insert(server);
        }
        else if (!holdings[collective.roots[chunk]].hasSum && !holdings[server].parts.empty())
        {
            wanting.insert(server);
        }
    }
    return {wanting, having};
}

std::vector<SoakJudge::Pair>
SoakJudge::FindUnmet(const Topology& topology,
                     const Collective& collective,
                     const Holdings& holdings,
                     const IsUp& isUp,
                     bool hasTokens)
{
    std::vector<Pair> unmet;
    std::set<NodeId> busy;
    const std::vector<uint32_t> all = FindIslands(topology, isUp, [](NodeId) { return true; });
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const auto island = collective.mayRelay ? all : FindIslands(topology, isUp, [&](NodeId s) {
            return TakesPart(topology, collective, chunk, s);
        });
        const NodeId root = collective.roots[chunk];
        auto [wanting, having] = FindSides(topology, collective, holdings[chunk], chunk);
        busy.insert(wanting.begin(), wanting.end());
        if (having.empty())
        {
            having = {root};
            busy.insert(root);
        }
        for (const NodeId server : wanting)
        {
            const auto isNear = [&](NodeId other) { return island[other] == island[server]; };
            if (std::none_of(having.begin(), having.end(), isNear))
            {
                for (const NodeId other : having)
                {
                    unmet.emplace_back(server, other);
                }
            }
        }
    }
    for (const NodeId x : busy)
    {
        for (const NodeId y : busy)
        {
            if (hasTokens && x < y && all[x] != all[y])
            {
                unmet.emplace_back(x, y);
            }
        }
    }
    return unmet;
}

SoakJudge::Holdings
SoakJudge::Replay(uint32_t iteration, Time until) const
{
    Holdings holdings = MakeHoldings(m_experiment.topology, m_collective);
    if (iteration >= m_result.handedOut.size())
    {
        return holdings;
    }
    if (IsLive())
    {
        std::string ignored;
        return ReplayLive(iteration, until, ignored);
    }
    const auto& rounds = m_result.handedOut[iteration];
    std::vector<std::set<uint32_t>> arrived(rounds.size());
    for (const AllReduceFlow& flow : m_result.flows)
    {
        if (flow.iteration == iteration && flow.begin + flow.duration <= until)
        {
            arrived.at(flow.round).insert(flow.position);
        }
    }
    for (std::size_t round = 0; round < rounds.size(); ++round)
    {
        std::vector<std::pair<Workload, std::set<NodeId>>> moved;
        for (const uint32_t position : arrived[round])
        {
            const Workload workload = rounds[round].Get(position);
            std::set<NodeId> parts;
            if (workload.kind == WorkloadKind::REDUCE)
            {
                auto& held = holdings[workload.chunk][workload.GetSource()].parts;
                parts = workload.contributors.empty()
                            ? held
                            : std::set<NodeId>(workload.contributors.begin(),
                                               workload.contributors.end());
                for (const NodeId part : parts)
                {
                    held.erase(part);
                }
            }
            moved.emplace_back(workload, std::move(parts));
        }
        for (const auto& [workload, parts] : moved)
        {
            Holding& holding = holdings[workload.chunk][workload.GetTarget()];
            holding.parts.insert(parts.begin(), parts.end());
            holding.hasSum = holding.hasSum || workload.kind == WorkloadKind::BROADCAST;
            NoteSum(m_experiment.topology, m_collective, workload.chunk, holdings);
        }
    }
    return holdings;
}

SoakJudge::Holdings
SoakJudge::ReplayLive(uint32_t iteration, Time until, std::string& wrong) const
{
    Holdings holdings = MakeHoldings(m_experiment.topology, m_collective);
    std::map<const AllReduceFlow*, Holding> underWay;
    for (const FlowEvent& event : ListFlowEvents(m_result, iteration, until))
    {
        const AllReduceFlow& flow = *event.flow;
        Holding& source = holdings[flow.chunk][flow.source];
        Holding& target = holdings[flow.chunk][flow.target];
        const bool isReduce = flow.kind == WorkloadKind::REDUCE;
        if (event.kind != FlowEvent::END)
        {
            Holding& sent = underWay[&flow];
            sent.hasSum = !isReduce && source.hasSum;
            if (isReduce)
            {
                sent.parts = std::exchange(source.parts, {});
            }
            // What arrives when a reduce begins may go with it, or later by itself.
            if (!isReduce && !sent.hasSum)
            {
                wrong = "server " + std::to_string(flow.source) + " has no sum to send of chunk " +
                        std::to_string(flow.chunk);
            }
        }
        if (event.kind != FlowEvent::BEGINNING)
        {
            const Holding sent = underWay.extract(&flow).mapped();
            Holding& receiver = event.hasArrived ? target : source;
            receiver.parts.insert(sent.parts.begin(), sent.parts.end());
            receiver.hasSum = receiver.hasSum || sent.hasSum;
            NoteSum(m_experiment.topology, m_collective, flow.chunk, holdings);
        }
    }
    for (const auto& [flow, sent] : underWay)
    {
        holdings[flow->chunk][flow->source].parts.insert(sent.parts.begin(), sent.parts.end());
    }
    return holdings;
}

SoakJudge::Holdings
SoakJudge::ReplayLast() const
{
    const uint32_t nBegun = m_result.handedOut.size();
    const Holdings last = Replay(std::max(nBegun, 1U) - 1, m_end);
    const auto isUp = [](const Link&) { return false; };
    const bool isDone = FindUnmet(m_experiment.topology, m_collective, last, isUp, false).empty();
    return isDone ? Replay(nBegun, m_end) : last;
}

bool
SoakJudge::IsUpAt(const Link& link, Time time) const
{
    return std::none_of(m_drawn.outages.begin(), m_drawn.outages.end(), [&](const auto& outage) {
        return outage.link.a == link.a && outage.link.b == link.b && outage.begin <= time &&
               (outage.end.IsZero() || time < outage.end);
    });
}

bool
SoakJudge::IsUpAtOrAfter(const Link& link, Time time) const
{
    return IsUpAt(link, time) ||
           std::any_of(m_drawn.outages.begin(), m_drawn.outages.end(), [&](const auto& outage) {
               return outage.end > time && IsUpAt(link, outage.end);
           });
}

std::vector<SoakJudge::Pair>
SoakJudge::FindUnmetAt(const Holdings& holdings, Time time) const
{
    return FindUnmet(
        m_experiment.topology,
        m_collective,
        holdings,
        [&](const Link& link) { return IsUpAt(link, time); },
        m_drawn.options.control == "packets");
}

std::vector<Time>
SoakJudge::FindChanges(Time after, Time before) const
{
    std::set<Time> times;
    for (const SoakOutage& outage : m_drawn.outages)
    {
        for (const Time& time : {outage.begin, outage.end})
        {
            if (time > after && time < before)
            {
                times.insert(time);
            }
        }
    }
    return {times.begin(), times.end()};
}

Time
SoakJudge::FindEndOfWait(const Holdings& holdings, Time time) const
{
    if (FindUnmetAt(holdings, time).empty())
    {
        return time;
    }
    for (const Time& change : FindChanges(time, Time::Max()))
    {
        if (FindUnmetAt(holdings, change).empty())
        {
            return change;
        }
    }
    return Time::Max();
}

bool
SoakJudge::IsLive() const
{
    return m_drawn.options.adapt == "live";
}

/// What is chosen one by one is in no rounds that could be carried out one after another.
std::string
SoakJudge::FindWrongSumsLive() const
{
    std::string wrong;
    for (uint32_t iteration = 0; iteration < m_nIterations && wrong.empty(); ++iteration)
    {
        const Holdings last = ReplayLive(iteration, m_end, wrong);
        const auto isUp = [](const Link&) { return false; };
        if (!FindUnmet(m_experiment.topology, m_collective, last, isUp, false).empty())
        {
            wrong = "iteration " + std::to_string(iteration) + " ends before it is done";
        }
    }
    return wrong;
}

std::string
SoakJudge::FindWrongSums() const
{
    if (IsLive())
    {
        return FindWrongSumsLive();
    }
    // What is planned anew is for other rates, and so for other capacities.
    std::vector<Link> links = m_experiment.topology.GetLinks();
    for (Link& link : links)
    {
        link.capacity = m_drawn.options.adapt == "none" ? link.capacity : 1'000'000;
    }
    const Topology topology = m_experiment.topology.WithLinks("actual", std::move(links));
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> arrived;
    for (const AllReduceFlow& flow : m_result.flows)
    {
        arrived.insert({flow.iteration, flow.round, flow.position});
    }
    for (uint32_t iteration = 0; iteration < m_nIterations; ++iteration)
    {
        AllReduceSchedule handedOut{m_collective, m_result.handedOut.at(iteration)};
        OwnSchedule done(handedOut);
        for (uint32_t round = 0; round < done.rounds.size(); ++round)
        {
            OwnRound kept;
            for (uint32_t position = 0; position < done.rounds[round].size(); ++position)
            {
                if (arrived.count({iteration, round, position}) > 0)
                {
                    kept.push_back(done.rounds[round][position]);
                }
            }
            done.rounds[round] = kept;
        }
        const std::string wrong = ExecuteWithNumbers(topology, done);
        if (!wrong.empty())
        {
            return "iteration " + std::to_string(iteration) + ": " + wrong;
        }
    }
    return "";
}

std::string
SoakJudge::FindWrongRelay() const
{
    for (const AllReduceFlow& flow : m_result.flows)
    {
        if (!m_collective.mayRelay &&
            !TakesPart(m_experiment.topology, m_collective, flow.chunk, flow.target))
        {
            return "server " + std::to_string(flow.target) + " relays chunk " +
                   std::to_string(flow.chunk);
        }
    }
    return "";
}

std::string
SoakJudge::FindWrongCutOff(Time time) const
{
    const std::string& failure = m_result.failure;
    const std::string colon = ": server ";
    const std::size_t at = failure.find(colon);
    if (failure.compare(0, 7, "cut off") != 0 || at == std::string::npos)
    {
        return failure;
    }
    const Holdings holdings = ReplayLast();
    const std::vector<Pair> unmet = FindUnmetAt(holdings, time);
    const auto isUpLater = [&](const Link& link) { return IsUpAtOrAfter(link, time); };
    const bool hasTokens = m_drawn.options.control == "packets";
    if (FindUnmet(m_experiment.topology, m_collective, holdings, isUpLater, hasTokens).empty())
    {
        return failure + ": but links are due to be mended";
    }
    std::set<NodeId> named;
    std::istringstream list(failure.substr(at + colon.size()));
    for (std::string number; std::getline(list, number, ',');)
    {
        named.insert(std::stoul(number));
    }
    for (const auto& [x, y] : unmet)
    {
        if (named.count(x) + named.count(y) == 0)
        {
            return failure + ": but " + std::to_string(x) + " and " + std::to_string(y) +
                   " cannot reach each other, either";
        }
    }
    for (const NodeId server : named)
    {
        if (std::none_of(unmet.begin(), unmet.end(), [&](const Pair& pair) {
                return pair.first == server || pair.second == server;
            }))
        {
            return failure + ": but " + std::to_string(server) + " reaches all that it needs";
        }
    }
    return "";
}

std::string
SoakJudge::FindWrongGap() const
{
    if (m_drawn.options.control == "packets")
    {
        return ""; // Messages lie between flows.
    }
    std::vector<std::pair<Time, Time>> spans;
    for (uint32_t iteration = 0; iteration < m_result.handedOut.size(); ++iteration)
    {
        spans.clear();
        for (const auto* flows :
             {&m_result.flows, &m_result.abortedFlows, &m_result.unfinishedFlows})
        {
            for (const AllReduceFlow& flow : *flows)
            {
                if (flow.iteration == iteration)
                {
                    spans.emplace_back(flow.begin, flow.begin + flow.duration);
                }
            }
        }
        std::sort(spans.begin(), spans.end());
        Time busyUntil = spans.empty() ? Time(0) : spans.front().second;
        for (const auto& [begin, end] : spans)
        {
            std::vector<Time> times = FindChanges(busyUntil, begin);
            times.push_back(busyUntil);
            for (const Time& time : times)
            {
                const bool isAwaited = IsLive() && busyUntil < m_drawn.ready;
                if (begin > busyUntil && !isAwaited &&
                    FindUnmetAt(Replay(iteration, busyUntil), time).empty())
                {
                    std::ostringstream text;
                    text << "iteration " << iteration << " waits at " << time.As(Time::NS)
                         << " until " << begin.As(Time::NS) << " for nothing";
                    return text.str();
                }
            }
            busyUntil = std::max(busyUntil, end);
        }
    }
    return "";
}

std::string
SoakJudge::FindWrongTimes() const
{
    Time sum;
    Time begin = m_start;
    for (uint32_t iteration = 0; iteration < m_nIterations; ++iteration)
    {
        Time first = Time::Max();
        Time last;
        for (const AllReduceFlow& flow : m_result.flows)
        {
            if (flow.iteration == iteration)
            {
                first = std::min(first, flow.begin);
                last = std::max(last, flow.begin + flow.duration);
            }
        }
        for (const AllReduceFlow& flow : m_result.abortedFlows)
        {
            first = flow.iteration == iteration ? std::min(first, flow.begin) : first;
        }
        const Holdings fresh = MakeHoldings(m_experiment.topology, m_collective);
        // The first AllReduce is counted from the first server on, and begins with the last.
        const Time ready = iteration == 0 && !IsLive() ? std::max(begin, m_drawn.ready) : begin;
        sum += FindEndOfWait(fresh, ready) - begin + last - first;
        begin = last + m_computeTime;
    }
    const double measured = m_result.measuredSeconds * m_nIterations;
    const double off = measured - sum.GetSeconds();
    const double most = 1e-9 * m_nIterations + 1e-12 * measured;
    // What is chosen live begins without those that are late, and may soon have to wait for them.
    const bool isLate = IsLive() && m_start < m_drawn.ready;
    const bool isExact =
        m_drawn.options.control == "ideal" && m_drawn.options.transport != "tcp" && !isLate;
    if (off < -most || (isExact && off > most))
    {
        std::ostringstream text;
        text << "measured " << measured << " s, but flows and waiting take " << sum.GetSeconds();
        return text.str();
    }
    return "";
}

} // namespace ns3::allreduce
