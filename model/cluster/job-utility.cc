/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-utility.h"

#include "ns3/allreduce-error.h"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <cmath>
#include <cstdlib>

namespace ns3::allreduce
{

const char* const UTILITY_GRAMMAR =
    "progress | energy[:PRICE] | fair[:ALPHA] | max-min, or a sum as 0.5*progress+0.5*fair:1";

namespace
{

double
ParseFactor(const std::string& text, const std::string& whole)
{
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= 0 && value <= MOST_WEIGHT))
    {
        FailInput("objective ",
                  Quote(whole),
                  ": ",
                  Quote(text),
                  ", expected a number from 0 to ",
                  MOST_WEIGHT);
    }
    return value;
}

/// @return one term of a sum, without its factor
std::unique_ptr<JobUtility>
ParseTerm(const std::string& text, const std::string& whole)
{
    constexpr double DEFAULT_PRICE = 0.5;
    constexpr double DEFAULT_ALPHA = 1;
    const std::size_t colon = text.find(':');
    const bool hasValue = colon != std::string::npos;
    const std::string name = text.substr(0, colon);
    const std::string value = hasValue ? text.substr(colon + 1) : "";
    if (name == "progress" && !hasValue)
    {
        return std::make_unique<ProgressUtility>();
    }
    if (name == "energy")
    {
        return std::make_unique<EnergyUtility>(hasValue ? ParseFactor(value, whole)
                                                        : DEFAULT_PRICE);
    }
    if (name == "fair")
    {
        return std::make_unique<AlphaFairUtility>(hasValue ? ParseFactor(value, whole)
                                                           : DEFAULT_ALPHA);
    }
    if (name == "max-min" && !hasValue)
    {
        return std::make_unique<AlphaFairUtility>(AlphaFairUtility::MAX_MIN_ALPHA);
    }
    FailInput("objective ", Quote(whole), ": ", Quote(text), ", expected ", UTILITY_GRAMMAR);
}

double
GetShare(const JobState& state, double iterations)
{
    return std::min(1.0, iterations / state.job->targetIterations);
}

} // namespace

double
JobUtility::GetGain(const JobState& state, double from, double to) const
{
    return GetBenefit(state, to) - GetBenefit(state, from);
}

double
JobUtility::GetWorkerSlotCost(const JobState& state) const
{
    return 0;
}

double
ProgressUtility::GetBenefit(const JobState& state, double iterations) const
{
    return state.job->weight * GetShare(state, iterations);
}

EnergyUtility::EnergyUtility(double price)
    : m_price(price)
{
}

double
EnergyUtility::GetWorkerSlotCost(const JobState& state) const
{
    // A job that is too slow on one GPU is measured on the least number that works.
    uint32_t workers = 1;
    while (workers + 1 < state.rates.size() && state.rates[workers] == 0)
    {
        ++workers;
    }
    const double perWorkerSlot = double(state.rates[workers]) / workers;
    return m_price * state.job->weight * perWorkerSlot / state.job->targetIterations;
}

AlphaFairUtility::AlphaFairUtility(double alpha, double scale)
    : m_alpha(alpha),
      m_scale(scale)
{
}

double
AlphaFairUtility::GetBenefit(const JobState& state, double iterations) const
{
    const double grown = 1 + GetShare(state, iterations) / m_scale;
    const double benefit =
        m_alpha == 1 ? std::log(grown) : (std::pow(grown, 1 - m_alpha) - 1) / (1 - m_alpha);
    return state.job->weight * benefit;
}

double
AlphaFairUtility::GetGain(const JobState& state, double from, double to) const
{
    const double before = 1 + GetShare(state, from) / m_scale;
    const double after = 1 + GetShare(state, to) / m_scale;
    const double growth = std::log1p((after - before) / before);
    const double gain = m_alpha == 1 ? growth
                                     : std::pow(before, 1 - m_alpha) *
                                           std::expm1((1 - m_alpha) * growth) / (1 - m_alpha);
    return state.job->weight * gain;
}

void
WeightedUtility::Add(double weight, std::unique_ptr<JobUtility> utility)
{
    m_parts.emplace_back(weight, std::move(utility));
}

double
WeightedUtility::GetBenefit(const JobState& state, double iterations) const
{
    double sum = 0;
    for (const auto& [weight, utility] : m_parts)
    {
        sum += weight * utility->GetBenefit(state, iterations);
    }
    return sum;
}

double
WeightedUtility::GetGain(const JobState& state, double from, double to) const
{
    double sum = 0;
    for (const auto& [weight, utility] : m_parts)
    {
        sum += weight * utility->GetGain(state, from, to);
    }
    return sum;
}

double
WeightedUtility::GetWorkerSlotCost(const JobState& state) const
{
    double sum = 0;
    for (const auto& [weight, utility] : m_parts)
    {
        sum += weight * utility->GetWorkerSlotCost(state);
    }
    return sum;
}

std::unique_ptr<JobUtility>
ParseUtility(const std::string& text)
{
    std::vector<std::string> terms;
    boost::split(terms, text, boost::is_any_of("+"));
    if (terms.size() == 1 && text.find('*') == std::string::npos)
    {
        return ParseTerm(text, text);
    }
    auto sum = std::make_unique<WeightedUtility>();
    for (const std::string& term : terms)
    {
        const std::size_t star = term.find('*');
        const bool hasFactor = star != std::string::npos;
        sum->Add(hasFactor ? ParseFactor(term.substr(0, star), text) : 1,
                 ParseTerm(hasFactor ? term.substr(star + 1) : term, text));
    }
    return sum;
}

} // namespace ns3::allreduce
