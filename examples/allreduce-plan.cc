/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Plans AllReduces in the flow-level simulator, verifies them and compares them with the bound.
 */

#include "allreduce-program-options.h"
#include "chakra-files.h"
#include "html-report.h"
#include "output-file.h"
#include "plan-options.h"
#include "plan-rows.h"
#include "progress-line.h"
#include "result-writer.h"
#include "run-options.h"
#include "schedule-view.h"
#include "sweep-options.h"
#include "trace-events.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/chakra-trace.h"
#include "ns3/cut-checker.h"
#include "ns3/groups-apart.h"
#include "ns3/input-file.h"
#include "ns3/msccl-file.h"
#include "ns3/price-checker.h"
#include "ns3/schedule-file.h"
#include "ns3/schedule-verifier.h"
#include "ns3/topology-metrics.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What can be asked for besides the common options.
struct Options
{
    PlanOptions plan;           //!< the common ones
    SweepOptions sweep;         //!< who plans what
    std::string scheduleOut;    //!< where to write the schedule
    std::string scheduleIn;     //!< a schedule to verify instead of planning one
    std::string mscclOut;       //!< where to write the schedule as MSCCL XML
    std::string mscclIn;        //!< an MSCCL algorithm to verify instead of planning
    std::string chakraOut;      //!< how the names of Chakra traces begin
    std::string bytes{"16MiB"}; //!< size of the gradient in these
    std::string report;         //!< where to write the page
    std::string traceJson;      //!< where to write trace events
    bool isApart{false};        //!< groups are planned one by one
    bool showLinks{false};      //!< print link loads
    bool showBounds{false};     //!< print all bounds
};

/// Something to plan, or to read.
struct Case
{
    const Topology* topology; //!< the network; nullptr: that of the schedule file
    std::string scheduler;    //!< who plans
    bool isFirst;             //!< of its topology
    bool isLast;              //!< of all: its schedule is written to files
};

double
GetMilliseconds(std::chrono::steady_clock::time_point since)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
        .count();
}

PlanResult
MakePlan(const Topology& topology, const std::string& name, const Options& options)
{
    ProgressLine line("planning " + topology.GetName() + " " + name,
                      options.sweep.IsOneAfterAnother());
    const auto begin = std::chrono::steady_clock::now();
    const Collective collective = MakeCollective(topology, options.plan);
    const PlanningProgress progress(
        [&](const std::string& what, double share) { line.Show(what, share); });
    const auto makeScheduler = [&] { return MakeScheduler(name, options.plan); };
    if (options.isApart)
    {
        return {name,
                PlanApart(topology, collective, makeScheduler, progress),
                GetMilliseconds(begin),
                ""};
    }
    const Ptr<AllReduceScheduler> scheduler = makeScheduler();
    AllReduceSchedule schedule = Plan(*scheduler, AllReduceState(topology, collective), progress);
    return {name, std::move(schedule), GetMilliseconds(begin), scheduler->GetRemark()};
}

/// Says who does what, unless it is an AllReduce of all servers.
void
AddGroups(nlohmann::ordered_json& row,
          const Topology& topology,
          const PlanResult& result,
          const Options& options)
{
    if (result.schedule.collective.IsOfAll() && !options.plan.groups.AreGiven())
    {
        return;
    }
    const bool isFromFile = !options.scheduleIn.empty();
    const GroupShape shape = isFromFile ? GetShape(result.schedule.collective, topology)
                                        : GetShape(options.plan.groups.MakeGroups(topology));
    row["collective"] = shape.collective;
    row["groups"] = shape.nGroups;
    row["group_servers"] = shape.nServers;
    row["planned"] = options.isApart ? "apart" : "together";
    row["chunks_per_server"] = static_cast<double>(result.schedule.collective.GetNChunks()) /
                               shape.nGroups / shape.nServers;
}

/// Writes a schedule as MSCCL XML, and says so if not every GPU can run it.
void
WriteMscclFile(const Topology& topology, const AllReduceSchedule& schedule, std::ostream& out)
{
    constexpr uint32_t FEW_MULTIPROCESSORS = 80;
    const uint32_t nBlocks = WriteMsccl(topology, schedule, out);
    if (nBlocks > FEW_MULTIPROCESSORS)
    {
        std::cerr << "allreduce-plan: warning: --msccl-out: a GPU gets up to " << nBlocks
                  << " threadblocks, all of which must run at once; a V100 has "
                  << FEW_MULTIPROCESSORS
                  << " multiprocessors, an A100 108, an H100 132; plans in which servers send to "
                     "fewer others need fewer"
                  << std::endl;
    }
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
    write(options.mscclOut, WriteMscclFile);
    if (!options.chakraOut.empty())
    {
        WriteChakraFiles(options.chakraOut,
                         topology,
                         schedule,
                         ParseSize(options.bytes, "--bytes"));
    }
    write(options.traceJson,
          [](const auto&, const auto& plan, std::ostream& out) { WriteTraceEvents(plan, out); });
}

/// @return the bounds; a proof that has a flaw is an error
LowerBounds
ComputeProvenBounds(const Topology& topology, const Collective& collective)
{
    LowerBounds bounds = ComputeLowerBounds(topology, collective);
    const PriceBound& prices = bounds.prices;
    const std::string flaw = collective.IsOfAll() ? FindFlaw(topology,
                                                             {collective.GetNChunks(),
                                                              prices.prices,
                                                              prices.treePrice,
                                                              prices.widthPrice,
                                                              bounds.all[0].rounds})
                                                  : FindFlaw(topology, collective, bounds.cut);
    if (!flaw.empty())
    {
        FailInput("the bound by ", bounds.all[0].name, " is not proven: ", flaw);
    }
    return bounds;
}

/// @return what is printed below the row
std::string
MakeDetails(const Topology& topology,
            const PlanResult& result,
            const LowerBounds& bounds,
            bool isFirst,
            const Options& options)
{
    std::ostringstream details;
    if (isFirst && ChoosesByBytes(topology, options.plan) && AreRatesMixed(topology))
    {
        details << "  links of mixed speed: allreduce-run and allreduce-compare choose m for the "
                   "bytes; here it is the mean number of ports, and more can be faster "
                   "(--chunks-per-server)\n";
    }
    if (!result.remark.empty())
    {
        details << "  " << result.scheduler << ": " << result.remark << "\n";
    }
    if (options.showBounds && isFirst)
    {
        PrintBounds(bounds, result.schedule.collective.GetNChunks(), details);
    }
    if (options.showLinks)
    {
        PrintPlannedLinks(topology, result.schedule, details);
    }
    return details.str();
}

/// Verifies a schedule; @return its row, with what goes below it and onto the page
nlohmann::ordered_json
Report(const Topology& topology,
       const PlanResult& result,
       const Case& chosen,
       const Options& options)
{
    const Verdict verdict = Verify(topology, result.schedule);
    if (!verdict.isCorrect)
    {
        FailInput(topology.GetName(), " ", result.scheduler, " is not correct: ", verdict.reason);
    }
    const LowerBounds bounds = ComputeProvenBounds(topology, result.schedule.collective);
    nlohmann::ordered_json row = MakePlanRow(topology, result, bounds);
    AddGroups(row, topology, result, options);
    if (options.showBounds && result.schedule.collective.IsOfAll())
    {
        row["prices"] = MakePricesJson(topology, bounds.prices);
    }
    if (options.showLinks)
    {
        row["link_loads"] = MakePlannedLinksJson(topology, result.schedule);
    }
    if (options.plan.format == "table")
    {
        row["details"] = MakeDetails(topology, result, bounds, chosen.isFirst, options);
    }
    if (!options.report.empty())
    {
        row["view"] = MakeScheduleView(topology, result.schedule, result.scheduler);
    }
    if (chosen.isLast)
    {
        WriteFiles(topology, result.schedule, options);
    }
    return row;
}

/// Verifies a schedule from a file; @return its row
nlohmann::ordered_json
ReportFile(const Case& chosen, const Options& options)
{
    const bool isMsccl = !options.mscclIn.empty();
    const std::string& path = isMsccl ? options.mscclIn : options.scheduleIn;
    InputFile in(path, "schedule file");
    const ScheduleFile file =
        isMsccl ? ReadMsccl(in, options.plan.topologies.Make().at(0), NamePath(path))
                : ReadSchedule(in, NamePath(path));
    return Report(file.topology, {path, file.schedule, 0}, chosen, options);
}

/// Plans or reads; @return a row as text, to be sent from one process to another
std::string
DoCase(const Case& chosen, const Options& options)
{
    const nlohmann::ordered_json row =
        chosen.topology ? Report(*chosen.topology,
                                 MakePlan(*chosen.topology, chosen.scheduler, options),
                                 chosen,
                                 options)
                        : ReportFile(chosen, options);
    // Names of files need not be UTF-8.
    return row.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// @return all that was asked for
std::vector<Case>
MakeCases(const std::vector<Topology>& topologies, const Options& options)
{
    std::vector<Case> cases;
    const std::vector<std::string> schedulers = ExpandSchedulers(options.plan);
    for (const Topology& topology : topologies)
    {
        for (const std::string& name : schedulers)
        {
            cases.push_back({&topology, name, name == schedulers.front(), false});
        }
    }
    if (topologies.empty())
    {
        cases.push_back({nullptr, "", true, false});
    }
    return cases;
}

/// @return a member of a row, which then no longer has it; null if it had none
nlohmann::ordered_json
TakeMember(nlohmann::ordered_json& row, const std::string& name)
{
    nlohmann::ordered_json member = row.value(name, nlohmann::ordered_json());
    row.erase(name);
    return member;
}

/// @return the row of a case; one that failed says so there and on standard error
nlohmann::ordered_json
ReadRow(const Case& chosen, const WorkerProcesses::Outcome& outcome)
{
    if (outcome.failure.empty())
    {
        return nlohmann::ordered_json::parse(outcome.text);
    }
    const std::string topology = chosen.topology ? chosen.topology->GetName() : "file";
    std::cerr << "allreduce-plan: " << topology << " " << chosen.scheduler
              << " failed: " << outcome.failure << std::endl;
    return {{"topology", topology}, {"scheduler", chosen.scheduler}, {"failure", outcome.failure}};
}

/// Does all cases and shows what comes out; @return whether all went well
bool
ReportAll(const std::vector<Case>& cases, Sweep& sweep, ResultWriter& writer, HtmlReport& report)
{
    bool isGood = true;
    sweep.Run([&](std::size_t index, const WorkerProcesses::Outcome& outcome) {
        auto row = ReadRow(cases[index], outcome);
        const nlohmann::ordered_json details = TakeMember(row, "details");
        const nlohmann::ordered_json view = TakeMember(row, "view");
        writer.Add(row);
        std::cout << (details.is_string() ? details.get<std::string>() : "");
        report.AddRow(row);
        if (!view.is_null())
        {
            report.AddView([&] { return view; });
        }
        isGood = isGood && outcome.failure.empty();
    });
    return isGood;
}

void
CheckChakraOptions(const ProgramOptions& parser, const Options& options)
{
    if (!options.chakraOut.empty())
    {
        CheckChakraSupport("--chakra-out");
        ParseSize(options.bytes, "--bytes");
        OutputFile::Check("--chakra-out", NameChakraFile(options.chakraOut, 0));
    }
    else if (parser.IsGiven("bytes"))
    {
        FailInput("--bytes: has no effect without --chakra-out");
    }
}

void
AddOptions(ProgramOptions& parser, Options& options)
{
    options.plan.AddTo(parser);
    options.sweep.AddTo(parser);
    parser.Add("schedule-out", options.scheduleOut, "write the (last) schedule to this file");
    parser.Add("schedule-in", options.scheduleIn, "verify this file instead of planning");
    parser.Add("msccl-out", options.mscclOut, "write the (last) schedule as MSCCL XML");
    parser.Add("msccl-in", options.mscclIn, "verify this MSCCL XML on --topology");
    parser.Add("chakra-out",
               options.chakraOut,
               "write the (last) schedule as Chakra traces PREFIX.SERVER.et, for ASTRA-sim");
    parser.Add("bytes", options.bytes, "size of the gradient in Chakra traces, as 100MiB");
    parser.Add("report", options.report, "write a page with pictures to this HTML file");
    parser.Add("trace-json", options.traceJson, "write the (last) schedule for Perfetto");
    parser.Add("apart",
               options.isApart,
               "plan each of --groups by itself, as if it were alone, and send all at once");
    parser.Add("links",
               options.showLinks,
               "show planned unit flows over capacity of the ten busiest links");
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
    parser.AddExample("--topology=bcube:4,1 --scheduler=hrl --groups='0-7;8-15'",
                      "two jobs of eight servers, planned together");
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
    AddOptions(parser, options);
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }

    parser.Exclude("schedule-in", {"msccl-in", "topology", "degrade", "mixed"});
    ExcludePlanning(parser, "schedule-in");
    ExcludePlanning(parser, "msccl-in");
    CheckChakraOptions(parser, options);
    CheckDetails(options.showLinks, "--links", options.plan.format);
    CheckDetails(options.showBounds, "--bounds", options.plan.format);
    CheckSchedulers(options.plan);
    if (options.isApart && options.plan.groups.groups.empty())
    {
        FailInput("--apart: has no effect without --groups");
    }

    options.sweep.Check(parser);
    const bool isFromFile = !options.scheduleIn.empty() || !options.mscclIn.empty();
    const auto topologies = isFromFile ? std::vector<Topology>() : options.plan.topologies.Make();
    std::vector<Case> cases = MakeCases(topologies, options);
    Sweep sweep(options.sweep, cases.size(), [&](std::size_t index) {
        return DoCase(cases[index], options);
    });
    if (!sweep.GetCases().empty())
    {
        cases[sweep.GetCases().back()].isLast = true;
    }
    if (sweep.Serve())
    {
        return 0;
    }
    ResultWriter writer(std::cout,
                        ParseFormat(options.plan.format),
                        GetPlanColumns(options.plan.groups.AreGiven()));
    if (!isFromFile)
    {
        writer.MakeRoom("topology", GetNames(topologies));
        writer.MakeRoom("scheduler", ExpandSchedulers(options.plan));
    }
    HtmlReport report(options.report, argc, argv);
    const bool isGood = ReportAll(cases, sweep, writer, report);
    report.Write();
    return isGood ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-plan", [=] { return Run(argc, argv); });
}
