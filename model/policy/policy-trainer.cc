/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-trainer.h"

#include "episode-batch.h"
#include "parallel-for.h"
#include "plan-imitation.h"
#include "policy-checkpoint.h"
#include "policy-network.h"
#include "policy-rollout.h"
#include "staggered-plan.h"
#include "training-problems.h"

#include "ns3/allreduce-error.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

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
GetMostRounds(const TrainingProblem& problem)
{
    return 3 * problem.nChunks + 20;
}

/// @return the length of a staggered plan over the least of a plan whose halves do not overlap
double
GetStaggeredRatio(const EpisodeRecord& record)
{
    return record.nRounds / (2.0 * record.nRoundsNeeded);
}

double
GetMean(const std::vector<double>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

/// @param [in,out] records those of a problem one after another @param nRollouts of a problem
void
FindLeads(std::vector<EpisodeRecord>& records, uint32_t nRollouts)
{
    for (std::size_t first = 0; first < records.size(); first += nRollouts)
    {
        double mean = 0;
        for (std::size_t i = first; i < first + nRollouts; ++i)
        {
            mean += static_cast<double>(records[i].nRounds) / nRollouts;
        }
        for (std::size_t i = first; i < first + nRollouts; ++i)
        {
            records[i].lead = mean - records[i].nRounds;
        }
    }
}

/**
 * Half of the plans that are followed begin where the policies themselves have led: else they
 * would never see how to go on from there.
 */
EpisodeRecord
Imitate(TrainingProblem problem, const PolicyWeights& weights, const RolloutOptions& options)
{
    if (options.seed % 2 == 1)
    {
        const std::vector<WorkloadList> own =
            RunRollout(*problem.MakeEnvironment(), weights, options);
        PlayBeginning(problem, own, own.empty() ? 0 : options.seed / 2 % own.size());
    }
    const std::vector<WorkloadList> plan = PlanGreedily(problem, options.seed);
    return RecordPlan(*problem.MakeEnvironment(), plan, weights, options.seed);
}

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

/**
 * @param logProbability of the choices, now
 * @param batch the choices
 * @param clip PPO's limit on the ratio of probabilities
 * @return the loss
 */
torch::Tensor
ComputePolicyLoss(const torch::Tensor& logProbability, const DecisionBatch& batch, double clip)
{
    if (batch.isImitated)
    {
        return -(logProbability * batch.advantage).mean();
    }
    const torch::Tensor ratio = (logProbability - batch.logProbability).exp();
    return -torch::min(ratio * batch.advantage, ratio.clamp(1 - clip, 1 + clip) * batch.advantage)
                .mean();
}

/// @return the lower policy's loss on some decisions, and their mean entropy
std::pair<torch::Tensor, torch::Tensor>
ComputeSoftmaxLoss(const torch::Tensor& scores, const DecisionBatch& batch, double clip)
{
    // A softmax over each decision's rows.
    const torch::Tensor shifted =
        scores - FindLargest(scores.detach(), batch).index_select(0, batch.decisionOfRow);
    const torch::Tensor sums =
        torch::zeros({batch.nDecisions}).index_add(0, batch.decisionOfRow, shifted.exp()).log();
    const torch::Tensor logProbabilities = shifted - sums.index_select(0, batch.decisionOfRow);
    const torch::Tensor entropy =
        -(logProbabilities.exp() * logProbabilities).sum() / batch.nDecisions;
    const torch::Tensor chosen = logProbabilities.index_select(0, batch.chosenRow);
    return {ComputePolicyLoss(chosen, batch, clip), entropy};
}

/// @return the upper policy's loss on some decisions, and their mean entropy
std::pair<torch::Tensor, torch::Tensor>
ComputeBernoulliLoss(const torch::Tensor& scores, const DecisionBatch& batch, double clip)
{
    const torch::Tensor isSelected = batch.choice;
    const torch::Tensor logYes = torch::log_sigmoid(scores);
    const torch::Tensor logNo = torch::log_sigmoid(-scores);
    const torch::Tensor logProbability = isSelected * logYes + (1 - isSelected) * logNo;
    const torch::Tensor entropy = -(logYes.exp() * logYes + logNo.exp() * logNo).mean();
    return {ComputePolicyLoss(logProbability, batch, clip), entropy};
}

} // namespace

/// Networks and optimizers.
struct PolicyTrainer::Impl
{
    explicit Impl(const TrainingConfig& trainingConfig);

    PolicyWeights Export() const;
    std::vector<EpisodeRecord> RollOut(const PolicyWeights& weights) const;
    std::vector<EpisodeRecord> RollOutStaggered(const PolicyWeights& weights) const;
    bool IsImitating() const;
    bool IsUpperImitating() const;
    void UpdatePolicies(EpisodeBatch& batch, TrainingProgress& progress);
    void UpdateHead(PolicyHead head, const DecisionBatch& batch, double& entropySum);
    void UpdateCritic(const EpisodeBatch& batch, TrainingProgress& progress);
    void TakeStep(PolicyHead head, const torch::Tensor& loss, double rateFactor);
    void UpdateAverage();
    void ValidateWeights(TrainingProgress& progress);
    double GetShareDone() const;

    TrainingConfig config;                                          //!< how to train
    PlanMode mode;                                                  //!< what is planned
    uint32_t iteration{0};                                          //!< iterations done
    uint64_t nDecisions{0};                                         //!< made so far
    std::vector<Perceptron> networks;                               //!< by head
    std::vector<std::unique_ptr<torch::optim::Adam>> optimizers;    //!< by head
    PolicyWeights averaged;                                         //!< over iterations
    PolicyWeights best;                                             //!< by validation
    double bestValidation{std::numeric_limits<double>::infinity()}; //!< of best
};

PolicyTrainer::Impl::Impl(const TrainingConfig& trainingConfig)
    : config(trainingConfig),
      mode(ParsePlanMode(config.mode, "training")),
      averaged(mode),
      best(mode)
{
    torch::set_num_threads(1);
    averaged = PolicyWeights::MakeInitial(mode, config.seed);
    best = averaged;
    for (const PolicyHead head : POLICY_HEADS)
    {
        networks.emplace_back(GetPolicyFeatures(mode, head).size());
        networks.back()->Import(averaged.Get(head));
        optimizers.push_back(
            std::make_unique<torch::optim::Adam>(networks.back()->parameters(),
                                                 torch::optim::AdamOptions(config.learning_rate)));
    }
}

PolicyWeights
PolicyTrainer::Impl::Export() const
{
    PolicyWeights weights(mode);
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

bool
PolicyTrainer::Impl::IsImitating() const
{
    return iteration < config.imitation;
}

bool
PolicyTrainer::Impl::IsUpperImitating() const
{
    return mode == PlanMode::FORWARD ? IsImitating()
                                     : iteration < config.upper_from + config.upper_imitation;
}

std::vector<EpisodeRecord>
PolicyTrainer::Impl::RollOutStaggered(const PolicyWeights& weights) const
{
    const bool isAsked = mode == PlanMode::MIRRORED && iteration >= config.upper_from;
    const uint32_t nProblems = isAsked ? config.staggered : 0;
    const uint32_t nRollouts = IsUpperImitating() ? 1 : config.rollouts;
    std::vector<TrainingProblem> problems(nProblems);
    RunParallel(nProblems, [&](uint32_t i) {
        problems[i] = DrawStaggeredProblem(config, MakeSeed(config.seed, iteration, 10'000 + i));
    });
    std::vector<EpisodeRecord> records(nProblems * nRollouts);
    RunParallel(records.size(), [&](uint32_t i) {
        const auto& state = std::get<AllReduceState>(problems[i / nRollouts].start);
        RolloutOptions options;
        options.seed = MakeSeed(config.seed, iteration, 20'000 + i);
        options.samplesTrees = true;
        options.recordsTrees = true;
        if (IsUpperImitating())
        {
            records[i] = FindBestStagger(state, weights, options.seed);
            return;
        }
        PlanStaggered(state, weights, options, &records[i]);
    });
    FindLeads(records, nRollouts);
    return records;
}

std::vector<EpisodeRecord>
PolicyTrainer::Impl::RollOut(const PolicyWeights& weights) const
{
    const uint32_t nHalves = mode == PlanMode::MIRRORED ? config.halves : 0;
    std::vector<TrainingProblem> problems(config.problems + nHalves);
    RunParallel(problems.size(), [&](uint32_t i) {
        const uint64_t seed = MakeSeed(config.seed, iteration, i);
        problems[i] = i < config.problems ? DrawTrainingProblem(config, seed)
                                          : DrawHalf(config, seed, weights);
    });
    std::vector<EpisodeRecord> records(problems.size() * config.rollouts);
    RunParallel(records.size(), [&](uint32_t i) {
        RolloutOptions options;
        options.mode = RolloutMode::SAMPLE;
        options.seed = MakeSeed(config.seed, iteration, 1000 + i);
        const TrainingProblem& problem = problems[i / config.rollouts];
        options.mostRounds = GetMostRounds(problem);
        options.stagger = problem.stagger;
        if (IsImitating())
        {
            records[i] = Imitate(problem, weights, options);
            return;
        }
        RunRollout(*problem.MakeEnvironment(), weights, options, &records[i]);
        records[i].isHalf = i >= config.problems * config.rollouts;
    });
    FindLeads(records, config.rollouts);
    return records;
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
PolicyTrainer::Impl::UpdateHead(PolicyHead head, const DecisionBatch& batch, double& entropySum)
{
    const torch::Tensor scores = networks[static_cast<std::size_t>(head)]->forward(batch.rows);
    const auto [loss, entropy] = head == PolicyHead::TREE
                                     ? ComputeBernoulliLoss(scores, batch, config.clip)
                                     : ComputeSoftmaxLoss(scores, batch, config.clip);
    entropySum += entropy.item<double>();
    const double weight = batch.isImitated ? 0 : config.entropy * (1 - GetShareDone());
    TakeStep(head, loss - weight * entropy, head == PolicyHead::TREE ? config.upper_rate : 1);
}

void
PolicyTrainer::Impl::UpdatePolicies(EpisodeBatch& batch, TrainingProgress& progress)
{
    double entropySum = 0;
    uint32_t nUpdates = 0;
    for (uint32_t epoch = 0; epoch < config.epochs; ++epoch)
    {
        for (const PolicyHead head :
             {PolicyHead::PORT, PolicyHead::SENDER, PolicyHead::CHUNK, PolicyHead::TREE})
        {
            batch.Shuffle(head, MakeSeed(config.seed, iteration, 100'000 + epoch));
            for (uint32_t i = 0; i < config.minibatches; ++i)
            {
                const DecisionBatch part = batch.MakeMinibatch(head, i, config.minibatches);
                if (part.nDecisions > 0)
                {
                    UpdateHead(head, part, entropySum);
                    ++nUpdates;
                }
            }
        }
        UpdateCritic(batch, progress);
    }
    progress.entropy = nUpdates > 0 ? entropySum / nUpdates : 0;
}

void
PolicyTrainer::Impl::UpdateCritic(const EpisodeBatch& batch, TrainingProgress& progress)
{
    const torch::Tensor values =
        networks[static_cast<std::size_t>(PolicyHead::VALUE)]->forward(batch.GetValueRows());
    const torch::Tensor loss = torch::mse_loss(values, batch.GetReturns());
    progress.valueError = loss.item<double>();
    TakeStep(PolicyHead::VALUE, loss, 2);
    for (uint32_t i = 1; i < config.minibatches; ++i)
    {
        const torch::Tensor again =
            networks[static_cast<std::size_t>(PolicyHead::VALUE)]->forward(batch.GetValueRows());
        TakeStep(PolicyHead::VALUE, torch::mse_loss(again, batch.GetReturns()), 2);
    }
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
    if (progress.validationAveraged.GetScore() <= bestValidation)
    {
        bestValidation = progress.validationAveraged.GetScore();
        best = averaged;
        progress.isBest = true;
    }
    if (progress.validation.GetScore() < bestValidation)
    {
        bestValidation = progress.validation.GetScore();
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

TrainingProgress
PolicyTrainer::Step()
{
    TrainingProgress progress;
    const PolicyWeights weights = m_impl->Export();
    std::vector<EpisodeRecord> records = m_impl->RollOut(weights);
    std::vector<EpisodeRecord> staggered = m_impl->RollOutStaggered(weights);
    for (const EpisodeRecord& record : records)
    {
        progress.excessRounds +=
            (static_cast<double>(record.nRounds) - record.nRoundsNeeded) / records.size();
        progress.selectedShare += record.selectedShare / records.size();
        m_impl->nDecisions += record.decisions.size();
    }
    if (!staggered.empty())
    {
        progress.selectedShare = 0;
    }
    for (EpisodeRecord& record : staggered)
    {
        progress.staggered += GetStaggeredRatio(record) / staggered.size();
        progress.selectedShare += record.selectedShare / staggered.size();
        m_impl->nDecisions += record.decisions.size();
        records.push_back(std::move(record));
    }
    EpisodeBatch batch(std::move(records),
                       weights,
                       m_impl->config,
                       m_impl->IsImitating(),
                       m_impl->IsUpperImitating());
    m_impl->UpdatePolicies(batch, progress);
    m_impl->UpdateAverage();
    progress.nDecisions = m_impl->nDecisions;
    progress.iteration = ++m_impl->iteration;
    const TrainingConfig& config = m_impl->config;
    if (m_impl->iteration >= config.validation_from &&
        m_impl->iteration % config.validation_every == 0)
    {
        m_impl->ValidateWeights(progress);
    }
    return progress;
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
    const int64_t nFeatures = GetPolicyFeatures(m_impl->mode, head).size();
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
        if (numbers["config"] != nlohmann::json(m_impl->config.ToJson()))
        {
            FailInput("training state ", path, ": made with another configuration");
        }
        m_impl->iteration = numbers["iteration"];
        m_impl->nDecisions = numbers["decisions"];
        m_impl->bestValidation =
            numbers.value("best_validation", std::numeric_limits<double>::infinity());
        for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
        {
            const std::string name = GetPolicyHeadName(POLICY_HEADS[head]);
            numbers["averaged"][name].get_to(m_impl->averaged.heads[head].values);
            numbers["best"][name].get_to(m_impl->best.heads[head].values);
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
        FailInput("training state ", path, ": not there, cut short or not a training state");
    }
    catch (const nlohmann::json::exception&)
    {
        FailInput("training state ", path, ": damaged");
    }
}

double
Validation::GetScore() const
{
    // A tenth of a plan's length is worth as much as a fifth of a round too many.
    return excessRounds + 2 * (staggered.value_or(1) - 1);
}

Validation
Validate(const PolicyWeights& weights, const TrainingConfig& config)
{
    std::vector<double> excess(CountValidationProblems(config), 0);
    RunParallel(excess.size(), [&](uint32_t i) {
        const TrainingProblem problem = MakeValidationProblem(config, i);
        RolloutOptions options;
        options.seed = i;
        options.mostRounds = GetMostRounds(problem);
        EpisodeRecord record;
        RunRollout(*problem.MakeEnvironment(), weights, options, &record);
        excess[i] = static_cast<double>(record.nRounds) - record.nRoundsNeeded;
    });
    const bool isStaggered = weights.mode == PlanMode::MIRRORED;
    std::vector<double> ratios(isStaggered ? config.validation_staggered : 0, 0);
    RunParallel(ratios.size(), [&](uint32_t i) {
        const TrainingProblem problem = MakeStaggeredValidationProblem(config, i);
        RolloutOptions options;
        options.seed = i;
        EpisodeRecord record;
        PlanStaggered(std::get<AllReduceState>(problem.start), weights, options, &record);
        ratios[i] = GetStaggeredRatio(record);
    });
    Validation validation;
    validation.excessRounds = GetMean(excess);
    if (!ratios.empty())
    {
        validation.staggered = GetMean(ratios);
    }
    return validation;
}

} // namespace ns3::allreduce
