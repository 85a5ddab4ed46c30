/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TCP_PATH_CONNECTION_H
#define ALLREDUCE_TCP_PATH_CONNECTION_H

#include "allreduce-transport.h"
#include "paced-tcp-socket.h"

#include "ns3/event-id.h"
#include "ns3/simple-ref-count.h"
#include "ns3/socket.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <list>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A TCP connection along one path, or the end of it that this rank simulates.
 *
 * Transfers that are under way together share it, segment by segment, as their rates are to each
 * other; the connection then is as fast as they are together.
 */
class TcpPathConnection : public SimpleRefCount<TcpPathConnection>
{
  public:
    /// Told when a transfer has arrived, or its sender is done with it.
    struct Callbacks
    {
        AllReduceTransport::SentCallback sent;           //!< the sender is done
        AllReduceTransport::DeliveredCallback delivered; //!< everything has arrived
        Callback<void> ready;                            //!< open, and its window is known
        Callback<void> arrived;                          //!< something has arrived
        AllReduceTransport::IncomingFinder find;         //!< see SetIncomingFinder
    };

    /// Which ends there are.
    struct Ends
    {
        bool hasSender{true};     //!< the sender is simulated here
        bool hasReceiver{true};   //!< the receiver is simulated here
        uint16_t senderPort{0};   //!< the sender's port; 0: any, as both ends are here
        uint16_t receiverPort{0}; //!< the receiver's port; 0: any
    };

    /// What the sockets are told.
    struct Settings
    {
        uint32_t segment;     //!< bytes of data in a full segment
        uint32_t buffer;      //!< bytes that a socket holds; 0: as many as it would anyway
        uint32_t ackEvery;    //!< segments that an acknowledgement stands for
        uint32_t firstWindow; //!< segments before the first acknowledgement; 0: as TCP would anyway
        Time leastTimeout;    //!< no segment is sent again before this
        uint32_t nAttempts;   //!< how often in a row it is
        double dataShare;     //!< of data in what a full segment takes on the wire
        bool isPaced;         //!< keep to the transfers' rates
        bool isAhead;         //!< opened before it is needed: the receiver says hello first
    };

    /**
     * Open a connection.
     *
     * @param network the network
     * @param path from the sending to the receiving server
     * @param settings what the sockets are told
     * @param callbacks told about transfers
     * @param ends which ends there are
     */
    TcpPathConnection(AllReduceNetwork& network,
                      const Path& path,
                      Settings settings,
                      Callbacks callbacks,
                      Ends ends);

    /**
     * Send a transfer beside those that are already under way.
     *
     * @param transfer the transfer
     */
    void Send(const Transfer& transfer);

    /**
     * Forget a transfer; what of it has been given to TCP is ignored when it arrives.
     *
     * @param id the transfer
     * @return whether others are under way
     */
    bool Forget(TransferId id);

    /// @return whether nobody waits for the connection to be open
    bool IsReady() const;

    /// Close the connection, whatever is under way.
    void Close();

    /// Let go of the sockets; the simulation ends.
    void Release();

    /**
     * @param id a transfer that has not been delivered
     * @return how far it has come
     */
    std::string DescribeProgress(TransferId id) const;

    /**
     * @param id a transfer
     * @return how far it has come; nothing if it has been delivered
     */
    TransferProgress GetProgress(TransferId id) const;

  private:
    /// A transfer that has not been delivered.
    struct Item
    {
        Transfer transfer;     //!< what goes where
        uint64_t written{0};   //!< bytes given to TCP
        uint64_t received{0};  //!< bytes that have arrived
        uint64_t end{0};       //!< where in the stream its last byte is, once it is written
        double virtualTime{0}; //!< bytes written over its rate, since the first of those beside it
        bool isSent{false};    //!< the sender has been told that it is done
        Bytes data;            //!< what has arrived, if it matters
    };

    /// Bytes of one transfer that lie together in the stream.
    struct Piece
    {
        TransferId transfer; //!< whose they are, or NO_TRANSFER
        uint32_t size;       //!< how many
    };

    /// Names what belongs to no transfer.
    static constexpr TransferId NO_TRANSFER = std::numeric_limits<TransferId>::max();

    // Opening and sending: tcp-path-connection.cc
    void Connect(AllReduceNetwork& network, const Path& path);
    void SetUp(Ptr<Socket> socket, uint16_t port) const;
    void Opened(Ptr<Socket> socket);
    void ReadHello(Ptr<Socket> socket);
    void Write(Ptr<Socket> socket, uint32_t available);
    void WriteSoon();
    Item* FindNext();
    uint32_t WriteSome(Item& item);
    void TellSent();
    /// @return how many bytes of the stream count as sent
    uint64_t CountSent() const;
    /// Look again when the next transfer has been sent.
    void AwaitSent();
    void ForgetSent();
    double FindServedTime() const;
    void UpdateRate();

    // Receiving: tcp-path-receiver.cc
    void Listen(AllReduceNetwork& network, const Path& path);
    void Accept(Ptr<Socket> socket, const Address& from);
    void Read(Ptr<Socket> socket);
    void Store(Ptr<Packet> packet);
    void StoreTagged(Ptr<Packet> packet);
    void StorePiece(Ptr<Packet> packet, uint32_t offset, uint32_t size);
    std::list<Item>::iterator FindItem(TransferId id);
    void StoreIn(std::list<Item>::iterator item,
                 Ptr<Packet> packet,
                 uint32_t offset,
                 uint32_t size);

    Settings m_settings;          //!< what the sockets are told
    Callbacks m_callbacks;        //!< told about transfers
    Ends m_ends;                  //!< which ends there are
    uint64_t m_slowestBps;        //!< of the links on the path
    std::list<Item> m_items;      //!< transfers in the order in which they came
    std::deque<Piece> m_stream;   //!< what was written and has not arrived
    uint64_t m_written{0};        //!< bytes given to TCP in all
    Ptr<Socket> m_listener;       //!< waits at the receiver
    Ptr<PacedTcpSocket> m_sender; //!< at the sender
    Ptr<Socket> m_receiver;       //!< at the receiver
    EventId m_writing;            //!< writes what has come
    EventId m_telling;            //!< looks whether a transfer has been sent
    bool m_isOpen{false};         //!< whether data can be written
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TCP_PATH_CONNECTION_H */
