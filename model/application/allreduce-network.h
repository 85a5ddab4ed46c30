/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_NETWORK_H
#define ALLREDUCE_NETWORK_H

#include "pinned-path-tag.h"

#include "ns3/allreduce-topology.h"
#include "ns3/ipv4-address.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The ns-3 network that an AllReduce runs on, as sessions and transports see it.
 *
 * AllReduceHelper makes one of a TopologyHelper; whoever builds networks in another way derives
 * from this. Links break and are mended through it, so that all sessions on it are told.
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

    /// @return the network as a graph
    virtual const Topology& GetTopology() const = 0;

    /**
     * @param node a server or switch
     * @return its node
     */
    virtual Ptr<Node> GetNode(NodeId node) const = 0;

    /**
     * @param link one direction of a link
     * @return the device that sends in this direction
     */
    virtual Ptr<NetDevice> GetDevice(DirectedLinkId link) const = 0;

    /**
     * @param server a server
     * @return one of its addresses
     */
    virtual Ipv4Address GetServerAddress(NodeId server) const = 0;

    /**
     * @param path the nodes of a path between two servers
     * @return a tag that sends the packet it is added to along this path
     */
    virtual PinnedPathTag MakePathTag(const Path& path) const = 0;

    /**
     * Pin a flow, and what comes back, to a path.
     *
     * @param path the nodes from the server that opens the flow to the other server
     * @param protocol IP protocol number
     * @param sourcePort port at the beginning of the path
     * @param destinationPort port at the end of the path
     */
    virtual void PinFlow(const Path& path,
                         uint8_t protocol,
                         uint16_t sourcePort,
                         uint16_t destinationPort) = 0;

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
     * @param path the nodes of a path
     * @return the directed links between them
     */
    std::vector<DirectedLinkId> GetLinks(const Path& path) const;

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

  private:
    /**
     * Let the devices and protocols of a link stop or start working.
     *
     * @param link the link
     * @param isUp whether it can be used from now on
     */
    virtual void DoSetLinkUp(LinkId link, bool isUp) = 0;

    void Mend(LinkId link);

    std::vector<bool> m_isDown;                 //!< by link; empty: none is
    uint32_t m_nMendingsDue{0};                 //!< see ScheduleMending
    TracedCallback<LinkId, bool> m_linkChanged; //!< a link broke or was mended
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_NETWORK_H */
