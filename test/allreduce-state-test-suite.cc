/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-state.h"
#include "ns3/schedule-verifier.h"
#include "ns3/test.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

constexpr WorkloadKind REDUCE = WorkloadKind::REDUCE;
constexpr WorkloadKind BROADCAST = WorkloadKind::BROADCAST;

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
        const Topology line = MakeLine(3);
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
        const Topology line = MakeLine(3);
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
        const Topology line = MakeLine(4);
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
        const Topology star = MakeStar(3);
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
        const Topology line = MakeLine(3);
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
        const Topology line = MakeLine(2);
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
        const Topology star = MakeStar(3, 2);
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
        const Topology line = MakeLine(3);
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
        const Topology line = MakeLine(3);
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
        const Topology line = MakeLine(2);
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
        const Topology star = MakeStar(4);
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
        const Topology star = MakeStar(3);
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

/// Keeps the same books as AllReduceState with sets of contributors.
class SetModel
{
  public:
    SetModel(const Topology& topology, std::vector<NodeId> roots)
        : m_topology(topology),
          m_roots(std::move(roots)),
          m_held(m_roots.size(), std::vector<Held>(topology.GetNServers())),
          m_finals(m_roots.size()),
          m_expected(m_roots.size())
    {
        for (auto& servers : m_held)
        {
            for (NodeId server = 0; server < servers.size(); ++server)
            {
                servers[server].own = {server};
            }
        }
    }

    bool IsLegal(const OwnWorkload& workload) const
    {
        return HasRoom(workload.path) && HasData(workload);
    }

    uint32_t Start(const OwnWorkload& workload)
    {
        Flight flight;
        flight.workload = workload;
        for (std::size_t i = 0; i + 1 < workload.path.size(); ++i)
        {
            ++m_load[{workload.path[i], workload.path[i + 1]}];
        }
        if (workload.kind == BROADCAST)
        {
            m_expected[workload.chunk].insert(workload.path.back());
        }
        else
        {
            Take(m_held[workload.chunk][workload.path.front()], workload, flight);
        }
        m_flights[m_nextFlight] = flight;
        return m_nextFlight++;
    }

    void Finish(uint32_t id)
    {
        const Flight flight = End(id);
        const OwnWorkload& workload = flight.workload;
        const NodeId target = workload.path.back();
        if (workload.kind == BROADCAST)
        {
            m_finals[workload.chunk].insert(target);
            return;
        }
        std::set<NodeId> sum = flight.own;
        for (const auto& unit : flight.apart)
        {
            sum.insert(unit.begin(), unit.end());
        }
        Held& held = m_held[workload.chunk][target];
        const bool isMerged = workload.contributors.empty() || target == m_roots[workload.chunk];
        if (isMerged)
        {
            held.own.insert(sum.begin(), sum.end());
            held.hasName = false;
        }
        else
        {
            held.apart.insert(sum);
        }
        if (target == m_roots[workload.chunk] && held.own.size() == m_topology.GetNServers())
        {
            m_finals[workload.chunk] = {target};
            m_expected[workload.chunk] = {target};
            held.own.clear();
        }
    }

    void Abort(uint32_t id)
    {
        const Flight flight = End(id);
        const OwnWorkload& workload = flight.workload;
        if (workload.kind == BROADCAST)
        {
            m_expected[workload.chunk].erase(workload.path.back());
            return;
        }
        Held& held = m_held[workload.chunk][workload.path.front()];
        if (!flight.own.empty())
        {
            held.hasName = held.own.empty() && flight.hasName;
        }
        held.own.insert(flight.own.begin(), flight.own.end());
        held.apart.insert(flight.apart.begin(), flight.apart.end());
    }

    void SetLinkUp(LinkId link, bool up)
    {
        const Link& ends = m_topology.GetLink(link);
        for (const auto& pair : {std::pair(ends.a, ends.b), std::pair(ends.b, ends.a)})
        {
            up ? m_down.erase(pair) : m_down.insert(pair).second;
        }
    }

    /// @return where the state differs from this, or ""
    std::string Compare(const AllReduceState& state) const
    {
        std::ostringstream difference;
        uint64_t nMissing = 0;
        for (ChunkId chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
            {
                const Held& held = m_held[chunk][server];
                const bool isPartial = !held.own.empty() || !held.apart.empty();
                const bool isFinal = m_finals[chunk].count(server);
                const bool isSame = state.GetPartials().Test(server, chunk) == isPartial &&
                                    state.GetFinals().Test(server, chunk) == isFinal &&
                                    state.GetExpected().Test(server, chunk) ==
                                        (m_expected[chunk].count(server) > 0);
                difference << (isSame ? "" : "a server's data ");
                nMissing += !isFinal;
            }
            const bool isSame = state.IsFinal(chunk) == !m_finals[chunk].empty();
            difference << (isSame ? "" : "finality ");
        }
        difference << (state.GetNMissing() == nMissing ? "" : "missing ")
                   << (state.IsDone() == (nMissing == 0) ? "" : "done ");
        for (DirectedLinkId link = 0; link < m_topology.GetNDirectedLinks(); ++link)
        {
            const uint32_t room = GetRoom(m_topology.GetSource(link), m_topology.GetTarget(link));
            difference << (state.GetFreeCapacity(link) == room ? "" : "free capacity ");
        }
        return difference.str();
    }

    bool HasFlights() const
    {
        return !m_flights.empty();
    }

    /// @return the flight of a model and its number
    uint32_t DrawFlight(TestRandom& random) const
    {
        return std::next(m_flights.begin(), Draw(random, m_flights.size()))->first;
    }

    /// @return the sum of what is held and in flight is each contribution exactly once
    bool IsEachOnce(ChunkId chunk) const
    {
        if (!m_finals[chunk].empty())
        {
            return true;
        }
        std::multiset<NodeId> all;
        auto add = [&](const std::set<NodeId>& own, const std::multiset<std::set<NodeId>>& apart) {
            all.insert(own.begin(), own.end());
            for (const auto& unit : apart)
            {
                all.insert(unit.begin(), unit.end());
            }
        };
        for (const Held& held : m_held[chunk])
        {
            add(held.own, held.apart);
        }
        for (const auto& [id, flight] : m_flights)
        {
            if (flight.workload.chunk == chunk)
            {
                add(flight.own, flight.apart);
            }
        }
        return all.size() == m_topology.GetNServers() &&
               std::set<NodeId>(all.begin(), all.end()).size() == all.size();
    }

  private:
    /// What a server holds of a chunk.
    struct Held
    {
        std::set<NodeId> own;                  //!< the sum that merges with what comes
        bool hasName{true};                    //!< nothing came by a plain reduce
        std::multiset<std::set<NodeId>> apart; //!< sums that came by name
    };

    /// A workload that has begun, and what it took.
    struct Flight
    {
        OwnWorkload workload;                  //!< the workload
        std::set<NodeId> own;                  //!< of the sender's own sum
        bool hasName{true};                    //!< see Held
        std::multiset<std::set<NodeId>> apart; //!< of those apart
    };

    static void Take(Held& held, const OwnWorkload& workload, Flight& flight)
    {
        const std::set<NodeId> names(workload.contributors.begin(), workload.contributors.end());
        auto isTaken = [&](const std::set<NodeId>& sum) {
            return names.empty() ||
                   std::includes(names.begin(), names.end(), sum.begin(), sum.end());
        };
        if (isTaken(held.own) && (names.empty() || held.hasName))
        {
            flight.own.swap(held.own);
            flight.hasName = held.hasName;
        }
        for (auto unit = held.apart.begin(); unit != held.apart.end();)
        {
            if (isTaken(*unit))
            {
                flight.apart.insert(*unit);
                unit = held.apart.erase(unit);
            }
            else
            {
                ++unit;
            }
        }
    }

    Flight End(uint32_t id)
    {
        const Flight flight = m_flights.at(id);
        m_flights.erase(id);
        const Path& path = flight.workload.path;
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            --m_load[{path[i], path[i + 1]}];
        }
        return flight;
    }

    uint32_t GetRoom(NodeId from, NodeId to) const
    {
        const auto load = m_load.find({from, to});
        const uint32_t used = load == m_load.end() ? 0 : load->second;
        const uint32_t capacity = m_topology.GetCapacity(*m_topology.FindDirectedLink(from, to));
        return m_down.count({from, to}) ? 0 : capacity - used;
    }

    bool HasRoom(const Path& path) const
    {
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            if (GetRoom(path[i], path[i + 1]) == 0)
            {
                return false;
            }
        }
        return true;
    }

    bool HasData(const OwnWorkload& workload) const
    {
        const NodeId source = workload.path.front();
        const auto& finals = m_finals[workload.chunk];
        if (workload.kind == BROADCAST)
        {
            return workload.contributors.empty() && finals.count(source) > 0 &&
                   m_expected[workload.chunk].count(workload.path.back()) == 0;
        }
        if (!finals.empty() || source == m_roots[workload.chunk])
        {
            return false;
        }
        Held held = m_held[workload.chunk][source];
        Flight flight;
        Take(held, workload, flight);
        std::size_t nTaken = flight.own.size();
        for (const auto& unit : flight.apart)
        {
            nTaken += unit.size();
        }
        const auto& names = workload.contributors;
        if (names.empty())
        {
            return nTaken > 0;
        }
        return nTaken == names.size();
    }

    const Topology& m_topology;                           //!< the network
    std::vector<NodeId> m_roots;                          //!< by chunk
    std::vector<std::vector<Held>> m_held;                //!< [chunk][server]
    std::vector<std::set<NodeId>> m_finals;               //!< by chunk: who has the sum
    std::vector<std::set<NodeId>> m_expected;             //!< by chunk: or soon will
    std::map<std::pair<NodeId, NodeId>, uint32_t> m_load; //!< by two nodes: workloads between
    std::set<std::pair<NodeId, NodeId>> m_down;           //!< links that are down
    std::map<uint32_t, Flight> m_flights;                 //!< by number
    uint32_t m_nextFlight{0};                             //!< the next one's number
};

/// Draws workloads that may or may not be legal.
class WorkloadDraw
{
  public:
    WorkloadDraw(const Topology& topology, uint32_t nChunks, TestRandom& random)
        : m_paths(FindAllPaths(topology)),
          m_nServers(topology.GetNServers()),
          m_nChunks(nChunks),
          m_random(random)
    {
    }

    OwnWorkload operator()()
    {
        OwnWorkload workload;
        workload.chunk = Draw(m_random, m_nChunks);
        workload.kind = Draw(m_random, 2) ? REDUCE : BROADCAST;
        workload.path = m_paths[Draw(m_random, m_paths.size())];
        if (workload.kind == REDUCE && Draw(m_random, 3) == 0)
        {
            workload.contributors = {workload.path.front()};
        }
        else if (workload.kind == REDUCE && Draw(m_random, 2) == 0)
        {
            for (NodeId server = 0; server < m_nServers; ++server)
            {
                if (Draw(m_random, 3) == 0)
                {
                    workload.contributors.push_back(server);
                }
            }
            std::shuffle(workload.contributors.begin(), workload.contributors.end(), m_random);
        }
        return workload;
    }

  private:
    std::vector<Path> m_paths; //!< all paths there are
    uint32_t m_nServers;       //!< number of servers
    uint32_t m_nChunks;        //!< number of chunks
    TestRandom& m_random;      //!< where chance comes from
};

/// @return random roots for a few chunks
std::vector<NodeId>
DrawRoots(TestRandom& random, const Topology& topology)
{
    std::vector<NodeId> roots(1 + Draw(random, 4));
    for (NodeId& root : roots)
    {
        root = Draw(random, topology.GetNServers());
    }
    return roots;
}

/// @brief Workloads begin, end and abort, links go down and up, all at random.
class RandomWalkTestCase : public TestCase
{
  public:
    RandomWalkTestCase()
        : TestCase("random walks: the state agrees with a model of sets after every step")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (uint32_t i = 0; i < 1000; ++i)
        {
            Walk(random, i);
        }
        NS_TEST_EXPECT_MSG_GT(m_nLegal, 10000, "many workloads were legal");
        NS_TEST_EXPECT_MSG_GT(m_nIllegal, 10000, "many were not");
        NS_TEST_EXPECT_MSG_GT(m_nNamed, 1000, "many named contributors");
        NS_TEST_EXPECT_MSG_GT(m_nDone, 30, "some walks came to the end");
    }

    void Walk(TestRandom& random, uint32_t number)
    {
        const Topology topology = MakeRandomNetwork(random, {5, 3, 3});
        const std::vector<NodeId> roots = DrawRoots(random, topology);
        AllReduceState state(topology, roots);
        SetModel model(topology, roots);
        WorkloadDraw draw(topology, roots.size(), random);
        std::map<uint32_t, AllReduceState::FlightId> ids;
        for (uint32_t step = 0; step < 600 && !state.IsDone(); ++step)
        {
            const uint32_t dice = Draw(random, 20);
            if (dice == 0)
            {
                const LinkId link = Draw(random, topology.GetNLinks());
                const bool up = Draw(random, 3) > 0;
                state.SetLinkUp(link, up);
                model.SetLinkUp(link, up);
            }
            else if (dice < 6 && model.HasFlights())
            {
                const uint32_t flight = model.DrawFlight(random);
                const bool isAborted = dice == 1;
                isAborted ? state.Abort(ids[flight]) : state.Finish(ids[flight]);
                isAborted ? model.Abort(flight) : model.Finish(flight);
            }
            else
            {
                Try(draw(), state, model, ids);
            }
            Check(state, model, number, step);
        }
        m_nDone += state.IsDone();
    }

    void Try(const OwnWorkload& workload,
             AllReduceState& state,
             SetModel& model,
             std::map<uint32_t, AllReduceState::FlightId>& ids)
    {
        const bool isLegal = model.IsLegal(workload);
        NS_TEST_EXPECT_MSG_EQ(state.IsLegal(workload.Get()),
                              isLegal,
                              Describe(workload.Get()) << ": " << state.FindFault(workload.Get()));
        NS_TEST_EXPECT_MSG_EQ(state.FindFault(workload.Get()).empty(), isLegal, "so is the fault");
        if (isLegal && state.IsLegal(workload.Get()))
        {
            const AllReduceState::FlightId id = state.Start(workload.Get());
            ids[model.Start(workload)] = id;
            ++m_nLegal;
            m_nNamed += !workload.contributors.empty();
        }
        else
        {
            ++m_nIllegal;
        }
    }

    void Check(const AllReduceState& state, const SetModel& model, uint32_t number, uint32_t step)
    {
        NS_TEST_EXPECT_MSG_EQ(model.Compare(state), "", "walk " << number << ", step " << step);
        for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
        {
            NS_TEST_EXPECT_MSG_EQ(model.IsEachOnce(chunk), true, "the model itself is sound");
        }
    }

    uint32_t m_nLegal{0};   //!< legal workloads drawn
    uint32_t m_nIllegal{0}; //!< others
    uint32_t m_nNamed{0};   //!< legal ones that name contributors
    uint32_t m_nDone{0};    //!< walks that came to the end
};

/// @brief Random rounds until all is done make a schedule that the verifier accepts.
class RandomScheduleTestCase : public TestCase
{
  public:
    RandomScheduleTestCase()
        : TestCase("random legal rounds that end make a schedule that verifier and numbers accept")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(2);
        uint32_t nDone = 0;
        for (uint32_t i = 0; i < 400; ++i)
        {
            nDone += RunOne(random);
        }
        NS_TEST_EXPECT_MSG_GT(nDone, 250, "most random schedules come to an end");
    }

    bool RunOne(TestRandom& random)
    {
        const Topology topology = MakeRandomNetwork(random, {5, 3, 3});
        AllReduceState state(topology, DrawRoots(random, topology));
        WorkloadDraw draw(topology, state.GetNChunks(), random);
        OwnSchedule schedule;
        schedule.roots = state.GetRoots();
        for (uint32_t round = 0; round < 400 && !state.IsDone(); ++round)
        {
            schedule.rounds.emplace_back();
            for (uint32_t i = 0; i < 20; ++i)
            {
                const OwnWorkload workload = draw();
                if (state.IsLegal(workload.Get()))
                {
                    state.Start(workload.Get());
                    schedule.rounds.back().push_back(workload);
                }
            }
            state.EndRound();
        }
        const Verdict verdict = Verify(topology, schedule.Get());
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, state.IsDone(), verdict.reason);
        NS_TEST_EXPECT_MSG_EQ((ExecuteWithNumbers(topology, schedule).empty()),
                              state.IsDone(),
                              "numbers agree");
        if (!state.IsDone())
        {
            NS_TEST_EXPECT_MSG_EQ(Contains(verdict.reason, "at the end: "),
                                  true,
                                  "no legal workload breaks a rule: " << verdict.reason);
        }
        return state.IsDone();
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
        AddTestCase(new RandomWalkTestCase);
        AddTestCase(new RandomScheduleTestCase);
    }
};

AllReduceStateTestSuite g_allReduceStateTestSuite; //!< registers the suite

} // namespace
