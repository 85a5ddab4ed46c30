/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ERRAND_RUNNER_H
#define ALLREDUCE_ERRAND_RUNNER_H

#include "errand-list.h"
#include "flow-tree.h"

#include "ns3/allreduce-state.h"
#include "ns3/huge-page-allocator.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Carries out all errands, round by round.
 *
 * What a round looks at are errands that have something to send, and those that what it sends has
 * an effect on; the others cost nothing. Errands that are ready wait in a queue for their next
 * hop. When a hop has no path with room, its whole queue waits for the next round.
 *
 * A round comes about in an order: errands with the most left to carry on their ports first, if
 * the order wants that, those that were equal in this as they were in the round before, and at
 * first by their place in the list that ErrandList::Sort returns.
 */
class ErrandRunner
{
  public:
    /**
     * @param state the beginning of an AllReduce
     * @param trees a tree for each chunk, which must outlive the runner
     * @param preferred paths to be tried first, which must outlive the runner
     */
    ErrandRunner(const AllReduceState& state,
                 const std::vector<FlowTree>& trees,
                 const PreferredPaths& preferred);

    /// @return the number of errands
    std::size_t GetNErrands() const;

    /**
     * @param start where to begin: with nothing reduced, or all
     * @param order which errands go first
     * @param mostRounds give up when there would be so many; 0: never
     * @return the rounds, or none if there were too many
     */
    std::vector<WorkloadList> Run(const AllReduceState& start,
                                  const ErrandOrder& order,
                                  std::size_t mostRounds);

  private:
    /// A place in the order of errands: smaller is earlier.
    using Place = uint32_t;

    /// How far an errand has come: all that a step of it looks at, in half a cache line.
    struct Progress
    {
        ChunkId chunk;       //!< the errand's chunk
        Place place;         //!< in the order
        HopId hop;           //!< the next hop, or NO_HOP if nothing is left to do
        uint32_t firstHop;   //!< see Errand
        uint16_t nHops;      //!< see Errand
        uint16_t nDone;      //!< hops done
        NodeId end;          //!< where the way ends
        ErrandId nextInList; //!< the next one of those that wait for the same, or NO_ERRAND
        ErrandId nextChild;  //!< the next one that begins at the same server, or NO_ERRAND
    };

    /// What waits for the data of a chunk at a server.
    struct Spot
    {
        uint32_t nPending;     //!< children yet to send their partial sums
        ErrandId firstChild;   //!< the first errand that begins there, down the tree
        ErrandId firstComing;  //!< the first errand that brings the final sum there
        ErrandId firstRelayed; //!< the first reduce that is relayed there
    };

    /// An errand that waits in a queue.
    struct Ticket
    {
        Place place;     //!< of the errand in the order
        ErrandId errand; //!< the errand
    };

    /// An errand whose turn comes in this round.
    struct Turn
    {
        uint32_t rank;   //!< by load
        Place place;     //!< in the order
        ErrandId errand; //!< the errand

        /// @return whether it comes before another in the order
        bool operator<(const Turn& other) const
        {
            return rank != other.rank ? rank < other.rank : place < other.place;
        }

        /// @return whether it comes after another in the order
        bool operator>(const Turn& other) const
        {
            return other < *this;
        }
    };

    /// The first errand of a queue.
    struct Head : Turn
    {
        HopId hop; //!< whose queue it is
    };

    static constexpr HopId NO_HOP = ~HopId{0};
    static constexpr ErrandId NO_ERRAND = ~ErrandId{0};

    Spot& GetSpot(ChunkId chunk, NodeId server);
    const Spot& GetSpot(ChunkId chunk, NodeId server) const;
    /// @return by load, in this round; smaller is earlier
    uint32_t GetRank(ErrandId errand) const;
    /// @return whether one errand comes before another in this round
    bool IsBefore(const Ticket& x, const Ticket& y) const;
    /// @return the first of a queue that is not empty
    Head MakeHead(HopId hop) const;

    void CountPorts();
    void Begin(const ErrandOrder& order);
    /// Say where each errand begins and who waits for it. @param order those that go first first
    void BeginProgress(const std::vector<ErrandId>& order);
    void BeginErrand(ErrandId id);

    WorkloadList MakeRound();
    void RankByLoad();
    /// Put queues in the order of the new ranks, without errands that are elsewhere by now.
    void TidyQueues();
    /// Bring m_heads up to date with queues that have changed.
    void UpdateHeads();
    void MoveAll(WorkloadList& round);
    /// @return whether there may be room for another workload over the hop
    bool MoveFirst(HopId id, WorkloadList& round);
    bool HasData(ErrandId id) const;
    void Start(ErrandId id, WorkloadList& round);
    /// Add an errand to the queue for its next hop.
    void Enqueue(ErrandId id);
    void Dequeue(HopId hop);
    /// The queue for a hop has another first errand, or none.
    void NoteChange(HopId hop);

    /// Tell those that a round's workloads have an effect on.
    void NoteMoves();
    /// Fetch what an errand's move has an effect on into the cache.
    void PrefetchEffects(std::size_t move) const;
    void ReleaseIfFinal(ChunkId chunk);
    /// A server has the sum: it can send it on.
    void EnqueueChildren(ChunkId chunk, NodeId server);
    /// Let a broadcast know when its next server has the sum.
    void ExpectCopy(ErrandId id);
    /// A server has the sum: it need not be sent it again.
    void SkipHopsTo(ChunkId chunk, NodeId server);
    void SkipHops(ErrandId id);
    void Advance(ErrandId id);
    void AddLoad(HopId hop, int32_t difference);
    void NoteReduce(ErrandId id);
    /// Let a reduce know when the partial sum that it was merged into leaves the relay.
    void NoteRelay(ErrandId id, NodeId server);
    /// A server's partial sum has left: with it, maybe, what others were to take on from there.
    void CheckOthersAt(ChunkId chunk, NodeId server, ErrandId moved);
    /// Look whether a reduce is over when its turn comes.
    void Check(ErrandId id);
    void EndReduces();
    bool IsReduceOver(ErrandId id) const;
    void EndReduce(ErrandId id);

    const std::vector<FlowTree>& m_trees; //!< by chunk
    uint32_t m_nServers;                  //!< number of servers
    ErrandList m_errands;                 //!< what is to do
    std::vector<uint32_t> m_portsOut;     //!< by server: workloads it can send in a round
    std::vector<uint32_t> m_portsIn;      //!< by server: workloads it can receive in a round
    HugePageVector<Spot> m_spots;         //!< [chunk][server]

    AllReduceState m_state;                    //!< how far all has come
    uint32_t m_detour{0};                      //!< see ErrandOrder
    bool m_isBusiestFirst{false};              //!< see ErrandOrder
    HugePageVector<Progress> m_progress;       //!< by errand
    std::vector<bool> m_isReleased;            //!< by chunk: its broadcasts may begin
    std::vector<uint32_t> m_freeOut;           //!< by server: workloads it can still send
    std::vector<uint32_t> m_freeIn;            //!< by server: workloads it can still receive
    std::vector<std::vector<Ticket>> m_queues; //!< by hop: a heap of errands that are ready
    std::vector<HopId> m_changedHops;          //!< whose queues have changed since UpdateHeads
    std::vector<bool> m_isChanged;             //!< by hop: whether it is in m_changedHops
    std::vector<Head> m_heads;        //!< of all queues as they were at UpdateHeads, in order
    std::vector<Head> m_newHeads;     //!< a heap of the heads that came up in this round
    std::vector<ErrandId> m_setAside; //!< taken from queues, not ready in this round
    std::vector<ErrandId> m_moved;    //!< in this round
    std::vector<std::pair<ChunkId, NodeId>> m_arrivals; //!< sums that servers have anew
    std::vector<Turn> m_checks;                         //!< a heap of reduces that may be over
    std::vector<ErrandId> m_laterChecks;                //!< the same, for the next round
    std::vector<uint32_t> m_load;                       //!< by directed link: hops left over it
    std::vector<uint32_t> m_hopRanks; //!< by hop: of errands that have not moved yet
    std::vector<uint32_t> m_ownRanks; //!< by errand: of those that have
    std::vector<ErrandId> m_underWay; //!< errands that have moved and not ended
    Path m_path;                      //!< the present path
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ERRAND_RUNNER_H */
