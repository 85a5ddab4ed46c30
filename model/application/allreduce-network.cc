/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-network.h"

#include "ns3/channel.h"
#include "ns3/data-rate.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(AllReduceNetwork);

TypeId
AllReduceNetwork::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::AllReduceNetwork")
            .SetParent<Object>()
            .SetGroupName("AllReduce")
            .AddTraceSource("LinkChanged",
                            "A link broke or was mended.",
                            MakeTraceSourceAccessor(&AllReduceNetwork::m_linkChanged),
                            "ns3::allreduce::AllReduceNetwork::LinkChangedTracedCallback");
    return tid;
}

void
AllReduceNetwork::SetLinkUp(LinkId link, bool isUp)
{
    if (IsLinkUp(link) == isUp)
    {
        return;
    }
    m_isDown.resize(GetTopology().GetNLinks(), false);
    m_isDown[link] = !isUp;
    DoSetLinkUp(link, isUp);
    m_linkChanged(link, isUp);
}

void
AllReduceNetwork::ScheduleMending(LinkId link, Time delay)
{
    ++m_nMendingsDue;
    Simulator::Schedule(delay, &AllReduceNetwork::Mend, Ptr<AllReduceNetwork>(this), link);
}

void
AllReduceNetwork::Mend(LinkId link)
{
    --m_nMendingsDue;
    SetLinkUp(link, true);
}

bool
AllReduceNetwork::IsMendingDue() const
{
    return m_nMendingsDue > 0;
}

bool
AllReduceNetwork::IsLinkUp(LinkId link) const
{
    return m_isDown.empty() || !m_isDown[link];
}

std::vector<DirectedLinkId>
AllReduceNetwork::GetLinks(const Path& path) const
{
    std::vector<DirectedLinkId> links;
    links.reserve(path.size());
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
    {
        links.push_back(*GetTopology().FindDirectedLink(path[i], path[i + 1]));
    }
    return links;
}

uint64_t
AllReduceNetwork::GetRate(DirectedLinkId link) const
{
    DataRateValue rate;
    GetDevice(link)->GetAttribute("DataRate", rate);
    return rate.Get().GetBitRate();
}

Time
AllReduceNetwork::GetDelay(DirectedLinkId link) const
{
    TimeValue delay;
    GetDevice(link)->GetChannel()->GetAttribute("Delay", delay);
    return delay.Get();
}

uint16_t
AllReduceNetwork::GetMtu() const
{
    uint16_t mtu = std::numeric_limits<uint16_t>::max();
    for (DirectedLinkId link = 0; link < GetTopology().GetNDirectedLinks(); ++link)
    {
        mtu = std::min(mtu, GetDevice(link)->GetMtu());
    }
    return mtu;
}

} // namespace ns3::allreduce
