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

/// At most so many endings of a rollout are tried before everything is planned again.
inline constexpr uint32_t MOST_ENDINGS = 8;

/// The temperature of every second try, because breaking ties differently changes too little.
inline constexpr float LOOSE = 0.3;

/// The best of so many forests is tried, too.
inline constexpr std::size_t MOST_FORESTS = 16;

/// Forests are tried until they have so many transfers in all.
inline constexpr std::size_t MOST_TRANSFERS_FORESTS = 15'000;

/// Not even one forest is tried for more transfers than these: it would take seconds.
inline constexpr std::size_t MOST_TRANSFERS_FOREST = 200'000;

} // namespace ns3::allreduce

#endif // ALLREDUCE_PLANNING_LIMITS_H
