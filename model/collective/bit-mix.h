/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BIT_MIX_H
#define ALLREDUCE_BIT_MIX_H

#include <cstdint>

namespace ns3::allreduce
{

/// What the state of SplitMix64 grows by from number to number.
constexpr uint64_t SPLIT_MIX_STEP = 0x9e3779b97f4a7c15;

/**
 * @ingroup allreduce
 *
 * Mix the bits of a number, so that numbers that differ in any bit differ in about half of them
 * afterwards (the finalizer of SplitMix64, which is one to one).
 *
 * @param x a number
 * @return the mixed number
 */
constexpr uint64_t
MixBits(uint64_t x)
{
    x += SPLIT_MIX_STEP;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BIT_MIX_H */
