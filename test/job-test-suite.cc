/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "job-experiment.h"
#include "job-options.h"
#include "job-rows.h"
#include "random-network.h"
#include "session-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/test.h"
#include "ns3/topology-builder.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

/**
 * @file
 * @ingroup allreduce-tests
 * Jobs that share a network.
 */

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Options that jobs have unless they say otherwise.
struct Defaults
{
    /// @param transport of all jobs @param sync of all jobs
    explicit Defaults(const std::string& transport = "raw", const std::string& sync = "barrier")
        : run(MakeOptions(transport, sync))
    {
        plan.schedulers = {"greedy"};
        plan.chunksPerServer = "2";
    }

    /// @return the jobs of some texts
    std::vector<JobOptions> Parse(const std::vector<std::string>& texts) const
    {
        return ParseJobs(texts, plan, run, bytes);
    }

    PlanOptions plan;        //!< how they plan
    RunOptions run;          //!< how they run
    uint64_t bytes{1 << 20}; //!< size of a gradient
};

/// What was run, and what came out of it.
struct Outcome
{
    std::vector<PlannedJob> jobs;   //!< the jobs
    std::vector<JobResult> results; //!< by job
};

Outcome
RunTexts(const std::string& topology,
         const std::vector<std::string>& texts,
         const Defaults& defaults = Defaults())
{
    Outcome outcome;
    outcome.jobs = PlanJobs(ParseTopology(topology), defaults.Parse(texts));
    outcome.results = RunJobs(outcome.jobs, defaults.run);
    return outcome;
}

/// What a user hears about some jobs; "" if they are taken.
std::string
FindRefusal(const std::string& topology, const std::vector<std::string>& texts)
{
    try
    {
        PlanJobs(ParseTopology(topology), Defaults().Parse(texts));
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "";
}

/// @brief Jobs that share no link, or never at the same time, do not notice each other.
class UndisturbedTestCase : public DataCentreTestCase
{
  public:
    UndisturbedTestCase()
        : DataCentreTestCase("jobs that do not meet take exactly as long as alone")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string transport : {"tcp", "udp", "raw"})
        {
            for (const std::string& sync : SYNCS)
            {
                Defaults defaults(transport, sync);
                defaults.bytes = 1 << 18;
                // The switches of a BCube's level 0 have four neighboring servers each.
                CheckApart(
                    "apart",
                    RunTexts("bcube:4,1",
                             {"servers=0-3;relay=none", "servers=12-15;relay=none;start=7us"},
                             defaults));
                CheckApart("one after the other",
                           RunTexts("bcube:4,1", {"name=first", "start=40ms"}, defaults));
            }
        }
    }

    void CheckApart(const std::string& what, const Outcome& outcome)
    {
        for (std::size_t i = 0; i < outcome.jobs.size(); ++i)
        {
            const JobResult& result = outcome.results[i];
            const JobOptions& job = outcome.jobs[i].options;
            const std::string name = what + " " + job.name + " " + job.run.transport;
            NS_TEST_ASSERT_MSG_EQ(result.together.failure, "", name);
            NS_TEST_EXPECT_MSG_EQ(result.together.isVerified, true, name);
            NS_TEST_EXPECT_MSG_EQ(*result.GetSlowdown(), 1.0, name);
            // The same experiment without any jobs, at another time.
            RunOptions options = job.run;
            const ExperimentResult single = RunExperiment(outcome.jobs[i].experiment, options);
            NS_TEST_EXPECT_MSG_EQ_TOL(result.alone.measuredSeconds,
                                      single.measuredSeconds,
                                      1e-12,
                                      name);
        }
    }
};

/// @brief Two jobs on boxes of GPUs: fast links feed slow ones twice, and nothing is dropped.
class BoxesTestCase : public DataCentreTestCase
{
  public:
    BoxesTestCase()
        : DataCentreTestCase("two jobs on boxes of GPUs overflow no queue")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t N_GPUS = 40;
        constexpr uint32_t GPUS_PER_BOX = 8;
        constexpr uint32_t N_BOXES = N_GPUS / GPUS_PER_BOX;
        TopologyBuilder builder("boxes");
        builder.AddServers(N_GPUS);
        const NodeId firstBox = builder.AddSwitches(N_BOXES);
        const NodeId firstSpine = builder.AddSwitches(2);
        for (NodeId gpu = 0; gpu < N_GPUS; ++gpu)
        {
            builder.AddLink(gpu, firstBox + gpu / GPUS_PER_BOX, 3'600'000'000'000);
        }
        for (NodeId box = firstBox; box < firstSpine; ++box)
        {
            builder.AddLink(box, firstSpine, 400'000'000'000);
            builder.AddLink(box, firstSpine + 1, 400'000'000'000);
        }
        Defaults defaults("raw", "dependency");
        defaults.run.verifyData = false;
        defaults.plan.schedulers = {"forest"};
        defaults.plan.chunksPerServer = "4";
        defaults.bytes = 20'000'000;
        const auto jobs =
            PlanJobs(builder.Build(), defaults.Parse({"servers=0-19", "servers=20-39"}));
        for (const JobResult& result : RunJobs(jobs, defaults.run))
        {
            NS_TEST_EXPECT_MSG_EQ(result.together.failure, "", "runs");
            NS_TEST_EXPECT_MSG_EQ(result.together.nDropped, 0, "no queue is full");
            NS_TEST_EXPECT_MSG_LT(*result.GetSlowdown(), 2, "they share the links of box 2");
        }
    }
};

/// @brief Jobs on the same servers.
class ContentionTestCase : public DataCentreTestCase
{
  public:
    ContentionTestCase()
        : DataCentreTestCase("two equal jobs on the same servers slow each other down, sums exact")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string transport : {"tcp", "udp", "raw"})
        {
            for (const std::string& sync : SYNCS)
            {
                for (const std::string control : {"ideal", "packets"})
                {
                    Defaults defaults(transport, sync);
                    defaults.run.control = control;
                    CheckShared(RunTexts("torus:3x3", {"name=a", "name=b"}, defaults));
                }
            }
        }
    }

    void CheckShared(const Outcome& outcome)
    {
        for (const JobResult& result : outcome.results)
        {
            NS_TEST_ASSERT_MSG_EQ(result.together.failure, "", "data is compared");
            // Together they move twice as much over links that one job alone keeps busy.
            NS_TEST_EXPECT_MSG_GT(*result.GetSlowdown(), 1.5, "shared");
            NS_TEST_EXPECT_MSG_LT(*result.GetSlowdown(), 3, "shared fairly enough");
            NS_TEST_EXPECT_MSG_GT(result.together.measuredSeconds,
                                  result.together.idealSeconds,
                                  "bound");
        }
    }
};

/// @brief What a job says, and what it takes from the program's options.
class OptionsTestCase : public TestCase
{
  public:
    OptionsTestCase()
        : TestCase("a job has the program's options, unless it says otherwise")
    {
    }

  private:
    void DoRun() override
    {
        Defaults defaults;
        defaults.plan.groups.collective = "all-gather";
        defaults.run.iterations = 5;
        const auto jobs =
            defaults.Parse({"start=1ms",
                            "name=b;servers=0-2,7;collective=broadcast;root=7;relay=none;"
                            "scheduler=ps;bytes=3KiB;chunks-per-server=4;iterations=2;"
                            "compute-time=5us"});
        NS_TEST_ASSERT_MSG_EQ(jobs.size(), 2, "in order");
        NS_TEST_EXPECT_MSG_EQ(jobs[0].name, "job1", "by its place");
        NS_TEST_EXPECT_MSG_EQ(jobs[0].servers, "all", "default");
        NS_TEST_EXPECT_MSG_EQ(jobs[0].plan.groups.collective, "all-gather", "the program's");
        NS_TEST_EXPECT_MSG_EQ(jobs[0].run.iterations, 5, "the program's");
        NS_TEST_EXPECT_MSG_EQ(jobs[0].bytes, defaults.bytes, "the program's");
        NS_TEST_EXPECT_MSG_EQ(jobs[0].start, MilliSeconds(1), "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].name, "b", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].servers, "0-2,7", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].plan.groups.servers, "0-2,7", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].plan.groups.collective, "broadcast", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].plan.groups.root, "7", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].plan.groups.relay, "none", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].plan.schedulers.front(), "ps", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].plan.chunksPerServer, "4", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].bytes, 3072, "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].run.iterations, 2, "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].run.computeTime, "5us", "its own");
        NS_TEST_EXPECT_MSG_EQ(jobs[1].start, Time(0), "at once");
    }
};

/// @brief What cannot be a job is refused, with the key and what was expected.
class RefusalTestCase : public TestCase
{
  public:
    RefusalTestCase()
        : TestCase("a job that is not possible is refused with its key and what was expected")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::vector<std::string>> cases = {
            {"", "expected KEY=VALUE"},
            {"servers", "\"servers\": expected KEY=VALUE with one of the keys name, servers,"},
            {"sevrers=1", "\"sevrers=1\": expected KEY=VALUE with one of the keys name, servers,"},
            {"name=a;", "\"\": expected KEY=VALUE"},
            {"name=", "name: expected a value"},
            {"bytes=1;bytes=2", "bytes: given twice, expected once"},
            {"bytes=none", "bytes \"none\": expected a size"},
            {"start=-1ms", "start \"-1ms\": expected a time"},
            {"compute-time=x", "compute-time \"x\": expected a time"},
            {"iterations=x", "iterations \"x\": expected"},
            {"iterations=0", "iterations \"0\": expected 1 to"},
            {"iterations=4294967297", "iterations \"4294967297\": expected a smaller number"},
            {"scheduler=nobody", "\"nobody\""},
            {"scheduler=all", "scheduler: expected one"},
            {"collective=sum", "collective \"sum\": expected allreduce,"},
            {"servers=0-16", "servers \"0-16\": expected a server"},
            {"servers=3-1", "servers \"3-1\": expected a server"},
            {"servers=5", "expected 2 or more"},
            {"root=3", "root: expected --collective=broadcast"},
            {"relay=some", "relay \"some\": expected all or none"},
            {"chunks-per-server=0", "chunks-per-server \"0\": expected"},
        };
        for (const auto& texts : cases)
        {
            const std::string refusal = FindRefusal("bcube:4,1", {"name=good", texts[0]});
            NS_TEST_EXPECT_MSG_EQ(refusal.rfind("--job \"", 0), 0, texts[0] + ": " + refusal);
            NS_TEST_EXPECT_MSG_NE(refusal.find(texts[1]), std::string::npos, refusal);
            NS_TEST_EXPECT_MSG_EQ(refusal.find('\n'), std::string::npos, refusal);
        }
        const std::string twice = FindRefusal("bcube:4,1", {"name=job2", "bytes=1"});
        NS_TEST_EXPECT_MSG_NE(twice.find("name \"job2\": expected another one"),
                              std::string::npos,
                              twice);
    }
};

/// @brief What is printed of jobs.
class RowsTestCase : public TestCase
{
  public:
    RowsTestCase()
        : TestCase("a row for each job, in order: when it was, how long it took, and alone")
    {
    }

  private:
    void DoRun() override
    {
        Defaults defaults;
        defaults.run.recordsFlows = true;
        const Outcome outcome =
            RunTexts("bcube:4,1",
                     {"name=late;start=3ms", "name=slow;iterations=3;compute-time=2ms"},
                     defaults);
        const auto late = MakeJobRow(outcome.jobs[0], outcome.results[0]);
        const auto slow = MakeJobRow(outcome.jobs[1], outcome.results[1]);
        NS_TEST_EXPECT_MSG_EQ(late["job"], "late", "in order");
        NS_TEST_EXPECT_MSG_EQ(slow["job"], "slow", "in order");
        NS_TEST_EXPECT_MSG_EQ(late["state"], "done", "said");
        NS_TEST_EXPECT_MSG_EQ(late["start_s"], 0.003, "as asked for");
        NS_TEST_EXPECT_MSG_EQ(late["data_verified"], true, "asked for");
        CheckTimes(late, 1, 0);
        CheckTimes(slow, 3, 0.002);
        for (const auto& column : GetJobColumns())
        {
            NS_TEST_EXPECT_MSG_EQ(slow.contains(column.key), true, column.key);
        }
        const auto view = MakeJobView(outcome.jobs[1], outcome.results[1], 1, 0);
        NS_TEST_EXPECT_MSG_EQ(view["job"]["name"], "slow", "whose it is");
        NS_TEST_EXPECT_MSG_EQ(view["job"]["number"], 1, "its place");
        NS_TEST_EXPECT_MSG_EQ(view["run"]["flow_count"].get<std::size_t>(),
                              outcome.results[1].together.flows.size(),
                              "flows");
        NS_TEST_EXPECT_MSG_EQ(view["steps"].back()["missing"], 0, "all have all sums");
    }

    /// With the raw transport nothing but computing is between AllReduces.
    void CheckTimes(const nlohmann::ordered_json& row, uint32_t nIterations, double computeSeconds)
    {
        const double duration = row["end_s"].get<double>() - row["start_s"].get<double>();
        const double computing = (nIterations - 1) * computeSeconds;
        NS_TEST_EXPECT_MSG_EQ_TOL(duration,
                                  nIterations * row["measured_s"].get<double>() + computing,
                                  1e-8,
                                  row["job"]);
        NS_TEST_EXPECT_MSG_EQ_TOL(row["slowdown"].get<double>(),
                                  row["measured_s"].get<double>() / row["alone_s"].get<double>(),
                                  1e-9,
                                  row["job"]);
    }
};

/// @brief Links break while jobs run.
class JobFaultTestCase : public DataCentreTestCase
{
  public:
    JobFaultTestCase()
        : DataCentreTestCase("a link breaks during two jobs: both plan anew, and sums are exact")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string transport : {"tcp", "raw"})
        {
            for (const std::string& sync : SYNCS)
            {
                CheckBrokenLink(Defaults(transport, sync));
            }
            CheckCutOff(transport);
        }
    }

    void CheckBrokenLink(Defaults defaults)
    {
        defaults.run.faults.fail = {"0-16@0.3ms"};
        defaults.run.faults.slow = {"1-16:2"};
        defaults.run.faults.background = "0.1";
        const Outcome outcome =
            RunTexts("bcube:4,1", {"servers=0-7", "servers=0-15;scheduler=hrl"}, defaults);
        Defaults calm = defaults;
        calm.run.faults.fail.clear();
        calm.run.faults.background = "0";
        const Outcome undisturbed = RunTexts("bcube:4,1", {"servers=0-7"}, calm);
        for (const JobResult& result : outcome.results)
        {
            NS_TEST_EXPECT_MSG_EQ(result.together.failure, "", "data is compared");
            NS_TEST_EXPECT_MSG_EQ(result.together.isVerified, true, "every rest is proven");
            NS_TEST_EXPECT_MSG_GT(result.together.nReplans, 0, "the link was in use");
            NS_TEST_EXPECT_MSG_EQ(result.alone.nReplans, 0, "nothing breaks alone");
        }
        NS_TEST_EXPECT_MSG_EQ(outcome.results[0].alone.measuredSeconds,
                              undisturbed.results[0].alone.measuredSeconds,
                              "alone is without broken links and other traffic");
    }

    /// Server 0 is gone: its job fails, and one that does not need it goes on.
    void CheckCutOff(const std::string& transport)
    {
        Defaults defaults(transport);
        defaults.run.faults.fail = {"0-1@0.1ms", "0-3@0.1ms", "0-4@0.1ms", "0-12@0.1ms"};
        const Outcome outcome =
            RunTexts("torus:4x4",
                     {"name=hit;servers=0-7", "name=spared;servers=8-15;relay=none;iterations=2"},
                     defaults);
        const auto hit = MakeJobRow(outcome.jobs[0], outcome.results[0]);
        const auto spared = MakeJobRow(outcome.jobs[1], outcome.results[1]);
        NS_TEST_EXPECT_MSG_EQ(hit["state"], "failed", "said");
        NS_TEST_EXPECT_MSG_EQ(hit["failure"],
                              "cut off by links that are down: server 0",
                              "and why");
        NS_TEST_EXPECT_MSG_EQ(hit["slowdown"].is_null(), true, "there is none");
        NS_TEST_EXPECT_MSG_EQ(hit["measured_s"].is_null(), true, "there is none");
        NS_TEST_EXPECT_MSG_EQ(spared["state"], "done", spared.value("failure", ""));
        NS_TEST_EXPECT_MSG_LT(hit["end_s"].get<double>(),
                              spared["end_s"].get<double>(),
                              "goes on after the other has failed");
    }
};

/// @brief Random jobs on random networks with random faults.
class RandomJobsTestCase : public TestCase
{
  public:
    RandomJobsTestCase()
        : TestCase("random jobs on random networks with faults end with exact sums, or say why not")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t N_CASES = 40;
        std::mt19937_64 random(20);
        uint32_t nDone = 0;
        uint32_t nReplanned = 0;
        for (uint32_t i = 0; i < N_CASES; ++i)
        {
            Defaults defaults("raw", SYNCS[random() % SYNCS.size()]);
            defaults.bytes = 1 << 16;
            const Topology topology = DrawNetwork(i, 12);
            const uint32_t nFaults = random() % std::min(4U, topology.GetNLinks());
            defaults.run.faults.failRandom =
                nFaults == 0 ? "" : std::to_string(nFaults) + "," + std::to_string(i);
            std::vector<std::string> texts;
            for (uint64_t nJobs = 1 + random() % 3; nJobs > 0; --nJobs)
            {
                texts.push_back(DrawJob(topology.GetNServers(), random));
            }
            const auto jobs = PlanJobs(topology, defaults.Parse(texts));
            for (const JobResult& result : RunJobs(jobs, defaults.run))
            {
                CheckResult(result, topology.GetName() + " case " + std::to_string(i));
                nDone += result.together.failure.empty();
                nReplanned += result.together.nReplans > 0;
            }
        }
        NS_TEST_EXPECT_MSG_GT(nDone, N_CASES / 2, "most end");
        NS_TEST_EXPECT_MSG_GT(nReplanned, 5, "faults matter");
    }

    static std::string DrawJob(uint32_t nServers, std::mt19937_64& random)
    {
        const NodeId first = random() % (nServers - 1);
        const NodeId last = first + 1 + random() % (nServers - 1 - first);
        constexpr const char* KINDS[] = {"allreduce",
                                         "reduce-scatter",
                                         "all-gather",
                                         "broadcast",
                                         "reduce"};
        return "servers=" + std::to_string(first) + "-" + std::to_string(last) +
               ";collective=" + KINDS[random() % 5] + ";start=" + std::to_string(random() % 100) +
               "us;iterations=" + std::to_string(1 + random() % 2);
    }

    void CheckResult(const JobResult& result, const std::string& what)
    {
        NS_TEST_EXPECT_MSG_EQ(result.alone.failure, "", what);
        const bool isCutOff = result.together.failure.find("cut off") != std::string::npos;
        NS_TEST_EXPECT_MSG_EQ(result.together.failure.empty() || isCutOff,
                              true,
                              what + ": " + result.together.failure);
        NS_TEST_EXPECT_MSG_EQ(result.together.isVerified || isCutOff, true, what);
        NS_TEST_EXPECT_MSG_EQ(result.GetSlowdown().has_value(),
                              result.together.failure.empty(),
                              what);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(result.together.doneSeconds, result.together.endSeconds, what);
    }
};

/// @brief The suite.
class JobTestSuite : public TestSuite
{
  public:
    JobTestSuite()
        : TestSuite("allreduce-jobs", TestSuite::Type::UNIT)
    {
        AddTestCase(new UndisturbedTestCase, EXTENSIVE);
        AddTestCase(new ContentionTestCase, EXTENSIVE);
        AddTestCase(new BoxesTestCase, EXTENSIVE);
        AddTestCase(new OptionsTestCase);
        AddTestCase(new RefusalTestCase);
        AddTestCase(new RowsTestCase);
        AddTestCase(new JobFaultTestCase, EXTENSIVE);
        AddTestCase(new RandomJobsTestCase);
    }
};

JobTestSuite g_jobTestSuite; //!< registers the suite

} // namespace
