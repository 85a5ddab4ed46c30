/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_HELPER_H
#define ALLREDUCE_TOPOLOGY_HELPER_H

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-topology.h"
#include "ns3/data-rate.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/queue.h"
#include "ns3/trace-helper.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/vector.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

class ArrivalOrder;
class LightLinkDevice;

/**
 * @ingroup allreduce
 *
 * @brief Builds any Topology as an ns-3 network of point-to-point links.
 *
 * Set what should differ from the defaults, then call Install() once. It makes a node of every
 * server and switch, a pair of devices of every link, installs an IPv4 stack with
 * PinnedPathRouting, gives every device an address, and gives the nodes positions and names. What
 * is built is an AllReduceNetwork: its PinFlow() sends a flow along exactly the path it should
 * take.
 *
 * Packets on the links can be traced as with PointToPointHelper: after Install(), EnablePcap() and
 * EnableAscii() write what devices send and receive to files. A device that is none of the
 * network's ends the program with a message that names it, but for loopback devices, which have no
 * link, and those that another rank simulates, which writes their files.
 */
class TopologyHelper : public PcapHelperForDevice, public AsciiTraceHelperForDevice
{
  public:
    /// @param topology the network to build
    explicit TopologyHelper(Topology topology);

    ~TopologyHelper() override = default;

    /**
     * Set an attribute of every PointToPointNetDevice, for example "Mtu". The rate is a property of
     * each link: see SetLinkRate().
     *
     * @param name the attribute's name
     * @param value its value
     */
    void SetDeviceAttribute(const std::string& name, const AttributeValue& value);

    /**
     * Set the queue of every device. Unless this is called, devices have drop-tail queues of bytes
     * that follow from rates and delays. They hold the most of these, up to 64 MiB: 100 full
     * packets; what the link sends while the slowest link of the network sends four and a packet
     * goes over the longest link and back; and half of the buffer of a switch at its end, which
     * holds what all ports of the switch send in 25 us.
     *
     * @tparam Ts types of the attributes
     * @param type the queue's type, for example "ns3::DropTailQueue"
     * @param attributes names and values, one after another
     */
    template <typename... Ts>
    void SetQueue(const std::string& type, Ts&&... attributes);

    /**
     * Make the simulation faster: links are LightLinkDevices, which give the same simulated times,
     * and packets on pinned paths go from them to the next link, or to TCP and UDP at their end.
     *
     * The devices have the attributes and trace sources of PointToPointNetDevice, but
     * PointToPointHelper and NetAnim do not know them. Who listens to a node's IP, traffic control
     * or protocol handlers, as FlowMonitor does, does not hear of pinned packets that come in.
     *
     * @param isLight whether to do so; false by default
     */
    void SetLight(bool isLight);

    /**
     * Install a queue disc on every device; without this call there is none.
     *
     * @param trafficControl makes the queue discs
     */
    void SetQueueDisc(const TrafficControlHelper& trafficControl);

    /// Make all links faster or slower by the same factor.
    /// @param rate what a unit flow gets then: the rate of a link of capacity 1
    void SetLinkRate(DataRate rate);

    /// @param delay propagation delay of every link, instead of the delays in the topology
    void SetLinkDelay(Time delay);

    /// @param systemId gives the MPI rank that simulates a node, for distributed simulation
    void SetSystemId(std::function<uint32_t(NodeId)> systemId);

    /**
     * Let packets that arrive at a node at the same time be handled port by port, after all else
     * that happens there at that time: then nothing depends on which rank simulates which node.
     * NetAnim hears nothing of these links: it listens to ns-3's own channels, which they do
     * without.
     *
     * @param isOrdered whether to do so; false by default
     */
    void SetArrivalOrder(bool isOrdered);

    /**
     * Let several networks have names at once. All names are cleared by Simulator::Destroy().
     *
     * @param prefix put before the nodes' names "server-3" and "switch-17" in the Names database
     */
    void SetNamePrefix(const std::string& prefix);

    /**
     * Choose where the addresses are taken from; every link takes a /30 of it.
     *
     * @param network the network, 10.0.0.0 by default
     * @param mask its mask, 255.0.0.0 by default
     */
    void SetBaseAddress(Ipv4Address network, Ipv4Mask mask);

    /**
     * Put another routing protocol behind the pinned paths: it gets what is not pinned.
     *
     * @param routing makes the other protocol
     */
    void SetFallbackRouting(const Ipv4RoutingHelper& routing);

    /**
     * Choose the rectangle in which the nodes are placed; also possible after Install().
     *
     * @param ulx x of the upper left corner
     * @param uly y of the upper left corner
     * @param lrx x of the lower right corner
     * @param lry y of the lower right corner
     */
    void BoundingBox(double ulx, double uly, double lrx, double lry);

    /// @return the network, which has been built now
    Ptr<AllReduceNetwork> Install();

    /**
     * Fix the random streams of the stacks and of the lossy links.
     *
     * @param stream the first stream to use
     * @return the number of streams used
     */
    int64_t AssignStreams(int64_t stream);

    /**
     * Write packets of all devices of the network to files PREFIX-NODE-DEVICE.pcap.
     *
     * @param prefix how the names of the files begin
     */
    void EnablePcapAll(const std::string& prefix);

    /**
     * Write what happens to packets at all devices of the network to files PREFIX-NODE-DEVICE.tr.
     *
     * @param prefix how the names of the files begin
     */
    void EnableAsciiAll(const std::string& prefix);

    /// Write what happens to packets at all devices of the network.
    /// @param stream where to
    void EnableAsciiAll(Ptr<OutputStreamWrapper> stream);

    /// A file of packets: its name, and what writes it.
    using PcapFile = std::pair<std::string, Ptr<PcapFileWrapper>>;

    /// @return the files of packets so far: ns-3 does not look whether all has been written
    const std::vector<PcapFile>& GetPcapFiles() const;

    /// @return the network as a graph
    const Topology& GetTopology() const;

    /// @return what Install() has built
    Ptr<AllReduceNetwork> GetNetwork() const;

  private:
    void EnablePcapInternal(std::string prefix,
                            Ptr<NetDevice> device,
                            bool promiscuous,
                            bool explicitFilename) override;
    void EnableAsciiInternal(Ptr<OutputStreamWrapper> stream,
                             std::string prefix,
                             Ptr<NetDevice> device,
                             bool explicitFilename) override;
    /**
     * Refuse a device that cannot be traced.
     *
     * @param function the function called
     * @param device the device
     * @return whether there is something to trace in this process
     */
    bool IsTraced(const char* function, Ptr<NetDevice> device) const;

    /// Set no attribute more.
    static void SetAttributes(ObjectFactory& factory)
    {
    }

    /**
     * Set attributes of what a factory makes.
     *
     * @tparam Ts types of what follows
     * @param factory the factory
     * @param name an attribute's name
     * @param value its value
     * @param others names and values, one after another
     */
    template <typename... Ts>
    static void SetAttributes(ObjectFactory& factory,
                              const std::string& name,
                              const AttributeValue& value,
                              const Ts&... others);

    /// Refuse settings that cannot be met.
    void CheckSettings() const;
    /// Make a node of each server and switch.
    void CreateNodes();
    /// Make the devices of all links.
    void CreateLinks();
    /**
     * Make the devices of one link.
     *
     * @param link the link
     */
    void CreateLink(const Link& link);
    /**
     * Make the two devices of a light link.
     *
     * @param a one end
     * @param b the other end
     * @param link the link
     * @return both devices
     */
    NetDeviceContainer CreateLightLink(Ptr<Node> a, Ptr<Node> b, const Link& link) const;
    /**
     * Make one end of a light link.
     *
     * @param node where
     * @param link the link
     * @return the device
     */
    Ptr<LightLinkDevice> CreateLightDevice(Ptr<Node> node, const Link& link) const;
    /// Let light devices send on what is on a pinned path.
    void AddShortcuts();
    /// Do what SetArrivalOrder says.
    void OrderArrivals();
    /**
     * Let both ends of a link keep to an order.
     *
     * @param link the link
     * @param devices its ends
     * @param orders the orders at their nodes
     */
    void OrderArrivals(const Link& link,
                       const std::array<Ptr<NetDevice>, 2>& devices,
                       const std::array<Ptr<ArrivalOrder>, 2>& orders) const;
    /// Install IPv4 with pinned paths on all nodes.
    void InstallStack();
    /// Set what the queues of the next link hold.
    void SetQueueBytes(uint64_t bytes);
    /// Give every device an interface and an address.
    void AssignAddresses();
    /**
     * Give a device an interface and an address.
     *
     * @param link the direction that the device sends in
     * @param address its address
     */
    void AddInterface(DirectedLinkId link, Ipv4Address address);
    /// Install the queue discs, if there are to be any.
    void InstallQueueDiscs();
    /// Place the nodes in the bounding box.
    void PlaceNodes();
    /// Enter the nodes in the Names database.
    void NameNodes();
    /**
     * Refuse what comes too late.
     *
     * @param function the function called
     */
    void RequireNotInstalled(const char* function) const;

    Topology m_topology;                             //!< the network as a graph
    PointToPointHelper m_pointToPoint;               //!< makes the devices
    bool m_isLight{false};                           //!< see SetLight
    ObjectFactory m_lightDevice;                     //!< makes light devices
    ObjectFactory m_queue;                           //!< makes their queues
    bool m_hasOwnQueue{false};                       //!< SetQueue was called
    InternetStackHelper m_stack;                     //!< installs IPv4
    std::optional<TrafficControlHelper> m_queueDisc; //!< makes queue discs
    std::function<uint32_t(NodeId)> m_systemId;      //!< rank of a node
    bool m_isOrdered{false};                         //!< see SetArrivalOrder
    std::string m_namePrefix;                        //!< before the names of the nodes
    Ipv4Address m_network{"10.0.0.0"};               //!< where addresses are taken from
    Ipv4Mask m_mask{"255.0.0.0"};                    //!< mask of m_network
    std::shared_ptr<Ipv4RoutingHelper> m_fallback;   //!< what is behind the pinned paths
    Vector2D m_upperLeft{0, 0};                      //!< corner of the bounding box
    Vector2D m_lowerRight{100, 100};                 //!< corner of the bounding box
    NodeContainer m_nodes;                           //!< nodes by id
    NetDeviceContainer m_devices;                    //!< sending device by directed link
    std::vector<PcapFile> m_pcapFiles;               //!< see GetPcapFiles
    Ptr<AllReduceNetwork> m_built;                   //!< what has been built; none before Install
};

template <typename... Ts>
void
TopologyHelper::SetQueue(const std::string& type, Ts&&... attributes)
{
    m_hasOwnQueue = true;
    m_queue = ObjectFactory();
    std::string packetQueue = type;
    QueueBase::AppendItemTypeIfNotPresent(packetQueue, "Packet");
    m_queue.SetTypeId(packetQueue);
    SetAttributes(m_queue, attributes...);
    m_pointToPoint.SetQueue(type, std::forward<Ts>(attributes)...);
}

template <typename... Ts>
void
TopologyHelper::SetAttributes(ObjectFactory& factory,
                              const std::string& name,
                              const AttributeValue& value,
                              const Ts&... others)
{
    factory.Set(name, value);
    SetAttributes(factory, others...);
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_HELPER_H */
