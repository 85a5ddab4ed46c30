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

void
ArrivalOrder::Arrive(uint32_t port, const Receiver& receiver, Ptr<Packet> packet)
{
    if (m_arrivals.empty())
    {
        Simulator::ScheduleNow(&ArrivalOrder::HandOver, Ptr<ArrivalOrder>(this));
    }
    m_arrivals.push_back({port, receiver, packet});
}

void
ArrivalOrder::HandOver()
{
    std::vector<Arrival> arrivals;
    arrivals.swap(m_arrivals);
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& x, const Arrival& y) {
        return x.port < y.port;
    });
    for (const Arrival& arrival : arrivals)
    {
        arrival.receiver(arrival.packet);
    }
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
    m_orders[0] = orderB;
    m_orders[1] = orderA;
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
                                   MakeCallback(&PointToPointNetDevice::Receive, target),
                                   packet->Copy());
    return true;
}

} // namespace ns3::allreduce
