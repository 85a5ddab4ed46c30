/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-helper.h"

#include "pinned-path-routing-helper.h"

#include "ns3/constant-position-mobility-model.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/error-model.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-list-routing-helper.h"
#include "ns3/light-link-device.h"
#include "ns3/log.h"
#include "ns3/names.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/topology-modifiers.h"

#include <limits>
#include <utility>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceTopologyHelper");

namespace
{

/// Addresses in the /30 of one link.
constexpr uint32_t ADDRESSES_PER_LINK = 4;
/// The smallest MTU with which Ipv4L3Protocol brings an interface up.
constexpr uint16_t MIN_IPV4_MTU = 68;

/**
 * @param device a device
 * @return its error model, or nullptr
 */
Ptr<ErrorModel>
GetErrors(Ptr<NetDevice> device)
{
    PointerValue errors;
    device->GetAttribute("ReceiveErrorModel", errors);
    return errors.Get<ErrorModel>();
}

/// @return what makes light devices with the defaults that users have set for ns-3's
ObjectFactory
MakeLightFactory()
{
    ObjectFactory factory;
    factory.SetTypeId(LightLinkDevice::GetTypeId());
    const TypeId model = PointToPointNetDevice::GetTypeId();
    for (std::size_t i = 0; i < model.GetAttributeN(); ++i)
    {
        factory.Set(model.GetAttribute(i).name, *model.GetAttribute(i).initialValue);
    }
    return factory;
}

} // namespace

TopologyHelper::TopologyHelper(Topology topology)
    : m_topology(std::move(topology)),
      m_lightDevice(MakeLightFactory())
{
    m_queue.SetTypeId(DropTailQueue<Packet>::GetTypeId());
}

void
TopologyHelper::SetDeviceAttribute(const std::string& name, const AttributeValue& value)
{
    RequireNotInstalled("SetDeviceAttribute");
    NS_ABORT_MSG_IF(name == "DataRate",
                    "SetDeviceAttribute: DataRate is a property of each link, use SetLinkRate");
    m_pointToPoint.SetDeviceAttribute(name, value);
    m_lightDevice.Set(name, value);
}

void
TopologyHelper::SetLight(bool isLight)
{
    RequireNotInstalled("SetLight");
    m_isLight = isLight;
}

void
TopologyHelper::SetQueueDisc(const TrafficControlHelper& trafficControl)
{
    RequireNotInstalled("SetQueueDisc");
    m_queueDisc = trafficControl;
}

void
TopologyHelper::SetLinkRate(DataRate rate)
{
    RequireNotInstalled("SetLinkRate");
    NS_ABORT_MSG_IF(rate.GetBitRate() == 0, "SetLinkRate: " << rate << ", expected more than 0");
    m_topology = WithUnitRate(m_topology, rate.GetBitRate());
}

void
TopologyHelper::SetLinkDelay(Time delay)
{
    RequireNotInstalled("SetLinkDelay");
    NS_ABORT_MSG_IF(delay.IsStrictlyNegative(),
                    "SetLinkDelay: " << delay << ", expected 0 or more");
    m_topology = WithDelay(m_topology, delay.GetNanoSeconds());
}

void
TopologyHelper::SetSystemId(std::function<uint32_t(NodeId)> systemId)
{
    RequireNotInstalled("SetSystemId");
    m_systemId = std::move(systemId);
}

void
TopologyHelper::SetArrivalOrder(bool isOrdered)
{
    RequireNotInstalled("SetArrivalOrder");
    m_isOrdered = isOrdered;
}

void
TopologyHelper::SetNamePrefix(const std::string& prefix)
{
    RequireNotInstalled("SetNamePrefix");
    NS_ABORT_MSG_IF(prefix.find('/') != std::string::npos,
                    "SetNamePrefix: \"" << prefix << "\", expected a prefix without a slash");
    m_namePrefix = prefix;
}

void
TopologyHelper::SetBaseAddress(Ipv4Address network, Ipv4Mask mask)
{
    RequireNotInstalled("SetBaseAddress");
    NS_ABORT_MSG_IF(network.CombineMask(mask) != network,
                    "SetBaseAddress: " << network << " with mask " << mask
                                       << ", expected a network address without host bits");
    m_network = network;
    m_mask = mask;
}

void
TopologyHelper::SetFallbackRouting(const Ipv4RoutingHelper& routing)
{
    RequireNotInstalled("SetFallbackRouting");
    m_fallback.reset(routing.Copy());
}

void
TopologyHelper::BoundingBox(double ulx, double uly, double lrx, double lry)
{
    m_upperLeft = {ulx, uly};
    m_lowerRight = {lrx, lry};
    if (m_built)
    {
        PlaceNodes();
    }
}

Ptr<AllReduceNetwork>
TopologyHelper::Install()
{
    NS_LOG_FUNCTION(this << m_topology.GetName());
    RequireNotInstalled("Install");
    CheckSettings();
    CreateNodes();
    CreateLinks();
    if (m_isOrdered)
    {
        OrderArrivals();
    }
    InstallStack();
    AssignAddresses();
    InstallQueueDiscs();
    PlaceNodes();
    NameNodes();
    m_built = CreateObject<AllReduceNetwork>(m_topology, m_nodes, m_devices);
    AddShortcuts();
    return m_built;
}

void
TopologyHelper::CheckSettings() const
{
    const uint64_t addresses = uint64_t{m_mask.GetInverse()} + 1;
    NS_ABORT_MSG_IF(addresses / ADDRESSES_PER_LINK < m_topology.GetNLinks(),
                    m_topology.GetName()
                        << " has " << m_topology.GetNLinks() << " links, expected at most "
                        << addresses / ADDRESSES_PER_LINK << " (a /30 each) in network "
                        << m_network << " with mask " << m_mask);
    for (NodeId node = 0; node < m_topology.GetNNodes(); ++node)
    {
        const auto ports = m_topology.GetPorts(node).size();
        NS_ABORT_MSG_IF(ports >= std::numeric_limits<uint16_t>::max(),
                        m_topology.Describe(node) << " has " << ports << " ports, expected at most "
                                                  << std::numeric_limits<uint16_t>::max() - 1);
    }
}

void
TopologyHelper::CreateNodes()
{
    for (NodeId node = 0; node < m_topology.GetNNodes(); ++node)
    {
        m_nodes.Create(1, m_systemId ? m_systemId(node) : 0);
    }
}

void
TopologyHelper::InstallStack()
{
    m_stack.SetIpv6StackInstall(false);
    const PinnedPathRoutingHelper pinned;
    if (m_fallback)
    {
        Ipv4ListRoutingHelper list;
        list.Add(pinned, 10);
        list.Add(*m_fallback, 0);
        m_stack.SetRoutingHelper(list);
    }
    else
    {
        m_stack.SetRoutingHelper(pinned);
    }
    m_stack.Install(m_nodes);
    for (auto node = m_nodes.Begin(); node != m_nodes.End(); ++node)
    {
        // A pinned path cannot loop, and the default of 64 is too short for a long torus.
        (*node)->GetObject<Ipv4L3Protocol>()->SetDefaultTtl(PinnedPathTag::MAX_HOPS);
    }
}

void
TopologyHelper::AssignAddresses()
{
    for (LinkId link = 0; link < m_topology.GetNLinks(); ++link)
    {
        const uint32_t subnet = m_network.Get() + ADDRESSES_PER_LINK * link;
        AddInterface(2 * link, Ipv4Address(subnet + 1));
        AddInterface(2 * link + 1, Ipv4Address(subnet + 2));
    }
}

void
TopologyHelper::AddInterface(DirectedLinkId link, Ipv4Address address)
{
    // Ipv4AddressHelper would do this too, but also install a queue disc on the device.
    const auto device = m_devices.Get(link);
    const auto ipv4 = device->GetNode()->GetObject<Ipv4>();
    const auto interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask("/30")));
    ipv4->SetMetric(interface, 1);
    ipv4->SetUp(interface);
    NS_ABORT_MSG_UNLESS(ipv4->IsUp(interface),
                        "Mtu is " << device->GetMtu() << ", expected " << MIN_IPV4_MTU
                                  << " or more for IPv4");
}

void
TopologyHelper::InstallQueueDiscs()
{
    if (!m_queueDisc)
    {
        return;
    }
    m_queueDisc->Install(m_devices);
}

void
TopologyHelper::PlaceNodes()
{
    const auto& positions = m_topology.GetPositions();
    const double width = m_lowerRight.x - m_upperLeft.x;
    const double height = m_lowerRight.y - m_upperLeft.y;
    for (NodeId id = 0; id < m_nodes.GetN(); ++id)
    {
        const auto node = m_nodes.Get(id);
        auto place = node->GetObject<MobilityModel>();
        if (!place)
        {
            place = CreateObject<ConstantPositionMobilityModel>();
            node->AggregateObject(place);
        }
        place->SetPosition(
            {m_upperLeft.x + positions[id].x * width, m_upperLeft.y + positions[id].y * height, 0});
    }
}

void
TopologyHelper::NameNodes()
{
    for (NodeId node = 0; node < m_nodes.GetN(); ++node)
    {
        const auto kind = m_topology.IsServer(node) ? "server-" : "switch-";
        const auto name = m_namePrefix + kind + std::to_string(node);
        NS_ABORT_MSG_IF(Names::Find<Object>(name),
                        "the name " << name << " is taken, expected another SetNamePrefix for "
                                    << m_topology.GetName());
        Names::Add(name, m_nodes.Get(node));
    }
    // Names outlive Simulator::Destroy() otherwise, and the next network of a program needs them.
    Simulator::ScheduleDestroy(&Names::Clear);
}

int64_t
TopologyHelper::AssignStreams(int64_t stream)
{
    NS_ABORT_MSG_UNLESS(m_built, "AssignStreams() comes after Install()");
    int64_t next = stream + m_stack.AssignStreams(m_nodes, stream);
    for (auto device = m_devices.Begin(); device != m_devices.End(); ++device)
    {
        if (const auto errors = DynamicCast<RateErrorModel>(GetErrors(*device)))
        {
            next += errors->AssignStreams(next);
        }
    }
    return next - stream;
}

const Topology&
TopologyHelper::GetTopology() const
{
    return m_topology;
}

Ptr<AllReduceNetwork>
TopologyHelper::GetNetwork() const
{
    NS_ABORT_MSG_UNLESS(m_built, "GetNetwork() comes after Install()");
    return m_built;
}

void
TopologyHelper::RequireNotInstalled(const char* function) const
{
    NS_ABORT_MSG_IF(m_built,
                    function << "() comes too late: " << m_topology.GetName()
                             << " is already installed");
}

} // namespace ns3::allreduce
