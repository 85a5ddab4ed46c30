/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "run-experiment.h"
#include "session-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-state.h"
#include "ns3/allreduce-transport.h"
#include "ns3/remainder-planner.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"
#include "ns3/workload-dispatcher.h"

#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// @return rounds that are legal and make no sense: servers pass partial sums around, also in
/// circles, before a planner ends it
AllReduceSchedule
MakeAimlessPlan(TestRandom& random, const Topology& topology)
{
    const std::vector<Path> paths = FindAllPaths(topology);
    OwnSchedule plan;
    plan.collective.roots = MakeRoots(topology.GetNServers(), 1);
    AllReduceState state(topology, plan.collective);
    const uint32_t nAimless = 1 + Draw(random, 6);
    for (uint32_t round = 0; round < nAimless && !state.IsDone(); ++round)
    {
        OwnRound workloads;
        for (uint32_t attempt = 0; attempt < 20; ++attempt)
        {
            OwnWorkload workload;
            workload.chunk = Draw(random, plan.collective.GetNChunks());
            workload.kind = Draw(random, 3) == 0 ? WorkloadKind::BROADCAST : WorkloadKind::REDUCE;
            workload.path = paths[Draw(random, paths.size())];
            if (state.IsLegal(workload.Get()))
            {
                state.Start(workload.Get());
                workloads.push_back(workload);
            }
        }
        state.EndRound();
        plan.rounds.push_back(workloads);
    }
    AllReduceSchedule whole = plan.Get();
    for (WorkloadList& round : PlanRemainderGreedily(state, 1, 1))
    {
        whole.rounds.push_back(std::move(round));
    }
    return whole;
}

/// Carries out rounds as a network would that delivers in any order.
class RandomNetworkRun
{
  public:
    RandomNetworkRun(const Topology& topology, const AllReduceSchedule& plan, TestRandom& random)
        : m_random(random),
          m_state(topology, plan.collective.roots),
          m_dispatcher(topology, true),
          m_flights(plan.CountWorkloads())
    {
        m_state.SetLinksShared(true);
        m_dispatcher.Load(plan.rounds);
    }

    /// @return what was not legal, or how many sums are missing when nothing goes on; "" if neither
    std::string Execute()
    {
        return GetError([this] {
            do
            {
                BeginAll();
                DeliverOne();
            } while (!m_underWay.empty());
            if (!m_state.IsDone())
            {
                FailInput(m_state.GetNMissing(), " sums are missing");
            }
        });
    }

  private:
    void BeginAll()
    {
        while (const auto index = m_dispatcher.BeginNext())
        {
            m_flights[*index] = m_state.Start(m_dispatcher.Get(*index));
            m_underWay.push_back(*index);
            LandAll();
        }
    }

    void DeliverOne()
    {
        if (m_underWay.empty())
        {
            return;
        }
        const auto place = m_underWay.begin() + Draw(m_random, m_underWay.size());
        const uint32_t index = *place;
        m_underWay.erase(place);
        m_dispatcher.NotifyArrived(index);
        LandAll();
        BeginAll();
    }

    void LandAll()
    {
        while (const auto index = m_dispatcher.CompleteNext())
        {
            m_state.Finish(m_flights[*index]);
        }
    }

    TestRandom& m_random;                            //!< random numbers
    AllReduceState m_state;                          //!< knows what is legal
    WorkloadDispatcher m_dispatcher;                 //!< what is tested
    std::vector<AllReduceState::FlightId> m_flights; //!< by index
    std::vector<uint32_t> m_underWay;                //!< what has begun and not arrived
};

/// Whatever a round has in it, and however long its workloads take, all of it comes to its end.
class AnyPlanTestCase : public TestCase
{
  public:
    AnyPlanTestCase()
        : TestCase("any plan in any order of arrival")
    {
    }

  private:
    static bool HasExchange(const AllReduceSchedule& plan)
    {
        for (const OwnRound& round : OwnSchedule(plan).rounds)
        {
            for (const OwnWorkload& x : round)
            {
                for (const OwnWorkload& y : round)
                {
                    if (x.chunk == y.chunk && x.path.front() == y.path.back() &&
                        x.path.back() == y.path.front())
                    {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    void DoRun() override
    {
        TestRandom random(1);
        uint32_t nExchanges = 0;
        for (uint32_t run = 0; run < 1000; ++run)
        {
            const Topology topology = MakeRandomNetwork(random);
            const AllReduceSchedule plan = MakeAimlessPlan(random, topology);
            nExchanges += HasExchange(plan);
            NS_TEST_ASSERT_MSG_EQ(Verify(topology, plan).reason, "", "plan " << run);
            NS_TEST_ASSERT_MSG_EQ(RandomNetworkRun(topology, plan, random).Execute(),
                                  "",
                                  "plan " << run);
        }
        NS_TEST_EXPECT_MSG_GT(nExchanges, 50, "plans in which two servers exchange partial sums");
    }
};

/// Slow links let data arrive early or late; sums are exact all the same.
class SlowLinksTestCase : public DataCentreTestCase
{
  public:
    SlowLinksTestCase()
        : DataCentreTestCase("all schedulers with random slow links")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (const std::string spec : {"dcell:2,1", "torus:3x3", "bcube:3,1", "jellyfish:5,2,2,1"})
        {
            const Topology topology = ParseTopology(spec);
            for (const std::string& scheduler : GetNamesWithoutLearning())
            {
                for (const std::string& transport : GetTransportNames())
                {
                    Run(topology, scheduler, transport, random);
                }
            }
        }
    }

    void Run(const Topology& topology,
             const std::string& scheduler,
             const std::string& transport,
             TestRandom& random)
    {
        RunOptions options = MakeOptions(transport, "dependency");
        options.control = Draw(random, 2) == 0 ? "ideal" : "packets";
        const uint32_t nLinks = topology.GetNLinks();
        const LinkId first = Draw(random, nLinks);
        for (const LinkId id : {first, (first + 1 + Draw(random, nLinks - 1)) % nLinks})
        {
            const Link& link = topology.GetLink(id);
            options.faults.slow.push_back(std::to_string(link.a) + "-" + std::to_string(link.b) +
                                          ":" + std::to_string(2 + Draw(random, 100)));
        }
        // The plan is for the network that the links are supposed to be.
        const auto experiment =
            MakeExperiment(topology, scheduler, 1 + Draw(random, 20000), 1 + Draw(random, 2));
        Experiment slowed = experiment;
        slowed.topology = options.faults.ApplySlow(topology);
        const auto result = RunExperiment(slowed, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "",
                              topology.GetName() << " " << scheduler << " " << transport << " "
                                                 << options.control << " " << options.faults.slow[0]
                                                 << " " << options.faults.slow[1]);
    }
};

/// Three servers pass their partial sums around in a circle before they send them to the root.
class CircleTestCase : public DataCentreTestCase
{
  public:
    CircleTestCase()
        : DataCentreTestCase("a plan with a circle in a round")
    {
    }

  private:
    static AllReduceSchedule MakePlan()
    {
        OwnSchedule plan;
        plan.collective.roots = {0};
        const auto reduce = [](NodeId from, NodeId to) {
            return OwnWorkload{0, WorkloadKind::REDUCE, {from, 4, to}, {}};
        };
        const auto copy = [](NodeId from, NodeId to) {
            return OwnWorkload{0, WorkloadKind::BROADCAST, {from, 4, to}, {}};
        };
        plan.rounds = {{reduce(1, 2), reduce(2, 3), reduce(3, 1)},
                       {reduce(1, 0)},
                       {reduce(2, 0)},
                       {reduce(3, 0)},
                       {copy(0, 1)},
                       {copy(0, 2), copy(1, 3)}};
        return plan.Get();
    }

    void DoRun() override
    {
        const Topology star = MakeTestStar(4);
        const VerifiedPlan plan(star, MakePlan(), "by hand");
        for (const std::string& transport : GetTransportNames())
        {
            for (const std::string& sync : SYNCS)
            {
                for (const std::string control : {"ideal", "packets"})
                {
                    RunOptions options = MakeOptions(transport, sync);
                    options.control = control;
                    options.faults.slow = {"1-4:10", "3-4:3"};
                    const Topology slowed = options.faults.ApplySlow(star);
                    const auto result =
                        RunExperiment({slowed, "fixed", CreateScheduler("greedy"), plan, 10000},
                                      options);
                    NS_TEST_EXPECT_MSG_EQ(result.failure,
                                          "",
                                          transport << " " << sync << " " << control);
                }
            }
        }
    }
};

class WorkloadDispatcherTestSuite : public TestSuite
{
  public:
    WorkloadDispatcherTestSuite()
        : TestSuite("allreduce-workload-dispatcher", TestSuite::Type::UNIT)
    {
        AddTestCase(new AnyPlanTestCase);
        AddTestCase(new SlowLinksTestCase, EXTENSIVE);
        AddTestCase(new CircleTestCase);
    }
};

WorkloadDispatcherTestSuite g_workloadDispatcherTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
