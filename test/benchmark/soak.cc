/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce-tests
 * Random packet runs with faults, as many as wanted; says how they ended, and how to repeat those
 * that did not end as they should.
 */

#include "../soak-run.h"
#include "allreduce-program-options.h"
#include "output-file.h"
#include "progress-line.h"
#include "run-options.h"
#include "worker-processes.h"

#include "ns3/allreduce-error.h"
#include "ns3/simulation-defaults.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace ns3::allreduce;

namespace
{

constexpr uint64_t RUNS_PER_PROCESS = 10;

void
WriteTopology(const SoakOutcome& outcome, uint64_t seed)
{
    OutputFile file("topology", "soak-" + std::to_string(seed) + ".json");
    file.Get() << outcome.topologyJson;
    file.Finish();
}

/// @return how the runs from a seed on ended, to be sent from one process to another
std::string
RunSome(uint64_t first, uint64_t count)
{
    nlohmann::json rows = nlohmann::json::array();
    for (uint64_t seed = first; seed < first + count; ++seed)
    {
        const SoakOutcome outcome = RunSoak(seed);
        rows.push_back({{"kind", outcome.kind}, {"seconds", outcome.processorSeconds}});
        if (outcome.kind == SoakOutcome::DEFECT)
        {
            rows.back()["reason"] = outcome.reason;
            rows.back()["command"] = outcome.command;
            WriteTopology(outcome, seed);
        }
    }
    return rows.dump();
}

int
Run(int argc, char* argv[])
{
    SetFastEventQueue();
    SetDataCentreTcpDefaults();
    uint64_t first = 1;
    uint64_t nRuns = 1000;
    uint32_t nJobs = GetNCores();
    bool isShown = false;
    ProgramOptions parser("allreduce-soak", "random packet runs with faults");
    parser.Add("first", first, "the seed of the first run");
    parser.Add("runs", nRuns, "how many runs");
    parser.Add("show", isShown, "print the command of the first run instead, write its topology");
    parser.Add("jobs", nJobs, "runs at a time, each in a process of its own");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    if (isShown)
    {
        const SoakOutcome outcome = DescribeSoak(first);
        WriteTopology(outcome, first);
        std::cout << outcome.command << std::endl;
        return 0;
    }
    std::array<uint64_t, 4> counts{};
    double longest = 0;
    ProgressLine line("allreduce-soak");
    const auto getFirst = [&](std::size_t index) { return first + index * RUNS_PER_PROCESS; };
    WorkerProcesses(nJobs).Run(
        (nRuns + RUNS_PER_PROCESS - 1) / RUNS_PER_PROCESS,
        [&](std::size_t index) {
            const uint64_t left = first + nRuns - getFirst(index);
            return RunSome(getFirst(index), std::min(RUNS_PER_PROCESS, left));
        },
        [&](std::size_t index, const WorkerProcesses::Outcome& outcome) {
            line.Clear();
            if (!outcome.failure.empty())
            {
                ++counts[SoakOutcome::DEFECT];
                std::cout << "seeds from " << getFirst(index) << ": " << outcome.failure << "\n";
                return;
            }
            for (const auto& row : nlohmann::json::parse(outcome.text))
            {
                ++counts[row["kind"].get<std::size_t>()];
                longest = std::max(longest, row["seconds"].get<double>());
                if (row.contains("reason"))
                {
                    std::cout << row["reason"].get<std::string>() << "\n  "
                              << row["command"].get<std::string>() << std::endl;
                }
            }
            const double nDone = counts[0] + counts[1] + counts[2] + counts[3];
            line.Show(std::to_string(static_cast<uint64_t>(nDone)) + " runs", nDone / nRuns);
        });
    std::cout << counts[SoakOutcome::EXACT] << " exact, " << counts[SoakOutcome::CUT_OFF]
              << " cut off, " << counts[SoakOutcome::REFUSED] << " refused, "
              << counts[SoakOutcome::DEFECT] << " defects; the longest took " << longest
              << " s of processor time" << std::endl;
    return counts[SoakOutcome::DEFECT] == 0 ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-soak", [=] { return Run(argc, argv); });
}
