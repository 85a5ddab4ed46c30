/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "soak-run.h"

#include "job-experiment.h"
#include "soak-case.h"
#include "soak-judge.h"

#include "ns3/allreduce-error.h"
#include "ns3/topology-spec.h"

#include <ctime>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// One job of a run, or all of it.
struct SoakPart
{
    Experiment experiment;   //!< what was run
    ExperimentResult result; //!< what came out
    RunOptions run;          //!< its iterations
    Time start;              //!< when it began
    Time end;                //!< when it was over
};

std::vector<SoakPart>
RunParts(const SoakCase& drawn, bool isFullStack)
{
    RunOptions options = drawn.options;
    options.fullStack = isFullStack;
    std::vector<SoakPart> parts;
    if (drawn.jobs.empty())
    {
        const Experiment experiment = PlanExperiment(drawn.topology,
                                                     drawn.plan.schedulers.front(),
                                                     drawn.bytes,
                                                     drawn.plan,
                                                     options);
        const ExperimentResult result = RunExperiment(experiment, options);
        parts.push_back({experiment, result, options, Time(0), Seconds(result.endSeconds)});
        return parts;
    }
    const auto jobs =
        PlanJobs(drawn.topology, ParseJobs(drawn.jobs, drawn.plan, options, drawn.bytes));
    const std::vector<JobResult> results = RunJobs(jobs, options);
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        parts.push_back({jobs[i].experiment,
                         results[i].together,
                         jobs[i].options.run,
                         jobs[i].options.start,
                         Seconds(results[i].together.doneSeconds)});
    }
    return parts;
}

/// @return what differs between a run and the same over the full stack; "" if nothing does
std::string
FindDifference(const std::vector<SoakPart>& light, const std::vector<SoakPart>& full)
{
    const auto describe = [](const std::vector<SoakPart>& parts) {
        std::ostringstream text;
        text.precision(12);
        for (const SoakPart& part : parts)
        {
            const ExperimentResult& result = part.result;
            text << "measured " << result.measuredSeconds << " s, end " << part.end.GetSeconds()
                 << " s, rounds " << result.rounds << ", replans " << result.nReplans
                 << ", aborted " << result.nAborted << ", resent " << result.nResent << ", dropped "
                 << result.nDropped << ", failure '" << result.failure << "'; ";
        }
        return text.str();
    };
    const std::string x = describe(light);
    const std::string y = describe(full);
    return x == y ? "" : "light: " + x + "full stack: " + y;
}

/// Run and judge. @return how it ended, and what is wrong
std::pair<SoakOutcome::Kind, std::string>
Judge(const SoakCase& drawn)
{
    const std::vector<SoakPart> parts = RunParts(drawn, false);
    SoakOutcome::Kind kind = SoakOutcome::EXACT;
    for (const SoakPart& part : parts)
    {
        kind = part.result.failure.empty() ? kind : SoakOutcome::CUT_OFF;
        const SoakJudge judge(drawn, part.experiment, part.result, part.run, part.start, part.end);
        const std::string wrong = judge.FindWrong();
        if (!wrong.empty())
        {
            return {SoakOutcome::DEFECT, wrong};
        }
    }
    const std::string difference =
        drawn.hasTwin ? FindDifference(parts, RunParts(drawn, true)) : "";
    return {difference.empty() ? kind : SoakOutcome::DEFECT, difference};
}

/// @return whether a group cannot do without relays that it may not have
bool
IsImpossible(const SoakCase& drawn)
{
    std::vector<GroupOptions> groups{drawn.plan.groups};
    if (!drawn.jobs.empty())
    {
        groups.clear();
        for (const JobOptions& job : ParseJobs(drawn.jobs, drawn.plan, drawn.options, drawn.bytes))
        {
            groups.push_back(job.plan.groups);
        }
    }
    for (const GroupOptions& group : groups)
    {
        const Collective collective = MakeCollective(group.MakeGroups(drawn.topology),
                                                     drawn.topology.GetNServers(),
                                                     1,
                                                     group.relay == "all");
        if (SoakJudge::IsImpossible(drawn.topology, collective))
        {
            return true;
        }
    }
    return false;
}

} // namespace

SoakOutcome
DescribeSoak(uint64_t seed)
{
    const SoakCase drawn = SoakCase::Draw(seed);
    std::ostringstream json;
    WriteTopologyJson(drawn.topology, json);
    return {SoakOutcome::DEFECT,
            "",
            drawn.MakeCommand("soak-" + std::to_string(seed) + ".json"),
            json.str(),
            0};
}

SoakOutcome
RunSoak(uint64_t seed)
{
    const SoakCase drawn = SoakCase::Draw(seed);
    SoakOutcome outcome = DescribeSoak(seed);
    const std::clock_t begin = std::clock();
    const bool isImpossible = IsImpossible(drawn);
    try
    {
        std::tie(outcome.kind, outcome.reason) = Judge(drawn);
        if (isImpossible)
        {
            outcome.kind = SoakOutcome::DEFECT;
            outcome.reason = "has run, though a group needs relays that it may not have";
        }
    }
    catch (const InputError& error)
    {
        outcome.kind = isImpossible ? SoakOutcome::REFUSED : SoakOutcome::DEFECT;
        outcome.reason = error.what();
    }
    catch (const std::exception& error)
    {
        outcome.reason = error.what();
    }
    outcome.processorSeconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    constexpr double MOST_SECONDS = 20;
    if (outcome.processorSeconds > MOST_SECONDS && outcome.kind != SoakOutcome::DEFECT)
    {
        outcome.kind = SoakOutcome::DEFECT;
        outcome.reason = "took " + std::to_string(outcome.processorSeconds) + " s";
    }
    return outcome;
}

} // namespace ns3::allreduce
