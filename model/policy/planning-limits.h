/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNING_LIMITS_H
#define ALLREDUCE_PLANNING_LIMITS_H

#include <cstddef>
#include <cstdint>

/**
 * @file
 * @ingroup allreduce
 * How much is tried for a plan, of one AllReduce and of groups.
 */

namespace ns3::allreduce
{

/// So many endings of a rollout are tried at most before all is planned anew.
inline constexpr uint32_t MOST_ENDINGS = 8;

/// The temperature of every other try: breaking ties in other ways changes too little.
inline constexpr float LOOSE = 0.3;

/// The best of so many plans by packing trees is tried, too, as long as so many transfers are
/// planned for them in all; one plan if they are many, none if it would take seconds.
///@{
inline constexpr std::size_t MOST_FORESTS = 16;
inline constexpr std::size_t MOST_TRANSFERS_FORESTS = 15'000;
inline constexpr std::size_t MOST_TRANSFERS_FOREST = 200'000;
///@}

} // namespace ns3::allreduce

#endif // ALLREDUCE_PLANNING_LIMITS_H
