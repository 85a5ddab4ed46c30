/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "cluster-test-utils.h"

#include "ns3/allocation-checker.h"
#include "ns3/cluster-metrics.h"
#include "ns3/gadget-policy.h"
#include "ns3/job-history.h"
#include "ns3/test.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

GpuCluster
MakeCluster(uint32_t nServers, uint32_t gpus, double moveSeconds)
{
    GpuCluster cluster{MakeTestStar(nServers), std::vector<uint32_t>(nServers, gpus)};
    cluster.moveSeconds = moveSeconds;
    return cluster;
}

/// Gives a job the rings that a test wants: numbers of workers on each server by slot.
class ScriptedPolicy : public ClusterPolicy
{
  public:
    explicit ScriptedPolicy(std::vector<std::vector<ServerShare>> script)
        : m_script(std::move(script))
    {
    }

    void Allocate(uint32_t slot) override
    {
        m_world.placement->Clear();
        if (slot < m_script.size() && !m_script[slot].empty())
        {
            m_world.placement->PlaceOn(0, m_script[slot], GetState(0).job->bandwidthBps);
        }
    }

  private:
    std::vector<std::vector<ServerShare>> m_script; //!< by slot
};

/// What a move is and what it costs.
class MoveCostTestCase : public TestCase
{
  public:
    MoveCostTestCase()
        : TestCase("the cost of moves")
    {
    }

  private:
    using Script = std::vector<std::vector<ServerShare>>;

    void DoRun() override
    {
        // Six seconds an iteration: ten in a slot, five after a move of half a minute.
        CheckIterations({{{0, 1}}, {{0, 1}}, {{0, 1}}}, {10, 20, 30}, "it stays");
        CheckIterations({{}, {{0, 1}}, {{0, 1}}}, {0, 10, 20}, "a first start is free");
        CheckIterations({{{0, 1}}, {{1, 1}}, {{1, 1}}}, {10, 15, 25}, "another server");
        CheckIterations({{{0, 1}}, {{0, 2}}, {{0, 2}}}, {10, 19, 38}, "another worker");
        CheckIterations({{{0, 1}}, {}, {{0, 1}}}, {10, 10, 15}, "a pause");
        CheckIterations({{{0, 1}, {1, 1}}, {{1, 1}, {0, 1}}}, {19, 28}, "another order");
        CheckHistory();
    }

    /// Plays one job; looks at its iterations after each slot.
    void CheckIterations(const Script& script,
                         const std::vector<uint32_t>& expected,
                         const std::string& what)
    {
        const GpuCluster cluster = MakeCluster(2, 2, 30);
        const std::vector<Job> jobs = {MakeTestJob(6, 1000, 1, 2)};
        ScriptedPolicy policy(script);
        uint32_t done = 0;
        PlayTrace(cluster,
                  jobs,
                  ProgressUtility(),
                  policy,
                  script.size(),
                  [&](const SlotReport& report) {
                      done += report.runs.empty() ? 0 : report.runs[0].iterations;
                      NS_TEST_EXPECT_MSG_EQ(done, expected[report.slot], what);
                  });
    }

    void CheckHistory()
    {
        const GpuCluster cluster = MakeCluster(2, 2, 30);
        const std::vector<Job> jobs = {MakeTestJob(6, 25, 1, 2)};
        ScriptedPolicy policy({{}, {{0, 1}}, {{0, 1}}, {}, {{1, 1}}});
        JobHistory history;
        const auto result =
            PlayTrace(cluster, jobs, ProgressUtility(), policy, 5, [&](const SlotReport& report) {
                history.Add(report);
            });
        const auto& spans = history.GetSpans(0);
        NS_TEST_ASSERT_MSG_EQ(spans.size(), 2, "before and after the pause");
        NS_TEST_EXPECT_MSG_EQ(spans[0].firstSlot, 1, "begins");
        NS_TEST_EXPECT_MSG_EQ(spans[0].lastSlot, 2, "ends");
        NS_TEST_EXPECT_MSG_EQ(spans[1].servers[0], 1, "elsewhere");
        NS_TEST_EXPECT_MSG_EQ(result.outcomes[0].nMoves, 1, "one move");
        const auto times = FindJobTimes(cluster, result, 0);
        NS_TEST_ASSERT_MSG_EQ(times.has_value(), true, "it ended");
        NS_TEST_EXPECT_MSG_EQ_TOL(times->waitingSeconds, 60, 1e-9, "waits for a slot");
        // Five iterations after a move of half a minute: the whole slot.
        NS_TEST_EXPECT_MSG_EQ_TOL(times->endSeconds, 300, 1e-9, "end");
        NS_TEST_EXPECT_MSG_EQ_TOL(result.gpuSeconds, 180, 1e-9, "GPU time");
        // Two GPUs do 19 iterations a slot.
        NS_TEST_EXPECT_MSG_EQ_TOL(times->slowdown, 300 / (25.0 / 19 * 60), 1e-9, "slowdown");
    }
};

/// Whoever claims more than a move leaves, or does not say that it moves, is found out.
class MoveCheckerTestCase : public TestCase
{
  public:
    MoveCheckerTestCase()
        : TestCase("the checker knows moves")
    {
    }

  private:
    void DoRun() override
    {
        const RingEmbedding one{0, GIGABIT, {0}, {1}, {}};
        const RingEmbedding other{0, GIGABIT, {1}, {1}, {}};
        const RingEmbedding two{0, GIGABIT, {0}, {2}, {}};
        Expect("", 0, {one, 10, 10, false});
        Expect("", 1, {one, 10, 10, false});
        Expect("does not move", 1, {one, 5, 5, true});
        Expect("moves", 1, {other, 5, 5, false});
        Expect("", 1, {other, 5, 5, true});
        Expect("does 6 iterations, 5 fit", 1, {other, 6, 6, true});
        Expect("moves", 1, {two, 5, 5, false});
        Expect("does 10 iterations, 9 fit", 1, {two, 10, 10, true});
        Expect("moves", 2, {one, 10, 10, false});
        Expect("does 10 iterations, 5 fit", 2, {one, 10, 10, true});
    }

    /// After slot 0 on server 0 with one worker, a run in a slot.
    void Expect(const std::string& message, uint32_t slot, const RingRun& run)
    {
        const GpuCluster cluster = MakeCluster(2, 2, 30);
        const std::vector<Job> jobs = {MakeTestJob(6, 1000, 1, 2)};
        AllocationChecker checker(cluster, jobs);
        std::string fault;
        if (slot > 0)
        {
            fault = checker.Check(0, {{{0, GIGABIT, {0}, {1}, {}}, 10, 10, false}});
        }
        NS_TEST_EXPECT_MSG_EQ(fault, "", "slot 0");
        fault = checker.Check(slot, {run});
        const bool isFound = message.empty() ? fault.empty() : Contains(fault, message);
        NS_TEST_EXPECT_MSG_EQ(isFound, true, message << " in: " << fault);
    }
};

/// GADGET moves less where moves cost something, and no worse than if it did not know of it.
class HysteresisTestCase : public TestCase
{
  public:
    HysteresisTestCase()
        : TestCase("GADGET's hysteresis")
    {
    }

  private:
    void DoRun() override
    {
        CheckCurve();
        CheckTakingTurns();
        CheckLosses();
    }

    /// A job that loses by going on is not kept because it would lose more by a move.
    void CheckLosses()
    {
        const GpuCluster cluster = MakeCluster(2, 4, 30);
        Job job = MakeTestJob(6, 1000, 1, 4);
        job.overheadSeconds = 20;
        JobState state = MakeJobState(cluster, job);
        const GainCurve charged = MakeGainCurve(state, EnergyUtility(0.9), 4, {true, 4});
        for (const auto& corner : charged.corners)
        {
            NS_TEST_EXPECT_MSG_NE(corner.workers, 4, "four workers cost more than they bring");
        }
    }

    /// To stay is worth what it gains, and what a move would lose.
    void CheckCurve()
    {
        const GpuCluster cluster = MakeCluster(2, 4, 30);
        const Job job = MakeTestJob(6, 1000, 1, 4);
        const JobState state = MakeJobState(cluster, job);
        const ProgressUtility progress;
        const GainCurve free = MakeGainCurve(state, progress, 4);
        const GainCurve charged = MakeGainCurve(state, progress, 4, {true, 2});
        NS_TEST_ASSERT_MSG_EQ(charged.corners.empty(), false, "there is something to gain");
        NS_TEST_EXPECT_MSG_EQ(charged.corners[0].workers, 2, "two workers are there already");
        // 19 iterations instead of 9: staying gains 19, and does not lose 10.
        NS_TEST_EXPECT_MSG_EQ_TOL(charged.corners[0].gain, 0.029, 1e-12, "19 + 10 of 1000");
        NS_TEST_EXPECT_MSG_GT(free.corners.back().gain, 0.038, "four workers without a move");
        NS_TEST_EXPECT_MSG_EQ(charged.corners.size(), 1, "and they are not worth one");
    }

    /// Two equal jobs and one GPU: fairness wants them to take turns, which a cost must slow down.
    void CheckTakingTurns()
    {
        const std::vector<Job> jobs(2, MakeTestJob(6, 1000, 1, 1));
        const auto countMoves = [&](double moveSeconds) {
            GpuCluster cluster = MakeCluster(2, 1, moveSeconds);
            cluster.gpus[1] = 0;
            GadgetPolicy policy;
            return PlayTrace(cluster, jobs, AlphaFairUtility(1), policy, 120).nMoves;
        };
        NS_TEST_EXPECT_MSG_GT(countMoves(0), 100, "turns every slot");
        NS_TEST_EXPECT_MSG_LT(countMoves(20), 15, "turns now and then");
        NS_TEST_EXPECT_MSG_GT(countMoves(20), 1, "but turns");
    }
};

/// Means, quantiles and curves where they are known.
class DistributionTestCase : public TestCase
{
  public:
    DistributionTestCase()
        : TestCase("distributions")
    {
    }

  private:
    void DoRun() override
    {
        std::vector<double> numbers(100);
        std::iota(numbers.rbegin(), numbers.rend(), 1);
        const Distribution hundred = Summarize(numbers);
        NS_TEST_EXPECT_MSG_EQ_TOL(hundred.mean, 50.5, 1e-12, "mean");
        NS_TEST_EXPECT_MSG_EQ(hundred.median, 50, "median");
        NS_TEST_EXPECT_MSG_EQ(hundred.p95, 95, "p95");
        NS_TEST_EXPECT_MSG_EQ(hundred.p99, 99, "p99");
        NS_TEST_EXPECT_MSG_EQ(Summarize({7}).p99, 7, "one number");
        NS_TEST_EXPECT_MSG_EQ(Summarize({}).mean, 0, "none");
        std::sort(numbers.begin(), numbers.end());
        const auto cdf = MakeCdf(numbers, 4);
        NS_TEST_ASSERT_MSG_EQ(cdf.size(), 4, "points");
        NS_TEST_EXPECT_MSG_EQ(cdf[0].first, 25, "a quarter is not larger");
        NS_TEST_EXPECT_MSG_EQ_TOL(cdf[0].second, 0.25, 1e-12, "a quarter");
        NS_TEST_EXPECT_MSG_EQ(cdf[3].first, 100, "the last");
        NS_TEST_EXPECT_MSG_EQ(cdf[3].second, 1, "all");
        NS_TEST_EXPECT_MSG_EQ(MakeCdf({1, 2}, 9).size(), 2, "no more points than numbers");
        NS_TEST_EXPECT_MSG_EQ(MakeCdf({}, 9).size(), 0, "none");
        CheckMakespan();
    }

    /// Two jobs one after another on one GPU.
    void CheckMakespan()
    {
        GpuCluster cluster = MakeCluster(2, 1, 0);
        cluster.gpus[1] = 0;
        const std::vector<Job> jobs = {MakeTestJob(6, 15, 1, 1), MakeTestJob(6, 10, 1, 1)};
        for (const uint32_t nSlots : {2u, 9u})
        {
            const auto policy = CreateClusterPolicy("fifo", 1);
            const auto metrics =
                MeasureCluster(cluster,
                               PlayTrace(cluster, jobs, ProgressUtility(), *policy, nSlots));
            NS_TEST_EXPECT_MSG_EQ(metrics.makespan.has_value(), (nSlots > 2), "all have finished");
            NS_TEST_EXPECT_MSG_EQ_TOL(metrics.lastEndSeconds, (nSlots > 2 ? 180 : 90), 1e-9, "end");
            if (metrics.makespan)
            {
                // The second job waits for a slot of its own: 90 + 60 of 180 s.
                NS_TEST_EXPECT_MSG_EQ_TOL(metrics.utilization, 150.0 / 180, 1e-9, "utilization");
                NS_TEST_EXPECT_MSG_EQ_TOL(metrics.completion.mean, 135, 1e-9, "completion");
                NS_TEST_EXPECT_MSG_EQ_TOL(metrics.waiting.mean, 60, 1e-9, "waiting");
            }
        }
    }
};

class ClusterMovesTestSuite : public TestSuite
{
  public:
    ClusterMovesTestSuite()
        : TestSuite("allreduce-cluster-moves", TestSuite::Type::UNIT)
    {
        AddTestCase(new MoveCostTestCase);
        AddTestCase(new MoveCheckerTestCase);
        AddTestCase(new HysteresisTestCase);
        AddTestCase(new DistributionTestCase);
    }
};

ClusterMovesTestSuite g_clusterMovesTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
