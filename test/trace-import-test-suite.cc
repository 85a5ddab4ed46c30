/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/model-catalogue.h"
#include "ns3/test.h"
#include "ns3/trace-import.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

const std::string PHILLY_ROW = "ResNet-50 (batch size 64)\tpython3 main.py\t-step\t1\t1001\t";
const std::string TIRESIAS_HEADER =
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n";
const std::string HELIOS_HEADER = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,"
                                  "start_time,end_time,duration,queue\n";

/// A test case that writes traces and reads them.
class TraceTestCase : public TestCase
{
  public:
    using TestCase::TestCase;

  protected:
    /// @return the spec of a file of a format with some text
    std::string Write(const std::string& format, const std::string& text)
    {
        const std::string path = CreateTempDirFilename(format + "-file");
        std::ofstream(path) << text;
        return format + ":" + path;
    }

    ImportedTrace Import(const std::string& format, const std::string& text)
    {
        return ImportJobs(Write(format, text), m_settings);
    }

    bool HasNote(const ImportedTrace& trace, const std::string& part)
    {
        std::size_t n = 0;
        for (const std::string& note : trace.notes)
        {
            n += Contains(note, part);
        }
        return n == 1;
    }

    /// @return seconds of a job that runs with all its GPUs from beginning to end
    double GetDuration(const Job& job)
    {
        return job.targetIterations * GetIterationTime(job,
                                                       job.maxWorkers,
                                                       job.bandwidthBps,
                                                       m_settings.reduceBytesPerSecond)
                                          .GetTotal();
    }

    TraceSettings m_settings; //!< what traces do not say
};

/// What each format says comes out as it should.
class KnownTracesTestCase : public TraceTestCase
{
  public:
    KnownTracesTestCase()
        : TraceTestCase("known traces")
    {
    }

  private:
    void DoRun() override
    {
        CheckPhilly();
        CheckTiresias();
        CheckHelios();
        CheckPai();
        CheckFolder();
    }

    void CheckPhilly()
    {
        const auto trace = Import("philly", PHILLY_ROW + "61.0\t4\n" + PHILLY_ROW + "0.0\t1\n");
        NS_TEST_ASSERT_MSG_EQ(trace.jobs.size(), 2, "jobs");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[0].name, "2", "by arrival, named by the line");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[0].targetIterations, 1001, "one GPU: a step each");
        const Job& four = trace.jobs[1];
        NS_TEST_EXPECT_MSG_EQ(four.arrivalSlot, 2, "the slot after second 61");
        NS_TEST_EXPECT_MSG_EQ(four.targetIterations, 251, "1001 steps on four GPUs");
        NS_TEST_EXPECT_MSG_EQ(four.minWorkers, 4, "rigid");
        NS_TEST_EXPECT_MSG_EQ(four.maxWorkers, 4, "rigid");
        NS_TEST_EXPECT_MSG_EQ(four.gradientBytes, 4 * 25'557'032, "ResNet-50");
        NS_TEST_EXPECT_MSG_EQ_TOL(four.forwardSeconds + four.backwardSeconds,
                                  4 * FindModel("resnet-50").GetStepSeconds(64),
                                  1e-9,
                                  "a step on each GPU");
        NS_TEST_EXPECT_MSG_EQ(HasNote(trace, "as many GPUs as they asked for"), true, "said once");
        m_settings.isElastic = true;
        m_settings.arrivalSpeed = 2;
        const auto fast = Import("philly", PHILLY_ROW + "0\t4\n" + PHILLY_ROW + "120.0\t4\n");
        NS_TEST_EXPECT_MSG_EQ(fast.jobs[1].minWorkers, 1, "elastic");
        NS_TEST_EXPECT_MSG_EQ(fast.jobs[1].arrivalSlot, 1, "twice as fast");
        m_settings = TraceSettings();
    }

    void CheckTiresias()
    {
        const auto trace = Import("tiresias",
                                  TIRESIAS_HEADER + "0,1,90,606,vgg19,164,30\n"
                                                    "1,8,150,10,resnet50,147,23\n"
                                                    "2,2,150,1000,vgg19,1,23\n");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[0].arrivalSlot, 0, "the first job comes first");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[1].arrivalSlot, 1, "a minute later");
        NS_TEST_EXPECT_MSG_EQ_TOL(GetDuration(trace.jobs[0]), 164, 1e-6, "one GPU");
        NS_TEST_EXPECT_MSG_EQ_TOL(GetDuration(trace.jobs[1]), 147, 1e-6, "eight GPUs");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[1].gradientBytes, 4 * 25'557'032, "resnet50");
        NS_TEST_EXPECT_MSG_GT(GetDuration(trace.jobs[2]), 100, "no AllReduce of VGG takes 1 ms");
        NS_TEST_EXPECT_MSG_EQ(HasNote(trace, "1 row: an iteration takes less"), true, "and said");
    }

    void CheckHelios()
    {
        const std::string times = ",2020-03-01 00:00:00,2020-03-01 00:00:00,";
        const auto trace = Import(
            "helios",
            HELIOS_HEADER + "5,u,v,8,64,1,COMPLETED,2020-02-28 23:59:30" + times + "3600,8\n" +
                "6,u,v,0,64,1,COMPLETED,2020-02-28 23:59:30" + times + "3600,8\n" +
                "7,u,v,1,64,1,FAILED,2020-03-01 00:00:30" + times + "86400,8\n" +
                "8,u,v,1,64,1,CANCELLED,2020-03-01 00:00:30" + times + "0,8\n");
        NS_TEST_ASSERT_MSG_EQ(trace.jobs.size(), 2, "jobs with GPUs that ran");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[1].arrivalSlot, 1441, "2020 was a leap year");
        NS_TEST_EXPECT_MSG_EQ_TOL(GetDuration(trace.jobs[0]), 3600, 1, "duration");
        NS_TEST_EXPECT_MSG_EQ_TOL(GetDuration(trace.jobs[1]), 86400, 1, "duration");
        NS_TEST_EXPECT_MSG_EQ(HasNote(trace, "1 row: no GPUs"), true, "left out");
        NS_TEST_EXPECT_MSG_EQ(HasNote(trace, "1 row: a duration of 0 s"), true, "left out");
        NS_TEST_EXPECT_MSG_EQ(HasNote(trace, "1 row: another state"), true, "failed");
        NS_TEST_EXPECT_MSG_EQ(HasNote(trace, "all jobs train resnet-50"), true, "the model");
    }

    void CheckPai()
    {
        const std::string rows = "a,worker,4.0,Terminated,1000.0,1600.0,600.0,29.3,50.0,MISC\n"
                                 "b,worker,3.0,Failed,2000.0,2600.0,600.0,29.3,25.0,T4\n"
                                 "c,ps,3.0,Failed,2000.0,2600.0,600.0,29.3,,\n"
                                 "d,worker,3.0,Running,2000.0,,600.0,29.3,25.0,T4\n";
        const auto trace = Import("pai", rows);
        NS_TEST_ASSERT_MSG_EQ(trace.jobs.size(), 2, "rows with GPUs and an end");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[0].maxWorkers, 2, "four halves");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[1].maxWorkers, 1, "three quarters, rounded up");
        NS_TEST_EXPECT_MSG_EQ_TOL(GetDuration(trace.jobs[0]), 600, 1, "duration");
        NS_TEST_EXPECT_MSG_EQ(HasNote(trace, "1 row: no end"), true, "left out");
        const auto same =
            Import("pai",
                   "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,"
                   "plan_gpu,gpu_type\n" +
                       rows);
        NS_TEST_EXPECT_MSG_EQ(same.jobs.size(), 2, "with the header");
    }

    /// A folder stands for its files.
    void CheckFolder()
    {
        const std::string folder = CreateTempDirFilename("traces");
        std::filesystem::create_directory(folder);
        std::ofstream(folder + "/b.trace") << PHILLY_ROW << "5\t1\n";
        std::ofstream(folder + "/a.trace") << PHILLY_ROW << "0\t1\n" << PHILLY_ROW << "6000\t2\n";
        std::ofstream(folder + "/LICENSE") << "no trace";
        const auto trace = ImportJobs("philly:" + folder, m_settings);
        NS_TEST_ASSERT_MSG_EQ(trace.jobs.size(), 3, "of both files");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[1].name, "b-1", "file and line");
        NS_TEST_EXPECT_MSG_EQ(trace.jobs[2].name, "a-2", "by arrival");
        const std::string error = GetError([&] { ImportJobs("pai:" + folder, m_settings); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, "no file ends in .csv"), true, error);
    }
};

/// Whatever is wrong with a row, the message names file, line and what was expected.
class WrongTracesTestCase : public TraceTestCase
{
  public:
    WrongTracesTestCase()
        : TraceTestCase("wrong traces")
    {
    }

  private:
    /// A trace whose format was forgotten.
    void RefuseWithoutPrefix()
    {
        for (const auto& [format, text] :
             {std::pair<std::string, std::string>("philly", PHILLY_ROW + "0\t1\n"),
              {"tiresias", TIRESIAS_HEADER},
              {"helios", HELIOS_HEADER},
              {"pai", "job_name,task_name,inst_num,status,start_time,end_time\n"}})
        {
            const std::string spec = Write(format, text);
            const std::string path = spec.substr(spec.find(':') + 1);
            const std::string error = GetError([&] { ImportJobs(path, m_settings); });
            const std::string part = "looks like a public trace, expected " + format + ":";
            NS_TEST_EXPECT_MSG_EQ(Contains(error, part), true, format << ": " << error);
        }
        const std::string folder = GetError([&] { ImportJobs(".", m_settings); });
        NS_TEST_EXPECT_MSG_EQ(Contains(folder, "is a folder: expected FILE"), true, folder);
    }

    void DoRun() override
    {
        RefuseWithoutPrefix();
        CheckPhilly();
        CheckColumns();
        CheckPai();
        const std::string missing =
            GetError([&] { ImportJobs("philly:/nowhere/trace", m_settings); });
        NS_TEST_EXPECT_MSG_EQ(missing, "job file /nowhere/trace: cannot be opened", "no file");
        m_settings.model = "vgg-11";
        Refuse("pai", "model vgg-11: the time of its steps is not known", MakePaiRow("1.0", "9.0"));
        m_settings.model = "abacus";
        Refuse("pai", "model \"abacus\": expected a3c", MakePaiRow("1.0", "9.0"));
        m_settings = TraceSettings();
        m_settings.slotSeconds = 1e-9;
        Refuse("philly", "job \"2\": arrives", PHILLY_ROW + "0\t1\n" + PHILLY_ROW + "9\t1\n");
    }

    void CheckPhilly()
    {
        const std::string good = PHILLY_ROW + "61.0\t4\n";
        Refuse("philly", "there are no jobs", "# nothing\n\n");
        Refuse("philly",
               "line 2: 6 fields between tabs, expected 7",
               good + "A3C\tx\ty\t1\t1\t0\n");
        Refuse("philly", "line 1: model \"Abacus\": expected a3c", "Abacus\tx\ty\t1\t1\t0\t1\n");
        Refuse("philly",
               "line 1: batch size 65 of resnet-50: expected 16, 32, 64, 128",
               "ResNet-50 (batch size 65)\tx\ty\t1\t1\t0\t1\n");
        Refuse("philly", "line 1: batch size \"big\"", "LM (batch size big)\tx\ty\t1\t1\t0\t1\n");
        Refuse("philly", "line 3: total steps \"many\"", good + "\nA3C\tx\ty\t1\tmany\t0\t1\n");
        Refuse("philly", "line 1: total steps \"-1\"", "A3C\tx\ty\t1\t-1\t0\t1\n");
        Refuse("philly",
               "line 1: total steps \"99999999999\"",
               "A3C\tx\ty\t1\t99999999999\t0\t1\n");
        Refuse("philly", "line 1: a job of 0 steps", "A3C\tx\ty\t1\t0\t0\t1\n");
        Refuse("philly", "on 0 GPUs", "A3C\tx\ty\t1\t5\t0\t0\n");
        Refuse("philly", "line 1: arrival \"nan\"", "A3C\tx\ty\t1\t5\tnan\t1\n");
        Refuse("philly", "line 1: 2000000 GPUs", "A3C\tx\ty\t1\t5\t0\t2000000\n");
        Refuse("philly", "line 1: needs data \"2\"", "A3C\tx\ty\t2\t5\t0\t1\n");
    }

    void CheckColumns()
    {
        Refuse("tiresias", "line 1: column \"num_gpu\" is missing", "job_id,gpus\n");
        Refuse("tiresias", "column \"job_id\" is there twice", "job_id,job_id\n");
        Refuse("tiresias", "line 2: 3 fields, expected 7", TIRESIAS_HEADER + "0,1,0\n");
        Refuse("tiresias", "line 2: iterations \"x\"", TIRESIAS_HEADER + "0,1,0,x,vgg19,164,30\n");
        Refuse("tiresias", "line 2: model \"abacus\"", TIRESIAS_HEADER + "0,1,0,9,abacus,164,30\n");
        Refuse("tiresias", "line 2: a job of 0 it", TIRESIAS_HEADER + "0,1,0,0,vgg19,164,30\n");
        Refuse("tiresias", "expected a year", TIRESIAS_HEADER + "0,1,0,9,vgg19,1e9,30\n");
        Refuse("helios", "line 1: column \"state\" is missing", "job_id,gpu_num\n");
        for (const std::string date : {"2020-13-01 00:00:00",
                                       "2020-04-01T00:00:00",
                                       "2020-04-01 24:00:00",
                                       "2020-04-01",
                                       "yesterday"})
        {
            const std::string row = "1,u,v,1,1,1,COMPLETED," + date + ",x,x,10,0\n";
            Refuse("helios", "line 2: submit_time \"" + date, HELIOS_HEADER + row);
        }
        const std::string row = "1,u,v,1,1,1,,2020-04-01 00:00:00,x,x,10,0\n";
        Refuse("helios", "line 2: state \"\"", HELIOS_HEADER + row);
    }

    static std::string MakePaiRow(const std::string& instances, const std::string& end)
    {
        return "a,worker," + instances + ",Terminated,5.0," + end + ",600.0,29.3,50.0,MISC\n";
    }

    void CheckPai()
    {
        Refuse("pai", "line 1: 2 fields, expected 10", "a,b\n");
        Refuse("pai", "line 1: inst_num \"x\"", MakePaiRow("x", "9.0"));
        Refuse("pai", "line 1: 1000000000 GPUs", MakePaiRow("1e12", "9.0"));
        Refuse("pai",
               "line 1: end_time \"4.0\": expected the start, 5.0",
               MakePaiRow("1.0", "4.0"));
        Refuse("pai", "line 1: end_time - start_time", MakePaiRow("1.0", "1e9"));
    }

    void Refuse(const std::string& format, const std::string& message, const std::string& text)
    {
        const std::string spec = Write(format, text);
        const std::string error = GetError([&] { ImportJobs(spec, m_settings); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, message), true, message << " in: " << error);
        const bool namesFile = Contains(error, format + "-file") || Contains(error, "model");
        NS_TEST_EXPECT_MSG_EQ((namesFile || Contains(error, "job \"")), true, error);
    }
};

/// One wrong field among many rows is found, and named by its line.
class OneWrongRowTestCase : public TraceTestCase
{
  public:
    OneWrongRowTestCase()
        : TraceTestCase("one wrong row among many")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(5);
        for (uint32_t run = 0; run < 100; ++run)
        {
            const uint32_t nRows = 1 + Draw(random, 50);
            const uint32_t wrong = Draw(random, nRows);
            std::string text;
            for (uint32_t row = 0; row < nRows; ++row)
            {
                text += Draw(random, 4) == 0 ? "# a comment\n" : "\n";
                text += PHILLY_ROW + std::to_string(Draw(random, 1000)) +
                        (row == wrong ? "\tx\n" : "\t2\n");
            }
            const std::string spec = Write("philly", text);
            const std::string error = GetError([&] { ImportJobs(spec, m_settings); });
            const std::string expected =
                "line " + std::to_string(2 * wrong + 2) + ": number of GPUs";
            NS_TEST_EXPECT_MSG_EQ(Contains(error, expected), true, error);
        }
    }
};

/// The catalogue is usable, and names are found however they are written.
class ModelCatalogueTestCase : public TestCase
{
  public:
    ModelCatalogueTestCase()
        : TestCase("catalogue of models")
    {
    }

  private:
    void DoRun() override
    {
        for (const TrainingModel& model : GetModelCatalogue())
        {
            NS_TEST_EXPECT_MSG_EQ(&FindModel(model.name), &model, model.name << " is found");
            NS_TEST_EXPECT_MSG_GT(model.parameters, 1e5, model.name);
            double last = 0;
            for (const StepTime& step : model.steps)
            {
                NS_TEST_EXPECT_MSG_GT(step.seconds, last, model.name << ": more takes longer");
                last = step.seconds;
            }
        }
        NS_TEST_EXPECT_MSG_EQ(&FindModel("RESNET_50"), &FindModel("resnet50"), "spellings");
        NS_TEST_EXPECT_MSG_NE(GetError([] { FindModel(""); }), "", "no name");
        NS_TEST_EXPECT_MSG_NE(GetError([] { FindModel("vgg-11").GetStepSeconds(1); }), "", "steps");
    }
};

class TraceImportTestSuite : public TestSuite
{
  public:
    TraceImportTestSuite()
        : TestSuite("allreduce-trace-import", TestSuite::Type::UNIT)
    {
        AddTestCase(new KnownTracesTestCase);
        AddTestCase(new WrongTracesTestCase);
        AddTestCase(new OneWrongRowTestCase);
        AddTestCase(new ModelCatalogueTestCase);
    }
};

TraceImportTestSuite g_traceImportTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
