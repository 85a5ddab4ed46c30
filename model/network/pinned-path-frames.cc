/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How PinnedPathRouting sends on and delivers whole frames of light devices. It is apart from the
 * routing of packets, because it is a shortcut past IPv4: whatever it does not take goes the way
 * that ns-3 gives all packets, with the same result.
 */

#include "light-link-device.h"
#include "pinned-path-routing.h"

#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/ppp-header.h"
#include "ns3/queue-disc.h"
#include "ns3/traffic-control-layer.h"

namespace ns3::allreduce
{

namespace
{

/// What precedes a packet in a frame.
struct FrameHeaders
{
    PppHeader ppp; //!< first
    Ipv4Header ip; //!< second

    /// Take them off.
    explicit FrameHeaders(const Ptr<Packet>& frame)
    {
        frame->RemoveHeader(ppp);
        frame->RemoveHeader(ip);
    }

    /// Put them on again.
    void PutBack(const Ptr<Packet>& frame) const
    {
        frame->AddHeader(ip);
        frame->AddHeader(ppp);
    }
};

} // namespace

Ptr<LightLinkDevice>
PinnedPathRouting::FindLightOutput(uint32_t interface)
{
    if (interface >= m_lightOutputs.size() || !m_lightOutputs[interface])
    {
        const auto route = GetRoute(interface);
        if (!route)
        {
            return nullptr;
        }
        m_lightOutputs.resize(m_ipv4->GetNInterfaces());
        m_lightOutputs[interface] = DynamicCast<LightLinkDevice>(route->GetOutputDevice());
    }
    const auto& device = m_lightOutputs[interface];
    return m_trafficControl && m_trafficControl->GetRootQueueDiscOnDevice(device) ? nullptr
                                                                                  : device;
}

bool
PinnedPathRouting::TakeFrame(uint32_t iif, const Ptr<Packet>& frame)
{
    if (!m_takesFrames)
    {
        m_takesFrames = !Node::ChecksumEnabled();
        m_trafficControl = m_ipv4->GetObject<TrafficControlLayer>();
    }
    PinnedPathTag tag;
    if (!*m_takesFrames || !frame->PeekPacketTag(tag) || !m_ipv4->IsUp(iif))
    {
        return false;
    }
    tag.Advance();
    return tag.IsAtEnd() ? DeliverFrame(iif, frame) : ForwardFrame(iif, frame, tag);
}

bool
PinnedPathRouting::ForwardFrame(uint32_t iif, const Ptr<Packet>& frame, PinnedPathTag& tag)
{
    const auto output = FindLightOutput(tag.GetInterface());
    if (!output || !output->HasRoom() || !m_ipv4->IsForwarding(iif) ||
        frame->GetSize() > output->GetMtu() + LightLinkDevice::HEADER_BYTES)
    {
        return false;
    }
    FrameHeaders headers(frame);
    const uint8_t ttl = headers.ip.GetTtl();
    if (ttl > 1)
    {
        headers.ip.SetTtl(ttl - 1);
        frame->ReplacePacketTag(tag);
    }
    headers.PutBack(frame);
    if (ttl > 1)
    {
        output->SendFrame(frame);
    }
    return ttl > 1;
}

bool
PinnedPathRouting::DeliverFrame(uint32_t iif, const Ptr<Packet>& frame)
{
    FrameHeaders headers(frame);
    const Ipv4Header& header = headers.ip;
    const auto protocol = m_ipv4->GetProtocol(header.GetProtocol(), iif);
    const bool isFragment = !header.IsLastFragment() || header.GetFragmentOffset() != 0;
    if (!m_l3 || !protocol || isFragment || !IsLocal(header.GetDestination()))
    {
        headers.PutBack(frame);
        return false;
    }
    const Ptr<Packet> copy = frame->Copy();
    const auto status = protocol->Receive(frame, header, m_l3->GetInterface(iif));
    if (status == IpL4Protocol::RX_ENDPOINT_UNREACH)
    {
        m_ipv4->GetObject<Icmpv4L4Protocol>()->SendDestUnreachPort(header, copy);
    }
    return true;
}

} // namespace ns3::allreduce
