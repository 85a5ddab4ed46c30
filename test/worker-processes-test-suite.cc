/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "worker-processes.h"

#include "ns3/allreduce-error.h"
#include "ns3/test.h"

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// @return what came out of tasks, in the order of the reports
std::vector<WorkerProcesses::Outcome>
RunTasks(uint32_t nJobs, std::size_t nTasks, const WorkerProcesses::Task& task)
{
    std::vector<WorkerProcesses::Outcome> outcomes;
    WorkerProcesses(nJobs).Run(nTasks,
                               task,
                               [&](std::size_t index, const WorkerProcesses::Outcome& outcome) {
                                   if (index != outcomes.size())
                                   {
                                       throw std::logic_error("reports are out of order");
                                   }
                                   outcomes.push_back(outcome);
                               });
    return outcomes;
}

/// Results come in order, however long tasks take and however much they say.
class OrderTestCase : public TestCase
{
  public:
    OrderTestCase()
        : TestCase("results in order")
    {
    }

  private:
    void DoRun() override
    {
        constexpr std::size_t TASKS = 7;
        constexpr std::size_t MANY_BYTES = 300000; // more than a pipe holds
        const auto task = [](std::size_t index) {
            std::this_thread::sleep_for(std::chrono::milliseconds(index % 2 ? 1 : 30));
            return std::string(index * MANY_BYTES, 'a' + index);
        };
        for (const uint32_t nJobs : {1, 2, 5, 100})
        {
            const auto outcomes = RunTasks(nJobs, TASKS, task);
            NS_TEST_ASSERT_MSG_EQ(outcomes.size(), TASKS, "all tasks are reported");
            for (std::size_t index = 0; index < TASKS; ++index)
            {
                NS_TEST_EXPECT_MSG_EQ(outcomes[index].failure, "", "task " << index);
                NS_TEST_EXPECT_MSG_EQ((outcomes[index].text == task(index)), true, index);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(RunTasks(2, 0, task).size(), 0, "no tasks");
    }
};

/// Every task has a process of its own, and as many run at a time as allowed.
class IsolationTestCase : public TestCase
{
  public:
    IsolationTestCase()
        : TestCase("a process for each task")
    {
    }

  private:
    void DoRun() override
    {
        int counter = 0;
        const auto outcomes =
            RunTasks(2, 3, [&](std::size_t) { return std::to_string(++counter); });
        for (const auto& outcome : outcomes)
        {
            NS_TEST_EXPECT_MSG_EQ(outcome.text, "1", "nothing is left of earlier tasks");
        }
        NS_TEST_EXPECT_MSG_EQ(counter, 0, "nor does this process change");

        using Clock = std::chrono::steady_clock;
        const auto begin = Clock::now();
        RunTasks(8, 8, [](std::size_t) {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            return std::string();
        });
        NS_TEST_EXPECT_MSG_EQ((Clock::now() - begin < std::chrono::seconds(3)),
                              true,
                              "eight naps of half a second at the same time");
    }
};

/// A process that crashes is a failure of its task and of no other.
class CrashTestCase : public TestCase
{
  public:
    CrashTestCase()
        : TestCase("crashes")
    {
    }

  private:
    void DoRun() override
    {
        const auto outcomes = RunTasks(2, 5, [](std::size_t index) -> std::string {
            switch (index)
            {
            case 1:
                std::raise(SIGKILL);
                break;
            case 2:
                throw std::runtime_error("out of cheese");
            case 3:
                _exit(7);
            default:
                break;
            }
            return "fine";
        });
        NS_TEST_ASSERT_MSG_EQ(outcomes.size(), 5, "all tasks are reported");
        NS_TEST_EXPECT_MSG_EQ(outcomes[0].failure, "", "before the crashes");
        NS_TEST_EXPECT_MSG_EQ(Contains(outcomes[1].failure, "ended by signal 9"),
                              true,
                              outcomes[1].failure);
        NS_TEST_EXPECT_MSG_EQ(outcomes[2].failure, "out of cheese", "an exception");
        NS_TEST_EXPECT_MSG_EQ(Contains(outcomes[3].failure, "ended with status 7"),
                              true,
                              outcomes[3].failure);
        NS_TEST_EXPECT_MSG_EQ(outcomes[4].failure, "", "after the crashes");
        NS_TEST_EXPECT_MSG_EQ(outcomes[4].text, "fine", "after the crashes");

        const std::string error = GetError([] {
            RunTasks(2, 3, [](std::size_t index) -> std::string {
                if (index == 1)
                {
                    FailInput("--cheese: expected some");
                }
                return "";
            });
        });
        NS_TEST_EXPECT_MSG_EQ(error, "--cheese: expected some", "a wrong input stays one");
    }
};

class WorkerProcessesTestSuite : public TestSuite
{
  public:
    WorkerProcessesTestSuite()
        : TestSuite("allreduce-worker-processes", TestSuite::Type::UNIT)
    {
        AddTestCase(new OrderTestCase);
        AddTestCase(new IsolationTestCase);
        AddTestCase(new CrashTestCase);
    }
};

WorkerProcessesTestSuite g_workerProcessesTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
