/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-trainer.h"

#include "advantage-estimate.h"
#include "decision-batch.h"
#include "policy-checkpoint.h"
#include "policy-loss.h"
#include "policy-network.h"
#include "policy-prior.h"
#include "policy-rollout.h"
#include "training-problems.h"

#include "ns3/allreduce-error.h"
#include "ns3/parallel-for.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

/// Of OpenBLAS, if that is the BLAS of LibTorch, which does not pass its own number on.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int);

namespace ns3::allreduce
{

namespace
{

/// A seed for something in an iteration, such that no two things share one.
uint64_t
MakeSeed(uint64_t seed, uint64_t iteration, uint64_t what)
{
    std::seed_seq sequence{seed, iteration, what};
    std::array<uint32_t, 2> words{};
    sequence.generate(words.begin(), words.end());
    return uint64_t{words[0]} << 32 | words[1];
}

/// LibTorch computes on the calling thread: sums come out the same, and slices run side by side.
void
UseOneThread()
{
    torch::set_num_threads(1);
    if (openblas_set_num_threads)
    {
        openblas_set_num_threads(1);
    }
}

/// @return after how many rounds a plan is so bad that it is given up
uint32_t
GetMostRounds(const PlanningProblem& problem)
{
    return 3 * problem.GetNChunks() + 20;
}

/// @return the names of the features of all networks
std::vector<std::vector<std::string>>
ListAllFeatures()
{
    std::vector<std::vector<std::string>> all;
    for (const PolicyHead head : POLICY_HEADS)
    {
        all.push_back(GetPolicyFeatures(head));
    }
    return all;
}

/// Means over the updates of an iteration.
struct UpdateStatistics
{
    double entropy{0};      //!< sum, of the lower policy
    double upperEntropy{0}; //!< sum, of the upper policy
    double kl{0};           //!< sum
    double clipFraction{0}; //!< sum
    uint32_t nLower{0};     //!< updates of the lower policy
    uint32_t nUpper{0};     //!< updates of the upper policy

    void WriteTo(TrainingProgress& progress) const
    {
        const double n = std::max(1U, nLower + nUpper);
        progress.entropy = entropy / std::max(1U, nLower);
        progress.upperEntropy = upperEntropy / std::max(1U, nUpper);
        progress.kl = kl / n;
        progress.clipFraction = clipFraction / n;
    }
};

/// Rollouts whose share of every gradient is computed in one piece.
struct TrainingSlice
{
    std::vector<Episode> episodes; //!< none if another process has them
    AdvantageEstimate advantages;  //!< what they were worth
};

/// Sums over returns, for how much of their variance the critic explains.
struct ReturnMoments
{
    double count{0};        //!< of the rounds
    double sum{0};          //!< of the returns
    double squares{0};      //!< of the returns
    double errorSum{0};     //!< of what the critic was wrong by
    double errorSquares{0}; //!< of that

    void Add(const AdvantageEstimate& estimate)
    {
        for (std::size_t i = 0; i < estimate.returns.size(); ++i)
        {
            const double error = estimate.returns[i] - estimate.values[i];
            ++count;
            sum += estimate.returns[i];
            squares += estimate.returns[i] * estimate.returns[i];
            errorSum += error;
            errorSquares += error * error;
        }
    }

    /// @return 1 - Var(returns - values) / Var(returns)
    double GetExplainedVariance() const
    {
        const double variance = squares - sum * sum / count;
        return variance > 0 ? 1 - (errorSquares - errorSum * errorSum / count) / variance : 0;
    }
};

/// What is summed over the episodes of a slice for the log.
struct EpisodeSums
{
    double returns{0};       //!< sums of rewards
    double excessRounds{0};  //!< rounds over the least
    double selectedShare{0}; //!< of trees
    double nDecisions{0};    //!< made

    void Add(const Episode& episode)
    {
        returns += std::accumulate(episode.rewards.begin(), episode.rewards.end(), 0.0);
        excessRounds += double(episode.nRounds) - episode.nRoundsNeeded;
        selectedShare += episode.selectedShare;
        nDecisions += episode.decisions.size();
    }
};

/// Sums over the decisions of a minibatch; a row of what slices add up ends with it.
struct MinibatchSums
{
    double nDecisions{0}; //!< how many
    double entropy{0};    //!< of the choices
    double kl{0};         //!< how far the policy has moved
    double nClipped{0};   //!< those that PPO clipped
};

/// A struct of numbers as a row of numbers, and back.
template <typename Struct>
constexpr std::size_t N_NUMBERS = sizeof(Struct) / sizeof(double);

template <typename Struct>
void
WriteNumbers(const Struct& numbers, double* row)
{
    std::memcpy(row, &numbers, sizeof(Struct));
}

template <typename Struct>
Struct
ReadNumbers(const double* row)
{
    static_assert(std::is_trivially_copyable_v<Struct>);
    Struct numbers;
    std::memcpy(static_cast<void*>(&numbers), row, sizeof(Struct));
    return numbers;
}

/// Write the gradient of a loss to a row. @return what comes after it
double*
WriteGradient(const torch::Tensor& loss, const std::vector<torch::Tensor>& parameters, double* row)
{
    for (const torch::Tensor& gradient : torch::autograd::grad({loss}, parameters))
    {
        const torch::Tensor flat = gradient.contiguous();
        row = std::copy_n(flat.data_ptr<float>(), flat.numel(), row);
    }
    return row;
}

/// Set the gradient from the sum of rows.
void
SetGradient(const double* sums, double factor, std::vector<torch::Tensor> parameters)
{
    for (torch::Tensor& parameter : parameters)
    {
        torch::Tensor gradient = torch::empty_like(parameter);
        float* values = gradient.data_ptr<float>();
        for (int64_t i = 0; i < gradient.numel(); ++i)
        {
            values[i] = *sums++ * factor;
        }
        parameter.mutable_grad() = gradient;
    }
}

int64_t
CountWeights(const std::vector<torch::Tensor>& parameters)
{
    int64_t n = 0;
    for (const torch::Tensor& parameter : parameters)
    {
        n += parameter.numel();
    }
    return n;
}

/// Read as many values as there are. @throws std::length_error if there are others
void
ReadValues(const nlohmann::json& json, std::vector<float>& values)
{
    if (json.size() != values.size())
    {
        throw std::length_error("another number of weights");
    }
    json.get_to(values);
}

} // namespace

void
CheckTrainingSize(const TrainingConfig& config, uint32_t nProcesses)
{
    const uint64_t nRollouts = uint64_t{config.problems} * config.rollouts;
    if (nProcesses > std::min<uint64_t>(config.slices, nRollouts))
    {
        FailInput("training in ",
                  nProcesses,
                  " processes: the configuration has ",
                  config.slices,
                  " slices and ",
                  nRollouts,
                  " rollouts in an iteration, expected as many processes at most");
    }
}

/// Networks and optimizers.
struct PolicyTrainer::Impl
{
    Impl(const TrainingConfig& trainingConfig, std::shared_ptr<const TrainingGroup> trainingGroup);

    PolicyWeights Export() const;
    void FollowWeights();
    template <typename Task>
    void ForOwnSlices(const Task& task) const;
    template <typename Task>
    std::vector<double> GatherSlices(std::size_t width, const Task& task) const;
    template <typename Task>
    std::vector<double> SumSlices(std::size_t width, const Task& task) const;
    std::vector<TrainingProblem> DrawProblems() const;
    std::vector<TrainingSlice> CollectSlices(const PolicyWeights& weights) const;
    void SumEpisodes(const std::vector<TrainingSlice>& slices, TrainingProgress& progress);
    std::vector<double> FindLeads(const std::vector<TrainingSlice>& slices) const;
    void EstimateSlices(const PolicyWeights& weights,
                        std::vector<TrainingSlice>& slices,
                        TrainingProgress& progress) const;
    void UpdatePolicies(const std::vector<TrainingSlice>& slices,
                        uint32_t epoch,
                        UpdateStatistics& statistics);
    void UpdatePolicy(PolicyHead head,
                      const std::vector<DecisionShuffle>& shuffles,
                      uint32_t minibatch,
                      UpdateStatistics& statistics);
    void UpdateCritic(const std::vector<TrainingSlice>& slices);
    void TakeStep(PolicyHead head, double rateFactor);
    void UpdateAverage();
    void ValidateWeights(TrainingProgress& progress);
    double GetShareDone() const;
    std::string Write() const;
    void Read(torch::serialize::InputArchive& archive, const std::string& name);

    TrainingConfig config;                                          //!< how to train
    std::shared_ptr<const TrainingGroup> group;                     //!< who trains
    uint32_t nEpisodes;                                             //!< of an iteration
    uint32_t nSlices;                                               //!< of an iteration
    uint32_t iteration{0};                                          //!< iterations done
    uint64_t nDecisions{0};                                         //!< made so far
    std::vector<Perceptron> networks;                               //!< by head
    std::vector<std::unique_ptr<torch::optim::Adam>> optimizers;    //!< by head
    PolicyWeights averaged;                                         //!< over iterations
    PolicyWeights best;                                             //!< by validation
    double bestValidation{std::numeric_limits<double>::infinity()}; //!< of best
};

PolicyTrainer::Impl::Impl(const TrainingConfig& trainingConfig,
                          std::shared_ptr<const TrainingGroup> trainingGroup)
    : config(trainingConfig),
      group(trainingGroup ? std::move(trainingGroup) : std::make_shared<TrainingGroup>()),
      nEpisodes(config.problems * config.rollouts),
      nSlices(std::min(config.slices, nEpisodes))
{
    CheckTrainingSize(config, group->GetSize());
    UseOneThread();
    averaged = MakePrior(config.seed);
    best = averaged;
    for (const PolicyHead head : POLICY_HEADS)
    {
        networks.emplace_back(GetPolicyFeatures(head).size());
        networks.back()->Import(averaged.Get(head));
        optimizers.push_back(
            std::make_unique<torch::optim::Adam>(networks.back()->parameters(),
                                                 torch::optim::AdamOptions(config.learning_rate)));
    }
}

PolicyWeights
PolicyTrainer::Impl::Export() const
{
    PolicyWeights weights;
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        weights.heads[head] = networks[head]->Export();
    }
    return weights;
}

double
PolicyTrainer::Impl::GetShareDone() const
{
    return std::min(1.0, static_cast<double>(iteration) / config.iterations);
}

TrainingProgress
PolicyTrainer::Step()
{
    TrainingProgress progress;
    Impl& impl = *m_impl;
    const TrainingConfig& config = impl.config;

    // Roll out the present policies.
    impl.FollowWeights();
    const PolicyWeights weights = impl.Export();
    std::vector<TrainingSlice> slices = impl.CollectSlices(weights);
    impl.SumEpisodes(slices, progress);

    // Say what each decision was worth.
    impl.EstimateSlices(weights, slices, progress);

    // Make good decisions likelier, within PPO's limits, and teach the critic.
    UpdateStatistics statistics;
    for (uint32_t epoch = 0; epoch < config.epochs; ++epoch)
    {
        impl.UpdatePolicies(slices, epoch, statistics);
        impl.UpdateCritic(slices);
    }
    statistics.WriteTo(progress);
    impl.UpdateAverage();
    progress.iteration = ++impl.iteration;
    if (!impl.Export().AreFinite())
    {
        FailInput("training: after iteration ",
                  impl.iteration,
                  " a weight is not a finite number; try a smaller learning_rate");
    }
    if (impl.iteration >= config.validation_from && impl.iteration % config.validation_every == 0)
    {
        impl.ValidateWeights(progress);
    }
    return progress;
}

/// Take over the weights of rank 0: on another kind of processor they may differ in the last digit.
void
PolicyTrainer::Impl::FollowWeights()
{
    PolicyWeights weights = Export();
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        std::vector<float>& values = weights.heads[head].values;
        std::string bytes(reinterpret_cast<const char*>(values.data()),
                          values.size() * sizeof(float));
        group->Broadcast(bytes);
        std::memcpy(values.data(), bytes.data(), bytes.size());
        networks[head]->Import(weights.heads[head]);
    }
}

template <typename Task>
void
PolicyTrainer::Impl::ForOwnSlices(const Task& task) const
{
    RunParallel(
        nSlices,
        [&](uint32_t slice) {
            if (group->IsOwn(slice))
            {
                task(slice);
            }
        },
        group->GetNThreads());
}

/// @return the rows that a task writes for each slice, one after another
template <typename Task>
std::vector<double>
PolicyTrainer::Impl::GatherSlices(std::size_t width, const Task& task) const
{
    std::vector<double> rows(nSlices * width, 0);
    ForOwnSlices([&](uint32_t slice) { task(slice, rows.data() + slice * width); });
    group->Gather(rows, nSlices);
    return rows;
}

/// @return the sum of the rows that a task writes for each slice, added in the order of the slices
template <typename Task>
std::vector<double>
PolicyTrainer::Impl::SumSlices(std::size_t width, const Task& task) const
{
    const std::vector<double> rows = GatherSlices(width, task);
    std::vector<double> sums(width, 0);
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
        sums[i % width] += rows[i];
    }
    return sums;
}

/// Draw the problems of the iteration; each process those of its own, and then tells the others.
std::vector<TrainingProblem>
PolicyTrainer::Impl::DrawProblems() const
{
    std::vector<TrainingProblem> problems(config.problems);
    std::vector<std::string> texts(config.problems);
    const auto draw = [&](uint32_t i) {
        if (group->IsOwn(i))
        {
            problems[i] = DrawTrainingProblem(config, MakeSeed(config.seed, iteration, i));
            texts[i] = group->GetSize() > 1 ? WriteTrainingProblem(problems[i]) : "";
        }
    };
    RunParallel(config.problems, draw, group->GetNThreads());
    group->Gather(texts);
    const auto read = [&](uint32_t i) {
        if (!group->IsOwn(i))
        {
            problems[i] =
                ReadTrainingProblem(config, MakeSeed(config.seed, iteration, i), texts[i]);
        }
    };
    RunParallel(config.problems, read, group->GetNThreads());
    return problems;
}

std::vector<TrainingSlice>
PolicyTrainer::Impl::CollectSlices(const PolicyWeights& weights) const
{
    const std::vector<TrainingProblem> problems = DrawProblems();
    std::vector<TrainingSlice> slices(nSlices);
    for (uint32_t i = 0; i < nEpisodes; ++i)
    {
        if (group->IsOwn(i % nSlices))
        {
            slices[i % nSlices].episodes.emplace_back();
        }
    }
    const auto rollOut = [&](uint32_t i) {
        if (!group->IsOwn(i % nSlices))
        {
            return;
        }
        const PlanningProblem& problem = problems[i / config.rollouts].problem;
        PlanningEnvironment environment(problem);
        RolloutOptions options;
        options.mode = RolloutMode::SAMPLE;
        options.seed = MakeSeed(config.seed, iteration, 100'000 + i);
        options.mostRounds = GetMostRounds(problem);
        Episode& episode = slices[i % nSlices].episodes[i / nSlices];
        RunRollout(environment, weights, options, config.reward, &episode);
    };
    RunParallel(nEpisodes, rollOut, group->GetNThreads());
    return slices;
}

void
PolicyTrainer::Impl::SumEpisodes(const std::vector<TrainingSlice>& slices,
                                 TrainingProgress& progress)
{
    const std::vector<double> row =
        SumSlices(N_NUMBERS<EpisodeSums>, [&](uint32_t slice, double* ofSlice) {
            EpisodeSums sums;
            for (const Episode& episode : slices[slice].episodes)
            {
                sums.Add(episode);
            }
            WriteNumbers(sums, ofSlice);
        });
    const auto sums = ReadNumbers<EpisodeSums>(row.data());
    progress.meanReturn = sums.returns / nEpisodes;
    progress.excessRounds = sums.excessRounds / nEpisodes;
    progress.selectedShare = sums.selectedShare / nEpisodes;
    nDecisions += sums.nDecisions;
    progress.nDecisions = nDecisions;
}

/// @return by episode: see ComputeLeads
std::vector<double>
PolicyTrainer::Impl::FindLeads(const std::vector<TrainingSlice>& slices) const
{
    const std::size_t width = (nEpisodes + nSlices - 1) / nSlices;
    const std::vector<double> rows = GatherSlices(width, [&](uint32_t slice, double* lengths) {
        for (const Episode& episode : slices[slice].episodes)
        {
            *lengths++ = episode.nRounds;
        }
    });
    std::vector<double> lengths(nEpisodes);
    for (uint32_t i = 0; i < nEpisodes; ++i)
    {
        lengths[i] = rows[i % nSlices * width + i / nSlices];
    }
    return ComputeLeads(lengths, config.rollouts);
}

void
PolicyTrainer::Impl::EstimateSlices(const PolicyWeights& weights,
                                    std::vector<TrainingSlice>& slices,
                                    TrainingProgress& progress) const
{
    const std::vector<double> leads = FindLeads(slices);
    const std::size_t width = N_NUMBERS<PolicyMoments> + N_NUMBERS<ReturnMoments>;
    const std::vector<double> sums = SumSlices(width, [&](uint32_t index, double* row) {
        TrainingSlice& slice = slices[index];
        std::vector<double> ofSlice;
        for (uint32_t i = index; i < nEpisodes; i += nSlices)
        {
            ofSlice.push_back(leads[i]);
        }
        slice.advantages = EstimateAdvantages(slice.episodes, ofSlice, weights, config);
        WriteNumbers(AddUpAdvantages(slice.episodes, slice.advantages), row);
        ReturnMoments returns;
        returns.Add(slice.advantages);
        WriteNumbers(returns, row + N_NUMBERS<PolicyMoments>);
    });
    const auto moments = ReadNumbers<PolicyMoments>(sums.data());
    ForOwnSlices([&](uint32_t i) {
        NormalizeAdvantages(slices[i].episodes,
                            moments,
                            config.most_advantage,
                            slices[i].advantages);
    });
    const auto returns = ReadNumbers<ReturnMoments>(sums.data() + N_NUMBERS<PolicyMoments>);
    progress.explainedVariance = returns.GetExplainedVariance();
}

void
PolicyTrainer::Impl::UpdatePolicies(const std::vector<TrainingSlice>& slices,
                                    uint32_t epoch,
                                    UpdateStatistics& statistics)
{
    for (const PolicyHead head :
         {PolicyHead::PORT, PolicyHead::SENDER, PolicyHead::ITEM, PolicyHead::TREE})
    {
        std::vector<DecisionShuffle> shuffles;
        for (uint32_t i = 0; i < nSlices; ++i)
        {
            shuffles.emplace_back(
                slices[i].episodes,
                slices[i].advantages,
                head,
                config.port_share,
                MakeSeed(config.seed, iteration, 1'000'000 + epoch * nSlices + i));
        }
        for (uint32_t i = 0; i < config.minibatches; ++i)
        {
            UpdatePolicy(head, shuffles, i, statistics);
        }
    }
}

void
PolicyTrainer::Impl::UpdatePolicy(PolicyHead head,
                                  const std::vector<DecisionShuffle>& shuffles,
                                  uint32_t minibatch,
                                  UpdateStatistics& statistics)
{
    const bool isUpper = head == PolicyHead::TREE;
    const double entropyWeight = config.entropy * (1 - GetShareDone());
    Perceptron& network = networks[static_cast<std::size_t>(head)];
    const std::vector<torch::Tensor> parameters = network->parameters();
    const std::size_t width = CountWeights(parameters) + N_NUMBERS<MinibatchSums>;
    const std::vector<double> sums = SumSlices(width, [&](uint32_t slice, double* row) {
        const DecisionBatch batch = shuffles[slice].MakeMinibatch(minibatch, config.minibatches);
        if (batch.nDecisions > 0)
        {
            const PolicyLoss loss = ComputePolicyLoss(network->forward(batch.rows),
                                                      batch,
                                                      isUpper,
                                                      config.clip,
                                                      entropyWeight);
            row = WriteGradient(loss.loss, parameters, row);
            WriteNumbers(MinibatchSums{loss.nDecisions, loss.entropy, loss.kl, loss.nClipped}, row);
        }
    });
    const auto ofAll = ReadNumbers<MinibatchSums>(sums.data() + CountWeights(parameters));
    if (ofAll.nDecisions > 0)
    {
        (isUpper ? statistics.upperEntropy : statistics.entropy) +=
            ofAll.entropy / ofAll.nDecisions;
        statistics.kl += ofAll.kl / ofAll.nDecisions;
        statistics.clipFraction += ofAll.nClipped / ofAll.nDecisions;
        ++(isUpper ? statistics.nUpper : statistics.nLower);
        SetGradient(sums.data(), 1 / ofAll.nDecisions, parameters);
        TakeStep(head, isUpper ? config.upper_rate : 1);
    }
}

void
PolicyTrainer::Impl::UpdateCritic(const std::vector<TrainingSlice>& slices)
{
    constexpr auto VALUE = static_cast<std::size_t>(PolicyHead::VALUE);
    const int64_t nFeatures = GetPolicyFeatures(PolicyHead::VALUE).size();
    std::vector<torch::Tensor> rows(nSlices);
    std::vector<torch::Tensor> returns(nSlices);
    ForOwnSlices([&](uint32_t i) {
        std::vector<float> all;
        for (const Episode& episode : slices[i].episodes)
        {
            all.insert(all.end(), episode.rows[VALUE].begin(), episode.rows[VALUE].end());
        }
        rows[i] = torch::tensor(all).view({-1, nFeatures});
        returns[i] = torch::tensor(slices[i].advantages.returns);
    });
    const std::vector<torch::Tensor> parameters = networks[VALUE]->parameters();
    for (uint32_t i = 0; i < config.minibatches; ++i)
    {
        const std::size_t width = CountWeights(parameters) + 1;
        const std::vector<double> sums = SumSlices(width, [&](uint32_t slice, double* row) {
            const torch::Tensor loss = torch::mse_loss(networks[VALUE]->forward(rows[slice]),
                                                       returns[slice],
                                                       torch::Reduction::Sum);
            *WriteGradient(loss, parameters, row) = returns[slice].numel();
        });
        SetGradient(sums.data(), 1 / sums.back(), parameters);
        TakeStep(PolicyHead::VALUE, config.critic_rate);
    }
}

/// Follow the gradient that is set.
void
PolicyTrainer::Impl::TakeStep(PolicyHead head, double rateFactor)
{
    Perceptron& network = networks[static_cast<std::size_t>(head)];
    torch::optim::Adam& optimizer = *optimizers[static_cast<std::size_t>(head)];
    const double rate =
        config.learning_rate + GetShareDone() * (config.learning_rate_end - config.learning_rate);
    for (auto& parameterGroup : optimizer.param_groups())
    {
        static_cast<torch::optim::AdamOptions&>(parameterGroup.options()).lr(rate * rateFactor);
    }
    torch::nn::utils::clip_grad_norm_(network->parameters(), config.gradient_norm);
    optimizer.step();
}

void
PolicyTrainer::Impl::UpdateAverage()
{
    const double keep = std::min(config.averaging, (iteration + 1.0) / (iteration + 10.0));
    const PolicyWeights present = Export();
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        auto& mean = averaged.heads[head].values;
        for (std::size_t i = 0; i < mean.size(); ++i)
        {
            mean[i] = keep * mean[i] + (1 - keep) * present.heads[head].values[i];
        }
    }
}

void
PolicyTrainer::Impl::ValidateWeights(TrainingProgress& progress)
{
    const PolicyWeights present = Export();
    progress.isValidated = true;
    progress.validation = Validate(present, config, *group);
    progress.validationAveraged = Validate(averaged, config, *group);
    if (progress.validationAveraged <= bestValidation)
    {
        bestValidation = progress.validationAveraged;
        best = averaged;
        progress.isBest = true;
    }
    if (progress.validation < bestValidation)
    {
        bestValidation = progress.validation;
        best = present;
        progress.isBest = true;
    }
}

PolicyTrainer::PolicyTrainer(const TrainingConfig& config,
                             std::shared_ptr<const TrainingGroup> group)
    : m_impl(std::make_unique<Impl>(config, std::move(group)))
{
}

PolicyTrainer::~PolicyTrainer() = default;

void
PolicyTrainer::Import(const PolicyWeights& weights)
{
    m_impl->averaged = weights;
    m_impl->best = weights;
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        m_impl->networks[head]->Import(weights.heads[head]);
    }
}

uint32_t
PolicyTrainer::GetIteration() const
{
    return m_impl->iteration;
}

PolicyWeights
PolicyTrainer::GetBestWeights() const
{
    return std::isfinite(m_impl->bestValidation) ? m_impl->best : m_impl->averaged;
}

PolicyWeights
PolicyTrainer::GetWeights() const
{
    return m_impl->Export();
}

std::vector<float>
PolicyTrainer::Score(PolicyHead head, const std::vector<float>& rows) const
{
    const torch::NoGradGuard noGradient;
    const int64_t nFeatures = GetPolicyFeatures(head).size();
    const torch::Tensor scores = m_impl->networks[static_cast<std::size_t>(head)]->forward(
        torch::tensor(rows, torch::kFloat32).view({-1, nFeatures}));
    return {scores.data_ptr<float>(), scores.data_ptr<float>() + scores.numel()};
}

std::string
PolicyTrainer::Impl::Write() const
{
    std::ostringstream text;
    torch::serialize::OutputArchive archive;
    auto write = [&](const std::string& key, const std::string& value) {
        archive.write(key, torch::IValue(value));
    };
    nlohmann::ordered_json numbers = {{"config", config.ToJson()},
                                      {"features", ListAllFeatures()},
                                      {"iteration", iteration},
                                      {"decisions", nDecisions}};
    if (std::isfinite(bestValidation))
    {
        numbers["best_validation"] = bestValidation;
    }
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        const std::string name = GetPolicyHeadName(POLICY_HEADS[head]);
        numbers["averaged"][name] = averaged.heads[head].values;
        numbers["best"][name] = best.heads[head].values;
        torch::serialize::OutputArchive network;
        torch::serialize::OutputArchive optimizer;
        networks[head]->save(network);
        optimizers[head]->save(optimizer);
        archive.write("network-" + name, network);
        archive.write("optimizer-" + name, optimizer);
    }
    write("numbers", numbers.dump());
    archive.save_to(text);
    return text.str();
}

void
PolicyTrainer::Save(const std::string& path) const
{
    WriteFileAtomically(path, m_impl->Write());
}

/// @param name of the state, for messages
void
PolicyTrainer::Impl::Read(torch::serialize::InputArchive& archive, const std::string& name)
{
    torch::IValue value;
    archive.read("numbers", value);
    const nlohmann::json numbers = nlohmann::json::parse(value.toStringRef());
    if (numbers.at("config") != nlohmann::json(config.ToJson()))
    {
        FailInput(name, ": made with another configuration");
    }
    if (numbers.at("features") != nlohmann::json(ListAllFeatures()))
    {
        FailInput(name, ": made with other features of the networks");
    }
    iteration = numbers.at("iteration");
    nDecisions = numbers.at("decisions");
    bestValidation = numbers.value("best_validation", std::numeric_limits<double>::infinity());
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        const std::string headName = GetPolicyHeadName(POLICY_HEADS[head]);
        ReadValues(numbers.at("averaged").at(headName), averaged.heads[head].values);
        ReadValues(numbers.at("best").at(headName), best.heads[head].values);
        torch::serialize::InputArchive network;
        torch::serialize::InputArchive optimizer;
        archive.read("network-" + headName, network);
        archive.read("optimizer-" + headName, optimizer);
        networks[head]->load(network);
        optimizers[head]->load(optimizer);
    }
}

void
PolicyTrainer::Load(const std::string& path)
{
    const std::string name = "training state " + NamePath(path);
    try
    {
        torch::serialize::InputArchive archive;
        archive.load_from(path);
        m_impl->Read(archive, name);
    }
    catch (const c10::Error&)
    {
        FailInput(name, ": not there, cut short or not a training state");
    }
    catch (const InputError&)
    {
        throw;
    }
    catch (const std::exception&)
    {
        FailInput(name, ": damaged");
    }
}

void
PolicyTrainer::FollowRankZero()
{
    std::string state = m_impl->group->GetRank() == 0 ? m_impl->Write() : "";
    m_impl->group->Broadcast(state);
    if (m_impl->group->GetRank() > 0)
    {
        std::istringstream in(state);
        torch::serialize::InputArchive archive;
        archive.load_from(in);
        m_impl->Read(archive, "training state of rank 0");
    }
}

double
Validate(const PolicyWeights& weights, const TrainingConfig& config, const TrainingGroup& group)
{
    std::vector<double> ratios(CountValidationProblems(config), 0);
    const auto validate = [&](uint32_t i) {
        if (!group.IsOwn(i))
        {
            return;
        }
        const TrainingProblem owned = MakeValidationProblem(config, i);
        PlanningEnvironment environment(owned.problem);
        RolloutOptions options;
        options.seed = i;
        options.mostRounds = GetMostRounds(owned.problem);
        Episode episode;
        RunRollout(environment, weights, options, {}, &episode);
        ratios[i] = static_cast<double>(episode.nRounds) / episode.nRoundsNeeded;
    };
    RunParallel(ratios.size(), validate, group.GetNThreads());
    group.Gather(ratios, ratios.size());
    return std::accumulate(ratios.begin(), ratios.end(), 0.0) / ratios.size();
}

} // namespace ns3::allreduce
