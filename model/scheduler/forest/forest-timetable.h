/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_TIMETABLE_H
#define ALLREDUCE_FOREST_TIMETABLE_H

#include "forest-packing.h"
#include "sender-search.h"

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/link-slots.h"
#include "ns3/timetable.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief In which round each workload of a forest is sent.
 *
 * The first timetable is made by list scheduling: each workload goes into the first round in which
 * its links have room and its data is there. Then the timetable is pushed together, alternately
 * from its two ends (in project scheduling: forward-backward improvement, or double justification).
 * Both ends are pushed by the same rule: a timetable that is played backwards with all paths
 * reversed is a timetable again, in which reduces have become broadcasts. No workload comes later
 * than before, so no timetable gets longer.
 *
 * Meanwhile a server may take a final sum from another sender than its parent, if that one can send
 * it earlier. Played backwards, that is a reduce which goes elsewhere.
 */
class ForestTimetable
{
  public:
    /// Matching takes about a second for so much work.
    static constexpr uint64_t MOST_MATCHING = 4'000'000;

    /**
     * Make the first timetable.
     *
     * Chunk after chunk is planned to become final, at the pace at which the links can carry the
     * trees. A reduce on level d of its tree is planned d times the lag before its sum is final, a
     * broadcast as much later. With a lag, workloads wait less for those of other chunks that have
     * the same links; without, a single chunk is ready sooner.
     *
     * @param topology the network, which must outlive the timetable
     * @param collective what is to be summed where
     * @param order the chunks in the order in which they are to become final
     * @param forest their flow-trees
     * @param lag rounds for each level of a tree, 1 or more
     */
    ForestTimetable(const Topology& topology,
                    Collective collective,
                    const std::vector<ChunkId>& order,
                    Forest forest,
                    uint32_t lag);

    /**
     * The timetable of a plan.
     *
     * @param topology the network, which must outlive the timetable
     * @param collective what is to be summed where
     * @param rounds a plan of it in which no server sends two reduces of a chunk
     * @param holders see Forest
     */
    ForestTimetable(const Topology& topology,
                    Collective collective,
                    const std::vector<WorkloadList>& rounds,
                    std::vector<uint32_t> holders = {})
        : ForestTimetable(topology,
                          std::move(collective),
                          rounds,
                          PathIndex(topology),
                          std::move(holders))
    {
    }

    /// What servers may do while a timetable is pushed together.
    enum class Senders
    {
        PARENT, //!< they keep to their tree
        ANYBODY //!< they take a sum from who can send it first
    };

    /// Push the timetable together from both ends. @param senders whom servers take sums from
    void PushTogether(Senders senders);

    /// @return whether there are few enough workloads to match links in about a second
    bool IsQuickToMatch() const;

    /**
     * Place all workloads anew, alternately from both ends of the timetable, such that busy links
     * do not idle (see PlaceByMatching). The trees stay as they are, the shortest timetable is
     * kept.
     *
     * @param mostWork after so much work, as of PlaceByMatching, no further pass is made
     * @return how much it was
     */
    uint64_t MatchLinks(uint64_t mostWork = MOST_MATCHING);

    /**
     * Push the timetable together as long as that helps and is quick.
     *
     * @param enough no fewer rounds are needed
     * @return how many workloads were placed
     */
    std::size_t Shorten(uint32_t enough = 0);

    /// @return the number of rounds
    uint32_t GetNRounds() const;

    /// @return the workloads of each round
    std::vector<WorkloadList> MakeRounds() const;

  private:
    ForestTimetable(const Topology& topology,
                    Collective collective,
                    const std::vector<WorkloadList>& rounds,
                    PathIndex paths,
                    std::vector<uint32_t> holders);

    /// Refuse more workloads than there are numbers for.
    void CheckSize() const;

    uint32_t GetIndex(ChunkId chunk, NodeId server) const
    {
        return chunk * m_nServers + server;
    }

    /// List all deliveries in the order of their first plan. @param order of the chunks
    void ListDeliveries(const std::vector<ChunkId>& order, uint32_t lag);
    /// Take out of trees whom nobody waits for: a reduce without contributors below, a broadcast
    /// without receivers below.
    void PruneTrees();
    /// Likewise for one half and chunk. @param isNeeded by server: contributes, or receives
    void PruneTree(uint32_t half, ChunkId chunk, std::vector<bool> isNeeded);
    /// @return by index of chunk and server: edges to the root, or to who has the sum
    std::vector<uint32_t> ComputeDepths(uint32_t half) const;
    void SortByRound();
    /// Say who has something to send at the beginning.
    void MarkReady();
    /// Let every workload go as early as it can, in the order of m_deliveries.
    void PushToBeginning(Senders senders);
    /// @return the round in which the partial sum goes @param index of the chunk and the sender
    uint32_t PlaceReduce(uint32_t index);
    /// @return the round in which the final sum comes @param index of the chunk and the receiver
    uint32_t PlaceBroadcast(uint32_t index, Senders senders);
    uint32_t CountRounds() const;
    void Mirror();

    const Topology& m_topology;
    Collective m_collective; //!< what is to be summed where
    const uint32_t m_nServers;
    std::vector<uint32_t> m_holders;      //!< see Forest
    double m_load;                        //!< see Forest
    std::vector<DeliveryId> m_deliveries; //!< all, in the order in which they are placed
    Timetable m_timetable;                // after m_deliveries, which MakeTimetable fills
    PathTable m_paths;                    // after m_timetable, which is made with them
    LinkSlots m_slots;                    //!< room that is left
    std::vector<uint32_t> m_ready;        //!< by index: when it can send what it holds
    SenderSearch m_senderSearch;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_TIMETABLE_H */
