/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-transport.h"

#include "ns3/abort.h"
#include "ns3/allreduce-error.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <limits>
#include <map>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(AllReduceTransport);

namespace
{

/// @return the types with a short name, by that; a function, as they are named before main
std::map<std::string, TypeId>&
GetNamedTypes()
{
    static std::map<std::string, TypeId> types;
    return types;
}

/// @return whether there is a type of transports of this name
bool
FindTransportType(const std::string& name, TypeId& type)
{
    const auto named = GetNamedTypes().find(name);
    if (named != GetNamedTypes().end())
    {
        type = named->second;
        return true;
    }
    return TypeId::LookupByNameFailSafe(name, &type) &&
           type.IsChildOf(AllReduceTransport::GetTypeId()) && type.HasConstructor();
}

} // namespace

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
    m_findIncoming = nullptr;
    m_sent = SentCallback();
    m_delivered = DeliveredCallback();
    m_network = nullptr;
    Object::DoDispose();
}

void
AllReduceTransport::SetIncomingFinder(IncomingFinder find)
{
    m_findIncoming = std::move(find);
}

bool
AllReduceTransport::Prepare(const std::vector<TransferPlan>& transfers,
                            bool all,
                            ReadyCallback ready)
{
    return false;
}

bool
AllReduceTransport::NeedsPreparation() const
{
    return false;
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

bool
AllReduceTransport::UsesIp() const
{
    return true;
}

Time
AllReduceTransport::GetLastArrival() const
{
    return m_lastArrival;
}

void
AllReduceTransport::NotifyArrival()
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

bool
NameTransport(const std::string& name, TypeId type)
{
    const bool isNew = GetNamedTypes().emplace(name, type).second;
    NS_ABORT_MSG_UNLESS(isNew, "NameTransport: the name \"" << name << "\" is taken");
    return true;
}

std::vector<std::string>
GetTransportNames()
{
    std::vector<std::string> names;
    for (const auto& [name, type] : GetNamedTypes())
    {
        names.push_back(name);
    }
    return names;
}

Ptr<AllReduceTransport>
CreateTransport(const std::string& name)
{
    TypeId type;
    if (!FindTransportType(name, type))
    {
        FailInput("transport ",
                  Quote(name),
                  ": expected ",
                  boost::algorithm::join(GetTransportNames(), ", "),
                  " or the TypeId name of an AllReduceTransport");
    }
    ObjectFactory factory;
    factory.SetTypeId(type);
    return factory.Create<AllReduceTransport>();
}

} // namespace ns3::allreduce
