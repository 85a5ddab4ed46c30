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

/// @return the rate of a server's fastest port, in bit/s
uint64_t
GetPortRate(const AllReduceNetwork& network, NodeId server)
{
    uint64_t rate = 0;
    for (const Topology::Port& port : network.GetTopology().GetPorts(server))
    {
        rate = std::max(rate, network.GetRate(port.out));
    }
    return rate;
}

/// @return the rate of all ports of a server, in bit/s
double
SumPortRates(const AllReduceNetwork& network, NodeId server)
{
    double rate = 0;
    for (const Topology::Port& port : network.GetTopology().GetPorts(server))
    {
        rate += network.GetRate(port.out);
    }
    return rate;
}

/// @return the rate of a path's slowest link over that of its first server's fastest port
double
GetSpeed(const AllReduceNetwork& network, const Path& path)
{
    const uint64_t portRate = GetPortRate(network, path.front());
    uint64_t slowest = portRate;
    for (const DirectedLinkId link : FindLinks(network.GetTopology(), path))
    {
        slowest = std::min(slowest, network.GetRate(link));
    }
    return static_cast<double>(slowest) / portRate;
}

/// @return a path to each other server that can be reached
std::vector<Path>
ChoosePaths(const Topology& topology, NodeId server)
{
    const std::vector<uint32_t> hops = ComputeDistances(topology, server);
    std::vector<Path> paths;
    for (NodeId target = 0; target < topology.GetNServers(); ++target)
    {
        if (target != server && hops[target] != UNREACHABLE)
        {
            paths.push_back(ChoosePath(topology, server, hops, target));
        }
    }
    return paths;
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

std::shared_ptr<const BackgroundTraffic::LinkLoads>
BackgroundTraffic::ComputeLinkLoads(const AllReduceNetwork& network)
{
    const Topology& topology = network.GetTopology();
    auto loads = std::make_shared<LinkLoads>(topology.GetNDirectedLinks());
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const std::vector<Path> paths = ChoosePaths(topology, server);
        const double rate = SumPortRates(network, server) / paths.size();
        for (const Path& path : paths)
        {
            const double sent = rate * GetSpeed(network, path);
            for (const DirectedLinkId link : FindLinks(topology, path))
            {
                (*loads)[link] += sent / network.GetRate(link);
            }
        }
    }
    return loads;
}

void
BackgroundTraffic::SetLinkLoads(std::shared_ptr<const LinkLoads> loads)
{
    m_loads = std::move(loads);
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
    const double rate = SumPortRates(*m_network, m_server);
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
    m_paths.resize(topology.GetNServers());
    m_shares.resize(topology.GetNServers());
    for (const Path& path : ChoosePaths(topology, m_server))
    {
        m_paths[path.back()] = m_network->MakePathTag(path);
        m_shares[path.back()] = GetShare(path);
        m_targets.push_back(path.back());
    }
}

double
BackgroundTraffic::GetShare(const Path& path) const
{
    constexpr double MOST_LOAD = 0.9;
    double mostLoad = MOST_LOAD;
    if (m_loads)
    {
        for (const DirectedLinkId link : FindLinks(m_network->GetTopology(), path))
        {
            mostLoad = std::max(mostLoad, m_load * (*m_loads)[link]);
        }
    }
    return GetSpeed(*m_network, path) * MOST_LOAD / mostLoad;
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
