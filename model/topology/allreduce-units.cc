/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-units.h"

#include "allreduce-error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// Units by name, each with its size in the smallest one; the largest first.
using Units = std::vector<std::pair<std::string, double>>;

const Units RATE_UNITS = {
    {"Tbps", 1e12},
    {"Gbps", 1e9},
    {"Mbps", 1e6},
    {"kbps", 1e3},
    {"Kbps", 1e3},
    {"bps", 1},
};

const Units TIME_UNITS = {
    {"ms", 1e6},
    {"us", 1e3},
    {"ns", 1},
    {"s", 1e9},
};

/**
 * @param text a number with a unit
 * @param units the units to choose from
 * @return the quantity in the smallest unit, or NaN if the text is not one
 */
double
ParseQuantity(const std::string& text, const Units& units)
{
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc())
    {
        const std::string unit(rest, end);
        for (const auto& [name, size] : units)
        {
            if (unit == name)
            {
                return number * size;
            }
        }
    }
    return std::numeric_limits<double>::quiet_NaN();
}

/**
 * @param quantity in the smallest unit
 * @param units the units to choose from, the largest first
 * @return the quantity in the largest unit that leaves no remainder
 */
std::string
FormatQuantity(uint64_t quantity, const Units& units)
{
    for (const auto& [name, size] : units)
    {
        const auto whole = static_cast<uint64_t>(size);
        if (quantity >= whole && quantity % whole == 0)
        {
            return std::to_string(quantity / whole) + name;
        }
    }
    return "0" + units.back().first;
}

} // namespace

uint64_t
ParseRate(const std::string& text, const std::string& what)
{
    const double rate = ParseQuantity(text, RATE_UNITS);
    if (!(rate >= 1 && rate < 1e18))
    {
        FailInput(what, " ", Quote(text), ": expected a positive rate such as 10Gbps");
    }
    return std::llround(rate);
}

int64_t
ParseTime(const std::string& text, const std::string& what)
{
    const double time = text == "0" ? 0 : ParseQuantity(text, TIME_UNITS);
    if (!(time >= 0 && time < 1e18))
    {
        FailInput(what, " ", Quote(text), ": expected a time such as 1us, less than 30 years");
    }
    return std::llround(time);
}

uint64_t
ParseNumber(const std::string& text, const std::string& what)
{
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end)
    {
        FailInput(what, " ", Quote(text), ": expected a whole number");
    }
    return number;
}

double
ParseFraction(const std::string& text, const std::string& what)
{
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end || !(number >= 0 && number <= 1))
    {
        FailInput(what, " ", Quote(text), ": expected a number from 0 to 1");
    }
    return number;
}

std::string
FormatRate(uint64_t bps)
{
    return FormatQuantity(bps, RATE_UNITS);
}

std::string
FormatRoughRate(double bps)
{
    const auto fits = [bps](const auto& unit) { return bps >= unit.second; };
    const auto unit = std::find_if(RATE_UNITS.begin(), RATE_UNITS.end() - 1, fits);
    std::ostringstream text;
    text << bps / unit->second << unit->first;
    return text.str();
}

std::string
FormatTime(int64_t ns)
{
    return FormatQuantity(ns, {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}});
}

} // namespace ns3::allreduce
