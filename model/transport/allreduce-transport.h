/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRANSPORT_H
#define ALLREDUCE_TRANSPORT_H

#include "ns3/allreduce-network.h"
#include "ns3/callback.h"
#include "ns3/nstime.h"
#include "ns3/object.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// Names a transfer within its session; never used twice.
using TransferId = uint32_t;
/// What a transfer carries.
using Bytes = std::vector<uint8_t>;

/// @ingroup allreduce
/// Bytes on their way from one server to another.
struct Transfer
{
    TransferId id{0};                     //!< its name
    Path path;                            //!< from the sending to the receiving server
    uint64_t bytes{0};                    //!< how many, 1 or more
    uint64_t rateBps{0};                  //!< what the plan gives it of the links on its path
    std::shared_ptr<const Bytes> payload; //!< the bytes; none: any bytes will do
};

/// @ingroup allreduce
/// How far a transfer has come, in bytes without headers.
struct TransferProgress
{
    uint64_t sent{0};    //!< that the sender has sent
    uint64_t arrived{0}; //!< that the receiver has
};

/// @ingroup allreduce
/// A transfer that a server of another rank sends to one that is simulated here.
struct IncomingTransfer
{
    Transfer transfer;       //!< what it is; any payload stands for one that is to be kept
    bool isDelivered{false}; //!< all of it has arrived before
};

/// @ingroup allreduce
/// How a transport cuts data into frames.
struct FrameFormat
{
    uint32_t payload{0};  //!< bytes of data in a full frame
    uint32_t overhead{0}; //!< bytes of headers around them on the wire

    /**
     * @param bytes of data
     * @return bytes on the wire
     */
    uint64_t GetWireBytes(uint64_t bytes) const
    {
        return bytes + (bytes + payload - 1) / payload * overhead;
    }

    /// @return bits of a full frame on the wire
    double GetFrameBits() const
    {
        return 8.0 * (payload + overhead);
    }
};

/// @ingroup allreduce
/// A transfer to come.
struct TransferPlan
{
    Path path;           //!< from the sending to the receiving server
    uint64_t bytes{0};   //!< how many
    uint64_t rateBps{0}; //!< what the plan gives it of the links on its path
};

/// @ingroup allreduce
/// How long a full frame takes along a path.
struct PathTiming
{
    double frame{0};        //!< seconds that it is being sent, all links together
    double propagation{0};  //!< seconds that it is on its way, all links together
    uint64_t slowestBps{0}; //!< rate of the slowest link
};

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param path the nodes of a path
 * @param frameBits size of a frame
 * @return how long it takes
 */
PathTiming ComputePathTiming(const Topology& topology, const Path& path, double frameBits);

/**
 * @ingroup allreduce
 *
 * @brief Carries transfers along exact paths: all of their bytes arrive, or it can say what is
 * missing.
 *
 * Lost data is sent again for as long as it takes; giving up is left to the session. A transport
 * serves one session.
 */
class AllReduceTransport : public Object
{
  public:
    /// A transfer's sender has sent everything, so that its port is free for another.
    using SentCallback = Callback<void, TransferId>;
    /// All of a transfer's bytes have arrived; they are empty if any bytes would do.
    using DeliveredCallback = Callback<void, TransferId, const Bytes&>;
    /// What a server was to get ready is ready.
    using ReadyCallback = Callback<void, NodeId>;
    /// Finds out what is coming from another rank; none if it can be ignored.
    using IncomingFinder = std::function<std::optional<IncomingTransfer>(TransferId)>;

    /// @return the type
    static TypeId GetTypeId();

    /**
     * Get ready; to be called once.
     *
     * @param network the network
     * @param sent told when a sender has sent everything
     * @param delivered told when everything has arrived; at that moment also counts as sent
     */
    void Open(Ptr<AllReduceNetwork> network, SentCallback sent, DeliveredCallback delivered);

    /**
     * Several ranks simulate the network: each sends for its own servers, and finds out what others
     * send to these.
     *
     * @param find asked when something unknown comes in
     */
    void SetIncomingFinder(IncomingFinder find);

    /**
     * Begin a transfer.
     *
     * @param transfer what goes where
     */
    virtual void Send(const Transfer& transfer) = 0;

    /**
     * Forget a transfer that has not been delivered; what is on the way is ignored.
     *
     * @param id the transfer
     */
    virtual void Cancel(TransferId id) = 0;

    /// Forget all transfers, so that nothing more happens.
    virtual void Close() = 0;

    /**
     * @param id a transfer under way
     * @return how far it has come; nothing if that is not known
     */
    virtual TransferProgress GetProgress(TransferId id) const
    {
        return {};
    }

    /**
     * @param id a transfer that has not been delivered
     * @return how far it has come, as "3 of 40 packets arrived"
     */
    virtual std::string DescribeProgress(TransferId id) const = 0;

    /**
     * Get ready for the first transfers along some paths. Nothing else may be asked for in between.
     *
     * @param transfers what is to be sent first along each path
     * @param all whether to get ready for all of them, or as far as it pays for each by itself
     * @param ready told of each server that is ready, unless there is nothing to be done anywhere
     * @return whether there is something to be done
     */
    virtual bool Prepare(const std::vector<TransferPlan>& transfers, bool all, ReadyCallback ready);

    /// @return whether Prepare can have something to do; no transport has by default
    virtual bool NeedsPreparation() const;

    /// @return what Prepare still waits for, as "no connection along 0-4-1"; "" if for nothing
    virtual std::string DescribePreparation() const;

    /**
     * @param hops number of links that a transfer crosses
     * @param mtu largest packet on these links
     * @return how it is cut into frames; Open need not have been called
     */
    virtual FrameFormat GetFrameFormat(uint32_t hops, uint32_t mtu) const = 0;

    /**
     * @param topology the network
     * @param mtu largest packet on its links
     * @param transfer the first one along its path, after Prepare if its path was told there
     * @return by how many seconds this takes longer than if it was not the first; Open need not
     * have been called
     */
    virtual double GetSetupSeconds(const Topology& topology,
                                   uint32_t mtu,
                                   const TransferPlan& transfer) const;

    /**
     * @return how long nothing may arrive though the network carries some of what is sent: as long
     * as it takes to send lost data again, several times over. It grows with the paths in use.
     */
    virtual Time GetLongestSilence() const = 0;

    /// @return whether it sends IP packets, as it does unless it says otherwise: only these are
    /// seen by what listens to IP, such as FlowMonitor
    virtual bool UsesIp() const;

    /// @return when something arrived last: data, or what opens a connection
    Time GetLastArrival() const;

  protected:
    /// What a transport does to get ready, if anything.
    virtual void DoOpen();

    void DoDispose() override;

    /// @return the network
    AllReduceNetwork& GetNetwork() const;

    /// @return the largest packet of the network's devices
    uint32_t GetMtu() const;

    /// @return whether Open has been called, and Dispose has not
    bool IsOpen() const;

    /// Something has arrived.
    void NotifyArrival();

    IncomingFinder m_findIncoming; //!< finds out what other ranks send; none: there are none
    SentCallback m_sent;           //!< told when a sender has sent everything
    DeliveredCallback m_delivered; //!< told when everything has arrived

  private:
    Ptr<AllReduceNetwork> m_network; //!< the network
    uint32_t m_mtu{0};               //!< see GetMtu
    Time m_lastArrival;              //!< see GetLastArrival
};

/**
 * @ingroup allreduce
 *
 * Give a transport a short name. Each does so in its own file, where NS_OBJECT_ENSURE_REGISTERED
 * makes its type known: `const bool g_isNamed = NameTransport("raw", RawTransport::GetTypeId());`
 *
 * @param name a name that no other transport has
 * @param type a type derived from AllReduceTransport, with a constructor
 * @return true
 */
bool NameTransport(const std::string& name, TypeId type);

/**
 * @ingroup allreduce
 *
 * @return the short names of all transports, sorted
 */
std::vector<std::string> GetTransportNames();

/**
 * @ingroup allreduce
 *
 * @param name one of GetTransportNames or the TypeId name of any AllReduceTransport
 * @return the transport
 * @throws InputError that names what there is
 */
Ptr<AllReduceTransport> CreateTransport(const std::string& name);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRANSPORT_H */
