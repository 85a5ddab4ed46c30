/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LIVE_VIEW_H
#define ALLREDUCE_LIVE_VIEW_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A transfer that has begun and not arrived, chosen or planned.
struct TransferUnderWay
{
    Workload workload;      //!< what goes where
    uint64_t rateBps{0};    //!< that it was believed to get when it began
    double beginSeconds{0}; //!< when it began, since the collective began
};

/**
 * @ingroup allreduce
 *
 * @brief What a scheduler sees that chooses one transfer after another: how far the collective has
 * come, and what is believed of the network at this moment.
 *
 * Links are believed to be as fast as announced until transfers over them show something else.
 */
struct LiveView
{
    const AllReduceState& state;               //!< what is under way is in flight there
    const std::vector<uint64_t>& announcedBps; //!< by directed link: the rate planned for
    /// By directed link: the rate that it seems to have; 0 if it is down, or leads to or from a
    /// server that is not ready.
    const std::vector<uint64_t>& believedBps;
    /// By directed link: what of the believed rate nothing under way takes.
    const std::vector<uint64_t>& freeBps;
    const std::vector<TransferUnderWay>& underWay; //!< in no order
    uint64_t chunkBytes{0};                        //!< size of a chunk
    double seconds{0};                             //!< since the collective began
};

/// @ingroup allreduce
/// A transfer that was chosen. It owns its path.
struct ChosenTransfer
{
    ChunkId chunk{0};                        //!< the chunk that moves
    WorkloadKind kind{WorkloadKind::REDUCE}; //!< merged or copied at the target
    Path path;                               //!< from the sending to the receiving server

    /// @return the same as a workload, valid as long as this
    Workload GetWorkload() const
    {
        return {chunk, kind, {path.data(), path.data() + path.size()}, {}};
    }
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LIVE_VIEW_H */
