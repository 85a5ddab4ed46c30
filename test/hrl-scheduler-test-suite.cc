/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "run-experiment.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/hrl-scheduler.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-weights.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/training-config.h"
#include "ns3/uinteger.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return an AllReduce from its beginning
AllReduceState
MakeStart(const Topology& topology, uint32_t chunksPerServer)
{
    return AllReduceState(topology, MakeRoots(topology.GetNServers(), chunksPerServer));
}

/// @return networks of all kinds, whole and damaged
std::vector<Topology>
MakeHrlNetworks()
{
    std::vector<Topology> networks;
    for (const char* spec : {"bcube:2,1", "bcube:3,1", "dcell:3,1", "jellyfish:6,3,2", "torus:3x3"})
    {
        networks.push_back(ParseTopology(spec));
        networks.push_back(Degrade(ParseTopology(spec), 0.1, 2));
        networks.push_back(MixCapacity(ParseTopology(spec), 0.3, 3));
    }
    return networks;
}

/// @brief The scheduler behind the hook, with policies that know nothing.
class HrlSchedulerTestCase : public TestCase
{
  public:
    HrlSchedulerTestCase()
        : TestCase("hrl plans whole AllReduces and rests, the same for the same seed")
    {
    }

  private:
    void DoRun() override
    {
        m_path = CreateTempDirFilename("policy-test.json");
        WriteCheckpoint(m_path, PolicyWeights::MakeInitial(4), TrainingConfig().ToJson(), {});
        for (const Topology& topology : MakeHrlNetworks())
        {
            CheckPlans(topology);
            CheckOnline(topology);
        }
        CheckOnlineFaults();
        CheckMiddles();
        CheckScorer();
        CheckFailure();
        CheckEdgeCases();
    }

    void CheckPlans(const Topology& topology)
    {
        const AllReduceState start = MakeStart(topology, 2);
        const AllReduceSchedule plan = Plan(*MakeHrl(), start);
        NS_TEST_ASSERT_MSG_EQ(Verify(topology, plan).reason, "", topology.GetName());
        NS_TEST_ASSERT_MSG_EQ((Format(topology, *MakeHrl()) == FormatSchedule(topology, plan)),
                              true,
                              "the same plan again");
        const auto best = MakeHrl({{"Samples", Create<UintegerValue>(4)}});
        const AllReduceSchedule shortest = Plan(*best, start);
        NS_TEST_ASSERT_MSG_EQ(Verify(topology, shortest).reason, "", topology.GetName());
        NS_TEST_ASSERT_MSG_LT_OR_EQ(shortest.rounds.size(), plan.rounds.size(), "best of 4");
        NS_TEST_ASSERT_MSG_EQ((Format(topology, *best) == FormatSchedule(topology, shortest)),
                              true,
                              "the same, however threads are scheduled");
        const auto alone = MakeHrl({{"Upper", Create<BooleanValue>(false)}});
        NS_TEST_ASSERT_MSG_EQ(Verify(topology, Plan(*alone, start)).reason, "", "lower alone");
    }

    std::string Format(const Topology& topology, AllReduceScheduler& scheduler)
    {
        return FormatSchedule(topology, Plan(scheduler, MakeStart(topology, 2)));
    }

    /// The attribute Middles: without any, plans come from the bare middle and are correct, too.
    void CheckMiddles()
    {
        const Topology topology = MixCapacity(ParseTopology("bcube:3,1"), 0.3, 1);
        for (const uint32_t middles : {0, 1, 3})
        {
            const auto scheduler = MakeHrl({{"Middles", Create<UintegerValue>(middles)}});
            const AllReduceSchedule plan = Plan(*scheduler, MakeStart(topology, 2));
            NS_TEST_ASSERT_MSG_EQ(Verify(topology, plan).reason, "", middles << " middles");
        }
    }

    /// Whoever scores as the weights do gives the same plan; another gives a correct one.
    void CheckScorer()
    {
        const Topology topology = ParseTopology("dcell:3,1");
        const PolicyWeights weights = PolicyWeights::MakeInitial(4);
        const auto scheduler = DynamicCast<HrlScheduler>(MakeHrl());
        const std::string expected = Format(topology, *scheduler);
        scheduler->SetScorer([&](PolicyHead head, const float* rows, uint32_t n, float* scores) {
            weights.Get(head).Score(rows, n, scores);
        });
        NS_TEST_ASSERT_MSG_EQ((Format(topology, *scheduler) == expected), true, "the same plan");
        scheduler->SetScorer([](PolicyHead head, const float* rows, uint32_t n, float* scores) {
            for (uint32_t i = 0; i < n; ++i)
            {
                scores[i] = rows[i * GetPolicyFeatures(head).size()];
            }
        });
        const AllReduceSchedule plan = Plan(*scheduler, MakeStart(topology, 2));
        NS_TEST_ASSERT_MSG_EQ(Verify(topology, plan).reason, "", "another scorer");
    }

    /// After a failure the policies go on, in ns-3 as well.
    void CheckFailure()
    {
        const Topology bcube = ParseTopology("bcube:2,1");
        const auto scheduler = MakeHrl();
        auto plan = PlanVerified(bcube, MakeRoots(4, 1), *scheduler);
        RunOptions options;
        options.transport = "raw";
        options.faults.fail = {"0-4@20us"};
        const auto result = RunExperiment({bcube, "hrl", scheduler, plan, 100000}, options);
        NS_TEST_ASSERT_MSG_EQ(result.failure, "", "goes on");
        NS_TEST_ASSERT_MSG_EQ(result.replannedBy, "hrl", "by itself");
        NS_TEST_ASSERT_MSG_EQ(result.isVerified, true, "and its rest is proven");
    }

    /// The attribute Online: every round is chosen from the state that is there.
    void CheckOnline(const Topology& topology)
    {
        const auto scheduler = MakeHrl({{"Online", Create<BooleanValue>(true)}});
        const AllReduceState start = MakeStart(topology, 2);
        const AllReduceSchedule chosen = Plan(*scheduler, start);
        NS_TEST_ASSERT_MSG_EQ(Verify(topology, chosen).reason, "", topology.GetName());
        NS_TEST_ASSERT_MSG_EQ(scheduler->ChoosesByRound(), true, "it is asked for each round");
        NS_TEST_ASSERT_MSG_EQ((Format(topology, *scheduler) == FormatSchedule(topology, chosen)),
                              true,
                              "the same choices in the same states");
    }

    /// A workload that got lost is sent again, and a link that went down is avoided.
    void CheckOnlineFaults()
    {
        const Topology topology = ParseTopology("bcube:3,1");
        const auto scheduler = MakeHrl({{"Online", Create<BooleanValue>(true)}});
        AllReduceState state = MakeStart(topology, 2);
        while (!state.IsDone())
        {
            NS_TEST_ASSERT_MSG_LT(state.GetRound(), 100, "it comes to an end");
            const WorkloadList round = scheduler->NextRound(state);
            NS_TEST_ASSERT_MSG_EQ(round.IsEmpty(), false, "there is something to do");
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                NS_TEST_ASSERT_MSG_EQ(state.FindFault(round.Get(i)), "", "legal");
                const AllReduceState::FlightId flight = state.Start(round.Get(i));
                if (i % 7 == state.GetRound() % 7)
                {
                    state.Abort(flight);
                }
            }
            state.EndRound();
            if (state.GetRound() == 5)
            {
                state.SetLinkUp(0, false);
            }
        }
    }

    void CheckEdgeCases()
    {
        const Topology pair = MakeTestLine(2);
        NS_TEST_ASSERT_MSG_EQ(Plan(*MakeHrl(), MakeStart(pair, 1)).rounds.size(), 2, "a pair");
        AllReduceState cut = MakeStart(pair, 1);
        cut.SetLinkUp(0, false);
        const std::string error = GetError([&] { Plan(*MakeHrl(), cut); });
        NS_TEST_ASSERT_MSG_EQ(error.empty(), false, "servers that are cut off");
        const auto lost = MakeHrl({{"Checkpoint", Create<StringValue>("/nowhere.json")}});
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { Plan(*lost, MakeStart(pair, 1)); }),
                              "policy /nowhere.json: cannot be opened",
                              "no policy");
    }

    using Attributes = std::vector<std::pair<std::string, Ptr<AttributeValue>>>;

    Ptr<AllReduceScheduler> MakeHrl(const Attributes& attributes = {}) const
    {
        const Ptr<AllReduceScheduler> scheduler = CreateScheduler("hrl");
        scheduler->SetAttribute("Checkpoint", StringValue(m_path));
        scheduler->SetAttribute("SearchEffort", UintegerValue(100'000)); // little: it is quick
        for (const auto& [name, value] : attributes)
        {
            scheduler->SetAttribute(name, *value);
        }
        return scheduler;
    }

    std::string m_path; //!< a checkpoint
};

/// @brief What the shipped policies promise.
class ShippedPolicyTestCase : public TestCase
{
  public:
    ShippedPolicyTestCase()
        : TestCase(
              "the shipped policies meet the bound on uniform networks, and come near on others")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(GetError([this] { CheckAll(); }), "", "there are such policies");
    }

    void CheckAll()
    {
        for (const char* spec : {"bcube:3,1",
                                 "bcube:4,1",
                                 "bcube:3,2",
                                 "dcell:3,1",
                                 "dcell:4,1",
                                 "jellyfish:10,3,2",
                                 "jellyfish:20,4,1",
                                 "fattree:4"})
        {
            CheckAtBound(ParseTopology(spec));
        }
        // A ring meets the bound there.
        CheckAtBound(Degrade(ParseTopology("jellyfish:10,3,2"), 0.1, 2));
        CheckUneven("bcube:3,1", 22);
        CheckUneven("dcell:3,1", 32);
        CheckUneven("bcube:4,1", 39);
        CheckUneven("dcell:4,1", 52);
    }

    void CheckAtBound(const Topology& topology)
    {
        const uint32_t chunksPerServer = ComputeMeanPorts(topology);
        const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
        NS_TEST_EXPECT_MSG_EQ(CountRounds(topology, chunksPerServer),
                              ComputeLowerBounds(topology, roots).GetBest().rounds,
                              topology.GetName());
    }

    /// Two chunks for each server, on a network that lost 5 % of its links.
    void CheckUneven(const std::string& spec, uint32_t most)
    {
        const Topology topology = Degrade(ParseTopology(spec), 0.05, 3);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(CountRounds(topology, 2), most, topology.GetName());
    }

    std::size_t CountRounds(const Topology& topology, uint32_t chunksPerServer)
    {
        const auto scheduler = CreateScheduler("hrl");
        const AllReduceSchedule plan = Plan(*scheduler, MakeStart(topology, chunksPerServer));
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, plan).reason, "", topology.GetName());
        return plan.rounds.size();
    }
};

/// @ingroup allreduce-tests
/// @brief The scheduler with the two policies.
class HrlSchedulerTestSuite : public TestSuite
{
  public:
    HrlSchedulerTestSuite()
        : TestSuite("allreduce-hrl-scheduler", TestSuite::Type::UNIT)
    {
        AddTestCase(new HrlSchedulerTestCase, EXTENSIVE);
        AddTestCase(new ShippedPolicyTestCase, EXTENSIVE);
    }
};

HrlSchedulerTestSuite g_hrlSchedulerTestSuite; //!< registers the suite

} // namespace
