/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FEATURE_TABLE_H
#define ALLREDUCE_FEATURE_TABLE_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

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

/// A feature: its name, and how it follows from the facts about a choice.
template <typename Facts>
struct Feature
{
    const char* name;           //!< as checkpoints have it
    float (*get)(const Facts&); //!< its value
};

/// Written out feature by feature, so that no function is called through a pointer.
template <const auto& FEATURES, typename Facts, std::size_t... I>
void
WriteRow(const Facts& facts, float* row, std::index_sequence<I...>)
{
    ((row[I] = FEATURES[I].get(facts)), ...);
}

template <const auto& FEATURES, typename Facts>
void
Append(const Facts& facts, std::vector<float>& rows)
{
    constexpr std::size_t N = std::size(FEATURES);
    rows.resize(rows.size() + N);
    WriteRow<FEATURES>(facts, rows.data() + rows.size() - N, std::make_index_sequence<N>());
}

template <typename Facts, std::size_t N>
std::vector<std::string>
ListNames(const Feature<Facts> (&features)[N])
{
    std::vector<std::string> names;
    for (const Feature<Facts>& feature : features)
    {
        names.emplace_back(feature.name);
    }
    return names;
}

/// @return the names of the features of PORT, SENDER and ITEM
std::vector<std::vector<std::string>> ListPickFeatures();
/// @return the names of the features of TREE and VALUE
std::vector<std::vector<std::string>> ListRoundFeatures();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FEATURE_TABLE_H */
