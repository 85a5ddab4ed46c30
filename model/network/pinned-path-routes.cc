/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * The routes that PinnedPathRouting gives to IPv4: one for each output interface, made when it is
 * first used and kept until the interface changes, so that a packet costs no search.
 */

#include "light-link-device.h"
#include "pinned-path-routing.h"

#include "ns3/ipv4-route.h"

namespace ns3::allreduce
{

Ptr<Ipv4Route>
PinnedPathRouting::MakeRoute(uint32_t interface, Ipv4Address source) const
{
    auto route = Create<Ipv4Route>();
    route->SetSource(source);
    route->SetDestination(Ipv4Address::GetAny());
    route->SetGateway(Ipv4Address::GetAny());
    route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
    return route;
}

Ptr<Ipv4Route>
PinnedPathRouting::GetRoute(uint32_t interface)
{
    if (interface < m_routes.size() && m_routes[interface])
    {
        return m_routes[interface];
    }
    if (interface == LOOPBACK_INTERFACE || interface >= m_ipv4->GetNInterfaces() ||
        !m_ipv4->IsUp(interface) || m_ipv4->GetNAddresses(interface) == 0)
    {
        return nullptr;
    }
    m_routes.resize(m_ipv4->GetNInterfaces());
    m_routes[interface] = MakeRoute(interface, m_ipv4->GetAddress(interface, 0).GetLocal());
    return m_routes[interface];
}

Ptr<Ipv4Route>
PinnedPathRouting::GetFirstRoute(uint32_t interface)
{
    const auto route = GetRoute(interface);
    return route ? route : GetLoopbackRoute();
}

Ptr<Ipv4Route>
PinnedPathRouting::GetLoopbackRoute()
{
    if (!m_loopbackRoute)
    {
        auto source = Ipv4Address::GetLoopback();
        for (uint32_t i = m_ipv4->GetNInterfaces() - 1; i > LOOPBACK_INTERFACE; --i)
        {
            if (m_ipv4->GetNAddresses(i) > 0)
            {
                source = m_ipv4->GetAddress(i, 0).GetLocal();
            }
        }
        m_loopbackRoute = MakeRoute(LOOPBACK_INTERFACE, source);
    }
    return m_loopbackRoute;
}

PinnedPathRouting::DropReason
PinnedPathRouting::ExplainNoRoute(uint32_t interface) const
{
    const bool exists = interface != LOOPBACK_INTERFACE && interface < m_ipv4->GetNInterfaces();
    return exists ? DROP_INTERFACE_DOWN : DROP_NO_SUCH_INTERFACE;
}

void
PinnedPathRouting::Invalidate(uint32_t interface)
{
    if (interface < m_routes.size())
    {
        m_routes[interface] = nullptr;
    }
    if (interface < m_lightOutputs.size())
    {
        m_lightOutputs[interface] = nullptr;
    }
    m_loopbackRoute = nullptr;
}

} // namespace ns3::allreduce
