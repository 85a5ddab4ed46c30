/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-helper.h"

#include "ns3/abort.h"
#include "ns3/distributed-run.h"
#include "ns3/loopback-net-device.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/pointer.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Where a device tells of packets, and which default sink of AsciiTraceHelper writes that.
struct AsciiSource
{
    const char* object; //!< attribute of the device that has the trace source; "": the device
    const char* name;   //!< name of the trace source
    /// With the path of the trace source.
    void (*withContext)(Ptr<OutputStreamWrapper>, std::string, Ptr<const Packet>);
    /// Without.
    void (*withoutContext)(Ptr<OutputStreamWrapper>, Ptr<const Packet>);
};

/// What PointToPointHelper traces, too.
const AsciiSource ASCII_SOURCES[] = {
    {"",
     "MacRx",
     &AsciiTraceHelper::DefaultReceiveSinkWithContext,
     &AsciiTraceHelper::DefaultReceiveSinkWithoutContext},
    {"",
     "PhyRxDrop",
     &AsciiTraceHelper::DefaultDropSinkWithContext,
     &AsciiTraceHelper::DefaultDropSinkWithoutContext},
    {"TxQueue",
     "Enqueue",
     &AsciiTraceHelper::DefaultEnqueueSinkWithContext,
     &AsciiTraceHelper::DefaultEnqueueSinkWithoutContext},
    {"TxQueue",
     "Dequeue",
     &AsciiTraceHelper::DefaultDequeueSinkWithContext,
     &AsciiTraceHelper::DefaultDequeueSinkWithoutContext},
    {"TxQueue",
     "Drop",
     &AsciiTraceHelper::DefaultDropSinkWithContext,
     &AsciiTraceHelper::DefaultDropSinkWithoutContext},
};

/// @return what has a trace source @param device the device that it is of
Ptr<Object>
FindTraced(Ptr<NetDevice> device, const AsciiSource& source)
{
    if (*source.object == '\0')
    {
        return device;
    }
    PointerValue object;
    device->GetAttribute(source.object, object);
    return object.Get<Object>();
}

/// @return the path of a trace source in Config, for a line of a trace
std::string
MakeContext(Ptr<NetDevice> device, const AsciiSource& source)
{
    return "/NodeList/" + std::to_string(device->GetNode()->GetId()) + "/DeviceList/" +
           std::to_string(device->GetIfIndex()) + "/$" + device->GetInstanceTypeId().GetName() +
           "/" + (*source.object == '\0' ? "" : std::string(source.object) + "/") + source.name;
}

} // namespace

void
TopologyHelper::EnablePcapAll(const std::string& prefix)
{
    EnablePcap(prefix, m_devices);
}

void
TopologyHelper::EnableAsciiAll(const std::string& prefix)
{
    EnableAscii(prefix, m_devices);
}

void
TopologyHelper::EnableAsciiAll(Ptr<OutputStreamWrapper> stream)
{
    EnableAscii(stream, m_devices);
}

const std::vector<TopologyHelper::PcapFile>&
TopologyHelper::GetPcapFiles() const
{
    return m_pcapFiles;
}

bool
TopologyHelper::IsTraced(const char* function, Ptr<NetDevice> device) const
{
    NS_ABORT_MSG_UNLESS(m_built, function << "() comes after Install()");
    if (DynamicCast<LoopbackNetDevice>(device))
    {
        return false;
    }
    NS_ABORT_MSG_IF(std::find(m_devices.Begin(), m_devices.End(), device) == m_devices.End(),
                    function << ": device " << device->GetIfIndex() << " of node "
                             << device->GetNode()->GetId() << ", a "
                             << device->GetInstanceTypeId().GetName() << ", expected a device of "
                             << m_topology.GetName());
    return GetNRanks() == 1 || device->GetNode()->GetSystemId() == GetRank();
}

void
TopologyHelper::EnablePcapInternal(std::string prefix,
                                   Ptr<NetDevice> device,
                                   bool promiscuous,
                                   bool explicitFilename)
{
    if (!IsTraced("EnablePcap", device))
    {
        return;
    }
    PcapHelper helper;
    const std::string path =
        explicitFilename ? prefix : helper.GetFilenameFromDevice(prefix, device);
    const auto file = helper.CreateFile(path, std::ios::out, PcapHelper::DLT_PPP);
    helper.HookDefaultSink<NetDevice>(device, "PromiscSniffer", file);
    m_pcapFiles.emplace_back(path, file);
}

void
TopologyHelper::EnableAsciiInternal(Ptr<OutputStreamWrapper> stream,
                                    std::string prefix,
                                    Ptr<NetDevice> device,
                                    bool explicitFilename)
{
    if (!IsTraced("EnableAscii", device))
    {
        return;
    }
    Packet::EnablePrinting();
    AsciiTraceHelper helper;
    const auto file =
        stream ? stream
               : helper.CreateFileStream(
                     explicitFilename ? prefix : helper.GetFilenameFromDevice(prefix, device));
    for (const AsciiSource& source : ASCII_SOURCES)
    {
        const Ptr<Object> traced = FindTraced(device, source);
        if (stream) // Several devices share it: each line says which one it is of.
        {
            traced->TraceConnect(source.name,
                                 MakeContext(device, source),
                                 MakeBoundCallback(source.withContext, file));
        }
        else
        {
            traced->TraceConnectWithoutContext(source.name,
                                               MakeBoundCallback(source.withoutContext, file));
        }
    }
}

} // namespace ns3::allreduce
