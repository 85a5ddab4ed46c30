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
    m_roots = MakeRoots(m_network->GetTopology().GetNServers(), chunksPerServer);
}

void
AllReduceHelper::SetRoots(std::vector<NodeId> roots)
{
    m_roots = std::move(roots);
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
    if (m_roots.empty())
    {
        UintegerValue bytes;
        StringValue sync;
        session->GetAttribute("Bytes", bytes);
        session->GetAttribute("Sync", sync);
        const ChunkChoice choice = ChooseChunks(m_network->GetTopology(),
                                                makeScheduler,
                                                *transport,
                                                m_network->GetMtu(),
                                                bytes.Get(),
                                                sync.Get() == "Barrier");
        session->Setup(m_network, choice.scheduler, transport, choice.plan.roots);
    }
    else
    {
        session->Setup(m_network, makeScheduler(), transport, m_roots);
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
