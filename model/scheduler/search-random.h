/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SEARCH_RANDOM_H
#define ALLREDUCE_SEARCH_RANDOM_H

#include "ns3/bit-mix.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Random numbers for searches, the same with every compiler.
 */
class SearchRandom
{
  public:
    /// @param seed where chance comes from
    explicit SearchRandom(uint64_t seed)
        : m_state(MixBits(seed))
    {
    }

    /// @param n 1 or more @return a number below n
    uint32_t DrawBelow(uint32_t n)
    {
        return static_cast<uint64_t>(DrawWord()) * n >> 32;
    }

    /// @return a number from 0 to 1, without 1
    double DrawUnit()
    {
        return DrawWord() * 0x1p-32;
    }

  private:
    /// @return 32 random bits
    uint32_t DrawWord()
    {
        return MixBits(m_state++) >> 32;
    }

    uint64_t m_state; //!< counts the numbers drawn, from anywhere
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SEARCH_RANDOM_H */
