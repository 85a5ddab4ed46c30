/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "cluster-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/cluster-metrics.h"
#include "ns3/gadget-policy.h"
#include "ns3/guarantee-check.h"
#include "ns3/offline-optimum.h"
#include "ns3/sjf-bco-policy.h"
#include "ns3/slot-optimum-policy.h"
#include "ns3/test.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// @return a job that needs all its workers
Job
MakeRigidJob(double seconds, uint32_t iterations, uint32_t workers)
{
    return MakeTestJob(seconds, iterations, workers, workers);
}

bool
HasSolver()
{
    const auto names = GetClusterPolicyNames(false);
    return std::find(names.begin(), names.end(), "slot-optimum") != names.end();
}

/// The solver and trying everything agree on the most that a slot can gain.
class SlotOptimumTestCase : public TestCase
{
  public:
    SlotOptimumTestCase()
        : TestCase("the optimum of a slot")
    {
    }

  private:
    void DoRun() override
    {
        if (!HasSolver())
        {
            return; // It was left out of the build.
        }
        std::mt19937_64 random(11);
        for (uint32_t run = 0; run < 150; ++run)
        {
            TinyInstance instance = MakeTinyInstance(random);
            instance.cluster.moveSeconds = 0;
            for (Job& job : instance.jobs)
            {
                job.arrivalSlot = 0;
            }
            CheckInstance(instance);
        }
        GpuCluster large{MakeTestStar(9), std::vector<uint32_t>(9, 1)};
        const auto policy = CreateClusterPolicy("slot-optimum", 1);
        const std::string error = GetError(
            [&] { PlayTrace(large, {MakeRigidJob(6, 10, 2)}, ProgressUtility(), *policy, 1); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, "9 servers, expected at most 8"), true, error);
    }

    void CheckInstance(const TinyInstance& instance)
    {
        const auto utility = ParseUtility(instance.objective);
        // The best of one slot, by trying every ring of every job with every other.
        const double best = FindOfflineOptimum(instance.cluster, instance.jobs, *utility, {1});
        const auto policy = CreateClusterPolicy("slot-optimum", 1);
        const auto optimum = PlayTrace(instance.cluster, instance.jobs, *utility, *policy, 1);
        NS_TEST_EXPECT_MSG_EQ_TOL(optimum.utility, best, 1e-7, "GLPK and trying everything");
        GadgetPolicy gadget;
        const auto result = PlayTrace(instance.cluster, instance.jobs, *utility, gadget, 1);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(result.utility, best + 1e-9, "nobody gains more");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(gadget.GetSlotBound().value(), best - 1e-9, "GADGET's bound");
    }
};

/// SJF-BCO takes the threshold with which the trace ends first.
class ThresholdTestCase : public TestCase
{
  public:
    ThresholdTestCase()
        : TestCase("SJF-BCO's threshold")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(6);
        uint32_t nBetter = 0;
        for (uint32_t run = 0; run < 20; ++run)
        {
            GpuCluster cluster{MakeTestStar(5), {4, 4, 2, 8, 1}};
            std::vector<Job> jobs;
            for (uint32_t i = 0; i < 30; ++i)
            {
                const uint32_t workers = 1 + Draw(random, 8);
                jobs.push_back(MakeRigidJob(1 + Draw(random, 60), 100, workers));
                jobs.back().gradientBytes = 1'000'000 * (1 + Draw(random, 2000));
                jobs.back().bandwidthBps = 10 * GIGABIT;
                jobs.back().arrivalSlot = Draw(random, 10);
            }
            nBetter += IsBest(cluster, jobs);
        }
        NS_TEST_EXPECT_MSG_GT(nBetter, 5, "the threshold makes a difference");
    }

    /// @return whether some threshold is worse than the one that was found; none may be better
    bool IsBest(const GpuCluster& cluster, const std::vector<Job>& jobs)
    {
        constexpr uint32_t N_SLOTS = 5000;
        const auto play = [&](ClusterPolicy& policy) {
            const auto result = PlayTrace(cluster, jobs, ProgressUtility(), policy, N_SLOTS);
            NS_TEST_EXPECT_MSG_EQ(result.nFinished, jobs.size(), "all end");
            NS_TEST_EXPECT_MSG_EQ(result.nMoves, 0, "whoever runs stays");
            return MeasureCluster(cluster, result).lastEndSeconds;
        };
        SjfBcoPolicy searched;
        const double found = play(searched);
        NS_TEST_EXPECT_MSG_EQ(Contains(searched.GetRemark(), "threshold "), true, "it says so");
        bool isBetter = false;
        for (uint32_t threshold = 0; threshold <= 8; ++threshold)
        {
            SjfBcoPolicy policy(threshold);
            const double end = play(policy);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(found, end, "threshold " << threshold);
            isBetter = isBetter || end > found;
        }
        return isBetter;
    }
};

/// Tiresias lets a job keep its GPU until it has had an hour; least attained service does not.
class QueuesTestCase : public TestCase
{
  public:
    QueuesTestCase()
        : TestCase("Tiresias' queues")
    {
    }

  private:
    void DoRun() override
    {
        const GpuCluster cluster = {{"pair", 2, 0, {{0, 1}}}, {1, 0}};
        std::vector<Job> jobs(2, MakeRigidJob(6, 1000, 1));
        jobs[1].arrivalSlot = 30;
        const auto play = [&](const std::string& name, uint32_t nSlots) {
            const auto policy = CreateClusterPolicy(name, 1);
            return PlayTrace(cluster, jobs, ProgressUtility(), *policy, nSlots);
        };
        NS_TEST_EXPECT_MSG_EQ(play("las", 40).jobs[1].workerSlots, 10, "whoever has had less");
        NS_TEST_EXPECT_MSG_EQ(play("tiresias", 60).jobs[1].workerSlots, 0, "first come");
        const auto after = play("tiresias", 120);
        NS_TEST_EXPECT_MSG_EQ(after.jobs[0].workerSlots, 60, "an hour of 60 slots");
        NS_TEST_EXPECT_MSG_EQ(after.jobs[1].workerSlots, 60, "then the other");
        NS_TEST_EXPECT_MSG_EQ(play("tiresias", 180).jobs[0].workerSlots, 100, "then to its end");
    }
};

class ClusterRivalsTestSuite : public TestSuite
{
  public:
    ClusterRivalsTestSuite()
        : TestSuite("allreduce-cluster-rivals", TestSuite::Type::UNIT)
    {
        AddTestCase(new SlotOptimumTestCase);
        AddTestCase(new ThresholdTestCase);
        AddTestCase(new QueuesTestCase);
    }
};

ClusterRivalsTestSuite g_clusterRivalsTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
