/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"

#include "ns3/data-rate.h"
#include "ns3/error-model.h"
#include "ns3/ipv4.h"
#include "ns3/mobility-model.h"
#include "ns3/names.h"
#include "ns3/node.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/queue-disc.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/topology-family-helpers.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-spec.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <set>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)
#define ALLREDUCE_MALLINFO2
#endif
#endif

namespace ns3::allreduce
{

namespace
{

/// A test that leaves nothing of its network behind.
class NetworkTestCase : public TestCase
{
  public:
    using TestCase::TestCase;

  private:
    void DoTeardown() override
    {
        Simulator::Destroy();
    }
};

/// @return an attribute of a device, as text
std::string
GetText(Ptr<Object> object, const std::string& attribute)
{
    StringValue value;
    object->GetAttribute(attribute, value);
    return value.Get();
}

/// @return the delay of the channel that a device is attached to
Time
GetDelay(Ptr<NetDevice> device)
{
    TimeValue delay;
    device->GetChannel()->GetAttribute("Delay", delay);
    return delay.Get();
}

/// @return the rate of a device
DataRate
GetRate(Ptr<NetDevice> device)
{
    DataRateValue rate;
    device->GetAttribute("DataRate", rate);
    return rate.Get();
}

/// @return a network of two servers at one switch, with links unlike each other
Topology
MakeUnevenPair()
{
    Link slow{0, 2};
    slow.rateBps = 1'000'000;
    slow.delayNs = 5'000'000;
    Link wide{1, 2};
    wide.capacity = 2;
    wide.rateBps = 2'000'000;
    wide.errorRate = 0.25;
    return Topology("uneven", 2, 1, {slow, wide});
}

/// Every server and switch is a node, every link a pair of devices joined by a channel.
class StructureTestCase : public NetworkTestCase
{
  public:
    /// @param spec the topology
    explicit StructureTestCase(const std::string& spec)
        : NetworkTestCase(spec + " stands up node for node and link for link"),
          m_spec(spec)
    {
    }

  private:
    void DoRun() override
    {
        const auto network = TopologyHelper(ParseTopology(m_spec)).Install();
        const auto& topology = network->GetTopology();
        NS_TEST_EXPECT_MSG_EQ(network->GetServers().GetN(), topology.GetNServers(), "servers");
        NS_TEST_EXPECT_MSG_EQ(network->GetSwitches().GetN(), topology.GetNSwitches(), "switches");
        CheckNodes(*network);
        CheckLinks(*network);
        CheckAddresses(*network);
    }

    /// Each node has the loopback device and one device per port.
    void CheckNodes(const AllReduceNetwork& network)
    {
        const auto& topology = network.GetTopology();
        for (NodeId node = 0; node < topology.GetNNodes(); ++node)
        {
            NS_TEST_EXPECT_MSG_EQ(network.GetNode(node)->GetNDevices(),
                                  topology.GetPorts(node).size() + 1,
                                  "devices of " << topology.Describe(node));
        }
    }

    /// The two devices of each link sit at its two ends, have its rate and share its channel.
    void CheckLinks(const AllReduceNetwork& network)
    {
        const auto& topology = network.GetTopology();
        for (LinkId id = 0; id < topology.GetNLinks(); ++id)
        {
            const auto& link = topology.GetLink(id);
            const auto a = network.GetDevice(2 * id);
            const auto b = network.GetDevice(2 * id + 1);
            NS_TEST_EXPECT_MSG_EQ(a->GetNode(), network.GetNode(link.a), "end a");
            NS_TEST_EXPECT_MSG_EQ(b->GetNode(), network.GetNode(link.b), "end b");
            NS_TEST_EXPECT_MSG_EQ(a->GetChannel(), b->GetChannel(), "one channel");
            NS_TEST_EXPECT_MSG_EQ(GetRate(a), DataRate(link.rateBps), "rate");
            NS_TEST_EXPECT_MSG_EQ(GetDelay(a), NanoSeconds(link.delayNs), "delay");
        }
    }

    /// Each device has an interface that is up, with an address that no other has.
    void CheckAddresses(const AllReduceNetwork& network)
    {
        std::set<Ipv4Address> seen;
        for (DirectedLinkId link = 0; link < network.GetTopology().GetNDirectedLinks(); ++link)
        {
            const auto node = network.GetNode(network.GetTopology().GetSource(link));
            const auto ipv4 = node->GetObject<Ipv4>();
            const auto interface = network.GetInterface(link);
            NS_TEST_EXPECT_MSG_EQ(ipv4->GetNetDevice(interface), network.GetDevice(link), "device");
            NS_TEST_EXPECT_MSG_EQ(ipv4->IsUp(interface), true, "up");
            const auto address = ipv4->GetAddress(interface, 0).GetLocal();
            NS_TEST_EXPECT_MSG_EQ(seen.insert(address).second, true, address << " is given twice");
        }
        for (uint32_t i = 0; i < network.GetTopology().GetNServers(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(seen.count(network.GetServerAddress(i)), 1, "server " << i);
        }
    }

    std::string m_spec; //!< the topology
};

/// Rates, delays and losses come from the topology, one link unlike the other.
class LinkPropertiesTestCase : public NetworkTestCase
{
  public:
    LinkPropertiesTestCase()
        : NetworkTestCase("Each link has its own rate, delay and loss")
    {
    }

  private:
    void DoRun() override
    {
        TopologyHelper helper(MakeUnevenPair());
        const auto network = helper.Install();
        NS_TEST_EXPECT_MSG_EQ(GetRate(network->GetDevice(0)), DataRate("1Mbps"), "slow");
        NS_TEST_EXPECT_MSG_EQ(GetRate(network->GetDevice(3)), DataRate("2Mbps"), "wide");
        NS_TEST_EXPECT_MSG_EQ(GetDelay(network->GetDevice(1)), MilliSeconds(5), "slow");
        NS_TEST_EXPECT_MSG_EQ(GetDelay(network->GetDevice(2)), MicroSeconds(1), "wide");
        for (DirectedLinkId link = 0; link < 4; ++link)
        {
            PointerValue errors;
            network->GetDevice(link)->GetAttribute("ReceiveErrorModel", errors);
            const auto model = errors.Get<RateErrorModel>();
            NS_TEST_EXPECT_MSG_EQ(bool(model), (link >= 2), "losses on directed link " << link);
            NS_TEST_EXPECT_MSG_EQ(model ? model->GetRate() : 0.25, 0.25, "loss rate");
        }
        NS_TEST_EXPECT_MSG_GT_OR_EQ(helper.AssignStreams(100), 2, "one stream per lossy device");
    }
};

/// What a script sets before Install() holds for every device.
class SettingsTestCase : public NetworkTestCase
{
  public:
    SettingsTestCase()
        : NetworkTestCase("Rate, delay, MTU, queue, addresses and ranks can be set")
    {
    }

  private:
    void DoRun() override
    {
        TopologyHelper helper(MakeUnevenPair());
        helper.SetLinkRate(DataRate("7Mbps"));
        helper.SetLinkDelay(MicroSeconds(3));
        helper.SetDeviceAttribute("Mtu", UintegerValue(9000));
        helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("12p"));
        helper.SetBaseAddress("192.168.4.0", "255.255.255.0");
        helper.SetSystemId([](NodeId node) { return 10 + node; });
        const auto network = helper.Install();
        NS_TEST_EXPECT_MSG_EQ(GetRate(network->GetDevice(0)), DataRate("7Mbps"), "capacity 1");
        NS_TEST_EXPECT_MSG_EQ(GetRate(network->GetDevice(2)), DataRate("14Mbps"), "capacity 2");
        for (DirectedLinkId link = 0; link < 4; ++link)
        {
            const auto device = DynamicCast<PointToPointNetDevice>(network->GetDevice(link));
            NS_TEST_EXPECT_MSG_EQ(GetDelay(device), MicroSeconds(3), "delay");
            NS_TEST_EXPECT_MSG_EQ(device->GetMtu(), 9000, "MTU");
            NS_TEST_EXPECT_MSG_EQ(GetText(device->GetQueue(), "MaxSize"), "12p", "queue");
        }
        NS_TEST_EXPECT_MSG_EQ(network->GetServerAddress(0), Ipv4Address("192.168.4.1"), "address");
        NS_TEST_EXPECT_MSG_EQ(network->GetServerAddress(1), Ipv4Address("192.168.4.5"), "address");
        NS_TEST_EXPECT_MSG_EQ(network->GetServer(1)->GetSystemId(), 11, "rank of server 1");
        NS_TEST_EXPECT_MSG_EQ(network->GetSwitch(0)->GetSystemId(), 12, "rank of the switch");
    }
};

/// No device has a queue disc, unless the script asks for one.
class QueueDiscTestCase : public NetworkTestCase
{
  public:
    /// @param asked whether the script asks for queue discs
    explicit QueueDiscTestCase(bool asked)
        : NetworkTestCase(asked ? "A queue disc is there if asked for"
                                : "No queue disc by default"),
          m_asked(asked)
    {
    }

  private:
    void DoRun() override
    {
        BCubeHelper helper(3, 1);
        if (m_asked)
        {
            TrafficControlHelper trafficControl;
            trafficControl.SetRootQueueDisc("ns3::FifoQueueDisc");
            helper.SetQueueDisc(trafficControl);
        }
        const auto network = helper.Install();
        for (DirectedLinkId link = 0; link < helper.GetTopology().GetNDirectedLinks(); ++link)
        {
            const auto device = network->GetDevice(link);
            const auto layer = device->GetNode()->GetObject<TrafficControlLayer>();
            NS_TEST_EXPECT_MSG_EQ(bool(layer->GetRootQueueDiscOnDevice(device)),
                                  m_asked,
                                  "queue disc on directed link " << link);
        }
    }

    bool m_asked; //!< whether the script asks for queue discs
};

/// Nodes are found under their names, and names can be told apart by a prefix.
class NamesTestCase : public NetworkTestCase
{
  public:
    NamesTestCase()
        : NetworkTestCase("Nodes have names; a prefix tells two networks apart")
    {
    }

  private:
    void DoRun() override
    {
        const auto first = BCubeHelper(2, 1).Install();
        NS_TEST_EXPECT_MSG_EQ(Names::Find<Node>("server-3"), first->GetServer(3), "server-3");
        NS_TEST_EXPECT_MSG_EQ(Names::Find<Node>("switch-4"), first->GetSwitch(0), "switch-4");

        BCubeHelper second(2, 1);
        second.SetNamePrefix("b-");
        const auto other = second.Install();
        NS_TEST_EXPECT_MSG_EQ(Names::Find<Node>("b-server-3"), other->GetServer(3), "b-server-3");

        Simulator::Destroy();
        const auto next = BCubeHelper(2, 1).Install();
        NS_TEST_EXPECT_MSG_EQ(Names::Find<Node>("server-3"), next->GetServer(3), "a later run");
    }
};

/// Every node is drawn inside the bounding box, and no two at the same place.
class PositionsTestCase : public NetworkTestCase
{
  public:
    /// @param spec the topology
    explicit PositionsTestCase(const std::string& spec)
        : NetworkTestCase("The nodes of " + spec + " have places of their own in the box"),
          m_spec(spec)
    {
    }

  private:
    void DoRun() override
    {
        TopologyHelper helper(ParseTopology(m_spec));
        helper.BoundingBox(-10, 20, 30, 60);
        helper.Install();
        CheckInside(helper, -10, 20, 30, 60);
        helper.BoundingBox(0, 0, 1000, 500);
        CheckInside(helper, 0, 0, 1000, 500);
    }

    /// Check all nodes against a box.
    void CheckInside(const TopologyHelper& helper, double ulx, double uly, double lrx, double lry)
    {
        std::set<std::pair<double, double>> seen;
        for (NodeId node = 0; node < helper.GetTopology().GetNNodes(); ++node)
        {
            const auto place =
                helper.GetNetwork()->GetNode(node)->GetObject<MobilityModel>()->GetPosition();
            const bool inside =
                place.x >= ulx && place.x <= lrx && place.y >= uly && place.y <= lry;
            NS_TEST_EXPECT_MSG_EQ(inside, true, "node " << node << " is at " << place);
            NS_TEST_EXPECT_MSG_EQ(seen.insert({place.x, place.y}).second,
                                  true,
                                  "node " << node << " shares its place " << place);
        }
    }

    std::string m_spec; //!< the topology
};

/// BCube: server a_k...a_0 is attached at level l to the switch named by its other digits.
class BCubeAddressTestCase : public NetworkTestCase
{
  public:
    BCubeAddressTestCase()
        : NetworkTestCase("BCubeHelper finds servers by digits, switches by level and index")
    {
    }

  private:
    void DoRun() override
    {
        BCubeHelper helper(3, 2);
        const auto network = helper.Install();
        NS_TEST_EXPECT_MSG_EQ(helper.GetServerId({2, 0, 1}), 19, "2*9 + 0*3 + 1");
        NS_TEST_EXPECT_MSG_EQ(helper.GetServer({2, 0, 1}), network->GetServer(19), "server 201");
        NS_TEST_EXPECT_MSG_EQ((helper.GetDigits(19) == BCubeHelper::Digits{2, 0, 1}), true, "201");
        NS_TEST_EXPECT_MSG_EQ(helper.GetSwitch(1, 7),
                              network->GetSwitch(9 + 7),
                              "level 1, index 7");
        const auto& topology = helper.GetTopology();
        const NodeId server = helper.GetServerId({2, 0, 1});
        for (const auto& [level, index] : {std::pair(0, 6), std::pair(1, 7), std::pair(2, 1)})
        {
            const auto link = topology.FindDirectedLink(server, helper.GetSwitchId(level, index));
            NS_TEST_EXPECT_MSG_EQ(link.has_value(), true, "level " << level);
        }
    }
};

/// DCell: addresses count cells from the top; a cell is a run of servers.
class DCellAddressTestCase : public NetworkTestCase
{
  public:
    DCellAddressTestCase()
        : NetworkTestCase("DCellHelper finds servers by address and the servers of a cell")
    {
    }

  private:
    void DoRun() override
    {
        DCellHelper helper(2, 2);
        const auto network = helper.Install();
        NS_TEST_EXPECT_MSG_EQ(helper.GetCellSize(0), 2, "t_0");
        NS_TEST_EXPECT_MSG_EQ(helper.GetCellSize(1), 6, "t_1");
        NS_TEST_EXPECT_MSG_EQ(helper.GetCellSize(2), 42, "t_2");
        NS_TEST_EXPECT_MSG_EQ(helper.GetServerId({6, 2, 1}), 41, "the last server");
        NS_TEST_EXPECT_MSG_EQ(helper.GetServer({3, 1, 0}), network->GetServer(20), "3*6 + 1*2");
        const auto cell = helper.GetCell(1, 3);
        NS_TEST_EXPECT_MSG_EQ(cell.GetN(), 6, "servers in a DCell_1");
        NS_TEST_EXPECT_MSG_EQ(cell.Get(2), helper.GetServer({3, 1, 0}), "the third of cell 3");
        const auto link = helper.GetTopology().FindDirectedLink(20, 42 + 10);
        NS_TEST_EXPECT_MSG_EQ(link.has_value(), true, "server 20 is at switch 10");
    }
};

/// Jellyfish: servers are found by the switch they are attached to.
class JellyfishAddressTestCase : public NetworkTestCase
{
  public:
    JellyfishAddressTestCase()
        : NetworkTestCase("JellyfishHelper finds servers by their switch")
    {
    }

  private:
    void DoRun() override
    {
        JellyfishHelper helper(10, 3, 2);
        const auto network = helper.Install();
        for (uint32_t j = 0; j < 10; ++j)
        {
            const NodeId server = helper.GetServerIdAt(j, 1);
            NS_TEST_EXPECT_MSG_EQ(helper.GetServerAt(j, 1), network->GetServer(server), "server");
            const auto link = helper.GetTopology().FindDirectedLink(server, 20 + j);
            NS_TEST_EXPECT_MSG_EQ(link.has_value(), true, "attached to switch " << j);
        }
    }
};

/// A script with a wrong value ends with a message that names the value and what was expected.
class WrongValueTestCase : public NetworkTestCase
{
  public:
    WrongValueTestCase()
        : NetworkTestCase("A wrong value ends the script with a message that names it")
    {
    }

  private:
    void DoRun() override
    {
        CheckParameters();
        CheckIndices();
        CheckParts();
        CheckSettings();
        CheckOrder();
        CheckPaths();
    }

    /// Expect that an action aborts with a text.
    void ExpectAbort(const std::function<void()>& action, const std::string& text)
    {
        const auto message = GetAbortMessage(action);
        NS_TEST_EXPECT_MSG_NE(message.find(text),
                              std::string::npos,
                              "expected \"" << text << "\", got \"" << message << "\"");
    }

    /// Expect that an action on an installed BCube(2,1) aborts with a text.
    void ExpectAbortOn(const std::function<void(BCubeHelper&)>& action, const std::string& text)
    {
        ExpectAbort(
            [&] {
                BCubeHelper helper(2, 1);
                helper.Install();
                action(helper);
            },
            text);
    }

    /// Networks that do not exist.
    void CheckParameters()
    {
        ExpectAbort([] { BCubeHelper(1, 1); }, "n is 1, expected 2 or more");
        ExpectAbort([] { DCellHelper(0, 1); }, "n is 0, expected 2 or more");
        ExpectAbort([] { JellyfishHelper(5, 3, 1); }, "jellyfish:5,3,1");
    }

    /// Nodes and links that do not exist.
    void CheckIndices()
    {
        ExpectAbortOn([](BCubeHelper& h) { h.GetNetwork()->GetServer(4); },
                      "server 4 in bcube:2,1, expected an index below 4");
        ExpectAbortOn([](BCubeHelper& h) { h.GetNetwork()->GetSwitch(9); },
                      "switch 9 in bcube:2,1, expected an index below 4");
        ExpectAbortOn([](BCubeHelper& h) { h.GetNetwork()->SetLinkUp(8, false); },
                      "link 8 in bcube:2,1, expected an index below 8");
        ExpectAbortOn([](BCubeHelper& h) { h.GetServer({0, 2}); }, "digit 2");
        ExpectAbortOn([](BCubeHelper& h) { h.GetServer({0, 0, 1}); }, "of 3 digits");
        ExpectAbortOn([](BCubeHelper& h) { h.GetSwitch(2, 0); }, "switch level 2");
        ExpectAbort([] { DCellHelper(2, 1).GetServerId({3, 0}); }, "number 3 at level 1");
        ExpectAbort([] { JellyfishHelper(10, 3, 2).GetServerIdAt(0, 2); }, "server 2 of a switch");
        ExpectAbort(
            [] {
                TopologyHelper helper(Topology("lonely", 3, 0, {Link{0, 1}}));
                helper.Install()->GetServerAddress(2);
            },
            "server 2 in lonely has no link");
    }

    /// Nodes and devices that do not make the network.
    void CheckParts()
    {
        const auto make = [](uint32_t nNodes, const NetDeviceContainer& devices) {
            NodeContainer nodes;
            nodes.Create(nNodes);
            CreateObject<AllReduceNetwork>(Topology("pair", 2, 0, {Link{0, 1}}), nodes, devices);
        };
        ExpectAbort([&] { make(2, {}); }, "pair: 2 nodes and 0 devices, expected 2 and 2");
        ExpectAbort(
            [&] {
                NodeContainer bare;
                bare.Create(2);
                make(2, PointToPointHelper().Install(bare));
            },
            "pair: the device of directed link 0 has no IPv4 interface");
    }

    /// Settings that cannot be met.
    void CheckSettings()
    {
        auto set = [this](const std::function<void(TopologyHelper&)>& action,
                          const std::string& text) {
            ExpectAbort(
                [&] {
                    BCubeHelper helper(3, 1);
                    action(helper);
                    helper.Install();
                },
                text);
        };
        set([](auto& h) { h.SetBaseAddress("10.0.0.0", "255.255.255.240"); },
            "bcube:3,1 has 18 links, expected at most 4");
        set([](auto& h) { h.SetBaseAddress("10.0.0.1", "255.0.0.0"); }, "10.0.0.1");
        set([](auto& h) { h.SetDeviceAttribute("Mtu", UintegerValue(60)); }, "Mtu is 60");
        set([](auto& h) { h.SetDeviceAttribute("DataRate", StringValue("1Mbps")); }, "SetLinkRate");
        set([](auto& h) { h.SetLinkRate(DataRate(0)); }, "SetLinkRate: 0bps");
        set([](auto& h) { h.SetLinkDelay(Seconds(-1)); }, "expected 0 or more");
        set([](auto& h) { h.SetNamePrefix("a/b"); }, "\"a/b\"");
    }

    /// Calls that come too early or too late.
    void CheckOrder()
    {
        ExpectAbort([] { BCubeHelper(2, 1).GetServer({0, 0}); }, "comes after Install()");
        ExpectAbortOn([](BCubeHelper& h) { h.Install(); }, "bcube:2,1 is already installed");
        ExpectAbortOn([](BCubeHelper& h) { h.SetLinkRate(DataRate("1Mbps")); }, "too late");
        ExpectAbortOn(
            [](BCubeHelper&) {
                BCubeHelper other(2, 1);
                other.Install();
            },
            "the name server-0 is taken");
    }

    /// Flows that cannot be pinned.
    void CheckPaths()
    {
        auto pin = [this](const Path& path, const std::string& text) {
            ExpectAbortOn([&](BCubeHelper& h) { h.GetNetwork()->PinFlow(path, 6, 0, 80); }, text);
        };
        pin({0, 4, 99}, "path 0-4-99 in bcube:2,1: unknown node 99");
        pin({0, 5}, "no link between server 0 and switch 5");
        pin({0}, "expected two nodes or more");
        pin({0, 4, 0}, "visits server 0 twice");
        pin({0, 4}, "path 0-4 in bcube:2,1: ends at switch 4, expected servers at both ends");
        ExpectAbortOn(
            [](BCubeHelper& h) {
                h.GetNetwork()->PinFlow({0, 4, 1}, "ns3::Sctp", 0, 80);
            },
            "socket factory ns3::Sctp, expected ns3::TcpSocketFactory");
    }
};

#ifdef ALLREDUCE_MALLINFO2
/// A server and its share of the network take little memory.
class MemoryTestCase : public TestCase
{
  public:
    explicit MemoryTestCase(bool isLight)
        : TestCase(isLight ? "memory of a light network" : "memory of a network"),
          m_isLight(isLight)
    {
    }

  private:
    void DoRun() override
    {
        TopologyHelper helper(ParseTopology("bcube:8,2"));
        helper.SetLight(m_isLight);
        const double before = mallinfo2().uordblks;
        const auto network = helper.Install();
        const double bytes = mallinfo2().uordblks - before;
        constexpr double MOST_BYTES = 50'000;
        NS_TEST_EXPECT_MSG_LT(bytes / network->GetTopology().GetNServers(),
                              MOST_BYTES,
                              "bytes for a server");
        Simulator::Destroy();
    }

    const bool m_isLight; //!< see TopologyHelper::SetLight
};
#endif

/// The helper's tests.
class TopologyHelperTestSuite : public TestSuite
{
  public:
    TopologyHelperTestSuite()
        : TestSuite("allreduce-topology-helper", TestSuite::Type::UNIT)
    {
        for (const std::string& spec : GetTopologyExamples())
        {
            AddTestCase(new StructureTestCase(spec));
            AddTestCase(new PositionsTestCase(spec));
        }
        for (const auto spec :
             {"bcube:2,3", "bcube:10,2", "dcell:2,2", "jellyfish:20,5,3", "torus:3x3x3"})
        {
            AddTestCase(new StructureTestCase(spec));
        }
        AddTestCase(new LinkPropertiesTestCase);
        AddTestCase(new SettingsTestCase);
        AddTestCase(new QueueDiscTestCase(false));
        AddTestCase(new QueueDiscTestCase(true));
        AddTestCase(new NamesTestCase);
        AddTestCase(new BCubeAddressTestCase);
        AddTestCase(new DCellAddressTestCase);
        AddTestCase(new JellyfishAddressTestCase);
        AddTestCase(new WrongValueTestCase);
#ifdef ALLREDUCE_MALLINFO2
        AddTestCase(new MemoryTestCase(false));
        AddTestCase(new MemoryTestCase(true));
#endif
    }
};

/// The instance that the test runner finds.
TopologyHelperTestSuite g_topologyHelperTestSuite;

} // namespace

} // namespace ns3::allreduce
