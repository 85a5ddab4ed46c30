/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-path-connection.h"

#include "ns3/bit-mix.h"
#include "ns3/data-rate.h"
#include "ns3/inet-socket-address.h"
#include "ns3/object-factory.h"
#include "ns3/packet.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(PacedTcpSocket);
NS_OBJECT_ENSURE_REGISTERED(TransferTag);

namespace
{

/// Names what belongs to no transfer.
constexpr TransferId NO_TRANSFER = std::numeric_limits<TransferId>::max();

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

/// @return an object of the type that an attribute of a node's TCP names
template <class T>
Ptr<T>
MakeOfType(Ptr<TcpL4Protocol> tcp, const std::string& attribute)
{
    TypeIdValue type;
    tcp->GetAttribute(attribute, type);
    ObjectFactory factory;
    factory.SetTypeId(type.Get());
    return factory.Create<T>();
}

} // namespace

TypeId
PacedTcpSocket::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::PacedTcpSocket")
                            .SetParent<TcpSocketBase>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<PacedTcpSocket>();
    return tid;
}

Ptr<PacedTcpSocket>
PacedTcpSocket::Make(Ptr<Node> node)
{
    const auto tcp = node->GetObject<TcpL4Protocol>();
    const auto socket = CreateObject<PacedTcpSocket>();
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(MakeOfType<RttEstimator>(tcp, "RttEstimatorType"));
    socket->SetCongestionControlAlgorithm(MakeOfType<TcpCongestionOps>(tcp, "SocketType"));
    socket->SetRecoveryAlgorithm(MakeOfType<TcpRecoveryOps>(tcp, "RecoveryType"));
    tcp->AddSocket(socket);
    return socket;
}

void
PacedTcpSocket::SetPacingRate(uint64_t rateBps)
{
    // Delayed acknowledgements make round trips look long; only the given rate shall count.
    constexpr uint16_t MANY_PERCENT = 60000;
    m_tcb->m_pacing = true;
    m_tcb->m_paceInitialWindow = true;
    m_tcb->m_pacingSsRatio = MANY_PERCENT;
    m_tcb->m_pacingCaRatio = MANY_PERCENT;
    m_tcb->m_maxPacingRate = DataRate(rateBps);
    m_tcb->m_pacingRate = DataRate(rateBps);
}

uint32_t
PacedTcpSocket::GetNUnsent() const
{
    return m_txBuffer->SizeFromSequence(m_tcb->m_nextTxSequence);
}

uint32_t
PacedTcpSocket::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck)
{
    // ns-3's own rate, a window in a round trip, becomes 0 if it does not fit into 64 bits, as with
    // round trips of 0 ns.
    if (m_tcb->m_pacing && m_tcb->m_pacingRate.Get().GetBitRate() == 0)
    {
        m_tcb->m_pacingRate = m_tcb->m_maxPacingRate;
    }
    return TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
}

uint32_t
PacedTcpSocket::GetNNeverSent() const
{
    return m_txBuffer->SizeFromSequence(m_tcb->m_highTxMark);
}

bool
PacedTcpSocket::IsPacing() const
{
    return m_pacingTimer.IsRunning();
}

bool
PacedTcpSocket::IsSending() const
{
    // ns-3 sends a tick after data was written.
    return m_pacingTimer.IsRunning() || m_sendPendingDataEvent.IsRunning();
}

Time
PacedTcpSocket::FindPacedTime(uint32_t bytes) const
{
    return m_pacingTimer.GetDelayLeft() + m_tcb->m_maxPacingRate.CalculateBytesTxTime(bytes);
}

TypeId
TransferTag::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::TransferTag")
                            .SetParent<Tag>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<TransferTag>();
    return tid;
}

TypeId
TransferTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
TransferTag::GetSerializedSize() const
{
    return sizeof(transfer);
}

void
TransferTag::Serialize(TagBuffer buffer) const
{
    buffer.WriteU32(transfer);
}

void
TransferTag::Deserialize(TagBuffer buffer)
{
    transfer = buffer.ReadU32();
}

void
TransferTag::Print(std::ostream& os) const
{
    os << "transfer=" << transfer;
}

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
TcpPathConnection::Listen(AllReduceNetwork& network, const Path& path)
{
    // A socket that is being accepted keeps the callback of the listener, even after Close.
    const Ptr<TcpPathConnection> self(this);
    m_listener = Socket::CreateSocket(network.GetNode(path.back()), TcpSocketFactory::GetTypeId());
    SetUp(m_listener, m_ends.receiverPort);
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&TcpPathConnection::Accept, self));
    m_listener->Listen();
    if (!m_ends.hasSender)
    {
        network.PinFlow(path, TcpL4Protocol::PROT_NUMBER, m_ends.senderPort, m_ends.receiverPort);
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
TcpPathConnection::Accept(Ptr<Socket> socket, const Address& from)
{
    if (!m_listener)
    {
        socket->Close();
        return;
    }
    m_receiver = socket;
    m_receiver->SetRecvCallback(MakeCallback(&TcpPathConnection::Read, this));
    if (m_settings.isAhead)
    {
        // A SYN cannot say how large the receiver's window is; the first segment after it does.
        m_receiver->Send(Create<Packet>(1));
    }
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
    if (m_isOpen && m_writing.IsExpired())
    {
        // Others may begin at the same time, and should not wait behind a buffer full of this one.
        m_writing = Simulator::ScheduleNow(&TcpPathConnection::Write, this, m_sender, 0);
    }
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
TcpPathConnection::Read(Ptr<Socket> socket)
{
    // A delivery can close this connection.
    const Ptr<TcpPathConnection> self(this);
    while (const Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        Store(packet);
    }
}

void
TcpPathConnection::Store(Ptr<Packet> packet)
{
    m_callbacks.arrived();
    if (!m_ends.hasSender)
    {
        StoreTagged(packet);
        return;
    }
    uint32_t offset = 0;
    while (offset < packet->GetSize() && !m_stream.empty())
    {
        const uint32_t size = std::min(packet->GetSize() - offset, m_stream.front().size);
        StorePiece(packet, offset, size);
        offset += size;
    }
}

void
TcpPathConnection::StoreTagged(Ptr<Packet> packet)
{
    ByteTagIterator tags = packet->GetByteTagIterator();
    while (tags.HasNext())
    {
        const ByteTagIterator::Item place = tags.Next();
        if (place.GetTypeId() != TransferTag::GetTypeId())
        {
            continue;
        }
        TransferTag tag;
        place.GetTag(tag);
        const auto item = FindItem(tag.transfer);
        if (item != m_items.end())
        {
            StoreIn(item, packet, place.GetStart(), place.GetEnd() - place.GetStart());
        }
    }
}

void
TcpPathConnection::StorePiece(Ptr<Packet> packet, uint32_t offset, uint32_t size)
{
    Piece& piece = m_stream.front();
    if (piece.transfer == NO_TRANSFER)
    {
        m_stream.pop_front();
        return;
    }
    const auto item = FindItem(piece.transfer);
    piece.size -= size;
    if (piece.size == 0)
    {
        m_stream.pop_front();
    }
    StoreIn(item, packet, offset, size);
}

std::list<TcpPathConnection::Item>::iterator
TcpPathConnection::FindItem(TransferId id)
{
    const auto item = std::find_if(m_items.begin(), m_items.end(), [&](const Item& candidate) {
        return candidate.transfer.id == id;
    });
    if (item != m_items.end() || m_ends.hasSender)
    {
        return item;
    }
    const auto incoming = m_callbacks.find(id);
    if (!incoming)
    {
        return m_items.end();
    }
    Item added;
    added.transfer = incoming->transfer;
    added.data.resize(added.transfer.payload ? added.transfer.bytes : 0);
    return m_items.insert(m_items.end(), std::move(added));
}

void
TcpPathConnection::StoreIn(std::list<Item>::iterator item,
                           Ptr<Packet> packet,
                           uint32_t offset,
                           uint32_t size)
{
    if (item->transfer.payload)
    {
        packet->CreateFragment(offset, size)->CopyData(item->data.data() + item->received, size);
    }
    item->received += size;
    if (item->received == item->transfer.bytes)
    {
        const Item done = std::move(*item);
        m_items.erase(item);
        m_callbacks.delivered(done.transfer.id, done.data);
    }
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
