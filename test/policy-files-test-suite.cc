/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/policy-checkpoint.h"
#include "ns3/policy-weights.h"
#include "ns3/test.h"
#include "ns3/training-config.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

/// @brief Configurations of a training.
class TrainingConfigTestCase : public TestCase
{
  public:
    TrainingConfigTestCase()
        : TestCase("a configuration is read as written; keys and values it cannot have are named")
    {
    }

  private:
    void DoRun() override
    {
        CheckRoundTrip();
        CheckUnknownKeys();
        CheckValues();
        CheckDescription();
    }

    void CheckRoundTrip()
    {
        const Json defaults = TrainingConfig().ToJson();
        NS_TEST_ASSERT_MSG_EQ((Read(Json::object()).ToJson() == defaults), true, "defaults");
        Json changed = defaults;
        for (auto& [key, value] : changed.items())
        {
            Change(value);
        }
        const Json again = Read(changed).ToJson();
        for (const auto& [key, value] : changed.items())
        {
            NS_TEST_EXPECT_MSG_EQ((again[key] == value), true, key);
            NS_TEST_EXPECT_MSG_EQ((defaults[key] == value), false, key);
            NS_TEST_EXPECT_MSG_EQ((Read({{key, value}}).ToJson()[key] == value), true, key);
        }
    }

    /// Another value that is possible for the key.
    void Change(Json& value)
    {
        if (value.is_array())
        {
            value = {"torus:3x3"};
        }
        else if (value.is_number_float())
        {
            value = value == 0.5 ? 0.25 : 0.5;
        }
        else
        {
            value = value.get<uint64_t>() + 1;
        }
    }

    /// A key must be known to the letter.
    void CheckUnknownKeys()
    {
        const Json defaults = TrainingConfig().ToJson();
        for (const auto& [key, value] : defaults.items())
        {
            for (const std::string& wrong :
                 {key + "s", key + " ", "x" + key, key.substr(0, key.size() - 1), key.substr(1)})
            {
                if (!defaults.contains(wrong))
                {
                    CheckError({{wrong, value}}, "test.json: unknown key \"" + wrong + "\"");
                }
            }
        }
        CheckError({{"", 1}}, "test.json: unknown key \"\"");
        CheckError({{"Seed", 1}}, "unknown key \"Seed\"");
        CheckError({{"reward", 1}}, "unknown key \"reward\"");
        CheckError({{"seed", 3}, {"staggered", 1}}, "unknown key \"staggered\"");
    }

    void CheckValues()
    {
        CheckError({{"seed", -1}}, "test.json: \"seed\" is -1, expected a whole number");
        CheckError({{"seed", 1.5}}, "\"seed\" is 1.5, expected a whole number");
        CheckError({{"seed", "1"}}, "\"seed\" is \"1\", expected a whole number");
        CheckError({{"problems", 0}}, "\"problems\" is 0, expected a whole number from 1 to");
        CheckError({{"problems", 5'000'000'000}}, "\"problems\" is 5000000000");
        CheckError({{"problems", true}}, "\"problems\" is true");
        CheckError({{"degraded", 1.01}}, "\"degraded\" is 1.01, expected a number from 0 to 1");
        CheckError({{"degraded", -0.01}}, "\"degraded\" is -0.01");
        CheckError({{"lambda", nullptr}}, "\"lambda\" is null, expected a number");
        CheckError({{"learning_rate", 0}}, "\"learning_rate\" is 0");
        CheckError({{"reward_lost_round", -1}}, "\"reward_lost_round\" is -1");
        CheckError({{"topologies", "bcube:3,1"}}, "expected a list of networks");
        CheckError({{"topologies", Json::array()}}, "\"topologies\" is [], expected a list");
        CheckError({{"validation", {"bcube:3,1", 5}}}, "\"validation\" has 5, expected a network");
        CheckError({{"topologies", {""}}}, "\"topologies\" has \"\", expected a network");
        CheckError(Json::array({1}), "test.json: expected a JSON object");
    }

    /// Whoever asks is told of every key.
    void CheckDescription()
    {
        const std::string text = "\n" + TrainingConfig::DescribeKeys();
        const Json defaults = TrainingConfig().ToJson();
        for (const auto& [key, value] : defaults.items())
        {
            NS_TEST_EXPECT_MSG_EQ(Contains(text, "\n" + key + ": "), true, key);
        }
    }

    TrainingConfig Read(const Json& json)
    {
        return TrainingConfig::FromJson(nlohmann::json(json), "test.json");
    }

    void CheckError(const Json& json, const std::string& part)
    {
        const std::string error = GetError([&] { Read(json); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, part), true, part << " in: " << error);
    }
};

/// @brief Checkpoints of policies.
class CheckpointTestCase : public TestCase
{
  public:
    CheckpointTestCase()
        : TestCase("a checkpoint is read back as written; any other file is refused by name")
    {
    }

  private:
    void DoRun() override
    {
        m_path = CreateTempDirFilename("policy-test.json");
        CheckRoundTrip();
        CheckCutShort();
        CheckDamaged();
        std::remove(m_path.c_str());
        CheckError("cannot be opened");
    }

    void CheckRoundTrip()
    {
        const PolicyWeights weights = PolicyWeights::MakeInitial(2);
        TrainingConfig config;
        config.seed = 77;
        WriteCheckpoint(m_path, weights, config.ToJson(), {{"iterations", 1}});
        const PolicyWeights again = ReadCheckpoint(m_path);
        for (const PolicyHead head : POLICY_HEADS)
        {
            NS_TEST_ASSERT_MSG_EQ((again.Get(head).values == weights.Get(head).values),
                                  true,
                                  GetPolicyHeadName(head));
        }
        const Json json = Json::parse(ReadText());
        NS_TEST_ASSERT_MSG_EQ((json["config"] == config.ToJson()), true, "how it was trained");
        NS_TEST_ASSERT_MSG_EQ((json["training"]["iterations"] == 1), true, "and what happened");
    }

    void CheckCutShort()
    {
        const std::string text = ReadText();
        for (const std::size_t length : {std::size_t{1}, text.size() / 2, text.size() - 3})
        {
            CheckRefused(text.substr(0, length), "unexpected end of input");
        }
        CheckRefused("", "unexpected end of input");
        CheckRefused("weights", "parse error at line 1");
        CheckRefused("{}", "not a policy, expected the format allreduce-policy");
        CheckRefused("[1]", "not a policy");
        std::ofstream(m_path) << text;
    }

    void CheckDamaged()
    {
        m_whole = Json::parse(ReadText());
        CheckChanged([](Json& j) { j["format"] = 5; }, "not a policy, expected the format");
        CheckChanged([](Json& j) { j["version"] = 99; }, "version 99, expected");
        CheckChanged([](Json& j) { j["version"] = "2"; }, "version \"2\", expected");
        CheckChanged([](Json& j) { j.erase("version"); }, "expected");
        CheckChanged([](Json& j) { j.erase("networks"); }, "no \"networks\"");
        CheckChanged([](Json& j) { j["networks"] = 1; }, "no \"networks\", expected an object");
        CheckChanged([](Json& j) { j["networks"]["port"] = 1; }, "no network \"port\"");
        CheckChanged([](Json& j) { j["networks"].erase("tree"); }, "no network \"tree\"");
        CheckFeatures();
        const std::size_t nWeights = PolicyWeights().Get(PolicyHead::ITEM).values.size();
        CheckChanged([](Json& j) { j["networks"]["item"]["weights"].erase(0); },
                     "network \"item\" has " + std::to_string(nWeights - 1) +
                         " weights, expected " + std::to_string(nWeights));
        CheckChanged([](Json& j) { j["networks"]["item"]["weights"][5] = "x"; },
                     "weight 5 is \"x\", expected a finite number");
        CheckChanged([](Json& j) { j["networks"]["item"]["weights"][5] = nullptr; },
                     "weight 5 is null, expected a finite number");
        CheckChanged([](Json& j) { j["networks"]["item"]["weights"][5] = 1e300; }, "weight 5 is");
    }

    void CheckFeatures()
    {
        const std::string layout = "has another layout of features than this module: feature ";
        const std::vector<std::string>& known = GetPolicyFeatures(PolicyHead::PORT);
        const std::string last = std::to_string(known.size() - 1);
        CheckChanged([](Json& j) { j["networks"]["port"]["features"][1] = "mood"; },
                     layout + "1 is \"mood\", expected \"" + known[1] +
                         "\"; train it anew with allreduce-train");
        CheckChanged([&](Json& j) { j["networks"]["port"]["features"].erase(known.size() - 1); },
                     layout + last + " is missing, expected \"" + known.back() + "\"");
        CheckChanged([](Json& j) { j["networks"]["port"]["features"].push_back("mood"); },
                     layout + std::to_string(known.size()) + " is \"mood\", expected no more");
        CheckChanged([](Json& j) { j["networks"]["port"]["features"] = 7; },
                     layout + "0 is missing");
    }

    std::string ReadText() const
    {
        std::ifstream in(m_path);
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    }

    void CheckChanged(const std::function<void(Json&)>& change, const std::string& part)
    {
        Json json = m_whole;
        change(json);
        CheckRefused(json.dump(), part);
    }

    void CheckRefused(const std::string& text, const std::string& part)
    {
        std::ofstream(m_path) << text;
        CheckError(part);
    }

    void CheckError(const std::string& part)
    {
        std::string error;
        try
        {
            error = GetError([this] { ReadCheckpoint(m_path); });
        }
        catch (const std::exception& other)
        {
            error = std::string("not an InputError: ") + other.what();
        }
        NS_TEST_EXPECT_MSG_EQ(Contains(error, part), true, part << " in: " << error);
        NS_TEST_EXPECT_MSG_EQ(Contains(error, m_path), true, "the file in: " << error);
    }

    std::string m_path; //!< the file
    Json m_whole;       //!< what is in it
};

/// @brief Weights that are no numbers.
class FiniteWeightsTestCase : public TestCase
{
  public:
    FiniteWeightsTestCase()
        : TestCase("a weight that is not a finite number is noticed, wherever it is")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_ASSERT_MSG_EQ(PolicyWeights::MakeInitial(1).AreFinite(), true, "all finite");
        for (const PolicyHead head : POLICY_HEADS)
        {
            for (const float wrong : {std::numeric_limits<float>::quiet_NaN(),
                                      std::numeric_limits<float>::infinity(),
                                      -std::numeric_limits<float>::infinity()})
            {
                PolicyWeights weights = PolicyWeights::MakeInitial(1);
                weights.Get(head).values.back() = wrong;
                NS_TEST_ASSERT_MSG_EQ(weights.AreFinite(), false, GetPolicyHeadName(head));
            }
        }
    }
};

/// @ingroup allreduce-tests
/// @brief Configurations and checkpoints.
class PolicyFilesTestSuite : public TestSuite
{
  public:
    PolicyFilesTestSuite()
        : TestSuite("allreduce-policy-files", TestSuite::Type::UNIT)
    {
        AddTestCase(new TrainingConfigTestCase);
        AddTestCase(new CheckpointTestCase);
        AddTestCase(new FiniteWeightsTestCase);
    }
};

PolicyFilesTestSuite g_policyFilesTestSuite; //!< registers the suite

} // namespace
