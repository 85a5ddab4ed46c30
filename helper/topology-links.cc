/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How a TopologyHelper makes links: devices of ns-3 or light ones, how long their queues are, and
 * the order in which what they carry arrives. The nodes around them do not depend on any of this.
 */

#include "topology-helper.h"

#include "ns3/arrival-order.h"
#include "ns3/distributed-run.h"
#include "ns3/error-model.h"
#include "ns3/light-link-device.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/node.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/**
 * Make a device lose packets at random.
 *
 * @param device the receiving device
 * @param errorRate the probability that a packet is lost
 */
void
AddErrors(Ptr<NetDevice> device, double errorRate)
{
    auto errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(errorRate);
    device->SetAttribute("ReceiveErrorModel", PointerValue(errors));
}

/**
 * Packets of many flows can begin together, each at the pace of a slower link, and those of flows
 * that follow each other overlap by the difference of their delays.
 *
 * @param topology the network
 * @param mtu largest packet
 * @return for how many seconds of sending a queue should hold packets
 */
double
ComputeQueueSeconds(const Topology& topology, uint32_t mtu)
{
    constexpr double SLOW_PACKETS = 4;
    double seconds = 0;
    int64_t longestNs = 0;
    for (const Link& link : topology.GetLinks())
    {
        seconds = std::max(seconds, SLOW_PACKETS * 8 * mtu / link.rateBps);
        longestNs = std::max(longestNs, link.delayNs);
    }
    return seconds + 2e-9 * longestNs;
}

/// @return by node: bytes that one port of a switch may take of the buffer that its ports share
std::vector<double>
ComputeBufferShares(const Topology& topology)
{
    // What all ports send in 25 us, which is chosen, and half of it for a port while no other has a
    // queue, as dynamic thresholds with a factor of 1 give.
    constexpr double BUFFER_SECONDS = 25e-6;
    std::vector<double> shares(topology.GetNNodes());
    for (const Link& link : topology.GetLinks())
    {
        for (const NodeId end : {link.a, link.b})
        {
            shares[end] += topology.IsServer(end) ? 0 : BUFFER_SECONDS * link.rateBps / 8 / 2;
        }
    }
    return shares;
}

/**
 * @param link a link
 * @param seconds see ComputeQueueSeconds
 * @param share the larger one of its ends: see ComputeBufferShares
 * @param mtu largest packet
 * @return bytes that the link's queues should hold
 */
uint64_t
ComputeQueueBytes(const Link& link, double seconds, double share, uint32_t mtu)
{
    constexpr double LEAST_PACKETS = 100;
    constexpr double MOST_BYTES = 64 << 20; // as the shared buffers of large switches
    const double least = LEAST_PACKETS * mtu;
    const double wanted = std::max(seconds * link.rateBps / 8, share);
    return std::llround(std::clamp(wanted, least, std::max(least, MOST_BYTES)));
}

/// @return whether this rank simulates a node
bool
IsHere(Ptr<Node> node)
{
    return GetNRanks() == 1 || node->GetSystemId() == GetRank();
}

/// Let a device of ns-3 keep to an order.
void
SetReceiver(Ptr<ArrivalOrder> order, Ptr<PointToPointNetDevice> device)
{
    order->SetReceiver(device->GetIfIndex(),
                       [device](const Ptr<Packet>& packet) { device->Receive(packet); });
}

/// A packet goes to another rank.
void
NotifyTransmission(Ptr<const Packet>)
{
    HoldPromises();
}

/// A packet comes from another rank.
void
NotifyArrival(Ptr<ArrivalOrder> order, uint32_t port, Ptr<Packet> packet)
{
    order->Arrive(port, packet);
}

} // namespace

void
TopologyHelper::CreateLinks()
{
    UintegerValue mtu;
    m_lightDevice.Create()->GetAttribute("Mtu", mtu);
    const double seconds = ComputeQueueSeconds(m_topology, mtu.Get());
    const std::vector<double> shares = ComputeBufferShares(m_topology);
    for (const auto& link : m_topology.GetLinks())
    {
        if (!m_hasOwnQueue)
        {
            const double share = std::max(shares[link.a], shares[link.b]);
            SetQueueBytes(ComputeQueueBytes(link, seconds, share, mtu.Get()));
        }
        CreateLink(link);
    }
}

void
TopologyHelper::CreateLink(const Link& link)
{
    const auto a = m_nodes.Get(link.a);
    const auto b = m_nodes.Get(link.b);
    m_pointToPoint.SetDeviceAttribute("DataRate", DataRateValue(DataRate(link.rateBps)));
    m_pointToPoint.SetChannelAttribute("Delay", TimeValue(NanoSeconds(link.delayNs)));
    const auto devices = m_isLight ? CreateLightLink(a, b, link) : m_pointToPoint.Install(a, b);
    for (uint32_t end = 0; end < devices.GetN(); ++end)
    {
        m_devices.Add(devices.Get(end));
        if (link.errorRate > 0)
        {
            AddErrors(devices.Get(end), link.errorRate);
        }
        if (IsHere(a) != IsHere(b) && UsesNullMessages())
        {
            devices.Get(end)->TraceConnectWithoutContext("PhyTxBegin",
                                                         MakeCallback(&NotifyTransmission));
        }
    }
}

void
TopologyHelper::SetQueueBytes(uint64_t bytes)
{
    const QueueSizeValue size(QueueSize(QueueSizeUnit::BYTES, bytes));
    m_queue.Set("MaxSize", size);
    m_pointToPoint.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", size);
}

NetDeviceContainer
TopologyHelper::CreateLightLink(Ptr<Node> a, Ptr<Node> b, const Link& link) const
{
    const auto deviceA = CreateLightDevice(a, link);
    const auto deviceB = CreateLightDevice(b, link);
    const auto channel = CreateObject<LightLinkChannel>();
    channel->SetAttribute("Delay", TimeValue(NanoSeconds(link.delayNs)));
    channel->Connect(deviceA, deviceB);
    if (IsHere(a) != IsHere(b))
    {
        deviceA->SetRemote();
        deviceB->SetRemote();
    }
    NetDeviceContainer devices(deviceA);
    devices.Add(deviceB);
    return devices;
}

Ptr<LightLinkDevice>
TopologyHelper::CreateLightDevice(Ptr<Node> node, const Link& link) const
{
    const auto device = m_lightDevice.Create<LightLinkDevice>();
    device->SetDataRate(DataRate(link.rateBps));
    device->SetAddress(Mac48Address::Allocate());
    node->AddDevice(device);
    device->SetQueue(m_queue.Create<Queue<Packet>>());
    const auto interface = CreateObject<NetDeviceQueueInterface>();
    device->AggregateObject(interface);
    device->SetFlowControl(interface->GetTxQueue(0));
    return device;
}

void
TopologyHelper::AddShortcuts()
{
    for (DirectedLinkId link = 0; link < m_devices.GetN(); ++link)
    {
        if (const auto device = DynamicCast<LightLinkDevice>(m_devices.Get(link)))
        {
            const auto routing = m_built->GetRouting(m_topology.GetSource(link));
            const auto ipv4 = device->GetNode()->GetObject<Ipv4>();
            const uint32_t interface = ipv4->GetInterfaceForDevice(device);
            device->AddShortcut([routing, interface](const Ptr<Packet>& frame) {
                return routing->TakeFrame(interface, frame);
            });
        }
    }
}

void
TopologyHelper::OrderArrivals()
{
    std::vector<Ptr<ArrivalOrder>> orders;
    for (NodeId node = 0; node < m_nodes.GetN(); ++node)
    {
        orders.push_back(Create<ArrivalOrder>());
    }
    for (LinkId id = 0; id < m_topology.GetNLinks(); ++id)
    {
        const Link& link = m_topology.GetLink(id);
        OrderArrivals(link,
                      {m_devices.Get(2 * id), m_devices.Get(2 * id + 1)},
                      {orders[link.a], orders[link.b]});
    }
}

void
TopologyHelper::OrderArrivals(const Link& link,
                              const std::array<Ptr<NetDevice>, 2>& devices,
                              const std::array<Ptr<ArrivalOrder>, 2>& orders) const
{
    if (DynamicCast<LightLinkDevice>(devices[0]))
    {
        DynamicCast<LightLinkDevice>(devices[0])->SetArrivalOrder(orders[0]);
        DynamicCast<LightLinkDevice>(devices[1])->SetArrivalOrder(orders[1]);
        return;
    }
    const auto a = DynamicCast<PointToPointNetDevice>(devices[0]);
    const auto b = DynamicCast<PointToPointNetDevice>(devices[1]);
    SetReceiver(orders[0], a);
    SetReceiver(orders[1], b);
    if (IsHere(m_nodes.Get(link.a)) && IsHere(m_nodes.Get(link.b)))
    {
        const auto channel = CreateObject<OrderedChannel>();
        channel->SetAttribute("Delay", TimeValue(NanoSeconds(link.delayNs)));
        channel->Join(a, orders[0], b, orders[1]);
    }
    else
    {
        SetRemoteReceiver(a, MakeBoundCallback(&NotifyArrival, orders[0], a->GetIfIndex()));
        SetRemoteReceiver(b, MakeBoundCallback(&NotifyArrival, orders[1], b->GetIfIndex()));
    }
}

} // namespace ns3::allreduce
