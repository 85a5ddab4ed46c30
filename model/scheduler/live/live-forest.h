/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LIVE_FOREST_H
#define ALLREDUCE_LIVE_FOREST_H

#include "live-tasks.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/live-view.h"
#include "ns3/path-table.h"
#include "ns3/tree-grower.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The flow-trees that chunks take while a collective runs, and what of them can be sent.
 *
 * A chunk gets its tree when it begins, by the rates that are believed then and by what links still
 * have to carry (see PackForest). A chunk that has begun gets a new tree for what is left of it if
 * a link of the old one has become slow, or if it does not reach everybody.
 *
 * Chunks begin one after another and have a position in this order. A task is as urgent as its
 * chunk's position and its depth in the tree say: reduces are due a lag for each level before the
 * chunk's sum is final, broadcasts as much later (see ForestTimetable).
 */
class LiveForest
{
  public:
    /**
     * Take over from whoever has begun.
     *
     * @param view what there is; its state must outlive this
     */
    explicit LiveForest(const LiveView& view);

    LiveForest(const LiveForest&) = delete;
    LiveForest& operator=(const LiveForest&) = delete;

    /**
     * Something has happened that no transfer brought about.
     *
     * @param view what there is now
     */
    void Update(const LiveView& view);

    /// Begin the next chunk. @param view what there is @return whether there was one, and not as
    /// many were under way already as is good
    bool BeginChunk(const LiveView& view);

    /// A transfer begins. @param id its task
    void Begin(LiveTasks::Id id);

    /// A transfer has arrived. @param view what there is now @param transfer the transfer
    void NotifyArrived(const LiveView& view, const Workload& transfer);

    /// @return a port that has got more to choose from; none: each has been returned since
    std::optional<DirectedLinkId> TakeWoken()
    {
        return m_tasks.TakeWoken();
    }

    /// @return the tasks
    const LiveTasks& GetTasks() const
    {
        return m_tasks;
    }

    /// @return the paths of tasks
    const PathTable& GetPaths() const
    {
        return m_paths;
    }

  private:
    /// A chunk's trees.
    struct Trees
    {
        bool hasBegun{false};            //!< it has trees
        bool isReducing{false};          //!< partial sums of it have to move
        bool isWhole{true};              //!< the trees reach all that they should
        bool hasLost{false};             //!< a transfer of it was aborted
        bool isBlocked{false};           //!< who could pass parts on is still sending its own
        uint32_t nStarted{0};            //!< transfers of it that have begun
        float position{0};               //!< in the order in which chunks begin
        std::vector<LiveTasks::Id> down; //!< broadcasts, by their senders, ascending
    };

    /// What links have to carry is counted in chunks over this rate, in bit/s.
    static double FindUnitRate(const LiveView& view);

    void OrderChunks(const std::vector<NodeId>& roots);
    void TakeOver(const LiveView& view);
    std::vector<bool> FindTouched(const AllReduceState& state) const;
    /// @return the name of the task that a transfer does
    LiveTasks::Id FindTask(const Workload& workload) const;
    void UpdateRates(const LiveView& view);
    void SetCapacities();
    /// Tasks that are not under way any more were aborted.
    void FindAborted(const LiveView& view);
    bool NeedsTrees(const LiveView& view, ChunkId chunk) const;
    /// Give a chunk new trees for what is left of it.
    void Plant(const LiveView& view, ChunkId chunk);
    /// Forget what has not begun of a chunk.
    void Uproot(ChunkId chunk);
    bool GrowWhole(ChunkId chunk, NodeId hub);
    void GrowRemainder(const LiveView& view, ChunkId chunk, NodeId hub);
    NodeId FindHub(const LiveView& view, ChunkId chunk) const;
    bool IsUsable(NodeId server) const;
    void Grow(const std::vector<NodeId>& roots);
    bool AreJoined(const std::vector<NodeId>& servers) const;
    NodeId GetSender(LiveTasks::Id id) const;
    /// Make tasks of the tree that was grown last. @param half UP or DOWN
    void AddTasks(ChunkId chunk, uint32_t half);
    /// Count who waits for whom, and find what can be sent.
    void FindReady(const LiveView& view, ChunkId chunk);
    bool SendsTwice(ChunkId chunk) const;
    void FindDepths();
    /// @return by server: whether a reduce of a chunk is under way to it, or from it
    std::vector<bool> ListUnderWay(ChunkId chunk, bool isTo) const;
    void SetReadyDown(ChunkId chunk, NodeId holder);
    uint32_t& GetNPending(ChunkId chunk, NodeId server);
    void UpdateReducing(ChunkId chunk);

    const Topology& m_topology;
    const uint32_t m_nServers;
    const uint32_t m_nChunks;
    const double m_unitBps;                //!< see FindUnitRate
    PathTable m_paths;                     //!< of all tasks
    TreeGrower m_grower;                   //!< knows what links have to carry
    LiveTasks m_tasks;                     //!< what is left of the trees
    std::vector<Trees> m_trees;            //!< by chunk
    std::vector<uint32_t> m_nPending;      //!< by chunk, server: reduces that come to it
    std::vector<uint32_t> m_nUp;           //!< by chunk: reduces that have not arrived
    std::vector<ChunkId> m_order;          //!< in which chunks begin
    std::size_t m_next{0};                 //!< of m_order: the next that begins
    uint32_t m_nBegun{0};                  //!< chunks that have begun
    uint32_t m_nReducing{0};               //!< chunks of which partial sums have to move
    bool m_hasNewLinks{false};             //!< some that could not be used now can
    std::vector<uint64_t> m_bps;           //!< by directed link: rates that trees are for
    std::vector<LiveTasks::Id> m_underWay; //!< in no order
    std::vector<PathId> m_toParent;        //!< by server: the tree that was grown last
    std::vector<uint32_t> m_depth;         //!< by server: in that tree
    std::vector<bool> m_isSlower;          //!< by directed link: since trees were grown
    float m_lag{4};                        //!< positions for each level of a tree
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LIVE_FOREST_H */
