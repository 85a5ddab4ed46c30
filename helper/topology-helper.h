/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_HELPER_H
#define ALLREDUCE_TOPOLOGY_HELPER_H

#include "ns3/allreduce-topology.h"
#include "ns3/data-rate.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/nstime.h"
#include "ns3/pinned-path-routing.h"
#include "ns3/pinned-path-tag.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/vector.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Builds any Topology as an ns-3 network of point-to-point links.
 *
 * Set what should differ from the defaults, then call Install() once. It makes a node of every
 * server and switch, a pair of devices of every link, installs an IPv4 stack with
 * PinnedPathRouting, gives every device an address, and gives the nodes positions and names. After
 * that PinFlow() sends a flow along exactly the path it should take.
 *
 * Nodes are known by their id in the Topology (servers first, then switches). A value that is out
 * of range ends the program with a message that names it.
 */
class TopologyHelper
{
  public:
    /// @param topology the network to build
    explicit TopologyHelper(Topology topology);

    virtual ~TopologyHelper() = default;

    /**
     * Set an attribute of every PointToPointNetDevice, for example "Mtu". The rate is a property of
     * each link: see SetLinkRate().
     *
     * @param name the attribute's name
     * @param value its value
     */
    void SetDeviceAttribute(const std::string& name, const AttributeValue& value);

    /**
     * Set the queue of every device.
     *
     * @tparam Ts types of the attributes
     * @param type the queue's type, for example "ns3::DropTailQueue"
     * @param attributes names and values, one after another
     */
    template <typename... Ts>
    void SetQueue(const std::string& type, Ts&&... attributes);

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

    /// Build the network.
    void Install();

    /**
     * Fix the random streams of the stacks and of the lossy links.
     *
     * @param stream the first stream to use
     * @return the number of streams used
     */
    int64_t AssignStreams(int64_t stream);

    /// @return the network as a graph
    const Topology& GetTopology() const;

    /**
     * @param i a server, from 0
     * @return its node
     */
    Ptr<Node> GetServer(uint32_t i) const;

    /**
     * @param j a switch, from 0
     * @return its node
     */
    Ptr<Node> GetSwitch(uint32_t j) const;

    /**
     * @param node a server or switch, by its id in the topology
     * @return its node
     */
    Ptr<Node> GetNode(NodeId node) const;

    /// @return all servers
    NodeContainer GetServers() const;

    /// @return all switches
    NodeContainer GetSwitches() const;

    /**
     * @param link a link
     * @return its device at end a and its device at end b
     */
    NetDeviceContainer GetLinkDevices(LinkId link) const;

    /**
     * @param link one direction of a link
     * @return the device that sends in this direction
     */
    Ptr<NetDevice> GetDevice(DirectedLinkId link) const;

    /**
     * @param link one direction of a link
     * @return the IPv4 interface that sends in this direction, at its node
     */
    uint32_t GetInterface(DirectedLinkId link) const;

    /**
     * @param i a server, from 0
     * @return the address of its first interface; its other addresses serve as well
     */
    Ipv4Address GetServerAddress(uint32_t i) const;

    /**
     * @param node a server or switch
     * @return its pinned-path routing, for the trace source Drop
     */
    Ptr<PinnedPathRouting> GetRouting(NodeId node) const;

    /**
     * Pin a flow between two servers, and what comes back in the reverse direction, to a path.
     *
     * @param path the nodes from the server that opens the flow to the other server
     * @param protocol IP protocol number: 6 for TCP, 17 for UDP
     * @param sourcePort port at the beginning of the path; 0 stands for any
     * @param destinationPort port at the end of the path; 0 stands for any
     */
    void PinFlow(const Path& path, uint8_t protocol, uint16_t sourcePort, uint16_t destinationPort);

    /**
     * Pin a flow between two servers, and what comes back in the reverse direction, to a path.
     *
     * @param path the nodes from the server that opens the flow to the other server
     * @param socketFactory "ns3::TcpSocketFactory" or "ns3::UdpSocketFactory"
     * @param sourcePort port at the beginning of the path; 0 stands for any
     * @param destinationPort port at the end of the path; 0 stands for any
     */
    void PinFlow(const Path& path,
                 const std::string& socketFactory,
                 uint16_t sourcePort,
                 uint16_t destinationPort);

    /**
     * Pin a flow between two servers, and what comes back in the reverse direction, to a path.
     *
     * @param path the nodes from the server that opens the flow to the other server
     * @param socketFactory TypeId of TcpSocketFactory or UdpSocketFactory
     * @param sourcePort port at the beginning of the path; 0 stands for any
     * @param destinationPort port at the end of the path; 0 stands for any
     */
    void PinFlow(const Path& path,
                 TypeId socketFactory,
                 uint16_t sourcePort,
                 uint16_t destinationPort);

    /**
     * @param path the nodes of a path between two servers
     * @return a tag that sends the packet it is added to along this path
     */
    PinnedPathTag MakePathTag(const Path& path) const;

    /// @param link a link that breaks: both of its interfaces go down
    void SetLinkDown(LinkId link);

    /// @param link a link that is mended: both of its interfaces come up
    void SetLinkUp(LinkId link);

  private:
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
    /// Install IPv4 with pinned paths on all nodes.
    void InstallStack();
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
     * Refuse what comes at the wrong time.
     *
     * @param function the function called
     */
    void RequireInstalled(const char* function) const;
    /**
     * Refuse what comes at the wrong time.
     *
     * @param function the function called
     */
    void RequireNotInstalled(const char* function) const;
    /**
     * Refuse an index that is out of range.
     *
     * @param what what is counted
     * @param index the index
     * @param count how many there are
     */
    void RequireBelow(const char* what, uint32_t index, uint32_t count) const;
    /**
     * Refuse a path that does not exist, does not join two servers or is too long.
     *
     * @param path the path
     */
    void RequirePath(const Path& path) const;
    /**
     * Pin what one end of a path sends.
     *
     * @param path the path from this end to the other
     * @param protocol IP protocol number
     * @param localPort port at this end
     * @param remotePort port at the other end
     */
    void PinDirection(const Path& path, uint8_t protocol, uint16_t localPort, uint16_t remotePort);

    Topology m_topology;                             //!< the network as a graph
    PointToPointHelper m_pointToPoint;               //!< makes the devices
    InternetStackHelper m_stack;                     //!< installs IPv4
    std::optional<TrafficControlHelper> m_queueDisc; //!< makes queue discs
    std::function<uint32_t(NodeId)> m_systemId;      //!< rank of a node
    std::string m_namePrefix;                        //!< before the names of the nodes
    Ipv4Address m_network{"10.0.0.0"};               //!< where addresses are taken from
    Ipv4Mask m_mask{"255.0.0.0"};                    //!< mask of m_network
    std::shared_ptr<Ipv4RoutingHelper> m_fallback;   //!< what is behind the pinned paths
    Vector2D m_upperLeft{0, 0};                      //!< corner of the bounding box
    Vector2D m_lowerRight{100, 100};                 //!< corner of the bounding box
    bool m_installed{false};                         //!< whether the network has been built
    NodeContainer m_nodes;                           //!< nodes by id
    std::vector<Ptr<NetDevice>> m_devices;           //!< sending device by directed link
    std::vector<uint16_t> m_interfaces;              //!< sending interface by directed link
};

template <typename... Ts>
void
TopologyHelper::SetQueue(const std::string& type, Ts&&... attributes)
{
    m_pointToPoint.SetQueue(type, std::forward<Ts>(attributes)...);
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_HELPER_H */
