/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/advantage-estimate.h"
#include "ns3/policy-trainer.h"
#include "ns3/test.h"
#include "ns3/training-problems.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return a configuration that trains in seconds
TrainingConfig
MakeSmallConfig()
{
    TrainingConfig config;
    config.topologies = {"bcube:3,1", "dcell:2,1"};
    config.validation = {"bcube:3,1", "dcell:3,1"};
    config.validation_seeds = 1;
    config.validation_drawn = 4;
    config.validation_every = 2;
    config.validation_from = 1;
    config.most_chunks = 18;
    config.problems = 3;
    config.rollouts = 4;
    config.iterations = 4;
    return config;
}

bool
AreEqual(const PolicyWeights& x, const PolicyWeights& y)
{
    return std::all_of(POLICY_HEADS.begin(), POLICY_HEADS.end(), [&](PolicyHead head) {
        return x.Get(head).values == y.Get(head).values;
    });
}

/// @brief Planning and training compute the same.
class InferenceTestCase : public TestCase
{
  public:
    InferenceTestCase()
        : TestCase("the hand-written perceptron gives what LibTorch gives")
    {
    }

  private:
    void DoRun() override
    {
        const PolicyTrainer trainer(MakeSmallConfig());
        const PolicyWeights weights = trainer.GetWeights();
        std::mt19937_64 random(1);
        std::normal_distribution<float> normal;
        for (const PolicyHead head : POLICY_HEADS)
        {
            const uint32_t nRows = 50;
            std::vector<float> rows(nRows * weights.Get(head).nInputs);
            for (float& feature : rows)
            {
                feature = normal(random);
            }
            std::vector<float> scores(nRows);
            weights.Get(head).Score(rows.data(), nRows, scores.data());
            const std::vector<float> expected = trainer.Score(head, rows);
            for (uint32_t i = 0; i < nRows; ++i)
            {
                NS_TEST_ASSERT_MSG_EQ_TOL(scores[i], expected[i], 1e-5, GetPolicyHeadName(head));
            }
        }
    }
};

/// @brief Problems to train on.
class TrainingProblemsTestCase : public TestCase
{
  public:
    TrainingProblemsTestCase()
        : TestCase("a seed draws the same problem; validation is the same for all trainings")
    {
    }

  private:
    void DoRun() override
    {
        const TrainingConfig config;
        uint32_t nOpen = 0;
        uint32_t nFinal = 0;
        for (uint64_t seed = 1; seed <= 100; ++seed)
        {
            const TrainingProblem drawn = DrawTrainingProblem(config, seed);
            CheckEqual(drawn, DrawTrainingProblem(config, seed));
            CheckEqual(drawn, ReadTrainingProblem(config, seed, WriteTrainingProblem(drawn)));
            NS_TEST_ASSERT_MSG_EQ(drawn.problem.topology, drawn.topology.get(), "its own network");
            NS_TEST_ASSERT_MSG_LT_OR_EQ(drawn.problem.GetNChunks(),
                                        std::max(config.most_chunks, drawn.topology->GetNServers()),
                                        "most_chunks, or one for each server");
            const auto& isOpen = drawn.problem.isOpen;
            const uint32_t n = std::count(isOpen.begin(), isOpen.end(), true);
            nOpen += n;
            nFinal += isOpen.size() - n;
        }
        NS_TEST_ASSERT_MSG_GT(nOpen, 500, "chunks with something to reduce");
        NS_TEST_ASSERT_MSG_GT(nFinal, 500, "chunks that are final");
        TrainingConfig other;
        other.seed = 99;
        for (uint32_t i = 0; i < CountValidationProblems(config); i += 7)
        {
            CheckEqual(MakeValidationProblem(config, i), MakeValidationProblem(other, i));
        }
    }

    void CheckEqual(const TrainingProblem& x, const TrainingProblem& y)
    {
        NS_TEST_ASSERT_MSG_EQ(x.topology->GetName(), y.topology->GetName(), "network");
        NS_TEST_ASSERT_MSG_EQ((x.problem.roots == y.problem.roots), true, "roots");
        NS_TEST_ASSERT_MSG_EQ((x.problem.capacity == y.problem.capacity), true, "capacity");
        NS_TEST_ASSERT_MSG_EQ((x.problem.isOpen == y.problem.isOpen), true, "open chunks");
        NS_TEST_ASSERT_MSG_EQ((x.problem.parents == y.problem.parents), true, "trees");
        NS_TEST_ASSERT_MSG_EQ((x.problem.partners == y.problem.partners), true, "partners");
        NS_TEST_ASSERT_MSG_EQ(x.problem.nRounds, y.problem.nRounds, "rounds");
        NS_TEST_ASSERT_MSG_EQ(x.problem.nRoundsDone, y.problem.nRoundsDone, "rounds done");
        NS_TEST_ASSERT_MSG_EQ((x.problem.prices == y.problem.prices), true, "prices");
        NS_TEST_ASSERT_MSG_EQ((x.problem.partOf == y.problem.partOf), true, "parts");
        NS_TEST_ASSERT_MSG_EQ(x.problem.nParts, y.problem.nParts, "number of parts");
        NS_TEST_ASSERT_MSG_EQ((x.problem.due == y.problem.due), true, "when sums are due");
        NS_TEST_ASSERT_MSG_EQ(x.problem.mayCoresShrink, y.problem.mayCoresShrink, "cores");
        NS_TEST_ASSERT_MSG_EQ(x.problem.wants.GetNColumns(), 0, "all want all");
        NS_TEST_ASSERT_MSG_EQ(y.problem.wants.GetNColumns(), 0, "all want all");
    }
};

/// @brief Generalized advantage estimation, from its definition.
class AdvantageTestCase : public TestCase
{
  public:
    AdvantageTestCase()
        : TestCase("advantages are those of the definition, normalized for each policy")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (const double lambda : {0.0, 0.5, 0.95, 1.0})
        {
            TrainingConfig config;
            config.rollouts = 3;
            config.lambda = lambda;
            config.pick_lambda = 0.7;
            config.group_weight = lambda;
            config.most_advantage = 1.5;
            std::vector<Episode> episodes;
            for (uint32_t i = 0; i < 4 * config.rollouts; ++i)
            {
                episodes.push_back(DrawEpisode(random));
            }
            Check(episodes, PolicyWeights::MakeInitial(5), config);
        }
    }

    Episode DrawEpisode(TestRandom& random)
    {
        std::normal_distribution<float> normal;
        Episode episode;
        episode.nRounds = 1 + Draw(random, 9);
        auto& rows = episode.rows[static_cast<std::size_t>(PolicyHead::VALUE)];
        for (uint32_t round = 0; round < episode.nRounds; ++round)
        {
            for (std::size_t i = 0; i < GetPolicyFeatures(PolicyHead::VALUE).size(); ++i)
            {
                rows.push_back(normal(random));
            }
            episode.rewards.push_back(normal(random));
            for (uint32_t i = Draw(random, 4); i > 0; --i)
            {
                episode.decisions.push_back({PolicyHead::TREE, 1, 0, round, 0, 0, 0});
            }
            for (uint32_t i = Draw(random, 12); i > 0; --i)
            {
                const PolicyHead head = POLICY_HEADS[Draw(random, 3)];
                episode.decisions.push_back({head, 2, 0, round, 0, 0, normal(random)});
            }
        }
        return episode;
    }

    void Check(const std::vector<Episode>& episodes,
               const PolicyWeights& weights,
               const TrainingConfig& config)
    {
        std::vector<double> lengths;
        for (const Episode& episode : episodes)
        {
            lengths.push_back(episode.nRounds);
        }
        AdvantageEstimate estimate =
            EstimateAdvantages(episodes,
                               ComputeGroupAdvantages(lengths, config.rollouts),
                               weights,
                               config);
        NormalizeAdvantages(episodes,
                            AddUpAdvantages(episodes, estimate),
                            config.most_advantage,
                            estimate);
        std::vector<float> returns;
        std::vector<float> values;
        std::vector<std::vector<double>> advantages;
        for (std::size_t i = 0; i < episodes.size(); ++i)
        {
            const std::vector<float> ofEpisode = FindValues(episodes[i], weights);
            values.insert(values.end(), ofEpisode.begin(), ofEpisode.end());
            for (uint32_t round = 0; round < episodes[i].nRounds; ++round)
            {
                returns.push_back(EstimateRound(episodes[i], ofEpisode, round, config.lambda) +
                                  ofEpisode[round]);
            }
            advantages.push_back(EstimateDecisions(episodes, i, ofEpisode, config));
        }
        CheckNear(estimate.returns, returns, "returns");
        CheckNear(estimate.values, values, "values");
        NormalizeOneOf(episodes, advantages, true, config.most_advantage);
        NormalizeOneOf(episodes, advantages, false, config.most_advantage);
        for (std::size_t i = 0; i < episodes.size(); ++i)
        {
            CheckNear(estimate.ofDecisions[i],
                      {advantages[i].begin(), advantages[i].end()},
                      "advantages");
        }
    }

    std::vector<float> FindValues(const Episode& episode, const PolicyWeights& weights)
    {
        std::vector<float> values(episode.nRounds);
        weights.Get(PolicyHead::VALUE)
            .Score(episode.rows[static_cast<std::size_t>(PolicyHead::VALUE)].data(),
                   values.size(),
                   values.data());
        return values;
    }

    /// @return the sum of lambda^k times the TD error k rounds later
    double EstimateRound(const Episode& episode,
                         const std::vector<float>& values,
                         uint32_t round,
                         double lambda)
    {
        double sum = 0;
        for (uint32_t k = round; k < episode.nRounds; ++k)
        {
            const double next = k + 1 < episode.nRounds ? values[k + 1] : 0;
            sum += std::pow(lambda, k - round) * (episode.rewards[k] + next - values[k]);
        }
        return sum;
    }

    /// @return before they are normalized: what the round was worth, how much shorter the plan was
    /// than others of the problem, and what this pick and later ones of the round earned
    std::vector<double> EstimateDecisions(const std::vector<Episode>& episodes,
                                          std::size_t index,
                                          const std::vector<float>& values,
                                          const TrainingConfig& config)
    {
        const Episode& episode = episodes[index];
        double meanLength = 0;
        for (uint32_t i = 0; i < config.rollouts; ++i)
        {
            const std::size_t other = index - index % config.rollouts + i;
            meanLength += episodes[other].nRounds / double(config.rollouts);
        }
        std::vector<double> advantages;
        for (std::size_t i = 0; i < episode.decisions.size(); ++i)
        {
            const Decision& decision = episode.decisions[i];
            advantages.push_back(EstimateRound(episode, values, decision.round, config.lambda) +
                                 config.group_weight * (meanLength - episode.nRounds));
            double discount = 1;
            for (std::size_t k = i;
                 decision.head != PolicyHead::TREE && k < episode.decisions.size() &&
                 episode.decisions[k].round == decision.round;
                 ++k)
            {
                advantages.back() += discount * episode.decisions[k].reward;
                discount *= config.pick_lambda;
            }
        }
        return advantages;
    }

    /// To mean 0 and deviation 1, and then cut.
    void NormalizeOneOf(const std::vector<Episode>& episodes,
                        std::vector<std::vector<double>>& advantages,
                        bool isUpper,
                        double most)
    {
        std::vector<double*> all;
        for (std::size_t i = 0; i < episodes.size(); ++i)
        {
            for (std::size_t k = 0; k < advantages[i].size(); ++k)
            {
                if ((episodes[i].decisions[k].head == PolicyHead::TREE) == isUpper)
                {
                    all.push_back(&advantages[i][k]);
                }
            }
        }
        double mean = 0;
        double variance = 0;
        for (const double* x : all)
        {
            mean += *x / all.size();
        }
        for (const double* x : all)
        {
            variance += (*x - mean) * (*x - mean) / all.size();
        }
        for (double* x : all)
        {
            *x = std::clamp((*x - mean) / std::sqrt(variance), -most, most);
        }
    }

    void CheckNear(const std::vector<float>& found,
                   const std::vector<float>& expected,
                   const std::string& what)
    {
        NS_TEST_ASSERT_MSG_EQ(found.size(), expected.size(), what);
        for (std::size_t i = 0; i < found.size(); ++i)
        {
            NS_TEST_ASSERT_MSG_EQ_TOL(found[i], expected[i], 1e-3, what << " " << i);
        }
    }
};

/// @brief Training reaches every weight, and is the same whether it is interrupted or not.
class ResumeTestCase : public TestCase
{
  public:
    ResumeTestCase()
        : TestCase("training moves the weights of all heads; stopped and resumed it gives the same")
    {
    }

  private:
    void DoRun() override
    {
        const TrainingConfig config = MakeSmallConfig();
        PolicyTrainer unbroken(config);
        const PolicyWeights before = unbroken.GetWeights();
        for (uint32_t i = 0; i < config.iterations; ++i)
        {
            CheckProgress(unbroken.Step(), i + 1);
        }
        for (const PolicyHead head : POLICY_HEADS)
        {
            CheckMoved(head, before.Get(head), unbroken.GetWeights().Get(head));
        }
        const std::string path = CreateTempDirFilename("training.state");
        PolicyTrainer first(config);
        first.Step();
        first.Step();
        first.Save(path);
        PolicyTrainer second(config);
        second.Load(path);
        NS_TEST_ASSERT_MSG_EQ(second.GetIteration(), 2, "iteration");
        second.Step();
        const uint64_t nDecisions = second.Step().nDecisions;
        NS_TEST_ASSERT_MSG_EQ(nDecisions, m_nDecisions, "decisions in all");
        NS_TEST_ASSERT_MSG_EQ(AreEqual(second.GetWeights(), unbroken.GetWeights()), true, "now");
        NS_TEST_ASSERT_MSG_EQ(AreEqual(second.GetBestWeights(), unbroken.GetBestWeights()),
                              true,
                              "best");
        CheckRefusals(path);
    }

    void CheckProgress(const TrainingProgress& progress, uint32_t iteration)
    {
        NS_TEST_ASSERT_MSG_EQ(progress.iteration, iteration, "iterations done");
        NS_TEST_ASSERT_MSG_GT(progress.nDecisions, m_nDecisions, "more decisions");
        m_nDecisions = progress.nDecisions;
        NS_TEST_ASSERT_MSG_EQ(progress.isValidated, (iteration % 2 == 0), "validated");
        NS_TEST_ASSERT_MSG_GT_OR_EQ(progress.excessRounds, 0, "rounds over the least");
        for (const double share : {progress.selectedShare, progress.clipfrac})
        {
            NS_TEST_ASSERT_MSG_EQ((share >= 0 && share <= 1), true, "a share");
        }
        for (const double positive : {progress.entropy, progress.upperEntropy, progress.approxKl})
        {
            NS_TEST_ASSERT_MSG_EQ((positive >= 0 && std::isfinite(positive)), true, "positive");
        }
        NS_TEST_ASSERT_MSG_EQ(std::isfinite(progress.explainedVariance), true, "explained");
        NS_TEST_ASSERT_MSG_LT_OR_EQ(progress.explainedVariance, 1, "explained");
        NS_TEST_ASSERT_MSG_LT_OR_EQ(progress.upperEntropy, std::log(2) + 1e-6, "a yes or no");
    }

    /// Where no feature was ever other than zero a weight has no gradient; most must have one.
    void CheckMoved(PolicyHead head,
                    const PerceptronWeights& before,
                    const PerceptronWeights& after)
    {
        std::size_t nMoved = 0;
        for (std::size_t i = 0; i < before.values.size(); ++i)
        {
            nMoved += before.values[i] != after.values[i];
        }
        NS_TEST_ASSERT_MSG_GT(nMoved, before.values.size() * 8 / 10, GetPolicyHeadName(head));
    }

    void CheckRefusals(const std::string& path)
    {
        TrainingConfig other = MakeSmallConfig();
        other.seed = 99;
        CheckRefused(other, path, "another configuration");
        other = MakeSmallConfig();
        other.reward.lostRound = 3;
        CheckRefused(other, path, "another configuration");
        std::ifstream in(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        std::ofstream(path, std::ios::binary) << text.substr(0, text.size() / 2);
        CheckRefused(MakeSmallConfig(), path, "not a training state");
        std::ofstream(path) << "nonsense";
        CheckRefused(MakeSmallConfig(), path, "not a training state");
        CheckRefused(MakeSmallConfig(), path + "-nowhere", "not there");
    }

    void CheckRefused(const TrainingConfig& config, const std::string& path, const std::string& why)
    {
        const std::string error = GetError([&] { PolicyTrainer(config).Load(path); });
        NS_TEST_ASSERT_MSG_EQ(Contains(error, why), true, why << " in: " << error);
        NS_TEST_ASSERT_MSG_EQ(Contains(error, path), true, "the file in: " << error);
    }

    uint64_t m_nDecisions{0}; //!< made so far
};

/// @brief Who trains: threads, and how many processes there can be.
class TrainingGroupTestCase : public TestCase
{
  public:
    TrainingGroupTestCase()
        : TestCase("the number of threads does not change a weight; processes without a slice are "
                   "refused")
    {
    }

  private:
    void DoRun() override
    {
        TrainingConfig config = MakeSmallConfig();
        config.slices = 5; // does not divide the 12 rollouts
        const PolicyWeights expected = Train(config, std::make_shared<TrainingGroup>(1));
        for (const uint32_t nThreads : {2, 3, 7})
        {
            const PolicyWeights weights = Train(config, std::make_shared<TrainingGroup>(nThreads));
            NS_TEST_EXPECT_MSG_EQ(AreEqual(weights, expected), true, nThreads << " threads");
        }
        NS_TEST_EXPECT_MSG_EQ(GetError([&] { CheckTrainingSize(config, 5); }), "", "5 slices");
        const std::string error = GetError([&] { CheckTrainingSize(config, 6); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, "5 slices and 12 rollouts"), true, error);
        config.slices = 50;
        NS_TEST_EXPECT_MSG_EQ(GetError([&] { CheckTrainingSize(config, 12); }), "", "12 rollouts");
        NS_TEST_EXPECT_MSG_NE(GetError([&] { CheckTrainingSize(config, 13); }), "", "too many");
    }

    PolicyWeights Train(const TrainingConfig& config, std::shared_ptr<const TrainingGroup> group)
    {
        PolicyTrainer trainer(config, std::move(group));
        trainer.Step();
        trainer.Step();
        return trainer.GetWeights();
    }
};

/// @brief What the environment says about other processes.
class TrainingPlaceTestCase : public TestCase
{
  public:
    TrainingPlaceTestCase()
        : TestCase("RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are read, or refused by name")
    {
    }

  private:
    using Variables = std::map<std::string, std::string>;

    void DoRun() override
    {
        const Variables right{{"RANK", "2"},
                              {"WORLD_SIZE", "3"},
                              {"MASTER_ADDR", "10.0.0.1"},
                              {"MASTER_PORT", "29500"}};
        NS_TEST_EXPECT_MSG_EQ(Read({}).size, 1, "on its own");
        const TrainingProcess place = Read(right);
        NS_TEST_EXPECT_MSG_EQ(place.rank, 2, "rank");
        NS_TEST_EXPECT_MSG_EQ(place.size, 3, "size");
        NS_TEST_EXPECT_MSG_EQ(place.sizeHere, 1, "processes here");
        NS_TEST_EXPECT_MSG_EQ(place.address, "10.0.0.1", "address");
        NS_TEST_EXPECT_MSG_EQ(place.port, 29500, "port");
        NS_TEST_EXPECT_MSG_EQ(Read(With(right, "LOCAL_WORLD_SIZE", "3")).sizeHere, 3, "here");
        for (const auto& [name, value] : right)
        {
            CheckRefused(With(right, name, ""), name + ": not set");
        }
        CheckRefused(With(right, "RANK", "3"), "RANK 3: expected a whole number from 0 to 2");
        CheckRefused(With(right, "RANK", "-1"), "RANK \"-1\"");
        CheckRefused(With(right, "WORLD_SIZE", "0"), "WORLD_SIZE 0");
        CheckRefused(With(right, "WORLD_SIZE", "three"), "WORLD_SIZE \"three\"");
        CheckRefused(With(right, "MASTER_PORT", "0"), "MASTER_PORT 0");
        CheckRefused(With(right, "MASTER_PORT", "65536"), "MASTER_PORT 65536");
        CheckRefused(With(right, "LOCAL_WORLD_SIZE", "4"), "LOCAL_WORLD_SIZE 4");
        Read({}); // leaves the variables empty, which is as good as not set
    }

    static Variables With(Variables variables, const std::string& name, const std::string& value)
    {
        variables[name] = value;
        return variables;
    }

    /// @return what is read where these variables are set, and no others of those that are read
    static TrainingProcess Read(const Variables& variables)
    {
        const std::vector<std::string> names{"RANK",
                                             "WORLD_SIZE",
                                             "LOCAL_WORLD_SIZE",
                                             "MASTER_ADDR",
                                             "MASTER_PORT"};
        for (const std::string& name : names)
        {
            const auto variable = variables.find(name);
            setenv(name.c_str(), variable == variables.end() ? "" : variable->second.c_str(), 1);
        }
        return ReadTrainingProcess();
    }

    void CheckRefused(const Variables& variables, const std::string& why)
    {
        const std::string error = GetError([&] { Read(variables); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, why), true, why << " in: " << error);
    }
};

/// @brief A little training helps.
class LearningTestCase : public TestCase
{
  public:
    LearningTestCase()
        : TestCase("after some iterations the policies plan shorter than untrained ones")
    {
    }

  private:
    void DoRun() override
    {
        TrainingConfig config;
        config.topologies = {"bcube:3,1", "dcell:3,1"};
        config.validation = {"bcube:3,1", "dcell:3,1"};
        config.validation_drawn = 20;
        config.validation_from = 1000;
        config.problems = 4;
        config.iterations = 30;
        config.forward = 0; // what these take at least is known too roughly
        config.most_chunks = 36;
        PolicyTrainer trainer(config);
        trainer.Import(PolicyWeights::MakeInitial(1)); // the rule of thumb is hard to beat so soon
        const double before = Validate(trainer.GetWeights(), config);
        while (trainer.GetIteration() < config.iterations)
        {
            trainer.Step();
        }
        const double after = Validate(trainer.GetWeights(), config);
        NS_TEST_EXPECT_MSG_LT(after - 1, 0.7 * (before - 1), "length over the least possible");
    }
};

/// @brief Training that runs away.
class DivergenceTestCase : public TestCase
{
  public:
    DivergenceTestCase()
        : TestCase("training ends with an error when a weight is no longer a finite number")
    {
    }

  private:
    void DoRun() override
    {
        TrainingConfig config = MakeSmallConfig();
        config.learning_rate = 1e9;
        config.learning_rate_end = 1e9;
        config.gradient_norm = 1e9;
        config.iterations = 10;
        config.validation_from = 100;
        PolicyTrainer trainer(config);
        const std::string error = GetError([&] {
            while (trainer.GetIteration() < config.iterations)
            {
                trainer.Step();
            }
        });
        NS_TEST_ASSERT_MSG_EQ(Contains(error, "a weight is not a finite number"), true, error);
        NS_TEST_ASSERT_MSG_EQ(Contains(error, "learning_rate"), true, "and says what to do");
    }
};

/// @ingroup allreduce-tests
/// @brief The training of the two policies.
class PolicyTrainingTestSuite : public TestSuite
{
  public:
    PolicyTrainingTestSuite()
        : TestSuite("allreduce-policy-training", TestSuite::Type::UNIT)
    {
        AddTestCase(new InferenceTestCase);
        AddTestCase(new TrainingProblemsTestCase, EXTENSIVE);
        AddTestCase(new AdvantageTestCase);
        AddTestCase(new ResumeTestCase, EXTENSIVE);
        AddTestCase(new TrainingGroupTestCase, EXTENSIVE);
        AddTestCase(new TrainingPlaceTestCase);
        AddTestCase(new LearningTestCase, EXTENSIVE);
        AddTestCase(new DivergenceTestCase);
    }
};

PolicyTrainingTestSuite g_policyTrainingTestSuite; //!< registers the suite

} // namespace
