/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "experiment-network.h"

#include "background-traffic-helper.h"

#include "ns3/double.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <chrono>

namespace ns3::allreduce
{

ExperimentNetwork::ExperimentNetwork(const Topology& topology,
                                     const ExperimentSettings& settings,
                                     const std::function<uint32_t(NodeId)>& getRank)
    : m_settings(settings),
      m_builder(topology)
{
    m_builder.SetDeviceAttribute("Mtu", UintegerValue(settings.frame));
    if (settings.queue)
    {
        m_builder.SetQueue("ns3::DropTailQueue<Packet>",
                           "MaxSize",
                           QueueSizeValue(*settings.queue));
    }
    m_builder.SetLight(settings.isLight);
    m_builder.SetArrivalOrder(settings.isOrdered);
    if (getRank)
    {
        m_builder.SetSystemId(getRank);
    }
    m_network = m_builder.Install();
    if (settings.prepare)
    {
        m_watcher = settings.prepare(m_builder);
    }
    m_nStreams = m_builder.AssignStreams(0);
    m_queues.emplace(*m_network);
}

ExperimentNetwork::~ExperimentNetwork()
{
    m_watcher.reset();
    Simulator::Destroy();
}

Ptr<AllReduceNetwork>
ExperimentNetwork::Get() const
{
    return m_network;
}

void
ExperimentNetwork::AddBackground()
{
    if (m_settings.background == 0)
    {
        return;
    }
    BackgroundTrafficHelper background;
    background.SetAttribute("Load", DoubleValue(m_settings.background));
    m_nStreams += BackgroundTrafficHelper::AssignStreams(background.Install(m_network), m_nStreams);
}

void
ExperimentNetwork::Simulate()
{
    const auto begin = std::chrono::steady_clock::now();
    m_settings.simulate ? m_settings.simulate() : Simulator::Run();
    m_wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void
ExperimentNetwork::Collect(ExperimentResult& result) const
{
    result.wallSeconds = m_wallSeconds;
    result.nEvents = Simulator::GetEventCount();
    result.nDropped = m_queues->GetNDropped();
    result.links.resize(m_network->GetTopology().GetNDirectedLinks());
    for (DirectedLinkId link = 0; link < result.links.size(); ++link)
    {
        const auto queue = m_queues->GetQueue(link);
        LinkUse& use = result.links[link];
        use.link = link;
        use.bytes = queue->GetTotalReceivedBytes();
        use.nDropped = queue->GetTotalDroppedPackets();
        use.queuePeak = m_queues->GetPeak(link);
    }
}

void
ExperimentNetwork::ComputeUse(ExperimentResult& result) const
{
    const double seconds = result.endSeconds;
    for (LinkUse& use : result.links)
    {
        const double rate = m_network->GetTopology().GetLinkOf(use.link).rateBps;
        use.utilization = seconds > 0 ? 8.0 * use.bytes / (rate * seconds) : 0;
    }
}

} // namespace ns3::allreduce
