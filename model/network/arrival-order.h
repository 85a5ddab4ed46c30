/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ARRIVAL_ORDER_H
#define ALLREDUCE_ARRIVAL_ORDER_H

#include "ns3/event-impl.h"
#include "ns3/packet.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/simple-ref-count.h"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Hands packets that arrive at a node at the same time to its devices: port by port, after
 * all else that was to happen there at that time.
 *
 * Without this the order is that in which their events were made, which depends on who simulates
 * the nodes that sent them.
 */
class ArrivalOrder : public SimpleRefCount<ArrivalOrder>
{
  public:
    /// Takes a packet to a device.
    using Receiver = std::function<void(const Ptr<Packet>& packet)>;

    ArrivalOrder();
    ~ArrivalOrder();

    /**
     * @param port a device's number at the node
     * @param receiver the device
     */
    void SetReceiver(uint32_t port, Receiver receiver);

    /**
     * A packet arrives now.
     *
     * @param port where, a port with a receiver
     * @param packet the packet
     */
    void Arrive(uint32_t port, Ptr<Packet> packet);

  private:
    class Event;

    /// A packet that has not been handed over.
    struct Arrival
    {
        uint32_t port;      //!< where it arrives
        Ptr<Packet> packet; //!< the packet
    };

    void HandOver();

    std::vector<Receiver> m_receivers; //!< by port
    std::vector<Arrival> m_arrivals;   //!< at the present time
    std::vector<Arrival> m_leaving;    //!< those that HandOver is about
    Ptr<EventImpl> m_handOver;         //!< calls HandOver
};

/**
 * @ingroup allreduce
 *
 * @brief A point-to-point channel whose ends keep to an ArrivalOrder.
 */
class OrderedChannel : public PointToPointChannel
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    /**
     * Take the place of the channel that two devices have.
     *
     * @param a a device
     * @param orderA the order at its node
     * @param b the other device
     * @param orderB the order at its node
     */
    void Join(Ptr<PointToPointNetDevice> a,
              Ptr<ArrivalOrder> orderA,
              Ptr<PointToPointNetDevice> b,
              Ptr<ArrivalOrder> orderB);

    bool TransmitStart(Ptr<const Packet> packet,
                       Ptr<PointToPointNetDevice> source,
                       Time txTime) override;

  private:
    std::array<Ptr<ArrivalOrder>, 2> m_orders; //!< at the receiving end, by wire
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ARRIVAL_ORDER_H */
