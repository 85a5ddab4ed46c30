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
#include "local-ranks.h"
#include "mpi-ranks.h"
#include "output-file.h"
#include "progress-line.h"

#include "ns3/allreduce-error.h"
#include "ns3/json-input.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-trainer.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

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
    uint32_t workers{1};            //!< processes on this machine
    uint32_t threads{0};            //!< of each process
    uint32_t rankTimeout{0};        //!< seconds that processes wait for each other
};

TrainingConfig
ReadConfig(const Options& options)
{
    TrainingConfig config;
    if (!options.config.empty())
    {
        config = TrainingConfig::FromJson(ReadJsonFile(options.config, "--config"),
                                          "--config " + NamePath(options.config));
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
             << "," << progress.entropy << "," << progress.upperEntropy << "," << progress.approxKl
             << "," << progress.clipfrac << "," << progress.explainedVariance << ",";
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

using GroupPointer = std::shared_ptr<const TrainingGroup>;

/// What rank 0 does, which alone reads and writes files and prints.
void
Train(const Options& options,
      const TrainingConfig& config,
      const GroupPointer& group,
      HtmlReport& page)
{
    const std::string statePath = options.out + ".state";
    CheckWritable(options.out);
    CheckWritable(statePath);
    PolicyTrainer trainer(config, group);
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
    std::string sentConfig = config.ToJson().dump();
    group->Broadcast(sentConfig);
    trainer.FollowRankZero();
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
                            config.ToJson(),
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

/// What the other ranks do: what rank 0 does, without its files.
void
HelpToTrain(const GroupPointer& group)
{
    std::string text;
    group->Broadcast(text);
    const auto config =
        TrainingConfig::FromJson(nlohmann::json::parse(text), "configuration of rank 0");
    PolicyTrainer trainer(config, group);
    trainer.FollowRankZero();
    while (trainer.GetIteration() < config.iterations)
    {
        trainer.Step();
    }
}

/// Train as rank 0 of processes that this one starts.
void
TrainWithWorkers(const Options& options, TrainingProcess process, char* argv[], HtmlReport& page)
{
    const TrainingConfig config = ReadConfig(options);
    CheckTrainingSize(config, options.workers);
    LocalRanks others(options.workers, argv);
    const auto checkOthers = [&](double seconds) {
        const std::string ended = others.DescribeEnded(seconds);
        if (!ended.empty())
        {
            throw std::runtime_error(ended + "; --resume goes on after the last state");
        }
    };
    process.size = options.workers;
    process.sizeHere = options.workers;
    process.file = others.GetFile();
    try
    {
        const auto group = std::make_shared<TrainingGroup>(process, [&] { checkOthers(0); });
        others.RemoveFile();
        Train(options, config, group, page);
    }
    catch (const TrainingGroupError&)
    {
        checkOthers(1); // A connection may break a moment before its process is gone.
        throw;
    }
}

/// Train as one of processes that somebody else starts, or alone.
int
TrainAsOne(const Options& options, const TrainingProcess& process, HtmlReport& page)
{
    const bool isStartedByRankZero = !process.file.empty();
    try
    {
        const auto group = std::make_shared<TrainingGroup>(process);
        if (process.rank == 0)
        {
            Train(options, ReadConfig(options), group, page);
        }
        else
        {
            HelpToTrain(group);
        }
    }
    catch (const TrainingGroupError&)
    {
        if (!isStartedByRankZero) // which says it itself
        {
            throw;
        }
        return 1;
    }
    catch (const InputError&)
    {
        if (!isStartedByRankZero)
        {
            throw;
        }
        return 2;
    }
    return 0;
}

/// Refuse what contradicts itself or has no effect.
void
CheckProcess(const Options& options, const TrainingProcess& process)
{
    if (options.workers == 0)
    {
        FailInput("--workers \"0\": expected 1 or more");
    }
    if (options.workers > 1 && process.size > 1 && process.file.empty())
    {
        FailInput("--workers \"",
                  options.workers,
                  "\" and WORLD_SIZE \"",
                  process.size,
                  "\": expected one of them");
    }
    if (process.size == 1)
    {
        RequireOneProcess("--workers, or RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
    }
    if (options.rankTimeout > 0 && options.workers == 1 && process.size == 1)
    {
        FailInput("--rank-timeout: has no effect on one process, expected --workers or WORLD_SIZE");
    }
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
    parser.Add("workers",
               options.workers,
               "processes on this machine; several machines: RANK etc.");
    parser.Add("threads", options.threads, "of each process; 0: its share of the cores");
    parser.Add("rank-timeout",
               options.rankTimeout,
               "seconds that processes wait for each other; 0: 600");
    parser.AddExample("--out=policy.json --report=training.html",
                      "train as the shipped policies were, and draw the curves");
    parser.AddExample("--out=policy.json --resume", "go on after it was stopped");
    parser.AddExample("--init=policies/hrl.json --iterations=20 --out=tuned.json",
                      "begin with the shipped policies");
    parser.AddExample("--workers=2 --iterations=20 --out=policy.json",
                      "train in two processes, with the same result");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    if (options.saveEvery == 0)
    {
        FailInput("--save-every \"0\": expected 1 or more");
    }
    TrainingProcess process = ReadTrainingProcess();
    CheckProcess(options, process);
    process.threads = options.threads;
    process.timeout = options.rankTimeout > 0 ? options.rankTimeout : process.timeout;
    HtmlReport page(process.rank == 0 ? options.report : "", argc, argv);
    if (options.workers > 1 && process.size == 1)
    {
        TrainWithWorkers(options, process, argv, page);
        return 0;
    }
    return TrainAsOne(options, process, page);
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-train", [=] { return Run(argc, argv); });
}
