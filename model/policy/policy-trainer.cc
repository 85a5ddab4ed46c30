/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-trainer.h"

#include "advantage-estimate.h"
#include "decision-batch.h"
#include "policy-checkpoint.h"
#include "policy-network.h"
#include "policy-prior.h"
#include "policy-rollout.h"
#include "training-problems.h"

#include "ns3/allreduce-error.h"
#include "ns3/parallel-for.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

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

/// What a loss is made of: log-probabilities of the choices, and their mean entropy.
struct PolicyOutput
{
    torch::Tensor logProbability; //!< by decision
    torch::Tensor entropy;        //!< mean
};

/// @return by decision: the largest score of its rows, to be subtracted for precision
torch::Tensor
FindLargest(const torch::Tensor& scores, const DecisionBatch& batch)
{
    torch::Tensor largest = torch::full({batch.nDecisions}, -std::numeric_limits<float>::max());
    const float* score = scores.data_ptr<float>();
    const int64_t* decision = batch.decisionOfRow.data_ptr<int64_t>();
    float* result = largest.data_ptr<float>();
    for (int64_t row = 0; row < scores.numel(); ++row)
    {
        result[decision[row]] = std::max(result[decision[row]], score[row]);
    }
    return largest;
}

/// The lower policy: a softmax over each decision's rows.
PolicyOutput
ApplySoftmax(const torch::Tensor& scores, const DecisionBatch& batch)
{
    const torch::Tensor shifted =
        scores - FindLargest(scores.detach(), batch).index_select(0, batch.decisionOfRow);
    const torch::Tensor sums =
        torch::zeros({batch.nDecisions}).index_add(0, batch.decisionOfRow, shifted.exp()).log();
    const torch::Tensor logProbabilities = shifted - sums.index_select(0, batch.decisionOfRow);
    const torch::Tensor entropy =
        -(logProbabilities.exp() * logProbabilities).sum() / batch.nDecisions;
    return {logProbabilities.index_select(0, batch.chosenRow), entropy};
}

/// The upper policy: a yes or no for each tree.
PolicyOutput
ApplyBernoulli(const torch::Tensor& scores, const DecisionBatch& batch)
{
    const torch::Tensor logYes = torch::log_sigmoid(scores);
    const torch::Tensor logNo = torch::log_sigmoid(-scores);
    return {batch.choice * logYes + (1 - batch.choice) * logNo,
            -(logYes.exp() * logYes + logNo.exp() * logNo).mean()};
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

/// @return 1 - Var(returns - values) / Var(returns)
double
ComputeExplainedVariance(const AdvantageEstimate& estimate)
{
    const torch::Tensor returns = torch::tensor(estimate.returns);
    const torch::Tensor errors = returns - torch::tensor(estimate.values);
    const double variance = returns.var().item<double>();
    return variance > 0 ? 1 - errors.var().item<double>() / variance : 0;
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

/// Networks and optimizers.
struct PolicyTrainer::Impl
{
    explicit Impl(const TrainingConfig& trainingConfig);

    PolicyWeights Export() const;
    std::vector<Episode> CollectEpisodes(const PolicyWeights& weights) const;
    void UpdatePolicies(const std::vector<Episode>& episodes,
                        const AdvantageEstimate& advantages,
                        uint32_t epoch,
                        UpdateStatistics& statistics);
    void UpdatePolicy(PolicyHead head, const DecisionBatch& batch, UpdateStatistics& statistics);
    void UpdateCritic(const std::vector<Episode>& episodes, const AdvantageEstimate& advantages);
    void TakeStep(PolicyHead head, const torch::Tensor& loss, double rateFactor);
    void UpdateAverage();
    void ValidateWeights(TrainingProgress& progress);
    double GetShareDone() const;

    TrainingConfig config;                                          //!< how to train
    uint32_t iteration{0};                                          //!< iterations done
    uint64_t nDecisions{0};                                         //!< made so far
    std::vector<Perceptron> networks;                               //!< by head
    std::vector<std::unique_ptr<torch::optim::Adam>> optimizers;    //!< by head
    PolicyWeights averaged;                                         //!< over iterations
    PolicyWeights best;                                             //!< by validation
    double bestValidation{std::numeric_limits<double>::infinity()}; //!< of best
};

PolicyTrainer::Impl::Impl(const TrainingConfig& trainingConfig)
    : config(trainingConfig)
{
    torch::set_num_threads(1);
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
    const PolicyWeights weights = impl.Export();
    const std::vector<Episode> episodes = impl.CollectEpisodes(weights);
    for (const Episode& episode : episodes)
    {
        const double n = episodes.size();
        progress.meanReturn +=
            std::accumulate(episode.rewards.begin(), episode.rewards.end(), 0.0) / n;
        progress.excessRounds += (double(episode.nRounds) - episode.nRoundsNeeded) / n;
        progress.selectedShare += episode.selectedShare / n;
        impl.nDecisions += episode.decisions.size();
    }
    progress.nDecisions = impl.nDecisions;

    // Say what each decision was worth.
    const AdvantageEstimate advantages = EstimateAdvantages(episodes, weights, config);
    progress.explainedVariance = ComputeExplainedVariance(advantages);

    // Make good decisions likelier, within PPO's limits, and teach the critic.
    UpdateStatistics statistics;
    for (uint32_t epoch = 0; epoch < config.epochs; ++epoch)
    {
        impl.UpdatePolicies(episodes, advantages, epoch, statistics);
        impl.UpdateCritic(episodes, advantages);
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

std::vector<Episode>
PolicyTrainer::Impl::CollectEpisodes(const PolicyWeights& weights) const
{
    std::vector<TrainingProblem> problems(config.problems);
    RunParallel(problems.size(), [&](uint32_t i) {
        problems[i] = DrawTrainingProblem(config, MakeSeed(config.seed, iteration, i));
    });
    std::vector<Episode> episodes(problems.size() * config.rollouts);
    RunParallel(episodes.size(), [&](uint32_t i) {
        const PlanningProblem& problem = problems[i / config.rollouts].problem;
        PlanningEnvironment environment(problem);
        RolloutOptions options;
        options.mode = RolloutMode::SAMPLE;
        options.seed = MakeSeed(config.seed, iteration, 100'000 + i);
        options.mostRounds = GetMostRounds(problem);
        RunRollout(environment, weights, options, config.reward, &episodes[i]);
    });
    return episodes;
}

void
PolicyTrainer::Impl::UpdatePolicies(const std::vector<Episode>& episodes,
                                    const AdvantageEstimate& advantages,
                                    uint32_t epoch,
                                    UpdateStatistics& statistics)
{
    for (const PolicyHead head :
         {PolicyHead::PORT, PolicyHead::SENDER, PolicyHead::ITEM, PolicyHead::TREE})
    {
        const DecisionShuffle shuffle(episodes,
                                      advantages,
                                      head,
                                      config.port_share,
                                      MakeSeed(config.seed, iteration, 1'000'000 + epoch));
        for (uint32_t i = 0; i < config.minibatches; ++i)
        {
            const DecisionBatch batch = shuffle.MakeMinibatch(i, config.minibatches);
            if (batch.nDecisions > 0)
            {
                UpdatePolicy(head, batch, statistics);
            }
        }
    }
}

void
PolicyTrainer::Impl::UpdatePolicy(PolicyHead head,
                                  const DecisionBatch& batch,
                                  UpdateStatistics& statistics)
{
    const bool isUpper = head == PolicyHead::TREE;
    const torch::Tensor scores = networks[static_cast<std::size_t>(head)]->forward(batch.rows);
    const PolicyOutput output =
        isUpper ? ApplyBernoulli(scores, batch) : ApplySoftmax(scores, batch);
    const torch::Tensor logRatio = output.logProbability - batch.logProbability;
    const torch::Tensor ratio = logRatio.exp();
    const torch::Tensor clipped = ratio.clamp(1 - config.clip, 1 + config.clip);
    const torch::Tensor policyLoss =
        -torch::min(ratio * batch.advantage, clipped * batch.advantage).mean();
    {
        const torch::NoGradGuard noGradient;
        (isUpper ? statistics.upperEntropy : statistics.entropy) += output.entropy.item<double>();
        statistics.kl += (ratio - 1 - logRatio).mean().item<double>();
        statistics.clipFraction +=
            ((ratio - 1).abs() > config.clip).to(torch::kFloat32).mean().item<double>();
        ++(isUpper ? statistics.nUpper : statistics.nLower);
    }
    const double entropyWeight = config.entropy * (1 - GetShareDone());
    TakeStep(head, policyLoss - entropyWeight * output.entropy, isUpper ? config.upper_rate : 1);
}

void
PolicyTrainer::Impl::UpdateCritic(const std::vector<Episode>& episodes,
                                  const AdvantageEstimate& advantages)
{
    constexpr auto VALUE = static_cast<std::size_t>(PolicyHead::VALUE);
    std::vector<float> all;
    for (const Episode& episode : episodes)
    {
        all.insert(all.end(), episode.rows[VALUE].begin(), episode.rows[VALUE].end());
    }
    const int64_t nFeatures = GetPolicyFeatures(PolicyHead::VALUE).size();
    const torch::Tensor rows = torch::tensor(all).view({-1, nFeatures});
    const torch::Tensor returns = torch::tensor(advantages.returns);
    for (uint32_t i = 0; i < config.minibatches; ++i)
    {
        const torch::Tensor loss = torch::mse_loss(networks[VALUE]->forward(rows), returns);
        TakeStep(PolicyHead::VALUE, loss, config.critic_rate);
    }
}

void
PolicyTrainer::Impl::TakeStep(PolicyHead head, const torch::Tensor& loss, double rateFactor)
{
    Perceptron& network = networks[static_cast<std::size_t>(head)];
    torch::optim::Adam& optimizer = *optimizers[static_cast<std::size_t>(head)];
    const double rate =
        config.learning_rate + GetShareDone() * (config.learning_rate_end - config.learning_rate);
    for (auto& group : optimizer.param_groups())
    {
        static_cast<torch::optim::AdamOptions&>(group.options()).lr(rate * rateFactor);
    }
    optimizer.zero_grad();
    loss.backward();
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
    progress.validation = Validate(present, config);
    progress.validationAveraged = Validate(averaged, config);
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

PolicyTrainer::PolicyTrainer(const TrainingConfig& config)
    : m_impl(std::make_unique<Impl>(config))
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

void
PolicyTrainer::Save(const std::string& path) const
{
    std::ostringstream text;
    torch::serialize::OutputArchive archive;
    auto write = [&](const std::string& key, const std::string& value) {
        archive.write(key, torch::IValue(value));
    };
    nlohmann::ordered_json numbers = {{"config", m_impl->config.ToJson()},
                                      {"features", ListAllFeatures()},
                                      {"iteration", m_impl->iteration},
                                      {"decisions", m_impl->nDecisions}};
    if (std::isfinite(m_impl->bestValidation))
    {
        numbers["best_validation"] = m_impl->bestValidation;
    }
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        const std::string name = GetPolicyHeadName(POLICY_HEADS[head]);
        numbers["averaged"][name] = m_impl->averaged.heads[head].values;
        numbers["best"][name] = m_impl->best.heads[head].values;
        torch::serialize::OutputArchive network;
        torch::serialize::OutputArchive optimizer;
        m_impl->networks[head]->save(network);
        m_impl->optimizers[head]->save(optimizer);
        archive.write("network-" + name, network);
        archive.write("optimizer-" + name, optimizer);
    }
    write("numbers", numbers.dump());
    archive.save_to(text);
    WriteFileAtomically(path, text.str());
}

void
PolicyTrainer::Load(const std::string& path)
{
    try
    {
        torch::serialize::InputArchive archive;
        archive.load_from(path);
        torch::IValue value;
        archive.read("numbers", value);
        const nlohmann::json numbers = nlohmann::json::parse(value.toStringRef());
        if (numbers.at("config") != nlohmann::json(m_impl->config.ToJson()))
        {
            FailInput("training state ", NamePath(path), ": made with another configuration");
        }
        if (numbers.at("features") != nlohmann::json(ListAllFeatures()))
        {
            FailInput("training state ",
                      NamePath(path),
                      ": made with other features of the networks");
        }
        m_impl->iteration = numbers.at("iteration");
        m_impl->nDecisions = numbers.at("decisions");
        m_impl->bestValidation =
            numbers.value("best_validation", std::numeric_limits<double>::infinity());
        for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
        {
            const std::string name = GetPolicyHeadName(POLICY_HEADS[head]);
            ReadValues(numbers.at("averaged").at(name), m_impl->averaged.heads[head].values);
            ReadValues(numbers.at("best").at(name), m_impl->best.heads[head].values);
            torch::serialize::InputArchive network;
            torch::serialize::InputArchive optimizer;
            archive.read("network-" + name, network);
            archive.read("optimizer-" + name, optimizer);
            m_impl->networks[head]->load(network);
            m_impl->optimizers[head]->load(optimizer);
        }
    }
    catch (const c10::Error&)
    {
        FailInput("training state ",
                  NamePath(path),
                  ": not there, cut short or not a training state");
    }
    catch (const InputError&)
    {
        throw;
    }
    catch (const std::exception&)
    {
        FailInput("training state ", NamePath(path), ": damaged");
    }
}

double
Validate(const PolicyWeights& weights, const TrainingConfig& config)
{
    std::vector<double> ratios(CountValidationProblems(config), 0);
    RunParallel(ratios.size(), [&](uint32_t i) {
        const TrainingProblem owned = MakeValidationProblem(config, i);
        PlanningEnvironment environment(owned.problem);
        RolloutOptions options;
        options.seed = i;
        options.mostRounds = GetMostRounds(owned.problem);
        Episode episode;
        RunRollout(environment, weights, options, {}, &episode);
        ratios[i] = static_cast<double>(episode.nRounds) / episode.nRoundsNeeded;
    });
    return std::accumulate(ratios.begin(), ratios.end(), 0.0) / ratios.size();
}

} // namespace ns3::allreduce
