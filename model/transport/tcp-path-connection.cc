/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-path-connection.h"

#include "transfer-tag.h"

#include "ns3/bit-mix.h"
#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace ns3::allreduce
{

namespace
{

/// Wait a little longer for an answer, each path for another time: SYNs that met in a short queue
/// would meet there again and again.
void
StaggerConnecting(Ptr<Socket> socket, const Path& path)
{
    constexpr uint64_t STEPS = 1024;
    constexpr double MOST = 0.125;
    uint64_t hash = 0;
    for (const NodeId node : path)
    {
        hash = MixBits(hash ^ node);
    }
    TimeValue timeout;
    socket->GetAttribute("ConnTimeout", timeout);
    const double factor = 1 + MOST * (hash % STEPS) / STEPS;
    socket->SetAttribute("ConnTimeout", TimeValue(Seconds(timeout.Get().GetSeconds() * factor)));
}

uint16_t
GetLocalPort(Ptr<Socket> socket)
{
    Address address;
    socket->GetSockName(address);
    return InetSocketAddress::ConvertFrom(address).GetPort();
}

} // namespace

TcpPathConnection::TcpPathConnection(AllReduceNetwork& network,
                                     const Path& path,
                                     Settings settings,
                                     Callbacks callbacks,
                                     Ends ends)
    : m_settings(settings),
      m_callbacks(callbacks),
      m_ends(ends),
      m_slowestBps(ComputePathTiming(network.GetTopology(), path, 0).slowestBps)
{
    if (m_ends.hasReceiver)
    {
        Listen(network, path);
    }
    if (m_ends.hasSender)
    {
        Connect(network, path);
    }
}

void
TcpPathConnection::SetUp(Ptr<Socket> socket, uint16_t port) const
{
    socket->SetAttribute("SegmentSize", UintegerValue(m_settings.segment));
    socket->SetAttribute("DelAckCount", UintegerValue(m_settings.ackEvery));
    if (m_settings.buffer > 0)
    {
        socket->SetAttribute("SndBufSize", UintegerValue(m_settings.buffer));
        socket->SetAttribute("RcvBufSize", UintegerValue(m_settings.buffer));
    }
    if (m_settings.firstWindow > 0)
    {
        socket->SetAttribute("InitialCwnd", UintegerValue(m_settings.firstWindow));
    }
    const auto tcp = DynamicCast<TcpSocketBase>(socket);
    tcp->SetMinRto(std::max(tcp->GetMinRto(), m_settings.leastTimeout));
    TimeValue connect;
    socket->GetAttribute("ConnTimeout", connect);
    socket->SetAttribute("ConnTimeout",
                         TimeValue(std::max(connect.Get(), m_settings.leastTimeout)));
    socket->SetAttribute("ConnCount", UintegerValue(m_settings.nAttempts));
    socket->SetAttribute("DataRetries", UintegerValue(m_settings.nAttempts));
    if (port == 0)
    {
        socket->Bind();
    }
    else
    {
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    }
}

void
TcpPathConnection::Connect(AllReduceNetwork& network, const Path& path)
{
    m_sender = PacedTcpSocket::Make(network.GetNode(path.front()));
    SetUp(m_sender, m_ends.senderPort);
    if (m_settings.isPaced)
    {
        m_sender->SetPacingRate(m_slowestBps);
    }
    StaggerConnecting(m_sender, path);
    m_sender->SetConnectCallback(MakeCallback(&TcpPathConnection::Opened, this),
                                 MakeNullCallback<void, Ptr<Socket>>());
    m_sender->SetSendCallback(MakeCallback(&TcpPathConnection::Write, this));
    m_sender->SetRecvCallback(MakeCallback(&TcpPathConnection::ReadHello, this));

    const uint16_t port = m_ends.hasReceiver ? GetLocalPort(m_listener) : m_ends.receiverPort;
    network.PinFlow(path, TcpL4Protocol::PROT_NUMBER, GetLocalPort(m_sender), port);
    m_sender->Connect(InetSocketAddress(network.GetServerAddress(path.back()), port));
}

void
TcpPathConnection::Opened(Ptr<Socket> socket)
{
    m_isOpen = true;
    m_callbacks.arrived();
    if (m_items.empty())
    {
        // ns-3 does not answer a SYN+ACK that comes again because the answer to the first was lost;
        // data in its place is sent until it arrives.
        m_sender->Send(Create<Packet>(1), 0);
        m_stream.push_back({NO_TRANSFER, 1});
        ++m_written;
    }
    Write(socket, socket->GetTxAvailable());
}

void
TcpPathConnection::ReadHello(Ptr<Socket> socket)
{
    if (socket->Recv() && !m_callbacks.ready.IsNull())
    {
        const auto ready = m_callbacks.ready;
        m_callbacks.ready = Callback<void>();
        ready();
    }
}

bool
TcpPathConnection::IsReady() const
{
    return m_callbacks.ready.IsNull();
}

void
TcpPathConnection::Send(const Transfer& transfer)
{
    Item item;
    item.transfer = transfer;
    item.data.resize(transfer.payload ? transfer.bytes : 0);
    item.virtualTime = FindServedTime();
    m_items.push_back(std::move(item));
    UpdateRate();
    WriteSoon();
}

void
TcpPathConnection::WriteSoon()
{
    if (m_isOpen && m_writing.IsExpired())
    {
        // Others may begin at the same time, and should not wait behind a buffer full of this one.
        m_writing = Simulator::ScheduleNow(&TcpPathConnection::Write, this, m_sender, 0);
    }
}

bool
TcpPathConnection::Forget(TransferId id)
{
    m_items.remove_if([id](const Item& item) { return item.transfer.id == id; });
    for (Piece& piece : m_stream)
    {
        piece.transfer = piece.transfer == id ? NO_TRANSFER : piece.transfer;
    }
    if (m_items.empty())
    {
        return false;
    }
    UpdateRate();
    WriteSoon();
    return true;
}

double
TcpPathConnection::FindServedTime() const
{
    // What waits in the socket's buffer has been written, but nobody has been served with it.
    std::map<TransferId, uint64_t> nUnsent;
    uint64_t left = m_sender->GetNUnsent();
    for (auto piece = m_stream.rbegin(); piece != m_stream.rend() && left > 0; ++piece)
    {
        const uint64_t size = std::min<uint64_t>(left, piece->size);
        nUnsent[piece->transfer] += size;
        left -= size;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const Item& item : m_items)
    {
        if (!item.isSent)
        {
            const double waiting = nUnsent[item.transfer.id];
            least = std::min(least, item.virtualTime - waiting / item.transfer.rateBps);
        }
    }
    return std::isinf(least) ? 0 : least;
}

void
TcpPathConnection::UpdateRate()
{
    uint64_t rate = 0;
    for (const Item& item : m_items)
    {
        rate += item.isSent ? 0 : item.transfer.rateBps;
    }
    if (!m_settings.isPaced || rate == 0)
    {
        return;
    }
    m_telling.Cancel(); // It would come too late.
    // TCP paces data without headers. A connection that has its path for itself is held up by the
    // link; of those that share one, the headers would fill its queue.
    m_sender->SetPacingRate(rate >= m_slowestBps ? m_slowestBps : rate * m_settings.dataShare);
}

TcpPathConnection::Item*
TcpPathConnection::FindNext()
{
    Item* next = nullptr;
    for (Item& item : m_items)
    {
        const bool isLeft = item.written < item.transfer.bytes;
        if (isLeft && (!next || item.virtualTime < next->virtualTime))
        {
            next = &item;
        }
    }
    return next;
}

void
TcpPathConnection::Write(Ptr<Socket> socket, uint32_t available)
{
    if (!m_isOpen)
    {
        return;
    }
    while (Item* item = FindNext())
    {
        const uint32_t size = WriteSome(*item);
        if (size == 0)
        {
            return;
        }
        item->written += size;
        item->virtualTime += static_cast<double>(size) / item->transfer.rateBps;
        m_written += size;
        item->end = m_written;
        m_stream.push_back({item->transfer.id, size});
    }
    if (!m_settings.isPaced)
    {
        TellSent();
    }
    else if (!m_telling.IsRunning())
    {
        // The socket calls from within its sending, when it is not known what comes next.
        m_telling = Simulator::ScheduleNow(&TcpPathConnection::TellSent, this);
    }
}

uint32_t
TcpPathConnection::WriteSome(Item& item)
{
    // A segment at a time: TCP then has nothing to cut or to join, which takes most of its time.
    const uint64_t left = item.transfer.bytes - item.written;
    const uint32_t size = std::min<uint64_t>(left, m_settings.segment);
    // What is in the buffer goes before what comes later, whatever their rates are.
    const bool isAhead = m_settings.isPaced && m_sender->GetNNeverSent() >= 2 * m_settings.segment;
    if (isAhead || m_sender->GetTxAvailable() < size)
    {
        return 0;
    }
    const auto& payload = item.transfer.payload;
    const Ptr<Packet> packet =
        payload ? Create<Packet>(payload->data() + item.written, size) : Create<Packet>(size);
    if (!m_ends.hasReceiver)
    {
        TransferTag tag;
        tag.transfer = item.transfer.id;
        packet->AddByteTag(tag);
    }
    const int sent = m_sender->Send(packet, 0);
    return std::max(sent, 0);
}

void
TcpPathConnection::TellSent()
{
    // Whoever is told can close this connection.
    const Ptr<TcpPathConnection> self(this);
    const uint64_t nSent = CountSent();
    std::vector<TransferId> done;
    for (Item& item : m_items)
    {
        if (!item.isSent && item.written == item.transfer.bytes && item.end <= nSent)
        {
            item.isSent = true;
            done.push_back(item.transfer.id);
        }
    }
    if (!done.empty())
    {
        UpdateRate();
    }
    AwaitSent();
    if (!m_ends.hasReceiver)
    {
        ForgetSent();
    }
    for (const TransferId id : done)
    {
        m_callbacks.sent(id);
    }
}

TransferProgress
TcpPathConnection::GetProgress(TransferId id) const
{
    const uint64_t nUnsent = m_sender ? m_sender->GetNUnsent() : 0;
    for (const Item& item : m_items)
    {
        if (item.transfer.id == id)
        {
            // What is not sent may be others'.
            const bool isSent = item.isSent || (item.written == item.transfer.bytes &&
                                                item.end + nUnsent <= m_written);
            const uint64_t nWaiting = isSent ? 0 : std::min(nUnsent, item.written);
            return {std::max(item.received, item.written - nWaiting), item.received};
        }
    }
    return {};
}

uint64_t
TcpPathConnection::CountSent() const
{
    const uint64_t nGone = m_written - m_sender->GetNUnsent();
    if (!m_settings.isPaced)
    {
        // What is left in the socket's buffer keeps the port busy for a moment more; the next
        // transfer's first packets come just in time behind the last two.
        return nGone + 2 * m_settings.segment;
    }
    // The port is free when the time of the last segment is over.
    return m_sender->IsPacing() ? nGone - 1 : nGone;
}

void
TcpPathConnection::AwaitSent()
{
    uint64_t end = std::numeric_limits<uint64_t>::max();
    for (const Item& item : m_items)
    {
        if (!item.isSent && item.written == item.transfer.bytes)
        {
            end = std::min(end, item.end);
        }
    }
    // No acknowledgement tells when; what waits for one is looked at when that comes.
    if (m_settings.isPaced && end <= m_written && m_sender->IsSending())
    {
        const uint64_t nGone = m_written - m_sender->GetNUnsent();
        const Time wait = m_sender->FindPacedTime(std::max(end, nGone) - nGone);
        m_telling.Cancel();
        // On fast links that is less than a tick, in which the socket would not have sent.
        m_telling = Simulator::Schedule(Max(wait, TimeStep(1)), &TcpPathConnection::TellSent, this);
    }
}

void
TcpPathConnection::ForgetSent()
{
    // Where both ends are here, what has arrived is forgotten.
    m_items.remove_if([](const Item& item) { return item.isSent; });
    uint64_t nUnsent = m_sender->GetNUnsent();
    std::size_t nKept = 0;
    while (nKept < m_stream.size() && nUnsent > 0)
    {
        nUnsent -= std::min<uint64_t>(nUnsent, (m_stream.rbegin() + nKept)->size);
        ++nKept;
    }
    m_stream.erase(m_stream.begin(), m_stream.end() - nKept);
}

void
TcpPathConnection::Close()
{
    const std::array<Ptr<Socket>, 3> sockets{m_sender, m_receiver, m_listener};
    Release();
    for (const auto& socket : sockets)
    {
        if (socket)
        {
            socket->Close();
        }
    }
}

void
TcpPathConnection::Release()
{
    m_isOpen = false;
    m_writing.Cancel();
    m_telling.Cancel();
    m_items.clear();
    m_stream.clear();
    m_callbacks.ready = Callback<void>();
    for (const auto& socket : std::array<Ptr<Socket>, 3>{m_sender, m_receiver, m_listener})
    {
        if (socket)
        {
            socket->SetConnectCallback(MakeNullCallback<void, Ptr<Socket>>(),
                                       MakeNullCallback<void, Ptr<Socket>>());
            socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeNullCallback<void, Ptr<Socket>, const Address&>());
            socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
            socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        }
    }
    m_sender = nullptr;
    m_receiver = nullptr;
    m_listener = nullptr;
}

std::string
TcpPathConnection::DescribeProgress(TransferId id) const
{
    for (const Item& item : m_items)
    {
        if (item.transfer.id == id)
        {
            return std::to_string(item.received) + " of " + std::to_string(item.transfer.bytes) +
                   " bytes arrived" + (m_isOpen ? "" : ", not connected");
        }
    }
    return "";
}

} // namespace ns3::allreduce
