/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/test.h"
#include "ns3/topology-file.h"
#include "ns3/topology-generators.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Files in both formats.
class TopologyFileTestCase : public TestCase
{
  public:
    TopologyFileTestCase()
        : TestCase("Topology files are read back as written; damaged ones are refused by place")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& spec : GetTopologyExamples())
        {
            CheckRoundTrips(MixCapacity(ParseTopology(spec), 0.3, 2));
        }
        CheckRoundTrips(ReadText("4 0 3\n\n0 1 10Gbps 1us 0\n1 2 25Gbps 2us 0\n2 3 1Tbps 0s 0\n"));
        CheckJson();
        CheckLinkForms();
        CheckBadLinkForms();
        CheckStatedCapacities();
        CheckSlowedLink();
        CheckLinkList();
    }

    /// @return the topology that a file with this text holds
    Topology ReadText(const std::string& text)
    {
        const std::string path = CreateTempDirFilename("topology-test.txt");
        std::ofstream(path) << text;
        return ReadTopologyFile(path);
    }

    void CheckRoundTrips(const Topology& topology)
    {
        for (const auto write : {WriteTopologyJson, WriteLinkList})
        {
            std::ostringstream text;
            write(topology, text);
            const Topology again = ReadText(text.str());
            NS_TEST_ASSERT_MSG_EQ(again.GetNServers(), topology.GetNServers(), "servers");
            NS_TEST_ASSERT_MSG_EQ((again.GetLinks() == topology.GetLinks()), true, text.str());
            std::ostringstream textAgain;
            write(again, textAgain);
            NS_TEST_ASSERT_MSG_EQ(textAgain.str(), text.str(), "the same text after a round trip");
            CheckCutShort(text.str());
        }
    }

    void CheckCutShort(const std::string& text)
    {
        const bool isJson = text[0] == '{';
        for (std::size_t length = 0; length + 1 < text.size(); ++length)
        {
            // A list that ends inside of a word can look whole; at the end of a line it cannot.
            if (isJson || (length > 0 && text[length - 1] == '\n'))
            {
                const std::string error = GetError([&] { ReadText(text.substr(0, length)); });
                NS_TEST_ASSERT_MSG_NE(error, "", "cut to " << length << " characters");
            }
        }
    }

    void CheckRefused(const std::string& text, const std::string& why)
    {
        const std::string error = GetError([&] { ReadText(text); });
        NS_TEST_ASSERT_MSG_NE(error.find(why), std::string::npos, why << " in: " << error);
        NS_TEST_ASSERT_MSG_NE(error.find("topology-test.txt"), std::string::npos, error);
    }

    void CheckJson()
    {
        const std::string head = R"({"servers": 2, "switches": 1, "links": )";
        const Topology topology = ReadText(R"({"name": "mine", "servers": 2, "switches": 1,
                         "links": [[0, 2], [1, 2, 4, 40000000000, 500, 0.25]]})");
        NS_TEST_ASSERT_MSG_EQ(topology.GetName(), "mine", "name");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).rateBps, DEFAULT_LINK_RATE_BPS, "default rate");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(1).delayNs, 500, "delay");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(1).errorRate, 0.25, "error rate");
        CheckRefused(head + "[[0, 3]]}", "link 0-3: unknown node 3, expected a node below 3");
        CheckRefused(head + "[[0, 0]]}", "link 0-0: joins a node to itself");
        CheckRefused(head + "[[0, 2], [2, 0]]}", "link 2-0: the pair is joined twice");
        CheckRefused(head + "[[0, 2, 0]]}", "capacity 0, expected 1 or more");
        CheckRefused(head + "[[0, 2, 2.5]]}", "link 0: capacity is 2.5, expected a whole number");
        CheckRefused(head + "[[0, 2, 1, -5]]}",
                     "link 0: rate is -5, expected text such as \"10Gbps\" or a whole number");
        CheckRefused(head + "[[0, 2, 1, 0]]}", "rate 0 bit/s, expected 1 to ");
        CheckRefused(head + "[[0, 2, 1, 1, -1]]}",
                     "link 0: delay is -1, expected text such as \"1us\" or a whole number");
        CheckRefused(head + "[[0, 2, 1, 1, 1, 2]]}", "error rate 2, expected 0 to 1");
        CheckRefused(head + "[[0]]}", "link 0 is [0], expected [a, b, capacity");
        CheckRefused(head + "7}", "\"links\" is not a list");
        CheckRefused(R"({"servers": 2, "switches": 1})", "no \"links\"");
        CheckRefused(R"({"servers": 1, "switches": 0, "links": []})", "1 servers, expected 2");
        CheckRefused(R"({"servers": 3, "switches": 0, "links": [[0, 1]]})",
                     "1 links cannot join 3");
        CheckRefused(R"({"format": "else", "servers": 2})",
                     "expected \"allreduce-topology\" version 1");
        CheckRefused(head + R"([[0, 2]], "positions": [[0]]})",
                     "position 0 is [0], expected [x, y]");
        CheckRefused(head + R"([[0, 2]], "positions": [[0, 1]]})", "1 positions, expected one for");
    }

    /// @return the links of a file with three servers and a switch
    std::vector<Link> ReadLinks(const std::string& links)
    {
        return ReadText(R"({"servers": 2, "switches": 2, "links": )" + links + "}").GetLinks();
    }

    void CheckLinkForms()
    {
        const Link plain{0, 3};
        const Link fast{1, 3, 5, 25'000'000'000, 1000, 0};
        const Link full{2, 3, 20, 100'000'000'000, 500, 0.5};
        const std::vector<Link> expected = {{0, 3, 2}, fast, full};
        for (const std::string first :
             {"[0, 3]", R"([0, 3, "10Gbps"])", "[0, 3, 2, 10000000000]", R"({"ends": [0, 3]})"})
        {
            for (const std::string second : {R"([1, 3, "25Gbps"])",
                                             "[1, 3, 25000000000]",
                                             "[1, 3, 25e9]",
                                             R"({"rate": 2.5e10, "ends": [1, 3]})",
                                             R"([1, 3, "25000Mbps", "1us", 0])",
                                             R"({"rate": "25Gbps", "ends": [1, 3]})"})
            {
                for (const std::string third :
                     {R"([2, 3, "100Gbps", "500ns", 0.5])",
                      "[2, 3, 100000000000, 500, 0.5]",
                      R"([2, 3, 20, "100Gbps", "0.5us", 0.5])",
                      "[2, 3, 20, 100000000000, 500, 0.5]",
                      R"({"ends": [2, 3], "rate": "100Gbps", "delay": 500, "error_rate": 0.5})",
                      R"({"ends": [2, 3], "rate": 100000000000, "delay": "500ns",
                          "error_rate": 0.5, "capacity": 20})"})
                {
                    const std::string links = "[" + first + ", " + second + ", " + third + "]";
                    NS_TEST_ASSERT_MSG_EQ((ReadLinks(links) == expected), true, links);
                }
            }
        }
        NS_TEST_ASSERT_MSG_EQ((ReadLinks("[[0, 3]]")[0] == plain), true, "all defaults");
        const Link wide{0, 3, 3, 3 * DEFAULT_LINK_RATE_BPS};
        NS_TEST_ASSERT_MSG_EQ((ReadLinks("[[0, 3, 3]]")[0] == wide), true, "10 Gb/s each");
        NS_TEST_ASSERT_MSG_EQ((ReadLinks(R"([{"ends": [0, 3], "capacity": 3}])")[0] == wide),
                              true,
                              "the same as an object");
    }

    void CheckBadLinkForms()
    {
        const std::map<std::string, std::string> refusals = {
            {R"([0, 3, "fast"])", "link 0: rate \"fast\": expected a positive rate"},
            {R"([0, 3, "10Gbps", "soon"])", "link 0: delay \"soon\": expected a time"},
            {R"([0, 3, "10Gbps", 0.5])", "link 0: delay is 0.5, expected text such as \"1us\""},
            {R"([0, 3, "10Gbps", "1us", "few"])", "link 0: error rate is \"few\", expected a num"},
            {R"([0, 3, "10Gbps", "1us", 0, 0])",
             "expected [a, b, capacity, rate, delay, errors], "
             "[a, b, rate, delay, errors] or an object"},
            {R"([0, 3, 1, 1.5])", "link 0: rate is 1.5, expected text such as \"10Gbps\""},
            {R"(7)", "link 0 is 7, expected [a, b, capacity"},
            {R"({"rate": "10Gbps"})", "link 0: no \"ends\""},
            {R"({"ends": [0]})", "link 0: ends is [0], expected [a, b]"},
            {R"({"ends": [0, -3]})", "link 0: node is -3, expected a whole number"},
            {R"({"ends": [0, 3], "speed": 1})",
             "link 0: unknown key \"speed\", expected ends, "
             "rate, delay, error_rate, capacity"},
            {R"({"ends": [0, 3], "capacity": 65536})", "link 0: capacity is 65536, expected a who"},
            {R"({"ends": [0, 3], "capacity": "10Gbps"})", "link 0: capacity is \"10Gbps\""},
            {R"({"ends": [0, 3], "rate": null})", "link 0: rate is null"},
        };
        for (const auto& [link, why] : refusals)
        {
            CheckRefused(R"({"servers": 3, "switches": 1, "links": [)" + link + "]}", why);
        }
    }

    void CheckStatedCapacities()
    {
        const auto capacities = [this](const std::string& links) {
            std::vector<uint32_t> list;
            for (const Link& link : ReadLinks(links))
            {
                list.push_back(link.capacity);
            }
            return list;
        };
        using List = std::vector<uint32_t>;
        NS_TEST_ASSERT_MSG_EQ(
            (capacities(R"([[0, 3, "10Gbps"], [1, 3, "25Gbps"], [2, 3, "100Gbps"]])") ==
             List{2, 5, 20}),
            true,
            "nobody states a capacity");
        NS_TEST_ASSERT_MSG_EQ(
            (capacities(R"([[0, 3, 1, "10Gbps"], [1, 3, "25Gbps"], [2, 3, "100Gbps"]])") ==
             List{1, 2, 10}),
            true,
            "one says what a unit flow is");
        NS_TEST_ASSERT_MSG_EQ(
            (capacities(R"([[0, 3, 1], [1, 3, 2, "25Gbps"], [2, 3, 10, "100Gbps"]])") ==
             List{1, 2, 10}),
            true,
            "all do, and round down");
        CheckRefused(R"({"servers": 2, "switches": 1,
                         "links": [[0, 2, 100, 1000000000], [1, 2, 1, 100000000000]]})",
                     "topology-test.txt: link 1-2: capacity 1 at 100Gbps contradicts link 0-2, "
                     "capacity 100 at 1Gbps: with unit flows of 10Mbps expected capacity 10000, "
                     "or leave the capacities out");
        CheckRefused(R"({"servers": 3, "switches": 1, "links":
                         [[0, 3, 1, "10Gbps"], [1, 3, 1, "25Gbps"], [2, 3, 1, "100Gbps"]]})",
                     "link 1-3: capacity 1 at 25Gbps contradicts link 0-3, capacity 1 at 10Gbps: "
                     "with unit flows of 10Gbps expected capacity 2, or");
        CheckRefused(R"({"servers": 2, "switches": 1,
                         "links": [[0, 2, "10Gbps"], [1, 2, 1, "100Gbps"]]})",
                     "link 1-2: capacity 1 at 100Gbps contradicts link 0-2, capacity 1 at 10Gbps");
        CheckRefused(R"({"servers": 2, "switches": 1, "links": [[0, 2, 3, "10Gbps"], [1, 2, 1]]})",
                     "with unit flows of 3.33333Gbps expected capacity 3, or");
    }

    /// A schedule may hold a network one of whose links is slower than it was planned for.
    void CheckSlowedLink()
    {
        std::vector<Link> links = MakeBCube(2, 1).GetLinks();
        links[3].rateBps /= 3;
        const Topology slowed("slowed", 4, 4, links);
        const Topology again = TopologyFromJson(TopologyToJson(slowed), "slowed");
        NS_TEST_ASSERT_MSG_EQ((again.GetLinks() == links), true, "read back as written");
    }

    void CheckLinkList()
    {
        // Switches may have any ids; here the switch is node 0.
        const Topology topology = ReadText("3 1 3\n0\n1 0 400Gbps 0.0005ms 0\n"
                                           "2 0 50Gbps 1us 0.5\n2 0 50Gbps 1us 0.5\n");
        NS_TEST_ASSERT_MSG_EQ(topology.GetNServers(), 2, "servers");
        NS_TEST_ASSERT_MSG_EQ(topology.GetNLinks(), 2, "two lines for one pair are one link");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).a, 0, "node 1 is server 0");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).b, 2, "node 0 is the switch");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).capacity, 4, "400 Gb/s against 100 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).delayNs, 500, "0.0005 ms");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(1).rateBps, 100'000'000'000, "50 + 50 Gb/s");
        const Topology uneven =
            ReadText("4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 25Gbps 1us 0\n2 3 100Gbps 1us 0\n");
        NS_TEST_ASSERT_MSG_EQ(uneven.GetLink(0).capacity, 2, "10 Gb/s in unit flows of 5 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(uneven.GetLink(1).capacity, 5, "25 Gb/s in unit flows of 5 Gb/s");
        CheckRefused("", "line 1: the file ends, expected the number of nodes");
        CheckRefused("3 1", "line 1: the line ends, expected the number of nodes");
        CheckRefused("3 4 0\n", "line 1: 4 is too large");
        CheckRefused("3 2 0\n", "line 1: 1 servers");
        CheckRefused("4 0 2\n", "line 1: 2 links cannot join 4 servers, expected 3 or more");
        CheckRefused("3 1 1\n", "line 2: the file ends, expected the ids of 1 switches");
        CheckRefused("4 2 1\n3 3\n", "line 2: a switch is named twice");
        CheckRefused("3 1 1\n2\n0 3 1Gbps 1us 0\n", "line 3: 3 is too large, expected link 1 of 1");
        CheckRefused("3 1 1\n2\n0 2 -1Gbps 1us 0\n",
                     "line 3: rate \"-1Gbps\": expected a positive");
        CheckRefused("3 1 1\n2\n0 2 1Gbps -1us 0\n", "line 3: time \"-1us\": expected a time");
        CheckRefused("3 1 1\n2\n0 2 1Gbps 1us 7\n", "line 3: error rate \"7\": expected a number");
        CheckRefused("3 1 1\n2\n0 2 fast 1us 0\n", "line 3: rate \"fast\"");
        CheckRefused("3 1 2\n2\n0 2 1Gbps 1us 0\n", "line 4: the file ends, expected link 2 of 2");
    }
};

/// @ingroup allreduce-tests
/// @brief Topology files in both formats, good and bad ones.
class TopologyFileTestSuite : public TestSuite
{
  public:
    TopologyFileTestSuite()
        : TestSuite("allreduce-topology-file", TestSuite::Type::UNIT)
    {
        AddTestCase(new TopologyFileTestCase);
    }
};

TopologyFileTestSuite g_topologyFileTestSuite; //!< registers the suite

} // namespace
