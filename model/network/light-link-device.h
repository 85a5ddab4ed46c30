/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LIGHT_LINK_DEVICE_H
#define ALLREDUCE_LIGHT_LINK_DEVICE_H

#include "ns3/callback.h"
#include "ns3/channel.h"
#include "ns3/data-rate.h"
#include "ns3/error-model.h"
#include "ns3/event-impl.h"
#include "ns3/mac48-address.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/ptr.h"
#include "ns3/queue.h"
#include "ns3/traced-callback.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

class ArrivalOrder;
class LightLinkDevice;

/**
 * @ingroup allreduce
 *
 * @brief What is between two LightLinkDevices: a delay.
 */
class LightLinkChannel : public Channel
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    /**
     * Put a link between two devices.
     *
     * @param a one end
     * @param b the other end
     */
    void Connect(Ptr<LightLinkDevice> a, Ptr<LightLinkDevice> b);

    /// @return how long a bit is on its way
    const Time& GetDelay() const;

    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t i) const override;

  protected:
    void DoDispose() override;

  private:
    Time m_delay;                                  //!< how long a bit is on its way
    std::array<Ptr<LightLinkDevice>, 2> m_devices; //!< both ends
};

/**
 * @ingroup allreduce
 *
 * @brief One end of a point-to-point link, which does and tells what PointToPointNetDevice does, to
 * the nanosecond and in the same order, and is faster to simulate.
 *
 * Its attributes and trace sources have the names that they have there, and frames have the same
 * PPP header. It makes no event object and no copy of a packet for a hop, keeps the time that
 * frames of the last sizes take, and shows frames that arrive to shortcuts first, which can send
 * them on as they are.
 */
class LightLinkDevice : public NetDevice
{
  public:
    /// Takes a frame, with its PPP header, or returns false and leaves it as it was.
    using Shortcut = std::function<bool(const Ptr<Packet>& frame)>;

    /// Bytes of the PPP header.
    static constexpr uint32_t HEADER_BYTES = 2;
    /// The PPP header of IPv4 packets.
    static constexpr uint16_t PPP_IPV4 = 0x0021;
    /// The PPP header of IPv6 packets.
    static constexpr uint16_t PPP_IPV6 = 0x0057;

    /// @return the type
    static TypeId GetTypeId();

    LightLinkDevice();
    ~LightLinkDevice() override;

    /**
     * @param channel the link, which the device sends over from now on
     * @param peer the device at its other end
     */
    void Attach(Ptr<LightLinkChannel> channel, Ptr<LightLinkDevice> peer);

    /// @param queue where frames wait
    void SetQueue(Ptr<Queue<Packet>> queue);
    /// @return where frames wait
    Ptr<Queue<Packet>> GetQueue() const;

    /// @return the most frames that have been in the queue at once
    uint32_t GetQueuePeak() const;

    /// @param queue told when the device can take no more, and when it can again
    void SetFlowControl(Ptr<NetDeviceQueue> queue);

    /// @param rate the rate of the link
    void SetDataRate(DataRate rate);
    /// @return the rate of the link
    DataRate GetDataRate() const;

    /// Another rank simulates the other end: frames go there, and come from there.
    void SetRemote();

    /// @param order says when frames that arrive are received
    void SetArrivalOrder(Ptr<ArrivalOrder> order);

    /**
     * Show frames that arrive to someone before the node gets them. A device that someone listens
     * to promiscuously does not.
     *
     * @param shortcut asked after those that were added before
     */
    void AddShortcut(Shortcut shortcut);

    /**
     * Send a frame that has come in over another link.
     *
     * @param frame with its PPP header
     * @return whether it was sent or waits in the queue
     */
    bool SendFrame(const Ptr<Packet>& frame);

    /// @return whether the queue has room for another packet
    bool HasRoom() const;

    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address group) const override;
    Address GetMulticast(Ipv6Address group) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    bool Send(Ptr<Packet> packet, const Address& destination, uint16_t protocol) override;
    bool SendFrom(Ptr<Packet> packet,
                  const Address& source,
                  const Address& destination,
                  uint16_t protocol) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(NetDevice::ReceiveCallback callback) override;
    void SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback callback) override;
    bool SupportsSendFrom() const override;

  protected:
    void DoDispose() override;

  private:
    /// @return the type with the trace sources of packets @param tid the type
    static TypeId AddTraceSources(TypeId tid);

    /// An event that calls a function of the device, and can be scheduled again and again.
    class Event : public EventImpl
    {
      public:
        /// What it calls.
        using Function = void (LightLinkDevice::*)();

        /**
         * @param device whose function
         * @param function the function
         */
        Event(LightLinkDevice* device, Function function)
            : m_device(device),
              m_function(function)
        {
        }

      private:
        void Notify() override
        {
            (m_device->*m_function)();
        }

        LightLinkDevice* m_device; //!< whose function
        Function m_function;       //!< the function
    };

    /// A frame on its way to this device.
    struct Arrival
    {
        Time time;         //!< when it is here
        Ptr<Packet> frame; //!< the frame
    };

    /// How long frames of a size take.
    struct TransmitTime
    {
        uint32_t size{0}; //!< bytes; 0: not known
        Time time;        //!< how long they take
    };

    /**
     * @param size bytes
     * @return how long they take
     */
    const Time& GetTransmitTime(uint32_t size);
    /// Send the frame at the front of the queue, if there is one.
    void TransmitNext();
    /// The last bit of a frame has left.
    void EndTransmission();
    /**
     * A frame has been sent to this device.
     *
     * @param delay when it will be here
     * @param frame the frame
     */
    void Expect(const Time& delay, const Ptr<Packet>& frame);
    /// The next frame that was sent to this device is here.
    void Arrive();
    /**
     * A frame is here.
     *
     * @param frame the frame
     */
    void Deliver(Ptr<Packet> frame);
    /**
     * Receive a frame, unless it is corrupt.
     *
     * @param frame the frame
     */
    void TakeIn(const Ptr<Packet>& frame);
    /**
     * Give a frame to shortcuts or to the node.
     *
     * @param frame the frame
     */
    void Receive(const Ptr<Packet>& frame);
    /**
     * @param frame the frame
     * @return whether one of the shortcuts has taken it
     */
    bool TakeShortcut(const Ptr<Packet>& frame) const;

    Ptr<Node> m_node;                                        //!< whose device it is
    uint32_t m_nodeId{0};                                    //!< its id
    Ptr<LightLinkChannel> m_channel;                         //!< what it sends over
    Ptr<LightLinkDevice> m_peer;                             //!< the other end of it
    bool m_isRemote{false};                                  //!< another rank simulates the peer
    Ptr<Queue<Packet>> m_queue;                              //!< frames that wait
    uint32_t m_queuePeak{0};                                 //!< see GetQueuePeak
    Ptr<NetDeviceQueue> m_flowControl;                       //!< told when the queue is full
    Ptr<ErrorModel> m_errors;                                //!< loses frames that arrive
    DataRate m_rate;                                         //!< of the link
    Time m_gap;                                              //!< between frames
    Mac48Address m_address;                                  //!< its address
    uint32_t m_index{0};                                     //!< at the node
    uint16_t m_mtu{0};                                       //!< largest packet
    std::array<TransmitTime, 2> m_times;                     //!< of the last sizes
    Ptr<Packet> m_current;                                   //!< what is being sent
    std::deque<Arrival> m_arrivals;                          //!< what is on its way here
    Ptr<EventImpl> m_endOfTransmission;                      //!< calls EndTransmission
    Ptr<EventImpl> m_arrival;                                //!< calls Arrive
    Ptr<ArrivalOrder> m_order;                               //!< see SetArrivalOrder
    std::vector<Shortcut> m_shortcuts;                       //!< see AddShortcut
    NetDevice::ReceiveCallback m_receive;                    //!< the node
    NetDevice::PromiscReceiveCallback m_promiscuous;         //!< the node, if anyone listens
    TracedCallback<> m_linkChanged;                          //!< told when the link comes up
    TracedCallback<Ptr<const Packet>> m_macTxTrace;          //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_macTxDropTrace;      //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_macPromiscRxTrace;   //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_macRxTrace;          //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_phyTxBeginTrace;     //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_phyTxEndTrace;       //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_phyRxEndTrace;       //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_phyRxDropTrace;      //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_snifferTrace;        //!< see GetTypeId
    TracedCallback<Ptr<const Packet>> m_promiscSnifferTrace; //!< see GetTypeId
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LIGHT_LINK_DEVICE_H */
