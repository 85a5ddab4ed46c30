/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "background-traffic.h"

#include "ns3/double.h"
#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(BackgroundTraffic);

namespace
{

constexpr uint32_t IP_AND_UDP_BYTES = 20 + 8;

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
    std::vector<Path> paths(topology.GetNNodes());
    paths[m_server] = {m_server};
    std::vector<NodeId> reached{m_server};
    for (std::size_t i = 0; i < reached.size(); ++i)
    {
        for (const Topology::Port& port : topology.GetPorts(reached[i]))
        {
            Path& path = paths[port.neighbor];
            if (path.empty())
            {
                path = paths[reached[i]];
                path.push_back(port.neighbor);
                reached.push_back(port.neighbor);
            }
        }
    }
    m_paths.resize(topology.GetNServers());
    for (NodeId target = 0; target < topology.GetNServers(); ++target)
    {
        if (paths[target].size() > 1)
        {
            m_paths[target] = m_network->MakePathTag(paths[target]);
            m_targets.push_back(target);
        }
    }
}

void
BackgroundTraffic::SendOne()
{
    const NodeId target = m_targets[m_targetRandom->GetInteger(0, m_targets.size() - 1)];
    const Ptr<Packet> packet = Create<Packet>(m_packetSize);
    packet->AddPacketTag(m_paths[target]);
    m_socket->SendTo(packet, 0, InetSocketAddress(m_network->GetServerAddress(target), PORT));
    m_bytesSent += m_packetSize;
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
