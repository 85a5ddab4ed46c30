/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Trains the two policies.
 */

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-program-options.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-trainer.h"
#include "ns3/progress-line.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What can be asked for.
struct Options
{
    std::string config;             //!< a file with a configuration
    std::string out{"policy.json"}; //!< where the checkpoint goes
    std::string log;                //!< where the log goes
    uint64_t seed{0};               //!< instead of the configuration's
    uint32_t iterations{0};         //!< instead of the configuration's
    uint32_t saveEvery{10};         //!< iterations
    bool resume{false};             //!< go on from the last state
};

TrainingConfig
ReadConfig(const Options& options)
{
    TrainingConfig config;
    if (!options.config.empty())
    {
        std::ifstream in(options.config);
        if (!in)
        {
            FailInput("--config ", options.config, ": cannot be opened");
        }
        const auto json = nlohmann::json::parse(in, nullptr, false);
        if (json.is_discarded())
        {
            FailInput("--config ", options.config, ": not JSON");
        }
        config = TrainingConfig::FromJson(json, options.config);
    }
    config.seed = options.seed > 0 ? options.seed : config.seed;
    config.iterations = options.iterations > 0 ? options.iterations : config.iterations;
    return config;
}

/// Writes a line of the log for each iteration.
class TrainingLog
{
  public:
    /**
     * @param path where to write; empty: nowhere
     * @param nDone iterations that were done before; their lines are kept, later ones are dropped
     */
    TrainingLog(const std::string& path, uint32_t nDone)
    {
        if (path.empty())
        {
            return;
        }
        const std::string kept = ReadLines(path, nDone);
        m_out.emplace(path, std::ios::trunc);
        if (!*m_out)
        {
            FailInput("--log ", path, ": cannot be written");
        }
        *m_out << HEADER << "\n" << kept << std::flush;
    }

    /// @return after how many seconds the last line that was kept was written
    double GetSecondsBefore() const
    {
        return m_secondsBefore;
    }

    void Add(const TrainingProgress& progress, double seconds)
    {
        if (!m_out)
        {
            return;
        }
        *m_out << progress.iteration << "," << seconds << "," << progress.nDecisions << ","
               << progress.excessRounds << "," << progress.selectedShare << "," << progress.entropy
               << "," << progress.valueError << ",";
        if (progress.isValidated)
        {
            *m_out << progress.validation << "," << progress.validationAveraged << std::endl;
        }
        else
        {
            *m_out << "," << std::endl;
        }
    }

  private:
    static constexpr const char* HEADER =
        "iteration,seconds,decisions,excess_rounds,selected_share,entropy,value_error,validation,"
        "validation_averaged";

    /// @return the lines of the first iterations
    std::string ReadLines(const std::string& path, uint32_t nDone)
    {
        std::ifstream in(path);
        std::string line;
        std::string kept;
        uint32_t iteration = 0;
        char comma = 0;
        std::getline(in, line);
        while (nDone > 0 && std::getline(in, line))
        {
            std::istringstream fields(line);
            double seconds = 0;
            if (fields >> iteration >> comma >> seconds && iteration <= nDone)
            {
                kept += line + "\n";
                m_secondsBefore = seconds;
            }
        }
        return kept;
    }

    std::optional<std::ofstream> m_out; //!< the log
    double m_secondsBefore{0};          //!< see GetSecondsBefore
};

nlohmann::ordered_json
MakeRecord(const TrainingProgress& progress, double seconds)
{
    return {{"iterations", progress.iteration},
            {"decisions", progress.nDecisions},
            {"seconds", seconds},
            {"excess_rounds", progress.excessRounds}};
}

void
Train(const Options& options, const TrainingConfig& config)
{
    const std::string statePath = options.out + ".state";
    PolicyTrainer trainer(config);
    if (options.resume)
    {
        trainer.Load(statePath);
        std::cout << "going on after iteration " << trainer.GetIteration() << std::endl;
    }
    TrainingLog log(options.log, trainer.GetIteration());
    ProgressLine line("training");
    const auto begin = std::chrono::steady_clock::now();
    TrainingProgress progress;
    while (trainer.GetIteration() < config.iterations)
    {
        progress = trainer.Step();
        const double seconds =
            log.GetSecondsBefore() +
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        log.Add(progress, seconds);
        line.Show("iteration " + std::to_string(progress.iteration) + ", " +
                      std::to_string(progress.excessRounds) + " rounds over the least",
                  static_cast<double>(progress.iteration) / config.iterations);
        if (progress.isValidated)
        {
            std::cout << "iteration " << progress.iteration << ": " << progress.excessRounds
                      << " rounds over the least while sampling; validation " << progress.validation
                      << ", averaged " << progress.validationAveraged
                      << (progress.isBest ? " (best)" : "") << std::endl;
        }
        const bool isLast = progress.iteration == config.iterations;
        if (progress.isBest || isLast)
        {
            WriteCheckpoint(options.out,
                            trainer.GetBestWeights(),
                            config,
                            MakeRecord(progress, seconds));
        }
        if (progress.iteration % options.saveEvery == 0 || isLast)
        {
            trainer.Save(statePath);
        }
    }
    std::cout << "wrote " << options.out << std::endl;
}

int
Run(int argc, char* argv[])
{
    Options options;
    ProgramOptions parser("allreduce-train", "trains the two policies of the scheduler hrl");
    parser.Add("config", options.config, "JSON with what to train on and how; default: built in");
    parser.Add("out", options.out, "the checkpoint; FILE.state beside it is for --resume");
    parser.Add("log", options.log, "a CSV file with a line for each iteration");
    parser.Add("seed", options.seed, "instead of the configuration's; 0: that one");
    parser.Add("iterations", options.iterations, "instead of the configuration's; 0: those");
    parser.Add("save-every", options.saveEvery, "iterations between states for --resume");
    parser.Add("resume", options.resume, "go on where the last run was stopped");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    if (options.saveEvery == 0)
    {
        FailInput("--save-every \"0\": expected 1 or more");
    }
    Train(options, ReadConfig(options));
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-train", [=] { return Run(argc, argv); });
}
