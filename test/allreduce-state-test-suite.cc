/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-state.h"
#include "ns3/test.h"

#include <map>
#include <set>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// A state and the little that a test needs to say about it.
class Fixture
{
  public:
    Fixture(const Topology& topology, std::vector<NodeId> roots)
        : state(topology, std::move(roots))
    {
    }

    explicit Fixture(AllReduceState start)
        : state(std::move(start))
    {
    }

    /// Begin a workload and let it arrive.
    void Do(const OwnWorkload& workload)
    {
        state.Finish(state.Start(workload.Get()));
    }

    /// @return why a workload may not begin
    std::string Fault(const OwnWorkload& workload) const
    {
        return state.FindFault(workload.Get());
    }

    /// @return whether a server holds partial sums of a chunk
    bool HasPartial(NodeId server, ChunkId chunk = 0) const
    {
        return state.GetPartials().Test(server, chunk);
    }

    /// @return whether a server holds the final sum of a chunk
    bool HasFinal(NodeId server, ChunkId chunk = 0) const
    {
        return state.GetFinals().Test(server, chunk);
    }

    AllReduceState state; //!< the state
};

/// @brief A reduce moves what the sender holds; the sum is final when the root has all.
class ReduceTestCase : public TestCase
{
  public:
    ReduceTestCase()
        : TestCase("a reduce moves and merges, all contributions at the root make the sum final")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(3);
        Fixture f(line, {0});
        NS_TEST_EXPECT_MSG_EQ(f.state.GetNMissing(), 3, "nobody has the sum at the beginning");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFresh(), true, "nothing has happened");
        f.Do({0, REDUCE, {2, 1}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFresh(), false, "something has happened");
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(2), false, "the sender has nothing left");
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(1), true, "the receiver has the sum of both");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), false, "the root has only its own");
        f.Do({0, REDUCE, {1, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(1), false, "both went on together");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "the root has all three");
        NS_TEST_EXPECT_MSG_EQ(f.HasFinal(0), true, "the root has the final sum");
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(0), false, "a final sum is not partial");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetNMissing(), 2, "two servers lack the sum");
    }
};

/// @brief Relaying back and forth does not lose or double anything.
class DetourTestCase : public TestCase
{
  public:
    DetourTestCase()
        : TestCase("a server that has sent its contribution can relay others'")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(3);
        Fixture f(line, {0});
        f.Do({0, REDUCE, {1, 2}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(1), false, "sent away from the root");
        f.Do({0, REDUCE, {2, 1}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(1), true, "and back, with the other one's");
        f.Do({0, REDUCE, {1, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "nothing was lost");
    }
};

/// @brief Named contributions stay apart until a plain reduce or the root.
class ContributorsTestCase : public TestCase
{
  public:
    ContributorsTestCase()
        : TestCase("named contributions stay apart until a plain reduce or the root merges them")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(4);
        const std::string notApart =
            "the sender does not hold the named contributions apart from others";
        Fixture f(line, {0});
        f.Do({0, REDUCE, {3, 2}, {3}});
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(3), false, "sent");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 1}, {3}}), "", "can go on by itself");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 1}, {2}}), "", "so can the relay's own");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 1}, {3, 2}}), "", "or both, in any order");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 1}, {1}}), notApart, "not held");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 1}, {3, 3}}), notApart, "named twice");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 1}, {9}}), notApart, "no such server");
        f.Do({0, REDUCE, {2, 1}, {3, 2}});
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(2), false, "both are gone");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {3}}),
                              notApart,
                              "what was named together is merged");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {2, 3}}), "", "together they can go");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {1}}), "", "the relay's own is apart");
        f.Do({0, REDUCE, {1, 2}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 1}, {2, 3}}),
                              notApart,
                              "a plain reduce merges all that the sender holds");
        f.Do({0, REDUCE, {2, 1}, {}});
        f.Do({0, REDUCE, {1, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "nothing was lost");
    }
};

/// @brief The root sums named contributions as they come.
class NamedToRootTestCase : public TestCase
{
  public:
    NamedToRootTestCase()
        : TestCase("named contributions are merged at the root; a server's own is merged by what "
                   "comes")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeTestStar(3);
        Fixture f(star, {0});
        f.Do({0, REDUCE, {1, 3, 0}, {1}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), false, "one is still out");
        f.Do({0, REDUCE, {2, 3, 0}, {2}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "all came");

        Fixture g(star, {0});
        g.Do({0, REDUCE, {1, 3, 2}, {}});
        NS_TEST_EXPECT_MSG_EQ(g.Fault({0, REDUCE, {2, 3, 0}, {2}}),
                              "the sender does not hold the named contributions apart from others",
                              "merged with the other's");
        NS_TEST_EXPECT_MSG_EQ(g.Fault({0, REDUCE, {2, 3, 0}, {1, 2}}),
                              "the sender does not hold the named contributions apart from others",
                              "a merged sum goes by a plain reduce");
    }
};

/// @brief Broadcasts copy the final sum.
class BroadcastTestCase : public TestCase
{
  public:
    BroadcastTestCase()
        : TestCase("broadcasts copy the final sum until every server has it")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(3);
        Fixture f(line, {1});
        f.Do({0, REDUCE, {0, 1}, {}});
        f.Do({0, REDUCE, {2, 1}, {}});
        const auto flight = f.state.Start(OwnWorkload{0, BROADCAST, {1, 0}, {}}.Get());
        NS_TEST_EXPECT_MSG_EQ(f.HasFinal(0), false, "not there yet");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetExpected().Test(0, 0), true, "but on its way");
        NS_TEST_EXPECT_MSG_EQ(f.HasFinal(1), true, "a copy does not take it from the sender");
        f.state.Finish(flight);
        NS_TEST_EXPECT_MSG_EQ(f.HasFinal(0), true, "arrived");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsDone(), false, "one lacks it");
        f.Do({0, BROADCAST, {1, 2}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsDone(), true, "all have it");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetNMissing(), 0, "nothing is missing");
    }
};

/// @brief Chunks do not wait for each other.
class OverlapTestCase : public TestCase
{
  public:
    OverlapTestCase()
        : TestCase("reduce and broadcast of different chunks can be in flight at once")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(2);
        Fixture f(line, {0, 1});
        f.Do({0, REDUCE, {1, 0}, {}});
        f.state.Start(OwnWorkload{0, BROADCAST, {0, 1}, {}}.Get());
        NS_TEST_EXPECT_MSG_EQ(f.Fault({1, REDUCE, {0, 1}, {}}),
                              "the path uses a link that is full",
                              "one direction carries one");
        f.state.EndRound();
        NS_TEST_EXPECT_MSG_EQ(f.state.GetRound(), 1, "a round has ended");
        f.state.Start(OwnWorkload{1, REDUCE, {0, 1}, {}}.Get());
        f.state.EndRound();
        f.state.Start(OwnWorkload{1, BROADCAST, {1, 0}, {}}.Get());
        f.state.EndRound();
        NS_TEST_EXPECT_MSG_EQ(f.state.IsDone(), true, "done");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetRound(), 3, "after three rounds");
    }
};

/// @brief What is in flight is nowhere, and fills its links.
class FlightTestCase : public TestCase
{
  public:
    FlightTestCase()
        : TestCase("a flight fills its links and its data is with neither end")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeTestStar(3, 2);
        Fixture f(star, {0, 0});
        const auto out = *star.FindDirectedLink(1, 3);
        const auto in = *star.FindDirectedLink(3, 0);
        const auto first = f.state.Start(OwnWorkload{0, REDUCE, {1, 3, 0}, {}}.Get());
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(1), false, "left the sender");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetCapacity(out), 2, "capacity is what the link has");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(out), 1, "one of two is taken");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(in), 1, "on every link of the path");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(Reverse(out)), 2, "not the way back");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 3, 2}, {}}),
                              "the sender holds no contribution",
                              "what is in flight cannot be sent again");
        const auto second = f.state.Start(OwnWorkload{1, REDUCE, {1, 3, 0}, {}}.Get());
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 3, 0}, {}}),
                              "the path uses a link that is full",
                              "two fill a link of capacity two");
        f.state.Finish(second);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(out), 1, "given back, whatever the order");
        f.state.Finish(first);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(in), 2, "all given back");
        f.Do({0, REDUCE, {2, 3, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "chunk 0 is final");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(1), false, "chunk 1 lacks server 2's");
    }
};

/// @brief What arrives while the sender's data is in flight is not taken along.
class SameRoundTestCase : public TestCase
{
  public:
    SameRoundTestCase()
        : TestCase("what arrives in a round cannot be sent in it")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(3);
        Fixture f(line, {0});
        f.state.Start(OwnWorkload{0, REDUCE, {2, 1}, {}}.Get());
        f.state.Start(OwnWorkload{0, REDUCE, {1, 0}, {}}.Get());
        f.state.EndRound();
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), false, "server 2's is at server 1");
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(1), true, "there it is");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {2}}),
                              "the sender does not hold the named contributions apart from others",
                              "what came by a plain reduce has no name");
        f.Do({0, REDUCE, {1, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "now all is there");
    }
};

/// @brief An aborted flight never happened.
class AbortTestCase : public TestCase
{
  public:
    AbortTestCase()
        : TestCase("an aborted flight gives everything back")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(3);
        TestPlain(line);
        TestNamed(line);
        TestMergesWithWhatCame(line);
        TestBroadcast(line);
    }

    void TestPlain(const Topology& line)
    {
        Fixture f(line, {0});
        f.state.Abort(f.state.Start(OwnWorkload{0, REDUCE, {1, 0}, {}}.Get()));
        NS_TEST_EXPECT_MSG_EQ(f.HasPartial(1), true, "the sender has it again");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFresh(), true, "as if nothing had happened");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {1}}), "", "its own is still apart");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(*line.FindDirectedLink(1, 0)), 1, "free");

        f.Do({0, REDUCE, {2, 1}, {2}});
        f.state.Abort(f.state.Start(OwnWorkload{0, REDUCE, {1, 0}, {}}.Get()));
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {2}}), "", "what was apart still is");
        f.Do({0, REDUCE, {1, 0}, {2}});
        f.Do({0, REDUCE, {1, 0}, {1}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "nothing was lost");
    }

    void TestNamed(const Topology& line)
    {
        Fixture f(line, {0});
        f.state.Abort(f.state.Start(OwnWorkload{0, REDUCE, {1, 0}, {1}}.Get()));
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {1}}), "", "can be sent again");
        f.Do({0, REDUCE, {2, 1}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {1}}),
                              "the sender does not hold the named contributions apart from others",
                              "a plain reduce merges with what was given back");
        f.Do({0, REDUCE, {1, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "nothing was lost");
    }

    void TestMergesWithWhatCame(const Topology& line)
    {
        Fixture f(line, {0});
        const auto flight = f.state.Start(OwnWorkload{0, REDUCE, {1, 0}, {}}.Get());
        f.Do({0, REDUCE, {2, 1}, {}});
        f.state.Abort(flight);
        f.Do({0, REDUCE, {1, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "both went on as one");
    }

    void TestBroadcast(const Topology& line)
    {
        Fixture f(AllReduceState::MakeReduced(line, {1}));
        f.state.Abort(f.state.Start(OwnWorkload{0, BROADCAST, {1, 0}, {}}.Get()));
        NS_TEST_EXPECT_MSG_EQ(f.state.GetExpected().Test(0, 0), false, "not expected any more");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, BROADCAST, {1, 0}, {}}), "", "can be sent again");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetNMissing(), 2, "nobody got it");
    }
};

/// @brief Links that are down carry nothing.
class LinkDownTestCase : public TestCase
{
  public:
    LinkDownTestCase()
        : TestCase("a link that is down carries nothing, one that is up again does")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(2);
        Fixture f(line, {0});
        f.state.SetLinkUp(0, false);
        NS_TEST_EXPECT_MSG_EQ(f.state.IsLinkUp(0), false, "down");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFresh(), false, "not the beginning that was planned for");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetCapacity(0), 0, "no capacity");
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(1), 0, "in neither direction");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {}}),
                              "the path uses a link that is down",
                              "refused");
        f.state.SetLinkUp(0, true);
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFresh(), true, "as before");
        const auto flight = f.state.Start(OwnWorkload{0, REDUCE, {1, 0}, {}}.Get());
        f.state.SetLinkUp(0, false);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(1), 0, "down with a workload in flight");
        f.state.SetLinkUp(0, true);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFreeCapacity(1), 0, "the flight still fills it");
        f.state.Finish(flight);
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(0), true, "it arrived");
    }
};

/// @brief Every fault has its own message.
class FaultTestCase : public TestCase
{
  public:
    FaultTestCase()
        : TestCase("every fault is named, and Start refuses with workload and fault")
    {
    }

  private:
    void DoRun() override
    {
        // Servers 0 1 2, switches 3 4; 0-1 have a link of their own.
        std::vector<Link> links(6);
        const std::pair<NodeId, NodeId> ends[] = {{0, 3}, {1, 3}, {3, 4}, {2, 4}, {0, 1}, {1, 4}};
        for (std::size_t i = 0; i < links.size(); ++i)
        {
            links[i].a = ends[i].first;
            links[i].b = ends[i].second;
        }
        const Topology topology("faults", 3, 2, links);
        Fixture f(topology, {0, 0});
        TestPaths(f);
        TestData(f);
        NS_TEST_EXPECT_MSG_EQ(
            GetError([&] {
                f.state.Start(OwnWorkload{1, REDUCE, {0, 3, 1}, {}}.Get());
            }),
            "reduce of chunk 1 along 0-3-1: the sender is the chunk's root, which collects",
            "Start names the workload");
        NS_TEST_EXPECT_MSG_EQ(GetError([&] { AllReduceState(topology, {}); }),
                              "no chunks, expected 1 or more",
                              "no chunks");
        NS_TEST_EXPECT_MSG_EQ(GetError([&] { AllReduceState(topology, {3}); }),
                              "chunk root 3 is not a server of faults",
                              "a switch as root");
    }

    void TestPaths(Fixture& f)
    {
        const std::map<Path, std::string> faults = {
            {{}, "a path has two nodes or more"},
            {{1}, "a path has two nodes or more"},
            {{1, 9}, "the path has a node that is not in the network"},
            {{1, 3}, "a path begins and ends at a server"},
            {{3, 0}, "a path begins and ends at a server"},
            {{1, 3, 1}, "sender and receiver are the same"},
            {{2, 4, 1, 0}, "the path passes a server, expected only switches"},
            {{2, 0}, "the path uses a link that is not in the network"},
            {{2, 3, 0}, "the path uses a link that is not in the network"},
            {{1, 3, 4, 3, 0}, "the path visits a node twice"},
        };
        for (const auto& [path, fault] : faults)
        {
            NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, path, {}}), fault, FormatPath(path));
        }
    }

    void TestData(Fixture& f)
    {
        NS_TEST_EXPECT_MSG_EQ(f.Fault({2, REDUCE, {1, 0}, {}}), "there are only 2 chunks", "");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {0, 1}, {}}),
                              "the sender is the chunk's root, which collects",
                              "");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, BROADCAST, {1, 0}, {}}),
                              "the sender does not hold the final sum",
                              "");
        f.Do({0, REDUCE, {1, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {1, 0}, {}}),
                              "the sender holds no contribution",
                              "");
        f.Do({0, REDUCE, {2, 4, 3, 0}, {}});
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, REDUCE, {2, 4, 1}, {}}),
                              "the chunk is final already",
                              "");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, BROADCAST, {0, 1}, {0}}),
                              "a broadcast names contributors",
                              "");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, BROADCAST, {1, 4, 2}, {}}),
                              "the sender does not hold the final sum",
                              "");
        const auto flight = f.state.Start(OwnWorkload{0, BROADCAST, {0, 1}, {}}.Get());
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, BROADCAST, {0, 3, 1}, {}}),
                              "the receiver has the final sum or is about to",
                              "in flight");
        f.state.Finish(flight);
        NS_TEST_EXPECT_MSG_EQ(f.Fault({0, BROADCAST, {0, 3, 1}, {}}),
                              "the receiver has the final sum or is about to",
                              "arrived");
    }
};

/// @brief The fingerprint depends on what ended and which links are down, not on the order.
class FingerprintTestCase : public TestCase
{
  public:
    FingerprintTestCase()
        : TestCase("the fingerprint is the same for the same past in any order")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeTestStar(4);
        const OwnWorkload first{0, REDUCE, {1, 4, 0}, {}};
        const OwnWorkload second{1, REDUCE, {2, 4, 0}, {}};
        Fixture f(star, {0, 0});
        Fixture g(star, {0, 0});
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFingerprint(), 0, "nothing has happened");
        f.Do(first);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFingerprint(),
                              AllReduceState::GetFingerprint(first.Get()),
                              "what ended adds its own number");
        f.state.SetLinkUp(3, false);
        f.Do(second);
        g.state.SetLinkUp(3, false);
        g.Do(second);
        NS_TEST_EXPECT_MSG_NE(f.state.GetFingerprint(), g.state.GetFingerprint(), "one is missing");
        g.Do(first);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFingerprint(), g.state.GetFingerprint(), "other order");
        g.state.SetLinkUp(3, true);
        NS_TEST_EXPECT_MSG_NE(f.state.GetFingerprint(), g.state.GetFingerprint(), "other links");
        f.state.SetLinkUp(3, true);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFingerprint(), g.state.GetFingerprint(), "mended");
        Fixture h(star, {0, 0});
        h.Do(second);
        h.Do(first);
        NS_TEST_EXPECT_MSG_EQ(f.state.GetFingerprint(),
                              h.state.GetFingerprint(),
                              "a link that was down for a while leaves no trace");
        TestDistinct();
    }

    void TestDistinct()
    {
        std::set<uint64_t> numbers;
        const std::vector<OwnWorkload> workloads = {
            {0, REDUCE, {1, 4, 0}, {}},
            {0, REDUCE, {0, 4, 1}, {}},
            {0, BROADCAST, {1, 4, 0}, {}},
            {1, REDUCE, {1, 4, 0}, {}},
            {0, REDUCE, {2, 4, 0}, {}},
            {0, REDUCE, {1, 4, 0}, {1}},
            {0, REDUCE, {1, 4, 0}, {2}},
        };
        for (const OwnWorkload& workload : workloads)
        {
            numbers.insert(AllReduceState::GetFingerprint(workload.Get()));
        }
        NS_TEST_EXPECT_MSG_EQ(numbers.size(), workloads.size(), "different workloads differ");
    }
};

/// @brief The state after all reduces.
class MakeReducedTestCase : public TestCase
{
  public:
    MakeReducedTestCase()
        : TestCase("MakeReduced has every sum at its root and nothing else")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeTestStar(3);
        const Fixture f(AllReduceState::MakeReduced(star, {0, 2, 2}));
        for (ChunkId chunk = 0; chunk < 3; ++chunk)
        {
            NS_TEST_EXPECT_MSG_EQ(f.state.IsFinal(chunk), true, "final");
            for (NodeId server = 0; server < 3; ++server)
            {
                const bool isRoot = f.state.GetRoots()[chunk] == server;
                NS_TEST_EXPECT_MSG_EQ(f.HasFinal(server, chunk), isRoot, "root has it");
                NS_TEST_EXPECT_MSG_EQ(f.HasPartial(server, chunk), false, "no partial sum is left");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(f.state.GetNMissing(), 6, "three chunks, two servers lack each");
        NS_TEST_EXPECT_MSG_EQ(f.state.IsFresh(), false, "not the beginning");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({1, REDUCE, {0, 3, 1}, {}}),
                              "the chunk is final already",
                              "nothing to reduce");
        NS_TEST_EXPECT_MSG_EQ(f.Fault({1, BROADCAST, {2, 3, 1}, {}}), "", "broadcasts can begin");
    }
};

/// @brief A network of one server has nothing to do; roots as usual.
class SmallestTestCase : public TestCase
{
  public:
    SmallestTestCase()
        : TestCase("one server is done at once; MakeRoots gives each server its chunks")
    {
    }

  private:
    void DoRun() override
    {
        const Topology one("one", 1, 0, {});
        const AllReduceState state(one, {0, 0});
        NS_TEST_EXPECT_MSG_EQ(state.IsDone(), true, "its own contribution is the sum");
        const std::vector<NodeId> roots = {0, 0, 1, 1, 2, 2};
        NS_TEST_EXPECT_MSG_EQ((MakeRoots(3, 2) == roots), true, "chunk c has root c / m");
        NS_TEST_EXPECT_MSG_EQ(Describe(OwnWorkload{3, REDUCE, {5, 17, 1}, {}}.Get()),
                              "reduce of chunk 3 along 5-17-1",
                              "for messages");
    }
};

/// @brief Rules of an AllReduce in progress.
class AllReduceStateTestSuite : public TestSuite
{
  public:
    AllReduceStateTestSuite()
        : TestSuite("allreduce-state", TestSuite::Type::UNIT)
    {
        AddTestCase(new ReduceTestCase);
        AddTestCase(new DetourTestCase);
        AddTestCase(new ContributorsTestCase);
        AddTestCase(new NamedToRootTestCase);
        AddTestCase(new BroadcastTestCase);
        AddTestCase(new OverlapTestCase);
        AddTestCase(new FlightTestCase);
        AddTestCase(new SameRoundTestCase);
        AddTestCase(new AbortTestCase);
        AddTestCase(new LinkDownTestCase);
        AddTestCase(new FaultTestCase);
        AddTestCase(new FingerprintTestCase);
        AddTestCase(new MakeReducedTestCase);
        AddTestCase(new SmallestTestCase);
    }
};

AllReduceStateTestSuite g_allReduceStateTestSuite; //!< registers the suite

} // namespace
