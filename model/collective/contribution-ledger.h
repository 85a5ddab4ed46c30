/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CONTRIBUTION_LEDGER_H
#define ALLREDUCE_CONTRIBUTION_LEDGER_H

#include "allreduce-workload.h"
#include "bit-matrix.h"
#include "collective.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Writes down where every contribution of an AllReduce, or another collective, is: what a
 * verifier has to know to prove a remainder.
 *
 * It is told which workloads begin, arrive and are lost, and shares no rule with AllReduceState.
 * Until a chunk is final each contribution to it is in one partial sum, a *unit*, which is held by
 * a server or in flight. The ledger judges nothing: a workload that moves what its sender does not
 * have moves nothing.
 */
class ContributionLedger
{
  public:
    /// Names a workload that has begun and not ended.
    using EntryId = uint64_t;

    /// The holder of a unit that is in flight.
    static constexpr NodeId IN_FLIGHT = UINT32_MAX;

    /// Where a contribution is.
    struct Whereabouts
    {
        NodeId unit;   //!< the same for contributions in one sum; below the number of servers
        NodeId holder; //!< a server, or IN_FLIGHT
        bool isApart;  //!< kept apart from what its holder has besides
    };

    /**
     * The beginning of a collective, all links up.
     *
     * @param topology the network, which must outlive the ledger
     * @param collective what is to be summed where, without a fault
     */
    ContributionLedger(const Topology& topology, Collective collective);

    /// @return the network
    const Topology& GetTopology() const;

    /// @param topology the same network with other rates and capacities, for which is proven from
    /// now on; must outlive the ledger
    void SetRates(const Topology& topology);

    /// @return what is to be summed where
    const Collective& GetCollective() const;

    /**
     * @param chunk a chunk
     * @param server a server
     * @return whether it contributes
     */
    bool Contributes(ChunkId chunk, NodeId server) const;

    /**
     * @param chunk a chunk
     * @param server a server
     * @return whether it is to have the sum
     */
    bool Receives(ChunkId chunk, NodeId server) const;

    /**
     * A workload begins.
     *
     * @param workload the workload
     * @return names it until it ends
     */
    EntryId Begin(const Workload& workload);

    /**
     * A workload has arrived.
     *
     * @param entry what Begin returned
     */
    void End(EntryId entry);

    /**
     * A workload is lost; its sender has again what it sent.
     *
     * @param entry what Begin returned
     */
    void Abort(EntryId entry);

    /**
     * A link breaks or is mended.
     *
     * @param link the link
     * @param isUp whether it can be used
     */
    void SetLinkUp(LinkId link, bool isUp);

    /**
     * @param link a link
     * @return whether it can be used
     */
    bool IsLinkUp(LinkId link) const;

    /// @return how many workloads have begun and not ended
    std::size_t GetNInFlight() const;

    /// @return whether nothing has arrived or is in flight, and all links are up
    bool IsFresh() const;

    /// @return how often a link changed or a workload was lost: what no plan foresees
    uint64_t GetNUpsets() const;

    /**
     * @param chunk a chunk
     * @param contributor a server that contributes
     * @return where its contribution is; at the root when the chunk is final
     */
    Whereabouts Find(ChunkId chunk, NodeId contributor) const;

    /**
     * @param chunk a chunk
     * @return whether all contributions are in one sum at its root
     */
    bool IsFinal(ChunkId chunk) const;

    /**
     * @param chunk a chunk
     * @param server a server
     * @return whether it has the sum of all
     */
    bool HasFinal(ChunkId chunk, NodeId server) const;

    /// @return whether all receivers have the sums
    bool IsDone() const;

  private:
    /// A workload that has begun.
    struct Entry
    {
        ChunkId chunk;             //!< the chunk that moves
        WorkloadKind kind;         //!< merged or copied
        NodeId source;             //!< the sender
        NodeId target;             //!< the receiver
        bool staysApart;           //!< a reduce of named contributors to a relay
        bool hasFinal;             //!< the sender had the final sum
        std::vector<NodeId> units; //!< that the sender gave away
    };

    std::size_t GetIndex(ChunkId chunk, NodeId server) const;
    void BeginChunk(ChunkId chunk);
    /// @return the unit that a contribution is in
    NodeId FindUnit(ChunkId chunk, NodeId contributor) const;
    void SetHolder(ChunkId chunk, NodeId unit, NodeId holder);
    bool IsWithin(ChunkId chunk, NodeId unit, const NodeRange& contributors) const;
    void TakeUnits(const Workload& workload, Entry& entry);
    /// @return the unit that two become
    NodeId Merge(ChunkId chunk, NodeId x, NodeId y);
    void Land(ChunkId chunk, NodeId unit, NodeId server, bool isApart);
    void GiveFinal(ChunkId chunk, NodeId server);
    void NoteIfFinal(ChunkId chunk);
    /// @return an entry that is over, which may be used again
    Entry TakeEntry(EntryId id);

    const Topology* m_topology;
    Collective m_collective; //!< what is to be summed where
    uint32_t m_nServers;     //!< number of servers
    // Each unit is a tree of contributions, named by the one at its top.
    std::vector<NodeId> m_above;    //!< [chunk][server]: what its contribution was merged into; at
                                    //!< the top: who holds the unit
    std::vector<NodeId> m_own;      //!< [chunk][server]: the unit it has that merges with others
    std::vector<bool> m_isApart;    //!< [chunk][unit]
    std::vector<uint32_t> m_nUnits; //!< by chunk
    std::unordered_map<ChunkId, std::vector<NodeId>> m_apart; //!< units that servers keep apart
    BitMatrix m_finals;                   //!< [chunk][server]: has the final sum
    std::vector<bool> m_isFinal;          //!< by chunk
    BitMatrix m_receivers;                //!< [chunk][server]; no columns: all are
    uint64_t m_nMissing{0};               //!< pairs of receivers without the final sum
    std::vector<bool> m_isDown;           //!< by link
    uint32_t m_nDown{0};                  //!< links that are down
    uint64_t m_nEnded{0};                 //!< workloads that have arrived
    uint64_t m_nUpsets{0};                //!< see GetNUpsets
    std::vector<Entry> m_entries;         //!< by name: workloads that have begun
    std::vector<EntryId> m_unusedEntries; //!< names of those that have ended
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CONTRIBUTION_LEDGER_H */
