/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "queue-watch.h"

#include "ns3/light-link-device.h"
#include "ns3/pointer.h"
#include "ns3/traffic-control-layer.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

void
NoteDropped(uint64_t* nDropped, Ptr<const Packet>)
{
    ++*nDropped;
}

void
NoteQueueLength(uint32_t* peak, uint32_t, uint32_t length)
{
    *peak = std::max(*peak, length);
}

/// @return the device if it is a light one, which remembers how long its queue was
Ptr<LightLinkDevice>
GetLightDevice(const AllReduceNetwork& network, DirectedLinkId link)
{
    return DynamicCast<LightLinkDevice>(network.GetDevice(link));
}

} // namespace

QueueWatch::QueueWatch(const AllReduceNetwork& network)
    : m_network(network),
      m_peaks(network.GetTopology().GetNDirectedLinks(), 0)
{
    for (DirectedLinkId link = 0; link < m_peaks.size(); ++link)
    {
        if (!GetLightDevice(m_network, link))
        {
            GetQueue(link)->TraceConnectWithoutContext(
                "PacketsInQueue",
                MakeBoundCallback(&NoteQueueLength, &m_peaks[link]));
        }
    }
    for (NodeId node = 0; node < network.GetTopology().GetNNodes(); ++node)
    {
        // Where a device's queue is full, ns-3 drops packets before they come to it.
        if (const auto layer = m_network.GetNode(node)->GetObject<TrafficControlLayer>())
        {
            layer->TraceConnectWithoutContext("TcDrop",
                                              MakeBoundCallback(&NoteDropped, &m_nDropped));
        }
    }
}

Ptr<Queue<Packet>>
QueueWatch::GetQueue(DirectedLinkId link) const
{
    PointerValue queue;
    m_network.GetDevice(link)->GetAttribute("TxQueue", queue);
    return queue.Get<Queue<Packet>>();
}

uint32_t
QueueWatch::GetPeak(DirectedLinkId link) const
{
    const auto device = GetLightDevice(m_network, link);
    return device ? device->GetQueuePeak() : m_peaks[link];
}

uint32_t
QueueWatch::GetLargestPeak() const
{
    uint32_t peak = 0;
    for (DirectedLinkId link = 0; link < m_peaks.size(); ++link)
    {
        peak = std::max(peak, GetPeak(link));
    }
    return peak;
}

uint64_t
QueueWatch::GetNDropped() const
{
    uint64_t nDropped = m_nDropped;
    for (DirectedLinkId link = 0; link < m_peaks.size(); ++link)
    {
        nDropped += GetQueue(link)->GetTotalDroppedPackets();
    }
    return nDropped;
}

} // namespace ns3::allreduce
