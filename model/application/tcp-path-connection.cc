/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tcp-path-connection.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>

namespace ns3::allreduce
{

namespace
{

constexpr uint8_t IP_PROTOCOL_TCP = 6;

uint16_t
GetLocalPort(Ptr<Socket> socket)
{
    Address address;
    socket->GetSockName(address);
    return InetSocketAddress::ConvertFrom(address).GetPort();
}

/// Changes the default of an attribute for a while.
class ScopedDefault
{
  public:
    ScopedDefault(TypeId type, const std::string& name, const AttributeValue& value)
        : m_name(type.GetName() + "::" + name)
    {
        TypeId::AttributeInformation attribute;
        type.LookupAttributeByName(name, &attribute);
        m_before = attribute.initialValue;
        Config::SetDefault(m_name, value);
    }

    ~ScopedDefault()
    {
        Config::SetDefault(m_name, *m_before);
    }

  private:
    std::string m_name;                 //!< the attribute
    Ptr<const AttributeValue> m_before; //!< its default before
};

/// @return a TCP socket that sends at most at some rate
Ptr<Socket>
MakePacedSocket(Ptr<Node> node, uint64_t rateBps)
{
    // The state with the rate is inside the socket, where only defaults reach it.
    const TypeId state = TcpSocketState::GetTypeId();
    const ScopedDefault isPaced(state, "EnablePacing", BooleanValue(true));
    const ScopedDefault fromStart(state, "PaceInitialWindow", BooleanValue(true));
    // Delayed acknowledgements make round trips look long; only the rate of the path shall count.
    constexpr uint16_t MANY_PERCENT = 60000;
    const ScopedDefault slowStart(state, "PacingSsRatio", UintegerValue(MANY_PERCENT));
    const ScopedDefault avoidance(state, "PacingCaRatio", UintegerValue(MANY_PERCENT));
    const ScopedDefault rate(state, "MaxPacingRate", DataRateValue(DataRate(rateBps)));
    return Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
}

} // namespace

TcpPathConnection::TcpPathConnection(AllReduceNetwork& network,
                                     const Path& path,
                                     Sizes sizes,
                                     Callbacks callbacks)
    : m_callbacks(callbacks),
      m_sizes(sizes)
{
    Connect(network, path);
}

Ptr<Socket>
TcpPathConnection::MakeSocket(Ptr<Node> node) const
{
    const Ptr<Socket> socket = m_sizes.rateBps > 0
                                   ? MakePacedSocket(node, m_sizes.rateBps)
                                   : Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->SetAttribute("SegmentSize", UintegerValue(m_sizes.segment));
    socket->SetAttribute("DelAckCount", UintegerValue(m_sizes.ackEvery));
    if (m_sizes.buffer > 0)
    {
        socket->SetAttribute("SndBufSize", UintegerValue(m_sizes.buffer));
        socket->SetAttribute("RcvBufSize", UintegerValue(m_sizes.buffer));
    }
    socket->Bind();
    return socket;
}

void
TcpPathConnection::Connect(AllReduceNetwork& network, const Path& path)
{
    // A socket that is being accepted keeps the callback of the listener, even after Close.
    const Ptr<TcpPathConnection> self(this);
    m_listener = MakeSocket(network.GetNode(path.back()));
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&TcpPathConnection::Accept, self));
    m_listener->Listen();

    m_sender = MakeSocket(network.GetNode(path.front()));
    UintegerValue sendBuffer;
    m_sender->GetAttribute("SndBufSize", sendBuffer);
    m_sendBuffer = sendBuffer.Get();
    m_sender->SetConnectCallback(MakeCallback(&TcpPathConnection::Opened, this),
                                 MakeNullCallback<void, Ptr<Socket>>());
    m_sender->SetSendCallback(MakeCallback(&TcpPathConnection::Write, this));
    m_sender->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());

    const uint16_t port = GetLocalPort(m_listener);
    network.PinFlow(path, IP_PROTOCOL_TCP, GetLocalPort(m_sender), port);
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
}

void
TcpPathConnection::Opened(Ptr<Socket> socket)
{
    m_isOpen = true;
    Write(socket, socket->GetTxAvailable());
}

void
TcpPathConnection::Send(const Transfer& transfer)
{
    Item item;
    item.transfer = transfer;
    item.data.resize(transfer.payload ? transfer.bytes : 0);
    m_items.push_back(std::move(item));
    if (m_isOpen)
    {
        Write(m_sender, m_sender->GetTxAvailable());
    }
}

void
TcpPathConnection::Write(Ptr<Socket> socket, uint32_t available)
{
    if (!m_isOpen)
    {
        return;
    }
    for (Item& item : m_items)
    {
        while (item.written < item.transfer.bytes)
        {
            const uint32_t size = WriteSome(item);
            if (size == 0)
            {
                return;
            }
            item.written += size;
        }
    }
    TellSent();
}

uint32_t
TcpPathConnection::WriteSome(Item& item)
{
    // A segment at a time: TCP then has nothing to cut or to join, which takes most of its time.
    const uint64_t left = item.transfer.bytes - item.written;
    const uint32_t size = std::min<uint64_t>(left, m_sizes.segment);
    if (m_sender->GetTxAvailable() < size)
    {
        return 0;
    }
    const auto& payload = item.transfer.payload;
    const int sent = m_sender->Send(payload ? Create<Packet>(payload->data() + item.written, size)
                                            : Create<Packet>(size));
    return std::max(sent, 0);
}

void
TcpPathConnection::TellSent()
{
    // What is left in the socket's buffer keeps the port busy for a moment more; the next
    // transfer's first packets come just in time behind the last two.
    const uint32_t buffered = m_sendBuffer - std::min(m_sendBuffer, m_sender->GetTxAvailable());
    if (buffered > 2 * m_sizes.segment || m_items.empty())
    {
        return;
    }
    Item& last = m_items.back();
    if (!last.isSent && last.written == last.transfer.bytes)
    {
        last.isSent = true;
        m_callbacks.sent(last.transfer.id);
    }
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
    uint32_t offset = 0;
    while (offset < packet->GetSize() && !m_items.empty())
    {
        Item& item = m_items.front();
        const uint32_t size =
            std::min<uint64_t>(packet->GetSize() - offset, item.transfer.bytes - item.received);
        if (item.transfer.payload)
        {
            packet->CreateFragment(offset, size)->CopyData(item.data.data() + item.received, size);
        }
        item.received += size;
        offset += size;
        if (item.received == item.transfer.bytes)
        {
            const Item done = std::move(item);
            m_items.pop_front();
            m_callbacks.delivered(done.transfer.id, done.data);
        }
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
    m_items.clear();
    for (const auto& socket : {m_sender, m_receiver, m_listener})
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
