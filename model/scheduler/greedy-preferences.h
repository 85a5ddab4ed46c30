/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GREEDY_PREFERENCES_H
#define ALLREDUCE_GREEDY_PREFERENCES_H

#include <cstdint>
#include <random>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What a greedy planner prefers: of the chunks that a server could receive next, it takes
 * the one of lowest cost.
 */
struct GreedyWeights
{
    double rarity{1};  //!< off, for each server that must still be sent the chunk
    double spread{6};  //!< off, times the share of the receiver's neighbors that lack the chunk
    double hop{0.5};   //!< for each link of the path
    double noise{0.3}; //!< up to this much at random
};

/// @ingroup allreduce
/// The random numbers of one planner: the same on every machine.
class PlannerRandom
{
  public:
    /// @param seed another seed gives other numbers
    explicit PlannerRandom(uint64_t seed)
        : m_engine(seed)
    {
    }

    /// @return 64 random bits
    uint64_t Bits()
    {
        return m_engine();
    }

    /// @return a number below the bound @param bound at least 1
    uint32_t Below(uint32_t bound)
    {
        return (m_engine() >> 32) * bound >> 32;
    }

  private:
    std::mt19937_64 m_engine; //!< the generator
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GREEDY_PREFERENCES_H */
