/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Trains the two policies.
 */

#include "allreduce-program-options.h"
#include "html-report.h"
#include "output-file.h"
#include "progress-line.h"

#include "ns3/allreduce-error.h"
#include "ns3/json-input.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-trainer.h"

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
    std::string init;               //!< a checkpoint to begin with
    std::string out{"policy.json"}; //!< where the checkpoint goes
    std::string log;                //!< where the log goes
    std::string report;             //!< where the page goes
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
        const std::string source = "--config " + NamePath(options.config);
        config = TrainingConfig::FromJson(ReadJsonFile(options.config, source), source);
    }
    config.seed = options.seed > 0 ? options.seed : config.seed;
    config.iterations = options.iterations > 0 ? options.iterations : config.iterations;
    return config;
}

/// @return the numbers of a line of CSV by name; null where there is none
nlohmann::ordered_json
ParseLine(const std::string& header, const std::string& line)
{
    nlohmann::ordered_json json;
    std::istringstream names(header);
    std::istringstream fields(line);
    for (std::string name; std::getline(names, name, ',');)
    {
        std::string field;
        std::getline(fields, field, ',');
        json[name] = nlohmann::ordered_json::parse(field, nullptr, false);
        json[name] = json[name].is_number() ? json[name] : nlohmann::ordered_json();
    }
    return json;
}

/// Writes a line of the log for each iteration.
class TrainingLog
{
  public:
    /**
     * @param path where to write; empty: nowhere
     * @param nDone iterations that were done before; their lines are kept, later ones are dropped
     * @param page where the lines go, too
     */
    TrainingLog(const std::string& path, uint32_t nDone, HtmlReport& page)
        : m_page(page)
    {
        if (path.empty())
        {
            return;
        }
        // A device that never ends would be read until there is no memory left.
        const std::string kept = nDone > 0 ? ReadLines(path, nDone) : "";
        m_out.emplace("--log", path);
        m_out->Get() << HEADER << "\n" << kept;
        m_out->Flush();
    }

    /// @return after how many seconds the last line that was kept was written
    double GetSecondsBefore() const
    {
        return m_secondsBefore;
    }

    void Add(const TrainingProgress& progress, double seconds)
    {
        std::ostringstream line;
        line << progress.iteration << "," << seconds << "," << progress.nDecisions << ","
             << progress.meanReturn << "," << progress.excessRounds << "," << progress.selectedShare
             << "," << progress.entropy << "," << progress.upperEntropy << "," << progress.kl << ","
             << progress.clipFraction << "," << progress.explainedVariance << ",";
        if (progress.isValidated)
        {
            line << progress.validation << "," << progress.validationAveraged;
        }
        else
        {
            line << ",";
        }
        m_page.AddTrainingLine(ParseLine(HEADER, line.str()));
        if (m_out)
        {
            m_out->Get() << line.str() << "\n";
            m_out->Flush();
        }
    }

  private:
    static constexpr const char* HEADER =
        "iteration,seconds,decisions,return,excess_rounds,selected_share,entropy,upper_entropy,kl,"
        "clip_fraction,explained_variance,validation,validation_averaged";

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
                m_page.AddTrainingLine(ParseLine(HEADER, line));
                m_secondsBefore = seconds;
            }
        }
        return kept;
    }

    HtmlReport& m_page;              //!< where the lines go, too
    std::optional<OutputFile> m_out; //!< the log
    double m_secondsBefore{0};       //!< see GetSecondsBefore
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
Train(const Options& options, const TrainingConfig& config, HtmlReport& page)
{
    const std::string statePath = options.out + ".state";
    CheckWritable(options.out);
    CheckWritable(statePath);
    PolicyTrainer trainer(config);
    if (!options.init.empty())
    {
        trainer.Import(ReadCheckpoint(options.init));
    }
    if (options.resume)
    {
        trainer.Load(statePath);
        std::cout << "going on after iteration " << trainer.GetIteration() << std::endl;
    }
    TrainingLog log(options.log, trainer.GetIteration(), page);
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
            line.Clear();
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
            page.Write();
        }
    }
    page.Write();
    std::cout << "wrote " << options.out << std::endl;
}

int
Run(int argc, char* argv[])
{
    Options options;
    ProgramOptions parser("allreduce-train", "Trains the two policies of the scheduler hrl.");
    parser.Add("config", options.config, "JSON with what to train on and how; default: built in");
    parser.Add("init", options.init, "a checkpoint to begin with instead of the rule of thumb");
    parser.Add("out", options.out, "the checkpoint; FILE.state beside it is for --resume");
    parser.Add("log", options.log, "a CSV file with a line for each iteration");
    parser.Add("report", options.report, "a page with the curves, written with each state");
    parser.Add("seed", options.seed, "random seed; 0: as configured");
    parser.Add("iterations", options.iterations, "how many to train for; 0: as configured");
    parser.Add("save-every", options.saveEvery, "iterations between states for --resume");
    parser.Add("resume", options.resume, "go on where the last run was stopped");
    parser.AddExample("--out=policy.json --report=training.html",
                      "train as the shipped policies were, and draw the curves");
    parser.AddExample("--out=policy.json --resume", "go on after it was stopped");
    parser.AddExample("--init=policies/hrl.json --iterations=20 --out=tuned.json",
                      "begin with the shipped policies");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    if (options.saveEvery == 0)
    {
        FailInput("--save-every \"0\": expected 1 or more");
    }
    HtmlReport page(options.report, argc, argv);
    Train(options, ReadConfig(options), page);
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-train", [=] { return Run(argc, argv); });
}
