/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-application.h"

#include "allreduce-session.h"

#include "ns3/abort.h"
#include "ns3/log.h"

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceApplication");
NS_OBJECT_ENSURE_REGISTERED(AllReduceApplication);

TypeId
AllReduceApplication::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::AllReduceApplication")
            .SetParent<Application>()
            .SetGroupName("AllReduce")
            .AddConstructor<AllReduceApplication>()
            .AddTraceSource("FlowStarted",
                            "A flow from this server begins.",
                            MakeTraceSourceAccessor(&AllReduceApplication::m_flowStarted),
                            "ns3::allreduce::AllReduceApplication::FlowTracedCallback")
            .AddTraceSource("FlowFinished",
                            "All bytes of a flow to this server have arrived.",
                            MakeTraceSourceAccessor(&AllReduceApplication::m_flowFinished),
                            "ns3::allreduce::AllReduceApplication::FlowTracedCallback")
            .AddTraceSource("FlowAborted",
                            "A flow from this server is aborted, because a link broke.",
                            MakeTraceSourceAccessor(&AllReduceApplication::m_flowAborted),
                            "ns3::allreduce::AllReduceApplication::FlowTracedCallback")
            .AddTraceSource("ChunkReduced",
                            "All contributions to a chunk have been merged at this server.",
                            MakeTraceSourceAccessor(&AllReduceApplication::m_chunkReduced),
                            "ns3::allreduce::AllReduceApplication::ChunkTracedCallback")
            .AddTraceSource("Done",
                            "This server has all sums; how long after the beginning.",
                            MakeTraceSourceAccessor(&AllReduceApplication::m_done),
                            "ns3::Time::TracedCallback");
    return tid;
}

AllReduceApplication::AllReduceApplication() = default;
AllReduceApplication::~AllReduceApplication() = default;

void
AllReduceApplication::SetSession(Ptr<AllReduceSession> session, NodeId server)
{
    NS_LOG_FUNCTION(this << session << server);
    m_session = session;
    m_server = server;
    session->AddApplication(this);
}

Ptr<AllReduceSession>
AllReduceApplication::GetSession() const
{
    return m_session;
}

NodeId
AllReduceApplication::GetServer() const
{
    return m_server;
}

uint64_t
AllReduceApplication::GetBytesSent() const
{
    return m_bytesSent;
}

void
AllReduceApplication::NotifyStarted(const AllReduceFlow& flow)
{
    NS_LOG_LOGIC("server " << m_server << " sends chunk " << flow.chunk << " to server "
                           << flow.target);
    m_flowStarted(flow);
}

void
AllReduceApplication::NotifySent(const AllReduceFlow& flow)
{
    m_bytesSent += flow.bytes;
}

void
AllReduceApplication::NotifyReceived(const AllReduceFlow& flow)
{
    NS_LOG_LOGIC("server " << m_server << " has got chunk " << flow.chunk << " from server "
                           << flow.source);
    m_flowFinished(flow);
}

void
AllReduceApplication::NotifyAborted(const AllReduceFlow& flow)
{
    NS_LOG_INFO("server " << m_server << " gave up sending chunk " << flow.chunk << " to server "
                          << flow.target);
    m_flowAborted(flow);
}

void
AllReduceApplication::NotifyReduced(ChunkId chunk)
{
    NS_LOG_LOGIC("server " << m_server << " has the sum of chunk " << chunk);
    m_chunkReduced(chunk);
}

void
AllReduceApplication::NotifyDone(Time duration)
{
    NS_LOG_INFO("server " << m_server << " has all sums after " << duration.As(Time::MS));
    m_done(duration);
}

void
AllReduceApplication::DoDispose()
{
    NS_LOG_FUNCTION(this);
    if (m_session)
    {
        m_session->Dispose();
    }
    m_session = nullptr;
    Application::DoDispose();
}

void
AllReduceApplication::StartApplication()
{
    NS_LOG_FUNCTION(this << m_server);
    NS_ABORT_MSG_UNLESS(m_session, "AllReduceApplication has no session: use AllReduceHelper");
    m_session->NotifyReady(m_server);
}

void
AllReduceApplication::StopApplication()
{
    NS_LOG_FUNCTION(this << m_server);
    if (m_session)
    {
        m_session->NotifyStopped(m_server);
    }
}

} // namespace ns3::allreduce
