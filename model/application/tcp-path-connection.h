/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TCP_PATH_CONNECTION_H
#define ALLREDUCE_TCP_PATH_CONNECTION_H

#include "allreduce-transport.h"

#include "ns3/simple-ref-count.h"
#include "ns3/socket.h"

#include <deque>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A TCP connection along one path, that carries one transfer after another.
 */
class TcpPathConnection : public SimpleRefCount<TcpPathConnection>
{
  public:
    /// Told when a transfer has arrived, or its sender is done with it.
    struct Callbacks
    {
        AllReduceTransport::SentCallback sent;           //!< the sender is done
        AllReduceTransport::DeliveredCallback delivered; //!< everything has arrived
    };

    /// What the sockets are told.
    struct Sizes
    {
        uint32_t segment;  //!< bytes of data in a full segment
        uint32_t buffer;   //!< bytes that a socket holds; 0: as many as it would anyway
        uint32_t ackEvery; //!< segments that an acknowledgement stands for
        uint64_t rateBps;  //!< not faster than this; 0: not paced
    };

    /**
     * Open a connection.
     *
     * @param network the network
     * @param path from the sending to the receiving server
     * @param sizes what the sockets are told
     * @param callbacks told about transfers
     */
    TcpPathConnection(AllReduceNetwork& network,
                      const Path& path,
                      Sizes sizes,
                      Callbacks callbacks);

    /**
     * Send a transfer after those that are already under way.
     *
     * @param transfer the transfer
     */
    void Send(const Transfer& transfer);

    /// Close the connection, whatever is under way.
    void Close();

    /// Let go of the sockets; the simulation ends.
    void Release();

    /**
     * @param id a transfer that has not been delivered
     * @return how far it has come
     */
    std::string DescribeProgress(TransferId id) const;

  private:
    /// A transfer that has not been delivered.
    struct Item
    {
        Transfer transfer;    //!< what goes where
        uint64_t written{0};  //!< bytes given to TCP
        uint64_t received{0}; //!< bytes that have arrived
        bool isSent{false};   //!< the sender has been told that it is done
        Bytes data;           //!< what has arrived, if it matters
    };

    void Connect(AllReduceNetwork& network, const Path& path);
    Ptr<Socket> MakeSocket(Ptr<Node> node) const;
    void Accept(Ptr<Socket> socket, const Address& from);
    void Opened(Ptr<Socket> socket);
    void Write(Ptr<Socket> socket, uint32_t available);
    uint32_t WriteSome(Item& item);
    void TellSent();
    void Read(Ptr<Socket> socket);
    void Store(Ptr<Packet> packet);

    Callbacks m_callbacks;    //!< told about transfers
    std::deque<Item> m_items; //!< transfers in order
    Ptr<Socket> m_listener;   //!< waits at the receiver
    Ptr<Socket> m_sender;     //!< at the sender
    Ptr<Socket> m_receiver;   //!< at the receiver
    uint32_t m_sendBuffer{0}; //!< bytes that the sender's socket can hold
    Sizes m_sizes;            //!< what the sockets are told
    bool m_isOpen{false};     //!< whether data can be written
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TCP_PATH_CONNECTION_H */
