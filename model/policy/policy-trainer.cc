/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Proximal policy optimization, to be read from top to bottom: the losses, then an iteration
// (PolicyTrainer::Step) with its steps in the order in which they are taken. What is not learning
// is elsewhere: rollouts (policy-rollout.h), generalized advantage estimation
// (advantage-estimate.h), minibatches as tensors (decision-batch.h), processes and threads
// (training-slices.h), files (training-state.h), what the log says (training-metrics.h).

#include "policy-trainer.h"

#include "decision-batch.h"
#include "policy-checkpoint.h"
#include "training-metrics.h"
#include "training-slices.h"
#include "training-state.h"

#include "ns3/allreduce-error.h"
#include "ns3/parallel-for.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr auto VALUE = static_cast<std::size_t>(PolicyHead::VALUE);

/// What a policy makes of decisions.
struct PolicyOutput
{
    torch::Tensor logProbability; //!< by decision: of the choice
    torch::Tensor entropy;        //!< sum
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
    return {logProbabilities.index_select(0, batch.chosenRow),
            -(logProbabilities.exp() * logProbabilities).sum()};
}

/// The upper policy: a yes or no for each tree.
PolicyOutput
ApplyBernoulli(const torch::Tensor& scores, const DecisionBatch& batch)
{
    const torch::Tensor logYes = torch::log_sigmoid(scores);
    const torch::Tensor logNo = torch::log_sigmoid(-scores);
    return {batch.choice * logYes + (1 - batch.choice) * logNo,
            -(logYes.exp() * logYes + logNo.exp() * logNo).sum()};
}

/// @return PPO's clipped loss less the entropy bonus @param [out] metrics of these decisions
torch::Tensor
ComputePolicyLoss(const PolicyOutput& output,
                  const DecisionBatch& batch,
                  double clip,
                  double entropyWeight,
                  MinibatchMetrics& metrics)
{
    const torch::Tensor logRatio = output.logProbability - batch.logProbability;
    const torch::Tensor ratio = logRatio.exp();
    const torch::Tensor clipped = ratio.clamp(1 - clip, 1 + clip);
    torch::Tensor loss = -torch::min(ratio * batch.advantage, clipped * batch.advantage).sum() -
                         entropyWeight * output.entropy;
    const torch::NoGradGuard noGradient;
    metrics.nDecisions = batch.nDecisions;
    metrics.entropy = output.entropy.item<double>();
    metrics.approxKl = (ratio - 1 - logRatio).sum().item<double>();
    metrics.nClipped = ((ratio - 1).abs() > clip).sum().item<double>();
    return loss;
}

} // namespace

/// What an iteration works with.
struct PolicyTrainer::Impl
{
    Impl(const TrainingConfig& trainingConfig, std::shared_ptr<const TrainingGroup> group)
        : state(trainingConfig),
          config(state.config),
          nEpisodes(config.problems * config.rollouts),
          slices(config, std::move(group))
    {
    }

    std::vector<TrainingSlice> CollectRollouts(const PolicyWeights& weights) const;
    void AddUpEpisodes(const std::vector<TrainingSlice>& data, TrainingProgress& progress);
    std::vector<double> FindGroupAdvantages(const std::vector<TrainingSlice>& data) const;
    void EstimateSlices(const PolicyWeights& weights,
                        std::vector<TrainingSlice>& data,
                        TrainingProgress& progress) const;
    void UpdatePolicies(const std::vector<TrainingSlice>& data,
                        uint32_t epoch,
                        UpdateMetrics& metrics);
    void UpdateNetwork(PolicyHead head,
                       const std::vector<DecisionShuffle>& shuffles,
                       uint32_t minibatch,
                       UpdateMetrics& metrics);
    void UpdateCritic(const std::vector<TrainingSlice>& data);
    void TakeStep(PolicyHead head, double rateFactor);
    void UpdateAverage();
    void ValidateWeights(TrainingProgress& progress);

    /// @return the share of the iterations that is done, by which rates are annealed
    double GetShareDone() const
    {
        return std::min(1.0, static_cast<double>(state.iteration) / config.iterations);
    }

    TrainingState state;
    const TrainingConfig& config;
    const uint32_t nEpisodes; //!< of an iteration
    const TrainingSlices slices;
};

TrainingProgress
PolicyTrainer::Step()
{
    TrainingProgress progress;
    Impl& impl = *m_impl;

    // Roll out the present policies.
    impl.state.FollowWeights(impl.slices.GetGroup());
    const PolicyWeights weights = impl.state.GetWeights();
    std::vector<TrainingSlice> data = impl.CollectRollouts(weights);
    impl.AddUpEpisodes(data, progress);

    // Estimate advantages and returns.
    impl.EstimateSlices(weights, data, progress);

    // Optimize the policies and the critic.
    UpdateMetrics metrics;
    for (uint32_t epoch = 0; epoch < impl.config.epochs; ++epoch)
    {
        impl.UpdatePolicies(data, epoch, metrics);
        impl.UpdateCritic(data);
    }
    metrics.WriteTo(progress);

    // Average, and validate from time to time.
    impl.UpdateAverage();
    const uint32_t iteration = ++impl.state.iteration;
    progress.iteration = iteration;
    if (!impl.state.GetWeights().AreFinite())
    {
        FailInput("training: after iteration ",
                  iteration,
                  " a weight is not a finite number; try a smaller learning_rate");
    }
    if (iteration >= impl.config.validation_from && iteration % impl.config.validation_every == 0)
    {
        impl.ValidateWeights(progress);
    }
    return progress;
}

std::vector<TrainingSlice>
PolicyTrainer::Impl::CollectRollouts(const PolicyWeights& weights) const
{
    const TrainingGroup& group = slices.GetGroup();
    const uint32_t nSlices = slices.GetCount();
    const std::vector<TrainingProblem> problems = slices.DrawProblems(config, state.iteration);
    std::vector<TrainingSlice> data(nSlices);
    for (uint32_t i = 0; i < nEpisodes; ++i)
    {
        if (group.IsOwn(i % nSlices))
        {
            data[i % nSlices].episodes.emplace_back();
        }
    }
    const auto rollOut = [&](uint32_t i) {
        if (!group.IsOwn(i % nSlices))
        {
            return;
        }
        const PlanningProblem& problem = problems[i / config.rollouts].problem;
        PlanningEnvironment environment(problem);
        RolloutOptions options;
        options.mode = RolloutMode::SAMPLE;
        options.seed = MakeTrainingSeed(config.seed, state.iteration, 100'000 + i);
        options.mostRounds = GetMostTrainingRounds(problem);
        Episode& episode = data[i % nSlices].episodes[i / nSlices];
        RunRollout(environment, weights, options, config.reward, &episode);
    };
    RunParallel(nEpisodes, rollOut, group.GetNThreads());
    return data;
}

void
PolicyTrainer::Impl::AddUpEpisodes(const std::vector<TrainingSlice>& data,
                                   TrainingProgress& progress)
{
    const auto addUp = [&](uint32_t slice, double* row) {
        EpisodeSums sums;
        for (const Episode& episode : data[slice].episodes)
        {
            sums.Add(episode);
        }
        WriteNumbers(sums, row);
    };
    const auto sums = ReadNumbers<EpisodeSums>(slices.Sum(N_NUMBERS<EpisodeSums>, addUp).data());
    progress.meanReturn = sums.returns / nEpisodes;
    progress.excessRounds = sums.excessRounds / nEpisodes;
    progress.selectedShare = sums.selectedShare / nEpisodes;
    state.nDecisions += sums.nDecisions;
    progress.nDecisions = state.nDecisions;
}

/// @return by episode: see ComputeGroupAdvantages
std::vector<double>
PolicyTrainer::Impl::FindGroupAdvantages(const std::vector<TrainingSlice>& data) const
{
    const std::vector<double> lengths = slices.Sum(nEpisodes, [&](uint32_t slice, double* row) {
        for (std::size_t k = 0; k < data[slice].episodes.size(); ++k)
        {
            row[k * slices.GetCount() + slice] = data[slice].episodes[k].nRounds;
        }
    });
    return ComputeGroupAdvantages(lengths, config.rollouts);
}

void
PolicyTrainer::Impl::EstimateSlices(const PolicyWeights& weights,
                                    std::vector<TrainingSlice>& data,
                                    TrainingProgress& progress) const
{
    const std::vector<double> ofGroups = FindGroupAdvantages(data);
    const std::size_t width = N_NUMBERS<PolicyMoments> + N_NUMBERS<ReturnMoments>;
    const std::vector<double> sums = slices.Sum(width, [&](uint32_t index, double* row) {
        TrainingSlice& slice = data[index];
        std::vector<double> ofSlice;
        for (uint32_t i = index; i < nEpisodes; i += slices.GetCount())
        {
            ofSlice.push_back(ofGroups[i]);
        }
        slice.advantages = EstimateAdvantages(slice.episodes, ofSlice, weights, config);
        WriteNumbers(AddUpAdvantages(slice.episodes, slice.advantages), row);
        ReturnMoments returns;
        returns.Add(slice.advantages);
        WriteNumbers(returns, row + N_NUMBERS<PolicyMoments>);
    });
    const auto moments = ReadNumbers<PolicyMoments>(sums.data());
    slices.ForOwn([&](uint32_t i) {
        NormalizeAdvantages(data[i].episodes, moments, config.most_advantage, data[i].advantages);
    });
    const auto returns = ReadNumbers<ReturnMoments>(sums.data() + N_NUMBERS<PolicyMoments>);
    progress.explainedVariance = returns.GetExplainedVariance();
}

/// An epoch of all networks but the critic.
void
PolicyTrainer::Impl::UpdatePolicies(const std::vector<TrainingSlice>& data,
                                    uint32_t epoch,
                                    UpdateMetrics& metrics)
{
    const uint32_t nSlices = slices.GetCount();
    for (const PolicyHead head :
         {PolicyHead::PORT, PolicyHead::SENDER, PolicyHead::ITEM, PolicyHead::TREE})
    {
        std::vector<DecisionShuffle> shuffles;
        for (uint32_t i = 0; i < nSlices; ++i)
        {
            const uint64_t seed =
                MakeTrainingSeed(config.seed, state.iteration, 1'000'000 + epoch * nSlices + i);
            shuffles.emplace_back(data[i].episodes,
                                  data[i].advantages,
                                  head,
                                  config.port_share,
                                  seed);
        }
        for (uint32_t i = 0; i < config.minibatches; ++i)
        {
            UpdateNetwork(head, shuffles, i, metrics);
        }
    }
}

/// A minibatch: its share of every slice's decisions, shuffled within the slice.
void
PolicyTrainer::Impl::UpdateNetwork(PolicyHead head,
                                   const std::vector<DecisionShuffle>& shuffles,
                                   uint32_t minibatch,
                                   UpdateMetrics& metrics)
{
    const bool isUpper = head == PolicyHead::TREE;
    const double entropyWeight = config.entropy * (1 - GetShareDone());
    Perceptron& network = state.networks[static_cast<std::size_t>(head)];
    const std::size_t nWeights = network->CountWeights();
    const std::size_t width = nWeights + N_NUMBERS<MinibatchMetrics>;
    const std::vector<double> sums = slices.Sum(width, [&](uint32_t slice, double* row) {
        const DecisionBatch batch = shuffles[slice].MakeMinibatch(minibatch, config.minibatches);
        if (batch.nDecisions > 0)
        {
            const torch::Tensor scores = network->forward(batch.rows);
            MinibatchMetrics ofSlice;
            const torch::Tensor loss = ComputePolicyLoss(isUpper ? ApplyBernoulli(scores, batch)
                                                                 : ApplySoftmax(scores, batch),
                                                         batch,
                                                         config.clip,
                                                         entropyWeight,
                                                         ofSlice);
            WriteNumbers(ofSlice, network->WriteGradient(loss, row));
        }
    });
    const auto ofAll = ReadNumbers<MinibatchMetrics>(sums.data() + nWeights);
    if (ofAll.nDecisions > 0)
    {
        metrics.Add(ofAll, isUpper);
        network->SetGradient(sums.data(), 1 / ofAll.nDecisions);
        TakeStep(head, isUpper ? config.upper_rate : 1);
    }
}

/// An epoch of the critic. It takes as many steps as there are minibatches, but each of them is on
/// all rounds of the iteration, in the order in which they were played, and not on a share of them.
void
PolicyTrainer::Impl::UpdateCritic(const std::vector<TrainingSlice>& data)
{
    const int64_t nFeatures = GetPolicyFeatures(PolicyHead::VALUE).size();
    std::vector<torch::Tensor> rows(data.size());
    std::vector<torch::Tensor> returns(data.size());
    slices.ForOwn([&](uint32_t i) {
        std::vector<float> all;
        for (const Episode& episode : data[i].episodes)
        {
            all.insert(all.end(), episode.rows[VALUE].begin(), episode.rows[VALUE].end());
        }
        rows[i] = torch::tensor(all).view({-1, nFeatures});
        returns[i] = torch::tensor(data[i].advantages.returns);
    });
    Perceptron& critic = state.networks[VALUE];
    for (uint32_t step = 0; step < config.minibatches; ++step)
    {
        const std::size_t width = critic->CountWeights() + 1;
        const std::vector<double> sums = slices.Sum(width, [&](uint32_t i, double* row) {
            const torch::Tensor valueLoss =
                torch::mse_loss(critic->forward(rows[i]), returns[i], torch::Reduction::Sum);
            *critic->WriteGradient(valueLoss, row) = returns[i].numel();
        });
        critic->SetGradient(sums.data(), 1 / sums.back());
        TakeStep(PolicyHead::VALUE, config.critic_rate);
    }
}

/// Follow the gradient that is set.
void
PolicyTrainer::Impl::TakeStep(PolicyHead head, double rateFactor)
{
    Perceptron& network = state.networks[static_cast<std::size_t>(head)];
    torch::optim::Adam& optimizer = *state.optimizers[static_cast<std::size_t>(head)];
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
    // At first less is kept, because the first weights are worth little.
    const double keep =
        std::min(config.averaging, (state.iteration + 1.0) / (state.iteration + 10.0));
    const PolicyWeights present = state.GetWeights();
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        auto& mean = state.averaged.heads[head].values;
        for (std::size_t i = 0; i < mean.size(); ++i)
        {
            mean[i] = keep * mean[i] + (1 - keep) * present.heads[head].values[i];
        }
    }
}

void
PolicyTrainer::Impl::ValidateWeights(TrainingProgress& progress)
{
    const PolicyWeights present = state.GetWeights();
    progress.isValidated = true;
    progress.validation = Validate(present, config, slices.GetGroup());
    progress.validationAveraged = Validate(state.averaged, config, slices.GetGroup());
    if (progress.validationAveraged <= state.bestValidation)
    {
        state.bestValidation = progress.validationAveraged;
        state.best = state.averaged;
        progress.isBest = true;
    }
    if (progress.validation < state.bestValidation)
    {
        state.bestValidation = progress.validation;
        state.best = present;
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
    m_impl->state.averaged = weights;
    m_impl->state.best = weights;
    m_impl->state.SetWeights(weights);
}

uint32_t
PolicyTrainer::GetIteration() const
{
    return m_impl->state.iteration;
}

PolicyWeights
PolicyTrainer::GetBestWeights() const
{
    const TrainingState& state = m_impl->state;
    return std::isfinite(state.bestValidation) ? state.best : state.averaged;
}

PolicyWeights
PolicyTrainer::GetWeights() const
{
    return m_impl->state.GetWeights();
}

std::vector<float>
PolicyTrainer::Score(PolicyHead head, const std::vector<float>& rows) const
{
    const torch::NoGradGuard noGradient;
    const int64_t nFeatures = GetPolicyFeatures(head).size();
    const torch::Tensor scores = m_impl->state.networks[static_cast<std::size_t>(head)]->forward(
        torch::tensor(rows, torch::kFloat32).view({-1, nFeatures}));
    return {scores.data_ptr<float>(), scores.data_ptr<float>() + scores.numel()};
}

void
PolicyTrainer::Save(const std::string& path) const
{
    WriteFileAtomically(path, m_impl->state.Serialize());
}

void
PolicyTrainer::Load(const std::string& path)
{
    m_impl->state.Load(path);
}

void
PolicyTrainer::FollowRankZero()
{
    m_impl->state.Follow(m_impl->slices.GetGroup());
}

} // namespace ns3::allreduce
