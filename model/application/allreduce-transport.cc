/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-transport.h"

#include "ns3/allreduce-error.h"
#include "ns3/object-factory.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(AllReduceTransport);

TypeId
AllReduceTransport::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::AllReduceTransport").SetParent<Object>().SetGroupName("AllReduce");
    return tid;
}

void
AllReduceTransport::Open(Ptr<AllReduceNetwork> network,
                         SentCallback sent,
                         DeliveredCallback delivered)
{
    m_network = network;
    m_sent = sent;
    m_delivered = delivered;
    DoOpen();
}

void
AllReduceTransport::DoDispose()
{
    m_sent = SentCallback();
    m_delivered = DeliveredCallback();
    m_network = nullptr;
    Object::DoDispose();
}

Time
AllReduceTransport::GetSetupTime(const Path& path, uint64_t bytes) const
{
    return Time(0);
}

AllReduceNetwork&
AllReduceTransport::GetNetwork() const
{
    return *m_network;
}

std::vector<std::string>
GetTransportNames()
{
    return {"raw", "tcp", "udp"};
}

Ptr<AllReduceTransport>
CreateTransport(const std::string& name)
{
    const std::string typeName = name == "raw"   ? "ns3::allreduce::RawTransport"
                                 : name == "tcp" ? "ns3::allreduce::TcpTransport"
                                 : name == "udp" ? "ns3::allreduce::UdpTransport"
                                                 : name;
    TypeId tid;
    if (!TypeId::LookupByNameFailSafe(typeName, &tid) ||
        !tid.IsChildOf(AllReduceTransport::GetTypeId()) || !tid.HasConstructor())
    {
        FailInput("transport \"",
                  name,
                  "\": expected raw, tcp, udp or the TypeId name of an AllReduceTransport");
    }
    ObjectFactory factory;
    factory.SetTypeId(tid);
    return factory.Create<AllReduceTransport>();
}

} // namespace ns3::allreduce
