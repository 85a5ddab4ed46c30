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
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <optional>
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
     * Break a link or mend it by hand; nothing happens if it is so already. A link that outages
     * hold down comes up when the last of them is over.
     *
     * @param link the link
     * @param isUp whether it can be used from now on, as far as this goes
     */
    void SetLinkUp(LinkId link, bool isUp);

    /**
     * Break a link later, and perhaps mend it. Outages of one link may overlap: the link is up when
     * none of them holds it down.
     *
     * @param link the link
     * @param delay when it breaks, from now on
     * @param duration for how long; for ever if it is not given
     */
    void ScheduleOutage(LinkId link, Time delay, std::optional<Time> duration = std::nullopt);

    /**
     * @param link a link
     * @return whether it can be used, or will be when outages are over. Sessions whose servers
     *         cannot reach each other wait for such links, and else fail at once.
     */
    bool IsLinkUpOrDue(LinkId link) const;

    /**
     * @param link a link
     * @return whether it can be used
     */
    bool IsLinkUp(LinkId link) const;

    /**
     * @param link one direction of a link
     * @return the present rate of its device in bit/s
     */
    uint64_t GetRate(DirectedLinkId link) const;

    /**
     * Make one direction of a link slower or faster. A packet that is being sent keeps the rate
     * with which it began, all later ones have the new one. The topology, and with it what
     * transports pace transfers by, remains as it was. What carries nothing for a while is an
     * outage (ScheduleOutage).
     *
     * @param link one direction of a link
     * @param rateBps its rate from now on, 1 bit/s or more
     */
    void SetLinkRate(DirectedLinkId link, uint64_t rateBps);

    /**
     * @param link one direction of a link
     * @return how many times slower it is than in the topology; 1 if its rate has not been set
     */
    double GetSlowdown(DirectedLinkId link) const;

    /// @return the largest slowdown that any link has had: nothing may arrive for as many times
    /// longer
    double GetWorstSlowdown() const;

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
    /// An outage of a link.
    struct Outage
    {
        Time begin;              //!< from here on
        std::optional<Time> end; //!< until then, if it ends
    };

    /// @return the longest outage that holds a link down at a time, or nullptr
    const Outage* FindOutage(LinkId link, Time time) const;
    /// Take a link up or down if it is not so already, and tell everybody.
    void UpdateLink(LinkId link);
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
    std::vector<bool> m_isBroken;               //!< by link: by hand
    std::vector<std::vector<Outage>> m_outages; //!< by link
    std::vector<double> m_slowdowns;            //!< by directed link: see GetSlowdown
    double m_worstSlowdown{1};                  //!< see GetWorstSlowdown
    TracedCallback<LinkId, bool> m_linkChanged; //!< a link broke or was mended
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_NETWORK_H */
