/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TIMETABLE_H
#define ALLREDUCE_TIMETABLE_H

#include "path-table.h"

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ns3::allreduce
{

/// The half of a chunk's AllReduce in which partial sums go up to the root.
constexpr uint32_t UP = 0;
/// The half in which final sums come down.
constexpr uint32_t DOWN = 1;
/// A round that does not come.
constexpr uint32_t NEVER = UINT32_MAX;

/// The number of a delivery (see Timetable): twice its index, plus its half.
using DeliveryId = uint32_t;

/**
 * @ingroup allreduce
 *
 * @brief A plan along flow-trees: over which path and in which round each workload is sent.
 *
 * For each half, chunk and server but the root there is one *delivery*. Down, it brings the final
 * sum from the server's parent. Up, it is the reduce of the server's partial sum to its parent,
 * seen backwards: what is sent over the reversed path. So both halves are trees that lead from the
 * root to the servers, and what holds for one half holds for the other one with time reversed.
 *
 * The index of a delivery within its half is chunk * servers + server.
 */
struct Timetable
{
    uint32_t nRounds{0};                         //!< rounds of the plan
    std::array<std::vector<PathId>, 2> paths;    //!< by half, index: from parent to server; NO_PATH
    std::array<std::vector<uint32_t>, 2> rounds; //!< by half, index: when it is sent
};

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param nChunks number of chunks
 * @param rounds a plan of whole sums: no server sends two reduces of a chunk, or gets its sum twice
 * @param [in,out] paths gets those of the plan
 * @param [out] order the deliveries in the order of the plan's workloads
 * @return the plan as a timetable
 */
Timetable MakeTimetable(const Topology& topology,
                        std::size_t nChunks,
                        const std::vector<WorkloadList>& rounds,
                        PathIndex& paths,
                        std::vector<DeliveryId>& order);

/**
 * @ingroup allreduce
 *
 * @param timetable a timetable
 * @param nServers number of servers
 * @param paths its paths
 * @return the workloads of each round
 */
std::vector<WorkloadList> MakeRounds(const Timetable& timetable,
                                     uint32_t nServers,
                                     const PathTable& paths);

/// Play a timetable backwards, with all paths reversed. @param [in,out] timetable a timetable
void Mirror(Timetable& timetable);

/// @ingroup allreduce
/// Sorts deliveries by small numbers, those with the same number as they were before
/// (counting sort).
class DeliverySorter
{
  public:
    /**
     * @param [in,out] deliveries what to sort
     * @param nKeys keys are smaller
     * @param getKey the key of a delivery
     */
    template <typename GetKey>
    void Sort(std::vector<DeliveryId>& deliveries, std::size_t nKeys, GetKey getKey)
    {
        m_first.assign(nKeys + 1, 0);
        for (const DeliveryId delivery : deliveries)
        {
            ++m_first[getKey(delivery) + 1];
        }
        std::partial_sum(m_first.begin(), m_first.end(), m_first.begin());
        m_sorted.resize(deliveries.size());
        for (const DeliveryId delivery : deliveries)
        {
            m_sorted[m_first[getKey(delivery)]++] = delivery;
        }
        std::swap(deliveries, m_sorted);
    }

  private:
    std::vector<uint32_t> m_first;    //!< by key: where its deliveries begin
    std::vector<DeliveryId> m_sorted; //!< while sorting
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TIMETABLE_H */
