/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How well sessions adapt: random networks that are not what was announced, each run with the plan
 * as it is, with a plan that had known, replanned and live, over what nobody could beat.
 */

#include "adaptation-cases.h"
#include "allreduce-program-options.h"
#include "progress-line.h"
#include "result-writer.h"
#include "run-options.h"
#include "sweep-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulation-defaults.h"
#include "ns3/topology-metrics.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

constexpr const char* PROGRAM = "allreduce-evaluate-adaptation";

/// How a case can be run; the names of columns.
const std::vector<std::string> RUNS = {"plan", "known", "replan", "live"};

/// What can be asked for.
struct Options
{
    std::vector<std::string>
        kinds{"link", "links", "server", "middle", "recover", "bursts", "late", "job", "none"};
    std::vector<std::string> runs{RUNS};
    uint32_t nCases{27};
    uint64_t seed{1};
    uint32_t mostServers{64};
    std::string size{"64MiB"};
    std::string scheduler{"forest"};
    std::string transport{"raw"};
    bool verifyData{false};
    std::string format{"table"};
    SweepOptions sweep;

    void AddTo(ProgramOptions& parser)
    {
        parser.Add("kinds",
                   kinds,
                   ',',
                   "what is wrong, in turn: link, links (three), server (all its links at half), "
                   "middle (a link from the middle on), recover, bursts, late (a server), job (on "
                   "half of the servers), noise or none");
        parser.Add("runs",
                   runs,
                   ',',
                   "plan (as it is), known (a plan for the actual rates, where they are constant), "
                   "replan, live");
        parser.Add("cases", nCases, "how many cases to draw");
        parser.Add("seed", seed, "random seed of the cases");
        parser.Add("most-servers", mostServers, "no larger networks, 8 to 64");
        parser.Add("bytes", size, "size of the gradient, as 64MiB");
        parser.Add("scheduler", scheduler, "who plans");
        parser.Add("transport", transport, "raw, udp or tcp");
        parser.Add("verify-data", verifyData, "carry real numbers, add and compare them");
        parser.Add("format", format, "table, json, csv or gnuplot");
        sweep.nJobs = GetNCores();
        sweep.AddTo(parser);
    }

    void Check() const
    {
        for (const std::string& kind : kinds)
        {
            CheckIsIn(kind, ADAPTATION_KINDS, "--kinds");
        }
        for (const std::string& run : runs)
        {
            CheckIsIn(run, RUNS, "--runs");
        }
        constexpr uint32_t FEWEST = 8;
        constexpr uint32_t MOST = 64;
        if (mostServers < FEWEST || mostServers > MOST)
        {
            FailInput("--most-servers=", mostServers, ": expected ", FEWEST, " to ", MOST);
        }
        if (nCases == 0)
        {
            FailInput("--cases=0: expected 1 or more");
        }
        CreateScheduler(scheduler);
        CreateTransport(transport);
        ParseFormat(format);
        ParseSize(size, "--bytes");
    }

    static void CheckIsIn(const std::string& name,
                          const std::vector<std::string>& names,
                          const std::string& option)
    {
        if (std::find(names.begin(), names.end(), name) == names.end())
        {
            std::string all;
            for (const std::string& other : names)
            {
                all += (all.empty() ? "" : ", ") + other;
            }
            FailInput(option, " ", Quote(name), ": expected any of ", all);
        }
    }
};

AdaptationCase
DrawCase(const Options& options, std::size_t index)
{
    constexpr uint64_t SEED_STEP = 1'000'003;
    return DrawAdaptationCase(options.kinds[index % options.kinds.size()],
                              options.mostServers,
                              ParseSize(options.size, "--bytes"),
                              SEED_STEP * options.seed + index);
}

ExperimentSettings
MakeSettings(const AdaptationCase& chosen, const Options& options, const std::string& run)
{
    ExperimentSettings settings;
    settings.transport = options.transport;
    settings.sync = AllReduceSession::DEPENDENCY;
    settings.adapt = run == "live"     ? AllReduceSession::LIVE
                     : run == "replan" ? AllReduceSession::REPLAN
                                       : AllReduceSession::NO_ADAPTATION;
    settings.verifyData = options.verifyData;
    settings.rateChanges = chosen.rateChanges;
    settings.bursts = chosen.bursts;
    settings.lateServers = chosen.lateServers;
    settings.background = chosen.background;
    settings.queue = chosen.queue;
    return settings;
}

/// @return the AllReduce that nobody has announced, a quarter as large
SharedExperiment
MakeOther(const AdaptationCase& chosen, const Options& options, uint64_t bytes)
{
    constexpr uint32_t CHUNKS_PER_PORT = 4;
    constexpr uint64_t SHARE = 4;
    const Topology& topology = chosen.announced;
    const Group group{CollectiveKind::ALL_REDUCE, chosen.otherJob->servers};
    const Ptr<AllReduceScheduler> scheduler = CreateScheduler("forest");
    Experiment experiment{chosen.actual,
                          "forest",
                          scheduler,
                          PlanVerified(topology,
                                       MakeCollective({group},
                                                      topology.GetNServers(),
                                                      CHUNKS_PER_PORT * ComputeMeanPorts(topology),
                                                      true),
                                       *scheduler),
                          bytes / SHARE};
    experiment.shape = GetShape({group});
    ExperimentSettings settings = MakeSettings(chosen, options, "plan");
    settings.start = chosen.otherJob->start;
    return {experiment, settings};
}

ExperimentResult
RunOnce(const AdaptationCase& chosen, const Options& options, const std::string& run)
{
    const uint64_t bytes = ParseSize(options.size, "--bytes");
    const ExperimentSettings settings = MakeSettings(chosen, options, run);
    const Topology& planned = run == "known" ? chosen.actual : chosen.announced;
    Experiment experiment = PlanExperiment(planned, options.scheduler, bytes, settings);
    experiment.topology = chosen.actual;
    experiment.announced = planned;
    std::vector<SharedExperiment> all{{experiment, settings}};
    if (chosen.otherJob)
    {
        all.push_back(MakeOther(chosen, options, bytes));
    }
    const std::vector<ExperimentResult> results = RunExperiments(all);
    for (const ExperimentResult& result : results)
    {
        if (!result.failure.empty())
        {
            return result;
        }
    }
    return results.front();
}

void
AddRun(Json& row, const std::string& run, const ExperimentResult& result)
{
    if (!result.failure.empty())
    {
        row["failure"] = run + ": " + result.failure;
        return;
    }
    const bool isKnown = result.knownIdealSeconds > 0;
    const double ideal = isKnown ? result.knownIdealSeconds : result.idealSeconds;
    row["known_ideal_s"] = ideal;
    row[run] = result.measuredSeconds / ideal;
    row[run + "_s"] = result.measuredSeconds;
    row[run + "_dropped"] = result.nDropped;
    if (run == "replan")
    {
        row["replans"] = result.nReplans;
    }
    if (run == "replan" || run == "live")
    {
        row[run + "_aborted"] = result.nAborted;
        row[run + "_given_up_bytes"] = result.bytesGivenUp;
        row[run + "_belief_changes"] = result.beliefs.size();
    }
}

/// Runs a case in all ways; @return a row as text, to be sent from one process to another
std::string
RunCase(const Options& options, std::size_t index)
{
    const AdaptationCase chosen = DrawCase(options, index);
    Json row = {{"case", index},
                {"kind", chosen.kind},
                {"topology", chosen.announced.GetName()},
                {"servers", chosen.announced.GetNServers()},
                {"surprise", chosen.text},
                {"transport", options.transport}};
    for (const std::string& run : options.runs)
    {
        row[run] = nullptr;
    }
    for (const std::string& run : options.runs)
    {
        if (run != "known" || chosen.IsConstant())
        {
            AddRun(row, run, RunOnce(chosen, options, run));
        }
    }
    return row.dump();
}

/// Means and worst values of what was measured of some cases.
struct Summary
{
    std::map<std::string, std::vector<double>> ratios; //!< by column

    void Add(const Json& row, const Options& options)
    {
        for (const std::string& run : options.runs)
        {
            if (row.contains(run) && row[run].is_number())
            {
                ratios[run].push_back(row[run].get<double>());
            }
        }
    }

    /// @return "1.105 (1.302)", or nothing if there is nothing
    std::string Describe(const std::string& run) const
    {
        const auto place = ratios.find(run);
        if (place == ratios.end())
        {
            return "";
        }
        const std::vector<double>& values = place->second;
        double sum = 0;
        for (const double value : values)
        {
            sum += value;
        }
        char text[64];
        std::snprintf(text,
                      sizeof(text),
                      "%.3f (%.3f)",
                      sum / values.size(),
                      *std::max_element(values.begin(), values.end()));
        return text;
    }
};

std::vector<ResultWriter::Column>
GetColumns(const Options& options)
{
    std::vector<ResultWriter::Column> columns = {{"case", "case", 4},
                                                 {"kind", "kind", 7},
                                                 {"topology", "topology", 16},
                                                 {"surprise", "surprise", 24},
                                                 {"known_ideal_s", "known ideal ms", 14, 3, 1000}};
    for (const std::string& run : options.runs)
    {
        columns.push_back({run, run, 7, 3});
    }
    return columns;
}

void
PrintSummary(const Options& options, const std::map<std::string, Summary>& summaries)
{
    std::vector<ResultWriter::Column> columns = {{"kind", "mean (worst)", 12}};
    for (const std::string& run : options.runs)
    {
        columns.push_back({run, run, 16});
    }
    std::cout << "\n";
    ResultWriter writer(std::cout, ResultWriter::Format::TABLE, columns);
    for (const std::string& kind : options.kinds)
    {
        const auto summary = summaries.find(kind);
        if (summary == summaries.end())
        {
            continue;
        }
        Json row = {{"kind", kind}};
        for (const std::string& run : options.runs)
        {
            row[run] = summary->second.Describe(run);
        }
        writer.Add(row);
    }
}

/// Runs and reports all; @return whether all went well
bool
Evaluate(Sweep& sweep, const Options& options)
{
    bool isGood = true;
    std::map<std::string, Summary> summaries;
    {
        ResultWriter writer(std::cout, ParseFormat(options.format), GetColumns(options));
        ProgressLine line(PROGRAM);
        std::size_t nDone = 0;
        sweep.Run([&](std::size_t index, const WorkerProcesses::Outcome& outcome) {
            line.Clear();
            const Json row = outcome.failure.empty()
                                 ? Json::parse(outcome.text)
                                 : Json{{"case", index}, {"failure", outcome.failure}};
            writer.Add(row);
            if (row.contains("failure"))
            {
                isGood = false;
                std::cerr << PROGRAM << ": case " << index
                          << " failed: " << row["failure"].get<std::string>() << std::endl;
            }
            summaries[row.value("kind", "")].Add(row, options);
            ++nDone;
            line.Show(std::to_string(nDone) + " cases", double(nDone) / sweep.GetCases().size());
        });
    }
    if (options.format == "table")
    {
        PrintSummary(options, summaries);
    }
    return isGood;
}

int
Run(int argc, char* argv[])
{
    SetFastEventQueue();
    SetDataCentreTcpDefaults();
    Options options;
    ProgramOptions parser(PROGRAM,
                          "Measures how well AllReduces adapt to networks that are not what was "
                          "announced, over the time that nobody could beat.");
    options.AddTo(parser);
    parser.AddExample("--cases=9 --most-servers=16 --bytes=16MiB", "one small case of each kind");
    parser.AddExample("--kinds=noise --runs=plan,replan --cases=100 --most-servers=20",
                      "does noise make anybody plan anew?");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    options.Check();
    options.sweep.Check(parser);
    Sweep sweep(options.sweep, options.nCases, [&](std::size_t index) {
        return RunCase(options, index);
    });
    if (sweep.Serve())
    {
        return 0;
    }
    return Evaluate(sweep, options) ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram(PROGRAM, [=] { return Run(argc, argv); });
}
