/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "background-traffic-helper.h"

#include "ns3/background-traffic.h"

namespace ns3::allreduce
{

BackgroundTrafficHelper::BackgroundTrafficHelper()
{
    m_factory.SetTypeId(BackgroundTraffic::GetTypeId());
}

void
BackgroundTrafficHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_factory.Set(name, value);
}

ApplicationContainer
BackgroundTrafficHelper::Install(Ptr<AllReduceNetwork> network) const
{
    ApplicationContainer applications;
    const auto loads = BackgroundTraffic::ComputeLinkLoads(*network);
    for (NodeId server = 0; server < network->GetTopology().GetNServers(); ++server)
    {
        const auto traffic = m_factory.Create<BackgroundTraffic>();
        traffic->SetLinkLoads(loads);
        traffic->SetNetwork(network, server);
        network->GetServer(server)->AddApplication(traffic);
        applications.Add(traffic);
    }
    return applications;
}

int64_t
BackgroundTrafficHelper::AssignStreams(const ApplicationContainer& applications, int64_t stream)
{
    int64_t next = stream;
    for (uint32_t i = 0; i < applications.GetN(); ++i)
    {
        next += DynamicCast<BackgroundTraffic>(applications.Get(i))->AssignRandomStreams(next);
    }
    return next - stream;
}

} // namespace ns3::allreduce
