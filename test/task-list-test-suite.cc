/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/server-hops.h"
#include "ns3/shortest-path-broadcast.h"
#include "ns3/task-list.h"
#include "ns3/test.h"
#include "ns3/topology-metrics.h"
#include "ns3/transfer-table.h"

#include <set>
#include <tuple>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

const PreferredPaths NO_PREFERENCE;

std::vector<Topology>
MakeTaskNetworks()
{
    TestRandom random(7);
    return MakeFamiliesAndRandom(random, 20);
}

/// A path between servers: transfers that follow each other, as few as there can be.
class TransfersTestCase : public TestCase
{
  public:
    TransfersTestCase()
        : TestCase("paths are chains of transfers, as short as possible, over links with room")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeTaskNetworks())
        {
            TransferTable transfers(topology, NO_PREFERENCE);
            for (NodeId to = 0; to < topology.GetNServers(); ++to)
            {
                const std::vector<uint32_t> nTransfers = ComputeServerHops(topology, {to});
                for (NodeId from = 0; from < topology.GetNServers(); ++from)
                {
                    if (from != to)
                    {
                        CheckTransfers(topology, transfers, from, to, nTransfers[from]);
                    }
                }
            }
        }
    }

    void CheckTransfers(const Topology& topology,
                        TransferTable& transfers,
                        NodeId from,
                        NodeId to,
                        uint32_t nTransfers)
    {
        std::vector<TransferTable::Id> path;
        transfers.AppendTransfers(from, to, path);
        NS_TEST_ASSERT_MSG_EQ(path.size(),
                              nTransfers,
                              topology.GetName() << " " << from << "-" << to);
        NodeId here = from;
        for (const TransferTable::Id id : path)
        {
            NS_TEST_ASSERT_MSG_EQ(transfers.Get(id).from, here, "transfers follow each other");
            here = transfers.Get(id).to;
            CheckPaths(topology, transfers, id);
        }
        NS_TEST_ASSERT_MSG_EQ(here, to, "the path ends where it should");
    }

    /// Uses a transfer until there is no room: each path has some, and none is left when it ends.
    void CheckPaths(const Topology& topology, TransferTable& transfers, TransferTable::Id id)
    {
        const TransferTable::Transfer transfer = transfers.Get(id);
        std::vector<NodeId> roots(topology.GetNDirectedLinks() * 4, transfer.from);
        auto state = AllReduceState::MakeReduced(topology, roots);
        Path path;
        uint32_t nPaths = 0;
        for (; transfers.FindPath(id, state, 0, path); ++nPaths)
        {
            NS_TEST_ASSERT_MSG_EQ(path.front(), transfer.from, "begins at the sender");
            NS_TEST_ASSERT_MSG_EQ(path.back(), transfer.to, "ends at the receiver");
            NS_TEST_ASSERT_MSG_EQ(path.size(), transfer.nLinks + 1, "is a shortest one");
            Workload workload;
            workload.chunk = nPaths;
            workload.kind = WorkloadKind::BROADCAST;
            workload.path = {path.data(), path.data() + path.size()};
            NS_TEST_ASSERT_MSG_EQ(state.TryStart(workload), true, "has room");
        }
        NS_TEST_ASSERT_MSG_GT(nPaths, 0, "an empty network has room");
        SwitchPathSearch search(topology);
        NS_TEST_ASSERT_MSG_EQ(
            FindFreePath(search, state, transfer.from, transfer.to, transfer.nLinks, path),
            false,
            "nothing was overlooked");
    }
};

/// Each server sends its share of each chunk once, and gets the sum once.
class TaskListTestCase : public TestCase
{
  public:
    TaskListTestCase()
        : TestCase("two tasks for each chunk and server, in any order each once")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeTaskNetworks())
        {
            const uint32_t nServers = topology.GetNServers();
            const AllReduceState state(topology, MakeRoots(nServers, 2));
            std::vector<FlowTree> trees;
            for (const NodeId root : state.GetRoots())
            {
                const std::vector<NodeId> parents(nServers, root);
                trees.push_back({parents, parents, true});
            }
            const TaskList tasks(state, trees, NO_PREFERENCE);
            NS_TEST_ASSERT_MSG_EQ(tasks.GetSize(), 2 * 2 * nServers * (nServers - 1), "number");
            CheckEnds(state, tasks);
            for (const bool isLongestFirst : {false, true})
            {
                for (const uint64_t seed : {0, 5})
                {
                    const auto order = tasks.Sort({false, isLongestFirst, 0, seed});
                    const std::set<TaskId> all(order.begin(), order.end());
                    NS_TEST_ASSERT_MSG_EQ(all.size(), tasks.GetSize(), "each task once");
                }
            }
        }
    }

    void CheckEnds(const AllReduceState& state, const TaskList& tasks)
    {
        std::set<std::tuple<ChunkId, WorkloadKind, NodeId>> seen;
        for (TaskId id = 0; id < tasks.GetSize(); ++id)
        {
            const Task task = tasks.Get(id);
            const NodeId root = state.GetRoots()[task.chunk];
            const NodeId begin = tasks.GetTransfer(task.firstTransfer).from;
            const NodeId end = tasks.GetEnd(task);
            const bool isReduce = task.kind == WorkloadKind::REDUCE;
            const NodeId server = isReduce ? begin : end;
            NS_TEST_ASSERT_MSG_EQ((isReduce ? end : begin), root, "the tree is a star");
            NS_TEST_ASSERT_MSG_EQ(seen.emplace(task.chunk, task.kind, server).second,
                                  true,
                                  "each server once");
            if (isReduce)
            {
                NS_TEST_ASSERT_MSG_EQ(tasks.GetReduce(task.chunk, server), id, "is found");
            }
        }
    }
};

/// A broadcast along shortest paths: everybody gets each chunk once, from somebody closer.
class ShortestPathTestCase : public TestCase
{
  public:
    ShortestPathTestCase()
        : TestCase("shortest-path trees: from somebody closer, or with a detour not farther")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeTaskNetworks())
        {
            for (const uint32_t detour : {0, 1})
            {
                for (const bool isNearestFirst : {false, true})
                {
                    Check(topology, detour, isNearestFirst);
                }
            }
        }
    }

    void Check(const Topology& topology, uint32_t detour, bool isNearestFirst)
    {
        const AllReduceState state(topology, MakeRoots(topology.GetNServers(), 2));
        const auto rounds = ShortestPathBroadcast(state, 3, detour, isNearestFirst).Run();
        auto replay = AllReduceState::MakeReduced(topology, state.GetRoots());
        for (const WorkloadList& round : rounds)
        {
            NS_TEST_ASSERT_MSG_EQ(round.IsEmpty(), false, "no round is idle");
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const Workload workload = round.Get(i);
                const auto distances = ComputeDistances(topology, state.GetRoots()[workload.chunk]);
                const uint32_t sender = distances[*workload.path.begin()];
                const uint32_t receiver = distances[*(workload.path.end() - 1)];
                NS_TEST_ASSERT_MSG_LT(sender, receiver + (detour > 0), topology.GetName());
                NS_TEST_ASSERT_MSG_EQ(replay.TryStart(workload), true, "is legal");
            }
            replay.EndRound();
        }
        NS_TEST_ASSERT_MSG_EQ(replay.IsDone(), true, "everybody has everything");
    }
};

/// @brief Tasks along flow-trees, their transfers, and trees that grow with the schedule.
class TaskListTestSuite : public TestSuite
{
  public:
    TaskListTestSuite()
        : TestSuite("allreduce-task-list", UNIT)
    {
        AddTestCase(new TransfersTestCase);
        AddTestCase(new TaskListTestCase);
        AddTestCase(new ShortestPathTestCase);
    }
};

TaskListTestSuite g_taskListTestSuite; //!< registers the suite

} // namespace
