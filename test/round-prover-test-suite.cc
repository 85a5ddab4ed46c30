/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "fault-options.h"
#include "run-experiment.h"
#include "session-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-helper.h"
#include "ns3/enum.h"
#include "ns3/fixed-scheduler.h"
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

    /// Plans anew whenever it is asked to.
    using PlannedScheduler::ForgetPlan;

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

/// Says that it keeps a plan; from some round on it hands out something else.
class TwoFacedScheduler : public AllReduceScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::TwoFacedScheduler")
                                .SetParent<AllReduceScheduler>()
                                .AddConstructor<TwoFacedScheduler>();
        return tid;
    }

    WorkloadList NextRound(const AllReduceState& state) override
    {
        const WorkloadList round = m_honest->NextRound(state);
        WorkloadList less;
        for (std::size_t i = state.GetRound() == firstLie ? 1 : 0; i < round.GetSize(); ++i)
        {
            less.Add(round.Get(i));
        }
        return less;
    }

    RoundRange GetPlan() const override
    {
        return m_honest->GetPlan();
    }

    uint32_t firstLie{UINT32_MAX}; //!< the round that lacks a workload

  private:
    Ptr<AllReduceScheduler> m_honest{CreateScheduler("greedy")}; //!< makes the plan
};

NS_OBJECT_ENSURE_REGISTERED(TwoFacedScheduler);

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
    auto plan = PlanVerified(topology, roots, "test", *scheduler);
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

    void CountProofs(const std::string& sync, const AllReduceSchedule& plan)
    {
        const uint64_t hash = HashRounds(MakeRoundRange(plan.rounds));
        for (const bool isKnown : {false, true})
        {
            BareSession bare(CreateObject<PuppetScheduler>(), sync, 3);
            if (isKnown)
            {
                bare.session->ExpectPlan(hash);
            }
            NS_TEST_EXPECT_MSG_EQ(bare.session->IsVerified(), false, "not yet");
            bare.Run();
            NS_TEST_EXPECT_MSG_EQ(bare.session->GetDurations().size(), 3, sync);
            NS_TEST_EXPECT_MSG_EQ(bare.session->IsVerified(), true, sync);
            NS_TEST_EXPECT_MSG_EQ(bare.session->GetNProofs(), (isKnown ? 0 : 1), sync);
            NS_TEST_EXPECT_MSG_EQ((bare.session->GetPlanHash() == hash), true, sync);
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
            TestAnotherPlan(sync);
            TestWrongPlan(sync);
            TestRefusal(sync);
        }
        TestAnotherRound();
        TestWrongRound();
        TestWrongRest();
        TestStaleRest();
        TestTwoSessions();
    }

    /// Verified was one plan, another one comes.
    void TestAnotherPlan(const std::string& sync)
    {
        const auto scheduler = CreateObject<PuppetScheduler>();
        const Experiment experiment = MakeExperimentOf(scheduler);
        scheduler->planAll = [](const AllReduceState& state) {
            return Plan(*CreateScheduler("ring"), state).rounds;
        };
        scheduler->ForgetPlan();
        const auto result = RunExperiment(experiment, MakeOptions("raw", sync));
        ExpectFailure(result.failure, "PuppetScheduler hands out another plan (");
        ExpectFailure(result.failure, ") than the one that was verified (");
        NS_TEST_EXPECT_MSG_EQ(result.isVerified, false, sync);
        // Without something verified before, the other plan is proven and used.
        BareSession bare(scheduler, sync);
        bare.Run();
        NS_TEST_EXPECT_MSG_EQ(bare.session->GetFailure(), "", sync);
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
        ExpectFailure(bare.session->GetFailure(),
                      sync == "barrier" ? "a plan that is not" : "full");
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

    /// The plan is right, but not what is handed out.
    void TestAnotherRound()
    {
        for (const uint32_t round : {0, 2})
        {
            const auto scheduler = CreateObject<TwoFacedScheduler>();
            scheduler->firstLie = round;
            BareSession bare(scheduler, "barrier");
            bare.Run();
            ExpectFailure(bare.session->GetFailure(),
                          "hands out another round " + std::to_string(round) + " than");
            NS_TEST_EXPECT_MSG_EQ(bare.session->IsVerified(), false, "and says so");
        }
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

    /// A plan for one session, asked for by two: nobody goes on with something else unnoticed.
    void TestTwoSessions()
    {
        AllReduceHelper helper(TopologyHelper(ParseTopology("bcube:2,1")).Install());
        const auto scheduler = CreateScheduler("ring");
        const auto first = helper.Install(scheduler, CreateTransport("raw"));
        const auto second = helper.Install(scheduler, CreateTransport("raw"));
        Simulator::Run();
        ExpectFailure(first->GetFailure() + second->GetFailure(), "by another session, too?");
        Simulator::Destroy();
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
            Check(MakeExperiment(topology, name, 100000), "greedy");
        }
        const Experiment ring = MakeExperiment(topology, "ring", 100000);
        const auto fixed = CreateObject<FixedScheduler>();
        fixed->SetSchedule(ring.plan);
        Check({topology, "file", fixed, ring.plan, 100000}, "greedy");
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
        AddTestCase(new ReplannedByTestCase);
    }
};

RoundProverTestSuite g_roundProverTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
