/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * What is between two LightLinkDevices. Frames do not pass through it; a channel is what ns-3's
 * other classes, such as NodeList and NetAnim, find links by.
 */

#include "light-link-device.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(LightLinkChannel);

TypeId
LightLinkChannel::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::LightLinkChannel")
                            .SetParent<Channel>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<LightLinkChannel>()
                            .AddAttribute("Delay",
                                          "Propagation delay through the channel",
                                          TimeValue(Seconds(0)),
                                          MakeTimeAccessor(&LightLinkChannel::m_delay),
                                          MakeTimeChecker());
    return tid;
}

void
LightLinkChannel::Connect(Ptr<LightLinkDevice> a, Ptr<LightLinkDevice> b)
{
    m_devices = {a, b};
    a->Attach(this, b);
    b->Attach(this, a);
}

const Time&
LightLinkChannel::GetDelay() const
{
    return m_delay;
}

std::size_t
LightLinkChannel::GetNDevices() const
{
    return m_devices[0] ? m_devices.size() : 0;
}

Ptr<NetDevice>
LightLinkChannel::GetDevice(std::size_t i) const
{
    return m_devices[i];
}

void
LightLinkChannel::DoDispose()
{
    m_devices = {};
    Channel::DoDispose();
}

} // namespace ns3::allreduce
