/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// @return the text on one line
std::string
Flatten(std::string text)
{
    std::replace_if(
        text.begin(),
        text.end(),
        [](unsigned char c) { return c < ' ' || c == 127; },
        '?');
    return text;
}

} // namespace

std::string
Shorten(const std::string& text)
{
    constexpr std::size_t MOST = 80;
    return Flatten(text.substr(0, MOST)) + (text.size() > MOST ? "..." : "");
}

std::string
Quote(const std::string& text)
{
    return '"' + Shorten(text) + '"';
}

std::string
NamePath(const std::string& path)
{
    constexpr std::size_t MOST = 200;
    return path.size() > MOST ? "..." + Flatten(path.substr(path.size() - MOST)) : Flatten(path);
}

} // namespace ns3::allreduce
