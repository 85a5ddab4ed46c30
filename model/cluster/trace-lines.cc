/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "trace-lines.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <limits>

namespace ns3::allreduce
{

namespace
{

std::string_view
Trim(std::string_view text)
{
    constexpr std::string_view SPACE = " \t\r\n\v\f";
    const std::size_t begin = text.find_first_not_of(SPACE);
    return begin == std::string_view::npos
               ? std::string_view()
               : text.substr(begin, text.find_last_not_of(SPACE) + 1 - begin);
}

} // namespace

void
ForEachLine(std::istream& in,
            const std::string& name,
            const std::function<void(std::string_view, std::size_t)>& take)
{
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);)
    {
        ++number;
        const std::string_view text = Trim(line);
        if (text.empty() || text.front() == '#')
        {
            continue;
        }
        try
        {
            take(text, number);
        }
        catch (const InputError& error)
        {
            FailInput("job file ", name, ", line ", number, ": ", error.what());
        }
    }
}

void
SplitLine(std::string_view line, char separator, Fields& fields)
{
    fields.clear();
    for (;;)
    {
        const std::size_t end = line.find(separator);
        fields.push_back(Trim(line.substr(0, end)));
        if (end == std::string_view::npos)
        {
            return;
        }
        line.remove_prefix(end + 1);
    }
}

TraceHeader::TraceHeader(const Fields& fields)
    : m_names(fields.begin(), fields.end())
{
}

std::size_t
TraceHeader::Find(const std::string& name) const
{
    const auto place = std::find(m_names.begin(), m_names.end(), name);
    if (place == m_names.end())
    {
        FailInput("column \"", name, "\" is missing");
    }
    if (std::find(place + 1, m_names.end(), name) != m_names.end())
    {
        FailInput("column \"", name, "\" is there twice");
    }
    return place - m_names.begin();
}

void
TraceHeader::CheckRow(const Fields& fields) const
{
    if (fields.size() != m_names.size())
    {
        FailInput(fields.size(), " fields, expected ", m_names.size());
    }
}

double
ParseReal(std::string_view text, const std::string& what)
{
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || !std::isfinite(value) || value < 0)
    {
        FailInput(what, " ", Quote(std::string(text)), ": expected a number of 0 or more");
    }
    return value;
}

uint32_t
ParseSmallNumber(std::string_view text, const std::string& what)
{
    const uint64_t number = ParseNumber(std::string(text), what);
    if (number >= std::numeric_limits<uint32_t>::max())
    {
        FailInput(what, " ", Quote(std::string(text)), ": expected a smaller number");
    }
    return number;
}

} // namespace ns3::allreduce
