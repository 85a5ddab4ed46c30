/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHUNK_NEEDS_H
#define ALLREDUCE_CHUNK_NEEDS_H

#include "allreduce-state.h"
#include "bit-matrix.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Who needs whom for what is left of a collective: matrices of [server][chunk].
 *
 * As long as a sum is not final, whoever holds a part of it and the chunk's root need each other.
 * A receiver that lacks the sum needs any server that has it; as long as nobody has, the root.
 * Others, who could only relay, are needed by nobody, nor is a root whose sum others have.
 */
struct ChunkNeeds
{
    /// @param state any state in which no workload is in flight
    explicit ChunkNeeds(const AllReduceState& state);

    BitMatrix collects; //!< is the root of a sum that is not final
    BitMatrix gives;    //!< holds a part of the sum, and is not its root
    BitMatrix hasSum;   //!< has the sum or, as its root, will be the first to
    BitMatrix lacksSum; //!< is to have the sum, and is not among these
};

/**
 * @ingroup allreduce
 *
 * Find the servers that are cut off from others they need by links that are down or, where relays
 * are not allowed, by servers that may not hold the chunk. Of those that cannot reach each other
 * the fewer are cut off; of as many, those with less of the network around them.
 *
 * @param state any state in which no workload is in flight
 * @param needEachOther whether all that have something left to do need each other, too, because
 *        they send each other messages; everybody relays these
 * @return the servers, ascending; none if what is left can be done
 */
std::vector<NodeId> FindCutOff(const AllReduceState& state, bool needEachOther);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHUNK_NEEDS_H */
