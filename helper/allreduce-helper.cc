/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-helper.h"

#include "ns3/abort-on-input-error.h"
#include "ns3/allreduce-application.h"
#include "ns3/allreduce-state.h"
#include "ns3/chunk-choice.h"
#include "ns3/log.h"
#include "ns3/scheduler-factory.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceHelper");

AllReduceHelper::AllReduceHelper(Ptr<AllReduceNetwork> network)
    : m_network(network)
{
    m_factory.SetTypeId(AllReduceSession::GetTypeId());
}

void
AllReduceHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_factory.Set(name, value);
}

void
AllReduceHelper::SetChunksPerServer(uint32_t chunksPerServer)
{
    m_chunksPerServer = chunksPerServer;
    SetCollective({});
}

void
AllReduceHelper::SetGroups(std::vector<Group> groups, bool mayRelay)
{
    m_groups = std::move(groups);
    m_mayRelay = mayRelay;
    SetCollective({});
}

void
AllReduceHelper::SetCollective(Collective collective)
{
    m_collective = std::move(collective);
    m_plan.reset();
}

Collective
AllReduceHelper::MakeCollective(uint32_t chunksPerServer) const
{
    const uint32_t nServers = m_network->GetTopology().GetNServers();
    return m_groups.empty()
               ? Collective(MakeRoots(nServers, chunksPerServer))
               : allreduce::MakeCollective(m_groups, nServers, chunksPerServer, m_mayRelay);
}

void
AllReduceHelper::SetPlan(VerifiedPlan plan)
{
    SetCollective(plan.GetCollective());
    m_plan = std::move(plan);
}

Ptr<AllReduceSession>
AllReduceHelper::Install(const std::string& scheduler, const std::string& transport)
{
    NS_LOG_FUNCTION(this << scheduler << transport);
    return AbortOnInputError([&] {
        return DoInstall([&] { return CreateScheduler(scheduler); }, CreateTransport(transport));
    });
}

Ptr<AllReduceSession>
AllReduceHelper::Install(Ptr<AllReduceScheduler> scheduler, Ptr<AllReduceTransport> transport)
{
    return AbortOnInputError([&] { return DoInstall([&] { return scheduler; }, transport); });
}

Ptr<AllReduceSession>
AllReduceHelper::DoInstall(const SchedulerMaker& makeScheduler, Ptr<AllReduceTransport> transport)
{
    const auto session = m_factory.Create<AllReduceSession>();
    if (m_collective.roots.empty() && m_chunksPerServer == 0)
    {
        UintegerValue bytes;
        StringValue sync;
        StringValue adapt;
        session->GetAttribute("Bytes", bytes);
        session->GetAttribute("Sync", sync);
        session->GetAttribute("Adapt", adapt);
        const ChunkChoice choice = ChooseChunks(m_network->GetTopology(),
                                                [this](uint32_t m) { return MakeCollective(m); },
                                                makeScheduler,
                                                *transport,
                                                m_network->GetMtu(),
                                                bytes.Get(),
                                                {sync.Get() == "Barrier", adapt.Get() != "None"});
        session->Setup(m_network, choice.scheduler, transport, choice.plan.GetCollective());
        session->SetPlan(choice.plan);
    }
    else
    {
        session->Setup(m_network,
                       makeScheduler(),
                       transport,
                       m_collective.roots.empty() ? MakeCollective(m_chunksPerServer)
                                                  : m_collective);
    }
    if (m_plan)
    {
        session->SetPlan(*m_plan);
    }
    m_applications = ApplicationContainer();
    for (NodeId server = 0; server < m_network->GetTopology().GetNServers(); ++server)
    {
        const auto application = CreateObject<AllReduceApplication>();
        application->SetSession(session, server);
        m_network->GetNode(server)->AddApplication(application);
        m_applications.Add(application);
    }
    return session;
}

ApplicationContainer&
AllReduceHelper::GetApplications()
{
    return m_applications;
}

} // namespace ns3::allreduce
