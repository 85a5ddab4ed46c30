/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "schedule-view.h"
#include "session-test-utils.h"

#include "ns3/node-list.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

/// @brief Hands out what another scheduler hands out, and remembers it.
class RememberingScheduler : public AllReduceScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::RememberingScheduler")
                                .SetParent<AllReduceScheduler>()
                                .AddConstructor<RememberingScheduler>();
        return tid;
    }

    WorkloadList NextRound(const AllReduceState& state) override
    {
        if (state.IsFresh())
        {
            m_rounds.clear();
        }
        WorkloadList round = m_scheduler->NextRound(state);
        m_rounds.push_back(round);
        return round;
    }

    std::string GetPlanner() const override
    {
        return "someone";
    }

    /// @return what was handed out since the beginning
    OwnSchedule GetRounds() const
    {
        return OwnSchedule({{}, m_rounds});
    }

  private:
    Ptr<AllReduceScheduler> m_scheduler = CreateScheduler("greedy"); //!< who plans
    std::vector<WorkloadList> m_rounds;                              //!< handed out
};

NS_OBJECT_ENSURE_REGISTERED(RememberingScheduler);

/// @brief Counts what arrives in a run, from the trace sources alone.
class FlowWatcher
{
  public:
    FlowWatcher()
    {
        Simulator::ScheduleNow(&FlowWatcher::ConnectAll, this);
    }

    std::vector<std::vector<AllReduceFlow>> m_arrived; //!< by round, in barrier mode
    std::vector<AllReduceFlow> m_allArrived;           //!< in order
    uint32_t m_nStarted{0};                            //!< flows that began
    uint32_t m_nAborted{0};                            //!< flows that were aborted

  private:
    /// The applications are there only after RunOptions::prepare.
    void ConnectAll()
    {
        for (auto node = NodeList::Begin(); node != NodeList::End(); ++node)
        {
            for (uint32_t i = 0; i < (*node)->GetNApplications(); ++i)
            {
                Connect(DynamicCast<AllReduceApplication>((*node)->GetApplication(i)));
            }
        }
    }

    void Connect(Ptr<AllReduceApplication> application)
    {
        application->TraceConnectWithoutContext("FlowStarted",
                                                MakeCallback(&FlowWatcher::NoteStarted, this));
        application->TraceConnectWithoutContext("FlowFinished",
                                                MakeCallback(&FlowWatcher::NoteFinished, this));
        application->TraceConnectWithoutContext("FlowAborted",
                                                MakeCallback(&FlowWatcher::NoteAborted, this));
        if (application->GetServer() == 0)
        {
            application->GetSession()->TraceConnectWithoutContext(
                "RoundStarted",
                MakeCallback(&FlowWatcher::NoteRound, this));
        }
    }

    void NoteRound(uint32_t round)
    {
        m_arrived.resize(round + 1);
    }

    void NoteStarted(const AllReduceFlow& flow)
    {
        ++m_nStarted;
    }

    void NoteFinished(const AllReduceFlow& flow)
    {
        m_arrived.back().push_back(flow);
        m_allArrived.push_back(flow);
    }

    void NoteAborted(const AllReduceFlow& flow)
    {
        ++m_nAborted;
    }
};

/// @brief After a failure a view has what ran, not what was planned.
class FailedLinkViewTestCase : public DataCentreTestCase
{
  public:
    FailedLinkViewTestCase()
        : DataCentreTestCase("the view of a run is what ran")
    {
    }

  private:
    /// What a server has of a chunk: whose contributions, as bits.
    using Held = std::vector<std::vector<uint64_t>>;

    void DoRun() override
    {
        for (const std::string& sync : SYNCS)
        {
            Run(sync, {});
            TestNoFault(sync);
            Run(sync, {"0-16@1ms", "5-17@1500us,2ms"});
            TestFault(sync);
        }
        TestBarrierRounds();
        TestIterations();
        TestCutOff();
    }

    void Run(const std::string& sync,
             const std::vector<std::string>& faults,
             uint32_t iterations = 1,
             const std::string& topology = "bcube:4,1")
    {
        const Topology network = ParseTopology(topology);
        const auto roots = MakeRoots(network.GetNServers(), 2);
        m_scheduler = CreateObject<RememberingScheduler>();
        VerifiedPlan plan = PlanVerified(network, roots, *m_scheduler);
        m_experiment.emplace(Experiment{network, "someone", m_scheduler, std::move(plan), 4 << 20});
        m_options = MakeOptions("raw", sync);
        m_options.recordsFlows = true;
        m_options.iterations = iterations;
        m_options.faults.fail = faults;
        m_options.prepare = [&](const auto&) {
            return m_watcher = std::make_shared<FlowWatcher>();
        };
        m_result = RunExperiment(*m_experiment, m_options);
        m_view = MakeRunView(*m_experiment, m_result);
    }

    void TestNoFault(const std::string& sync)
    {
        Json steps = m_view;
        steps.erase("run");
        steps.erase("size");
        NS_TEST_EXPECT_MSG_EQ(m_result.failure, "", sync);
        const Json planned =
            MakeScheduleView(m_experiment->topology, m_experiment->plan.GetSchedule(), "someone");
        NS_TEST_EXPECT_MSG_EQ((steps == planned), true, sync << ": the plan is what ran");
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["marks"].size(), 0, sync << ": nothing to mark");
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["cut"].size(), 0, sync << ": nothing was cut");
    }

    /// What holds in either mode.
    void TestFault(const std::string& sync)
    {
        NS_TEST_ASSERT_MSG_EQ(m_result.failure, "", sync);
        NS_TEST_EXPECT_MSG_GT(m_watcher->m_nAborted, 0, sync << ": flows were aborted");
        NS_TEST_EXPECT_MSG_EQ(m_watcher->m_nAborted, m_result.nAborted, sync << ": trace source");
        const Json& run = m_view["run"];
        NS_TEST_EXPECT_MSG_EQ(run["cut"].size(), m_watcher->m_nAborted, sync << ": aborted flows");
        for (const Json& flow : run["cut"])
        {
            NS_TEST_EXPECT_MSG_EQ(flow[7], "aborted", sync << ": says so");
        }
        NS_TEST_EXPECT_MSG_EQ(run["flows"].size(), m_watcher->m_allArrived.size(), sync);
        NS_TEST_EXPECT_MSG_EQ(m_watcher->m_nStarted,
                              m_watcher->m_nAborted + m_watcher->m_allArrived.size(),
                              sync << ": flows");
        CheckMarks(sync);
        CheckStepsAgainstFlows(sync);
        NS_TEST_EXPECT_MSG_EQ(m_view["steps"].size(), m_result.rounds + 1, sync << ": rounds");
        const Json& last = m_view["steps"].back();
        const auto finals = last["final"].get<std::vector<uint64_t>>();
        NS_TEST_EXPECT_MSG_EQ(std::accumulate(finals.begin(), finals.end(), uint64_t{0}),
                              16 * 32,
                              sync << ": all sums are there in the end");
    }

    void CheckMarks(const std::string& sync)
    {
        std::map<std::string, uint32_t> counts;
        int64_t time = 0;
        for (const Json& mark : m_view["run"]["marks"])
        {
            ++counts[mark["text"].get<std::string>()];
            NS_TEST_EXPECT_MSG_GT_OR_EQ(mark["time"].get<int64_t>(), time, "in order");
            time = mark["time"].get<int64_t>();
        }
        NS_TEST_EXPECT_MSG_EQ(counts["link 0-16 broke"], 1, sync);
        NS_TEST_EXPECT_MSG_EQ(counts["link 5-17 broke"], 1, sync);
        NS_TEST_EXPECT_MSG_EQ(counts["link 5-17 was mended"], 1, sync);
        NS_TEST_EXPECT_MSG_EQ(counts["someone planned what was left"], m_result.nReplans, sync);
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["marks"][0]["time"], 1'000'000, sync << ": when");
        NS_TEST_EXPECT_MSG_GT(m_result.nReplans, 0, sync << ": something to mark");
    }

    /// Every step has the flows whose trace names its round, arrived or aborted.
    void CheckStepsAgainstFlows(const std::string& sync)
    {
        std::vector<uint64_t> arrived(m_view["steps"].size(), 0);
        for (const AllReduceFlow& flow : m_watcher->m_allArrived)
        {
            ++arrived.at(flow.round + 1);
        }
        uint64_t nAborted = 0;
        for (std::size_t i = 0; i < arrived.size(); ++i)
        {
            const Json& step = m_view["steps"][i];
            NS_TEST_EXPECT_MSG_EQ(step["flow_count"], arrived[i], sync << ": round " << i);
            const uint64_t aborted = step.value("aborted", uint64_t{0});
            NS_TEST_EXPECT_MSG_EQ(step["flows"].size(), arrived[i] + aborted, sync << ": listed");
            nAborted += aborted;
        }
        NS_TEST_EXPECT_MSG_EQ(nAborted, m_watcher->m_nAborted, sync << ": aborted");
    }

    /// With barriers rounds, links and cells follow from what was handed out and what then arrived.
    void TestBarrierRounds()
    {
        Run("barrier", {"0-16@1ms", "5-17@1500us,2ms"});
        const OwnSchedule handedOut = m_scheduler->GetRounds();
        const Json& steps = m_view["steps"];
        NS_TEST_ASSERT_MSG_EQ(handedOut.rounds.size() + 1, steps.size(), "rounds");
        NS_TEST_ASSERT_MSG_EQ(m_watcher->m_arrived.size() + 1, steps.size(), "rounds that began");
        const uint32_t nServers = m_experiment->topology.GetNServers();
        Held held(nServers);
        for (NodeId server = 0; server < nServers; ++server)
        {
            held[server].assign(m_experiment->plan.GetCollective().GetNChunks(),
                                uint64_t{1} << server);
        }
        std::map<uint64_t, uint32_t> cells;
        for (std::size_t round = 0; round < handedOut.rounds.size(); ++round)
        {
            const OwnRound ran = FindRan(handedOut.rounds[round], m_watcher->m_arrived[round]);
            CheckLoads(ran, steps[round + 1]["load"]);
            Carry(ran, held);
            CheckCells(held, steps, round + 1, cells);
        }
    }

    /// @return those workloads of a round that arrived, matched by what can be seen of them
    OwnRound FindRan(OwnRound round, const std::vector<AllReduceFlow>& arrived)
    {
        OwnRound ran;
        for (const AllReduceFlow& flow : arrived)
        {
            const auto isSame = [&](const OwnWorkload& w) {
                return w.chunk == flow.chunk && w.kind == flow.kind &&
                       w.path.front() == flow.source && w.path.back() == flow.target;
            };
            const auto place = std::find_if(round.begin(), round.end(), isSame);
            NS_TEST_EXPECT_MSG_EQ((place != round.end()), true, "what arrived was handed out");
            if (place != round.end())
            {
                ran.push_back(*place);
                round.erase(place);
            }
        }
        return ran;
    }

    void CheckLoads(const OwnRound& ran, const Json& load)
    {
        std::map<uint32_t, std::pair<uint32_t, uint32_t>> counted;
        for (const OwnWorkload& workload : ran)
        {
            for (std::size_t i = 1; i < workload.path.size(); ++i)
            {
                const auto link = *m_experiment->topology.FindDirectedLink(workload.path[i - 1],
                                                                           workload.path[i]);
                auto& [reduces, broadcasts] = counted[link];
                ++(workload.kind == REDUCE ? reduces : broadcasts);
            }
        }
        Json expected = Json::array();
        for (const auto& [link, counts] : counted)
        {
            expected.insert(expected.end(), {link, counts.first, counts.second});
        }
        NS_TEST_EXPECT_MSG_EQ((load == expected), true, "what crossed the links");
    }

    /// All senders send what they hold at the beginning of the round.
    static void Carry(const OwnRound& ran, Held& held)
    {
        const Held before = held;
        for (const OwnWorkload& w : ran)
        {
            if (w.kind == REDUCE)
            {
                held[w.path.front()][w.chunk] &= ~before[w.path.front()][w.chunk];
            }
        }
        for (const OwnWorkload& w : ran)
        {
            held[w.path.back()][w.chunk] |= before[w.path.front()][w.chunk];
        }
    }

    void CheckCells(const Held& held,
                    const Json& steps,
                    std::size_t step,
                    std::map<uint64_t, uint32_t>& cells)
    {
        for (std::size_t i = step == 1 ? 0 : step; i <= step; ++i)
        {
            const Json& changes = steps[i]["cells"];
            for (std::size_t j = 0; j < changes.size(); j += 2)
            {
                cells[changes[j].get<uint64_t>()] = changes[j + 1].get<uint32_t>();
            }
        }
        const uint64_t all = (uint64_t{1} << held.size()) - 1;
        uint32_t nWrong = 0;
        for (std::size_t server = 0; server < held.size(); ++server)
        {
            for (std::size_t chunk = 0; chunk < held[server].size(); ++chunk)
            {
                const uint64_t parts = held[server][chunk];
                const uint32_t expected = parts == all ? 2 : parts != 0 ? 1 : 0;
                nWrong += cells[server * held[server].size() + chunk] != expected;
            }
        }
        NS_TEST_EXPECT_MSG_EQ(nWrong, 0, "what servers hold after round " << step);
    }

    /// The rounds shown are those of the last AllReduce, the flows those of all.
    void TestIterations()
    {
        Run("barrier", {"0-16@1ms"}, 3);
        NS_TEST_ASSERT_MSG_EQ(m_result.failure, "", "runs");
        const Json& run = m_view["run"];
        NS_TEST_EXPECT_MSG_EQ(run["iterations"], 3, "AllReduces");
        NS_TEST_EXPECT_MSG_EQ(run["flows"].size(), m_watcher->m_allArrived.size(), "of all");
        NS_TEST_EXPECT_MSG_EQ(run["cut"].size(), m_watcher->m_nAborted, "of all");
        NS_TEST_EXPECT_MSG_GT(m_watcher->m_nAborted, 0, "in the first");
        NS_TEST_EXPECT_MSG_EQ(m_view["steps"].size(), m_result.rounds + 1, "of the last");
        uint64_t nSteps = 0;
        for (const Json& step : m_view["steps"])
        {
            nSteps += step["flow_count"].get<uint64_t>();
            NS_TEST_EXPECT_MSG_EQ(step.count("aborted"), 0, "none in the last");
        }
        const auto isLast = [](const AllReduceFlow& flow) { return flow.iteration == 2; };
        const auto& arrived = m_watcher->m_allArrived;
        const std::size_t nLast = std::count_if(arrived.begin(), arrived.end(), isLast);
        NS_TEST_EXPECT_MSG_EQ(nLast, nSteps, "the last one's");
        for (const Json& mark : run["marks"])
        {
            const bool isLink = mark.count("link") > 0;
            NS_TEST_EXPECT_MSG_EQ((mark["iteration"] == 0 || !isLink), true, "in the first");
            NS_TEST_EXPECT_MSG_EQ((mark["round"] == 1 || mark["iteration"] == 0), true, "anew");
        }
    }

    /// A run that fails has what came to pass, and what was under way.
    void TestCutOff()
    {
        Run("barrier", {"0-4@100us", "0-6@100us"}, 1, "bcube:2,1");
        NS_TEST_EXPECT_MSG_NE(m_result.failure, "", "a server is cut off");
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["cut"].size(), m_result.nAborted, "aborted");
        NS_TEST_EXPECT_MSG_EQ(m_view["steps"].size(), m_watcher->m_arrived.size() + 1, "rounds");
        m_options.watchdog = "5us";
        m_options.faults.fail.clear();
        m_result = RunExperiment(*m_experiment, m_options);
        m_view = MakeRunView(*m_experiment, m_result);
        NS_TEST_EXPECT_MSG_NE(m_result.failure, "", "the watchdog does not wait so long");
        const Json& cut = m_view["run"]["cut"];
        NS_TEST_EXPECT_MSG_GT(cut.size(), 0, "flows were under way");
        NS_TEST_EXPECT_MSG_EQ(cut.size() + m_view["run"]["flows"].size(),
                              m_watcher->m_nStarted,
                              "nothing is lost");
        NS_TEST_EXPECT_MSG_EQ(cut[0][7], "unfinished", "says so");
    }

    Ptr<RememberingScheduler> m_scheduler;  //!< who planned
    std::shared_ptr<FlowWatcher> m_watcher; //!< what it saw of the last run
    std::optional<Experiment> m_experiment; //!< what was run
    RunOptions m_options;                   //!< how
    ExperimentResult m_result;              //!< what came out
    Json m_view;                            //!< the view of that
};

/// @ingroup allreduce-tests
/// @brief The view of a run with faults: what ran, and not what was planned.
class FaultViewTestSuite : public TestSuite
{
  public:
    FaultViewTestSuite()
        : TestSuite("allreduce-fault-view", TestSuite::Type::UNIT)
    {
        AddTestCase(new FailedLinkViewTestCase, EXTENSIVE);
    }
};

FaultViewTestSuite g_faultViewTestSuite; //!< registers the suite

} // namespace
