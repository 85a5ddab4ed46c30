/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-network.h"

#include "distributed-run.h"

#include "ns3/abort-on-input-error.h"
#include "ns3/channel.h"
#include "ns3/data-rate.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/udp-l4-protocol.h"
#include "ns3/udp-socket-factory.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceNetwork");
NS_OBJECT_ENSURE_REGISTERED(AllReduceNetwork);

TypeId
AllReduceNetwork::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::AllReduceNetwork")
            .SetParent<Object>()
            .SetGroupName("AllReduce")
            .AddTraceSource("LinkChanged",
                            "A link broke or was mended.",
                            MakeTraceSourceAccessor(&AllReduceNetwork::m_linkChanged),
                            "ns3::allreduce::AllReduceNetwork::LinkChangedTracedCallback");
    return tid;
}

AllReduceNetwork::AllReduceNetwork(Topology topology,
                                   const NodeContainer& nodes,
                                   const NetDeviceContainer& devices)
    : m_topology(std::move(topology)),
      m_devices(devices),
      m_isDown(m_topology.GetNLinks(), false),
      m_isBroken(m_topology.GetNLinks(), false),
      m_outages(m_topology.GetNLinks()),
      m_slowdowns(m_topology.GetNDirectedLinks(), 1)
{
    NS_ABORT_MSG_IF(
        nodes.GetN() != m_topology.GetNNodes() || devices.GetN() != m_topology.GetNDirectedLinks(),
        m_topology.GetName() << ": " << nodes.GetN() << " nodes and " << devices.GetN()
                             << " devices, expected " << m_topology.GetNNodes() << " and "
                             << m_topology.GetNDirectedLinks() << ", one for each directed link");
    for (NodeId node = 0; node < m_topology.GetNNodes(); ++node)
    {
        (m_topology.IsServer(node) ? m_servers : m_switches).Add(nodes.Get(node));
    }
    for (auto device = m_devices.Begin(); device != m_devices.End(); ++device)
    {
        const auto ipv4 = (*device)->GetNode()->GetObject<Ipv4>();
        const int32_t interface = ipv4 ? ipv4->GetInterfaceForDevice(*device) : -1;
        NS_ABORT_MSG_IF(interface < 0,
                        m_topology.GetName()
                            << ": the device of directed link " << m_interfaces.size()
                            << " has no IPv4 interface, expected one");
        m_interfaces.push_back(interface);
    }
}

const Topology&
AllReduceNetwork::GetTopology() const
{
    return m_topology;
}

Ptr<Node>
AllReduceNetwork::GetNode(NodeId node) const
{
    RequireBelow("node", node, m_topology.GetNNodes());
    const uint32_t nServers = m_topology.GetNServers();
    return node < nServers ? m_servers.Get(node) : m_switches.Get(node - nServers);
}

Ptr<Node>
AllReduceNetwork::GetServer(uint32_t i) const
{
    RequireBelow("server", i, m_topology.GetNServers());
    return m_servers.Get(i);
}

Ptr<Node>
AllReduceNetwork::GetSwitch(uint32_t j) const
{
    RequireBelow("switch", j, m_topology.GetNSwitches());
    return m_switches.Get(j);
}

const NodeContainer&
AllReduceNetwork::GetServers() const
{
    return m_servers;
}

const NodeContainer&
AllReduceNetwork::GetSwitches() const
{
    return m_switches;
}

const NetDeviceContainer&
AllReduceNetwork::GetDevices() const
{
    return m_devices;
}

Ptr<NetDevice>
AllReduceNetwork::GetDevice(DirectedLinkId link) const
{
    RequireBelow("directed link", link, m_topology.GetNDirectedLinks());
    return m_devices.Get(link);
}

uint32_t
AllReduceNetwork::GetInterface(DirectedLinkId link) const
{
    RequireBelow("directed link", link, m_topology.GetNDirectedLinks());
    return m_interfaces[link];
}

Ipv4Address
AllReduceNetwork::GetServerAddress(NodeId server) const
{
    const auto ipv4 = GetServer(server)->GetObject<Ipv4>();
    NS_ABORT_MSG_IF(m_topology.GetPorts(server).empty(),
                    "server " << server << " in " << m_topology.GetName()
                              << " has no link and so no address");
    return ipv4->GetAddress(1, 0).GetLocal();
}

Ptr<PinnedPathRouting>
AllReduceNetwork::GetRouting(NodeId node) const
{
    const auto ipv4 = GetNode(node)->GetObject<Ipv4>();
    return Ipv4RoutingHelper::GetRouting<PinnedPathRouting>(ipv4->GetRoutingProtocol());
}

void
AllReduceNetwork::PinFlow(const Path& path,
                          uint8_t protocol,
                          uint16_t sourcePort,
                          uint16_t destinationPort)
{
    NS_LOG_FUNCTION(this << FormatPath(path) << +protocol << sourcePort << destinationPort);
    RequirePath(path);
    PinDirection(path, protocol, sourcePort, destinationPort);
    PinDirection({path.rbegin(), path.rend()}, protocol, destinationPort, sourcePort);
}

void
AllReduceNetwork::PinFlow(const Path& path,
                          const std::string& socketFactory,
                          uint16_t sourcePort,
                          uint16_t destinationPort)
{
    const bool isTcp = socketFactory == TcpSocketFactory::GetTypeId().GetName();
    NS_ABORT_MSG_UNLESS(isTcp || socketFactory == UdpSocketFactory::GetTypeId().GetName(),
                        "PinFlow: socket factory "
                            << socketFactory
                            << ", expected ns3::TcpSocketFactory or ns3::UdpSocketFactory");
    PinFlow(path,
            isTcp ? TcpL4Protocol::PROT_NUMBER : UdpL4Protocol::PROT_NUMBER,
            sourcePort,
            destinationPort);
}

void
AllReduceNetwork::PinDirection(const Path& path,
                               uint8_t protocol,
                               uint16_t localPort,
                               uint16_t remotePort)
{
    const uint32_t remoteNode = GetNode(path.back())->GetId();
    GetRouting(path.front())
        ->AddFlow({protocol, localPort, remotePort, remoteNode}, MakePathTag(path));
}

PinnedPathTag
AllReduceNetwork::MakePathTag(const Path& path) const
{
    RequirePath(path);
    PinnedPathTag::Hops hops;
    ForEachLink(m_topology, path, [&](DirectedLinkId link) { hops.push_back(m_interfaces[link]); });
    return PinnedPathTag(GetNode(path.front())->GetId(), hops);
}

void
AllReduceNetwork::SetLinkUp(LinkId link, bool isUp)
{
    RequireBelow("link", link, m_topology.GetNLinks());
    m_isBroken[link] = !isUp;
    UpdateLink(link);
}

void
AllReduceNetwork::ScheduleOutage(LinkId link, Time delay, std::optional<Time> duration)
{
    RequireBelow("link", link, m_topology.GetNLinks());
    Outage outage{Simulator::Now() + delay, std::nullopt};
    const Ptr<AllReduceNetwork> self(this);
    Simulator::Schedule(delay, &AllReduceNetwork::UpdateLink, self, link);
    if (duration)
    {
        outage.end = outage.begin + *duration;
        Simulator::Schedule(delay + *duration, &AllReduceNetwork::UpdateLink, self, link);
    }
    m_outages[link].push_back(outage);
}

const AllReduceNetwork::Outage*
AllReduceNetwork::FindOutage(LinkId link, Time time) const
{
    const Outage* found = nullptr;
    for (const Outage& outage : m_outages[link])
    {
        const bool holds = outage.begin <= time && (!outage.end || time < *outage.end);
        const bool isLonger = !found || (found->end && (!outage.end || *found->end < *outage.end));
        found = holds && isLonger ? &outage : found;
    }
    return found;
}

void
AllReduceNetwork::UpdateLink(LinkId link)
{
    const bool isUp = !m_isBroken[link] && !FindOutage(link, Simulator::Now());
    if (IsLinkUp(link) == isUp)
    {
        return;
    }
    NS_LOG_INFO("link " << link << " of " << m_topology.GetName()
                        << (isUp ? " is mended" : " breaks"));
    m_isDown[link] = !isUp;
    for (const DirectedLinkId end : {2 * link, 2 * link + 1})
    {
        const auto ipv4 = GetDevice(end)->GetNode()->GetObject<Ipv4>();
        isUp ? ipv4->SetUp(m_interfaces[end]) : ipv4->SetDown(m_interfaces[end]);
    }
    m_linkChanged(link, isUp);
}

bool
AllReduceNetwork::IsLinkUpOrDue(LinkId link) const
{
    RequireBelow("link", link, m_topology.GetNLinks());
    const Outage* outage = FindOutage(link, Simulator::Now());
    while (outage && outage->end)
    {
        outage = FindOutage(link, *outage->end);
    }
    return !m_isBroken[link] && !outage;
}

bool
AllReduceNetwork::IsLinkUp(LinkId link) const
{
    RequireBelow("link", link, m_topology.GetNLinks());
    return !m_isDown[link];
}

uint64_t
AllReduceNetwork::GetRate(DirectedLinkId link) const
{
    DataRateValue rate;
    GetDevice(link)->GetAttribute("DataRate", rate);
    return rate.Get().GetBitRate();
}

void
AllReduceNetwork::SetLinkRate(DirectedLinkId link, uint64_t rateBps)
{
    NS_LOG_FUNCTION(this << link << rateBps);
    RequireBelow("directed link", link, m_topology.GetNDirectedLinks());
    NS_ABORT_MSG_IF(rateBps == 0,
                    "SetLinkRate: directed link " << link << " of " << m_topology.GetName()
                                                  << ": rate 0, expected 1 bit/s or more");
    m_slowdowns[link] = m_topology.GetLinkOf(link).rateBps / double(rateBps);
    m_worstSlowdown = std::max(m_worstSlowdown, m_slowdowns[link]);
    GetDevice(link)->SetAttribute("DataRate", DataRateValue(DataRate(rateBps)));
}

double
AllReduceNetwork::GetSlowdown(DirectedLinkId link) const
{
    RequireBelow("directed link", link, m_topology.GetNDirectedLinks());
    return m_slowdowns[link];
}

double
AllReduceNetwork::GetWorstSlowdown() const
{
    return m_worstSlowdown;
}

Time
AllReduceNetwork::GetDelay(DirectedLinkId link) const
{
    TimeValue delay;
    GetDevice(link)->GetChannel()->GetAttribute("Delay", delay);
    return delay.Get();
}

uint16_t
AllReduceNetwork::GetMtu() const
{
    uint16_t mtu = std::numeric_limits<uint16_t>::max();
    for (DirectedLinkId link = 0; link < GetTopology().GetNDirectedLinks(); ++link)
    {
        mtu = std::min(mtu, GetDevice(link)->GetMtu());
    }
    return mtu;
}

bool
AllReduceNetwork::IsDistributed() const
{
    return GetNRanks() > 1;
}

bool
AllReduceNetwork::IsHere(NodeId node) const
{
    return !IsDistributed() || GetNode(node)->GetSystemId() == GetRank();
}

void
AllReduceNetwork::RequireBelow(const char* what, uint32_t index, uint32_t count) const
{
    NS_ABORT_MSG_IF(index >= count,
                    what << " " << index << " in " << m_topology.GetName()
                         << ", expected an index below " << count);
}

void
AllReduceNetwork::RequirePath(const Path& path) const
{
    AbortOnInputError([&] { m_topology.CheckPath(path); });
    for (const NodeId end : {path.front(), path.back()})
    {
        NS_ABORT_MSG_UNLESS(m_topology.IsServer(end),
                            "path " << FormatPath(path) << " in " << m_topology.GetName()
                                    << ": ends at " << m_topology.Describe(end)
                                    << ", expected servers at both ends");
    }
    NS_ABORT_MSG_IF(path.size() - 1 > PinnedPathTag::MAX_HOPS,
                    "path from " << m_topology.Describe(path.front()) << " to "
                                 << m_topology.Describe(path.back()) << " in "
                                 << m_topology.GetName() << " has " << path.size() - 1
                                 << " hops, expected at most " << PinnedPathTag::MAX_HOPS);
}

} // namespace ns3::allreduce
