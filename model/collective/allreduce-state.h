/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_STATE_H
#define ALLREDUCE_STATE_H

#include "allreduce-workload.h"
#include "bit-matrix.h"
#include "collective.h"

#include "ns3/allreduce-topology.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief How far an AllReduce, or another collective, has come, and what its rules allow next.
 *
 * The contributors of a chunk, in an AllReduce all servers, begin with a contribution to it. A
 * reduce moves what its sender holds of a chunk and merges it into what its receiver holds; when
 * all contributions are merged at the chunk's root the sum there is final, and broadcasts copy it
 * to the chunk's receivers. What has been merged cannot be
 * taken apart again. A reduce that names contributors moves only these, and they stay apart from
 * what the receiver holds until they are sent on by a plain reduce or reach the root.
 *
 * A workload that has begun is a *flight*: it occupies its links, and its data is neither with the
 * sender nor with the receiver. The flow-level simulator begins a round's workloads and ends them
 * together with EndRound; the ns-3 application begins and ends each when its packets do.
 */
class AllReduceState
{
  public:
    /// Names a workload that has begun and not ended.
    using FlightId = uint32_t;

    /**
     * The beginning of a collective.
     *
     * @param topology the network, which must outlive the state
     * @param collective what is to be summed where; roots alone: an AllReduce of all servers
     * @throws InputError if it is none of this network
     */
    AllReduceState(const Topology& topology, Collective collective);

    /**
     * The middle of a collective: every chunk's contributions have all been merged at its root.
     *
     * @param topology the network, which must outlive the state
     * @param collective what is to be summed where
     * @return the state from which only broadcasts are left
     */
    static AllReduceState MakeReduced(const Topology& topology, Collective collective);

    /// @return the network
    const Topology& GetTopology() const;
    /// @return the number of chunks
    uint32_t GetNChunks() const;
    /// @return what is to be summed where
    const Collective& GetCollective() const;
    /// @return the root of each chunk
    const std::vector<NodeId>& GetRoots() const;

    /**
     * @param server a server
     * @param chunk a chunk
     * @return whether the server is to have the chunk's sum in the end
     */
    bool IsReceiver(NodeId server, ChunkId chunk) const
    {
        return m_collective.IsOfAll() || m_receivers.Test(server, chunk);
    }

    /**
     * @param server a server
     * @param chunk a chunk
     * @return whether the server may have a part of the chunk or its sum
     */
    bool MayHold(NodeId server, ChunkId chunk) const
    {
        return m_mayHold.GetNColumns() == 0 || m_mayHold.Test(server, chunk);
    }

    /// @return [server][chunk]: see MayHold; no columns: all may
    const BitMatrix& GetMayHold() const;
    /// @return how many rounds have ended
    uint32_t GetRound() const;

    /**
     * A link breaks or is mended. Workloads in flight are not touched; whoever knows what became
     * of their data ends or aborts them.
     *
     * @param link the link
     * @param up whether it can be used
     */
    void SetLinkUp(LinkId link, bool up);

    /**
     * Plan for other rates from now on.
     *
     * @param topology the same network with other rates and capacities, which must outlive the
     * state
     */
    void SetRates(const Topology& topology);

    /**
     * Let workloads in flight share links beyond their capacity, as in a network that queues what
     * comes too early. Otherwise a workload over a link that is full is not legal.
     *
     * @param shared whether links are shared
     */
    void SetLinksShared(bool shared);

    /**
     * @param link a link
     * @return whether it can be used
     */
    bool IsLinkUp(LinkId link) const;

    /**
     * @param link a directed link
     * @return how many workloads it carries at once; 0 if it is down
     */
    uint32_t GetCapacity(DirectedLinkId link) const
    {
        return m_isDown[GetLinkId(link)] ? 0 : m_topology->GetCapacity(link);
    }

    /// @return by directed link: how many workloads it carries at once; 0 if it is down
    std::vector<uint32_t> GetCapacities() const;

    /**
     * @param link a directed link
     * @return how many more workloads it can carry now
     */
    uint32_t GetFreeCapacity(DirectedLinkId link) const
    {
        const uint32_t capacity = GetCapacity(link);
        return capacity - std::min(capacity, m_used[link]);
    }

    /// @return [server][chunk]: holds contributions that it has to send on, or collects as root
    const BitMatrix& GetPartials() const;
    /// @return [server][chunk]: holds the final sum
    const BitMatrix& GetFinals() const;
    /// @return [server][chunk]: holds the final sum or will when what is in flight has arrived
    const BitMatrix& GetExpected() const;

    /**
     * @param chunk a chunk
     * @return whether all contributions have been merged at its root
     */
    bool IsFinal(ChunkId chunk) const;

    /**
     * @param chunk a chunk
     * @return whether all its receivers hold its final sum
     */
    bool IsEverywhere(ChunkId chunk) const;

    /// @return how many pairs of a chunk and a receiver of it lack the final sum
    uint64_t GetNMissing() const;

    /// @return whether all receivers hold the final sums
    bool IsDone() const;

    /// @return whether nothing has happened yet and all links are up
    bool IsFresh() const;

    /**
     * A number that two states share if the same workloads have ended on the same links, whatever
     * their order. A plan that expects one number and finds another must be made anew.
     *
     * @return the number
     */
    uint64_t GetFingerprint() const;

    /**
     * @param workload a workload that has ended
     * @return what its end adds to the fingerprint
     */
    static uint64_t GetFingerprint(const Workload& workload);

    /**
     * @param workload a workload
     * @return why it may not begin now; empty if it may
     */
    std::string FindFault(const Workload& workload) const;

    /**
     * @param workload a workload
     * @return whether it may begin now
     */
    bool IsLegal(const Workload& workload) const;

    /**
     * Begin a workload.
     *
     * @param workload a legal workload
     * @return names it until it ends
     * @throws InputError that says which workload it is and why it may not begin
     */
    FlightId Start(const Workload& workload);

    /**
     * Begin a workload if it is legal, to end with EndRound.
     *
     * @param workload a workload
     * @return whether it has begun
     */
    bool TryStart(const Workload& workload);

    /**
     * A workload's data has arrived, and is merged or copied.
     *
     * @param flight what Start returned
     */
    void Finish(FlightId flight);

    /**
     * A workload's data is lost; the sender has it again, as if it had not begun.
     *
     * @param flight what Start returned
     */
    void Abort(FlightId flight);

    /// All workloads in flight arrive; a round is over.
    void EndRound();

  private:
    /// Contributions that a server holds apart from its own partial sum.
    struct ApartUnit
    {
        NodeId server;                    //!< where they are
        std::vector<NodeId> contributors; //!< whose they are, ascending
    };

    /// A workload that has begun.
    struct Flight
    {
        ChunkId chunk;                              //!< the chunk that moves
        WorkloadKind kind;                          //!< merged or copied at the target
        bool isActive;                              //!< has not ended
        bool tookOwn;                               //!< the sender's own partial sum is in it
        bool wasTouched;                            //!< that was more than its own part
        NodeId source;                              //!< the sender
        NodeId target;                              //!< the receiver
        uint32_t firstLink;                         //!< index of its first link in m_flightLinks
        uint32_t nLinks;                            //!< number of its links
        uint64_t fingerprint;                       //!< what its end adds to the fingerprint
        std::vector<NodeId> contributors;           //!< if only these move
        std::vector<std::vector<NodeId>> tookApart; //!< units that the sender held apart
    };

    /// What is wrong with a workload.
    enum class Fault;

    /// @param call gets the directed links of the path, up to the first that is wrong
    template <typename Call>
    Fault FindPathFault(const Workload& workload, Call call) const;
    Fault FindPathFault(const Workload& workload) const;
    Fault FindDataFault(const Workload& workload) const;
    Fault FindContributorFault(const Workload& workload) const;
    bool IsOwnContributionApart(NodeId server, ChunkId chunk) const;
    std::vector<std::size_t> FindApartUnits(ChunkId chunk, NodeId server) const;
    void Release(Flight& flight);
    void TakeFromSender(Flight& flight);
    void GiveBackToSender(Flight& flight);
    void UpdatePartialBit(NodeId server, ChunkId chunk);
    void MergeInto(NodeId server, ChunkId chunk);
    void MakeFinalIfComplete(ChunkId chunk);
    void DropEndedFlights();

    const Topology* m_topology;
    Collective m_collective;          //!< what is to be summed where
    BitMatrix m_receivers;            //!< [server][chunk]; no columns: all are
    BitMatrix m_mayHold;              //!< [server][chunk]; no columns: all may
    uint32_t m_round{0};              //!< rounds that have ended
    bool m_areLinksShared{false};     //!< see SetLinksShared
    std::vector<bool> m_isDown;       //!< by link
    std::vector<uint32_t> m_used;     //!< by directed link: workloads in flight
    BitMatrix m_partials;             //!< [server][chunk]: own partial or apart units
    BitMatrix m_own;                  //!< [server][chunk]: has a partial that merges
    BitMatrix m_touched;              //!< [server][chunk]: m_own is more than its own part
    BitMatrix m_finals;               //!< [server][chunk]: holds the final sum
    BitMatrix m_expected;             //!< [server][chunk]: holds it or soon will
    std::vector<uint32_t> m_nUnits;   //!< by chunk: partial sums there are, in flight or not
    std::vector<uint32_t> m_nLacking; //!< by chunk: receivers without the final sum
    std::vector<bool> m_isFinal;      //!< by chunk
    uint64_t m_nMissing{0};           //!< see GetNMissing
    uint64_t m_fingerprint{0};        //!< see GetFingerprint
    std::vector<Flight> m_flights;    //!< by id
    std::vector<DirectedLinkId> m_flightLinks;                   //!< links of the flights
    uint32_t m_nActive{0};                                       //!< flights that have not ended
    std::unordered_map<ChunkId, std::vector<ApartUnit>> m_apart; //!< few chunks have any
};

/**
 * @ingroup allreduce
 *
 * @param workload a workload
 * @return "reduce of chunk 3 along 5-17-1", for messages
 */
std::string Describe(const Workload& workload);

/**
 * @ingroup allreduce
 *
 * @param nServers number of servers
 * @param chunksPerServer how many chunks each is the root of
 * @return the usual roots: chunk c has root c / chunksPerServer
 */
std::vector<NodeId> MakeRoots(uint32_t nServers, uint32_t chunksPerServer);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_STATE_H */
