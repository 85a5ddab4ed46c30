/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PINNED_PATH_ROUTING_H
#define ALLREDUCE_PINNED_PATH_ROUTING_H

#include "pinned-path-tag.h"

#include "ns3/allreduce-compat.h"
#include "ns3/ipv4-routing-protocol.h"
#include "ns3/traced-callback.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ns3
{
class Ipv4L3Protocol;
class TrafficControlLayer;
} // namespace ns3

namespace ns3::allreduce
{

class AddressDirectory;
class LightLinkDevice;

/// @ingroup allreduce
/// A pinned flow, seen from one of its two ends.
struct PinnedFlow
{
    uint8_t protocol{0};    //!< IP protocol number: 6 for TCP, 17 for UDP
    uint16_t localPort{0};  //!< port at this end; 0 stands for any
    uint16_t remotePort{0}; //!< port at the other end; 0 stands for any
    uint32_t remoteNode{0}; //!< id of the ns-3 node at the other end
};

/// @return whether the two are the same flow
bool operator==(const PinnedFlow& x, const PinnedFlow& y);

/**
 * @ingroup allreduce
 *
 * @brief IPv4 routing along exact paths, chosen flow by flow.
 *
 * The sender looks its flow up and attaches the whole path to the packet (PinnedPathTag). Every
 * further node reads from the tag through which interface the packet leaves; it keeps no table and
 * its cost does not depend on the size of the network. Nodes on the way may be servers or switches.
 *
 * A flow is pinned at both of its ends, so that replies and acknowledgements have a path too. One
 * pair of servers can have any number of flows on any number of paths. A lookup prefers the exact
 * ports, then a pin for any local port, then one for any remote port, then one for any ports.
 *
 * A packet without a pin is not routed, so that in an Ipv4ListRouting another protocol can take it.
 * A pinned packet never leaves its path: if the next interface is down it is dropped. For pinned
 * flows the device that a socket may be bound to is not considered.
 *
 * UDP sockets ask for a route before they write the ports into the packet. Such a packet passes the
 * loopback device once, after which the ports are there (AODV defers packets in the same way). This
 * is not needed for a socket that is bound to a local address, or a packet that already carries its
 * tag.
 */
class PinnedPathRouting : public Ipv4RoutingProtocol
{
  public:
    /// Why a packet was dropped.
    enum DropReason
    {
        DROP_INTERFACE_DOWN,      //!< the path leaves through an interface that is down
        DROP_NO_SUCH_INTERFACE,   //!< the path leaves through an interface that does not exist
        DROP_FORWARDING_DISABLED, //!< this node does not forward
        DROP_WRONG_DESTINATION,   //!< the path ends at a node that the packet is not addressed to
    };

    /**
     * Signature of the trace source Drop.
     *
     * @param packet the packet, without its IPv4 header
     * @param header the IPv4 header
     * @param reason why it was dropped
     */
    typedef void (*DropTracedCallback)(Ptr<const Packet> packet,
                                       const Ipv4Header& header,
                                       DropReason reason);

    /// @return the TypeId
    static TypeId GetTypeId();

    PinnedPathRouting();
    ~PinnedPathRouting() override;

    /**
     * Share a directory with the other nodes. Without one, no flow can be pinned.
     *
     * @param directory tells whose address a packet bears
     */
    void SetDirectory(Ptr<AddressDirectory> directory);

    /**
     * Pin a flow that begins or ends here; a pin that is already there is replaced.
     *
     * @param flow the flow
     * @param path the path of the packets that this end sends
     */
    void AddFlow(const PinnedFlow& flow, const PinnedPathTag& path);

    /**
     * @param flow a flow, with the ports that its packets bear
     * @return the path that its packets take from here, or nullptr if they are not pinned
     */
    const PinnedPathTag* FindFlow(const PinnedFlow& flow) const;

    /**
     * Send a frame on that has come in, or deliver it, as RouteInput and IPv4 would, but without
     * them: a shortcut of LightLinkDevice. Only what needs nothing else of IPv4 is taken.
     *
     * @param iif the interface where it has come in
     * @param frame with its PPP header
     * @return whether it was taken; otherwise it is as it was
     */
    bool TakeFrame(uint32_t iif, const Ptr<Packet>& frame);

    /// @return the number of packets dropped so far
    uint64_t GetNDropped() const;

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet> p,
                               const Ipv4Header& header,
                               Ptr<NetDevice> oif,
                               Socket::SocketErrno& sockerr) override;
    bool RouteInput(Ptr<const Packet> p,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> idev,
                    RouteInputTypes::Unicast ucb,
                    RouteInputTypes::Multicast mcb,
                    RouteInputTypes::Local lcb,
                    RouteInputTypes::Error ecb) override;
    void NotifyInterfaceUp(uint32_t interface) override;
    void NotifyInterfaceDown(uint32_t interface) override;
    void NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address) override;
    void NotifyRemoveAddress(uint32_t interface, Ipv4InterfaceAddress address) override;
    void SetIpv4(Ptr<Ipv4> ipv4) override;
    void PrintRoutingTable(Ptr<OutputStreamWrapper> stream,
                           Time::Unit unit = Time::S) const override;

  protected:
    void DoDispose() override;

  private:
    /// Hash of a flow.
    struct FlowHash
    {
        /**
         * @param flow a flow
         * @return its hash
         */
        std::size_t operator()(const PinnedFlow& flow) const;
    };

    /// The interface that Ipv4L3Protocol makes first.
    static constexpr uint32_t LOOPBACK_INTERFACE = 0;

    /// @return the id of this node
    uint32_t GetNodeId() const;

    /**
     * @param address an address
     * @return whether it belongs to this node
     */
    bool IsLocal(Ipv4Address address) const;

    /**
     * Look for a path that the application attached; take off what an earlier journey left behind.
     *
     * @param packet the packet
     * @return the output interface, if there is a path that begins here
     */
    std::optional<uint16_t> FindAttachedPath(Ptr<Packet> packet) const;

    /**
     * @param packet a packet that begins with its transport header
     * @param protocol its IP protocol number
     * @param remoteNode the node it goes to
     * @return the path that it should take, or nullptr
     */
    const PinnedPathTag* FindPath(Ptr<const Packet> packet,
                                  uint8_t protocol,
                                  uint32_t remoteNode) const;

    /**
     * @param interface an output interface
     * @return the route out of it, or nullptr if it is down or does not exist
     */
    Ptr<Ipv4Route> GetRoute(uint32_t interface);

    /**
     * @param interface the first output interface of a path
     * @return the route out of it, or, if it cannot be used, the one to the loopback device, where
     *         the packet is dropped instead of falling to another protocol
     */
    Ptr<Ipv4Route> GetFirstRoute(uint32_t interface);

    /// @return a route to the loopback device, with an address of this node as source
    Ptr<Ipv4Route> GetLoopbackRoute();

    /**
     * @param interface an interface
     * @param source the source address
     * @return a new route out of the interface
     */
    Ptr<Ipv4Route> MakeRoute(uint32_t interface, Ipv4Address source) const;

    /**
     * Forget what is cached about an interface.
     *
     * @param interface the interface
     */
    void Invalidate(uint32_t interface);

    /**
     * Route a packet that this node sent to its loopback device.
     *
     * @param p the packet
     * @param header its header
     * @param lcb to deliver it here
     * @param ecb to drop it
     * @return whether it was dealt with
     */
    bool RouteFromLoopback(Ptr<const Packet> p,
                           const Ipv4Header& header,
                           const LocalDeliverCallback& lcb,
                           const ErrorCallback& ecb);

    /**
     * Deliver a packet at the end of its path.
     *
     * @param p the packet
     * @param header its header
     * @param iif the interface it came in from
     * @param lcb to deliver it
     * @param ecb to drop it
     */
    void Deliver(Ptr<const Packet> p,
                 const Ipv4Header& header,
                 uint32_t iif,
                 const LocalDeliverCallback& lcb,
                 const ErrorCallback& ecb);

    /**
     * Send a packet on along its path.
     *
     * @param p the packet
     * @param header its header
     * @param iif the interface it came in from
     * @param tag the path, at the present position
     * @param ucb to forward it
     * @param ecb to drop it
     */
    void Forward(Ptr<const Packet> p,
                 const Ipv4Header& header,
                 uint32_t iif,
                 PinnedPathTag& tag,
                 const UnicastForwardCallback& ucb,
                 const ErrorCallback& ecb);

    /**
     * @param p the packet to drop
     * @param header its header
     * @param reason why
     * @param ecb the callback that drops it
     */
    void Drop(Ptr<const Packet> p,
              const Ipv4Header& header,
              DropReason reason,
              const ErrorCallback& ecb);

    /**
     * @param interface an interface without a route
     * @return why it has none
     */
    DropReason ExplainNoRoute(uint32_t interface) const;

    /**
     * Send a frame on.
     *
     * @param iif the interface where it has come in
     * @param frame with its PPP header
     * @param tag the path, at the position of this node
     * @return whether it was sent on; otherwise it is as it was
     */
    bool ForwardFrame(uint32_t iif, const Ptr<Packet>& frame, PinnedPathTag& tag);

    /**
     * Give what a frame carries to its protocol.
     *
     * @param iif the interface where it has come in
     * @param frame with its PPP header
     * @return whether it was taken; otherwise it is as it was
     */
    bool DeliverFrame(uint32_t iif, const Ptr<Packet>& frame);

    /**
     * @param interface an output interface
     * @return its device if it is light, up and without a queue disc, or nullptr
     */
    Ptr<LightLinkDevice> FindLightOutput(uint32_t interface);

    Ptr<Ipv4> m_ipv4;                                                //!< this node's IPv4
    Ptr<NetDevice> m_loopback;                                       //!< its loopback device
    Ptr<AddressDirectory> m_directory;                               //!< whose address it is
    std::unordered_map<PinnedFlow, PinnedPathTag, FlowHash> m_flows; //!< paths of flows
    std::unordered_set<uint32_t> m_peers;                            //!< nodes with a flow
    std::vector<Ptr<Ipv4Route>> m_routes;                            //!< by output interface
    std::vector<Ptr<LightLinkDevice>> m_lightOutputs;                //!< by output interface
    Ptr<TrafficControlLayer> m_trafficControl;                       //!< this node's, if any
    Ptr<Ipv4L3Protocol> m_l3;                                        //!< m_ipv4, if it is ns-3's
    std::optional<bool> m_takesFrames;                               //!< none: not known yet
    Ptr<Ipv4Route> m_loopbackRoute;                                  //!< to the loopback device
    uint64_t m_nDropped{0};                                          //!< packets dropped
    TracedCallback<Ptr<const Packet>, const Ipv4Header&, DropReason> m_dropTrace; //!< drops
};

/**
 * @ingroup allreduce
 *
 * @param os a stream
 * @param reason why a packet was dropped
 * @return the stream
 */
std::ostream& operator<<(std::ostream& os, PinnedPathRouting::DropReason reason);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PINNED_PATH_ROUTING_H */
