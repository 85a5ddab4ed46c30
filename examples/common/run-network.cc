/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-network.h"

#include "ns3/allreduce-error.h"
#include "ns3/background-traffic.h"
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/flow-monitor-helper.h"
#include "ns3/light-link-device.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <chrono>
#include <fstream>

namespace ns3::allreduce
{

namespace
{

void
NoteDropped(uint64_t* nDropped, Ptr<const Packet>)
{
    ++*nDropped;
}

void
NoteQueueLength(uint32_t* peak, uint32_t, uint32_t length)
{
    *peak = std::max(*peak, length);
}

/// @return the device if it is a light one, which remembers how long its queue was
Ptr<LightLinkDevice>
GetLightDevice(const AllReduceNetwork& network, DirectedLinkId link)
{
    return DynamicCast<LightLinkDevice>(network.GetDevice(link));
}

Ptr<Queue<Packet>>
GetQueue(const AllReduceNetwork& network, DirectedLinkId link)
{
    PointerValue queue;
    network.GetDevice(link)->GetAttribute("TxQueue", queue);
    return queue.Get<Queue<Packet>>();
}

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
    m_builder.SetQueue("ns3::DropTailQueue<Packet>",
                       "MaxSize",
                       QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, options.queue)));
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
    WatchQueues();
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
RunNetwork::WatchQueues()
{
    m_queuePeaks.resize(m_topology.GetNDirectedLinks(), 0);
    for (DirectedLinkId link = 0; link < m_queuePeaks.size(); ++link)
    {
        if (!GetLightDevice(*m_network, link))
        {
            GetQueue(*m_network, link)
                ->TraceConnectWithoutContext(
                    "PacketsInQueue",
                    MakeBoundCallback(&NoteQueueLength, &m_queuePeaks[link]));
        }
    }
    for (NodeId node = 0; node < m_topology.GetNNodes(); ++node)
    {
        // Where a device's queue is full, ns-3 drops packets before they come to it.
        if (const auto layer = m_network->GetNode(node)->GetObject<TrafficControlLayer>())
        {
            layer->TraceConnectWithoutContext("TcDrop",
                                              MakeBoundCallback(&NoteDropped, &m_nDropped));
        }
    }
}

void
RunNetwork::AddBackground()
{
    const double load = m_options.faults.GetBackground();
    if (load == 0)
    {
        return;
    }
    const auto loads = BackgroundTraffic::ComputeLinkLoads(*m_network);
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        const auto traffic = CreateObject<BackgroundTraffic>();
        traffic->SetLinkLoads(loads);
        traffic->SetAttribute("Load", DoubleValue(load));
        traffic->SetNetwork(m_network, server);
        m_nStreams += traffic->AssignRandomStreams(m_nStreams);
        m_network->GetServer(server)->AddApplication(traffic);
    }
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
    result.nDropped = m_nDropped;
    result.links.resize(m_topology.GetNDirectedLinks());
    for (DirectedLinkId link = 0; link < result.links.size(); ++link)
    {
        const auto queue = GetQueue(*m_network, link);
        const auto device = GetLightDevice(*m_network, link);
        LinkUse& use = result.links[link];
        use.link = link;
        use.bytes = queue->GetTotalReceivedBytes();
        use.nDropped = queue->GetTotalDroppedPackets();
        use.queuePeak = device ? device->GetQueuePeak() : m_queuePeaks[link];
        result.nDropped += use.nDropped;
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
