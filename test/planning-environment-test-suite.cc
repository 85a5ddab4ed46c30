/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "policy-test-utils.h"

#include "ns3/allreduce-state.h"
#include "ns3/hrl-planner.h"
#include "ns3/planning-environment.h"
#include "ns3/reduce-trees.h"
#include "ns3/server-graph.h"
#include "ns3/test.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What is left to reduce, looked up anew whenever somebody asks.
class NaiveTrees
{
  public:
    explicit NaiveTrees(const PlanningProblem& problem)
        : m_problem(problem),
          m_nServers(problem.topology->GetNServers())
    {
    }

    bool IsInTree(NodeId server, ChunkId chunk) const
    {
        return m_problem.isOpen[chunk] && server != m_problem.roots[chunk] &&
               m_problem.parents[chunk][server] != NO_SERVER;
    }

    bool IsPending(NodeId server, ChunkId chunk) const
    {
        return IsInTree(server, chunk) && m_sent.count({server, chunk}) == 0;
    }

    bool IsReady(NodeId server, ChunkId chunk) const
    {
        return IsPending(server, chunk) && CountAwaited(server, chunk) == 0;
    }

    uint32_t CountAwaited(NodeId server, ChunkId chunk) const
    {
        return Count([&](NodeId other) {
            return IsInTree(other, chunk) && m_problem.parents[chunk][other] == server &&
                   m_arrived.count({other, chunk}) == 0;
        });
    }

    uint32_t CountLeft(ChunkId chunk) const
    {
        return Count([&](NodeId server) {
            return IsInTree(server, chunk) && m_arrived.count({server, chunk}) == 0;
        });
    }

    bool HasMerged(NodeId server, ChunkId chunk) const
    {
        return m_merged.count({server, chunk}) > 0;
    }

    uint32_t GetDepth(NodeId server, ChunkId chunk) const
    {
        return server == m_problem.roots[chunk]
                   ? 0
                   : 1 + GetDepth(m_problem.parents[chunk][server], chunk);
    }

    uint32_t GetHeight(ChunkId chunk) const
    {
        uint32_t height = 0;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            height = IsPending(server, chunk) ? std::max(height, GetDepth(server, chunk)) : height;
        }
        return height;
    }

    void Send(NodeId server, ChunkId chunk)
    {
        m_sent.insert({server, chunk});
    }

    void Arrive(NodeId server, ChunkId chunk)
    {
        m_arrived.insert({server, chunk});
        m_merged.insert({m_problem.parents[chunk][server], chunk});
    }

    void Leave(NodeId server, ChunkId chunk)
    {
        m_sent.insert({server, chunk});
        m_arrived.insert({server, chunk});
    }

  private:
    uint32_t Count(const std::function<bool(NodeId)>& isCounted) const
    {
        uint32_t count = 0;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            count += isCounted(server);
        }
        return count;
    }

    using Sum = std::pair<NodeId, ChunkId>; //!< whose, and of which chunk

    const PlanningProblem& m_problem; //!< says where partial sums go
    const uint32_t m_nServers;        //!< number of servers
    std::set<Sum> m_sent;             //!< or left
    std::set<Sum> m_arrived;          //!< or left
    std::set<Sum> m_merged;           //!< by receiver
};

/// @brief The trees, kept up to date, against those that are looked up anew.
class ReduceTreesTestCase : public TestCase
{
  public:
    ReduceTreesTestCase()
        : TestCase("what is left of trees is what a new look would find")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (uint32_t i = 0; i < 200; ++i)
        {
            const Topology star = MakeTestStar(2 + Draw(random, 9));
            const PlanningProblem problem = DrawTrees(star, random);
            Reduce(problem, random);
        }
    }

    /// @return random trees of random servers; some chunks are final, some have a root alone
    PlanningProblem DrawTrees(const Topology& topology, TestRandom& random)
    {
        const uint32_t nServers = topology.GetNServers();
        PlanningProblem problem;
        problem.topology = &topology;
        problem.capacity.assign(topology.GetNDirectedLinks(), 1);
        for (uint32_t chunk = 0; chunk < 1 + Draw(random, 70); ++chunk)
        {
            std::vector<NodeId> inside{Draw(random, nServers)};
            std::vector<NodeId> parents(nServers, NO_SERVER);
            parents[inside[0]] = inside[0];
            for (uint32_t tries = Draw(random, 2 * nServers); tries > 0; --tries)
            {
                const NodeId server = Draw(random, nServers);
                if (parents[server] == NO_SERVER)
                {
                    parents[server] = inside[Draw(random, inside.size())];
                    inside.push_back(server);
                }
            }
            problem.roots.push_back(inside[0]);
            problem.parents.push_back(parents);
            problem.isOpen.push_back(Draw(random, 4) > 0);
            problem.partners.push_back(NO_CHUNK);
        }
        return problem;
    }

    /// Send, let arrive and leave, in any order, until nothing is left.
    void Reduce(const PlanningProblem& problem, TestRandom& random)
    {
        ReduceTrees trees(problem);
        NaiveTrees naive(problem);
        std::vector<std::pair<NodeId, ChunkId>> underWay;
        while (true)
        {
            Compare(problem, trees, naive);
            const auto ready = FindReady(problem, trees);
            if (!underWay.empty() && (ready.empty() || Draw(random, 2)))
            {
                std::swap(underWay[Draw(random, underWay.size())], underWay.back());
                const auto [server, chunk] = underWay.back();
                underWay.pop_back();
                naive.Arrive(server, chunk);
                CheckCompletes(trees.Arrive(server, chunk), naive.CountLeft(chunk));
            }
            else if (ready.empty())
            {
                return;
            }
            else if (const auto [server, chunk] = ready[Draw(random, ready.size())];
                     !trees.HasMerged(server, chunk) && Draw(random, 4) == 0)
            {
                naive.Leave(server, chunk);
                CheckCompletes(trees.Leave(server, chunk), naive.CountLeft(chunk));
            }
            else
            {
                naive.Send(server, chunk);
                trees.Send(server, chunk);
                underWay.emplace_back(server, chunk);
            }
        }
    }

    void CheckCompletes(bool isComplete, uint32_t nLeft)
    {
        NS_TEST_ASSERT_MSG_EQ(isComplete, (nLeft == 0), "whether this completes the sum");
    }

    std::vector<std::pair<NodeId, ChunkId>> FindReady(const PlanningProblem& problem,
                                                      const ReduceTrees& trees) const
    {
        std::vector<std::pair<NodeId, ChunkId>> found;
        const uint32_t nServers = problem.topology->GetNServers();
        for (NodeId sender = 0; sender < nServers; ++sender)
        {
            for (NodeId receiver = 0; receiver < nServers; ++receiver)
            {
                for (const ChunkId chunk : trees.GetReady(sender, receiver))
                {
                    found.emplace_back(sender, chunk);
                }
            }
        }
        return found;
    }

    void Compare(const PlanningProblem& problem, const ReduceTrees& trees, const NaiveTrees& naive)
    {
        for (NodeId server = 0; server < problem.topology->GetNServers(); ++server)
        {
            CompareServer(problem, trees, naive, server);
        }
        for (ChunkId chunk = 0; chunk < problem.GetNChunks(); ++chunk)
        {
            NS_TEST_ASSERT_MSG_EQ(trees.CountLeft(chunk), naive.CountLeft(chunk), "left");
            NS_TEST_ASSERT_MSG_EQ(trees.GetHeight(chunk), naive.GetHeight(chunk), "height");
        }
    }

    void CompareServer(const PlanningProblem& problem,
                       const ReduceTrees& trees,
                       const NaiveTrees& naive,
                       NodeId server)
    {
        uint32_t nPending = 0;
        for (ChunkId chunk = 0; chunk < problem.GetNChunks(); ++chunk)
        {
            const bool isPending = naive.IsPending(server, chunk);
            nPending += isPending;
            NS_TEST_ASSERT_MSG_EQ(trees.IsPending(server, chunk), isPending, "pending");
            NS_TEST_ASSERT_MSG_EQ(trees.CountAwaited(server, chunk),
                                  naive.CountAwaited(server, chunk),
                                  "awaited");
            NS_TEST_ASSERT_MSG_EQ(trees.HasMerged(server, chunk),
                                  naive.HasMerged(server, chunk),
                                  "merged");
            if (naive.IsInTree(server, chunk))
            {
                const NodeId parent = problem.parents[chunk][server];
                const auto& ready = trees.GetReady(server, parent);
                NS_TEST_ASSERT_MSG_EQ(std::count(ready.begin(), ready.end(), chunk),
                                      naive.IsReady(server, chunk),
                                      "ready, once");
                NS_TEST_ASSERT_MSG_EQ(trees.GetDepth(server, chunk),
                                      naive.GetDepth(server, chunk),
                                      "depth");
            }
        }
        NS_TEST_ASSERT_MSG_EQ(trees.CountPending(server), nPending, "pending in all");
    }
};

/// @brief What an outline and a state leave to be planned.
class RestProblemTestCase : public TestCase
{
  public:
    RestProblemTestCase()
        : TestCase("a rest has every partial sum on a tree to the root, over links that are up")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(2);
        for (const Topology& topology : MakeFamiliesAndRandom(random, 150))
        {
            const AllReduceState state = DrawState(topology, random);
            const PlanningProblem rest = MakeRest(state, random());
            const Topology up = MakeNetworkThatIsUp(state);
            const ServerGraph graph(up);
            for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
            {
                NS_TEST_ASSERT_MSG_EQ(rest.isOpen[chunk], !state.IsFinal(chunk), "open");
                NS_TEST_ASSERT_MSG_EQ(rest.partners[chunk], NO_CHUNK, "no mirror image");
                if (rest.isOpen[chunk])
                {
                    CheckTree(state, rest, graph, chunk);
                }
                else
                {
                    CheckHolders(state, rest, chunk);
                }
            }
            for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
            {
                NS_TEST_ASSERT_MSG_EQ(rest.capacity[link], state.GetCapacity(link), "capacity");
            }
        }
        CheckCutOff();
    }

    void CheckTree(const AllReduceState& state,
                   const PlanningProblem& rest,
                   const ServerGraph& graph,
                   ChunkId chunk)
    {
        const std::vector<NodeId>& parents = rest.parents[chunk];
        const std::set<NodeId> receivers(parents.begin(), parents.end());
        for (NodeId server = 0; server < parents.size(); ++server)
        {
            const bool isNeeded = state.GetPartials().Test(server, chunk) ||
                                  server == rest.roots[chunk] || receivers.count(server) > 0;
            NS_TEST_ASSERT_MSG_EQ((parents[server] != NO_SERVER),
                                  isNeeded,
                                  "who has a partial sum is on it, and who relays one");
            for (NodeId at = server; parents[at] != NO_SERVER && at != rest.roots[chunk];)
            {
                const std::vector<NodeId>& neighbors = graph.GetNeighbors(at);
                NS_TEST_ASSERT_MSG_EQ(std::count(neighbors.begin(), neighbors.end(), parents[at]),
                                      1,
                                      "a path of switches leads from a server to its parent");
                at = parents[at];
            }
        }
    }

    void CheckHolders(const AllReduceState& state, const PlanningProblem& rest, ChunkId chunk)
    {
        for (NodeId server = 0; server < rest.parents[chunk].size(); ++server)
        {
            NS_TEST_ASSERT_MSG_EQ((rest.parents[chunk][server] != NO_SERVER),
                                  state.GetFinals().Test(server, chunk),
                                  "holders of a final sum");
        }
    }

    /// Servers that no link joins with the others any more.
    void CheckCutOff()
    {
        const Topology line = MakeTestLine(4);
        AllReduceState state(line, {1});
        state.SetLinkUp(*line.FindDirectedLink(2, 3) / 2, false);
        const PolicyWeights weights = PolicyWeights::MakeInitial(1);
        NS_TEST_EXPECT_MSG_EQ(GetError([&] { PlanRemainderByPolicies(state, weights, {}); }),
                              "chunk 0 cannot reach server 3 over the links of line that are up",
                              "a partial sum");
        AllReduceState reduced(line, {0});
        for (const NodeId sender : {3, 2, 1})
        {
            reduced.Start(OwnWorkload{0, REDUCE, {sender, sender - 1}, {}}.Get());
            reduced.EndRound();
        }
        reduced.SetLinkUp(*line.FindDirectedLink(2, 3) / 2, false);
        NS_TEST_EXPECT_MSG_EQ(GetError([&] { PlanRemainderByPolicies(reduced, weights, {}); }),
                              "chunk 0 cannot reach server 3 over the links of line that are up",
                              "a final sum");
    }
};

/// @brief Every choice on offer, and every one that should be.
class ChoicesTestCase : public TestCase
{
  public:
    ChoicesTestCase()
        : TestCase(
              "all that is offered in a rest is legal, and a port is closed only if it must be")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(3);
        for (const Topology& topology : MakeFamiliesAndRandom(random, 150))
        {
            if (topology.GetNServers() <= 12)
            {
                Walk(DrawState(topology, random), random);
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nChoices, 50000, "choices");
    }

    /// Make random picks to the end and look at all that is offered on the way.
    void Walk(AllReduceState state, TestRandom& random)
    {
        const PlanningProblem problem = MakeRest(state, random());
        PlanningEnvironment environment(problem);
        NaiveTrees trees(problem);
        while (environment.GetState().nTransfersLeft > 0)
        {
            environment.BeginRound();
            WorkloadList round;
            CheckOpenPorts(environment, problem, state, trees);
            while (!environment.GetOpenPorts().empty())
            {
                CheckChoices(environment, state);
                PickAny(environment, random, round);
                const Workload workload = round.Get(round.GetSize() - 1);
                state.Start(workload);
                if (workload.kind == REDUCE)
                {
                    trees.Send(workload.GetSource(), workload.chunk);
                }
                CheckOpenPorts(environment, problem, state, trees);
            }
            NS_TEST_ASSERT_MSG_EQ(round.IsEmpty(), false, "nothing to do, but not done");
            NS_TEST_ASSERT_MSG_EQ(environment.OfferMore(), false, "all was offered");
            environment.EndRound();
            state.EndRound();
            NoteArrivals(round, trees);
        }
        NS_TEST_ASSERT_MSG_EQ(state.IsDone(), true, "done when no transfer is left");
    }

    void NoteArrivals(const WorkloadList& round, NaiveTrees& trees)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            if (round.Get(i).kind == REDUCE)
            {
                trees.Arrive(round.Get(i).GetSource(), round.Get(i).chunk);
            }
        }
    }

    void PickAny(PlanningEnvironment& environment, TestRandom& random, WorkloadList& round)
    {
        const auto& open = environment.GetOpenPorts();
        const uint32_t port = open[Draw(random, open.size())];
        const auto& senders = environment.GetSenders(port);
        const auto sender = senders[Draw(random, senders.size())];
        environment.FindItems(port, sender, 1000, m_items);
        environment.Pick(port, sender, m_items[Draw(random, m_items.size())], round);
    }

    void CheckChoices(const PlanningEnvironment& environment, const AllReduceState& state)
    {
        for (const uint32_t port : environment.GetOpenPorts())
        {
            NS_TEST_ASSERT_MSG_EQ(environment.IsOpen(port), true, "open");
            for (const PortSender& sender : environment.GetSenders(port))
            {
                environment.FindItems(port, sender, 1000, m_items);
                NS_TEST_ASSERT_MSG_EQ(m_items.empty(), false, "who can send has something");
                NS_TEST_ASSERT_MSG_EQ(std::set<uint32_t>(m_items.begin(), m_items.end()).size(),
                                      m_items.size(),
                                      "each item once");
                for (const uint32_t item : m_items)
                {
                    PlanningEnvironment tried = environment;
                    WorkloadList round;
                    tried.Pick(port, sender, item, round);
                    NS_TEST_ASSERT_MSG_EQ(round.GetSize(), 1, "a workload");
                    NS_TEST_ASSERT_MSG_EQ(state.FindFault(round.Get(0)), "", "legal");
                    ++m_nChoices;
                }
            }
        }
    }

    /// A port is open if and only if some server behind free links has something for its own.
    void CheckOpenPorts(const PlanningEnvironment& environment,
                        const PlanningProblem& problem,
                        const AllReduceState& state,
                        const NaiveTrees& trees)
    {
        const PortNeighborhoods around(*problem.topology, problem.capacity);
        for (uint32_t port = 0; port < around.ports.size(); ++port)
        {
            NS_TEST_ASSERT_MSG_EQ(environment.IsOpen(port),
                                  CanReceive(around.ports[port], problem, state, trees),
                                  problem.topology->GetName() << ": port " << port);
        }
    }

    bool CanReceive(const InPort& port,
                    const PlanningProblem& problem,
                    const AllReduceState& state,
                    const NaiveTrees& trees)
    {
        const Topology& topology = *problem.topology;
        if (state.GetFreeCapacity(port.link) == 0)
        {
            return false;
        }
        std::vector<NodeId> queue{topology.GetSource(port.link)};
        std::set<NodeId> seen{queue[0], port.server};
        for (std::size_t i = 0; i < queue.size(); ++i)
        {
            if (topology.IsServer(queue[i]))
            {
                if (HasSomething(queue[i], port.server, problem, state, trees))
                {
                    return true;
                }
                continue;
            }
            for (const Topology::Port& next : topology.GetPorts(queue[i]))
            {
                if (state.GetFreeCapacity(Reverse(next.out)) > 0 &&
                    seen.insert(next.neighbor).second)
                {
                    queue.push_back(next.neighbor);
                }
            }
        }
        return false;
    }

    bool HasSomething(NodeId sender,
                      NodeId receiver,
                      const PlanningProblem& problem,
                      const AllReduceState& state,
                      const NaiveTrees& trees)
    {
        for (ChunkId chunk = 0; chunk < problem.GetNChunks(); ++chunk)
        {
            if (state.GetFinals().Test(sender, chunk) && !state.GetExpected().Test(receiver, chunk))
            {
                return true;
            }
            if (problem.parents[chunk][sender] == receiver && trees.IsReady(sender, chunk))
            {
                return true;
            }
        }
        return false;
    }

    std::vector<uint32_t> m_items; //!< of the present sender
    uint64_t m_nChoices{0};        //!< that were looked at
};

/// @brief What the upper policy selects.
class SelectionTestCase : public TestCase
{
  public:
    SelectionTestCase()
        : TestCase("trees that are selected come before those that are not, and no port idles")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(5);
        for (const Topology& topology : MakeFamilies())
        {
            for (const uint32_t chunksPerServer : {1, 2, 3})
            {
                Walk(MakeSomeHalf(topology, chunksPerServer, random()), random);
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nHeldBack, 200, "rounds that offered more");
    }

    void Walk(const PlanningProblem& problem, TestRandom& random)
    {
        PlanningEnvironment environment(problem);
        while (environment.GetState().nTransfersLeft > 0)
        {
            environment.BeginRound();
            const std::set<ChunkId> leftOut = SelectSome(environment, random);
            CheckOffers(environment, [&](ChunkId chunk) { return leftOut.count(chunk) == 0; });
            WorkloadList round;
            do
            {
                while (!environment.GetOpenPorts().empty())
                {
                    PickFirst(environment, round);
                }
            } while (environment.OfferMore() && ++m_nHeldBack);
            NS_TEST_ASSERT_MSG_EQ(round.IsEmpty(), false, "there is always something to do");
            environment.EndRound();
        }
    }

    /// @return the trees that were not selected
    std::set<ChunkId> SelectSome(PlanningEnvironment& environment, TestRandom& random)
    {
        const std::vector<ChunkId>& trees = environment.GetSelectableTrees();
        std::vector<bool> selected(trees.size());
        std::set<ChunkId> leftOut;
        for (std::size_t i = 0; i < trees.size(); ++i)
        {
            selected[i] = Draw(random, 2) == 1;
            if (!selected[i])
            {
                leftOut.insert(trees[i]);
            }
        }
        environment.SelectTrees(selected);
        return leftOut;
    }

    void CheckOffers(const PlanningEnvironment& environment,
                     const std::function<bool(ChunkId)>& isExpected)
    {
        std::vector<uint32_t> items;
        for (const uint32_t port : environment.GetOpenPorts())
        {
            for (const PortSender& sender : environment.GetSenders(port))
            {
                environment.FindItems(port, sender, 1000, items);
                for (const uint32_t item : items)
                {
                    const ChunkId chunk = item % environment.GetState().nChunks;
                    NS_TEST_ASSERT_MSG_EQ(isExpected(chunk), true, "a tree that was left out");
                }
            }
        }
    }

    void PickFirst(PlanningEnvironment& environment, WorkloadList& round)
    {
        const uint32_t port = environment.GetOpenPorts()[0];
        const auto sender = environment.GetSenders(port)[0];
        std::vector<uint32_t> items;
        environment.FindItems(port, sender, 1000, items);
        environment.Pick(port, sender, items[0], round);
    }

    uint32_t m_nHeldBack{0}; //!< how often there was more to offer
};

/// @ingroup allreduce-tests
/// @brief The world of the two policies: what is left to be planned, and what it offers.
class PlanningEnvironmentTestSuite : public TestSuite
{
  public:
    PlanningEnvironmentTestSuite()
        : TestSuite("allreduce-planning-environment", TestSuite::Type::UNIT)
    {
        AddTestCase(new ReduceTreesTestCase);
        AddTestCase(new RestProblemTestCase, EXTENSIVE);
        AddTestCase(new ChoicesTestCase, EXTENSIVE);
        AddTestCase(new SelectionTestCase);
    }
};

PlanningEnvironmentTestSuite g_planningEnvironmentTestSuite; //!< registers the suite

} // namespace
