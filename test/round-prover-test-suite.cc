/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"
#include "allreduce-test-utils.h"
#include "fault-options.h"
#include "run-experiment.h"
#include "session-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-helper.h"
#include "ns3/enum.h"
#include "ns3/plan-follower.h"
#include "ns3/planned-scheduler.h"
#include "ns3/remainder-planner.h"
#include "ns3/round-builder.h"
#include "ns3/round-hash.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <functional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// Plans as it is told, and counts how often.
class PuppetScheduler : public PlannedScheduler
{
  public:
    /// Makes a plan.
    using Planner = std::function<std::vector<WorkloadList>(const AllReduceState&)>;

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::PuppetScheduler")
                                .SetParent<PlannedScheduler>()
                                .AddConstructor<PuppetScheduler>();
        return tid;
    }

    Planner planAll;    //!< from the beginning; greedily if empty
    Planner planRest;   //!< what is left; greedily if empty
    uint32_t nPlans{0}; //!< calls of PlanAll
    uint32_t nRests{0}; //!< calls of PlanRest

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        ++nPlans;
        return planAll ? planAll(state) : PlanRemainderGreedily(state, 1, 1);
    }

    std::vector<WorkloadList> PlanRest(const AllReduceState& state) override
    {
        ++nRests;
        return planRest ? planRest(state) : PlanRemainderGreedily(state, 1, 1);
    }
};

NS_OBJECT_ENSURE_REGISTERED(PuppetScheduler);

/// Keeps no plan: first come, first served, but for one round.
class RoundByRoundScheduler : public AllReduceScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::RoundByRoundScheduler")
                                .SetParent<AllReduceScheduler>()
                                .AddConstructor<RoundByRoundScheduler>();
        return tid;
    }

    WorkloadList NextRound(const AllReduceState& state) override
    {
        ++nAsked;
        RoundBuilder builder(state);
        for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
        {
            for (NodeId from = 0; from < builder.GetNServers(); ++from)
            {
                for (const NodeId to : builder.GetNeighbors(from))
                {
                    const bool isNearer =
                        builder.GetHopsToRoot(to, chunk) < builder.GetHopsToRoot(from, chunk);
                    state.IsFinal(chunk) ? builder.TryBroadcast(chunk, from, to)
                                         : isNearer&& builder.TryReduce(chunk, from, to);
                }
            }
        }
        WorkloadList round = builder.GetWorkloads();
        if (state.GetRound() == firstLie)
        {
            WorkloadList twice = round;
            twice.Add(round.Get(0));
            return twice;
        }
        return round;
    }

    uint32_t firstLie{UINT32_MAX}; //!< the round that has a workload twice
    uint32_t nAsked{0};            //!< calls
};

NS_OBJECT_ENSURE_REGISTERED(RoundByRoundScheduler);

/// @return what to run, planned and verified
Experiment
MakeExperimentOf(Ptr<AllReduceScheduler> scheduler)
{
    const Topology topology = ParseTopology("bcube:2,1");
    const auto roots = MakeRoots(topology.GetNServers(), 2);
    auto plan = PlanVerified(topology, roots, *scheduler);
    return {topology, "test", scheduler, std::move(plan), 100000};
}

/// A session without anything that was verified before.
class BareSession
{
  public:
    BareSession(Ptr<AllReduceScheduler> scheduler, const std::string& sync, uint32_t iterations = 1)
        : m_network(TopologyHelper(ParseTopology("bcube:2,1")).Install()),
          m_helper(m_network)
    {
        m_helper.SetCollective(MakeRoots(4, 2));
        m_helper.SetAttribute("Bytes", UintegerValue(100000));
        m_helper.SetAttribute("Iterations", UintegerValue(iterations));
        m_helper.SetAttribute("Sync",
                              EnumValue(sync == "barrier" ? AllReduceSession::BARRIER
                                                          : AllReduceSession::DEPENDENCY));
        session = m_helper.Install(scheduler, CreateTransport("raw"));
    }

    ~BareSession()
    {
        Simulator::Destroy();
    }

    void BreakLink(LinkId link, Time when)
    {
        Simulator::Schedule(when, &AllReduceNetwork::SetLinkUp, m_network, link, false);
    }

    void Run()
    {
        Simulator::Run();
    }

    Ptr<AllReduceSession> session; //!< the session

  private:
    Ptr<AllReduceNetwork> m_network; //!< the network
    AllReduceHelper m_helper;        //!< installs the session
};

/// Planning is work: it is done once, and proofs are, too.
class OncePlannedTestCase : public TestCase
{
  public:
    OncePlannedTestCase()
        : TestCase("what was planned and verified is what runs, without planning again")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& sync : SYNCS)
        {
            const auto scheduler = CreateObject<PuppetScheduler>();
            const Experiment experiment = MakeExperimentOf(scheduler);
            RunOptions options = MakeOptions("raw", sync);
            options.iterations = 3;
            const auto result = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", sync);
            NS_TEST_EXPECT_MSG_EQ(result.isVerified, true, sync);
            NS_TEST_EXPECT_MSG_EQ(result.replannedBy, "", sync);
            NS_TEST_EXPECT_MSG_EQ(scheduler->nPlans, 1, sync << ": planned once");
            NS_TEST_EXPECT_MSG_EQ(scheduler->nRests, 0, sync << ": no rests");
            CountProofs(sync, experiment.plan);
        }
    }

    void CountProofs(const std::string& sync, const VerifiedPlan& plan)
    {
        for (const bool isKnown : {false, true})
        {
            BareSession bare(CreateObject<PuppetScheduler>(), sync, 3);
            if (isKnown)
            {
                bare.session->SetPlan(plan);
            }
            NS_TEST_EXPECT_MSG_EQ(bare.session->IsVerified(), false, "not yet");
            bare.Run();
            NS_TEST_EXPECT_MSG_EQ(bare.session->GetDurations().size(), 3, sync);
            NS_TEST_EXPECT_MSG_EQ(bare.session->IsVerified(), true, sync);
            NS_TEST_EXPECT_MSG_EQ(bare.session->GetNProofs(), (isKnown ? 0 : 1), sync);
            NS_TEST_EXPECT_MSG_EQ((bare.session->GetPlanHash() == plan.GetHash()), true, sync);
        }
        const auto roundByRound = CreateObject<RoundByRoundScheduler>();
        BareSession bare(roundByRound, sync);
        bare.Run();
        NS_TEST_EXPECT_MSG_EQ(bare.session->GetFailure(), "", sync);
        NS_TEST_EXPECT_MSG_EQ(bare.session->GetNProofs(),
                              (sync == "barrier" ? roundByRound->nAsked : 1),
                              sync << ": each round, or all together");
    }
};

/// Schedulers that do not do what they said.
class LiarTestCase : public TestCase
{
  public:
    LiarTestCase()
        : TestCase("a session fails if its scheduler hands out something that is not proven")
    {
    }

  private:
    void ExpectFailure(const std::string& failure, const std::string& part)
    {
        NS_TEST_EXPECT_MSG_EQ(Contains(failure, part), true, part << " in \"" << failure << "\"");
    }

    void DoRun() override
    {
        for (const std::string& sync : SYNCS)
        {
            TestWrongPlan(sync);
            TestRefusal(sync);
        }
        TestWrongRound();
        TestWrongRest();
        TestStaleRest();
    }

    /// The last round is wrong; the first is not sent.
    void TestWrongPlan(const std::string& sync)
    {
        const auto scheduler = CreateObject<PuppetScheduler>();
        scheduler->planAll = [](const AllReduceState& state) {
            auto rounds = PlanRemainderGreedily(state, 1, 1);
            rounds.back().Add(rounds.back().Get(0));
            return rounds;
        };
        BareSession bare(scheduler, sync);
        bare.Run();
        ExpectFailure(bare.session->GetFailure(), "PuppetScheduler is not correct: round ");
        NS_TEST_EXPECT_MSG_EQ(bare.session->GetProgress(), 0, "nothing has moved");
        NS_TEST_EXPECT_MSG_EQ(bare.session->IsVerified(), false, sync);
        NS_TEST_EXPECT_MSG_EQ(bare.session->GetRoundDurations().size(), 0, "no round has begun");
    }

    /// A scheduler that does not want to go on says why.
    void TestRefusal(const std::string& sync)
    {
        const auto scheduler = CreateObject<PuppetScheduler>();
        scheduler->planRest = [](const AllReduceState&) -> std::vector<WorkloadList> {
            FailInput("my ring is broken");
        };
        BareSession bare(scheduler, sync);
        bare.BreakLink(0, MicroSeconds(20));
        bare.Run();
        NS_TEST_EXPECT_MSG_EQ(bare.session->GetFailure(), "my ring is broken", sync);
    }

    void TestWrongRound()
    {
        const auto scheduler = CreateObject<RoundByRoundScheduler>();
        scheduler->firstLie = 3;
        BareSession bare(scheduler, "barrier");
        bare.Run();
        ExpectFailure(bare.session->GetFailure(), "hands out a round that is not correct: round 0");
        NS_TEST_EXPECT_MSG_EQ(bare.session->GetRoundDurations().size(), 3, "three were right");
    }

    /// What is left is planned without one of the reduces.
    void TestWrongRest()
    {
        const auto scheduler = CreateObject<PuppetScheduler>();
        scheduler->planRest = [](const AllReduceState& state) {
            std::vector<WorkloadList> rounds = PlanRemainderGreedily(state, 1, 1);
            WorkloadList less;
            for (std::size_t i = 1; i < rounds[0].GetSize(); ++i)
            {
                less.Add(rounds[0].Get(i));
            }
            rounds[0] = less;
            return rounds;
        };
        BareSession bare(scheduler, "barrier");
        bare.BreakLink(0, MicroSeconds(20));
        bare.Run();
        ExpectFailure(bare.session->GetFailure(), "a plan of what is left that is not correct: ");
        NS_TEST_EXPECT_MSG_EQ(scheduler->nRests, 1, "it was asked once");
        NS_TEST_EXPECT_MSG_EQ(bare.session->IsVerified(), false, "and says so");
    }

    /// After a failure the old rounds come as if nothing had happened.
    void TestStaleRest()
    {
        const auto scheduler = CreateObject<PuppetScheduler>();
        const Topology topology = ParseTopology("bcube:2,1");
        scheduler->planRest = [&](const AllReduceState& state) {
            const AllReduceState fresh(topology, state.GetRoots());
            const auto rounds = PlanRemainderGreedily(fresh, 1, 1);
            return std::vector<WorkloadList>(rounds.begin() + state.GetRound(), rounds.end());
        };
        BareSession bare(scheduler, "barrier");
        bare.BreakLink(0, MicroSeconds(20));
        bare.Run();
        ExpectFailure(bare.session->GetFailure(), " that is not correct: round ");
    }
};

/// Plans are values: who has one does not need who made it.
class PlanValueTestCase : public TestCase
{
  public:
    PlanValueTestCase()
        : TestCase("a session follows the plan that it was given, and a scheduler serves several")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& sync : SYNCS)
        {
            TestGivenPlan(sync);
        }
        TestTwoSessions();
        TestFollower();
        TestWrong();
        TestStrangePlan();
        TestLastCallCounts();
    }

    /// The scheduler would plan something else by now; nobody asks.
    void TestGivenPlan(const std::string& sync)
    {
        const auto scheduler = CreateObject<PuppetScheduler>();
        const VerifiedPlan plan = MakeExperimentOf(scheduler).plan;
        scheduler->planAll = [](const AllReduceState& state) {
            return Plan(*CreateScheduler("ring"), state).rounds;
        };
        {
            BareSession given(scheduler, sync, 2);
            given.session->SetPlan(plan);
            given.Run();
            NS_TEST_EXPECT_MSG_EQ(given.session->GetFailure(), "", sync);
            NS_TEST_EXPECT_MSG_EQ((given.session->GetPlanHash() == plan.GetHash()), true, sync);
            NS_TEST_EXPECT_MSG_EQ(scheduler->nPlans, 1, sync << ": not asked again");
        }
        BareSession asking(scheduler, sync, 2);
        asking.Run();
        NS_TEST_EXPECT_MSG_EQ(asking.session->GetFailure(), "", sync);
        NS_TEST_EXPECT_MSG_EQ((asking.session->GetPlanHash() == plan.GetHash()), false, sync);
        NS_TEST_EXPECT_MSG_EQ(scheduler->nPlans, 2, sync << ": asked once for two AllReduces");
    }

    void TestTwoSessions()
    {
        AllReduceHelper helper(TopologyHelper(ParseTopology("bcube:2,1")).Install());
        const auto scheduler = CreateScheduler("ring");
        const auto first = helper.Install(scheduler, CreateTransport("raw"));
        const auto second = helper.Install(scheduler, CreateTransport("raw"));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(first->IsFinished() && second->IsFinished(), true, "both");
        NS_TEST_EXPECT_MSG_EQ(first->GetFailure() + second->GetFailure(), "", "neither failed");
        Simulator::Destroy();
    }

    /// Lets a round happen. @param nFailing so many of its workloads do not arrive
    static void CarryOut(const WorkloadList& round, AllReduceState& state, uint32_t nFailing)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const auto flight = state.Start(round.Get(i));
            if (i < nFailing)
            {
                state.Abort(flight);
            }
        }
        state.EndRound();
    }

    /// In which states the next round of a plan is due.
    void TestFollower()
    {
        const Topology topology = ParseTopology("bcube:3,1");
        for (const std::string& name : GetNamesWithoutLearning())
        {
            AllReduceState state(topology, MakeRoots(9, 1));
            const auto rounds = Plan(*CreateScheduler(name), state).rounds;
            PlanFollower follower;
            follower.Begin(MakeRoundRange(rounds));
            NS_TEST_EXPECT_MSG_EQ(follower.IsExpected(state), false, name << ": the beginning");
            for (std::size_t round = 0; round < rounds.size(); ++round)
            {
                CarryOut(follower.TakeRound(state), state, 0);
                NS_TEST_EXPECT_MSG_EQ(follower.IsExpected(state),
                                      (round + 1 < rounds.size()),
                                      name << ": after round " << round);
                NS_TEST_EXPECT_MSG_EQ(HashRounds(follower.GetPresentAndAhead()),
                                      HashRounds(MakeRoundRange(rounds, round)),
                                      name << ": from round " << round);
            }
            NS_TEST_EXPECT_MSG_EQ(state.IsDone(), true, name);
            TestSurprises(name, topology, rounds);
        }
    }

    void TestSurprises(const std::string& name,
                       const Topology& topology,
                       const std::vector<WorkloadList>& rounds)
    {
        AllReduceState state(topology, MakeRoots(9, 1));
        PlanFollower follower;
        follower.Begin(MakeRoundRange(rounds));
        CarryOut(follower.TakeRound(state), state, 0);
        state.SetLinkUp(0, false);
        NS_TEST_EXPECT_MSG_EQ(follower.IsExpected(state), false, name << ": a link is down");
        state.SetLinkUp(0, true);
        NS_TEST_EXPECT_MSG_EQ(follower.IsExpected(state), true, name << ": and is mended");
        CarryOut(follower.TakeRound(state), state, 1);
        NS_TEST_EXPECT_MSG_EQ(follower.IsExpected(state), false, name << ": a workload is lost");
    }

    /// A plan of another network with as many servers is refused, not followed.
    void TestStrangePlan()
    {
        const VerifiedPlan plan = MakeExperimentOf(CreateScheduler("ring")).plan;
        const std::string message = GetAbortMessage([&] {
            AllReduceHelper helper(TopologyHelper(MakeTestStar(4)).Install());
            helper.SetPlan(plan);
            helper.Install("ring", "raw");
        });
        NS_TEST_EXPECT_MSG_EQ(Contains(message, "in star: unknown node"), true, message);
    }

    /// Who asks for other chunks after a plan was set gets them.
    void TestLastCallCounts()
    {
        AllReduceHelper helper(TopologyHelper(ParseTopology("bcube:2,1")).Install());
        const VerifiedPlan plan = MakeExperimentOf(CreateScheduler("ring")).plan;
        helper.SetPlan(plan);
        helper.SetChunksPerServer(1);
        const auto session = helper.Install("ring", "raw");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(session->IsFinished(), true, session->GetFailure());
        NS_TEST_EXPECT_MSG_EQ((session->GetPlanHash() == plan.GetHash()), false, "another plan");
        Simulator::Destroy();
    }

    /// There is no such object without a proof.
    void TestWrong()
    {
        const Topology topology = ParseTopology("bcube:2,1");
        AllReduceSchedule schedule = MakeExperimentOf(CreateScheduler("greedy")).plan.GetSchedule();
        schedule.rounds.pop_back();
        const std::string error = GetError([&] { VerifiedPlan(topology, schedule, "someone"); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, "bcube:2,1: the plan of someone is not correct: "),
                              true,
                              error);
    }
};

/// Every scheduler says who planned after a failure.
class ReplannedByTestCase : public DataCentreTestCase
{
  public:
    ReplannedByTestCase()
        : DataCentreTestCase("who planned what was left after a failure")
    {
    }

  private:
    void Check(const Experiment& experiment, const std::string& planner)
    {
        for (const std::string& sync : SYNCS)
        {
            const std::string what = experiment.schedulerName + " " + sync;
            RunOptions options = MakeOptions("raw", sync);
            auto result = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", what);
            NS_TEST_EXPECT_MSG_EQ(result.replannedBy, "", what << ": nothing broke");
            NS_TEST_EXPECT_MSG_EQ(result.nReplans, 0, what << ": nothing broke");
            options.faults.fail = {"0-4@20us"};
            options.iterations = 2;
            result = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", what);
            NS_TEST_EXPECT_MSG_EQ(result.replannedBy, planner, what);
            NS_TEST_EXPECT_MSG_EQ(result.isVerified, true, what);
            NS_TEST_EXPECT_MSG_EQ(result.nReplans, 2, what << ": the second begins without it");
        }
    }

    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:2,1");
        for (const std::string& name : GetNamesWithoutLearning())
        {
            Check(MakeExperiment(topology, name, 100000), name == "forest" ? "forest" : "greedy");
        }
        const Experiment ring = MakeExperiment(topology, "ring", 100000);
        Check({topology, "file", CreateScheduler("greedy"), ring.plan, 100000}, "greedy");
        const std::string own = "allreduce_tests::RoundByRoundScheduler";
        Check(MakeExperiment(topology, own, 100000), own);
        const std::string puppet = "allreduce_tests::PuppetScheduler";
        Check(MakeExperiment(topology, puppet, 100000), puppet);
    }
};

/// @ingroup allreduce-tests
class RoundProverTestSuite : public TestSuite
{
  public:
    RoundProverTestSuite()
        : TestSuite("allreduce-round-prover", TestSuite::Type::UNIT)
    {
        AddTestCase(new OncePlannedTestCase);
        AddTestCase(new LiarTestCase);
        AddTestCase(new PlanValueTestCase);
        AddTestCase(new ReplannedByTestCase);
    }
};

RoundProverTestSuite g_roundProverTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
