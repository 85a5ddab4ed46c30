/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_WORKLOAD_H
#define ALLREDUCE_WORKLOAD_H

#include "ns3/allreduce-topology.h"

#include <boost/range/iterator_range.hpp>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// Index of a chunk of the gradient; each chunk has a flow-tree of its own.
using ChunkId = uint32_t;

/// @ingroup allreduce
/// What a workload does at its target.
enum class WorkloadKind : uint8_t
{
    REDUCE,   //!< the sender's partial sum is merged into the receiver's
    BROADCAST //!< the final sum is copied
};

/// @return "reduce" or "broadcast"
const char* ToString(WorkloadKind kind);

/// Nodes that lie one after another in somebody else's memory.
using NodeRange = boost::iterator_range<const NodeId*>;

/**
 * @ingroup allreduce
 *
 * @brief One transfer of a chunk between two servers along a path whose interior nodes are all
 * switches.
 *
 * The ranges point into a WorkloadList (or into whatever the maker of the workload keeps alive).
 */
struct Workload
{
    ChunkId chunk{0};                        //!< the chunk that moves
    WorkloadKind kind{WorkloadKind::REDUCE}; //!< merged or copied at the target
    NodeRange path;                          //!< from the sending to the receiving server
    NodeRange contributors;                  //!< a reduce of only these; empty: of all held

    /// @return the sending server
    NodeId GetSource() const
    {
        return path.front();
    }

    /// @return the receiving server
    NodeId GetTarget() const
    {
        return path.back();
    }
};

/// @return whether the two workloads are equal in every field
bool operator==(const Workload& x, const Workload& y);

/**
 * @ingroup allreduce
 *
 * @brief Workloads in order, kept in flat arrays: a round, or any other list of them.
 */
class WorkloadList
{
  public:
    /// @return the number of workloads
    std::size_t GetSize() const
    {
        return m_entries.size();
    }

    /// @return whether there is no workload
    bool IsEmpty() const
    {
        return m_entries.empty();
    }

    /**
     * @param index below GetSize()
     * @return the workload, valid until the list changes
     */
    Workload Get(std::size_t index) const;

    /**
     * @param index below GetSize()
     * @return the chunk that the workload moves
     */
    ChunkId GetChunk(std::size_t index) const
    {
        return m_entries[index].chunk;
    }

    /**
     * Append a copy of a workload, which must not lie in this list.
     *
     * @param workload the workload
     */
    void Add(const Workload& workload);

    /**
     * Append a workload.
     *
     * @param chunk the chunk that moves
     * @param kind merged or copied at the target
     * @param path from the sending to the receiving server
     * @param contributors a reduce of only these; empty: of all held
     */
    void Add(ChunkId chunk,
             WorkloadKind kind,
             const Path& path,
             const std::vector<NodeId>& contributors = {});

    /**
     * Make room for as much as another list holds.
     *
     * @param other the other list
     */
    void Reserve(const WorkloadList& other);

    /// Forget all workloads, keep the memory.
    void Clear();

    /// Give back memory that no workload uses.
    void ShrinkToFit();

  private:
    /// Where in m_nodes a workload's path begins and ends; its contributors reach to the next one.
    struct Entry
    {
        uint32_t firstNode; //!< index of the path's first node in m_nodes
        uint32_t chunk;     //!< the chunk that moves
        uint16_t length;    //!< number of nodes in the path
        WorkloadKind kind;  //!< merged or copied at the target
    };

    std::vector<Entry> m_entries; //!< one for each workload
    std::vector<NodeId> m_nodes;  //!< paths and contributors, one workload after another
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_WORKLOAD_H */
