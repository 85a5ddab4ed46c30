/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"

#include "ns3/application-container.h"
#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/node.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/packet.h"
#include "ns3/pinned-path-routing.h"
#include "ns3/pinned-path-tag.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-spec.h"
#include "ns3/udp-echo-helper.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"

#include <map>
#include <memory>
#include <numeric>
#include <vector>

namespace ns3::allreduce
{

namespace
{

constexpr uint16_t PORT = 5000;
constexpr uint32_t UDP_PAYLOAD = 1000;
/// PPP, IPv4 and UDP headers.
constexpr uint32_t UDP_OVERHEAD = 2 + 20 + 8;

const std::string TCP = "ns3::TcpSocketFactory";
const std::string UDP = "ns3::UdpSocketFactory";

/// Everything a test needs: a network, counters on all of its links, senders and receivers.
class PinnedPathTestCase : public TestCase
{
  public:
    using TestCase::TestCase;

  protected:
    /// A packet that PinnedPathRouting dropped.
    struct DroppedPacket
    {
        NodeId node;                          //!< where
        PinnedPathRouting::DropReason reason; //!< why
    };

    /**
     * Stand up the network.
     *
     * @param spec the topology
     * @param fallback what is behind the pinned paths, if anything
     */
    void Build(const std::string& spec, const Ipv4RoutingHelper* fallback = nullptr)
    {
        TopologyHelper topology(ParseTopology(spec));
        if (fallback)
        {
            topology.SetFallbackRouting(*fallback);
        }
        m_network = topology.Install();
        m_bytes.assign(m_network->GetTopology().GetNDirectedLinks(), 0);
        for (DirectedLinkId link = 0; link < m_network->GetTopology().GetNDirectedLinks(); ++link)
        {
            m_network->GetDevice(link)->TraceConnectWithoutContext(
                "PhyTxEnd",
                MakeBoundCallback(&CountBytes, &m_bytes[link]));
        }
        for (NodeId node = 0; node < m_network->GetTopology().GetNNodes(); ++node)
        {
            m_network->GetRouting(node)->TraceConnectWithoutContext(
                "Drop",
                MakeBoundCallback(&RecordDrop, &m_drops, node));
        }
    }

    /// @return a receiver of TCP or UDP at a server
    Ptr<PacketSink> Receive(const std::string& factory, NodeId server, uint16_t port = PORT)
    {
        PacketSinkHelper helper(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
        return DynamicCast<PacketSink>(helper.Install(m_network->GetServer(server)).Get(0));
    }

    /// Pin a flow of TCP or UDP to a path. @return a receiver at the end of the path
    Ptr<PacketSink> Pin(const std::string& factory, const Path& path)
    {
        m_network->PinFlow(path, factory, 0, PORT);
        return Receive(factory, path.back());
    }

    /// Let a link be down for a while.
    void BreakLink(LinkId link, Time from, Time until)
    {
        Simulator::Schedule(from, &AllReduceNetwork::SetLinkUp, m_network, link, false);
        Simulator::Schedule(until, &AllReduceNetwork::SetLinkUp, m_network, link, true);
    }

    /// Send bytes by TCP to an address.
    void SendTcp(NodeId from, Ipv4Address to, uint64_t bytes, uint16_t port = PORT)
    {
        BulkSendHelper helper(TCP, InetSocketAddress(to, port));
        helper.SetAttribute("MaxBytes", UintegerValue(bytes));
        helper.Install(m_network->GetServer(from));
    }

    /// @return a UDP socket at a server
    Ptr<Socket> MakeUdpSocket(NodeId server)
    {
        return Socket::CreateSocket(m_network->GetServer(server), UdpSocketFactory::GetTypeId());
    }

    /// Send a new packet by a UDP socket.
    static void SendPacket(Ptr<Socket> socket, uint32_t bytes, const InetSocketAddress& to)
    {
        socket->SendTo(Create<Packet>(bytes), 0, to);
    }

    /// Send UDP packets of UDP_PAYLOAD bytes to an address, a hundred microseconds apart.
    void SendUdp(Ptr<Socket> socket, Ipv4Address to, uint32_t count, uint16_t port = PORT)
    {
        for (uint32_t i = 0; i < count; ++i)
        {
            Simulator::ScheduleWithContext(socket->GetNode()->GetId(),
                                           MicroSeconds(100 * i),
                                           &PinnedPathTestCase::SendPacket,
                                           socket,
                                           UDP_PAYLOAD,
                                           InetSocketAddress(to, port));
        }
    }

    /// @return the address of a server's first interface
    Ipv4Address AddressOf(NodeId server) const
    {
        return m_network->GetServerAddress(server);
    }

    /// @return the directed links of a path
    std::vector<DirectedLinkId> LinksOf(const Path& path) const
    {
        std::vector<DirectedLinkId> links;
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            links.push_back(*m_network->GetTopology().FindDirectedLink(path[i], path[i + 1]));
        }
        return links;
    }

    /// Expect that the links of the given paths, and no others, have carried bytes.
    void ExpectOnly(const std::vector<Path>& paths)
    {
        std::vector<bool> expected(m_bytes.size(), false);
        for (const auto& path : paths)
        {
            for (const auto link : LinksOf(path))
            {
                expected[link] = true;
            }
        }
        const auto& topology = m_network->GetTopology();
        for (DirectedLinkId link = 0; link < m_bytes.size(); ++link)
        {
            NS_TEST_EXPECT_MSG_EQ(
                (m_bytes[link] > 0),
                expected[link],
                m_bytes[link] << " bytes from " << topology.Describe(topology.GetSource(link))
                              << " to " << topology.Describe(topology.GetTarget(link)));
        }
    }

    /// Expect that each link of a path has carried exactly so many UDP packets.
    void ExpectUdpPackets(const Path& path, uint32_t count)
    {
        for (const auto link : LinksOf(path))
        {
            NS_TEST_EXPECT_MSG_EQ(m_bytes[link],
                                  count * (UDP_PAYLOAD + UDP_OVERHEAD),
                                  "bytes on " << FormatPath(path));
        }
    }

    /// @return a path in the other direction
    static Path Reversed(const Path& path)
    {
        return {path.rbegin(), path.rend()};
    }

    Ptr<AllReduceNetwork> m_network;    //!< the network
    std::vector<uint64_t> m_bytes;      //!< bytes sent, by directed link
    std::vector<DroppedPacket> m_drops; //!< packets dropped

  private:
    /// Trace sink: a packet has been sent.
    static void CountBytes(uint64_t* bytes, Ptr<const Packet> packet)
    {
        *bytes += packet->GetSize();
    }

    /// Trace sink: a packet has been dropped.
    static void RecordDrop(std::vector<DroppedPacket>* drops,
                           NodeId node,
                           Ptr<const Packet> /* packet */,
                           const Ipv4Header& /* header */,
                           PinnedPathRouting::DropReason reason)
    {
        drops->push_back({node, reason});
    }

    void DoTeardown() override
    {
        m_network = nullptr;
        Simulator::Destroy();
    }
};

/// TCP: data goes along the path, acknowledgements come back along it, nothing goes elsewhere.
class TcpTestCase : public PinnedPathTestCase
{
  public:
    /**
     * @param spec the topology
     * @param path the path; with two nodes that are not joined, a shortest path is taken
     * @param how what is special about the path
     */
    TcpTestCase(const std::string& spec, const Path& path, const std::string& how)
        : PinnedPathTestCase("TCP in " + spec + " crosses exactly its path " + how),
          m_spec(spec),
          m_path(path)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 200'000;
        Build(m_spec);
        if (m_path.size() == 2)
        {
            m_path = FindShortestPath(m_network->GetTopology(), m_path[0], m_path[1]);
        }
        const auto sink = Pin(TCP, m_path);
        SendTcp(m_path.front(), AddressOf(m_path.back()), BYTES);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), BYTES, "bytes received");
        ExpectOnly({m_path, Reversed(m_path)});
        for (const auto link : LinksOf(m_path))
        {
            NS_TEST_EXPECT_MSG_GT(m_bytes[link], BYTES, "data on the path");
            NS_TEST_EXPECT_MSG_LT(m_bytes[Reverse(link)], BYTES / 5, "only ACKs on the way back");
        }
        NS_TEST_EXPECT_MSG_EQ(m_drops.size(), 0, "drops");
    }

    std::string m_spec; //!< the topology
    Path m_path;        //!< the path
};

/// How a UDP socket is used; routing sees the packet in another state each time.
enum class UdpUse
{
    UNBOUND,   //!< no address: asks for a route before the header is written
    BOUND,     //!< bound to an address: asks afterwards
    CONNECTED, //!< knows its peer
    TAGGED,    //!< the application attaches the path itself
};

/// UDP: every packet crosses each link of the path once, and no other link.
class UdpTestCase : public PinnedPathTestCase
{
  public:
    /**
     * @param use how the socket is used
     * @param how the same in words
     */
    UdpTestCase(UdpUse use, const std::string& how)
        : PinnedPathTestCase("UDP from a socket that is " + how + " crosses exactly its path"),
          m_use(use)
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        const Path path{0, 12, 3, 10, 4};
        if (m_use != UdpUse::TAGGED)
        {
            m_network->PinFlow(path, UDP, 0, PORT);
        }
        const auto sink = Receive(UDP, 4);
        const auto socket = MakeUdpSocket(0);
        if (m_use == UdpUse::BOUND)
        {
            socket->Bind(InetSocketAddress(AddressOf(0), 0));
        }
        if (m_use == UdpUse::CONNECTED)
        {
            socket->Connect(InetSocketAddress(AddressOf(4), PORT));
        }
        auto packet = Create<Packet>(UDP_PAYLOAD);
        if (m_use == UdpUse::TAGGED)
        {
            packet->AddPacketTag(m_network->MakePathTag(path));
        }
        for (uint32_t i = 0; i < 7; ++i)
        {
            // The same packet every time: sending must not wear its tag out.
            Simulator::Schedule(MicroSeconds(i), &UdpTestCase::SendAgain, this, socket, packet);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 7 * UDP_PAYLOAD, "bytes received");
        ExpectOnly({path});
        ExpectUdpPackets(path, 7);
    }

    /// Send a packet to server 4.
    void SendAgain(Ptr<Socket> socket, Ptr<Packet> packet) const
    {
        if (m_use == UdpUse::CONNECTED)
        {
            socket->Send(packet);
        }
        else
        {
            socket->SendTo(packet, 0, InetSocketAddress(AddressOf(4), PORT));
        }
    }

    UdpUse m_use; //!< how the socket is used
};

/// What a UDP server answers comes back along the same path.
class UdpReplyTestCase : public PinnedPathTestCase
{
  public:
    UdpReplyTestCase()
        : PinnedPathTestCase("UDP replies take the reverse path")
    {
    }

  private:
    void DoRun() override
    {
        Build("dcell:3,1");
        const Path path{1, 12, 0, 3, 13, 4};
        m_network->PinFlow(path, UDP, 0, PORT);
        UdpEchoServerHelper(PORT).Install(m_network->GetServer(4));
        UdpEchoClientHelper client(AddressOf(4), PORT);
        client.SetAttribute("MaxPackets", UintegerValue(3));
        client.SetAttribute("PacketSize", UintegerValue(UDP_PAYLOAD));
        client.Install(m_network->GetServer(1));
        Simulator::Run();
        ExpectOnly({path, Reversed(path)});
        ExpectUdpPackets(path, 3);
        ExpectUdpPackets(Reversed(path), 3);
    }
};

/// One pair of servers, four flows, four paths, all at the same time.
class SeveralPathsTestCase : public PinnedPathTestCase
{
  public:
    SeveralPathsTestCase()
        : PinnedPathTestCase("Several flows of one pair take several paths at once")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        const Path first{0, 9, 1, 13, 4};
        const Path second{0, 12, 3, 10, 4};
        const Path third{0, 9, 2, 14, 5, 10, 4};
        m_network->PinFlow(first, TCP, 0, 1000);
        m_network->PinFlow(second, TCP, 0, 2000);
        m_network->PinFlow(third, UDP, 77, 2000);
        const auto firstSink = Receive(TCP, 4, 1000);
        const auto secondSink = Receive(TCP, 4, 2000);
        const auto thirdSink = Receive(UDP, 4, 2000);
        SendTcp(0, AddressOf(4), 100'000, 1000);
        SendTcp(0, AddressOf(4), 200'000, 2000);
        const auto socket = MakeUdpSocket(0);
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 77));
        SendUdp(socket, AddressOf(4), 10, 2000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(firstSink->GetTotalRx(), 100'000, "first flow");
        NS_TEST_EXPECT_MSG_EQ(secondSink->GetTotalRx(), 200'000, "second flow");
        NS_TEST_EXPECT_MSG_EQ(thirdSink->GetTotalRx(), 10 * UDP_PAYLOAD, "third flow");
        ExpectOnly({first, Reversed(first), second, Reversed(second), third});
        ExpectUdpPackets({9, 2, 14, 5, 10}, 10);
        NS_TEST_EXPECT_MSG_LT(m_bytes[LinksOf(first)[1]], 200'000, "first flow on its own path");
        NS_TEST_EXPECT_MSG_GT(m_bytes[LinksOf(second)[1]], 200'000, "second flow on its own path");
    }
};

/// Flows that run against each other over the same links do not mix.
class OppositeFlowsTestCase : public PinnedPathTestCase
{
  public:
    OppositeFlowsTestCase()
        : PinnedPathTestCase("Both servers of a pair can open flows, each on its own path")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        const Path there{0, 9, 1, 13, 4};
        const Path back{4, 10, 3, 12, 0};
        const auto sinkThere = Pin(UDP, there);
        const auto sinkBack = Pin(UDP, back);
        SendUdp(MakeUdpSocket(0), AddressOf(4), 3);
        SendUdp(MakeUdpSocket(4), AddressOf(0), 5);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sinkThere->GetTotalRx(), 3 * UDP_PAYLOAD, "there");
        NS_TEST_EXPECT_MSG_EQ(sinkBack->GetTotalRx(), 5 * UDP_PAYLOAD, "back");
        ExpectOnly({there, back});
        ExpectUdpPackets(there, 3);
        ExpectUdpPackets(back, 5);
    }
};

/// The most exact pin decides; another pin for the same flow replaces the first.
class PrecedenceTestCase : public PinnedPathTestCase
{
  public:
    PrecedenceTestCase()
        : PinnedPathTestCase("The most exact pin of a flow decides, and the last of the same kind")
    {
    }

  private:
    /// @return which pin a flow finds, by its only hop; 0 for none
    uint32_t Find(const PinnedFlow& flow)
    {
        const auto* path = m_routing->FindFlow(flow);
        return path ? path->GetInterface() : 0;
    }

    void DoRun() override
    {
        m_routing = CreateObject<PinnedPathRouting>();
        auto pin = [this](uint16_t local, uint16_t remote, uint16_t hop) {
            m_routing->AddFlow({6, local, remote, 9}, PinnedPathTag(0, {hop}));
        };
        NS_TEST_EXPECT_MSG_EQ(Find({6, 1, 2, 9}), 0, "nothing pinned yet");
        pin(0, 0, 1);
        NS_TEST_EXPECT_MSG_EQ(Find({6, 1, 2, 9}), 1, "any ports");
        pin(1, 0, 2);
        NS_TEST_EXPECT_MSG_EQ(Find({6, 1, 2, 9}), 2, "any remote port");
        pin(0, 2, 3);
        NS_TEST_EXPECT_MSG_EQ(Find({6, 1, 2, 9}), 3, "any local port");
        pin(1, 2, 4);
        NS_TEST_EXPECT_MSG_EQ(Find({6, 1, 2, 9}), 4, "exact");
        pin(1, 2, 5);
        NS_TEST_EXPECT_MSG_EQ(Find({6, 1, 2, 9}), 5, "replaced");
        NS_TEST_EXPECT_MSG_EQ(Find({6, 8, 8, 9}), 1, "other ports");
        NS_TEST_EXPECT_MSG_EQ(Find({17, 1, 2, 9}), 0, "other protocol");
        NS_TEST_EXPECT_MSG_EQ(Find({6, 1, 2, 8}), 0, "other server");
    }

    Ptr<PinnedPathRouting> m_routing; //!< the table under test
};

/// A flow moves to another path when it is pinned anew, also while it runs.
class MoveTestCase : public PinnedPathTestCase
{
  public:
    MoveTestCase()
        : PinnedPathTestCase("A running flow moves when it is pinned to another path")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        const Path before{0, 9, 1, 13, 4};
        const Path after{0, 12, 3, 10, 4};
        PinTo(before);
        const auto sink = Receive(UDP, 4);
        SendUdp(MakeUdpSocket(0), AddressOf(4), 10);
        Simulator::Schedule(MicroSeconds(350), &MoveTestCase::PinTo, this, after);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 10 * UDP_PAYLOAD, "bytes received");
        ExpectUdpPackets(before, 4);
        ExpectUdpPackets(after, 6);
    }

    /// Pin the flow to a path.
    void PinTo(const Path& path)
    {
        m_network->PinFlow(path, UDP, 0, PORT);
    }
};

/// A server with several addresses is reached on the pinned path whichever of them is used.
class AnyAddressTestCase : public PinnedPathTestCase
{
  public:
    AnyAddressTestCase()
        : PinnedPathTestCase("Each address of a server with several ports leads along the path")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,2");
        const Path path = FindShortestPath(m_network->GetTopology(), 0, 26);
        const auto sink = Pin(TCP, path);
        const auto ipv4 = m_network->GetServer(26)->GetObject<Ipv4>();
        for (uint32_t interface = 1; interface <= 3; ++interface)
        {
            SendTcp(0, ipv4->GetAddress(interface, 0).GetLocal(), 50'000);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 150'000, "bytes received");
        ExpectOnly({path, Reversed(path)});
    }
};

/// A broken link on the way drops the packet, says so, and serves again when it is mended.
class BrokenLinkTestCase : public PinnedPathTestCase
{
  public:
    /**
     * @param hop which link of the path breaks
     * @param fallback whether another protocol could find a way around
     */
    BrokenLinkTestCase(uint32_t hop, bool fallback)
        : PinnedPathTestCase("A broken link " + std::to_string(hop) +
                             " hops from the sender drops what is pinned to it" +
                             (fallback ? ", even if there is a way around" : "")),
          m_hop(hop),
          m_fallback(fallback)
    {
    }

  private:
    void DoRun() override
    {
        const Ipv4GlobalRoutingHelper global;
        Build("bcube:3,1", m_fallback ? &global : nullptr);
        if (m_fallback)
        {
            Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        }
        const Path path{0, 12, 3, 10, 4};
        const LinkId broken = LinksOf(path)[m_hop] / 2;
        const auto sink = Pin(UDP, path);
        SendUdp(MakeUdpSocket(0), AddressOf(4), 10);
        BreakLink(broken, MicroSeconds(250), MicroSeconds(650));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 6 * UDP_PAYLOAD, "bytes received");
        ExpectUdpPackets({path.begin(), path.begin() + m_hop + 1}, 10);
        ExpectUdpPackets({path.begin() + m_hop, path.end()}, 6);
        ExpectUdpPackets({0, 9, 1, 13, 4}, 0);
        NS_TEST_EXPECT_MSG_EQ(m_drops.size(), 4, "each loss is told once");
        for (const auto& drop : m_drops)
        {
            NS_TEST_EXPECT_MSG_EQ(drop.node, path[m_hop], "at the node before the link");
            NS_TEST_EXPECT_MSG_EQ(drop.reason, PinnedPathRouting::DROP_INTERFACE_DOWN, "reason");
        }
        NS_TEST_EXPECT_MSG_EQ(m_network->GetRouting(path[m_hop])->GetNDropped(), 4, "count");
    }

    uint32_t m_hop;  //!< which link of the path breaks
    bool m_fallback; //!< whether another protocol could find a way around
};

/// TCP waits until the link is mended, and then delivers everything on the same path.
class BrokenLinkTcpTestCase : public PinnedPathTestCase
{
  public:
    BrokenLinkTcpTestCase()
        : PinnedPathTestCase("TCP survives a link that breaks and is mended")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        const Path path{0, 12, 3, 10, 4};
        const auto sink = Pin(TCP, path);
        SendTcp(0, AddressOf(4), 1'000'000);
        const LinkId first = LinksOf(path)[0] / 2;
        BreakLink(first, MicroSeconds(300), MilliSeconds(300));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 1'000'000, "bytes received");
        NS_TEST_EXPECT_MSG_GT(m_drops.size(), 0, "drops");
        ExpectOnly({path, Reversed(path)});
    }
};

/// A server may be forbidden to relay.
class NoForwardingTestCase : public PinnedPathTestCase
{
  public:
    NoForwardingTestCase()
        : PinnedPathTestCase("A server that does not forward drops what it should relay")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        m_network->PinFlow({0, 12, 3, 10, 4}, UDP, 0, PORT);
        m_network->GetServer(3)->GetObject<Ipv4>()->SetAttribute("IpForward", BooleanValue(false));
        const auto sink = Receive(UDP, 4);
        SendUdp(MakeUdpSocket(0), AddressOf(4), 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 0, "bytes received");
        NS_TEST_ASSERT_MSG_EQ(m_drops.size(), 1, "drops");
        NS_TEST_EXPECT_MSG_EQ(m_drops[0].node, 3, "node");
        NS_TEST_EXPECT_MSG_EQ(m_drops[0].reason,
                              PinnedPathRouting::DROP_FORWARDING_DISABLED,
                              "reason");
    }
};

/// A path that an application attached by mistake does not deliver to the wrong server.
class MisguidedTestCase : public PinnedPathTestCase
{
  public:
    MisguidedTestCase()
        : PinnedPathTestCase("A packet whose path ends elsewhere than its address is dropped")
    {
    }

  private:
    /// Send a packet with a path from server 0 to the address of server 4.
    void Send(Ptr<Socket> socket, const PinnedPathTag& tag)
    {
        auto packet = Create<Packet>(UDP_PAYLOAD);
        packet->AddPacketTag(tag);
        socket->SendTo(packet, 0, InetSocketAddress(AddressOf(4), PORT));
    }

    void DoRun() override
    {
        Build("bcube:3,1");
        const auto sink = Receive(UDP, 1);
        const auto socket = MakeUdpSocket(0);
        const uint32_t source = m_network->GetServer(0)->GetId();
        Send(socket, m_network->MakePathTag({0, 9, 1}));
        Send(socket, PinnedPathTag(source, {1, 99, 1}));
        Send(socket, PinnedPathTag(source, {99}));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 0, "bytes received");
        std::map<PinnedPathRouting::DropReason, NodeId> nodes;
        for (const auto& drop : m_drops)
        {
            nodes[drop.reason] += drop.node + 1;
        }
        NS_TEST_EXPECT_MSG_EQ(m_drops.size(), 3, "drops");
        NS_TEST_EXPECT_MSG_EQ(nodes[PinnedPathRouting::DROP_WRONG_DESTINATION], 1 + 1, "server 1");
        NS_TEST_EXPECT_MSG_EQ(nodes[PinnedPathRouting::DROP_NO_SUCH_INTERFACE],
                              (9 + 1) + (0 + 1),
                              "switch 9 and server 0");
    }
};

/// An application can send on what it received: the path that it came along is void.
class RelayedPacketTestCase : public PinnedPathTestCase
{
  public:
    /// @param fallback whether there is a list of routing protocols
    explicit RelayedPacketTestCase(bool fallback)
        : PinnedPathTestCase(std::string("A packet that an application passes on forgets its first "
                                         "path") +
                             (fallback ? ", with a fallback too" : "")),
          m_fallback(fallback)
    {
    }

  private:
    /// Send what arrives at server 3 on to server 4.
    void PassOn(Ptr<Socket> socket)
    {
        while (const auto packet = socket->Recv())
        {
            socket->SendTo(packet, 0, InetSocketAddress(AddressOf(4), PORT));
        }
    }

    void DoRun() override
    {
        const Ipv4GlobalRoutingHelper global;
        Build("bcube:3,1", m_fallback ? &global : nullptr);
        const Path first{0, 12, 3};
        const Path second{3, 10, 4};
        m_network->PinFlow(first, UDP, 0, PORT);
        m_network->PinFlow(second, UDP, 0, PORT);
        const auto relay = MakeUdpSocket(3);
        relay->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        relay->SetRecvCallback(MakeCallback(&RelayedPacketTestCase::PassOn, this));
        const auto sink = Receive(UDP, 4);
        SendUdp(MakeUdpSocket(0), AddressOf(3), 3);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 3 * UDP_PAYLOAD, "bytes received");
        ExpectOnly({first, second});
        ExpectUdpPackets(first, 3);
        ExpectUdpPackets(second, 3);
    }

    bool m_fallback; //!< whether there is a list of routing protocols
};

/// Without a pin there is no route, and the socket is told so.
class UnpinnedTestCase : public PinnedPathTestCase
{
  public:
    UnpinnedTestCase()
        : PinnedPathTestCase("A flow without a path has no route")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        m_network->PinFlow({0, 9, 1}, UDP, 0, PORT);
        const auto udp = MakeUdpSocket(0);
        NS_TEST_EXPECT_MSG_EQ(
            udp->SendTo(Create<Packet>(1), 0, InetSocketAddress(AddressOf(2), PORT)),
            -1,
            "UDP");
        NS_TEST_EXPECT_MSG_EQ(udp->GetErrno(), Socket::ERROR_NOROUTETOHOST, "UDP");
        const auto tcp =
            Socket::CreateSocket(m_network->GetServer(0), TcpSocketFactory::GetTypeId());
        NS_TEST_EXPECT_MSG_EQ(tcp->Connect(InetSocketAddress(AddressOf(2), PORT)), -1, "TCP");
        NS_TEST_EXPECT_MSG_EQ(tcp->GetErrno(), Socket::ERROR_NOROUTETOHOST, "TCP");
        const auto sink = Receive(UDP, 1, PORT + 1);
        SendUdp(udp, AddressOf(1), 1, PORT + 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 0, "another port of a server with a pin");
        ExpectOnly({});
    }
};

/// Behind the pinned paths another protocol takes what is not pinned.
class FallbackTestCase : public PinnedPathTestCase
{
  public:
    FallbackTestCase()
        : PinnedPathTestCase("What is not pinned takes the fallback's route")
    {
    }

  private:
    void DoRun() override
    {
        const Ipv4GlobalRoutingHelper global;
        Build("bcube:3,1", &global);
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        const Path detour{0, 12, 3, 10, 4, 13, 1};
        const Path direct{0, 9, 1};
        m_network->PinFlow(detour, UDP, 0, PORT);
        const auto pinned = Receive(UDP, 1, PORT);
        const auto unpinned = Receive(UDP, 1, PORT + 1);
        const auto tcp = Receive(TCP, 1, PORT);
        const auto socket = MakeUdpSocket(0);
        SendUdp(socket, AddressOf(1), 3, PORT);
        SendUdp(socket, AddressOf(1), 5, PORT + 1);
        SendTcp(0, AddressOf(1), 100'000, PORT);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(pinned->GetTotalRx(), 3 * UDP_PAYLOAD, "pinned UDP");
        NS_TEST_EXPECT_MSG_EQ(unpinned->GetTotalRx(), 5 * UDP_PAYLOAD, "unpinned UDP");
        NS_TEST_EXPECT_MSG_EQ(tcp->GetTotalRx(), 100'000, "unpinned TCP");
        ExpectOnly({detour, direct, Reversed(direct)});
        ExpectUdpPackets(detour, 3);
    }
};

/// A path may be as long as an IPv4 packet lives.
class LongPathTestCase : public PinnedPathTestCase
{
  public:
    LongPathTestCase()
        : PinnedPathTestCase("A path of 255 hops works, a longer one is refused")
    {
    }

  private:
    void DoRun() override
    {
        Build("torus:300");
        Path path(256);
        std::iota(path.begin(), path.end(), 0);
        const auto sink = Pin(UDP, path);
        SendUdp(MakeUdpSocket(0), AddressOf(255), 2);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 2 * UDP_PAYLOAD, "bytes received");
        ExpectOnly({path});

        path.push_back(256);
        const auto message = GetAbortMessage([&] { m_network->PinFlow(path, UDP, 0, PORT); });
        NS_TEST_EXPECT_MSG_NE(message.find("has 256 hops, expected at most 255"),
                              std::string::npos,
                              message);
    }
};

/// A datagram larger than the MTU goes along the path in fragments.
class FragmentsTestCase : public PinnedPathTestCase
{
  public:
    FragmentsTestCase()
        : PinnedPathTestCase("Fragments of a large datagram stay on the path")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        const Path path{0, 12, 3, 10, 4};
        const auto sink = Pin(UDP, path);
        const auto socket = MakeUdpSocket(0);
        Simulator::Schedule(Seconds(0),
                            &FragmentsTestCase::SendPacket,
                            socket,
                            20'000,
                            InetSocketAddress(AddressOf(4), PORT));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 20'000, "bytes received");
        ExpectOnly({path});
    }
};

/// A server talks to itself without any link.
class SelfTestCase : public PinnedPathTestCase
{
  public:
    SelfTestCase()
        : PinnedPathTestCase("A server reaches itself without any link")
    {
    }

  private:
    void DoRun() override
    {
        Build("bcube:3,1");
        const auto udp = Receive(UDP, 4);
        const auto tcp = Receive(TCP, 4);
        SendUdp(MakeUdpSocket(4), AddressOf(4), 2);
        SendUdp(MakeUdpSocket(4), Ipv4Address::GetLoopback(), 3);
        SendTcp(4, AddressOf(4), 100'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(udp->GetTotalRx(), 5 * UDP_PAYLOAD, "UDP");
        NS_TEST_EXPECT_MSG_EQ(tcp->GetTotalRx(), 100'000, "TCP");
        ExpectOnly({});
    }
};

/// The tag comes out of a packet as it went in.
class TagTestCase : public TestCase
{
  public:
    TagTestCase()
        : TestCase("The tag keeps its path and position")
    {
    }

  private:
    void DoRun() override
    {
        PinnedPathTag::Hops hops;
        for (uint32_t i = 0; i < 200; ++i)
        {
            hops.push_back(65535 - i);
        }
        PinnedPathTag tag(123'456'789, hops);
        tag.Advance();
        auto packet = Create<Packet>(10);
        packet->AddPacketTag(tag);
        PinnedPathTag copy;
        NS_TEST_ASSERT_MSG_EQ(packet->PeekPacketTag(copy), true, "tag");
        NS_TEST_EXPECT_MSG_EQ(copy.GetSource(), 123'456'789, "source");
        NS_TEST_EXPECT_MSG_EQ(copy.GetPosition(), 1, "position");
        NS_TEST_EXPECT_MSG_EQ(copy.GetInterface(), 65534, "interface");
        NS_TEST_EXPECT_MSG_EQ((copy.GetHops() == hops), true, "hops");
    }
};

/// The pinned paths' tests.
class PinnedPathRoutingTestSuite : public TestSuite
{
  public:
    PinnedPathRoutingTestSuite()
        : TestSuite("allreduce-pinned-path", TestSuite::Type::UNIT)
    {
        AddTestCase(new TagTestCase);
        AddTestCase(new PrecedenceTestCase);
        AddTestCase(new TcpTestCase("bcube:3,1", {0, 9, 1}, "over a switch"));
        AddTestCase(new TcpTestCase("bcube:3,1", {0, 12, 3, 10, 4}, "over a relaying server"));
        AddTestCase(new TcpTestCase("bcube:3,1", {0, 9, 2, 14, 5, 10, 4, 13, 1}, "on a detour"));
        AddTestCase(new TcpTestCase("dcell:3,1", {0, 3}, "over a link between servers"));
        AddTestCase(
            new TcpTestCase("dcell:3,1", {1, 12, 0, 3, 13, 4}, "over servers and switches"));
        AddTestCase(new TcpTestCase("dcell:2,2", {0, 41}, "through several cells"));
        AddTestCase(new TcpTestCase("jellyfish:20,4,2", {0, 39}, "over switches only"));
        AddTestCase(new TcpTestCase("fattree:4", {0, 15}, "through the core"));
        AddTestCase(new TcpTestCase("torus:4x4", {0, 10}, "over servers only"));
        AddTestCase(new UdpTestCase(UdpUse::UNBOUND, "not bound"));
        AddTestCase(new UdpTestCase(UdpUse::BOUND, "bound to an address"));
        AddTestCase(new UdpTestCase(UdpUse::CONNECTED, "connected"));
        AddTestCase(new UdpTestCase(UdpUse::TAGGED, "given tagged packets"));
        AddTestCase(new UdpReplyTestCase);
        AddTestCase(new SeveralPathsTestCase);
        AddTestCase(new OppositeFlowsTestCase);
        AddTestCase(new MoveTestCase);
        AddTestCase(new AnyAddressTestCase);
        for (const bool fallback : {false, true})
        {
            AddTestCase(new BrokenLinkTestCase(0, fallback));
            AddTestCase(new BrokenLinkTestCase(2, fallback));
            AddTestCase(new RelayedPacketTestCase(fallback));
        }
        AddTestCase(new BrokenLinkTcpTestCase);
        AddTestCase(new NoForwardingTestCase);
        AddTestCase(new MisguidedTestCase);
        AddTestCase(new UnpinnedTestCase);
        AddTestCase(new FallbackTestCase);
        AddTestCase(new LongPathTestCase);
        AddTestCase(new FragmentsTestCase);
        AddTestCase(new SelfTestCase);
    }
};

/// The instance that the test runner finds.
PinnedPathRoutingTestSuite g_pinnedPathRoutingTestSuite;

} // namespace

} // namespace ns3::allreduce
