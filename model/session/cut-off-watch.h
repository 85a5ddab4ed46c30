/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CUT_OFF_WATCH_H
#define ALLREDUCE_CUT_OFF_WATCH_H

#include "collective-progress.h"

#include "ns3/allreduce-network.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @param state how far a collective has come
 * @param needsAll whether all that have something left to do need each other, whatever it is
 * @return which servers cannot go on because of links that are down; "" if all can
 */
std::string DescribeCutOff(const AllReduceState& state, bool needsAll);

/**
 * @ingroup allreduce
 *
 * @param state how far a collective has come
 * @param network says which links are due to be mended
 * @param needsAll see DescribeCutOff
 * @return whether all could go on if these links were up
 */
bool IsMendingDue(const AllReduceState& state, const AllReduceNetwork& network, bool needsAll);

/**
 * @ingroup allreduce
 *
 * @brief Watches whether links that are down keep servers from going on, and for how long.
 */
class CutOffWatch
{
  public:
    /// A collective begins.
    void Restart();

    /// @return what DescribeCutOff does, without a search as long as no link has changed
    /// @param progress how far the collective has come @param needsAll see DescribeCutOff
    std::string Find(const CollectiveProgress& progress, bool needsAll);

    /**
     * Servers are cut off, or are not any more.
     *
     * @param isCutOff which
     * @param isBefore whether that is before the first round, so that the time counts as waited
     */
    void Update(bool isCutOff, bool isBefore);

    /// @return whether servers are cut off
    bool IsCutOff() const;

    /// @return for how long servers were cut off before the first round
    Time GetWaited() const;

  private:
    bool m_isCutOff{false};                //!< see IsCutOff
    std::optional<uint64_t> m_connectedAt; //!< the ledger's upsets when all could go on
    Time m_since;                          //!< when they were cut off
    Time m_waited;                         //!< see GetWaited
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CUT_OFF_WATCH_H */
