/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-network.h"

#include "ns3/allreduce-error.h"
#include "ns3/background-traffic-helper.h"
#include "ns3/double.h"
#include "ns3/flow-monitor-helper.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <chrono>
#include <fstream>

namespace ns3::allreduce
{

namespace
{

void
CheckFlowMonitorFile(const std::ostream& file, const std::string& path)
{
    if (!file)
    {
        FailInput("--flow-monitor: file ", NamePath(path), " cannot be written");
    }
}

} // namespace

RunNetwork::RunNetwork(const Topology& topology,
                       const RunOptions& options,
                       const std::function<uint32_t(NodeId)>& getRank)
    : m_topology(topology),
      m_options(options),
      m_builder(topology)
{
    m_builder.SetDeviceAttribute("Mtu", UintegerValue(options.frame));
    if (const auto size = options.GetQueue())
    {
        m_builder.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(*size));
    }
    m_builder.SetLight(options.IsLight());
    // What is the same in several processes must not hang on the order of events.
    m_builder.SetArrivalOrder(options.GetControl() == AllReduceSession::PACKETS &&
                              !options.isAnimated);
    if (getRank)
    {
        m_builder.SetSystemId(getRank);
    }
    m_network = m_builder.Install();
    if (options.prepare)
    {
        m_watcher = options.prepare(*m_network);
    }
    m_nStreams = m_builder.AssignStreams(0);
    m_queues.emplace(*m_network);
}

RunNetwork::~RunNetwork()
{
    m_watcher.reset();
    Simulator::Destroy();
}

Ptr<AllReduceNetwork>
RunNetwork::Get() const
{
    return m_network;
}

void
RunNetwork::AddBackground()
{
    const double load = m_options.faults.GetBackground();
    if (load == 0)
    {
        return;
    }
    BackgroundTrafficHelper background;
    background.SetAttribute("Load", DoubleValue(load));
    m_nStreams += BackgroundTrafficHelper::AssignStreams(background.Install(m_network), m_nStreams);
}

void
RunNetwork::Simulate(ExperimentResult& result) const
{
    FlowMonitorHelper flowMonitor;
    std::ofstream flowMonitorFile;
    const std::string& path = m_options.flowMonitor;
    if (!path.empty())
    {
        flowMonitorFile.open(path);
        CheckFlowMonitorFile(flowMonitorFile, path);
        flowMonitor.InstallAll();
    }
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    result.wallSeconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result.nEvents = Simulator::GetEventCount();
    if (!path.empty())
    {
        flowMonitor.SerializeToXmlStream(flowMonitorFile, 0, false, false);
        CheckFlowMonitorFile(flowMonitorFile.flush(), path);
    }
}

void
RunNetwork::CollectLinks(ExperimentResult& result) const
{
    result.nDropped = m_queues->GetNDropped();
    result.links.resize(m_topology.GetNDirectedLinks());
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
RunNetwork::ComputeUse(ExperimentResult& result) const
{
    const double seconds = result.endSeconds;
    for (LinkUse& use : result.links)
    {
        const double rate = m_network->GetRate(use.link);
        use.utilization = seconds > 0 ? 8.0 * use.bytes / (rate * seconds) : 0;
    }
}

} // namespace ns3::allreduce
