/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "independent-verifier.h"
#include "schedule-mutations.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/schedule-file.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return three servers 0-1-2 in a row, chunk 0 summed at server 0
OwnSchedule
MakeLineSchedule()
{
    OwnSchedule schedule;
    schedule.collective.roots = {0};
    schedule.rounds = {{{0, REDUCE, {2, 1}, {}}},
                       {{0, REDUCE, {1, 0}, {}}},
                       {{0, BROADCAST, {0, 1}, {}}},
                       {{0, BROADCAST, {1, 2}, {}}}};
    return schedule;
}

/// @return the same without merging: server 2's contribution passes server 1
OwnSchedule
MakeNamedSchedule()
{
    OwnSchedule schedule = MakeLineSchedule();
    schedule.rounds = {{{0, REDUCE, {2, 1}, {2}}, {0, REDUCE, {1, 0}, {1}}},
                       {{0, REDUCE, {1, 0}, {2}}},
                       {{0, BROADCAST, {0, 1}, {}}},
                       {{0, BROADCAST, {1, 2}, {}}}};
    return schedule;
}

/// @return three servers 0 1 2 around switch 3, each the root of a chunk
OwnSchedule
MakeStarSchedule()
{
    OwnSchedule schedule;
    schedule.collective.roots = {0, 1, 2};
    schedule.rounds.resize(4);
    for (ChunkId chunk = 0; chunk < 3; ++chunk)
    {
        const NodeId next = (chunk + 1) % 3;
        const NodeId last = (chunk + 2) % 3;
        schedule.rounds[0].push_back({chunk, REDUCE, {last, 3, next}, {}});
        schedule.rounds[1].push_back({chunk, REDUCE, {next, 3, chunk}, {}});
        schedule.rounds[2].push_back({chunk, BROADCAST, {chunk, 3, next}, {}});
        schedule.rounds[3].push_back({chunk, BROADCAST, {next, 3, last}, {}});
    }
    return schedule;
}

/// @brief A corruption of a small schedule and what the verifier says to it.
class ScheduleCorruptionTestCase : public TestCase
{
  public:
    /**
     * @param name what is corrupted
     * @param topology the network
     * @param schedule a correct schedule
     * @param corrupt corrupts it
     * @param reason what the verifier answers
     */
    ScheduleCorruptionTestCase(const std::string& name,
                               Topology topology,
                               OwnSchedule schedule,
                               std::function<void(OwnSchedule&)> corrupt,
                               std::string reason)
        : TestCase("refused: " + name),
          m_topology(std::move(topology)),
          m_schedule(std::move(schedule)),
          m_corrupt(std::move(corrupt)),
          m_reason(std::move(reason))
    {
    }

  private:
    void DoRun() override
    {
        const Verdict before = Verify(m_topology, m_schedule.Get());
        NS_TEST_EXPECT_MSG_EQ(before.isCorrect, true, before.reason);
        NS_TEST_EXPECT_MSG_EQ(before.reason, "", "no reason without a violation");
        m_corrupt(m_schedule);
        const Verdict verdict = Verify(m_topology, m_schedule.Get());
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, false, "corrupted");
        NS_TEST_EXPECT_MSG_EQ(verdict.reason, m_reason, "says so");
        if (!Contains(m_reason, "at the end"))
        {
            std::ostringstream place;
            place << "round " << verdict.round << ", workload " << verdict.workload << " (";
            NS_TEST_EXPECT_MSG_EQ(m_reason.rfind(place.str(), 0), 0, "the place agrees");
        }
    }

    Topology m_topology;                         //!< the network
    OwnSchedule m_schedule;                      //!< a correct schedule
    std::function<void(OwnSchedule&)> m_corrupt; //!< corrupts it
    std::string m_reason;                        //!< what the verifier answers
};

/// Correct schedules of several kinds on one network.
std::vector<AllReduceSchedule>
MakeSchedules(const Topology& topology, uint32_t chunksPerServer)
{
    std::vector<AllReduceSchedule> schedules;
    for (const std::string& name : GetNamesWithoutLearning())
    {
        schedules.push_back(PlanFromStart(name, topology, chunksPerServer));
    }
    return schedules;
}

/// @return small networks of all sorts
std::vector<Topology>
MakeVerifierNetworks()
{
    std::vector<Topology> networks = {MakeTestStar(4),
                                      MakeTestStar(3, 2),
                                      MakeTestLine(4),
                                      ParseTopology("bcube:2,1"),
                                      ParseTopology("dcell:2,1"),
                                      ParseTopology("jellyfish:4,2,1"),
                                      MixCapacity(ParseTopology("torus:2x2"), 0.5),
                                      Degrade(ParseTopology("bcube:3,1"), 0.2)};
    TestRandom random(3);
    for (uint32_t i = 0; i < 8; ++i)
    {
        networks.push_back(MakeRandomNetwork(random));
    }
    return networks;
}

/// @brief Thousands of random corruptions.
class MutationTestCase : public TestCase
{
  public:
    MutationTestCase()
        : TestCase("of thousands of random corruptions none that changes the result passes")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(4);
        for (const Topology& topology : MakeVerifierNetworks())
        {
            for (const uint32_t chunksPerServer : {1, 2})
            {
                for (const AllReduceSchedule& schedule : MakeSchedules(topology, chunksPerServer))
                {
                    CheckCorrect(topology, OwnSchedule(schedule));
                    CheckMutants(topology, OwnSchedule(schedule), random);
                }
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nMutants, 10000, "thousands");
        NS_TEST_EXPECT_MSG_GT(m_nAccepted, 100, "some corruptions are harmless");
        NS_TEST_EXPECT_MSG_GT(m_nWrong, m_nMutants / 2, "most are not");
        NS_TEST_EXPECT_MSG_GT(m_reasons.size(), 15, "they are refused for many reasons");
    }

    void CheckCorrect(const Topology& topology, const OwnSchedule& schedule)
    {
        const Verdict verdict = Verify(topology, schedule.Get());
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, true, topology.GetName() << verdict.reason);
        NS_TEST_EXPECT_MSG_EQ(ExecuteWithNumbers(topology, schedule), "", "numbers agree");
        NS_TEST_EXPECT_MSG_EQ(ExecuteOnState(topology, schedule), "", "so does the state");
    }

    void CheckMutants(const Topology& topology, const OwnSchedule& schedule, TestRandom& random)
    {
        for (const auto& [name, mutate] : GetMutations())
        {
            for (uint32_t i = 0; i < 6; ++i)
            {
                OwnSchedule mutant = schedule;
                // Sometimes two at once: one may hide the other.
                if (mutate(mutant, topology, random) &&
                    (i < 4 || mutant.rounds.empty() || mutate(mutant, topology, random)))
                {
                    CheckMutant(topology, mutant, name);
                }
            }
        }
    }

    void CheckMutant(const Topology& topology, const OwnSchedule& mutant, const std::string& name)
    {
        ++m_nMutants;
        const Verdict verdict = Verify(topology, mutant.Get());
        const std::string wrong =
            HasServersAsRoots(topology, mutant) ? ExecuteWithNumbers(topology, mutant) : "root";
        const std::string fault = ExecuteOnState(topology, mutant);
        m_nWrong += !wrong.empty();
        m_nAccepted += verdict.isCorrect;
        if (verdict.isCorrect)
        {
            NS_TEST_EXPECT_MSG_EQ(wrong, "", name << " on " << topology.GetName());
            // The state does not know whose contributions a plain reduce has merged.
            NS_TEST_EXPECT_MSG_EQ((fault.empty() || Contains(fault, "the named contributions")),
                                  true,
                                  name << ": state says " << fault);
        }
        else
        {
            NS_TEST_EXPECT_MSG_NE(fault, "", name << ": verifier says " << verdict.reason);
            NS_TEST_EXPECT_MSG_EQ(verdict.reason.empty(), false, "a reason is given");
            m_reasons.insert(GetKind(verdict.reason));
        }
    }

    static bool HasServersAsRoots(const Topology& topology, const OwnSchedule& schedule)
    {
        return !schedule.collective.roots.empty() &&
               std::all_of(schedule.collective.roots.begin(),
                           schedule.collective.roots.end(),
                           [&](NodeId root) { return topology.IsServer(root); });
    }

    /// @return a reason without place and numbers
    static std::string GetKind(const std::string& reason)
    {
        const std::size_t colon = reason.find("): ");
        std::string kind = colon == std::string::npos ? reason : reason.substr(colon);
        kind.erase(std::remove_if(kind.begin(),
                                  kind.end(),
                                  [](char c) { return (c >= '0' && c <= '9') || c == '-'; }),
                   kind.end());
        return kind;
    }

    uint32_t m_nMutants{0};          //!< corruptions made
    uint32_t m_nAccepted{0};         //!< that the verifier let pass
    uint32_t m_nWrong{0};            //!< that give a wrong result
    std::set<std::string> m_reasons; //!< why the others were refused
};

/// @brief Files of groups, corrupted: what an independent verifier refuses is refused.
class GroupMutantsTestCase : public TestCase
{
  public:
    GroupMutantsTestCase()
        : TestCase("files of groups that an independent verifier refuses are refused")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(32);
        for (const std::string spec : {"bcube:2,1", "dcell:2,1", "torus:3x2"})
        {
            const Topology topology = ParseTopology(spec);
            for (const CollectiveKind kind : {CollectiveKind::ALL_REDUCE,
                                              CollectiveKind::REDUCE_SCATTER,
                                              CollectiveKind::ALL_GATHER,
                                              CollectiveKind::BROADCAST,
                                              CollectiveKind::REDUCE})
            {
                CheckFiles(topology, {{kind, {0, 1}, 0}, {kind, {2, 3}, 2}}, random);
                CheckFiles(topology, {{kind, {0, 1, 3}, 0}}, random);
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nRefused, 1000, "most mutants are wrong");
        NS_TEST_EXPECT_MSG_GT(m_nRight, 100, "but not all");
    }

    void CheckFiles(const Topology& topology, const std::vector<Group>& groups, TestRandom& random)
    {
        const Collective collective = MakeCollective(groups, topology.GetNServers(), 2, true);
        const auto plan = Plan(*CreateScheduler("greedy"), AllReduceState(topology, collective));
        NS_TEST_EXPECT_MSG_EQ(FindFaultOfFile(FormatSchedule(topology, plan)), "", "the plan");
        NS_TEST_EXPECT_MSG_EQ(RefuseFile(FormatSchedule(topology, plan)), "", "the plan");
        auto mutations = GetGroupMutations();
        mutations.merge(GetMutations());
        for (const auto& [name, mutate] : mutations)
        {
            for (uint32_t i = 0; i < 4; ++i)
            {
                OwnSchedule mutant(plan);
                if (mutate(mutant, topology, random))
                {
                    CheckMutant(FormatSchedule(topology, mutant.Get()), name);
                }
            }
        }
    }

    void CheckMutant(const std::string& text, const std::string& name)
    {
        const std::string fault = FindFaultOfFile(text);
        m_nRefused += !fault.empty();
        m_nRight += fault.empty();
        if (!fault.empty())
        {
            NS_TEST_EXPECT_MSG_NE(RefuseFile(text), "", name << ": " << fault << ": " << text);
        }
    }

    /// @return why the module refuses a file; "" if it does not
    static std::string RefuseFile(const std::string& text)
    {
        Verdict verdict;
        const std::string error = GetError([&] {
            std::istringstream in(text);
            const ScheduleFile file = ReadSchedule(in, "mutant");
            verdict = Verify(file.topology, file.schedule);
        });
        return error.empty() ? verdict.reason : error;
    }

    uint32_t m_nRefused{0}; //!< mutants that the independent verifier refuses
    uint32_t m_nRight{0};   //!< and that it does not
};

/// @brief Two violations: the first is named.
class FirstViolationTestCase : public TestCase
{
  public:
    FirstViolationTestCase()
        : TestCase("of several violations the first is named, and an empty round is none")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeTestStar(3);
        OwnSchedule schedule = MakeStarSchedule();
        schedule.rounds.insert(schedule.rounds.begin() + 1, OwnRound());
        schedule.rounds.emplace_back();
        NS_TEST_EXPECT_MSG_EQ(Verify(star, schedule.Get()).isCorrect, true, "empty rounds");
        schedule = MakeStarSchedule();
        schedule.rounds[0][0].kind = BROADCAST;
        schedule.rounds[3][0].path.front() = 0;
        NS_TEST_EXPECT_MSG_EQ(Verify(star, schedule.Get()).reason,
                              "round 3, workload 2 (broadcast of chunk 2 along 0-3-1): link 0-3 is "
                              "over its capacity of 1",
                              "paths and capacities come before data");
        schedule = MakeStarSchedule();
        schedule.rounds[2][2].chunk = 0;
        schedule.rounds[1].erase(schedule.rounds[1].begin() + 1);
        const Verdict verdict = Verify(star, schedule.Get());
        NS_TEST_EXPECT_MSG_EQ(verdict.round, 2, "the earlier round");
        NS_TEST_EXPECT_MSG_EQ(verdict.workload, 1, "and the earlier workload: " << verdict.reason);
    }
};

/// @brief So many workloads that they are verified in parts, several at once.
class ManyWorkloadsTestCase : public TestCase
{
  public:
    ManyWorkloadsTestCase()
        : TestCase("of violations far apart in a large schedule the first is named")
    {
    }

  private:
    static constexpr uint32_t N_COPIES = 50'000; //!< of the star's schedule, one after another

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(VerifyWith({}).reason, "", "as it is");
        const OwnSchedule early =
            ChangeStar([](OwnSchedule& s) { s.rounds[1][1].kind = BROADCAST; });
        const OwnSchedule astray = ChangeStar([](OwnSchedule& s) { s.rounds[2][0].path[1] = 1; });
        const OwnSchedule incomplete = ChangeStar([](OwnSchedule& s) { s.rounds[3].pop_back(); });
        CheckPlace(VerifyWith({{40'000, early}}), 160'001, 1);
        CheckPlace(VerifyWith({{40'000, early}, {7, early}, {20'000, early}}), 29, 1);
        CheckPlace(VerifyWith({{7, early}, {49'999, astray}, {30'000, astray}}), 120'002, 0);
        CheckPlace(VerifyWith({{7, incomplete}, {49'999, early}}), 199'997, 1);
        NS_TEST_EXPECT_MSG_EQ(VerifyWith({{45'000, incomplete}, {12'345, incomplete}}).reason,
                              VerifyWith({{12'345, incomplete}}).reason,
                              "the first chunk that is not whole");
    }

    template <typename Change>
    static OwnSchedule ChangeStar(Change change)
    {
        OwnSchedule schedule = MakeStarSchedule();
        change(schedule);
        return schedule;
    }

    /// @return what is said about copies of the star's schedule, some of them changed
    static Verdict VerifyWith(const std::map<uint32_t, OwnSchedule>& changed)
    {
        const AllReduceSchedule star = MakeStarSchedule().Get();
        AllReduceSchedule all;
        for (uint32_t copy = 0; copy < N_COPIES; ++copy)
        {
            const auto found = changed.find(copy);
            Append(all, found == changed.end() ? star : found->second.Get());
        }
        return Verify(MakeTestStar(3), all);
    }

    static void Append(AllReduceSchedule& all, const AllReduceSchedule& star)
    {
        const ChunkId firstChunk = all.collective.GetNChunks();
        for (const WorkloadList& round : star.rounds)
        {
            all.rounds.emplace_back();
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                Workload workload = round.Get(i);
                workload.chunk += firstChunk;
                all.rounds.back().Add(workload);
            }
        }
        const auto& roots = star.collective.roots;
        all.collective.roots.insert(all.collective.roots.end(), roots.begin(), roots.end());
    }

    void CheckPlace(const Verdict& verdict, uint32_t round, std::size_t workload)
    {
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, false, "is refused");
        NS_TEST_EXPECT_MSG_EQ(verdict.round, round, verdict.reason);
        NS_TEST_EXPECT_MSG_EQ(verdict.workload, workload, verdict.reason);
    }
};

/// @brief Schedule files are read as they were written.
class ScheduleRoundTripTestCase : public TestCase
{
  public:
    ScheduleRoundTripTestCase()
        : TestCase("a schedule file is the same byte for byte after reading and writing")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeVerifierNetworks())
        {
            for (const AllReduceSchedule& schedule : MakeSchedules(topology, 1))
            {
                const std::string text = FormatSchedule(topology, schedule);
                std::istringstream in(text);
                const ScheduleFile file = ReadSchedule(in, "test");
                NS_TEST_EXPECT_MSG_EQ(FormatSchedule(file.topology, file.schedule), text, "same");
                const Verdict verdict = Verify(file.topology, file.schedule);
                NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, true, verdict.reason);
            }
        }
        TestText();
    }

    void TestText()
    {
        NS_TEST_EXPECT_MSG_EQ(
            FormatSchedule(MakeTestLine(3), MakeNamedSchedule().Get()),
            "{\"format\": \"allreduce-schedule\", \"version\": 1,\n"
            " \"topology\": "
            "{\"name\":\"line\",\"servers\":3,\"switches\":0,\"links\":[[0,1,1],[1,2,1]]},\n"
            " \"chunk_roots\": [0],\n"
            " \"rounds\": [\n"
            "  [{\"chunk\": 0, \"kind\": \"reduce\", \"path\": [2, 1], \"contributors\": [2]}, "
            "{\"chunk\": 0, \"kind\": \"reduce\", \"path\": [1, 0], \"contributors\": [1]}],\n"
            "  [{\"chunk\": 0, \"kind\": \"reduce\", \"path\": [1, 0], \"contributors\": [2]}],\n"
            "  [{\"chunk\": 0, \"kind\": \"broadcast\", \"path\": [0, 1]}],\n"
            "  [{\"chunk\": 0, \"kind\": \"broadcast\", \"path\": [1, 2]}]]}\n",
            "the format of the design");
    }
};

/// @brief Broken schedule files are refused.
class BrokenFileTestCase : public TestCase
{
  public:
    BrokenFileTestCase()
        : TestCase("a broken schedule file is refused in a line that names it")
    {
    }

  private:
    void DoRun() override
    {
        m_text = FormatSchedule(MakeTestLine(3), MakeNamedSchedule().Get());
        TestTruncated();
        TestReplaced();
        TestRandomBytes();
        NS_TEST_EXPECT_MSG_EQ(Read(m_text + " \n"), "", "space may follow");
        Refuses(m_text + "{}", "parse error");
    }

    /// @return the message that reading a text ends with
    static std::string Read(const std::string& text)
    {
        return GetError([&] {
            std::istringstream in(text);
            ReadSchedule(in, "some.json");
        });
    }

    void Refuses(const std::string& text, const std::string& why)
    {
        const std::string message = Read(text);
        NS_TEST_EXPECT_MSG_EQ(message.rfind("schedule file some.json: ", 0), 0, message);
        NS_TEST_EXPECT_MSG_EQ(Contains(message, "\n"), false, "one line: " << message);
        NS_TEST_EXPECT_MSG_EQ(Contains(message, why), true, message << " for " << why);
    }

    void TestTruncated()
    {
        // Without its last byte, a line break, the file is still whole.
        for (std::size_t size = 0; size + 1 < m_text.size(); ++size)
        {
            Refuses(m_text.substr(0, size), "parse error");
        }
        NS_TEST_EXPECT_MSG_EQ(Read(m_text.substr(0, m_text.size() - 1)), "", "whole");
    }

    void TestReplaced()
    {
        const std::string round = ": round 0, workload 0: ";
        const std::vector<std::vector<std::string>> changes = {
            {"\"allreduce-schedule\"", "\"other\"", "expected \"allreduce-schedule\" version 1"},
            {"\"allreduce-schedule\"", "7", "expected \"allreduce-schedule\" version 1"},
            {"\"version\": 1", "\"version\": 2", "expected \"allreduce-schedule\" version 1"},
            {"\"format\"", "\"form\"", "no \"format\""},
            {"\"version\"", "\"v\"", "no \"version\""},
            {"schedule\", \"version\"", "plan\", \"v\"", "no \"version\""},
            {"\"topology\"", "\"t\"", "no \"topology\""},
            {"\"chunk_roots\"", "\"roots\"", "no \"chunk_roots\""},
            {"\"rounds\"", "\"round\"", "no \"rounds\""},
            {"[0],", "0,", "\"chunk_roots\" is not a list"},
            {"[0],", "[\"a\"],", "\"chunk_roots\" has \"a\", expected a whole number"},
            {"[0],", "[-1],", "\"chunk_roots\" has -1, expected a whole number"},
            {"[0],", "[1.5],", "\"chunk_roots\" has 1.5, expected a whole number"},
            {"[0],", "[4294967296],", "has 4294967296, expected a whole number"},
            {"\"servers\":3", "\"servers\":-3", "servers"},
            {"\"servers\":3", "\"servers\":1", "servers"},
            {"\"servers\":3", "\"servers\":2", "unknown node 2"},
            {"\"name\":\"line\"", "\"name\":5", "name is 5, expected text"},
            {"\"name\":\"line\"", "\"format\":5", "format 5 version 1, expected"},
            {"\"links\":[[0,1,1]",
             "\"links\":[[0,1,\"x\"]",
             "link 0: rate \"x\": expected a positive"},
            {"\"links\":[[0,1,1]", "\"links\":[[0]", "link 0 is [0]"},
            {"[{\"chunk\"", "7,[{\"chunk\"", "round 0: a round is not a list"},
            {"{\"chunk\": 0,", "5, {\"chunk\": 0,", round + "no \"chunk\""},
            {"\"chunk\": 0", "\"lump\": 0", round + "no \"chunk\""},
            {"\"chunk\": 0", "\"chunk\": []", round + "\"chunk\" has [], expected a whole number"},
            {"\"kind\"", "\"type\"", round + "no \"kind\""},
            {"\"reduce\"", "\"gather\"", round + "kind is \"gather\", expected \"reduce\" or"},
            {"\"reduce\"", "3", round + "kind is 3, expected \"reduce\" or \"broadcast\""},
            {"\"path\"", "\"way\"", round + "no \"path\""},
            {"[2, 1]", "\"2-1\"", round + "\"path\" is not a list"},
            {"[2, 1]", "[2, null]", round + "\"path\" has null, expected a whole number"},
            {"\"contributors\": [2]",
             "\"contributors\": 2",
             round + "\"contributors\" is not a list"},
        };
        for (const auto& change : changes)
        {
            std::string text = m_text;
            const std::size_t place = text.find(change[0]);
            NS_TEST_ASSERT_MSG_NE(place, std::string::npos, change[0]);
            Refuses(text.replace(place, change[0].size(), change[1]), change[2]);
        }
        Refuses("[]", "no \"format\"");
        Refuses("3", "no \"format\"");
    }

    /// Whatever is in a file, it is read or refused, and if read, verified or refused.
    void TestRandomBytes()
    {
        TestRandom random(5);
        uint32_t nRead = 0;
        for (uint32_t i = 0; i < 5000; ++i)
        {
            std::string text = m_text;
            text[Draw(random, text.size())] = static_cast<char>(random());
            std::istringstream in(text);
            const std::string message = GetError([&] {
                const ScheduleFile file = ReadSchedule(in, "some.json");
                Verify(file.topology, file.schedule);
                ++nRead;
            });
            NS_TEST_EXPECT_MSG_EQ(Contains(message, "\n"), false, "one line: " << message);
        }
        NS_TEST_EXPECT_MSG_GT(nRead, 0, "some changes do not matter to the format");
    }

    std::string m_text; //!< a good file
};

/// @brief What the verifier lets pass, and what it does not.
class ScheduleVerifierTestSuite : public TestSuite
{
  public:
    ScheduleVerifierTestSuite()
        : TestSuite("allreduce-verifier", TestSuite::Type::UNIT)
    {
        AddPathCorruptions();
        AddReduceCorruptions();
        AddContributorCorruptions();
        AddBroadcastCorruptions();
        AddTestCase(new FirstViolationTestCase);
        AddTestCase(new ManyWorkloadsTestCase);
        AddTestCase(new MutationTestCase, EXTENSIVE);
        AddTestCase(new GroupMutantsTestCase);
        AddTestCase(new ScheduleRoundTripTestCase);
        AddTestCase(new BrokenFileTestCase);
    }

  private:
    using Corrupt = std::function<void(OwnSchedule&)>;

    void AddLine(const std::string& name, const Corrupt& corrupt, const std::string& reason)
    {
        AddTestCase(new ScheduleCorruptionTestCase(name,
                                                   MakeTestLine(3),
                                                   MakeLineSchedule(),
                                                   corrupt,
                                                   reason));
    }

    void AddNamed(const std::string& name, const Corrupt& corrupt, const std::string& reason)
    {
        AddTestCase(new ScheduleCorruptionTestCase(name,
                                                   MakeTestLine(3),
                                                   MakeNamedSchedule(),
                                                   corrupt,
                                                   reason));
    }

    void AddStar(const std::string& name, const Corrupt& corrupt, const std::string& reason)
    {
        AddTestCase(new ScheduleCorruptionTestCase(name,
                                                   MakeTestStar(3),
                                                   MakeStarSchedule(),
                                                   corrupt,
                                                   reason));
    }

    /// @return a corruption: the first workload goes along another path
    static Corrupt GoAlong(const Path& path)
    {
        return [path](OwnSchedule& s) { s.rounds[0][0].path = path; };
    }

    void AddPathCorruptions()
    {
        AddLine(
            "a path of one node",
            GoAlong({2}),
            "round 0, workload 0 (reduce of chunk 0 along 2): the path has fewer than two nodes");
        AddLine("a node that is not there",
                GoAlong({2, 7}),
                "round 0, workload 0 (reduce of chunk 0 along 2-7): there is no node 7");
        AddLine("a link that is not there",
                GoAlong({2, 0}),
                "round 0, workload 0 (reduce of chunk 0 along 2-0): there is no link 2-0");
        AddLine(
            "a path through a server",
            GoAlong({2, 1, 0}),
            "round 0, workload 0 (reduce of chunk 0 along 2-1-0): the path passes through server "
            "1");
        AddStar("a path that ends at a switch",
                GoAlong({2, 3}),
                "round 0, workload 0 (reduce of chunk 0 along 2-3): the path ends at switch 3");
        AddStar("a path that begins at a switch",
                GoAlong({3, 1}),
                "round 0, workload 0 (reduce of chunk 0 along 3-1): the path ends at switch 3");
        AddStar(
            "a path that comes back to its sender",
            GoAlong({2, 3, 2}),
            "round 0, workload 0 (reduce of chunk 0 along 2-3-2): the path visits node 2 twice");
        AddStar(
            "a link over its capacity",
            [](OwnSchedule& s) {
                s.rounds[1].push_back(s.rounds[2][0]);
                s.rounds[2].erase(s.rounds[2].begin());
            },
            "round 1, workload 3 (broadcast of chunk 0 along 0-3-1): link 0-3 is over its capacity "
            "of 1");
        AddStar(
            "a chunk that is not there",
            [](OwnSchedule& s) { s.rounds[0][1].chunk = 3; },
            "round 0, workload 1 (reduce of chunk 3 along 0-3-2): there are only 3 chunks");
        AddStar(
            "a root that is a switch",
            [](OwnSchedule& s) { s.collective.roots[2] = 3; },
            "at the end: chunk root 3 is not a server of star");
        AddStar(
            "no chunks",
            [](OwnSchedule& s) { s.collective.roots.clear(); },
            "at the end: no chunks, expected 1 or more");
    }

    void AddReduceCorruptions()
    {
        AddLine(
            "a contribution sent before it was received",
            [](OwnSchedule& s) {
                s.rounds[0] = {{0, REDUCE, {1, 0}, {}}};
                s.rounds[1] = {{0, REDUCE, {1, 0}, {}}};
            },
            "round 1, workload 0 (reduce of chunk 0 along 1-0): server 1 holds no contribution "
            "(sent on already, or not yet received)");
        AddLine(
            "a contribution that arrives in the round in which it is sent on",
            [](OwnSchedule& s) {
                s.rounds[0].push_back(s.rounds[1][0]);
                s.rounds.erase(s.rounds.begin() + 1);
                s.rounds.resize(1);
            },
            "at the end: the contribution of server 2 to chunk 0 never reaches its root, server 0");
        AddTestCase(new ScheduleCorruptionTestCase(
            "a contribution counted twice",
            MakeTestStar(3, 2),
            MakeStarSchedule(),
            [](OwnSchedule& s) {
                s.rounds[0].push_back({0, REDUCE, {2, 3, 0}, {}});
            },
            "round 0, workload 3 (reduce of chunk 0 along 2-3-0): counted twice: server 2 sends "
            "the same contributions a second time in this round"));
        AddStar(
            "a contribution lost",
            [](OwnSchedule& s) {
                s.rounds[0].erase(s.rounds[0].begin());
                s.rounds.resize(2);
            },
            "at the end: the contribution of server 2 to chunk 0 never reaches its root, server "
            "0");
        AddStar(
            "a contribution lost and the sum broadcast",
            [](OwnSchedule& s) { s.rounds[0].erase(s.rounds[0].begin() + 1); },
            "round 2, workload 1 (broadcast of chunk 1 along 1-3-2): broadcast before the sum is "
            "final");
        AddStar(
            "a wrong root",
            [](OwnSchedule& s) { s.collective.roots[0] = 1; },
            "round 1, workload 0 (reduce of chunk 0 along 1-3-0): server 1 is the chunk's root, "
            "the sum is made there");
        AddLine(
            "a reduce after the sum is final",
            [](OwnSchedule& s) {
                s.rounds[2].push_back({0, REDUCE, {2, 1}, {}});
            },
            "round 2, workload 1 (reduce of chunk 0 along 2-1): the chunk is final already");
        AddLine(
            "a reduce out of the root",
            [](OwnSchedule& s) {
                s.rounds[0].push_back({0, REDUCE, {0, 1}, {}});
            },
            "round 0, workload 1 (reduce of chunk 0 along 0-1): server 0 is the chunk's root, the "
            "sum is made there");
    }

    void AddContributorCorruptions()
    {
        AddNamed(
            "a contributor named twice",
            [](OwnSchedule& s) {
                s.rounds[1][0].contributors = {2, 2};
            },
            "round 1, workload 0 (reduce of chunk 0 along 1-0): contributor 2 is named twice");
        AddNamed(
            "a contributor that is not held",
            [](OwnSchedule& s) { s.rounds[1][0].contributors = {1}; },
            "round 1, workload 0 (reduce of chunk 0 along 1-0): server 1 does not hold the "
            "contribution of server 1");
        AddNamed(
            "a contributor that is not a server",
            [](OwnSchedule& s) { s.rounds[1][0].contributors = {3}; },
            "round 1, workload 0 (reduce of chunk 0 along 1-0): contributor 3 is not a server");
        AddLine(
            "a contributor that is merged with others",
            [](OwnSchedule& s) { s.rounds[1][0].contributors = {1}; },
            "round 1, workload 0 (reduce of chunk 0 along 1-0): the contribution of server 1 is "
            "merged with others and cannot be taken out");
        AddLine(
            "a broadcast with contributors",
            [](OwnSchedule& s) { s.rounds[2][0].contributors = {0}; },
            "round 2, workload 0 (broadcast of chunk 0 along 0-1): a broadcast names contributors");
    }

    void AddBroadcastCorruptions()
    {
        AddLine(
            "a broadcast before the sum is final",
            [](OwnSchedule& s) { std::swap(s.rounds[1], s.rounds[2]); },
            "round 1, workload 0 (broadcast of chunk 0 along 0-1): broadcast before the sum is "
            "final");
        AddStar(
            "a broadcast in the round in which the sum becomes final",
            [](OwnSchedule& s) {
                s.rounds[1] = {s.rounds[1][0], s.rounds[2][0]};
            },
            "round 1, workload 1 (broadcast of chunk 0 along 0-3-1): broadcast before the sum is "
            "final");
        AddLine(
            "a broadcast by a server that does not have the sum",
            [](OwnSchedule& s) { std::swap(s.rounds[2], s.rounds[3]); },
            "round 2, workload 0 (broadcast of chunk 0 along 1-2): server 1 has not received the "
            "sum");
        AddLine(
            "a server left without the sum",
            [](OwnSchedule& s) { s.rounds.pop_back(); },
            "at the end: server 2 is left without the sum of chunk 0");
        AddLine(
            "the sum sent twice",
            [](OwnSchedule& s) { s.rounds.push_back(s.rounds[3]); },
            "round 4, workload 0 (broadcast of chunk 0 along 1-2): server 2 is sent the sum a "
            "second time");
        AddLine(
            "the sum sent to where it was made",
            [](OwnSchedule& s) {
                s.rounds.push_back({{0, BROADCAST, {1, 0}, {}}});
            },
            "round 4, workload 0 (broadcast of chunk 0 along 1-0): server 0 is sent the sum a "
            "second time");
    }
};

ScheduleVerifierTestSuite g_scheduleVerifierTestSuite; //!< registers the suite

} // namespace
