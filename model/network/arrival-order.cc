/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "arrival-order.h"

#include "ns3/node.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(OrderedChannel);

/// Calls HandOver, and can be scheduled again and again.
class ArrivalOrder::Event : public EventImpl
{
  public:
    /// @param order whose HandOver
    explicit Event(ArrivalOrder* order)
        : m_order(order)
    {
    }

  private:
    void Notify() override
    {
        m_order->HandOver();
    }

    ArrivalOrder* m_order; //!< whose HandOver
};

ArrivalOrder::ArrivalOrder()
    : m_handOver(Create<Event>(this))
{
}

ArrivalOrder::~ArrivalOrder()
{
    m_handOver->Cancel(); // It may be left in the simulator.
}

void
ArrivalOrder::SetReceiver(uint32_t port, Receiver receiver)
{
    m_receivers.resize(std::max<std::size_t>(m_receivers.size(), port + 1));
    m_receivers[port] = std::move(receiver);
}

void
ArrivalOrder::Arrive(uint32_t port, Ptr<Packet> packet)
{
    if (m_arrivals.empty())
    {
        Simulator::ScheduleNow(m_handOver);
    }
    m_arrivals.push_back({port, std::move(packet)});
}

void
ArrivalOrder::HandOver()
{
    m_leaving.swap(m_arrivals);
    if (m_leaving.size() > 1)
    {
        std::stable_sort(m_leaving.begin(),
                         m_leaving.end(),
                         [](const Arrival& x, const Arrival& y) { return x.port < y.port; });
    }
    for (Arrival& arrival : m_leaving)
    {
        const Ptr<Packet> packet = std::move(arrival.packet);
        m_receivers[arrival.port](packet);
    }
    m_leaving.clear();
}

TypeId
OrderedChannel::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::OrderedChannel")
                            .SetParent<PointToPointChannel>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<OrderedChannel>();
    return tid;
}

void
OrderedChannel::Join(Ptr<PointToPointNetDevice> a,
                     Ptr<ArrivalOrder> orderA,
                     Ptr<PointToPointNetDevice> b,
                     Ptr<ArrivalOrder> orderB)
{
    m_orders = {orderB, orderA};
    a->Attach(Ptr<PointToPointChannel>(this));
    b->Attach(Ptr<PointToPointChannel>(this));
}

bool
OrderedChannel::TransmitStart(Ptr<const Packet> packet,
                              Ptr<PointToPointNetDevice> source,
                              Time txTime)
{
    const uint32_t wire = source == GetSource(0) ? 0 : 1;
    const Ptr<PointToPointNetDevice> target = GetDestination(wire);
    Simulator::ScheduleWithContext(target->GetNode()->GetId(),
                                   txTime + GetDelay(),
                                   &ArrivalOrder::Arrive,
                                   m_orders[wire],
                                   target->GetIfIndex(),
                                   packet->Copy());
    return true;
}

} // namespace ns3::allreduce
