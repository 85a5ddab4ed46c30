/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PARTIAL_SUMS_H
#define ALLREDUCE_PARTIAL_SUMS_H

#include "allreduce-workload.h"
#include "bit-matrix.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Which parts of a chunk's sum a server holds while a correct schedule is written in the
 * language of another tool.
 *
 * A server has one sum of its own for each chunk, to which it adds what arrives. Contributions that
 * a schedule keeps apart (a plain parameter server's) lie beside it, each in a place that the user
 * of this class chooses and names.
 */
class PartialSums
{
  public:
    /// The name of a place where contributions are kept apart.
    using Place = uint64_t;

    /// What a reduce moves, which its sender then has no more.
    struct Parts
    {
        bool hasOwn{false};       //!< the sender's own sum is among them
        std::vector<Place> apart; //!< what was kept apart
    };

    /**
     * @param nServers how many servers there are
     * @param roots the root of each chunk
     */
    PartialSums(uint32_t nServers, std::vector<NodeId> roots);

    /**
     * @param reduce a reduce that begins
     * @return what it moves, at least one part
     * @throws InputError if that is a part of a sum
     */
    Parts Take(const Workload& reduce);

    /**
     * @param reduce a reduce
     * @return whether its target keeps apart what it brings
     */
    bool IsKeptApart(const Workload& reduce) const;

    /**
     * @param reduce a reduce that has arrived and is kept apart
     * @param place where
     */
    void KeepApart(const Workload& reduce, Place place);

    /**
     * @param reduce a reduce that has arrived and is not kept apart
     * @return whether it is added to the target's own sum; if not, it is the target's own sum now
     */
    bool Merge(const Workload& reduce);

  private:
    /// Contributions that a server holds apart from its own sum.
    struct Apart
    {
        Place place;                      //!< where they are
        std::vector<NodeId> contributors; //!< whose they are
    };

    std::vector<NodeId> m_roots; //!< by chunk
    BitMatrix m_isSent;          //!< [server][chunk]: the own sum has been sent on
    BitMatrix m_isMerged;        //!< [server][chunk]: it is more than the server's own part
    std::map<std::pair<NodeId, ChunkId>, std::vector<Apart>> m_apart; //!< what is kept apart
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PARTIAL_SUMS_H */
