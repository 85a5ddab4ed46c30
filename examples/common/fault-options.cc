/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "fault-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"

#include <cmath>
#include <set>

namespace ns3::allreduce
{

namespace
{

/// Cuts a text in two at the first separator; fails with what was expected if there is none.
std::pair<std::string, std::string>
Split(const std::string& text, char separator, const std::string& option, const char* grammar)
{
    const std::size_t at = text.find(separator);
    if (at == std::string::npos)
    {
        FailInput(option, " ", Quote(text), ": expected ", grammar);
    }
    return {text.substr(0, at), text.substr(at + 1)};
}

/// @return the link that "A-B" names
LinkId
FindLink(const Topology& topology, const std::string& text, const std::string& option)
{
    const auto [a, b] = Split(text, '-', option, "a link as A-B, two node ids");
    const uint64_t from = ParseNumber(a, option);
    const uint64_t to = ParseNumber(b, option);
    const uint64_t nNodes = topology.GetNNodes();
    const auto link = from < nNodes && to < nNodes ? topology.FindDirectedLink(from, to)
                                                   : std::optional<DirectedLinkId>();
    if (!link)
    {
        FailInput(option,
                  " ",
                  Quote(text),
                  ": ",
                  topology.GetName(),
                  " has no link ",
                  Shorten(text));
    }
    return *link / 2;
}

double
ParseFactor(const std::string& text, const std::string& option)
{
    char* end = nullptr;
    const double factor = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(factor) || factor <= 1)
    {
        FailInput(option, " ", Quote(text), ": expected a factor above 1");
    }
    return factor;
}

/// @return the rate of a link that is slower by a factor
uint64_t
SlowDown(uint64_t rateBps, const std::string& factor)
{
    const double slowed = rateBps / ParseFactor(factor, "--slow");
    if (slowed < 1 || std::llround(slowed) == std::llround(rateBps))
    {
        FailInput("--slow ",
                  Quote(factor),
                  ": of ",
                  rateBps,
                  " bit/s it leaves ",
                  slowed,
                  " bit/s, expected less, and 1 bit/s or more");
    }
    return std::llround(slowed);
}

LinkFault
ParseFault(const Topology& topology, const std::string& text)
{
    constexpr auto GRAMMAR = "A-B@TIME[,UP_TIME]";
    const auto [link, times] = Split(text, '@', "--fail", GRAMMAR);
    LinkFault fault;
    fault.link = FindLink(topology, link, "--fail");
    const std::size_t comma = times.find(',');
    fault.down = NanoSeconds(ParseTime(times.substr(0, comma), "--fail"));
    if (comma != std::string::npos)
    {
        fault.up = NanoSeconds(ParseTime(times.substr(comma + 1), "--fail"));
        if (*fault.up <= fault.down)
        {
            FailInput("--fail ", Quote(text), ": expected the link to come up after it went down");
        }
    }
    return fault;
}

} // namespace

void
FaultOptions::AddTo(ProgramOptions& options)
{
    options.Add("fail",
                fail,
                ';',
                "A-B@TIME[,UP_TIME]: this link breaks (and is mended); once or more");
    options.Add("fail-random", failRandom, "COUNT,SEED: so many random links break");
    options.Add(
        "slow",
        slow,
        ';',
        "A-B:FACTOR: this link of the actual network is slower than announced: plans, chunks and "
        "prediction do not know, the ideal does; once or more");
    options.Add("background", background, "share of the ports' rate that other traffic uses");
}

Topology
FaultOptions::ApplySlow(const Topology& topology) const
{
    std::vector<Link> links = topology.GetLinks();
    std::set<LinkId> slowed;
    for (const std::string& text : slow)
    {
        const auto [link, factor] = Split(text, ':', "--slow", "A-B:FACTOR");
        const LinkId id = FindLink(topology, link, "--slow");
        if (!slowed.insert(id).second)
        {
            FailInput("--slow ", Quote(link), ": this link is named twice, expected once");
        }
        Link& changed = links[id];
        changed.rateBps = SlowDown(changed.rateBps, factor);
    }
    return slow.empty() ? topology : topology.WithLinks(topology.GetName(), std::move(links));
}

void
FaultOptions::SetFaults(const Topology& topology, ExperimentSettings& settings) const
{
    settings.faults.clear();
    for (const std::string& text : fail)
    {
        settings.faults.push_back(ParseFault(topology, text));
    }
    if (!failRandom.empty())
    {
        const auto [countText, seedText] = Split(failRandom, ',', "--fail-random", "COUNT,SEED");
        const uint64_t count = ParseNumber(countText, "--fail-random");
        const uint64_t seed = ParseNumber(seedText, "--fail-random");
        if (count == 0 || count > topology.GetNLinks())
        {
            FailInput("--fail-random ",
                      Quote(failRandom),
                      ": expected 1 to ",
                      topology.GetNLinks(),
                      " links of ",
                      topology.GetName());
        }
        settings.nRandomFaults = count;
        settings.faultSeed = seed;
    }
}

double
FaultOptions::GetBackground() const
{
    return ParseFraction(background, "--background");
}

} // namespace ns3::allreduce
