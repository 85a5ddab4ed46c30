/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RANDOM_SOURCE_H
#define ALLREDUCE_RANDOM_SOURCE_H

#include "ns3/bit-mix.h"

#include <cstdint>
#include <random>
#include <utility>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The random numbers of a planner: the same on every machine and with every compiler, unlike
 * those of the standard's distributions.
 *
 * @tparam Engine makes the bits; a planner keeps to one, because its plans follow from the sequence
 */
template <typename Engine>
class RandomSource : public Engine
{
  public:
    using Engine::Engine;

    /// @return a number below a limit @param limit 1 or more
    uint32_t Below(uint32_t limit)
    {
        return static_cast<uint64_t>(DrawWord()) * limit >> 32;
    }

    /// @return a number below a limit, as a remainder @param limit 1 or more
    uint32_t Modulo(uint32_t limit)
    {
        return (*this)() % limit;
    }

    /// @return a number from 0 to 1, without 1
    double Unit()
    {
        return DrawWord() * 0x1p-32;
    }

  private:
    uint32_t DrawWord()
    {
        static_assert(Engine::max() == UINT64_MAX, "needs an engine of 64 bits");
        return (*this)() >> 32;
    }
};

/// @ingroup allreduce
/// SplitMix64, for the inner loops of searches: its state is one number.
class SplitMixEngine
{
  public:
    using result_type = uint64_t; //!< as the standard asks for

    /// @param seed random seed
    explicit SplitMixEngine(uint64_t seed)
        : m_nDrawn(MixBits(seed))
    {
    }

    /// @return the largest number
    static constexpr result_type max()
    {
        return UINT64_MAX;
    }

    /// @return the next number
    result_type operator()()
    {
        return MixBits(m_nDrawn++);
    }

  private:
    uint64_t m_nDrawn; //!< counts from anywhere
};

/// @ingroup allreduce
/// The numbers of std::mt19937, the next two of which can be looked at before they are drawn, to
/// fetch what they lead to into the cache.
class LookaheadEngine : public std::mt19937
{
  public:
    /// @param seed random seed
    explicit LookaheadEngine(result_type seed)
        : std::mt19937(seed),
          m_next{std::mt19937::operator()(), std::mt19937::operator()()}
    {
    }

    /// @return the next number
    result_type operator()()
    {
        return std::exchange(m_next[0], std::exchange(m_next[1], std::mt19937::operator()()));
    }

    /// @return a number that will be drawn @param n after how many others: 0 or 1
    result_type LookAhead(uint32_t n) const
    {
        return m_next[n];
    }

  private:
    result_type m_next[2]; //!< made, and not drawn yet
};

/// What most planners draw from.
using PlannerRandom = RandomSource<std::mt19937_64>;

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RANDOM_SOURCE_H */
