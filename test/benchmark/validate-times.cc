/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce-tests
 * Ideal, prediction and measurement on random networks of mixed speed: all schedulers, all
 * transports. Ends with status 1 if a run is faster than the ideal, a prediction is too far off, or
 * tcp is much slower than raw.
 */

#include "../random-network.h"
#include "allreduce-program-options.h"
#include "output-file.h"
#include "progress-line.h"
#include "run-experiment.h"
#include "run-options.h"
#include "run-rows.h"
#include "worker-processes.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-state.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulation-defaults.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

/// Chunks from this size on are asked to be predicted well.
constexpr uint64_t LARGE_CHUNK = 256 << 10;
const std::vector<std::string> TRANSPORTS{"raw", "udp", "tcp"};

/// What can be asked for.
struct Options
{
    uint32_t nNetworks{300};                    //!< how many networks
    uint64_t firstSeed{1};                      //!< of the first
    uint32_t mostServers{24};                   //!< at most
    std::vector<std::string> schedulers{"all"}; //!< who plans
    std::vector<std::string> syncs{"barrier"};  //!< how rounds are kept
    std::string mostBytes{"64MiB"};             //!< of the largest gradient
    std::string leastBytes{"64KiB"};            //!< of the smallest
    std::string output;                         //!< where all rows go
    std::string networks;                       //!< how the names of files with networks begin
    uint32_t nJobs{GetNCores()};                //!< processes at a time
};

/// @return a size drawn for a network, so that every order of magnitude is as likely
uint64_t
DrawBytes(uint64_t seed, const Options& options)
{
    const double least = std::log2(ParseSize(options.leastBytes, "--least-bytes"));
    const double most = std::log2(ParseSize(options.mostBytes, "--most-bytes"));
    std::mt19937_64 random(seed + 1'000'000);
    const double share = (random() >> 11) * 0x1.0p-53;
    return std::lround(std::exp2(least + share * (most - least)));
}

/// Runs one plan over one transport; @return a row
Json
RunOnce(const Experiment& experiment, const std::string& transport, const std::string& sync)
{
    RunOptions run;
    run.transport = transport;
    run.sync = sync;
    run.showProgress = false;
    Json row = MakeRow(experiment, run, RunExperiment(experiment, run));
    row.erase("round_s");
    return row;
}

/// Writes a network to a file, to look at and to run by itself.
void
WriteNetwork(const Topology& topology, const std::string& path)
{
    OutputFile file("--write-networks", path);
    WriteTopologyJson(topology, file.Get());
    file.Finish();
}

/// Runs all transports with all schedulers on one network; @return rows as text
std::string
RunNetwork(uint64_t seed, const Options& options)
{
    const Topology topology = DrawNetwork(seed, options.mostServers);
    if (!options.networks.empty())
    {
        WriteNetwork(topology, options.networks + std::to_string(seed) + ".json");
    }
    const uint64_t bytes = DrawBytes(seed, options);
    const uint32_t chunksPerServer = 1 + seed % 3;
    const auto names = options.schedulers == std::vector<std::string>{"all"} ? GetSchedulerNames()
                                                                             : options.schedulers;
    Json rows = Json::array();
    for (const std::string& name : names)
    {
        const auto scheduler = CreateScheduler(name);
        const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
        const Experiment experiment{topology,
                                    name,
                                    scheduler,
                                    PlanVerified(topology, roots, *scheduler),
                                    bytes};
        for (const std::string& sync : options.syncs)
        {
            for (const std::string& transport : TRANSPORTS)
            {
                rows.push_back(RunOnce(experiment, transport, sync));
            }
        }
    }
    return rows.dump();
}

/// Counts what was asked and how often it held.
class Tally
{
  public:
    void Add(const Json& rows)
    {
        double raw = 0;
        for (const Json& row : rows)
        {
            ++m_nRuns;
            if (row.contains("failure"))
            {
                Complain("failed", row);
                continue;
            }
            const double measured = row["measured_s"];
            const std::string transport = row["transport"];
            raw = transport == "raw" ? measured : raw;
            m_leastRatio = std::min(m_leastRatio, row["ratio"].get<double>());
            if (measured < row["ideal_s"].get<double>())
            {
                Complain("faster than the ideal", row);
            }
            if (!IsLarge(row))
            {
                continue;
            }
            AddTcp(row, raw);
            if (row["sync"] == "barrier")
            {
                AddPrediction(row);
            }
        }
    }

    /// Prints the summary; @return whether all was as it should be
    bool Report() const
    {
        std::cout << m_nRuns << " runs, the least measured / ideal is " << m_leastRatio << "\n";
        bool isGood = m_nComplaints == 0;
        for (const auto& [transport, errors] : m_errors)
        {
            const double limit = GetLimit(transport);
            const auto nGood = std::count_if(errors.begin(), errors.end(), [=](double error) {
                return std::abs(error) <= limit;
            });
            const auto [least, most] = std::minmax_element(errors.begin(), errors.end());
            const double share = static_cast<double>(nGood) / errors.size();
            std::cout << transport << ": " << errors.size()
                      << " runs of large chunks in barrier mode, " << 100 * share
                      << " % predicted within " << 100 * limit << " %, off by " << 100 * *least
                      << " to " << 100 * *most << " %\n";
            isGood = isGood && share >= 0.99;
        }
        std::cout << "tcp / raw, large chunks: at most " << m_mostTcp << "\n"
                  << m_nComplaints << " complaints" << std::endl;
        return isGood;
    }

  private:
    static double GetLimit(const std::string& transport)
    {
        return transport == "tcp" ? 0.10 : 0.05;
    }

    static bool IsLarge(const Json& row)
    {
        const double nChunks =
            row["chunks_per_server"].get<double>() * row["servers"].get<double>();
        return row["bytes"].get<double>() / nChunks >= LARGE_CHUNK;
    }

    void AddTcp(const Json& row, double raw)
    {
        if (row["transport"] == "tcp" && raw > 0)
        {
            const double ratio = row["measured_s"].get<double>() / raw;
            m_mostTcp = std::max(m_mostTcp, ratio);
            if (ratio > 1.10)
            {
                Complain("tcp takes " + std::to_string(ratio) + " times as long as raw", row);
            }
        }
    }

    void AddPrediction(const Json& row)
    {
        const double error = row["predicted_s"].get<double>() / row["measured_s"].get<double>() - 1;
        const std::string transport = row["transport"];
        m_errors[transport].push_back(error);
        if (std::abs(error) > GetLimit(transport))
        {
            Complain("predicted " + std::to_string(error), row, std::abs(error) > 0.20);
        }
    }

    void Complain(const std::string& what, const Json& row, bool counts = true)
    {
        m_nComplaints += counts;
        std::cout << (counts ? "WRONG " : "note  ") << row["topology"].get<std::string>() << " "
                  << row["scheduler"].get<std::string>() << " "
                  << row["transport"].get<std::string>() << " " << row["sync"].get<std::string>()
                  << " " << row["bytes"] << " bytes, m = " << row["chunks_per_server"] << ": "
                  << what << (row.contains("failure") ? ": " + row["failure"].dump() : "")
                  << std::endl;
    }

    uint64_t m_nRuns{0};                                 //!< all runs
    uint64_t m_nComplaints{0};                           //!< what must not be
    double m_leastRatio{INFINITY};                       //!< measured / ideal
    double m_mostTcp{0};                                 //!< tcp / raw
    std::map<std::string, std::vector<double>> m_errors; //!< by transport: predicted / measured - 1
};

int
Run(int argc, char* argv[])
{
    SetFastEventQueue();
    SetDataCentreTcpDefaults();
    Options options;
    ProgramOptions parser("allreduce-validate-times",
                          "ideal, prediction and measurement on random networks of mixed speed");
    parser.Add("networks", options.nNetworks, "how many networks");
    parser.Add("first-seed", options.firstSeed, "of the first network");
    parser.Add("servers", options.mostServers, "most servers of a network");
    parser.Add("scheduler", options.schedulers, ',', "who plans, or all");
    parser.Add("sync", options.syncs, ',', "barrier, dependency or both");
    parser.Add("least-bytes", options.leastBytes, "size of the smallest gradient");
    parser.Add("most-bytes", options.mostBytes, "size of the largest gradient");
    parser.Add("write-networks", options.networks, "write each network to PREFIXSEED.json");
    parser.Add("output", options.output, "write all rows to this JSON file");
    parser.Add("jobs", options.nJobs, "processes at a time");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    Tally tally;
    Json all = Json::array();
    ProgressLine line("allreduce-validate-times");
    WorkerProcesses(options.nJobs)
        .Run(
            options.nNetworks,
            [&](std::size_t i) { return RunNetwork(options.firstSeed + i, options); },
            [&](std::size_t i, const WorkerProcesses::Outcome& outcome) {
                line.Clear();
                if (!outcome.failure.empty())
                {
                    FailInput("network ", options.firstSeed + i, ": ", outcome.failure);
                }
                const Json rows = Json::parse(outcome.text);
                tally.Add(rows);
                all.insert(all.end(), rows.begin(), rows.end());
                line.Show("network", (i + 1.0) / options.nNetworks);
            });
    line.Clear();
    if (!options.output.empty())
    {
        OutputFile file("--output", options.output);
        file.Get() << all.dump(1) << "\n";
        file.Finish();
    }
    return tally.Report() ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-validate-times", [=] { return Run(argc, argv); });
}
