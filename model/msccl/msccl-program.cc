/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-program.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

const MscclType TYPES[] = {
    // name, receives, sends, readsSource, adds, writes
    {"s", false, true, true, false, false},
    {"r", true, false, false, false, true},
    {"rcs", true, true, false, false, true},
    {"rrs", true, true, true, true, false},
    {"rrc", true, false, true, true, true},
    {"rrcs", true, true, true, true, true},
    {"cpy", false, false, true, false, true},
    {"re", false, false, true, true, true},
    {"nop", false, false, false, false, false},
};

} // namespace

const MscclType*
FindMscclType(const std::string& name)
{
    const auto type = std::find_if(std::begin(TYPES), std::end(TYPES), [&](const MscclType& t) {
        return name == t.name;
    });
    return type == std::end(TYPES) ? nullptr : type;
}

std::string
Describe(const MscclPlace& place)
{
    return "gpu " + std::to_string(place.gpu) + ", tb " + std::to_string(place.tb) + ", step " +
           std::to_string(place.step);
}

} // namespace ns3::allreduce
