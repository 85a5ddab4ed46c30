/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "fault-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/link-capacities.h"

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
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

/// When something happens to a link.
struct Interval
{
    Time begin;              //!< from then on
    std::optional<Time> end; //!< until then; none: to the end
};

/// @param times TIME[,UP_TIME] @param text the whole value @param expected if the end is too early
Interval
ParseInterval(const std::string& times,
              const std::string& option,
              const std::string& text,
              const char* expected)
{
    Interval interval;
    const std::size_t comma = times.find(',');
    interval.begin = NanoSeconds(ParseTime(times.substr(0, comma), option));
    if (comma != std::string::npos)
    {
        interval.end = NanoSeconds(ParseTime(times.substr(comma + 1), option));
        if (*interval.end <= interval.begin)
        {
            FailInput(option, " ", Quote(text), ": ", expected);
        }
    }
    return interval;
}

LinkFault
ParseFault(const Topology& topology, const std::string& text)
{
    const auto [link, times] = Split(text, '@', "--fail", "A-B@TIME[,UP_TIME]");
    const LinkId id = FindLink(topology, link, "--fail");
    const Interval interval =
        ParseInterval(times, "--fail", text, "expected the link to come up after it went down");
    return {id, interval.begin, interval.end};
}

/// A link that is slower than announced.
struct SlowLink
{
    LinkId link;        //!< which
    std::string name;   //!< as it was given
    std::string factor; //!< by how much, as it was given
    bool isTimed;       //!< not all the time
    Interval interval;  //!< when
};

bool
IsTimed(const std::string& slow)
{
    return slow.find('@') != std::string::npos;
}

SlowLink
ParseSlow(const Topology& topology, const std::string& text)
{
    const auto [link, rest] = Split(text, ':', "--slow", "A-B:FACTOR[@TIME[,UP_TIME]]");
    const std::size_t at = rest.find('@');
    SlowLink slow{FindLink(topology, link, "--slow"), link, rest.substr(0, at), IsTimed(rest), {}};
    if (slow.isTimed)
    {
        slow.interval = ParseInterval(rest.substr(at + 1),
                                      "--slow",
                                      text,
                                      "expected the link to recover after it became slower");
    }
    return slow;
}

/// @return the links by the time at which they become slower
std::vector<SlowLink>
ParseAllSlow(const Topology& topology, const std::vector<std::string>& texts)
{
    std::vector<SlowLink> all;
    for (const std::string& text : texts)
    {
        all.push_back(ParseSlow(topology, text));
    }
    std::stable_sort(all.begin(), all.end(), [](const SlowLink& x, const SlowLink& y) {
        return std::pair(x.link, x.interval.begin) < std::pair(y.link, y.interval.begin);
    });
    for (std::size_t i = 1; i < all.size(); ++i)
    {
        const auto& end = all[i - 1].interval.end;
        if (all[i].link == all[i - 1].link && !(end && *end <= all[i].interval.begin))
        {
            FailInput("--slow ",
                      Quote(all[i].name),
                      ": this link is named twice for the same time, expected once");
        }
    }
    return all;
}

/// @return when both directions of a link change
std::vector<RateChange>
MakeRateChanges(const Topology& topology, const SlowLink& slow)
{
    const uint64_t rate = topology.GetLink(slow.link).rateBps;
    const uint64_t slowed = SlowDown(rate, slow.factor);
    std::vector<RateChange> changes;
    for (const DirectedLinkId direction : {2 * slow.link, 2 * slow.link + 1})
    {
        changes.push_back({direction, slow.interval.begin.GetNanoSeconds(), slowed});
        if (slow.interval.end)
        {
            changes.push_back({direction, slow.interval.end->GetNanoSeconds(), rate});
        }
    }
    return changes;
}

std::vector<LateServer>
ParseLate(const Topology& topology, const std::vector<std::string>& texts)
{
    std::vector<LateServer> all;
    std::set<uint64_t> named;
    for (const std::string& text : texts)
    {
        const auto [serverText, time] = Split(text, ':', "--late", "SERVER:TIME");
        const uint64_t server = ParseNumber(serverText, "--late");
        if (server >= topology.GetNServers())
        {
            FailInput("--late ",
                      Quote(text),
                      ": expected a server below ",
                      topology.GetNServers(),
                      " of ",
                      topology.GetName());
        }
        if (!named.insert(server).second)
        {
            FailInput("--late ", Quote(text), ": this server is named twice, expected once");
        }
        const int64_t readyNs = ParseTime(time, "--late");
        if (readyNs == 0)
        {
            FailInput("--late ", Quote(text), ": expected a time above 0");
        }
        all.push_back({static_cast<NodeId>(server), readyNs});
    }
    return all;
}

BurstModel
ParseBursts(const std::string& text)
{
    std::vector<std::string> parts;
    boost::split(parts, text, boost::is_any_of(","));
    if (parts.size() != 5)
    {
        FailInput("--bursts ", Quote(text), ": expected SHARE,LOAD,ON,OFF,SEED");
    }
    BurstModel model;
    model.share = ParseFraction(parts[0], "--bursts");
    model.load = ParseFraction(parts[1], "--bursts");
    model.meanOn = NanoSeconds(ParseTime(parts[2], "--bursts"));
    model.meanOff = NanoSeconds(ParseTime(parts[3], "--bursts"));
    model.seed = ParseNumber(parts[4], "--bursts");
    if (model.share == 0 || model.load == 0 || model.load == 1 || model.meanOn.IsZero() ||
        model.meanOff.IsZero())
    {
        FailInput("--bursts ",
                  Quote(text),
                  ": expected a share above 0, a load above 0 and below 1, and times above 0");
    }
    return model;
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
    options.Add("slow",
                slow,
                ';',
                "A-B:FACTOR[@TIME[,UP_TIME]]: this link of the actual network is slower than "
                "announced (from "
                "then on, until it recovers): plans, chunks and prediction do not know, the ideal "
                "knows what "
                "is so all the time; once or more");
    options.Add("known", known, "planners are told of links that are --slow all the time");
    options.Add(
        "late",
        late,
        ';',
        "SERVER:TIME: this server is ready so late: with --adapt=live the others begin, else "
        "they wait; once or more");
    options.Add("bursts",
                bursts,
                "SHARE,LOAD,ON,OFF,SEED: so many of the links' directions have bursts of other "
                "traffic, which take this share of the rate for exponential times, mean ON, and "
                "none for OFF; modelled as a lower rate, without packets");
    options.Add("background", background, "share of the ports' rate that other traffic uses");
}

Topology
FaultOptions::ApplySlow(const Topology& topology) const
{
    std::vector<Link> links = topology.GetLinks();
    bool isAny = false;
    for (const SlowLink& slowed : ParseAllSlow(topology, slow))
    {
        if (!slowed.isTimed)
        {
            Link& changed = links[slowed.link];
            changed.rateBps = SlowDown(changed.rateBps, slowed.factor);
            isAny = true;
        }
    }
    if (known)
    {
        DeriveCapacities(links); // as for a topology file with these rates
    }
    return isAny ? topology.WithLinks(topology.GetName(), std::move(links)) : topology;
}

bool
FaultOptions::HidesRates() const
{
    return !known && !std::all_of(slow.begin(), slow.end(), IsTimed);
}

bool
FaultOptions::ChangesRates() const
{
    return std::any_of(slow.begin(), slow.end(), IsTimed);
}

std::vector<std::string>
FaultOptions::GetUnknownSlow() const
{
    std::vector<std::string> unknown;
    std::copy_if(slow.begin(),
                 slow.end(),
                 std::back_inserter(unknown),
                 [this](const std::string& text) { return !known || IsTimed(text); });
    return unknown;
}

void
FaultOptions::Check() const
{
    if (known && std::all_of(slow.begin(), slow.end(), IsTimed))
    {
        FailInput("--known: has no effect without a link that is slow all the time, expected "
                  "--slow=A-B:FACTOR");
    }
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
    settings.rateChanges.clear();
    for (const SlowLink& slowed : ParseAllSlow(topology, slow))
    {
        if (slowed.isTimed)
        {
            const auto changes = MakeRateChanges(topology, slowed);
            settings.rateChanges.insert(settings.rateChanges.end(), changes.begin(), changes.end());
        }
    }
    settings.lateServers = ParseLate(topology, late);
    settings.bursts = bursts.empty() ? std::nullopt : std::optional(ParseBursts(bursts));
}

double
FaultOptions::GetBackground() const
{
    return ParseFraction(background, "--background");
}

} // namespace ns3::allreduce
