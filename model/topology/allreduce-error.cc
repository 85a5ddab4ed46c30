/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

std::string
Shorten(const std::string& text)
{
    constexpr std::size_t MOST = 80;
    std::string shorter = text.substr(0, MOST);
    std::replace_if(
        shorter.begin(),
        shorter.end(),
        [](unsigned char c) { return c < ' ' || c == 127; },
        '?');
    return text.size() > MOST ? shorter + "..." : shorter;
}

std::string
Quote(const std::string& text)
{
    return '"' + Shorten(text) + '"';
}

} // namespace ns3::allreduce
