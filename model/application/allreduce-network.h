/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_NETWORK_H
#define ALLREDUCE_NETWORK_H

#include "pinned-path-routing.h"
#include "pinned-path-tag.h"

#include "ns3/allreduce-topology.h"
#include "ns3/ipv4-address.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief An ns-3 network of point-to-point links and the Topology that it was built from.
 *
 * TopologyHelper builds one; whoever builds networks in another way gives nodes and devices to the
 * constructor. Nodes are known by their id in the Topology: servers first, then switches. Links
 * break and are mended through it, so that all sessions on it are told. A value that is out of
 * range ends the program with a message that names it.
 */
class AllReduceNetwork : public Object
{
  public:
    /**
     * Signature of the trace source LinkChanged.
     *
     * @param link the link
     * @param isUp whether it can be used now
     */
    typedef void (*LinkChangedTracedCallback)(LinkId link, bool isUp);

    /// @return the type
    static TypeId GetTypeId();

    /**
     * @param topology the network as a graph
     * @param nodes its nodes by id, with IPv4 and PinnedPathRouting
     * @param devices by directed link: the device that sends in this direction, with an interface
     */
    AllReduceNetwork(Topology topology,
                     const NodeContainer& nodes,
                     const NetDeviceContainer& devices);

    /// @return the network as a graph
    const Topology& GetTopology() const;

    /**
     * @param node a server or switch, by its id in the topology
     * @return its node
     */
    Ptr<Node> GetNode(NodeId node) const;

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

    /// @return all servers
    const NodeContainer& GetServers() const;

    /// @return all switches
    const NodeContainer& GetSwitches() const;

    /// @return all devices, by the directed link that they send on
    const NetDeviceContainer& GetDevices() const;

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
     * @param server a server
     * @return the address of its first interface; its other addresses serve as well
     */
    Ipv4Address GetServerAddress(NodeId server) const;

    /**
     * @param node a server or switch
     * @return its pinned-path routing, for the trace source Drop
     */
    Ptr<PinnedPathRouting> GetRouting(NodeId node) const;

    /**
     * @param path the nodes of a path between two servers
     * @return a tag that sends the packet it is added to along this path
     */
    PinnedPathTag MakePathTag(const Path& path) const;

    /**
     * Pin a flow between two servers, and what comes back in the reverse direction, to a path.
     *
     * @param path the nodes from the server that opens the flow to the other server
     * @param protocol IP protocol number: TcpL4Protocol::PROT_NUMBER or UdpL4Protocol::PROT_NUMBER
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
     * A link breaks or is mended; nothing happens if it is so already.
     *
     * @param link the link
     * @param isUp whether it can be used from now on
     */
    void SetLinkUp(LinkId link, bool isUp);

    /**
     * Mend a link later. While a link is due to be mended, sessions whose servers cannot reach each
     * other wait for it; else they fail at once.
     *
     * @param link the link
     * @param delay when, from now on
     */
    void ScheduleMending(LinkId link, Time delay);

    /// @return whether a link is due to be mended
    bool IsMendingDue() const;

    /**
     * @param link a link
     * @return whether it can be used
     */
    bool IsLinkUp(LinkId link) const;

    /**
     * @param link one direction of a link
     * @return the rate of its device in bit/s
     */
    uint64_t GetRate(DirectedLinkId link) const;

    /**
     * @param link one direction of a link
     * @return the delay of its channel
     */
    Time GetDelay(DirectedLinkId link) const;

    /// @return the largest packet that every device takes
    uint16_t GetMtu() const;

    /// @return whether several ranks simulate the network
    bool IsDistributed() const;

    /**
     * @param node a server or switch
     * @return whether this rank simulates it
     */
    bool IsHere(NodeId node) const;

  private:
    /// Do what ScheduleMending says.
    void Mend(LinkId link);
    /// Refuse an index that is out of range. @param what what is counted @param index the index
    /// @param count how many there are
    void RequireBelow(const char* what, uint32_t index, uint32_t count) const;
    /// Refuse a path that does not exist, does not join two servers or is too long.
    void RequirePath(const Path& path) const;
    /// Pin what one end of a path sends. @param path from this end to the other
    void PinDirection(const Path& path, uint8_t protocol, uint16_t localPort, uint16_t remotePort);

    Topology m_topology;                        //!< the network as a graph
    NodeContainer m_servers;                    //!< by id
    NodeContainer m_switches;                   //!< by id, from 0
    NetDeviceContainer m_devices;               //!< by directed link: sends
    std::vector<uint16_t> m_interfaces;         //!< by directed link: sends
    std::vector<bool> m_isDown;                 //!< by link
    uint32_t m_nMendingsDue{0};                 //!< see ScheduleMending
    TracedCallback<LinkId, bool> m_linkChanged; //!< a link broke or was mended
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_NETWORK_H */
