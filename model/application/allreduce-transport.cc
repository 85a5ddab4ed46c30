/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-transport.h"

#include "ns3/allreduce-error.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <limits>

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
    m_mtu = network->GetMtu();
    DoOpen();
}

void
AllReduceTransport::DoOpen()
{
}

void
AllReduceTransport::DoDispose()
{
    m_sent = SentCallback();
    m_delivered = DeliveredCallback();
    m_network = nullptr;
    Object::DoDispose();
}

void
AllReduceTransport::Prepare(const std::vector<TransferPlan>& transfers,
                            bool all,
                            ReadyCallback ready)
{
    ready();
}

std::string
AllReduceTransport::DescribePreparation() const
{
    return "";
}

double
AllReduceTransport::GetSetupSeconds(const Topology& topology,
                                    uint32_t mtu,
                                    const TransferPlan& transfer) const
{
    return 0;
}

uint32_t
AllReduceTransport::GetMtu() const
{
    return m_mtu;
}

bool
AllReduceTransport::IsOpen() const
{
    return m_network != nullptr;
}

Time
AllReduceTransport::GetLastArrival() const
{
    return m_lastArrival;
}

void
AllReduceTransport::NoteArrival()
{
    m_lastArrival = Simulator::Now();
}

AllReduceNetwork&
AllReduceTransport::GetNetwork() const
{
    return *m_network;
}

PathTiming
ComputePathTiming(const Topology& topology, const Path& path, double frameBits)
{
    PathTiming timing;
    timing.slowestBps = std::numeric_limits<uint64_t>::max();
    ForEachLink(topology, path, [&](DirectedLinkId id) {
        const Link& link = topology.GetLinkOf(id);
        timing.frame += frameBits / link.rateBps;
        timing.propagation += 1e-9 * link.delayNs;
        timing.slowestBps = std::min(timing.slowestBps, link.rateBps);
    });
    return timing;
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
        FailInput("transport ",
                  Quote(name),
                  ": expected raw, tcp, udp or the TypeId name of an AllReduceTransport");
    }
    ObjectFactory factory;
    factory.SetTypeId(tid);
    return factory.Create<AllReduceTransport>();
}

} // namespace ns3::allreduce
