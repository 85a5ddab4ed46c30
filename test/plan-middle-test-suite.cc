/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "policy-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-state.h"
#include "ns3/hrl-planner.h"
#include "ns3/plan-middle.h"
#include "ns3/planning-environment.h"
#include "ns3/policy-rollout.h"
#include "ns3/schedule-verifier.h"
#include "ns3/server-graph.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return networks of all families, and such as nobody would build
std::vector<Topology>
MakeNetworks(TestRandom& random, uint32_t nRandom)
{
    return MakeFamiliesAndRandom(random, nRandom, {8, 5, 3});
}

/// @return 1 to 3 chunks for each server, or some servers with many and others with none
std::vector<NodeId>
DrawRoots(uint32_t nServers, TestRandom& random)
{
    const uint32_t chunksPerServer = Draw(random, 4);
    if (chunksPerServer > 0)
    {
        return MakeRoots(nServers, chunksPerServer);
    }
    std::vector<NodeId> roots(1 + Draw(random, 2 * nServers));
    for (NodeId& root : roots)
    {
        root = Draw(random, nServers);
    }
    return roots;
}

/// @return a middle for a plan as short as can be, a little longer, or much too short or too long
PlanMiddle
DrawMiddle(const Topology& topology, const std::vector<NodeId>& roots, TestRandom& random)
{
    const uint32_t bound = ComputeLowerBounds(topology, roots).GetBest().rounds;
    const uint32_t lengths[] = {bound, bound + 1 + Draw(random, 4), 1, 10 * bound};
    return ChooseMiddle(topology, roots, lengths[Draw(random, 4)], random());
}

/// @return how many servers are in the core of a chunk
std::size_t
CountCore(const PlanMiddle& middle, ChunkId chunk)
{
    const std::vector<NodeId>& parents = middle.parents[chunk];
    return parents.size() - std::count(parents.begin(), parents.end(), NO_SERVER);
}

bool
AreEqual(const PlanMiddle& x, const PlanMiddle& y)
{
    return x.parents == y.parents && x.isOpen == y.isOpen && x.partners == y.partners &&
           x.isSymmetric == y.isSymmetric;
}

/// @return the second half of a plan
std::vector<WorkloadList>
PlanHalf(const Topology& topology,
         const std::vector<NodeId>& roots,
         const PlanMiddle& middle,
         const RolloutOptions& options)
{
    const PlanningProblem problem = MakeHalf(topology, roots, middle, 0, FindLinkPrices(topology));
    PlanningEnvironment environment(problem);
    static const PolicyWeights untrained = PolicyWeights::MakeInitial(1);
    return RunRollout(environment, untrained, options);
}

/// @return the whole plan
AllReduceSchedule
PlanBothHalves(const Topology& topology,
               const std::vector<NodeId>& roots,
               const PlanMiddle& middle,
               const RolloutOptions& options)
{
    const std::vector<WorkloadList> second = PlanHalf(topology, roots, middle, options);
    if (middle.isSymmetric)
    {
        return {roots, JoinHalves(second, second, middle.partners)};
    }
    const std::vector<WorkloadList> first = PlanHalf(topology, roots, Mirror(middle), options);
    return {roots, JoinHalves(first, second, std::vector<ChunkId>(roots.size(), NO_CHUNK))};
}

/// @brief What the cores of a middle are.
class CoresTestCase : public TestCase
{
  public:
    CoresTestCase()
        : TestCase("cores are trees of servers around the root, partners have the same")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (const Topology& topology : MakeNetworks(random, 60))
        {
            for (uint32_t i = 0; i < 4; ++i)
            {
                const std::vector<NodeId> roots = DrawRoots(topology.GetNServers(), random);
                const PlanMiddle middle = DrawMiddle(topology, roots, random);
                CheckCores(topology, roots, middle);
                CheckPartners(roots, middle);
                CheckSymmetry(middle);
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nLargeCores, 100, "cores with more than a root");
        NS_TEST_EXPECT_MSG_GT(m_nSymmetric, 50, "symmetric middles");
        NS_TEST_EXPECT_MSG_GT(m_nOthers, 20, "middles that are not");
    }

    void CheckCores(const Topology& topology,
                    const std::vector<NodeId>& roots,
                    const PlanMiddle& middle)
    {
        const ServerGraph graph(topology);
        NS_TEST_ASSERT_MSG_EQ(middle.parents.size(), roots.size(), "a core for each chunk");
        for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
        {
            const std::vector<NodeId>& parents = middle.parents[chunk];
            NS_TEST_ASSERT_MSG_EQ(parents[roots[chunk]], roots[chunk], "the root is inside");
            for (NodeId server = 0; server < parents.size(); ++server)
            {
                if (parents[server] != NO_SERVER && server != roots[chunk])
                {
                    NS_TEST_ASSERT_MSG_EQ(IsJoined(graph, server, parents[server]), true, "joined");
                    NS_TEST_ASSERT_MSG_EQ(LeadsTo(parents, server, roots[chunk]), true, "a tree");
                    ++m_nLargeCores;
                }
            }
        }
    }

    bool IsJoined(const ServerGraph& graph, NodeId x, NodeId y) const
    {
        const std::vector<NodeId>& neighbors = graph.GetNeighbors(x);
        return std::find(neighbors.begin(), neighbors.end(), y) != neighbors.end();
    }

    /// @return whether one comes to the root from parent to parent
    bool LeadsTo(const std::vector<NodeId>& parents, NodeId server, NodeId root) const
    {
        for (std::size_t i = 0; i < parents.size() && server != root; ++i)
        {
            server = parents[server];
            if (server == NO_SERVER)
            {
                return false;
            }
        }
        return server == root;
    }

    void CheckPartners(const std::vector<NodeId>& roots, const PlanMiddle& middle)
    {
        std::map<NodeId, uint32_t> nSingles;
        for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
        {
            const ChunkId partner = middle.partners[chunk];
            if (partner == NO_CHUNK)
            {
                ++nSingles[roots[chunk]];
                continue;
            }
            NS_TEST_ASSERT_MSG_EQ(middle.partners[partner], chunk, "of each other");
            NS_TEST_ASSERT_MSG_EQ(roots[partner], roots[chunk], "with the same root");
            NS_TEST_ASSERT_MSG_EQ((middle.parents[partner] == middle.parents[chunk]),
                                  true,
                                  "with the same core");
            NS_TEST_ASSERT_MSG_NE(bool(middle.isOpen[partner]),
                                  bool(middle.isOpen[chunk]),
                                  "one open, one settled");
        }
        for (const auto& [root, count] : nSingles)
        {
            NS_TEST_ASSERT_MSG_EQ(count, 1, "only a last odd chunk of a root has no partner");
        }
    }

    void CheckSymmetry(const PlanMiddle& middle)
    {
        bool isExpected = true;
        for (ChunkId chunk = 0; chunk < middle.partners.size(); ++chunk)
        {
            isExpected =
                isExpected && (middle.partners[chunk] != NO_CHUNK || CountCore(middle, chunk) == 1);
        }
        NS_TEST_ASSERT_MSG_EQ(middle.isSymmetric, isExpected, "no single with a core");
        ++(middle.isSymmetric ? m_nSymmetric : m_nOthers);
    }

    uint32_t m_nLargeCores{0}; //!< servers in cores besides roots
    uint32_t m_nSymmetric{0};  //!< middles
    uint32_t m_nOthers{0};     //!< middles
};

/// @brief The same middle, seen from the other half.
class MirrorTestCase : public TestCase
{
  public:
    MirrorTestCase()
        : TestCase("the mirror image exchanges open and settled chunks, twice it is the middle")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(2);
        for (const Topology& topology : MakeNetworks(random, 20))
        {
            const std::vector<NodeId> roots = DrawRoots(topology.GetNServers(), random);
            const PlanMiddle middle = DrawMiddle(topology, roots, random);
            PlanMiddle mirrored = Mirror(middle);
            NS_TEST_ASSERT_MSG_EQ(AreEqual(Mirror(mirrored), middle), true, "twice");
            for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
            {
                NS_TEST_ASSERT_MSG_NE(bool(mirrored.isOpen[chunk]),
                                      bool(middle.isOpen[chunk]),
                                      "exchanged");
            }
            mirrored.isOpen = middle.isOpen;
            NS_TEST_ASSERT_MSG_EQ(AreEqual(mirrored, middle), true, "and nothing else");
        }
    }
};

/// @brief Chance comes from the seed alone.
class SeedTestCase : public TestCase
{
  public:
    SeedTestCase()
        : TestCase("the same seed chooses the same middle")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(3);
        for (const Topology& topology : MakeNetworks(random, 10))
        {
            const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), 2);
            const uint32_t nRounds = ComputeLowerBounds(topology, roots).GetBest().rounds;
            NS_TEST_ASSERT_MSG_EQ(AreEqual(ChooseMiddle(topology, roots, nRounds, 5),
                                           ChooseMiddle(topology, roots, nRounds, 5)),
                                  true,
                                  topology.GetName());
        }
    }
};

/// @brief Halves that nobody chose with care make plans that are right.
class JoinHalvesTestCase : public TestCase
{
  public:
    JoinHalvesTestCase()
        : TestCase("halves of any picks join to plans that are correct")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(4);
        for (const Topology& topology : MakeNetworks(random, 600))
        {
            const std::vector<NodeId> roots = DrawRoots(topology.GetNServers(), random);
            const PlanMiddle middle = DrawMiddle(topology, roots, random);
            for (const RolloutMode mode :
                 {RolloutMode::RANDOM, RolloutMode::SAMPLE, RolloutMode::BEST})
            {
                RolloutOptions options;
                options.mode = mode;
                options.upper = UPPER_MODES[Draw(random, 3)];
                options.seed = random();
                CheckPlan(topology, PlanBothHalves(topology, roots, middle, options), options);
            }
        }
    }

    /// The module's verifier and numbers that are added up say the same.
    void CheckPlan(const Topology& topology,
                   const AllReduceSchedule& plan,
                   const RolloutOptions& options)
    {
        const auto name = topology.GetName() + " with " +
                          std::to_string(plan.collective.GetNChunks()) + " chunks, seed " +
                          std::to_string(options.seed);
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, plan).reason, "", name);
        NS_TEST_EXPECT_MSG_EQ(ExecuteWithNumbers(topology, OwnSchedule(plan)), "", name);
    }
};

/// @brief Servers that leave a core: the one step that both halves take together.
class LeavingTestCase : public TestCase
{
  public:
    LeavingTestCase()
        : TestCase("servers leave cores, and the plan stays correct")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(5);
        for (const Topology& topology : MakeNetworks(random, 120))
        {
            // Everybody is in every core: the most that can be left.
            const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), 2);
            const PlanMiddle middle = MakeFullMiddle(topology, roots, random);
            RolloutOptions options;
            options.mode = RolloutMode::RANDOM;
            options.seed = random();
            options.upper = UPPER_MODES[Draw(random, 3)];
            const AllReduceSchedule plan = PlanBothHalves(topology, roots, middle, options);
            NS_TEST_EXPECT_MSG_EQ(Verify(topology, plan).reason, "", topology.GetName());
            CountLeaving(middle, plan);
        }
        NS_TEST_EXPECT_MSG_GT(m_nLeaving, 300, "some did");
    }

    /// @return a middle in which all servers are in all cores, on random trees
    PlanMiddle MakeFullMiddle(const Topology& topology,
                              const std::vector<NodeId>& roots,
                              TestRandom& random) const
    {
        const ServerGraph graph(topology);
        PlanMiddle middle = MakeBareMiddle(topology, roots);
        for (ChunkId chunk = 0; chunk < roots.size(); chunk += 2)
        {
            std::vector<NodeId>& parents = middle.parents[chunk];
            std::vector<NodeId> inside{roots[chunk]};
            while (inside.size() < topology.GetNServers())
            {
                const NodeId parent = inside[Draw(random, inside.size())];
                const auto& neighbors = graph.GetNeighbors(parent);
                const NodeId next = neighbors[Draw(random, neighbors.size())];
                if (parents[next] == NO_SERVER)
                {
                    parents[next] = parent;
                    inside.push_back(next);
                }
            }
            middle.parents[chunk + 1] = parents;
            middle.isOpen[chunk + 1] = true;
            middle.partners[chunk] = chunk + 1;
            middle.partners[chunk + 1] = chunk;
        }
        return middle;
    }

    /// Settled chunks that go to servers of their core, which thus have left it.
    void CountLeaving(const PlanMiddle& middle, const AllReduceSchedule& plan)
    {
        for (std::size_t round = plan.rounds.size() / 2; round < plan.rounds.size(); ++round)
        {
            for (std::size_t i = 0; i < plan.rounds[round].GetSize(); ++i)
            {
                m_nLeaving += !middle.isOpen[plan.rounds[round].Get(i).chunk];
            }
        }
    }

    uint32_t m_nLeaving{0}; //!< servers that left
};

/// @brief Halves that do not overlap.
class BareMiddleTestCase : public TestCase
{
  public:
    BareMiddleTestCase()
        : TestCase("from the bare middle a plan is a reduce, and then a broadcast as its mirror")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:3,1", "dcell:3,1", "jellyfish:8,3,2", "torus:3x3"})
        {
            const Topology topology = ParseTopology(spec);
            for (const uint32_t chunksPerServer : {1, 2, 3})
            {
                const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
                const PlanMiddle middle = MakeBareMiddle(topology, roots);
                NS_TEST_ASSERT_MSG_EQ(middle.isSymmetric, true, "one half is enough");
                const AllReduceSchedule plan = PlanBothHalves(topology, roots, middle, {});
                NS_TEST_ASSERT_MSG_EQ(Verify(topology, plan).reason, "", spec);
                CheckHalves(plan);
            }
        }
    }

    void CheckHalves(const AllReduceSchedule& plan)
    {
        const std::size_t nRounds = plan.rounds.size();
        NS_TEST_ASSERT_MSG_EQ(nRounds % 2, 0, "halves of the same length");
        for (std::size_t round = 0; round < nRounds; ++round)
        {
            const bool isFirst = round < nRounds / 2;
            const WorkloadList& mirrored = plan.rounds[nRounds - 1 - round];
            NS_TEST_ASSERT_MSG_EQ(plan.rounds[round].GetSize(), mirrored.GetSize(), "as many");
            for (std::size_t i = 0; i < mirrored.GetSize(); ++i)
            {
                const Workload workload = plan.rounds[round].Get(i);
                NS_TEST_ASSERT_MSG_EQ((workload.kind == WorkloadKind::REDUCE), isFirst, "kind");
                NS_TEST_ASSERT_MSG_EQ(workload.chunk, mirrored.Get(i).chunk, "chunk");
                NS_TEST_ASSERT_MSG_EQ(
                    std::equal(workload.path.begin(),
                               workload.path.end(),
                               std::make_reverse_iterator(mirrored.Get(i).path.end())),
                    true,
                    "the way back");
            }
        }
    }
};

/// @brief What the scheduler does with middles.
class PlanFromMiddleTestCase : public TestCase
{
  public:
    PlanFromMiddleTestCase()
        : TestCase("plans from several middles are correct and not below the bound")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t LITTLE_EFFORT = 100'000;
        TestRandom random(6);
        for (const Topology& topology : MakeNetworks(random, 60))
        {
            const std::vector<NodeId> roots = DrawRoots(topology.GetNServers(), random);
            const uint32_t bound = ComputeLowerBounds(topology, roots).GetBest().rounds;
            RolloutOptions options;
            options.mode = RolloutMode::RANDOM;
            options.upper = UPPER_MODES[Draw(random, 3)];
            options.seed = random();
            for (const uint32_t nMiddles : {0, 1, 4})
            {
                const AllReduceSchedule plan{roots,
                                             PlanFromMiddle(topology,
                                                            roots,
                                                            PolicyWeights(),
                                                            options,
                                                            nMiddles,
                                                            LITTLE_EFFORT)};
                NS_TEST_EXPECT_MSG_EQ(Verify(topology, plan).reason, "", topology.GetName());
                NS_TEST_EXPECT_MSG_GT_OR_EQ(plan.rounds.size(), bound, topology.GetName());
            }
        }
    }
};

/// @ingroup allreduce-tests
/// @brief Middles of plans, and plans made from them.
class PlanMiddleTestSuite : public TestSuite
{
  public:
    PlanMiddleTestSuite()
        : TestSuite("allreduce-plan-middle", TestSuite::Type::UNIT)
    {
        AddTestCase(new CoresTestCase);
        AddTestCase(new MirrorTestCase);
        AddTestCase(new SeedTestCase);
        AddTestCase(new JoinHalvesTestCase);
        AddTestCase(new LeavingTestCase);
        AddTestCase(new BareMiddleTestCase);
        AddTestCase(new PlanFromMiddleTestCase, EXTENSIVE);
    }
};

PlanMiddleTestSuite g_planMiddleTestSuite; //!< registers the suite

} // namespace
