/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * The receiver's side of a TcpPathConnection: which bytes of the stream are whose. It is apart from
 * the sender's, because the two are simulated by different ranks if a path leads from one to
 * another; then what the sender knows of the stream travels in tags.
 */

#include "tcp-path-connection.h"
#include "transfer-tag.h"

#include "ns3/packet.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-socket-factory.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

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
    const TransferId transfer = piece.transfer;
    piece.size -= size;
    if (piece.size == 0)
    {
        m_stream.pop_front();
    }
    if (transfer != NO_TRANSFER)
    {
        StoreIn(FindItem(transfer), packet, offset, size);
    }
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

} // namespace ns3::allreduce
