/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "cluster-test-utils.h"
#include "ring-experiment.h"

#include "ns3/allocation-checker.h"
#include "ns3/allreduce-error.h"
#include "ns3/cluster-metrics.h"
#include "ns3/cluster-simulation.h"
#include "ns3/gadget-policy.h"
#include "ns3/guarantee-check.h"
#include "ns3/job-generator.h"
#include "ns3/job-trace.h"
#include "ns3/offline-optimum.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// @return a job of one or more workers
Job
MakeJob(double seconds, uint32_t iterations, uint32_t maxWorkers)
{
    return MakeTestJob(seconds, iterations, 1, maxWorkers);
}

/// @return a cluster in which every server has the same number of GPUs
GpuCluster
MakeCluster(const Topology& topology, uint32_t gpus)
{
    return {topology, std::vector<uint32_t>(topology.GetNServers(), gpus)};
}

/// @return a cluster on a random network, with links that rings have to compete for
GpuCluster
MakeRandomCluster(TestRandom& random)
{
    RandomNetworkSize size;
    size.mostServers = 8;
    const Topology shape = MakeRandomNetwork(random, size);
    std::vector<Link> links = shape.GetLinks();
    for (Link& link : links)
    {
        link.rateBps = (1 + Draw(random, 6)) * GIGABIT;
    }
    GpuCluster cluster{shape.WithLinks("random", links), {}};
    for (NodeId server = 0; server < shape.GetNServers(); ++server)
    {
        cluster.gpus.push_back(server == 0 ? 1 + Draw(random, 4) : Draw(random, 5));
    }
    return cluster;
}

std::vector<Job>
MakeRandomJobs(TestRandom& random, uint32_t nJobs)
{
    std::vector<Job> jobs;
    for (uint32_t i = 0; i < nJobs; ++i)
    {
        // One after another: compilers differ in the order in which they evaluate arguments.
        const double seconds = 1 + Draw(random, 100);
        const uint32_t iterations = 1 + Draw(random, 300);
        const uint32_t maxWorkers = 1 + Draw(random, 9);
        Job job = MakeJob(seconds, iterations, maxWorkers);
        job.minWorkers = Draw(random, 2) == 0 ? 1 : 1 + Draw(random, maxWorkers);
        job.arrivalSlot = Draw(random, 15);
        job.gradientBytes = 1 + Draw(random, 500) * 1'000'000;
        job.bandwidthBps = (1 + Draw(random, 3)) * GIGABIT;
        job.overheadSeconds = 0.1 * Draw(random, 5);
        job.weight = 0.5 + 0.5 * Draw(random, 4);
        jobs.push_back(job);
    }
    return jobs;
}

ClusterResult
Play(const GpuCluster& cluster,
     const std::vector<Job>& jobs,
     const std::string& policyName,
     uint32_t nSlots,
     const std::string& objective = "progress",
     const SlotObserver& observer = {})
{
    const auto policy = CreateClusterPolicy(policyName, 1);
    return PlayTrace(cluster, jobs, *ParseUtility(objective), *policy, nSlots, observer);
}

/// tau = 2M(w-1)/(wB) + M(w-1)/(wG) + c + forward + backward, and how often it fits into a slot.
class IterationTimeTestCase : public TestCase
{
  public:
    IterationTimeTestCase()
        : TestCase("iteration time")
    {
    }

  private:
    void DoRun() override
    {
        Job job = MakeJob(12, 100, 4);
        job.gradientBytes = 125'000'000; // A second at 1 Gb/s.
        job.overheadSeconds = 0.25;
        const double reduceSpeed = 1.25e9;
        const IterationTime alone = GetIterationTime(job, 1, GIGABIT, reduceSpeed);
        NS_TEST_EXPECT_MSG_EQ(alone.transfer + alone.reduction, 0, "one worker has no ring");
        NS_TEST_EXPECT_MSG_EQ_TOL(alone.GetTotal(), 12.25, 1e-12, "one worker");
        const IterationTime four = GetIterationTime(job, 4, GIGABIT, reduceSpeed);
        NS_TEST_EXPECT_MSG_EQ_TOL(four.transfer, 1.5, 1e-12, "2 * 3/4 gradients");
        NS_TEST_EXPECT_MSG_EQ_TOL(four.reduction, 0.075, 1e-12, "3/4 gradient at 1.25 GB/s");
        NS_TEST_EXPECT_MSG_EQ_TOL(four.forward + four.backward, 3, 1e-12, "a quarter each");
        NS_TEST_EXPECT_MSG_EQ_TOL(four.GetTotal(), 4.825, 1e-12, "four workers");
        NS_TEST_EXPECT_MSG_EQ(CountIterations(four.GetTotal(), 60), 12, "12.4 fit");
        NS_TEST_EXPECT_MSG_EQ(CountIterations(0.1, 0.3), 3, "what fits exactly is not lost");
        NS_TEST_EXPECT_MSG_EQ(CountIterations(61, 60), 0, "too long for a slot");
        NS_TEST_EXPECT_MSG_EQ_TOL(GetContendedBandwidth(10, 1, 0.5), 10, 1e-12, "f = 1");
        NS_TEST_EXPECT_MSG_EQ_TOL(GetContendedBandwidth(10, 3, 0.5), 2.5, 1e-12, "f = 3 + 0.5 * 2");
    }
};

/// Benefits begin at 0, never fall, and are concave; alpha 1 is the limit; max-min helps the last.
class UtilityTestCase : public TestCase
{
  public:
    UtilityTestCase()
        : TestCase("utilities")
    {
    }

  private:
    void DoRun() override
    {
        const GpuCluster cluster = MakeCluster(MakeTestStar(2), 4);
        TestRandom random(1);
        for (const std::string text : {"progress",
                                       "energy:0.7",
                                       "fair:0",
                                       "fair:0.5",
                                       "fair",
                                       "fair:3",
                                       "max-min",
                                       "0.3*progress+2*fair:2+energy"})
        {
            const Job job = MakeRandomJobs(random, 1).front();
            CheckShape(text, MakeJobState(cluster, job));
        }
        CheckLimits(cluster);
        for (const std::string text : {"",
                                       "speed",
                                       "fair:x",
                                       "fair:-1",
                                       "energy:",
                                       "-1*progress",
                                       "progress:1",
                                       "progress+",
                                       "x*progress",
                                       "max-min:2"})
        {
            const std::string error = GetError([&] { ParseUtility(text); });
            NS_TEST_EXPECT_MSG_EQ(Contains(error, "objective \"" + text + "\""), true, error);
        }
    }

    void CheckShape(const std::string& text, const JobState& state)
    {
        const auto utility = ParseUtility(text);
        const double target = state.job->targetIterations;
        NS_TEST_EXPECT_MSG_EQ_TOL(utility->GetBenefit(state, 0), 0, 1e-12, text << " begins at 0");
        NS_TEST_EXPECT_MSG_EQ_TOL(utility->GetGain(state, target / 5, target / 2),
                                  utility->GetBenefit(state, target / 2) -
                                      utility->GetBenefit(state, target / 5),
                                  1e-12,
                                  text << ": gains are differences of benefits");
        double last = 0;
        double lastGrowth = 1e300;
        for (double x = 1; x <= target; ++x)
        {
            const double benefit = utility->GetBenefit(state, x);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(benefit, last, text << " never falls");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(benefit - last, lastGrowth + 1e-12, text << " is concave");
            lastGrowth = benefit - last;
            last = benefit;
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(utility->GetBenefit(state, 2 * target),
                                  last,
                                  1e-12,
                                  text << ": no gain past the target");
    }

    void CheckLimits(const GpuCluster& cluster)
    {
        const Job job = MakeJob(1, 100, 1);
        const JobState state = MakeJobState(cluster, job);
        NS_TEST_EXPECT_MSG_EQ_TOL(AlphaFairUtility(1).GetBenefit(state, 40),
                                  AlphaFairUtility(1 + 1e-7).GetBenefit(state, 40),
                                  1e-5,
                                  "the logarithm is the limit at alpha 1");
        const auto maxMin = ParseUtility("max-min");
        NS_TEST_EXPECT_MSG_GT(maxMin->GetGain(state, 99, 100), 0, "not lost to rounding");
        NS_TEST_EXPECT_MSG_GT(ParseUtility("fair:9+energy")->GetGain(state, 99, 100), 0, "sums");
        const double late = maxMin->GetBenefit(state, 100) - maxMin->GetBenefit(state, 20);
        const double early = maxMin->GetBenefit(state, 11) - maxMin->GetBenefit(state, 10);
        NS_TEST_EXPECT_MSG_GT(early, late, "the job that is behind counts more than all the rest");
        // 60 iterations a slot, 100 in all: 5/3 worker-slots cost half of the benefit.
        NS_TEST_EXPECT_MSG_EQ_TOL(EnergyUtility(0.5).GetWorkerSlotCost(state),
                                  0.5 / (100.0 / 60),
                                  1e-12,
                                  "price of a worker-slot");
    }
};

/// Steps of a gain curve get worse from one to the next, and no number of workers is above it.
class GainCurveTestCase : public TestCase
{
  public:
    GainCurveTestCase()
        : TestCase("gain curves are concave hulls")
    {
    }

  private:
    void DoRun() override
    {
        const GpuCluster cluster = MakeCluster(MakeTestStar(2), 4);
        const std::vector<std::string> objectives = {"progress", "energy:0.8", "fair:2"};
        TestRandom random(2);
        for (uint32_t run = 0; run < 300; ++run)
        {
            const Job job = MakeRandomJobs(random, 1).front();
            JobState state = MakeJobState(cluster, job);
            state.iterations = Draw(random, job.targetIterations);
            const auto utility = ParseUtility(objectives[run % objectives.size()]);
            CheckCurve(state, *utility, 1 + Draw(random, 12));
        }
    }

    void CheckCurve(const JobState& state, const JobUtility& utility, uint32_t limit)
    {
        const GainCurve curve = MakeGainCurve(state, utility, limit);
        double last = 1e300;
        for (std::size_t i = 0; i < curve.corners.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_LT(curve.GetDensity(i), last, "steps get worse");
            NS_TEST_EXPECT_MSG_GT(curve.GetDensity(i), 0, "every step gains");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(curve.corners[i].workers, limit, "the limit holds");
            last = curve.GetDensity(i);
        }
        for (uint32_t w = 0; w <= std::min(limit, state.job->maxWorkers); ++w)
        {
            const double left = state.job->targetIterations - state.iterations;
            const double progress = std::min<double>(state.rates[w], left);
            const double busy = state.rates[w] > left ? left / state.rates[w] : 1;
            const double gain = utility.GetBenefit(state, state.iterations + progress) -
                                utility.GetBenefit(state, state.iterations) -
                                w * busy * utility.GetWorkerSlotCost(state);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(gain, Interpolate(curve, w) + 1e-9, w << " workers");
        }
    }

    static double Interpolate(const GainCurve& curve, uint32_t workers)
    {
        GainCurve::Corner before;
        for (const auto& corner : curve.corners)
        {
            if (corner.workers >= workers)
            {
                const double part =
                    double(workers - before.workers) / (corner.workers - before.workers);
                return before.gain + part * (corner.gain - before.gain);
            }
            before = corner;
        }
        return before.gain;
    }
};

/// Rings come and go on random clusters: what is placed is possible, what is refused leaves no
/// trace, and in the end all is free again.
class PlacementTestCase : public TestCase
{
  public:
    PlacementTestCase()
        : TestCase("placement of rings")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(3);
        for (uint32_t run = 0; run < 60; ++run)
        {
            const GpuCluster cluster = MakeRandomCluster(random);
            std::vector<Job> jobs = MakeRandomJobs(random, 12);
            for (Job& job : jobs)
            {
                job.arrivalSlot = 0;
                job.targetIterations = 1'000'000;
            }
            ComeAndGo(cluster, jobs, random);
        }
    }

    void ComeAndGo(const GpuCluster& cluster, const std::vector<Job>& jobs, TestRandom& random)
    {
        RingPlacement placement(cluster);
        for (uint32_t step = 0; step < 60; ++step)
        {
            const JobId job = Draw(random, jobs.size());
            const uint32_t nFree = placement.GetNFreeGpus();
            const uint64_t reserved = placement.GetReservedBps();
            if (!placement.Find(job))
            {
                const uint32_t most = jobs[job].maxWorkers;
                const uint32_t least = jobs[job].minWorkers;
                const uint32_t workers = least + Draw(random, most - least + 1);
                const bool isPlaced = placement.Place(job, workers, jobs[job].bandwidthBps);
                NS_TEST_EXPECT_MSG_EQ(placement.GetNFreeGpus(),
                                      nFree - (isPlaced ? workers : 0),
                                      "GPUs are counted");
                NS_TEST_EXPECT_MSG_EQ((isPlaced || placement.GetReservedBps() == reserved),
                                      true,
                                      "a refusal leaves no trace");
            }
            else
            {
                RingEmbedding ring = placement.Remove(job);
                if (Draw(random, 2))
                {
                    placement.Restore(std::move(ring));
                    NS_TEST_EXPECT_MSG_EQ(placement.GetReservedBps(), reserved, "restored");
                }
            }
            AllocationChecker checker(cluster, jobs);
            NS_TEST_ASSERT_MSG_EQ(checker.Check(step, MakeRuns(placement)), "", "step " << step);
        }
        placement.Clear();
        NS_TEST_EXPECT_MSG_EQ(placement.GetNFreeGpus(), cluster.GetNGpus(), "all GPUs are free");
        NS_TEST_EXPECT_MSG_EQ(placement.GetReservedBps(), 0, "all bandwidth is free");
    }

    static std::vector<RingRun> MakeRuns(const RingPlacement& placement)
    {
        std::vector<RingRun> runs;
        for (const RingEmbedding& ring : placement.GetRings())
        {
            runs.push_back({ring, 0, 0});
        }
        return runs;
    }
};

/// Each corruption of a good allocation is found, and named.
class CheckerMutantsTestCase : public TestCase
{
  public:
    CheckerMutantsTestCase()
        : TestCase("the checker finds corrupted allocations")
    {
    }

  private:
    using Runs = std::vector<RingRun>;
    using Mutate = std::function<void(Runs&)>;

    void DoRun() override
    {
        // Four servers of two GPUs at switch 4; job 0 on servers 0 and 1, job 1 on 2, job 2 waits.
        m_cluster.emplace(MakeCluster(MakeTestStar(4), 2));
        m_jobs = {MakeJob(6, 100, 3), MakeJob(6, 100, 2), MakeJob(6, 100, 2)};
        m_jobs[0].bandwidthBps = 6 * GIGABIT;
        m_jobs[1].bandwidthBps = 6 * GIGABIT;
        m_jobs[2].arrivalSlot = 9;
        NS_TEST_EXPECT_MSG_EQ(Find([](Runs&) {}), "", "nothing is wrong");
        Expect("GPUs only", [](Runs& runs) { runs[1].ring = MakeSingle(1, 0, 1); });
        Expect("GPUs only", [](Runs& runs) { runs[1].ring.workers = {3}; });
        Expect("at most 3 are allowed", [](Runs& runs) { runs[0].ring.workers = {2, 2}; });
        m_jobs[0].minWorkers = 3;
        Expect("has 2 workers, at least 3 are needed", [](Runs& runs) {
            runs[0].ring.workers = {1, 1};
        });
        Expect("has no worker on server 1", [](Runs& runs) { runs[0].ring.workers = {2, 0}; });
        Expect("has no workers", [](Runs& runs) { runs[0].ring.workers = {2}; });
        Expect("has no workers", [](Runs& runs) {
            runs[1].ring = RingEmbedding{1, 0, {}, {}, {}};
        });
        Expect("visits a server twice", [](Runs& runs) { runs[0].ring.servers = {0, 0}; });
        Expect("which is not a server", [](Runs& runs) { runs[1].ring.servers = {4}; });
        Expect("would close the ring", [](Runs& runs) { runs[0].ring.paths.pop_back(); });
        Expect("ring is not closed", [](Runs& runs) { runs[0].ring.paths[1] = {1, 4, 2}; });
        Expect("ring is not closed", [](Runs& runs) { runs[0].ring.paths[0] = {1, 4, 0}; });
        Expect("ring is not closed", [](Runs& runs) { runs[0].ring.paths[0] = {}; });
        Expect("no link from 0 to 1", [](Runs& runs) { runs[0].ring.paths[0] = {0, 1}; });
        Expect("passes a node twice", [](Runs& runs) { runs[0].ring.paths[0] = {0, 4, 3, 4, 1}; });
        Expect("of the same ring", [](Runs& runs) {
            runs[0].ring = {0,
                            6 * GIGABIT,
                            {0, 1, 3},
                            {1, 1, 1},
                            {{0, 4, 1}, {1, 4, 0, 3}, {3, 4, 0}}};
        });
        Expect("are reserved of", [](Runs& runs) {
            runs[1].ring = {1, 6 * GIGABIT, {1, 2}, {1, 1}, {{1, 4, 2}, {2, 4, 1}}};
        });
        Expect("reserves 1 bit/s", [](Runs& runs) { runs[0].ring.bandwidthBps = 1; });
        Expect("has two rings", [](Runs& runs) { runs[1].ring.job = 0; });
        Expect("is not in the trace", [](Runs& runs) { runs[1].ring.job = 3; });
        Expect("before it arrives", [](Runs& runs) { runs[1].ring.job = 2; });
        Expect("10 fit", [](Runs& runs) { runs[1].iterations = 11; });
        Expect("29 fit", [](Runs& runs) { runs[0].iterations = 30; });
        CheckHistory();
    }

    static RingEmbedding MakeSingle(JobId job, NodeId server, uint32_t workers)
    {
        return {job, 6 * GIGABIT, {server}, {workers}, {}};
    }

    static Runs MakeGood()
    {
        return {{{0, 6 * GIGABIT, {0, 1}, {2, 1}, {{0, 4, 1}, {1, 4, 0}}}, 29, 29},
                {MakeSingle(1, 2, 1), 10, 10}};
    }

    std::string Find(const Mutate& mutate)
    {
        Runs runs = MakeGood();
        mutate(runs);
        return AllocationChecker(*m_cluster, m_jobs).Check(0, runs);
    }

    void Expect(const std::string& message, const Mutate& mutate)
    {
        const std::string fault = Find(mutate);
        NS_TEST_EXPECT_MSG_EQ(Contains(fault, message), true, message << " in: " << fault);
    }

    /// What is wrong only because of earlier slots.
    void CheckHistory()
    {
        AllocationChecker checker(*m_cluster, m_jobs);
        std::string fault;
        for (uint32_t slot = 0; slot < 3; ++slot)
        {
            fault += checker.Check(slot, MakeGood());
        }
        NS_TEST_EXPECT_MSG_EQ(fault, "", "87 of 100 iterations");
        NS_TEST_EXPECT_MSG_EQ(Contains(checker.Check(3, MakeGood()), "beyond its target"),
                              true,
                              "116 of 100 iterations");
        NS_TEST_EXPECT_MSG_EQ(Contains(checker.Check(4, MakeGood()), "it has finished"),
                              true,
                              "a job that has finished");
    }

    std::optional<GpuCluster> m_cluster; //!< where
    std::vector<Job> m_jobs;             //!< who
};

/// Every policy on random clusters and traces: the checker finds nothing, the sums are right, and
/// the same again gives the same.
class RandomTracesTestCase : public TestCase
{
  public:
    RandomTracesTestCase()
        : TestCase("all policies on random traces")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::string> objectives = {"progress", "energy:0.4", "fair", "max-min"};
        TestRandom random(4);
        for (uint32_t run = 0; run < 25; ++run)
        {
            GpuCluster cluster = MakeRandomCluster(random);
            cluster.moveSeconds = run % 3 == 0 ? Draw(random, 59) : 0;
            const std::vector<Job> jobs = MakeRandomJobs(random, 1 + Draw(random, 30));
            for (const std::string& policy : GetClusterPolicyNames())
            {
                CheckTrace(cluster, jobs, policy, objectives[run % objectives.size()]);
            }
        }
    }

    void CheckTrace(const GpuCluster& cluster,
                    const std::vector<Job>& jobs,
                    const std::string& policy,
                    const std::string& objective)
    {
        constexpr uint32_t N_SLOTS = 40;
        double gain = 0;
        double mean = 0;
        const SlotObserver observer = [&](const SlotReport& report) {
            gain += report.gain;
            mean += report.utility / N_SLOTS;
            NS_TEST_EXPECT_MSG_LT_OR_EQ(report.gpuUse, 1, "no more GPUs than there are");
        };
        const auto result = Play(cluster, jobs, policy, N_SLOTS, objective, observer);
        NS_TEST_EXPECT_MSG_EQ_TOL(result.utility, gain, 1e-9, policy << ": gains add up");
        NS_TEST_EXPECT_MSG_EQ_TOL(result.meanUtility, mean, 1e-9, policy << ": mean over slots");
        const auto utility = ParseUtility(objective);
        double benefit = 0;
        for (const JobState& state : result.jobs)
        {
            benefit += utility->GetBenefit(state, state.iterations);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(benefit - result.workerSlotCost,
                                  gain,
                                  1e-9,
                                  policy << ": utility is benefit minus cost");
        const auto again = Play(cluster, jobs, policy, N_SLOTS, objective);
        NS_TEST_EXPECT_MSG_EQ(again.utility, result.utility, policy << ": the same again");
        NS_TEST_EXPECT_MSG_EQ(again.nMoves, result.nMoves, policy << ": the same rings again");
    }
};

/// What policies do where it is clear what they should.
class KnownAnswersTestCase : public TestCase
{
  public:
    KnownAnswersTestCase()
        : TestCase("known answers")
    {
    }

  private:
    void DoRun() override
    {
        CheckAlone();
        CheckOrders();
        CheckShares();
        CheckLargeRing();
        CheckGangs();
        CheckContention();
        CheckNetworkLimit();
        CheckOwnUtility();
    }

    /// A job that has the cluster to itself gets all it can use, whoever decides.
    void CheckAlone()
    {
        const GpuCluster cluster = MakeCluster(MakeTestStar(3), 2);
        for (const std::string& policy : GetClusterPolicyNames())
        {
            const std::vector<Job> jobs = {MakeJob(12, 100, 5)};
            const auto result = Play(cluster, jobs, policy, 10);
            NS_TEST_EXPECT_MSG_EQ(result.nFinished, 1, policy);
            // GADGET sees that one worker is enough for the last four iterations.
            const uint32_t expected = policy == "gadget" ? 21 : 25;
            NS_TEST_EXPECT_MSG_EQ(result.jobs[0].workerSlots, expected, policy << ": GPUs");
            NS_TEST_EXPECT_MSG_EQ(result.jobs[0].endSlot, 4, policy << ": 24 iterations a slot");
            const double seconds = policy == "gadget" ? 288 : 250;
            NS_TEST_EXPECT_MSG_EQ_TOL(MeasureCluster(cluster, result).completion.mean,
                                      seconds,
                                      1,
                                      policy << ": seconds");
        }
    }

    /// One GPU, a long job first and a short job later: who runs when.
    void CheckOrders()
    {
        const GpuCluster cluster = {{"pair", 2, 0, {{0, 1}}}, {1, 0}};
        std::vector<Job> jobs = {MakeJob(6, 100, 1), MakeJob(6, 20, 1)};
        jobs[1].arrivalSlot = 2;
        const std::map<std::string, std::pair<uint32_t, uint32_t>> ends = {
            {"gadget", {11, 3}}, // 1/20 of the short job is worth more than 1/100 of the long.
            {"fifo", {9, 11}},
            {"srf", {11, 3}},
            {"las", {11, 3}},     // The short one has less service until both have as much.
            {"sjf-bco", {9, 11}}, // Whoever runs keeps its GPU.
        };
        for (const auto& [policy, end] : ends)
        {
            const auto result = Play(cluster, jobs, policy, 20);
            NS_TEST_EXPECT_MSG_EQ(result.jobs[0].endSlot, end.first, policy << ": the long job");
            NS_TEST_EXPECT_MSG_EQ(result.jobs[1].endSlot, end.second, policy << ": the short job");
        }
    }

    /// Fairness shares GPUs between equals; dominant-resource fairness does so whatever the goal.
    void CheckShares()
    {
        const GpuCluster cluster = MakeCluster(MakeTestStar(2), 4);
        const std::vector<Job> jobs(4, MakeJob(6, 100, 8));
        for (const std::string policy : {"gadget", "drf"})
        {
            const auto result = Play(cluster, jobs, policy, 1, "fair");
            for (const JobState& state : result.jobs)
            {
                NS_TEST_EXPECT_MSG_EQ(state.workerSlots, 2, policy << ": two of eight each");
            }
        }
        // A worker too many costs more than it brings: 40 % of the iteration is overhead.
        Job slow = MakeJob(6, 10000, 8);
        slow.overheadSeconds = 4;
        const auto frugal = Play(cluster, {slow}, "gadget", 1, "energy:0.9");
        const auto eager = Play(cluster, {slow}, "gadget", 1, "progress");
        NS_TEST_EXPECT_MSG_LT(frugal.jobs[0].workerSlots, 3, "energy is saved");
        NS_TEST_EXPECT_MSG_GT(eager.jobs[0].workerSlots, 6, "energy does not count");
    }

    /// A small job gains more for each GPU, but keeps out a large one that is worth three of it.
    void CheckLargeRing()
    {
        std::vector<Job> jobs = {MakeJob(200, 1, 4), MakeJob(59, 1, 1)};
        jobs[0].weight = 3;
        const auto result = Play(MakeCluster(MakeTestStar(2), 2), jobs, "gadget", 1);
        NS_TEST_EXPECT_MSG_EQ(result.jobs[0].workerSlots, 4, "the large job runs");
        NS_TEST_EXPECT_MSG_EQ(result.jobs[1].workerSlots, 0, "the small job waits");
        NS_TEST_EXPECT_MSG_EQ_TOL(result.worstSlotShare, 3 / 3.25, 1e-12, "bound: 1 + 3 * 3/4");
    }

    /// Whoever needs three GPUs gets three or none, whoever decides; what is left goes to others.
    void CheckGangs()
    {
        std::vector<Job> jobs(3, MakeJob(6, 100000, 3));
        for (Job& job : jobs)
        {
            job.minWorkers = 3;
        }
        jobs[2].minWorkers = 1;
        jobs.push_back(MakeJob(6, 100000, 9));
        jobs.back().minWorkers = 9;
        for (const std::string& policy : GetClusterPolicyNames())
        {
            const auto result = Play(MakeCluster(MakeTestStar(4), 2), jobs, policy, 20);
            NS_TEST_EXPECT_MSG_EQ(result.jobs[0].workerSlots % 3, 0, policy << ": whole gangs");
            NS_TEST_EXPECT_MSG_EQ(result.jobs[1].workerSlots % 3, 0, policy << ": whole gangs");
            NS_TEST_EXPECT_MSG_EQ(result.jobs[3].workerSlots, 0, policy << ": nine are not there");
        }
        NS_TEST_EXPECT_MSG_EQ(Play(MakeCluster(MakeTestStar(4), 2), jobs, "gadget", 1).meanGpuUse,
                              1,
                              "3 + 3 + 2");
    }

    /// Two rings of SJF-BCO share links, and are slower than one.
    void CheckContention()
    {
        GpuCluster cluster = MakeCluster(MakeTestStar(2), 2);
        cluster.contentionAlpha = 1;
        Job job = MakeJob(1e-3, 1'000'000, 2);
        job.gradientBytes = 1'250'000'000; // A second at 10 Gb/s; so is the ring of two workers.
        job.bandwidthBps = 10 * GIGABIT;
        cluster.reduceBytesPerSecond = 1e15;
        const RingEmbedding ring = {0, 0, {0, 1}, {1, 1}, {{0, 2, 1}, {1, 2, 0}}};
        RingEmbedding other = ring;
        other.job = 1;
        const auto one = FindRingBandwidths(cluster, {job, job}, {ring});
        const auto two = FindRingBandwidths(cluster, {job, job}, {ring, other});
        NS_TEST_EXPECT_MSG_EQ_TOL(one[0], 1e10, 1, "a ring by itself has the link");
        NS_TEST_EXPECT_MSG_EQ_TOL(two[1], 1e10 / 3, 1, "f(1, 2) = 3");
    }

    /// Where links are too thin for a second ring, the GPUs still go to somebody.
    void CheckNetworkLimit()
    {
        std::vector<Link> links = MakeTestStar(4).GetLinks();
        for (Link& link : links)
        {
            link.rateBps = GIGABIT;
        }
        const GpuCluster cluster = MakeCluster({"thin", 4, 1, links}, 2);
        std::vector<Job> jobs(4, MakeJob(6, 10000, 4));
        for (const std::string policy : {"gadget", "fifo", "las", "drf"})
        {
            const auto result = Play(cluster, jobs, policy, 1);
            NS_TEST_EXPECT_MSG_EQ(result.meanGpuUse, 1, policy << ": no GPU is idle");
        }
        // A gang for which the links are too thin must not keep out one for which there is room.
        std::vector<Job> gangs = {MakeJob(6, 100, 3), MakeJob(20, 10000, 2)};
        gangs[0].minWorkers = 3;
        gangs[0].bandwidthBps = 2 * GIGABIT;
        gangs[1].minWorkers = 2;
        std::vector<Link> thin = MakeTestStar(2).GetLinks();
        for (Link& link : thin)
        {
            link.rateBps = GIGABIT;
        }
        const GpuCluster pair = MakeCluster({"pair", 2, 1, thin}, 2);
        NS_TEST_EXPECT_MSG_EQ(Play(pair, gangs, "gadget", 1).jobs[1].workerSlots, 2, "the gang");
    }

    /// A utility of one's own decides: only the second job counts.
    void CheckOwnUtility()
    {
        class OnlyNamed : public JobUtility
        {
          public:
            double GetBenefit(const JobState& state, double iterations) const override
            {
                return state.job->name == "second" ? std::sqrt(iterations) : 0;
            }
        };

        std::vector<Job> jobs(2, MakeJob(6, 1000, 4));
        jobs[1].name = "second";
        GadgetPolicy policy;
        const auto result =
            PlayTrace(MakeCluster(MakeTestStar(2), 2), jobs, OnlyNamed(), policy, 3);
        NS_TEST_EXPECT_MSG_EQ(result.jobs[0].workerSlots, 0, "the first job is worth nothing");
        NS_TEST_EXPECT_MSG_EQ(result.jobs[1].workerSlots, 12, "the second gets everything");
    }
};

/// The online utility is never below the share of the offline optimum that is guaranteed.
class GuaranteeTestCase : public TestCase
{
  public:
    GuaranteeTestCase()
        : TestCase("GADGET's guarantee against the offline optimum")
    {
    }

  private:
    void DoRun() override
    {
        CheckOptimum();
        const GuaranteeReport report = CheckGuarantee(100, 7);
        NS_TEST_EXPECT_MSG_EQ(report.violations.size(), 0, "violations");
        NS_TEST_EXPECT_MSG_GT(report.meanRatio, 0.9, "on average nearly the optimum");
        NS_TEST_EXPECT_MSG_LT(report.worstRatio, 1, "some instances are hard");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(report.worstRoomySlotShare, 0.5, "theorem on slots");
        NS_TEST_EXPECT_MSG_GT(report.nRoomy, 20, "enough of both kinds");
        NS_TEST_EXPECT_MSG_LT(report.nRoomy, 80, "enough of both kinds");
        NS_TEST_EXPECT_MSG_GT(report.nMoving, 20, "enough with move costs");
        NS_TEST_EXPECT_MSG_GT(report.nGangs, 20, "enough with gangs");
    }

    /// The exhaustive search itself, where the answer is known.
    void CheckOptimum()
    {
        std::vector<Link> links = MakeTestStar(2).GetLinks();
        links[0].rateBps = GIGABIT;
        const GpuCluster cluster = MakeCluster({"thin", 2, 1, links}, 2);
        const std::vector<Job> jobs(2, MakeJob(6, 19, 4));
        // One ring of any size next to what is left; two rings over the thin link do not fit.
        const std::vector<std::vector<uint32_t>> expected = {{0, 0},
                                                             {0, 1},
                                                             {0, 2},
                                                             {0, 3},
                                                             {0, 4},
                                                             {1, 0},
                                                             {1, 1},
                                                             {1, 2},
                                                             {1, 3},
                                                             {2, 0},
                                                             {2, 1},
                                                             {2, 2},
                                                             {3, 0},
                                                             {3, 1},
                                                             {4, 0}};
        NS_TEST_EXPECT_MSG_EQ((FindFeasibleSizes(cluster, jobs) == expected), true, "sizes");
        // Two workers do 19 iterations in a slot: all is done after one.
        const ProgressUtility progress;
        NS_TEST_EXPECT_MSG_EQ_TOL(FindOfflineOptimum(cluster, jobs, progress, {1}),
                                  2,
                                  1e-12,
                                  "all");
        NS_TEST_EXPECT_MSG_EQ_TOL(FindOfflineOptimum(cluster, jobs, progress, {0.5, 0.25}),
                                  1,
                                  1e-12,
                                  "gains count by their slot");
    }
};

/// Job files: what is written is read back, and what is wrong is named with its line.
class JobTraceTestCase : public TestCase
{
  public:
    JobTraceTestCase()
        : TestCase("job files")
    {
    }

  private:
    void DoRun() override
    {
        JobMix mix;
        mix.nJobs = 20;
        const std::vector<Job> jobs = GenerateJobs(mix);
        std::stringstream file;
        WriteJobs(jobs, "a comment", file);
        const std::vector<Job> read = ReadJobs(file, "file");
        std::stringstream again;
        WriteJobs(read, "a comment", again);
        NS_TEST_EXPECT_MSG_EQ(read.size(), jobs.size(), "all jobs are there");
        NS_TEST_EXPECT_MSG_EQ(again.str(), file.str(), "nothing is lost");

        const std::string header =
            "arrival_slot,gradient_bytes,forward_s,backward_s,iterations,max_workers,bandwidth\n";
        const std::string row = "0,1000,0.1,0.2,10,4,1Gbps\n";
        std::istringstream good("# jobs\n" + header + "\n" + row);
        const Job job = ReadJobs(good, "f").front();
        NS_TEST_EXPECT_MSG_EQ(job.name, "4", "a job without a name is called by its line");
        NS_TEST_EXPECT_MSG_EQ(job.weight, 1, "the default weight");
        NS_TEST_EXPECT_MSG_EQ(job.bandwidthBps, GIGABIT, "the bandwidth");
        Refuse("job file f: there are no jobs", "");
        Refuse("job file f: there are no jobs", header);
        Refuse("line 1: column \"colour\": expected name", "colour\n");
        Refuse("line 1: column \"iterations\" is missing",
               "arrival_slot,gradient_bytes,forward_s,backward_s,max_workers,bandwidth\n");
        Refuse("line 1: column \"weight\" is there twice", "weight,weight\n");
        Refuse("line 3: 6 fields, expected 7", header + row + "0,1000,0.1,0.2,10,4\n");
        Refuse("line 2: max_workers \"x\"", header + "0,1000,0.1,0.2,10,x,1Gbps\n");
        Refuse("line 2: max_workers \"99999999999\"", header + "0,1,1,1,1,99999999999,1Gbps\n");
        Refuse("line 2: forward_s \"-1\"", header + "0,1000,-1,0.2,10,4,1Gbps\n");
        Refuse("line 2: backward_s \"inf\"", header + "0,1000,1,inf,10,4,1Gbps\n");
        Refuse("line 2: bandwidth \"fast\"", header + "0,1000,1,1,10,4,fast\n");
        Refuse("line 2: job \"2\": iterations is 0", header + "0,1000,1,1,0,4,1Gbps\n");
        Refuse("line 2: job \"2\": max_workers is 0", header + "0,1000,1,1,1,0,1Gbps\n");
        const std::string gang = "min_workers," + header;
        Refuse("line 2: job \"2\": min_workers is 5, expected at most max_workers, 4",
               gang + "5," + row);
        Refuse("line 2: job \"2\": min_workers is 0", gang + "0," + row);
        Refuse("line 2: job \"2\": gradient_bytes is 0", header + "0,0,1,1,1,1,1Gbps\n");
        Refuse("line 2: job \"2\": forward_s + backward_s", header + "0,1,0,0,1,1,1Gbps\n");
        const std::string missing = GetError([] { ReadJobFile("/nowhere/jobs.csv"); });
        NS_TEST_EXPECT_MSG_EQ(missing, "job file /nowhere/jobs.csv: cannot be opened", "no file");
    }

    void Refuse(const std::string& message, const std::string& text)
    {
        std::istringstream in(text);
        const std::string error = GetError([&] { ReadJobs(in, "f"); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, message), true, message << " in: " << error);
    }
};

/// Generated jobs have the published mix.
class JobGeneratorTestCase : public TestCase
{
  public:
    JobGeneratorTestCase()
        : TestCase("generated jobs")
    {
    }

  private:
    void DoRun() override
    {
        JobMix mix;
        const std::vector<Job> jobs = GenerateJobs(mix);
        std::map<uint32_t, uint32_t> nBySize;
        for (const Job& job : jobs)
        {
            ++nBySize[job.maxWorkers];
            const double tau =
                GetIterationTime(job, job.maxWorkers, job.bandwidthBps, mix.reduceBytesPerSecond)
                    .GetTotal() /
                mix.slotSeconds;
            NS_TEST_EXPECT_MSG_EQ((tau > 0.01 - 1e-9 && tau < 0.05 + 1e-9), true, "tau " << tau);
            NS_TEST_EXPECT_MSG_EQ((job.targetIterations >= 1000 && job.targetIterations <= 6000),
                                  true,
                                  "iterations");
        }
        const std::map<uint32_t, uint32_t> published =
            {{1, 80}, {2, 14}, {4, 26}, {8, 30}, {16, 8}, {32, 2}};
        NS_TEST_EXPECT_MSG_EQ((nBySize == published), true, "sizes");
        mix.nJobs = 20000;
        mix.arrivalRate = 5;
        const auto many = GenerateJobs(mix);
        NS_TEST_EXPECT_MSG_EQ_TOL(many.back().arrivalSlot, 4000.0, 150.0, "arrivals");
        NS_TEST_EXPECT_MSG_EQ(std::is_sorted(many.begin(),
                                             many.end(),
                                             [](const Job& x, const Job& y) {
                                                 return x.arrivalSlot < y.arrivalSlot;
                                             }),
                              true,
                              "by arrival");
        mix.arrivalRate = 0;
        NS_TEST_EXPECT_MSG_NE(GetError([&] { GenerateJobs(mix); }), "", "no arrivals");
    }
};

/// Rings in ns-3: alone they take what the model says; those that share links without a
/// reservation take longer.
class RingExperimentTestCase : public TestCase
{
  public:
    /// @param transport the transport
    explicit RingExperimentTestCase(const std::string& transport)
        : TestCase("rings in ns-3 over " + transport),
          m_transport(transport)
    {
    }

  private:
    void DoRun() override
    {
        RingRunOptions options;
        options.transport = m_transport;
        options.mostBytes = "4MiB";
        const GpuCluster cluster = MakeCluster(ParseTopology("bcube:3,1"), 2);
        std::vector<Job> jobs(4, MakeJob(0.05, 10000, 5));
        RingPlacement placement(cluster);
        for (JobId job = 0; job < jobs.size(); ++job)
        {
            jobs[job].gradientBytes = 10'000'000 * (1 + job);
            jobs[job].bandwidthBps = (job % 2 == 0 ? 2 : 5) * GIGABIT;
            const bool isPlaced = placement.Place(job, job == 3 ? 1 : 5, jobs[job].bandwidthBps);
            NS_TEST_ASSERT_MSG_EQ(isPlaced, true, "ring " << job);
        }
        const auto reserved = MeasureRings(cluster, jobs, placement.GetRings(), options);
        NS_TEST_ASSERT_MSG_EQ(reserved.size(), 3, "a ring within one server sends nothing");
        for (const RingMeasurement& ring : reserved)
        {
            const double analytical = ring.analyticalTransfer;
            NS_TEST_EXPECT_MSG_EQ_TOL(ring.aloneTransfer, analytical, 0.1 * analytical, "alone");
            NS_TEST_EXPECT_MSG_EQ_TOL(ring.togetherTransfer,
                                      analytical,
                                      0.1 * analytical,
                                      "a reservation holds");
        }
        CheckBestEffort(options);
    }

    /// Two rings over the same links: without reservations each slows the other down.
    void CheckBestEffort(RingRunOptions options)
    {
        const GpuCluster cluster = MakeCluster(MakeTestStar(2), 2);
        std::vector<Job> jobs(2, MakeJob(1e-4, 10000, 2));
        std::vector<RingEmbedding> rings;
        for (JobId job = 0; job < jobs.size(); ++job)
        {
            jobs[job].gradientBytes = 4'000'000;
            jobs[job].bandwidthBps = 10 * GIGABIT;
            rings.push_back({job, 0, {0, 1}, {1, 1}, {{0, 2, 1}, {1, 2, 0}}});
        }
        options.share = "best-effort";
        for (const RingMeasurement& ring : MeasureRings(cluster, jobs, rings, options))
        {
            NS_TEST_EXPECT_MSG_EQ(ring.nRingsOnLink, 2, "both on one link");
            NS_TEST_EXPECT_MSG_GT(ring.togetherTransfer, 1.5 * ring.aloneTransfer, "contention");
        }
    }

    std::string m_transport; //!< the transport
};

class ClusterTestSuite : public TestSuite
{
  public:
    ClusterTestSuite()
        : TestSuite("allreduce-cluster", TestSuite::Type::UNIT)
    {
        AddTestCase(new IterationTimeTestCase);
        AddTestCase(new UtilityTestCase);
        AddTestCase(new GainCurveTestCase);
        AddTestCase(new PlacementTestCase);
        AddTestCase(new CheckerMutantsTestCase);
        AddTestCase(new RandomTracesTestCase);
        AddTestCase(new KnownAnswersTestCase);
        AddTestCase(new GuaranteeTestCase);
        AddTestCase(new JobTraceTestCase);
        AddTestCase(new JobGeneratorTestCase);
        AddTestCase(new RingExperimentTestCase("raw"));
        AddTestCase(new RingExperimentTestCase("udp"));
        AddTestCase(new RingExperimentTestCase("tcp"), EXTENSIVE);
    }
};

ClusterTestSuite g_clusterTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
