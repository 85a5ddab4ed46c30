/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "schedule-view.h"

#include "drawn-network.h"
#include "run-experiment.h"
#include "schedule-player.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace ns3::allreduce
{

namespace
{

using Json = nlohmann::ordered_json;

/// Flows of a packet run in a view: so many of those that arrived, and so many of the others.
constexpr std::size_t MOST_FLOWS = 20'000;

/// The paths of flows, each once.
class WayTable
{
  public:
    /// @param handedOut by AllReduce: its rounds
    explicit WayTable(const std::vector<std::vector<WorkloadList>>& handedOut)
        : m_handedOut(handedOut)
    {
    }

    /// @return the number of a flow's path
    std::size_t Find(const AllReduceFlow& flow)
    {
        const auto& round = m_handedOut.at(flow.iteration).at(flow.round);
        const NodeRange path = round.Get(flow.position).path;
        const auto place = m_ways.emplace(Path(path.begin(), path.end()), m_ways.size());
        if (place.second)
        {
            m_json.push_back(place.first->first);
        }
        return place.first->second;
    }

    /// @return by number: the path
    Json Take()
    {
        return std::move(m_json);
    }

  private:
    const std::vector<std::vector<WorkloadList>>& m_handedOut; //!< by AllReduce: its rounds
    std::map<Path, std::size_t> m_ways;                        //!< their numbers
    Json m_json = Json::array();                               //!< by number
};

void
AddFlows(Json& json, const std::vector<AllReduceFlow>& flows, Fate fate, WayTable& ways)
{
    for (std::size_t i = 0; i < flows.size() && json.size() < MOST_FLOWS; ++i)
    {
        const AllReduceFlow& flow = flows[i];
        json.push_back({flow.source,
                        flow.target,
                        flow.chunk,
                        flow.kind == WorkloadKind::BROADCAST,
                        flow.begin.GetNanoSeconds(),
                        flow.duration.GetNanoSeconds(),
                        ways.Find(flow)});
        if (fate != ARRIVED)
        {
            json.back().push_back(NameFate(fate));
        }
    }
}

Json
MakeMarksJson(const std::vector<RunMark>& marks)
{
    constexpr const char* KINDS[] = {"broke", "mended", "replanned", "slower", "faster"};
    Json json = Json::array();
    for (const RunMark& mark : marks)
    {
        json.push_back({{"kind", KINDS[mark.kind]},
                        {"time", mark.time.GetNanoSeconds()},
                        {"iteration", mark.iteration},
                        {"round", mark.round},
                        {"text", mark.Describe()}});
        if (mark.kind != RunMark::REPLANNED)
        {
            json.back()["link"] = {mark.a, mark.b};
        }
    }
    return json;
}

/// @return by line and direction: the mean use of its links
std::vector<double>
ComputeMeanUse(const Topology& topology, const std::vector<LinkUse>& links)
{
    const DrawnNetwork drawn = DrawNetwork(topology);
    std::vector<double> sums(2 * drawn.links.size(), 0);
    std::vector<uint32_t> counts(sums.size(), 0);
    for (const LinkUse& use : links)
    {
        const uint32_t line = drawn.directedOf[use.link];
        if (line != DrawnNetwork::INSIDE)
        {
            sums[line] += use.utilization;
            ++counts[line];
        }
    }
    for (std::size_t line = 0; line < sums.size(); ++line)
    {
        sums[line] /= counts[line];
    }
    return sums;
}

/// Puts what was measured in the place of what was planned. @param members see PlayRounds
void
SetMeasuredUse(const Topology& topology, const std::vector<LinkUse>& links, Json& members)
{
    for (std::size_t i = 0; i + 3 < members.size(); i += 4)
    {
        const NodeId a = members[i];
        const NodeId b = members[i + 1];
        const auto directed = topology.FindDirectedLink(a, b);
        members[i + 2] = std::lround(1000 * links.at(*directed).utilization);
        members[i + 3] = std::lround(1000 * links.at(Reverse(*directed)).utilization);
    }
}

/// @return what became of the workloads of the last AllReduce, up to the last round that began
Fates
FindFates(const ExperimentResult& result)
{
    Fates fates;
    if (result.handedOut.empty())
    {
        return fates;
    }
    for (const WorkloadList& round : result.handedOut.back())
    {
        fates.emplace_back(round.GetSize(), UNBEGUN);
    }
    std::size_t nBegun = 0;
    const auto note = [&](const std::vector<AllReduceFlow>& flows, Fate fate) {
        for (const AllReduceFlow& flow : flows)
        {
            if (flow.iteration + 1 == result.handedOut.size())
            {
                fates.at(flow.round).at(flow.position) = fate;
                nBegun = std::max<std::size_t>(nBegun, flow.round + 1);
            }
        }
    };
    note(result.flows, ARRIVED);
    note(result.abortedFlows, ABORTED);
    note(result.unfinishedFlows, UNFINISHED);
    fates.resize(nBegun);
    return fates;
}

/// @return the rounds of the last AllReduce as they were
Json
PlayRun(const Experiment& experiment, const ExperimentResult& result)
{
    Fates fates = FindFates(result);
    RoundRange rounds;
    if (!fates.empty())
    {
        const WorkloadList* first = result.handedOut.back().data();
        rounds = {first, first + fates.size()};
    }
    return PlayRounds(experiment.topology,
                      experiment.plan.GetCollective(),
                      rounds,
                      std::move(fates));
}

/// @return flows, rounds and marks of all AllReduces in time, and the use of the links
Json
MakeTimesJson(const Experiment& experiment, const ExperimentResult& result)
{
    WayTable ways(result.handedOut);
    Json flows = Json::array();
    Json cut = Json::array();
    AddFlows(flows, result.flows, ARRIVED, ways);
    AddFlows(cut, result.abortedFlows, ABORTED, ways);
    AddFlows(cut, result.unfinishedFlows, UNFINISHED, ways);
    Json rounds = Json::array();
    for (const RoundSpan& span : result.roundSpans)
    {
        rounds.push_back({span.round, span.begin.GetNanoSeconds(), span.duration.GetNanoSeconds()});
    }
    return {{"flows", std::move(flows)},
            {"flow_count", result.flows.size()},
            {"cut", std::move(cut)},
            {"cut_count", result.abortedFlows.size() + result.unfinishedFlows.size()},
            {"ways", ways.Take()},
            {"rounds", std::move(rounds)},
            {"iterations", result.handedOut.size()},
            {"marks", MakeMarksJson(result.marks)},
            {"use", ComputeMeanUse(experiment.topology, result.links)}};
}

} // namespace

Json
MakeScheduleView(const Topology& topology,
                 const AllReduceSchedule& schedule,
                 const std::string& scheduler)
{
    Json view = PlayRounds(topology, schedule.collective, MakeRoundRange(schedule.rounds));
    view["scheduler"] = scheduler;
    return view;
}

Json
MakeRunView(const Experiment& experiment, const ExperimentResult& result)
{
    Json view = PlayRun(experiment, result);
    view["scheduler"] = experiment.schedulerName;
    view["size"] = FormatSize(experiment.bytes);
    view["run"] = MakeTimesJson(experiment, result);
    if (view.contains("member_links"))
    {
        SetMeasuredUse(experiment.topology, result.links, view["member_links"]);
    }
    return view;
}

} // namespace ns3::allreduce
