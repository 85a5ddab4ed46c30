/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "background-traffic.h"

#include "ns3/bit-mix.h"
#include "ns3/double.h"
#include "ns3/inet-socket-address.h"
#include "ns3/log.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/topology-metrics.h"
#include "ns3/udp-socket-factory.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceBackgroundTraffic");
NS_OBJECT_ENSURE_REGISTERED(BackgroundTraffic);

namespace
{

constexpr uint32_t IP_AND_UDP_BYTES = 20 + 8;

/// Of equal paths different ones are chosen for different servers: if all took the first, the links
/// that it has in common with others would be full.
/// @return a shortest path between two servers @param hops from the first to each node
Path
ChoosePath(const Topology& topology,
           NodeId server,
           const std::vector<uint32_t>& hops,
           NodeId target)
{
    Path path{target};
    while (hops[path.back()] > 0)
    {
        std::vector<NodeId> nearer;
        for (const Topology::Port& port : topology.GetPorts(path.back()))
        {
            if (hops[port.neighbor] < hops[path.back()])
            {
                nearer.push_back(port.neighbor);
            }
        }
        const auto chance = MixBits(MixBits(MixBits(server) + target) + path.back());
        path.push_back(nearer[chance % nearer.size()]);
    }
    std::reverse(path.begin(), path.end());
    return path;
}

} // namespace

TypeId
BackgroundTraffic::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::BackgroundTraffic")
                            .SetParent<Application>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<BackgroundTraffic>()
                            .AddAttribute("Load",
                                          "Share of the rate of its ports that the server uses.",
                                          DoubleValue(0.1),
                                          MakeDoubleAccessor(&BackgroundTraffic::m_load),
                                          MakeDoubleChecker<double>(0, 1));
    return tid;
}

BackgroundTraffic::BackgroundTraffic()
    : m_gapRandom(CreateObject<ExponentialRandomVariable>()),
      m_targetRandom(CreateObject<UniformRandomVariable>())
{
}

void
BackgroundTraffic::SetNetwork(Ptr<AllReduceNetwork> network, NodeId server)
{
    m_network = network;
    m_server = server;
}

int64_t
BackgroundTraffic::AssignRandomStreams(int64_t stream)
{
    m_gapRandom->SetStream(stream);
    m_targetRandom->SetStream(stream + 1);
    return 2;
}

uint64_t
BackgroundTraffic::GetBytesSent() const
{
    return m_bytesSent;
}

void
BackgroundTraffic::DoDispose()
{
    m_next.Cancel();
    m_socket = nullptr;
    m_network = nullptr;
    Application::DoDispose();
}

void
BackgroundTraffic::StartApplication()
{
    NS_LOG_FUNCTION(this << m_server << m_load);
    m_socket = Socket::CreateSocket(GetNode(), UdpSocketFactory::GetTypeId());
    m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    m_socket->SetRecvCallback(MakeCallback(&BackgroundTraffic::Discard, this));
    FindPaths();
    double rate = 0;
    for (const Topology::Port& port : m_network->GetTopology().GetPorts(m_server))
    {
        rate += m_network->GetRate(port.out);
    }
    const uint16_t mtu = m_network->GetMtu();
    m_packetSize = mtu - IP_AND_UDP_BYTES;
    m_meanGap = 8.0 * mtu / (m_load * rate);
    if (m_load > 0 && rate > 0 && !m_targets.empty())
    {
        m_next = Simulator::Schedule(Seconds(m_gapRandom->GetValue(m_meanGap, 0)),
                                     &BackgroundTraffic::SendOne,
                                     this);
    }
}

void
BackgroundTraffic::StopApplication()
{
    NS_LOG_FUNCTION(this << m_server);
    m_next.Cancel();
    if (m_socket)
    {
        m_socket->Close();
    }
}

void
BackgroundTraffic::FindPaths()
{
    const Topology& topology = m_network->GetTopology();
    const std::vector<uint32_t> hops = ComputeDistances(topology, m_server);
    uint64_t portRate = 0;
    for (const Topology::Port& port : topology.GetPorts(m_server))
    {
        portRate = std::max(portRate, m_network->GetRate(port.out));
    }
    m_paths.resize(topology.GetNServers());
    m_shares.resize(topology.GetNServers());
    for (NodeId target = 0; target < topology.GetNServers(); ++target)
    {
        if (target != m_server && hops[target] != UNREACHABLE)
        {
            const Path path = ChoosePath(topology, m_server, hops, target);
            m_paths[target] = m_network->MakePathTag(path);
            m_shares[target] = GetShare(path, portRate);
            m_targets.push_back(target);
        }
    }
}

double
BackgroundTraffic::GetShare(const Path& path, uint64_t portRate) const
{
    uint64_t slowest = portRate;
    for (const DirectedLinkId link : FindLinks(m_network->GetTopology(), path))
    {
        slowest = std::min(slowest, m_network->GetRate(link));
    }
    return static_cast<double>(slowest) / portRate;
}

void
BackgroundTraffic::SendOne()
{
    const NodeId target = m_targets[m_targetRandom->GetInteger(0, m_targets.size() - 1)];
    if (m_targetRandom->GetValue(0, 1) < m_shares[target])
    {
        const Ptr<Packet> packet = Create<Packet>(m_packetSize);
        packet->AddPacketTag(m_paths[target]);
        m_socket->SendTo(packet, 0, InetSocketAddress(m_network->GetServerAddress(target), PORT));
        m_bytesSent += m_packetSize;
    }
    m_next = Simulator::Schedule(Seconds(m_gapRandom->GetValue(m_meanGap, 0)),
                                 &BackgroundTraffic::SendOne,
                                 this);
}

void
BackgroundTraffic::Discard(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
    }
}

} // namespace ns3::allreduce
