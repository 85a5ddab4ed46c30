/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-transport.h"

#include "tcp-path-connection.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(TcpTransport);

namespace
{

constexpr uint32_t IP_AND_TCP_BYTES = 20 + 20;
/// TCP's timestamps, padded.
constexpr uint32_t TIMESTAMP_BYTES = 12;
/// What a point-to-point device adds to a packet.
constexpr uint32_t PPP_BYTES = 2;
/// Most that the window of a SYN can say, which is not scaled.
constexpr uint32_t LARGEST_FIRST_WINDOW = 65535;

/// @return what an attribute of sockets is, unless someone sets it
template <class Value>
Value
GetDefault(TypeId type, const std::string& name)
{
    TypeId::AttributeInformation attribute;
    type.LookupAttributeByName(name, &attribute);
    return *DynamicCast<const Value>(attribute.initialValue);
}

} // namespace

TypeId
TcpTransport::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::TcpTransport")
                            .SetParent<AllReduceTransport>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<TcpTransport>()
                            .AddAttribute("BufferFrames",
                                          "Size of the sockets' buffers in full frames, which "
                                          "should be less than half of what a device's queue "
                                          "holds; 0: as the attributes of TcpSocket say.",
                                          UintegerValue(32),
                                          MakeUintegerAccessor(&TcpTransport::m_bufferFrames),
                                          MakeUintegerChecker<uint32_t>())
                            .AddAttribute("Pacing",
                                          "Whether connections keep to the rate of their path.",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&TcpTransport::m_isPaced),
                                          MakeBooleanChecker());
    return tid;
}

TcpTransport::TcpTransport() = default;
TcpTransport::~TcpTransport() = default;

void
TcpTransport::DoOpen()
{
    m_mtu = GetNetwork().GetMtu();
    const bool hasTimestamp =
        GetDefault<BooleanValue>(TcpSocketBase::GetTypeId(), "Timestamp").Get();
    m_headerBytes = IP_AND_TCP_BYTES + (hasTimestamp ? TIMESTAMP_BYTES : 0);
}

void
TcpTransport::DoDispose()
{
    // Nothing is sent any more: some of the nodes have been disposed of already.
    for (const auto& [path, connection] : m_connections)
    {
        connection->Release();
    }
    m_connections.clear();
    AllReduceTransport::DoDispose();
}

void
TcpTransport::Send(const Transfer& transfer)
{
    m_paths[transfer.id] = transfer.path;
    Ptr<TcpPathConnection>& connection = m_connections[transfer.path];
    if (!connection)
    {
        const uint32_t segment = GetFrameFormat(transfer.path.size() - 1).payload;
        connection = Create<TcpPathConnection>(
            GetNetwork(),
            transfer.path,
            TcpPathConnection::Sizes{segment,
                                     m_bufferFrames * segment,
                                     GetAckEvery(),
                                     m_isPaced ? GetPathRate(transfer.path) : 0},
            TcpPathConnection::Callbacks{m_sent, MakeCallback(&TcpTransport::Deliver, this)});
    }
    connection->Send(transfer);
}

uint64_t
TcpTransport::GetPathRate(const Path& path) const
{
    uint64_t slowest = std::numeric_limits<uint64_t>::max();
    for (const DirectedLinkId link : GetNetwork().GetLinks(path))
    {
        const uint32_t capacity = GetNetwork().GetTopology().GetCapacity(link);
        slowest = std::min(slowest, GetNetwork().GetRate(link) / capacity);
    }
    return slowest;
}

void
TcpTransport::Deliver(TransferId id, const Bytes& data)
{
    m_paths.erase(id);
    m_delivered(id, data);
}

void
TcpTransport::Cancel(TransferId id)
{
    // What TCP has taken cannot be taken back: the connection ends, and with it all that is on it.
    const auto path = m_paths.find(id);
    const auto connection = m_connections.find(path->second);
    if (connection != m_connections.end())
    {
        connection->second->Close();
        m_connections.erase(connection);
    }
    m_paths.erase(path);
}

void
TcpTransport::Close()
{
    for (const auto& [path, connection] : m_connections)
    {
        connection->Close();
    }
    m_connections.clear();
    m_paths.clear();
}

std::string
TcpTransport::DescribeProgress(TransferId id) const
{
    const auto connection = m_connections.find(m_paths.at(id));
    return connection == m_connections.end() ? "" : connection->second->DescribeProgress(id);
}

FrameFormat
TcpTransport::GetFrameFormat(uint32_t hops) const
{
    NS_ABORT_MSG_IF(m_mtu <= m_headerBytes,
                    "Mtu is " << m_mtu << ", expected more than " << m_headerBytes);
    return {m_mtu - m_headerBytes, m_headerBytes + PPP_BYTES};
}

uint32_t
TcpTransport::GetFirstWindow() const
{
    const uint64_t congestion =
        GetDefault<UintegerValue>(TcpSocket::GetTypeId(), "InitialCwnd").Get();
    return std::min<uint64_t>(congestion, LARGEST_FIRST_WINDOW / GetFrameFormat(1).payload);
}

uint32_t
TcpTransport::GetAckEvery() const
{
    // If it stood for more than a window, the sender would wait for the receiver's timer.
    const uint64_t asked = GetDefault<UintegerValue>(TcpSocket::GetTypeId(), "DelAckCount").Get();
    return std::min<uint64_t>(asked, GetFirstWindow());
}

Time
TcpTransport::GetSetupTime(const Path& path, uint64_t bytes) const
{
    const FrameFormat format = GetFrameFormat(path.size() - 1);
    const double frameBits = 8.0 * (format.payload + format.overhead);
    double handshake = 0;
    double firstFrame = 0;
    for (const DirectedLinkId link : GetNetwork().GetLinks(path))
    {
        const double rate = GetNetwork().GetRate(link);
        handshake += 2 * (8.0 * format.overhead / rate + GetNetwork().GetDelay(link).GetSeconds());
        firstFrame += frameBits / rate;
    }
    const uint32_t window = GetFirstWindow();
    if (bytes <= uint64_t{window} * format.payload)
    {
        return Seconds(handshake);
    }
    // The sender stops when it has used up its first window, until the first acknowledgement.
    const double interval = frameBits / GetPathRate(path);
    const double firstAck = (GetAckEvery() - 1) * interval + firstFrame + handshake;
    return Seconds(handshake + std::max(0.0, firstAck - window * interval));
}

Time
TcpTransport::GetLongestSilence() const
{
    // Several attempts to connect, or several timeouts, each twice as long as the one before.
    return Seconds(30);
}

} // namespace ns3::allreduce
