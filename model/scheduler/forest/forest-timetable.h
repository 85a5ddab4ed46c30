/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_TIMETABLE_H
#define ALLREDUCE_FOREST_TIMETABLE_H

#include "forest-packing.h"
#include "link-slots.h"

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief In which round each workload of a forest is sent.
 *
 * A workload is known by its chunk, its half and a server: in the reduce the server sends, in the
 * broadcast it receives. The first timetable is made by list scheduling: workload after workload
 * goes into the first round in which its links have room and its data is there. Then the timetable
 * is pushed together, alternately from its two ends (in project scheduling: forward-backward
 * improvement, or double justification). A timetable that is played backwards with all paths
 * reversed is a timetable again, in which reduces have become broadcasts, so both ends are pushed
 * by the same rule; and no workload ever comes later than before, so no timetable gets longer.
 *
 * While it is pushed together a server may take a final sum from another sender than its parent, if
 * that one can send it earlier: the flow-tree changes where time has the last word. Played
 * backwards, that is a reduce which goes elsewhere.
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
     */
    ForestTimetable(const Topology& topology,
                    Collective collective,
                    const std::vector<WorkloadList>& rounds);

    /// What servers may do while a timetable is pushed together.
    enum class Senders
    {
        PARENT, //!< they keep to their tree
        ANYBODY //!< they take a sum from who can send it first
    };

    /**
     * Push the timetable together from its beginning, then from its end.
     *
     * @param senders whom servers take sums from
     */
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
    /// A workload: twice the index of its chunk and server, plus 1 in the broadcast.
    using Task = uint32_t;

    /// Refuse more workloads than there are numbers for.
    void CheckSize() const;

    /// @return the index of a chunk and a server
    uint32_t GetIndex(ChunkId chunk, NodeId server) const
    {
        return chunk * m_nServers + server;
    }

    /// List all workloads in the order of their first plan. @param order of the chunks
    void MakeTasks(const std::vector<ChunkId>& order, uint32_t lag);
    /// Take out of trees whom nobody waits for: a reduce without contributors below, a broadcast
    /// without receivers below.
    void PruneTrees();
    /// Likewise for one half and chunk. @param isNeeded by server: contributes, or receives
    void PruneTree(uint32_t half, ChunkId chunk, std::vector<bool> isNeeded);
    /// @return by index of chunk and server: edges to the root
    std::vector<uint32_t> ComputeDepths() const;
    /// Sort the workloads. @param getKey how early one is to be @param nKeys keys are smaller
    template <typename GetKey>
    void SortTasks(GetKey getKey, uint32_t nKeys);
    /// Sort the workloads by round.
    void SortTasksByRound();
    /// Note who has something to send at the beginning.
    void MarkReady();
    /// Let every workload go as early as it can, in the order of m_tasks.
    void PushToBeginning(Senders senders);
    /// @return the round in which the partial sum goes @param index of the chunk and the sender
    uint32_t PlaceReduce(uint32_t index);
    /// @return the round in which the final sum comes @param index of the chunk and the receiver
    uint32_t PlaceBroadcast(uint32_t index, Senders senders);
    /// Look for somebody who can send a sum earlier than the parent.
    /// @param index of the chunk and the receiver @param round when the parent can
    /// @return when somebody can; m_detour is then the path to him
    uint32_t FindEarlierSender(uint32_t index, uint32_t round);
    /// Look for senders in many rounds at once. @param word @param rounds of the word, as bits
    /// @return those in which there may be a sender; there is none in the others
    uint64_t FindRoundsWithSender(ChunkId chunk,
                                  NodeId receiver,
                                  uint32_t word,
                                  uint64_t rounds,
                                  std::size_t mostLinks);
    /// Look for a sender in a round. @param mostLinks of the path
    /// @return whether m_detour is now the path from the receiver to him
    bool FindSender(ChunkId chunk, NodeId receiver, uint32_t round, std::size_t mostLinks);
    /// Make m_detour the path that the search went to this link
    void TraceDetour(NodeId receiver, DirectedLinkId last);
    /// @return the round of the last workload
    uint32_t FindLastRound() const;
    /// Play the timetable backwards.
    void Mirror();

    const Topology& m_topology;                    //!< the network
    Collective m_collective;                       //!< what is to be summed where
    const uint32_t m_nServers;                     //!< number of servers
    PathTable m_paths;                             //!< from servers to parents
    double m_load;                                 //!< see Forest
    std::array<std::vector<PathId>, 2> m_toParent; //!< by half: by index; or NO_PATH
    std::array<std::vector<uint32_t>, 2> m_round;  //!< by half: by index
    uint32_t m_nRounds{0};                         //!< see GetNRounds
    std::vector<Task> m_tasks;                     //!< all, in the order in which they are placed
    LinkSlots m_slots;                             //!< room that is left
    std::vector<uint32_t> m_ready;                 //!< by index: when it can send what it holds

    // One search for a sender:
    uint32_t m_nLinksTried{0};            //!< for this receiver
    uint32_t m_search{0};                 //!< its number
    std::vector<uint32_t> m_reachedIn;    //!< by node: the last search that reached it
    std::vector<uint64_t> m_reachable;    //!< by node reached: in which rounds of a word
    std::vector<DirectedLinkId> m_last;   //!< by switch reached: the last link of the path there
    std::vector<NodeId> m_queue;          //!< switches that were reached
    std::vector<DirectedLinkId> m_detour; //!< the path found, from the receiver to the sender
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_TIMETABLE_H */
