/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "drawn-network.h"
#include "schedule-view.h"
#include "session-test-utils.h"

#include "ns3/test.h"
#include "ns3/topology-file.h"
#include "ns3/topology-racks.h"
#include "ns3/topology-spec.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

/**
 * Racks as files have them: servers take turns at them, each has links to both switches of its
 * rack, in either order, and these have links to two more.
 *
 * @param nRacks number of racks
 * @param perRack servers in each
 * @return the network as JSON
 */
Json
MakeRackFile(uint32_t nRacks, uint32_t perRack)
{
    const uint32_t nServers = nRacks * perRack;
    Json json = {{"name", "racks"}, {"servers", nServers}, {"switches", 2 * nRacks + 2}};
    for (NodeId server = 0; server < nServers; ++server)
    {
        const NodeId first = nServers + 2 * (server % nRacks);
        json["links"].push_back({server, first + server / nRacks % 2});
        json["links"].push_back({server, first + 1 - server / nRacks % 2});
    }
    const NodeId upper = nServers + 2 * nRacks;
    for (NodeId id = nServers; id < upper; ++id)
    {
        json["links"].push_back({id, upper});
        json["links"].push_back({id, upper + 1});
    }
    return json;
}

Topology
ReadJsonTopology(const Json& json)
{
    std::istringstream in(json.dump());
    return ReadTopology(in, "test");
}

/// @brief Servers and switches that stand together are found in any network.
class RacksTestCase : public TestCase
{
  public:
    RacksTestCase()
        : TestCase("racks are recognised, also in topologies from files")
    {
    }

  private:
    void DoRun() override
    {
        TestFile();
        TestFamilies();
        TestLostLink();
        TestPlaces();
        TestRails();
        TestDirectLinks();
    }

    void TestFile()
    {
        const Racks racks = FindRacks(ReadJsonTopology(MakeRackFile(3, 4)));
        NS_TEST_ASSERT_MSG_EQ(racks.count, 3, "racks");
        for (NodeId server = 0; server < 12; ++server)
        {
            NS_TEST_EXPECT_MSG_EQ(racks.rackOf[server], server % 3, "server " << server);
        }
        for (NodeId id = 12; id < 18; ++id)
        {
            NS_TEST_EXPECT_MSG_EQ(racks.rackOf[id], (id - 12) / 2, "switch " << id);
        }
        NS_TEST_EXPECT_MSG_EQ(racks.rackOf[18], Racks::NONE, "serves all racks");
    }

    void TestFamilies()
    {
        const std::vector<std::pair<const char*, uint32_t>> counts = {{"bcube:4,1", 4},
                                                                      {"bcube:8,2", 64},
                                                                      {"dcell:4,1", 5},
                                                                      {"fattree:4", 8},
                                                                      {"jellyfish:10,3,2", 10},
                                                                      {"torus:3x3", 9}};
        for (const auto& [name, count] : counts)
        {
            const Topology topology = ParseTopology(name);
            NS_TEST_EXPECT_MSG_EQ(FindRacks(topology).count, count, name);
        }
    }

    /// A server that has lost one of its two links stays in its rack.
    void TestLostLink()
    {
        Json json = MakeRackFile(3, 4);
        json["links"].erase(0);
        const Racks racks = FindRacks(ReadJsonTopology(json));
        NS_TEST_EXPECT_MSG_EQ(racks.count, 3, "racks");
        NS_TEST_EXPECT_MSG_EQ(racks.rackOf[0], racks.rackOf[3], "the same rack");
    }

    /// Without places of its own a file's network is drawn rack by rack.
    void TestPlaces()
    {
        Json json = MakeRackFile(3, 4);
        const Topology topology = ReadJsonTopology(json);
        const auto& places = topology.GetPositions();
        std::map<double, NodeId> byPlace;
        for (NodeId server = 0; server < 12; ++server)
        {
            byPlace[places[server].x] = server;
            NS_TEST_EXPECT_MSG_EQ(places[server].y, 1, "servers are the lowest row");
        }
        std::string racks;
        for (const auto& [x, server] : byPlace)
        {
            racks += std::to_string(server % 3);
        }
        NS_TEST_EXPECT_MSG_EQ(racks, "000011112222", "servers of a rack are neighbors");
        NS_TEST_EXPECT_MSG_EQ(places[12].y, 0.5, "their switches are above them");
        NS_TEST_EXPECT_MSG_GT(places[13].x, places[0].x, "over their rack");
        NS_TEST_EXPECT_MSG_LT(places[13].x, places[1].x, "and over no other");
        NS_TEST_EXPECT_MSG_EQ(places[18].y, 0, "others are the highest row");
        json["positions"] = Json::array();
        for (NodeId id = 0; id < topology.GetNNodes(); ++id)
        {
            json["positions"].push_back({0.25, 0.75});
        }
        NS_TEST_EXPECT_MSG_EQ(ReadJsonTopology(json).GetPositions()[5].x, 0.25, "as the file says");
    }

    /// Four servers on all of three leaves, two spines above: no racks, but rows.
    void TestRails()
    {
        Json json = {{"name", "rails"}, {"servers", 4}, {"switches", 5}, {"links", Json::array()}};
        for (NodeId leaf = 4; leaf < 7; ++leaf)
        {
            for (const NodeId other : {0, 1, 2, 3, 7, 8})
            {
                json["links"].push_back({other, leaf});
            }
        }
        const Topology topology = ReadJsonTopology(json);
        const auto& places = topology.GetPositions();
        for (NodeId id = 0; id < topology.GetNNodes(); ++id)
        {
            const double row = id < 4 ? 1 : id < 7 ? 0.5 : 0;
            NS_TEST_EXPECT_MSG_EQ(places[id].y, row, "row of " << id);
        }
    }

    /// Where servers have links to each other, no link leads over a third node.
    void TestDirectLinks()
    {
        Json json = {{"name", "mine"}, {"servers", 6}, {"switches", 2}};
        json["links"] =
            {{0, 6}, {1, 6}, {2, 6}, {3, 7}, {4, 7}, {5, 7}, {6, 7}, {0, 3}, {1, 4}, {2, 5}};
        const Topology topology = ReadJsonTopology(json);
        const auto& places = topology.GetPositions();
        for (const Link& link : topology.GetLinks())
        {
            const Position& a = places[link.a];
            const Position& b = places[link.b];
            const double length = std::hypot(b.x - a.x, b.y - a.y);
            for (NodeId node = 0; node < topology.GetNNodes(); ++node)
            {
                const Position& c = places[node];
                const double along =
                    ((c.x - a.x) * (b.x - a.x) + (c.y - a.y) * (b.y - a.y)) / length;
                const double aside =
                    std::abs((c.x - a.x) * (b.y - a.y) - (c.y - a.y) * (b.x - a.x)) / length;
                const bool isEnd = node == link.a || node == link.b;
                NS_TEST_EXPECT_MSG_EQ(isEnd || along <= 0 || along >= length || aside > 0.04,
                                      true,
                                      "link " << link.a << "-" << link.b << " over " << node);
            }
        }
    }
};

/// @brief Large networks stay readable, and racks of files are drawn as such.
class GroupsTestCase : public TestCase
{
  public:
    GroupsTestCase()
        : TestCase("few enough boxes and lines, with racks of files as boxes")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* name :
             {"bcube:8,2", "bcube:32,1", "bcube:10,2", "fattree:8", "fattree:16"})
        {
            const DrawnNetwork drawn = DrawNetwork(ParseTopology(name));
            NS_TEST_EXPECT_MSG_LT(drawn.links.size(), 401, name << ": lines");
            std::map<double, uint32_t> rows;
            for (const DrawnNode& node : drawn.nodes)
            {
                NS_TEST_EXPECT_MSG_LT(++rows[node.position.y], 33, name << ": boxes in a row");
            }
        }
        const DrawnNetwork racks = DrawNetwork(ReadJsonTopology(MakeRackFile(3, 4)), 4);
        NS_TEST_ASSERT_MSG_EQ(racks.nodes.size(), 5, "three racks and two switches");
        for (uint32_t rack = 0; rack < 3; ++rack)
        {
            const DrawnNode& node = racks.nodes[rack];
            NS_TEST_EXPECT_MSG_EQ(node.label, std::to_string(rack) + "+3", "not neighbors");
            NS_TEST_EXPECT_MSG_EQ(node.nServers, 4, "its servers");
            NS_TEST_EXPECT_MSG_EQ(node.nSwitches, 2, "its switches");
        }
        NS_TEST_EXPECT_MSG_EQ(racks.nodes[3].label, "18", "a switch by itself");
    }
};

/// @brief What a view says of single servers, links and chunks.
class ViewDetailsTestCase : public TestCase
{
  public:
    ViewDetailsTestCase()
        : TestCase("a view has what can be searched for")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* name : {"bcube:4,1", "fattree:8", "jellyfish:40,4,2"})
        {
            const Experiment experiment = MakeExperiment(ParseTopology(name), "greedy", 1 << 20, 1);
            const Json view =
                MakeScheduleView(experiment.topology, experiment.plan.GetSchedule(), "greedy");
            CheckChunks(view, experiment.plan.GetSchedule());
            if (view["is_aggregated"].get<bool>())
            {
                CheckLetters(view);
                CheckMemberLinks(view, experiment);
            }
        }
        const Topology racks = ReadJsonTopology(MakeRackFile(2, 3));
        const Experiment experiment = MakeExperiment(racks, "greedy", 1 << 20, 1);
        const Json view =
            MakeScheduleView(experiment.topology, experiment.plan.GetSchedule(), "greedy");
        NS_TEST_EXPECT_MSG_EQ(view["racks"].dump(), "[[0,2,4,6,7],[1,3,5,8,9]]", "racks");
    }

    /// The sums of chunks become final and known as the steps say.
    void CheckChunks(const Json& view, const AllReduceSchedule& plan)
    {
        const std::string name = view["topology"];
        const Json& chunks = view["chunk_rounds"];
        NS_TEST_ASSERT_MSG_EQ(chunks.size(), 3 * plan.collective.GetNChunks(), name);
        uint64_t last = 0;
        for (std::size_t chunk = 0; chunk < plan.collective.GetNChunks(); ++chunk)
        {
            NS_TEST_EXPECT_MSG_EQ(chunks[3 * chunk],
                                  plan.collective.roots[chunk],
                                  name << ": root");
            const auto final = chunks[3 * chunk + 1].get<uint64_t>();
            const auto everywhere = chunks[3 * chunk + 2].get<uint64_t>();
            NS_TEST_EXPECT_MSG_GT(everywhere, final, name << ": chunk " << chunk);
            last = std::max(last, everywhere);
        }
        NS_TEST_EXPECT_MSG_EQ(last, plan.rounds.size(), name << ": the last chunk");
    }

    /// Letters begin with partial sums of all chunks, and end with final ones.
    void CheckLetters(const Json& view)
    {
        const std::string name = view["topology"];
        const auto nServers = view["servers"].get<std::size_t>();
        const Json& steps = view["steps"];
        NS_TEST_EXPECT_MSG_EQ(steps.front()["servers"], std::string(nServers, '4'), name);
        NS_TEST_EXPECT_MSG_EQ(steps.back()["servers"], std::string(nServers, 'H'), name);
        for (const Json& step : steps)
        {
            const auto letters = step["servers"].get<std::string>();
            const auto finals = step["final"].get<std::vector<uint64_t>>();
            NS_TEST_ASSERT_MSG_EQ(letters.size(), nServers, name);
            for (std::size_t server = 0; server < nServers; ++server)
            {
                const bool hasFinal = finals[view["node_of"][server].get<std::size_t>()] > 0;
                const bool saysFinal =
                    std::string("AIQYgow4").find(letters[server]) == std::string::npos;
                NS_TEST_EXPECT_MSG_EQ((saysFinal && !hasFinal), false, name);
            }
        }
    }

    /// Every link is there with its own load.
    void CheckMemberLinks(const Json& view, const Experiment& experiment)
    {
        const Topology& topology = experiment.topology;
        const Json& members = view["member_links"];
        NS_TEST_ASSERT_MSG_EQ(members.size(), 4 * topology.GetNLinks(), topology.GetName());
        std::vector<uint64_t> loads(topology.GetNDirectedLinks(), 0);
        for (const OwnRound& round : OwnSchedule(experiment.plan.GetSchedule()).rounds)
        {
            for (const OwnWorkload& workload : round)
            {
                for (std::size_t i = 1; i < workload.path.size(); ++i)
                {
                    ++loads[*topology.FindDirectedLink(workload.path[i - 1], workload.path[i])];
                }
            }
        }
        for (LinkId id = 0; id < topology.GetNLinks(); ++id)
        {
            const Link& link = topology.GetLink(id);
            const double most = 1.0 * link.capacity * experiment.plan.GetRounds().size();
            NS_TEST_EXPECT_MSG_EQ(members[4 * id], link.a, "one end");
            NS_TEST_EXPECT_MSG_EQ(members[4 * id + 1], link.b, "the other end");
            for (uint32_t way : {0, 1})
            {
                NS_TEST_EXPECT_MSG_EQ_TOL(members[4 * id + 2 + way].get<double>(),
                                          1000 * loads[2 * id + way] / most,
                                          0.5001,
                                          topology.GetName() << ": link " << id);
            }
        }
    }
};

/// @brief The suite of what a page can tell of single nodes, links and chunks.
class ReportViewTestSuite : public TestSuite
{
  public:
    ReportViewTestSuite()
        : TestSuite("allreduce-report-view", TestSuite::Type::UNIT)
    {
        AddTestCase(new RacksTestCase);
        AddTestCase(new GroupsTestCase);
        AddTestCase(new ViewDetailsTestCase);
    }
};

ReportViewTestSuite g_reportViewTestSuite; //!< registers the suite

} // namespace
