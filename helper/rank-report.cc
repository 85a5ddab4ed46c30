/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "rank-report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace ns3::allreduce
{

namespace
{

using RankJson = nlohmann::json;

RankJson
WriteFlows(const std::vector<AllReduceFlow>& flows)
{
    RankJson json = RankJson::array();
    for (const AllReduceFlow& flow : flows)
    {
        json.push_back({flow.chunk,
                        flow.kind,
                        flow.source,
                        flow.target,
                        flow.bytes,
                        flow.begin.GetTimeStep(),
                        flow.duration.GetTimeStep(),
                        flow.iteration,
                        flow.round,
                        flow.position});
    }
    return json;
}

std::vector<AllReduceFlow>
ReadFlows(const RankJson& json)
{
    std::vector<AllReduceFlow> flows;
    for (const RankJson& flow : json)
    {
        flows.push_back({flow[0],
                         flow[1].get<WorkloadKind>(),
                         flow[2],
                         flow[3],
                         flow[4],
                         TimeStep(flow[5].get<int64_t>()),
                         TimeStep(flow[6].get<int64_t>()),
                         flow[7],
                         flow[8],
                         flow[9]});
    }
    return flows;
}

RankJson
WriteLinks(const RankReport& report)
{
    RankJson json = RankJson::array();
    for (const DirectedLinkId link : report.links)
    {
        const LinkUse& use = report.result.links[link];
        json.push_back({link, use.bytes, use.queuePeak, use.nDropped});
    }
    return json;
}

void
MergeLinks(const RankJson& json, ExperimentResult& result)
{
    for (const RankJson& use : json)
    {
        LinkUse& merged = result.links[use[0].get<DirectedLinkId>()];
        merged.bytes = use[1];
        merged.queuePeak = use[2];
        merged.nDropped = use[3];
    }
}

using RoundTimes = std::vector<AllReduceSession::RoundTimes>;

void
MergeRounds(const RankJson& json, RoundTimes& rounds)
{
    rounds.resize(std::max(rounds.size(), json.size()));
    for (std::size_t round = 0; round < json.size(); ++round)
    {
        rounds[round].begin =
            std::min<Time>(rounds[round].begin, TimeStep(json[round][0].get<int64_t>()));
        rounds[round].end =
            std::max<Time>(rounds[round].end, TimeStep(json[round][1].get<int64_t>()));
    }
}

/// The receiver's rank does not know when a flow began, the sender's when it ended.
void
JoinFlows(const std::vector<AllReduceFlow>& started, ExperimentResult& result)
{
    std::map<std::pair<uint32_t, uint32_t>, Time> begins;
    for (const AllReduceFlow& flow : started)
    {
        begins[{flow.round, flow.position}] = flow.begin;
    }
    for (AllReduceFlow& flow : result.flows)
    {
        const Time end = flow.begin + flow.duration;
        flow.begin = begins.at({flow.round, flow.position});
        flow.duration = end - flow.begin;
    }
    std::stable_sort(result.flows.begin(), result.flows.end(), [](const auto& x, const auto& y) {
        return x.begin + x.duration < y.begin + y.duration;
    });
}

void
SetTimes(Time begin, const RoundTimes& rounds, ExperimentResult& result)
{
    result.roundSeconds.clear();
    result.roundSpans.clear();
    for (uint32_t round = 0; round < rounds.size(); ++round)
    {
        const Time duration = rounds[round].end - rounds[round].begin;
        result.roundSeconds.push_back(duration.GetSeconds());
        result.roundSpans.push_back({round, rounds[round].begin, duration});
    }
    result.rounds = rounds.size();
    if (result.failure.empty() && !rounds.empty())
    {
        result.endSeconds = rounds.back().end.GetSeconds();
        result.measuredSeconds = (rounds.back().end - begin).GetSeconds();
    }
}

} // namespace

std::string
WriteRankReport(const RankReport& report)
{
    RankJson rounds = RankJson::array();
    for (const auto& round : report.rounds)
    {
        rounds.push_back({round.begin.GetTimeStep(), round.end.GetTimeStep()});
    }
    const ExperimentResult& result = report.result;
    return RankJson{{"failure", result.failure},
                    {"begin", report.begin.GetTimeStep()},
                    {"rounds", rounds},
                    {"messages", result.nMessages},
                    {"resent", result.nResent},
                    {"dropped", result.nDropped},
                    {"events", result.nEvents},
                    {"wall", result.wallSeconds},
                    {"wait", report.waitSeconds},
                    {"links", WriteLinks(report)},
                    {"started", WriteFlows(report.started)},
                    {"flows", WriteFlows(result.flows)}}
        .dump();
}

void
MergeRankReports(const std::vector<std::string>& texts, ExperimentResult& result)
{
    RoundTimes rounds;
    std::vector<AllReduceFlow> started;
    Time begin = Time::Max();
    result.flows.clear();
    result.nMessages = result.nResent = result.nDropped = result.nEvents = 0;
    result.nRanks = texts.size();
    double waitSeconds = 0;
    for (std::size_t rank = 0; rank < texts.size(); ++rank)
    {
        const RankJson json = RankJson::parse(texts[rank]);
        if (result.failure.empty() && !json["failure"].get<std::string>().empty())
        {
            result.failure =
                "rank " + std::to_string(rank) + ": " + json["failure"].get<std::string>();
        }
        // Server 0 begins, and other ranks than its own hear of it later.
        begin = std::min<Time>(begin, TimeStep(json["begin"].get<int64_t>()));
        MergeRounds(json["rounds"], rounds);
        result.nMessages += json["messages"].get<uint64_t>();
        result.nResent += json["resent"].get<uint64_t>();
        result.nDropped += json["dropped"].get<uint64_t>();
        result.nEvents += json["events"].get<uint64_t>();
        result.wallSeconds = std::max(result.wallSeconds, json["wall"].get<double>());
        waitSeconds += json["wait"].get<double>();
        MergeLinks(json["links"], result);
        for (const AllReduceFlow& flow : ReadFlows(json["started"]))
        {
            started.push_back(flow);
        }
        for (const AllReduceFlow& flow : ReadFlows(json["flows"]))
        {
            result.flows.push_back(flow);
        }
    }
    result.waitShare = waitSeconds / (texts.size() * std::max(result.wallSeconds, 1e-9));
    JoinFlows(started, result);
    SetTimes(begin, rounds, result);
}

} // namespace ns3::allreduce
