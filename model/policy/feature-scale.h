/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FEATURE_SCALE_H
#define ALLREDUCE_FEATURE_SCALE_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ns3::allreduce
{

/// @return slack as a feature @param slack workloads that can be done beyond those that must
inline float
ScaleSlack(int64_t slack)
{
    return std::clamp<int64_t>(slack, -4, 8) / 8.0F;
}

/// @return part / whole, or 0 if there is no whole @param part the part @param whole the whole
inline float
Share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/// @return a count as a feature between 0 and 1 @param count the count @param most counts alike
inline float
Cap(uint32_t count, uint32_t most)
{
    return std::min(count, most) / static_cast<float>(most);
}

/// @return a count as a feature that grows slowly @param count the count
inline float
ScaleLog(double count)
{
    return std::log2(1 + count) / 6;
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FEATURE_SCALE_H */
