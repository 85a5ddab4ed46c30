/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-transport.h"
#include "tcp-path-connection.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/light-link-device.h"
#include "ns3/log.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceTcpTransport");

namespace
{

constexpr uint32_t IP_AND_TCP_BYTES = 20 + 20;
/// TCP's timestamps, padded.
constexpr uint32_t TIMESTAMP_BYTES = 12;
/// Most that the window of a SYN can say, which is not scaled.
constexpr uint32_t LARGEST_FIRST_WINDOW = 65535;
/// Most that any window can be: beyond it TCP could not tell old data from new.
constexpr uint32_t LARGEST_WINDOW = 1 << 30;

/// How often a segment is sent again before silence means that nothing gets through.
constexpr uint32_t MANY_RESENDS = 10;
/// ns-3's TCP waits no longer than this between two of them.
constexpr double LONGEST_TIMEOUT_SECONDS = 60;

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

/**
 * @ingroup allreduce
 *
 * @brief TCP connections, one for each path, kept open.
 *
 * Congestion control and all else are those of ns-3's TCP and set by its attributes; the segments
 * are as large as the devices' packets allow. Unless Pacing is off, connections keep to the rate
 * that the plan gives their transfers: ns-3 has no TCP small queues, and without these a sender's
 * window fills the queue of its own device, where the acknowledgements of what it receives then
 * wait.
 *
 * A connection whose set-up would make its first transfer notably longer (see ConnectAhead) is
 * opened before the AllReduce begins, as communication libraries do, if the plan is known then; it
 * starts with a window that fills its path. Others are opened when they are first needed. Without
 * barriers, where a late transfer makes all that follow late, all are opened before.
 */
class TcpTransport : public AllReduceTransport
{
  public:
    /// @return the type
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::allreduce::TcpTransport")
                .SetParent<AllReduceTransport>()
                .SetGroupName("AllReduce")
                .AddConstructor<TcpTransport>()
                .AddAttribute("BufferFrames",
                              "Least size of the sockets' buffers in full frames, "
                              "which should be less than half of what a device's "
                              "queue holds; longer paths get what fills them. 0: as "
                              "the attributes of TcpSocket say, whatever the path.",
                              UintegerValue(32),
                              MakeUintegerAccessor(&TcpTransport::m_bufferFrames),
                              MakeUintegerChecker<uint32_t>())
                .AddAttribute("Pacing",
                              "Whether connections keep to the rate that the plan "
                              "gives their transfers, without slow start.",
                              BooleanValue(true),
                              MakeBooleanAccessor(&TcpTransport::m_isPaced),
                              MakeBooleanChecker())
                .AddAttribute("ConnectAhead",
                              "In barrier mode a connection is opened before the "
                              "AllReduce begins if its set-up would make the first "
                              "transfer longer by more than this share. 0: all that "
                              "the plan needs.",
                              DoubleValue(0.08),
                              MakeDoubleAccessor(&TcpTransport::m_connectAhead),
                              MakeDoubleChecker<double>(0));
        return tid;
    }

    void Send(const Transfer& transfer) override
    {
        NS_LOG_FUNCTION(this << transfer.id << FormatPath(transfer.path) << transfer.bytes);
        m_paths[transfer.id] = transfer.path;
        Ptr<TcpPathConnection>& connection = m_connections[transfer.path];
        if (!connection)
        {
            connection = Connect(transfer.path, false);
        }
        connection->Send(transfer);
    }

    void Cancel(TransferId id) override
    {
        // What TCP has taken cannot be taken back: the connection ends, unless others are on it.
        const auto path = m_paths.find(id);
        const auto connection = m_connections.find(path->second);
        if (connection != m_connections.end() && !connection->second->Forget(id))
        {
            connection->second->Close();
            m_connections.erase(connection);
        }
        m_paths.erase(path);
    }

    void Close() override
    {
        for (const auto& [path, connection] : m_connections)
        {
            connection->Close();
        }
        m_connections.clear();
        m_paths.clear();
    }

    TransferProgress GetProgress(TransferId id) const override
    {
        const auto path = m_paths.find(id);
        if (path == m_paths.end())
        {
            return {};
        }
        const auto connection = m_connections.find(path->second);
        return connection == m_connections.end() ? TransferProgress()
                                                 : connection->second->GetProgress(id);
    }

    std::string DescribeProgress(TransferId id) const override
    {
        const auto connection = m_connections.find(m_paths.at(id));
        return connection == m_connections.end() ? "" : connection->second->DescribeProgress(id);
    }

    bool Prepare(const std::vector<TransferPlan>& transfers, bool all, ReadyCallback ready) override
    {
        NS_LOG_FUNCTION(this << transfers.size() << all);
        const Topology& topology = GetNetwork().GetTopology();
        m_ready = ready;
        m_nAwaited.assign(topology.GetNServers(), 0);
        std::set<Path> ahead;
        for (const TransferPlan& transfer : transfers)
        {
            if (all || IsConnectedAhead(topology, GetMtu(), transfer))
            {
                ahead.insert(transfer.path);
            }
        }
        NamePorts(transfers);
        for (const TransferPlan& transfer : transfers)
        {
            PreparePath(transfer.path, ahead.count(transfer.path) > 0);
        }
        for (NodeId server = 0; server < topology.GetNServers() && !ahead.empty(); ++server)
        {
            if (GetNetwork().IsHere(server) && m_nAwaited[server] == 0)
            {
                ready(server);
            }
        }
        return !ahead.empty();
    }

    bool NeedsPreparation() const override
    {
        return true;
    }

    std::string DescribePreparation() const override
    {
        constexpr std::size_t MOST = 4;
        std::size_t n = 0;
        std::string text;
        for (const auto& [path, connection] : m_connections)
        {
            if (!connection->IsReady() && ++n <= MOST)
            {
                text += (text.empty() ? "no connection along " : ", ") + FormatPath(path);
            }
        }
        return n > MOST ? text + " and " + std::to_string(n - MOST) + " more" : text;
    }

    FrameFormat GetFrameFormat(uint32_t hops, uint32_t mtu) const override
    {
        const bool hasTimestamp =
            GetDefault<BooleanValue>(TcpSocketBase::GetTypeId(), "Timestamp").Get();
        const uint32_t headers = IP_AND_TCP_BYTES + (hasTimestamp ? TIMESTAMP_BYTES : 0);
        NS_ABORT_MSG_IF(mtu <= headers, "Mtu is " << mtu << ", expected more than " << headers);
        return {mtu - headers, headers + LightLinkDevice::HEADER_BYTES};
    }

    double GetSetupSeconds(const Topology& topology,
                           uint32_t mtu,
                           const TransferPlan& transfer) const override
    {
        return IsConnectedAhead(topology, mtu, transfer)
                   ? 0
                   : GetConnectSeconds(topology, mtu, transfer);
    }

    Time GetLongestSilence() const override
    {
        const Time connect = GetDefault<TimeValue>(TcpSocket::GetTypeId(), "ConnTimeout").Get();
        const Time data = GetDefault<TimeValue>(TcpSocketBase::GetTypeId(), "MinRto").Get();
        double timeout = std::max({connect.GetSeconds(), data.GetSeconds(), m_longestTimeout});
        double sum = 0;
        for (uint32_t attempt = 0; attempt < MANY_RESENDS; ++attempt)
        {
            sum += timeout;
            timeout = std::min(2 * timeout, std::max(timeout, LONGEST_TIMEOUT_SECONDS));
        }
        return Seconds(sum);
    }

  protected:
    void DoOpen() override
    {
        GetNetwork().TraceConnectWithoutContext(
            "LinkChanged",
            MakeCallback(&TcpTransport::NotifyLinkChanged, this));
    }

    void DoDispose() override
    {
        if (IsOpen())
        {
            GetNetwork().TraceDisconnectWithoutContext(
                "LinkChanged",
                MakeCallback(&TcpTransport::NotifyLinkChanged, this));
        }
        // Nothing is sent any more: some of the nodes have been disposed of already.
        for (const auto& [path, connection] : m_connections)
        {
            connection->Release();
        }
        m_connections.clear();
        AllReduceTransport::DoDispose();
    }

  private:
    /// Sizes that depend on a path, in full segments.
    struct Windows
    {
        uint32_t buffer;     //!< that a socket holds; 0: as TCP's own attributes say
        double seconds;      //!< that a buffer takes to be sent and acknowledged
        uint32_t congestion; //!< of TCP's congestion control at first
        uint32_t first;      //!< that can be sent before the first acknowledgement
        uint32_t ackEvery;   //!< that an acknowledgement stands for
    };

    /// @return the windows of a connection along a path
    Windows ComputeWindows(const Topology& topology, uint32_t mtu, const Path& path) const
    {
        const FrameFormat format = GetFrameFormat(path.size() - 1, mtu);
        const uint64_t congestion =
            GetDefault<UintegerValue>(TcpSocket::GetTypeId(), "InitialCwnd").Get();
        const uint64_t ackEvery =
            GetDefault<UintegerValue>(TcpSocket::GetTypeId(), "DelAckCount").Get();
        Windows windows{};
        if (m_bufferFrames > 0)
        {
            const PathTiming timing = ComputePathTiming(topology, path, format.GetFrameBits());
            const double roundTrip = timing.frame + 2 * timing.propagation;
            const double interval = format.GetFrameBits() / timing.slowestBps;
            // What fills the path, what waits for an acknowledgement, and as much for those of
            // others in whose way it is.
            const double filling = std::ceil(roundTrip / interval) + 3 * ackEvery;
            windows.buffer = std::min<double>(std::max<double>(m_bufferFrames, filling),
                                              LARGEST_WINDOW / format.payload);
            windows.seconds = roundTrip + windows.buffer * interval;
        }
        windows.congestion = congestion;
        windows.first = std::min<uint64_t>(congestion, LARGEST_FIRST_WINDOW / format.payload);
        // If it stood for more than a window, the sender would wait for the receiver's timer.
        windows.ackEvery = std::min<uint64_t>(ackEvery, windows.first);
        return windows;
    }

    /// @return by how many seconds the first transfer takes longer if the connection is opened for
    /// it
    double GetConnectSeconds(const Topology& topology,
                             uint32_t mtu,
                             const TransferPlan& transfer) const
    {
        const FrameFormat format = GetFrameFormat(transfer.path.size() - 1, mtu);
        const PathTiming full = ComputePathTiming(topology, transfer.path, format.GetFrameBits());
        const PathTiming empty = ComputePathTiming(topology, transfer.path, 8.0 * format.overhead);
        const double handshake = 2 * (empty.frame + empty.propagation);
        const Windows windows = ComputeWindows(topology, mtu, transfer.path);
        // The sender stops when it has used up its window, until the first acknowledgement of what
        // is in it; by then each acknowledgement has made the window one segment larger.
        const double interval = format.GetFrameBits() / transfer.rateBps;
        const double firstAck = (windows.ackEvery - 1) * interval + full.frame + handshake;
        double left =
            std::ceil(static_cast<double>(transfer.bytes) / format.payload) - windows.first;
        double window = windows.first;
        double stops = 0;
        while (left > 0 && window * interval < firstAck)
        {
            stops += firstAck - window * interval;
            window = std::max<double>(window, windows.congestion) + window / windows.ackEvery;
            left -= window;
        }
        return handshake + stops;
    }

    /// @return whether the connection should be open before the AllReduce begins
    bool IsConnectedAhead(const Topology& topology,
                          uint32_t mtu,
                          const TransferPlan& transfer) const
    {
        const FrameFormat format = GetFrameFormat(transfer.path.size() - 1, mtu);
        const double seconds = 8.0 * format.GetWireBytes(transfer.bytes) / transfer.rateBps;
        return GetConnectSeconds(topology, mtu, transfer) > m_connectAhead * seconds;
    }

    /// Give connections between ranks ports that both ends know.
    void NamePorts(const std::vector<TransferPlan>& transfers)
    {
        constexpr uint32_t FIRST_PORT = 1024;
        constexpr uint32_t LAST_PORT = 49151; // ns-3 takes others where it is free to
        std::vector<uint32_t> next(GetNetwork().GetTopology().GetNServers(), FIRST_PORT);
        for (std::size_t i = 0; i < transfers.size() && GetNetwork().IsDistributed(); ++i)
        {
            const Path& path = transfers[i].path;
            if (m_ports.count(path) == 0)
            {
                const uint32_t senderPort = next[path.front()]++;
                const uint32_t receiverPort = next[path.back()]++;
                NS_ABORT_MSG_IF(std::max(senderPort, receiverPort) > LAST_PORT,
                                "several ranks: more connections at a server than the "
                                    << LAST_PORT - FIRST_PORT + 1 << " that have a port");
                m_ports[path] = {static_cast<uint16_t>(senderPort),
                                 static_cast<uint16_t>(receiverPort)};
            }
        }
    }

    /// Do what can be done for a path before it is used. @param isAhead it is worth a connection
    void PreparePath(const Path& path, bool isAhead)
    {
        const bool sendsHere = GetNetwork().IsHere(path.front());
        const bool isAwaited = GetNetwork().IsHere(path.back()) && !sendsHere;
        if (m_connections.count(path) > 0 || !(isAwaited || (isAhead && sendsHere)))
        {
            return;
        }
        m_nAwaited[path.front()] += sendsHere ? 1 : 0;
        m_connections[path] = Connect(path, isAhead);
    }

    /// @return which ends of a path are here
    TcpPathConnection::Ends FindEnds(const Path& path) const
    {
        const bool hasSender = GetNetwork().IsHere(path.front());
        const bool hasReceiver = GetNetwork().IsHere(path.back());
        if (hasSender && hasReceiver)
        {
            return {};
        }
        const auto [senderPort, receiverPort] = m_ports.at(path);
        return {hasSender, hasReceiver, senderPort, receiverPort};
    }

    /// @return a new connection @param isAhead opened before it is needed, which is waited for
    Ptr<TcpPathConnection> Connect(const Path& path, bool isAhead)
    {
        NS_LOG_FUNCTION(this << FormatPath(path));
        const TcpPathConnection::Ends ends = FindEnds(path);
        const FrameFormat format = GetFrameFormat(path.size() - 1, GetMtu());
        const uint32_t segment = format.payload;
        const Windows windows = ComputeWindows(GetNetwork().GetTopology(), GetMtu(), path);
        m_longestTimeout = std::max(m_longestTimeout, windows.seconds);
        return Create<TcpPathConnection>(
            GetNetwork(),
            path,
            TcpPathConnection::Settings{segment,
                                        windows.buffer * segment,
                                        windows.ackEvery,
                                        m_isPaced && isAhead ? windows.buffer : 0,
                                        Seconds(windows.seconds),
                                        MANY_RESENDS,
                                        8.0 * format.payload / format.GetFrameBits(),
                                        m_isPaced,
                                        isAhead},
            TcpPathConnection::Callbacks{
                MakeCallback(&TcpTransport::NotifySent, this),
                MakeCallback(&TcpTransport::Deliver, this),
                isAhead && ends.hasSender
                    ? MakeBoundCallback(&TcpTransport::NotifyReady, this, path.front())
                    : Callback<void>(),
                MakeCallback(&TcpTransport::NotifyArrival, this),
                m_findIncoming},
            ends);
    }

    void NotifyLinkChanged(LinkId link, bool isUp)
    {
        // TCP gives up a connection that is down for long, also an idle one, and tells nobody.
        for (auto connection = m_connections.begin(); connection != m_connections.end() && !isUp;)
        {
            const auto way = FindLinks(GetNetwork().GetTopology(), connection->first);
            const auto isBroken = [link](DirectedLinkId part) { return GetLinkId(part) == link; };
            if (std::any_of(way.begin(), way.end(), isBroken))
            {
                NS_LOG_INFO("link " << link << " breaks: closes the connection along "
                                    << FormatPath(connection->first));
                connection->second->Close();
                connection = m_connections.erase(connection);
            }
            else
            {
                ++connection;
            }
        }
    }

    /// A connection that a server opened ahead is open.
    static void NotifyReady(TcpTransport* transport, NodeId server)
    {
        if (--transport->m_nAwaited[server] == 0)
        {
            transport->m_ready(server);
        }
    }

    void NotifySent(TransferId id)
    {
        const auto path = m_paths.find(id);
        if (path != m_paths.end() && !GetNetwork().IsHere(path->second.back()))
        {
            m_paths.erase(path); // Another rank hears when it arrives.
        }
        m_sent(id);
    }

    void Deliver(TransferId id, const Bytes& data)
    {
        m_paths.erase(id);
        m_delivered(id, data);
    }

    std::map<Path, Ptr<TcpPathConnection>> m_connections;  //!< those that are open, by path
    std::map<TransferId, Path> m_paths;                    //!< of the transfers not delivered
    std::map<Path, std::pair<uint16_t, uint16_t>> m_ports; //!< of connections between ranks
    std::vector<uint32_t> m_nAwaited; //!< by server: connections that Prepare waits for
    ReadyCallback m_ready;            //!< told of servers with none
    uint32_t m_bufferFrames{32};      //!< attribute BufferFrames
    bool m_isPaced{true};             //!< attribute Pacing
    double m_connectAhead{0.08};      //!< attribute ConnectAhead
    double m_longestTimeout{0};       //!< of all connections so far, seconds
};

NS_OBJECT_ENSURE_REGISTERED(TcpTransport);

static const bool g_isTcpNamed = NameTransport("tcp", TcpTransport::GetTypeId());

} // namespace ns3::allreduce
