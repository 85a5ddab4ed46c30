/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "msccl-interpreter.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-state.h"
#include "ns3/msccl-file.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Enough message buffers that no send ever waits.
constexpr uint32_t UNLIMITED = UINT32_MAX;

std::string
ExportMsccl(const Topology& topology, const AllReduceSchedule& schedule)
{
    std::ostringstream out;
    WriteMsccl(topology, schedule, out);
    return out.str();
}

AllReduceSchedule
Import(const std::string& xml, const Topology& topology)
{
    std::istringstream in(xml);
    return ReadMsccl(in, topology, "test.xml").schedule;
}

/// @return why reader or verifier refuse a file; "" if they do not
std::string
FindImportFault(const std::string& xml, const Topology& topology)
{
    Verdict verdict;
    const std::string error = GetError([&] { verdict = Verify(topology, Import(xml, topology)); });
    return error.empty() ? verdict.reason : error;
}

/// A step of a file that is written by hand.
struct TextStep
{
    std::string type;          //!< for example "rrc"
    std::string slot;          //!< "i3" or "s0", both where it reads and where it writes
    std::string target;        //!< where it writes, if elsewhere
    int dependsOnBlock{-1};    //!< what it waits for
    int dependsOnStep{-1};     //!< what it waits for
    bool hasDependents{false}; //!< others wait for it
};

/// Writes a file by hand, threadblock by threadblock.
class TextProgram
{
  public:
    TextProgram(uint32_t nGpus, uint32_t nChunks, uint32_t nScratch = 0)
        : m_nChunks(nChunks),
          m_nScratch(nScratch),
          m_blocks(nGpus)
    {
    }

    void Add(uint32_t gpu, int send, int receive, const std::vector<TextStep>& steps)
    {
        std::ostringstream out;
        out << "<tb id=\"" << m_blocks[gpu].size() << "\" send=\"" << send << "\" recv=\""
            << receive << "\" chan=\"0\">\n";
        for (std::size_t i = 0; i < steps.size(); ++i)
        {
            const TextStep& step = steps[i];
            const std::string& target = step.target.empty() ? step.slot : step.target;
            out << "<step s=\"" << i << "\" type=\"" << step.type << "\" srcbuf=\"" << step.slot[0]
                << "\" srcoff=\"" << step.slot.substr(1) << "\" dstbuf=\"" << target[0]
                << "\" dstoff=\"" << target.substr(1) << "\" cnt=\"1\" depid=\""
                << step.dependsOnBlock << "\" deps=\"" << step.dependsOnStep << "\" hasdep=\""
                << step.hasDependents << "\"/>\n";
        }
        out << "</tb>\n";
        m_blocks[gpu].push_back(out.str());
    }

    std::string Get() const
    {
        std::ostringstream out;
        out << "<algo name=\"by hand\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\""
            << m_nChunks << "\" ngpus=\"" << m_blocks.size()
            << "\" coll=\"allreduce\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\""
            << " maxBytes=\"0\">\n";
        for (std::size_t gpu = 0; gpu < m_blocks.size(); ++gpu)
        {
            out << "<gpu id=\"" << gpu << "\" i_chunks=\"" << m_nChunks << "\" o_chunks=\"0\""
                << " s_chunks=\"" << m_nScratch << "\">\n";
            for (const std::string& block : m_blocks[gpu])
            {
                out << block;
            }
            out << "</gpu>\n";
        }
        out << "</algo>\n";
        return out.str();
    }

  private:
    uint32_t m_nChunks;                             //!< chunks of the gradient
    uint32_t m_nScratch;                            //!< scratch slots of every GPU
    std::vector<std::vector<std::string>> m_blocks; //!< by GPU
};

/// A ring as MSCCL's users write it: one threadblock, which receives and sends on in one step.
std::string
MakeFusedRing(uint32_t n)
{
    TextProgram program(n, n);
    for (uint32_t gpu = 0; gpu < n; ++gpu)
    {
        const auto chunk = [&](uint32_t back) {
            return "i" + std::to_string((gpu + 2 * n - back) % n);
        };
        std::vector<TextStep> steps{{"s", chunk(0), ""}};
        for (uint32_t back = 1; back < n; ++back)
        {
            steps.push_back({"rrcs", chunk(back), ""});
        }
        for (uint32_t back = n; back + 2 < 2 * n; ++back)
        {
            steps.push_back({"rcs", chunk(back), ""});
        }
        steps.push_back({"r", chunk(2 * n - 2), ""});
        program.Add(gpu, (gpu + 1) % n, (gpu + n - 1) % n, steps);
    }
    return program.Get();
}

/// Three GPUs send each other everything through scratch buffers.
std::string
MakeAllPairs()
{
    TextProgram program(3, 3, 2);
    for (uint32_t gpu = 0; gpu < 3; ++gpu)
    {
        const std::string own = "i" + std::to_string(gpu);
        for (const uint32_t distance : {1, 2})
        {
            const uint32_t peer = (gpu + distance) % 3;
            const std::string theirs = "i" + std::to_string(peer);
            const std::string scratch = "s" + std::to_string(distance - 1);
            // tb 0 and 1 exchange with the two peers; tb 2 adds what arrived in the scratch buffer.
            program.Add(gpu,
                        peer,
                        peer,
                        {{"s", theirs, "", -1, -1, false},
                         {"r", scratch, "", -1, -1, true},
                         {"s", own, "", 2, 2, false},
                         {"r", theirs, "", -1, -1, false}});
        }
        program.Add(gpu,
                    -1,
                    -1,
                    {{"re", "s0", own, 0, 1, false},
                     {"nop", own, "", 1, 1, false},
                     {"re", "s1", own, 0, 1, true}});
    }
    return program.Get();
}

/// Schedules of every scheduler survive the way to a file and back, and the files run.
class RoundTripTestCase : public TestCase
{
  public:
    RoundTripTestCase()
        : TestCase("Schedules of all schedulers as MSCCL programs")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (const char* spec : {"torus:4",
                                 "torus:3x3",
                                 "bcube:2,1",
                                 "bcube:3,1",
                                 "dcell:3,1",
                                 "jellyfish:4,3,2",
                                 "fattree:2"})
        {
            const Topology topology = ParseTopology(spec);
            for (const char* name : {"ps",
                                     "ps-merge",
                                     "ring",
                                     "ring-aware",
                                     "multi-ring",
                                     "hierarchical",
                                     "halving-doubling",
                                     "double-tree",
                                     "greedy"})
            {
                Check(topology, name, 1, random);
                if (topology.GetNServers() <= 8)
                {
                    Check(topology, name, 2, random);
                }
            }
        }
    }

    void Check(const Topology& topology, const std::string& name, uint32_t m, TestRandom& random)
    {
        const std::string what = topology.GetName() + " " + name + " m=" + std::to_string(m);
        const AllReduceState state(topology, MakeRoots(topology.GetNServers(), m));
        const AllReduceSchedule schedule = Plan(*CreateScheduler(name), state);
        const std::string xml = ExportMsccl(topology, schedule);
        for (const uint32_t nBuffers : {1U, UNLIMITED})
        {
            NS_TEST_ASSERT_MSG_EQ(RunMscclFile(xml, nBuffers, random), "", what);
        }
        CheckRead(Import(xml, topology), topology, schedule, what);
        NS_TEST_ASSERT_MSG_EQ((SortRounds(Import(xml, topology)) == SortRounds(schedule)),
                              true,
                              what);
        // Files of others do not name rounds.
        const AllReduceSchedule unnamed = Import(RemoveRounds(xml), topology);
        CheckRead(unnamed, topology, schedule, what);
        NS_TEST_ASSERT_MSG_LT_OR_EQ(unnamed.rounds.size(), 1.5 * schedule.rounds.size() + 2, what);
        CheckRead(Import(ShuffleRounds(xml, random), topology), topology, schedule, what);
    }

    void CheckRead(const AllReduceSchedule& read,
                   const Topology& topology,
                   const AllReduceSchedule& schedule,
                   const std::string& what)
    {
        const Verdict verdict = Verify(topology, read);
        NS_TEST_ASSERT_MSG_EQ(verdict.reason, "", what);
        NS_TEST_ASSERT_MSG_EQ((read.collective.roots == schedule.collective.roots), true, what);
        NS_TEST_ASSERT_MSG_EQ(read.CountWorkloads(), schedule.CountWorkloads(), what);
        NS_TEST_ASSERT_MSG_EQ(ExecuteWithNumbers(topology, OwnSchedule(read)), "", what);
    }

    /// @return by round: chunk, kind and path of its workloads, in an order that is always the same
    static std::vector<std::set<std::tuple<ChunkId, WorkloadKind, Path>>> SortRounds(
        const AllReduceSchedule& schedule)
    {
        std::vector<std::set<std::tuple<ChunkId, WorkloadKind, Path>>> rounds;
        for (const OwnRound& round : OwnSchedule(schedule).rounds)
        {
            rounds.emplace_back();
            for (const OwnWorkload& workload : round)
            {
                rounds.back().emplace(workload.chunk, workload.kind, workload.path);
            }
        }
        return rounds;
    }

    static std::string RemoveRounds(const std::string& xml)
    {
        return std::regex_replace(xml, std::regex(" (round|via)=\"[0-9-]*\""), "");
    }

    /// @return the file with rounds that cannot be
    static std::string ShuffleRounds(const std::string& xml, TestRandom& random)
    {
        std::string shuffled = xml;
        const std::string key = "round=\"";
        for (auto i = shuffled.find(key); i != std::string::npos; i = shuffled.find(key, i + 1))
        {
            shuffled[i + key.size()] = static_cast<char>('0' + Draw(random, 10));
        }
        return shuffled;
    }
};

/// Schedules in which anything legal happens: partial sums that go round in circles, swaps, parts
/// kept apart, several workloads between the same servers in a round.
class MscclRandomScheduleTestCase : public TestCase
{
  public:
    MscclRandomScheduleTestCase()
        : TestCase("Random schedules as MSCCL programs")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(2);
        uint32_t nApart = 0;
        for (uint32_t i = 0; i < 200; ++i)
        {
            const Topology topology = MakeRandomNetwork(random, {5, 3, 3});
            const bool hasParts = i % 2 == 1;
            const AllReduceSchedule schedule = MakeRandomSchedule(topology, hasParts, random);
            NS_TEST_ASSERT_MSG_EQ(Verify(topology, schedule).reason, "", "random schedule");
            const std::string xml = ExportMsccl(topology, schedule);
            nApart += Contains(xml, "dstbuf=\"s\"");
            NS_TEST_ASSERT_MSG_EQ(RunMscclFile(xml, 1, random), "", xml);
            NS_TEST_ASSERT_MSG_EQ(RunMscclFile(xml, UNLIMITED, random), "", xml);
            NS_TEST_ASSERT_MSG_EQ(FindImportFault(xml, topology), "", i << xml);
            NS_TEST_ASSERT_MSG_LT_OR_EQ(Import(xml, topology).rounds.size(),
                                        schedule.rounds.size(),
                                        i << xml);
        }
        NS_TEST_ASSERT_MSG_GT(nApart, 10, "scratch buffers were hardly used");
    }
};

/// Files that this module did not write.
class HandWrittenTestCase : public TestCase
{
  public:
    HandWrittenTestCase()
        : TestCase("MSCCL programs written by hand")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(3);
        const Topology ring = ParseTopology("torus:4");
        // A step that receives and sends needs a free buffer while its message is in one.
        NS_TEST_ASSERT_MSG_EQ(RunMscclFile(MakeFusedRing(4), 1, random), "deadlock", "ring");
        NS_TEST_ASSERT_MSG_EQ(RunMscclFile(MakeFusedRing(4), 2, random), "", "ring");
        NS_TEST_ASSERT_MSG_EQ(FindImportFault(MakeFusedRing(4), ring), "", "ring");
        const AllReduceSchedule schedule = Import(MakeFusedRing(4), ring);
        NS_TEST_ASSERT_MSG_EQ(schedule.rounds.size(), 6, "2 (N - 1)");
        NS_TEST_ASSERT_MSG_EQ(schedule.CountWorkloads(), 24, "2 (N - 1) N");
        const std::vector<NodeId> roots{3, 0, 1, 2};
        NS_TEST_ASSERT_MSG_EQ((schedule.collective.roots == roots),
                              true,
                              "where sums are complete first");
        // Around one switch each server has one link out and one in, which is all a ring needs.
        NS_TEST_ASSERT_MSG_EQ(Import(MakeFusedRing(4), MakeTestStar(4)).rounds.size(), 6, "star");
        // Servers in a row share no switch with all: 3 -> 0 is not possible in one workload.
        NS_TEST_ASSERT_MSG_EQ(
            Contains(FindImportFault(MakeFusedRing(4), MakeTestLine(4)), "no path of switches"),
            true,
            "line");

        const Topology star = MakeTestStar(3, 2);
        NS_TEST_ASSERT_MSG_EQ(RunMscclFile(MakeAllPairs(), 1, random), "", "all pairs");
        NS_TEST_ASSERT_MSG_EQ(FindImportFault(MakeAllPairs(), star), "", "all pairs");
        NS_TEST_ASSERT_MSG_EQ(Import(MakeAllPairs(), star).rounds.size(), 2, "all pairs");
        NS_TEST_ASSERT_MSG_EQ(Import(MakeAllPairs(), MakeTestStar(3)).rounds.size(),
                              4,
                              "all pairs");
    }
};

/// What is wrong with a file is said in a line that names the place.
class MalformedTestCase : public TestCase
{
  public:
    MalformedTestCase()
        : TestCase("MSCCL files that are refused")
    {
    }

  private:
    void DoRun() override
    {
        CheckRing("<algo ", "<algo <", "test.xml:1:");
        CheckRing("algo", "algorithm", "tag mismatch");
        Check("<algorithm/>", ParseTopology("torus:4"), "no element <algo>");
        CheckRing("coll=\"allreduce\"", "coll=\"allgather\"", "expected \"allreduce\"");
        CheckRing("coll=\"allreduce\"", "", "no attribute \"coll\"");
        CheckRing("ngpus=\"4\"", "ngpus=\"5\"", "there are 4 of them");
        CheckRing("nchunksperloop=\"4\"", "nchunksperloop=\"x\"", "nchunksperloop=\"x\"");
        CheckRing("nchunksperloop=\"4\"", "nchunksperloop=\"99999\"", "from 1 to 32768");
        CheckRing("<gpu id=\"1\"", "<gpu id=\"0\"", "gpu 0 is there twice");
        CheckRing("<gpu id=\"1\"", "<gpu id=\"7\"", "id=\"7\", expected a number from 0 to 3");
        CheckRing("<tb id=\"0\"", "<tb id=\"1\"", "a tb: id=\"1\"");
        CheckRing("send=\"1\"", "send=\"9\"", "gpu 0, tb 0: send=\"9\"");
        CheckRing("send=\"1\"", "send=\"0\"", "which is the gpu itself");
        CheckRing("send=\"1\"", "send=\"-1\"", "no peer to send to");
        CheckRing("recv=\"3\"", "recv=\"-1\"", "no peer to receive from");
        CheckRing("send=\"1\"", "send=\"2\"", "what it receives is never sent");
        CheckRing("type=\"r\"", "type=\"cpy\"", "what it sends is never received");
        CheckRing("type=\"r\"", "type=\"nop\"", "a nop that waits for nothing");
        CheckRing("<step s=\"0\"", "<step s=\"1\"", "step 0: s=\"1\", expected \"0\"");
        CheckRing("<step ", "<op ", "expected");
        CheckRing("type=\"s\"", "type=\"x\"", "gpu 0, tb 0, step 0: type=\"x\", expected s, r,");
        CheckRing("srcbuf=\"i\"", "srcbuf=\"q\"", "srcbuf=\"q\", expected i, o or s");
        CheckRing("srcbuf=\"i\"", "srcbuf=\"s\"", "1 chunks of buffer s, which has 0");
        CheckRing("srcoff=\"0\"", "srcoff=\"4\"", "srcoff=\"4\", expected a number from 0 to 3");
        CheckRing("cnt=\"1\"", "cnt=\"0\"", "cnt=\"0\"");
        CheckRing("srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"1\"",
                  "srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"2\"",
                  "sends 2");
        CheckRing("depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"0\"", "which is not there");
        CheckRing("depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"-1\"", "without deps");
        CheckRing("depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"5\"", "hasdep=\"0\"");
        CheckRing("hasdep=\"0\"", "hasdep=\"2\"", "hasdep=\"2\"");
        CheckRing("hasdep=\"0\"", "hasdep=\"0\" round=\"-1\"", "round=\"-1\", expected a number");
        CheckRing("hasdep=\"0\"", "hasdep=\"0\" via=\"3-\"", "via=\"3-\", expected numbers");
        CheckRing("type=\"rrcs\"", "type=\"rcs\"", "that nobody else has");
        CheckRing("type=\"rcs\"",
                  "type=\"rrcs\"",
                  "gpu 0, tb 0, step 4: uses a partial sum of chunk 0");
        CheckRing("type=\"r\"", "type=\"rrc\"", "that was sent or added before");
        CheckRing("type=\"s\" srcbuf=\"i\" srcoff=\"0\"",
                  "type=\"s\" srcbuf=\"i\" srcoff=\"1\"",
                  "adds chunk 1 to chunk 0");
        Check(MakeFusedRing(3), ParseTopology("torus:4"), "3 gpus, but torus:4 has 4 servers");
        CheckPairs("depid=\"1\" deps=\"1\" hasdep=\"0\"",
                   "depid=\"1\" deps=\"1\" hasdep=\"1\"",
                   "a nop with hasdep");
        CheckPairs("depid=\"0\" deps=\"1\" hasdep=\"1\"",
                   "depid=\"-1\" deps=\"-1\" hasdep=\"1\"",
                   "a nop without a next step");
        CheckPairs("depid=\"1\" deps=\"1\"", "depid=\"0\" deps=\"1\"", "there is nothing in s[1]");
        CheckRing("hasdep=\"0\"", "hasdep=\"&#10;\"", "hasdep=\"?\", expected a number");
        CheckDeadlocks();
        CheckUnsound();
        CheckExport();
    }

    void CheckRing(const std::string& from, const std::string& to, const std::string& part)
    {
        CheckChange(MakeFusedRing(4), ParseTopology("torus:4"), from, to, part);
    }

    void CheckPairs(const std::string& from, const std::string& to, const std::string& part)
    {
        CheckChange(MakeAllPairs(), MakeTestStar(3), from, to, part);
    }

    /// Replace the first match in a file.
    void CheckChange(std::string xml,
                     const Topology& topology,
                     const std::string& from,
                     const std::string& to,
                     const std::string& part)
    {
        const std::size_t at = xml.find(from);
        NS_TEST_ASSERT_MSG_NE(at, std::string::npos, from);
        xml.replace(at, from.size(), to);
        Check(xml, topology, part);
    }

    void Check(const std::string& xml, const Topology& topology, const std::string& part)
    {
        const std::string message = GetError([&] { Import(xml, topology); });
        NS_TEST_ASSERT_MSG_EQ(Contains(message, part), true, part << ": " << message);
        NS_TEST_ASSERT_MSG_EQ(message.find("MSCCL file test.xml"), 0, message);
        NS_TEST_ASSERT_MSG_EQ(Contains(message, "\n"), false, message);
    }

    void CheckDeadlocks()
    {
        const Topology pair = MakeTestStar(2);
        TextProgram both(2, 1);
        both.Add(0, 1, 1, {{"rrc", "i0", ""}, {"s", "i0", ""}});
        both.Add(1, 0, 0, {{"rrc", "i0", ""}, {"s", "i0", ""}});
        Check(both.Get(),
              pair,
              "gpu 0, tb 0, step 0: deadlock: waits for what gpu 1, tb 0, step 1");
        TextProgram self(2, 1);
        self.Add(0, 1, 1, {{"s", "i0", "", 0, 1, false}, {"r", "i0", "", -1, -1, true}});
        self.Add(1, 0, 0, {{"rrc", "i0", ""}, {"s", "i0", ""}});
        Check(self.Get(), pair, "deadlock: waits for gpu 0, tb 0, step 1");
    }

    void CheckUnsound()
    {
        const Topology pair = MakeTestStar(2);
        TextProgram unfinished(2, 1);
        unfinished.Add(0, 1, -1, {{"s", "i0", ""}});
        unfinished.Add(1, -1, 0, {{"rrc", "i0", ""}});
        Check(unfinished.Get(), pair, "gpu 0 ends without the sum of chunk 0");
        // Both add what the other has: right, but no flow-tree.
        TextProgram doubling(2, 1);
        doubling.Add(0, 1, 1, {{"s", "i0", ""}, {"rrc", "i0", ""}});
        doubling.Add(1, 0, 0, {{"s", "i0", ""}, {"rrc", "i0", ""}});
        Check(doubling.Get(), pair, "expected each to go one way only");
        TextProgram twice(2, 1);
        twice.Add(0, 1, 1, {{"rrc", "i0", ""}, {"s", "i0", ""}, {"rrc", "i0", ""}});
        twice.Add(1, 0, 0, {{"s", "i0", ""}, {"r", "i0", ""}, {"s", "i0", ""}});
        Check(twice.Get(), pair, "adds to the sum of chunk 0, which is complete");
        Check(MakeFanIn(true), MakeTestStar(3), "for i[0]: nothing says which of them comes first");
        NS_TEST_ASSERT_MSG_EQ(FindImportFault(MakeFanIn(false), MakeTestStar(3)), "", "fan-in");
    }

    /// GPU 0 adds what two others send, in threadblocks that may or may not wait for each other.
    static std::string MakeFanIn(bool isRacing)
    {
        const int block = isRacing ? -1 : 0;
        TextProgram program(3, 1);
        program.Add(0, 1, 1, {{"rrc", "i0", "", -1, -1, true}, {"s", "i0", "", 1, 0, false}});
        program.Add(0, 2, 2, {{"rrc", "i0", "", block, block, true}, {"s", "i0", ""}});
        program.Add(1, 0, 0, {{"s", "i0", ""}, {"r", "i0", ""}});
        program.Add(2, 0, 0, {{"s", "i0", ""}, {"r", "i0", ""}});
        return program.Get();
    }

    void CheckExport()
    {
        const Topology topology = ParseTopology("torus:4");
        AllReduceSchedule schedule = Import(MakeFusedRing(4), topology);
        schedule.rounds.pop_back();
        const std::string message = GetError([&] { ExportMsccl(topology, schedule); });
        NS_TEST_ASSERT_MSG_EQ(Contains(message, "not correct: "), true, message);
    }
};

/// No corrupted file passes that gives a wrong sum or hangs.
class MscclCorruptionTestCase : public TestCase
{
  public:
    MscclCorruptionTestCase()
        : TestCase("Corrupted MSCCL programs")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(4);
        const Topology ring = ParseTopology("torus:4");
        const Topology bcube = ParseTopology("bcube:2,1");
        const AllReduceState state(bcube, MakeRoots(4, 1));
        CheckFile(MakeFusedRing(4), ring, random);
        CheckFile(MakeAllPairs(), MakeTestStar(3), random);
        for (const char* name : {"greedy", "halving-doubling", "double-tree", "ps"})
        {
            CheckFile(ExportMsccl(bcube, Plan(*CreateScheduler(name), state)), bcube, random);
        }
        NS_TEST_ASSERT_MSG_GT(m_nBad, 500, "corruptions that matter");
        NS_TEST_ASSERT_MSG_GT(m_nPassed, 10, "corruptions that do not");
    }

    /// Something in a file that can be changed.
    struct Spot
    {
        std::size_t at;                  //!< where it begins
        std::size_t length;              //!< and how long it is
        std::vector<std::string> values; //!< what can be there instead
    };

    void CheckFile(const std::string& xml, const Topology& topology, TestRandom& random)
    {
        const auto kinds = FindSpots(xml);
        for (uint32_t i = 0; i < 300; ++i)
        {
            const auto& spots = kinds[Draw(random, kinds.size())];
            const Spot& spot = spots[Draw(random, spots.size())];
            std::string corrupted = xml;
            corrupted.replace(spot.at, spot.length, spot.values[Draw(random, spot.values.size())]);
            if (corrupted == xml)
            {
                continue;
            }
            if (!FindImportFault(corrupted, topology).empty())
            {
                ++m_nBad;
                continue;
            }
            ++m_nPassed;
            for (uint32_t run = 0; run < 5; ++run)
            {
                const std::string fault = RunMscclFile(corrupted, UNLIMITED, random);
                NS_TEST_ASSERT_MSG_EQ(fault, "", corrupted);
            }
        }
    }

    /// @return by kind of change: where it can be made
    static std::vector<std::vector<Spot>> FindSpots(const std::string& xml)
    {
        const std::vector<std::pair<std::string, std::vector<std::string>>> changes = {
            {" type=\"", {"r", "rrc", "rcs", "rrs", "nop"}},
            {" srcoff=\"", {"0", "1", "2"}},
            {" dstoff=\"", {"0", "1", "2"}},
            {" depid=\"", {"-1", "0", "1"}},
            {" deps=\"", {"0", "1"}},
            {" dstbuf=\"", {"i", "s"}},
            {" send=\"", {"0", "1"}},
            {" hasdep=\"", {"0", "1"}},
        };
        std::vector<std::vector<Spot>> kinds;
        for (const auto& [attribute, values] : changes)
        {
            std::vector<Spot> spots;
            std::size_t at = xml.find(attribute);
            while (at != std::string::npos)
            {
                at += attribute.size();
                spots.push_back({at, xml.find('"', at) - at, values});
                at = xml.find(attribute, at);
            }
            kinds.push_back(std::move(spots));
        }
        return kinds;
    }

    uint32_t m_nBad{0};    //!< corruptions that were refused
    uint32_t m_nPassed{0}; //!< corruptions that were not
};

/// @ingroup allreduce-tests
class MscclFileTestSuite : public TestSuite
{
  public:
    MscclFileTestSuite()
        : TestSuite("allreduce-msccl", TestSuite::Type::UNIT)
    {
        AddTestCase(new RoundTripTestCase, EXTENSIVE);
        AddTestCase(new MscclRandomScheduleTestCase);
        AddTestCase(new HandWrittenTestCase);
        AddTestCase(new MalformedTestCase);
        AddTestCase(new MscclCorruptionTestCase, EXTENSIVE);
    }
};

MscclFileTestSuite g_mscclFileTestSuite; //!< registers the suite

} // namespace
