/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "drf-policy.h"

#include "queue-policy.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// A job that can take another worker.
struct Claim
{
    double share;      //!< its dominant share
    uint64_t attained; //!< worker-slots that it has had so far
    std::size_t index; //!< its place among the active jobs
    double growth;     //!< by how much a worker raises the share
    uint32_t workers;  //!< that it has
    uint32_t most;     //!< that it can use

    /// @return whether the other claim comes first: equal shares go to who has had less
    bool operator<(const Claim& other) const
    {
        return std::tie(share, attained, index) >
               std::tie(other.share, other.attained, other.index);
    }
};

} // namespace

void
DrfPolicy::Allocate(uint32_t slot)
{
    PlaceRings(m_world, FillProgressively(), m_active);
}

std::vector<RingSize>
DrfPolicy::FillProgressively() const
{
    const RingPlacement& placement = *m_world.placement;
    std::priority_queue<Claim> claims;
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        const JobState& state = GetState(m_active[i]);
        const double growth = std::max(1.0 / placement.GetNGpus(),
                                       double(state.job->bandwidthBps) /
                                           std::max<uint64_t>(1, placement.GetReservableBps())) /
                              state.job->weight;
        claims.push(
            {0, state.workerSlots, i, growth, 0, state.FindUsefulWorkers(state.job->maxWorkers)});
    }
    std::vector<RingSize> sizes(m_active.size());
    for (uint32_t budget = placement.GetNGpus(); budget > 0 && !claims.empty();)
    {
        Claim claim = claims.top();
        claims.pop();
        if (claim.workers < claim.most)
        {
            ++claim.workers;
            claim.share += claim.growth;
            sizes[claim.index] = {m_active[claim.index], claim.workers};
            claims.push(claim);
            --budget;
        }
    }
    sizes.erase(std::remove_if(sizes.begin(),
                               sizes.end(),
                               [](const RingSize& size) { return size.workers == 0; }),
                sizes.end());
    return sizes;
}

} // namespace ns3::allreduce
