/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Plans AllReduces in the flow-level simulator, verifies them and compares them with the bound.
 */

#include "allreduce-program-options.h"
#include "html-report.h"
#include "plan-options.h"
#include "progress-line.h"
#include "result-writer.h"
#include "schedule-view.h"
#include "trace-events.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/msccl-file.h"
#include "ns3/price-checker.h"
#include "ns3/round-hash.h"
#include "ns3/schedule-file.h"
#include "ns3/schedule-verifier.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What can be asked for besides the common options.
struct Options
{
    PlanOptions plan;        //!< the common ones
    std::string scheduleOut; //!< where to write the schedule
    std::string scheduleIn;  //!< a schedule to verify instead of planning one
    std::string mscclOut;    //!< where to write the schedule as MSCCL XML
    std::string mscclIn;     //!< an MSCCL algorithm to verify instead of planning
    std::string report;      //!< where to write the page
    std::string traceJson;   //!< where to write trace events
    bool showLinks{false};   //!< print link loads
    bool showBounds{false};  //!< print all bounds
};

/// Where results go.
struct Outputs
{
    ResultWriter writer; //!< rows
    HtmlReport report;   //!< the page
    std::string bounded; //!< the topology whose bounds were printed last
};

/// A schedule and where it is from.
struct Result
{
    std::string scheduler;      //!< who made it
    AllReduceSchedule schedule; //!< what it made
    double planMs{0};           //!< how long that took
};

double
GetMilliseconds(std::chrono::steady_clock::time_point since)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
        .count();
}

Result
MakePlan(const Topology& topology, const std::string& name, const PlanOptions& options)
{
    const Ptr<AllReduceScheduler> scheduler = MakeScheduler(name, options);
    ProgressLine line("planning " + topology.GetName() + " " + name);
    const auto begin = std::chrono::steady_clock::now();
    const AllReduceState state(topology, MakeRoots(topology, options));
    const PlanningProgress progress(
        [&](const std::string& what, double share) { line.Show(what, share); });
    AllReduceSchedule schedule = Plan(*scheduler, state, progress);
    return {name, std::move(schedule), GetMilliseconds(begin)};
}

void
PrintLinks(const Topology& topology, const Result& result)
{
    constexpr std::size_t BUSIEST = 10;
    const std::vector<LinkLoad> loads = ComputeLinkLoads(topology, result.schedule);
    double sum = 0;
    for (const LinkLoad& load : loads)
    {
        sum += load.utilization;
    }
    std::cout << "  mean utilisation of " << loads.size()
              << " directed links: " << 100 * sum / loads.size() << " %; the busiest:\n";
    for (std::size_t i = 0; i < std::min(loads.size(), BUSIEST); ++i)
    {
        std::cout << "    " << topology.GetSource(loads[i].link) << "-"
                  << topology.GetTarget(loads[i].link) << ": " << loads[i].nWorkloads
                  << " workloads, " << 100 * loads[i].utilization << " %\n";
    }
}

void
PrintBounds(const LowerBounds& bounds, std::size_t nChunks)
{
    for (const LowerBound& bound : bounds.all)
    {
        std::cout << "  bound by " << bound.name << ": " << bound.rounds
                  << " rounds: " << bound.bottleneck << "\n";
    }
    std::cout << "  proof by prices: " << nChunks << " chunks cost " << bounds.prices.treePrice
              << " or more each, a round is worth " << bounds.prices.widthPrice << " at most\n";
}

/// @return the prices of links, so that anybody can check the bound
nlohmann::ordered_json
MakePricesJson(const Topology& topology, const PriceBound& bound)
{
    nlohmann::ordered_json links = nlohmann::ordered_json::array();
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        if (bound.prices[id] > 0)
        {
            links.push_back({topology.GetLink(id).a, topology.GetLink(id).b, bound.prices[id]});
        }
    }
    return {{"tree_price", bound.treePrice},
            {"capacity_price", bound.widthPrice},
            {"links", std::move(links)},
            {"parts", bound.parts}};
}

/// @return the loads of the busiest links and their mean, for JSON
nlohmann::ordered_json
MakeLinksJson(const Topology& topology, const AllReduceSchedule& schedule)
{
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const LinkLoad& load : ComputeLinkLoads(topology, schedule))
    {
        json.push_back({{"from", topology.GetSource(load.link)},
                        {"to", topology.GetTarget(load.link)},
                        {"workloads", load.nWorkloads},
                        {"utilization", load.utilization}});
    }
    return json;
}

nlohmann::ordered_json
MakeRow(const Topology& topology, const Result& result, const LowerBounds& bounds)
{
    const LowerBound& best = bounds.GetBest();
    const auto rounds = result.schedule.rounds.size();
    nlohmann::ordered_json row = {
        {"topology", topology.GetName()},
        {"servers", topology.GetNServers()},
        {"switches", topology.GetNSwitches()},
        {"links", topology.GetNLinks()},
        {"scheduler", result.scheduler},
        {"chunks_per_server",
         static_cast<double>(result.schedule.roots.size()) / topology.GetNServers()},
        {"rounds", rounds},
        {"bound", best.rounds},
        {"bound_name", best.name},
        {"bottleneck", best.bottleneck},
        {"ratio", static_cast<double>(rounds) / best.rounds},
        {"verified", true},
        {"plan_hash", FormatHash(HashRounds(MakeRoundRange(result.schedule.rounds)))},
        {"plan_ms", result.planMs},
        {"workloads", result.schedule.CountWorkloads()},
    };
    for (const LowerBound& bound : bounds.all)
    {
        row["bounds"][bound.name] = bound.rounds;
    }
    return row;
}

void
WriteFiles(const Topology& topology, const AllReduceSchedule& schedule, const Options& options)
{
    auto write = [&](const std::string& path, auto writer) {
        if (!path.empty())
        {
            std::ofstream out(path);
            writer(topology, schedule, out);
            if (!out.flush())
            {
                FailInput("file ", NamePath(path), ": cannot be written");
            }
        }
    };
    write(options.scheduleOut, WriteSchedule);
    write(options.mscclOut, WriteMsccl);
    write(options.traceJson,
          [](const auto&, const auto& plan, std::ostream& out) { WriteTraceEvents(plan, out); });
}

/// @return the bounds; a proof by prices that has a flaw is an error
LowerBounds
ComputeProvenBounds(const Topology& topology, const std::vector<NodeId>& roots)
{
    LowerBounds bounds = ComputeLowerBounds(topology, roots);
    const PriceBound& prices = bounds.prices;
    const std::string flaw = FindFlaw(
        topology,
        {roots.size(), prices.prices, prices.treePrice, prices.widthPrice, bounds.all[0].rounds});
    if (!flaw.empty())
    {
        FailInput("the bound by prices is not proven: ", flaw);
    }
    return bounds;
}

void
Report(const Topology& topology, const Result& result, const Options& options, Outputs& outputs)
{
    const Verdict verdict = Verify(topology, result.schedule);
    if (!verdict.isCorrect)
    {
        FailInput(topology.GetName(), " ", result.scheduler, " is not correct: ", verdict.reason);
    }
    const LowerBounds bounds = ComputeProvenBounds(topology, result.schedule.roots);
    nlohmann::ordered_json row = MakeRow(topology, result, bounds);
    if (options.showBounds)
    {
        row["prices"] = MakePricesJson(topology, bounds.prices);
    }
    if (options.showLinks)
    {
        row["link_loads"] = MakeLinksJson(topology, result.schedule);
    }
    outputs.writer.Add(row);
    outputs.report.AddRow(row);
    outputs.report.AddView(
        [&] { return MakeScheduleView(topology, result.schedule, result.scheduler); });
    if (options.plan.format == "table")
    {
        if (options.showBounds && outputs.bounded != topology.GetName())
        {
            PrintBounds(bounds, result.schedule.roots.size());
            outputs.bounded = topology.GetName();
        }
        if (options.showLinks)
        {
            PrintLinks(topology, result);
        }
    }
    WriteFiles(topology, result.schedule, options);
}

/// Verifies a schedule from a file.
void
ReportFile(const Options& options, Outputs& outputs)
{
    const bool isMsccl = !options.mscclIn.empty();
    const std::string& path = isMsccl ? options.mscclIn : options.scheduleIn;
    std::ifstream in(path);
    if (!in)
    {
        FailInput("schedule file ", NamePath(path), ": cannot be opened");
    }
    const ScheduleFile file =
        isMsccl ? ReadMsccl(in, options.plan.topologies.Make().at(0), NamePath(path))
                : ReadSchedule(in, NamePath(path));
    Report(file.topology, {path, file.schedule, 0}, options, outputs);
}

void
ReportPlans(const Options& options, Outputs& outputs)
{
    const std::vector<Topology> topologies = options.plan.topologies.Make();
    const std::vector<std::string> schedulers = ExpandSchedulers(options.plan);
    outputs.writer.MakeRoom("topology", GetNames(topologies));
    outputs.writer.MakeRoom("scheduler", schedulers);
    for (const Topology& topology : topologies)
    {
        for (const std::string& name : schedulers)
        {
            Report(topology, MakePlan(topology, name, options.plan), options, outputs);
        }
    }
}

std::vector<ResultWriter::Column>
GetColumns()
{
    return {{"topology", "topology", 9},
            {"scheduler", "scheduler", 9},
            {"servers", "servers", 7},
            {"chunks_per_server", "m", 3, 0},
            {"rounds", "rounds", 7},
            {"bound", "bound", 6},
            {"ratio", "ratio", 6, 3},
            {"verified", "verified", 8},
            {"plan_ms", "plan ms", 10, 2}};
}

int
Run(int argc, char* argv[])
{
    Options options;
    options.plan.schedulers = {"ps", "ring-aware", "greedy"};
    ProgramOptions parser(
        "allreduce-plan",
        "Plans AllReduces, proves the plans correct and compares them with the lower "
        "bound.");
    options.plan.AddTo(parser);
    parser.Add("schedule-out", options.scheduleOut, "write the (last) schedule to this file");
    parser.Add("schedule-in", options.scheduleIn, "verify this file instead of planning");
    parser.Add("msccl-out", options.mscclOut, "write the (last) schedule as MSCCL XML");
    parser.Add("msccl-in", options.mscclIn, "verify this MSCCL XML on --topology");
    parser.Add("report", options.report, "write a page with pictures to this HTML file");
    parser.Add("trace-json", options.traceJson, "write the (last) schedule for Perfetto");
    parser.Add("links", options.showLinks, "show the ten busiest links");
    parser.Add("bounds",
               options.showBounds,
               "show all lower bounds, what they are about, and prices");
    parser.AddExample("--topology=bcube:4,1 --scheduler=all",
                      "compare the rounds of all schedulers with the lower bound");
    parser.AddExample("--topology=dcell:4,1 --degrade=0.05,3 --scheduler=hrl --bounds",
                      "plan where links are lost, and say what bounds the rounds");
    parser.AddExample(
        "--topology=fattree:4 --scheduler=greedy --schedule-out=plan.json --report=plan.html",
        "keep the plan, and draw it");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }

    parser.Exclude("schedule-in", {"msccl-in", "topology", "degrade", "mixed"});
    ExcludePlanning(parser, "schedule-in");
    ExcludePlanning(parser, "msccl-in");
    CheckDetails(options.showLinks, "--links", options.plan.format);
    CheckDetails(options.showBounds, "--bounds", options.plan.format);
    CheckSchedulers(options.plan);

    Outputs outputs{{std::cout, ParseFormat(options.plan.format), GetColumns()},
                    {options.report, argc, argv},
                    ""};
    if (!options.scheduleIn.empty() || !options.mscclIn.empty())
    {
        ReportFile(options, outputs);
    }
    else
    {
        ReportPlans(options, outputs);
    }
    outputs.report.Write();
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-plan", [=] { return Run(argc, argv); });
}
