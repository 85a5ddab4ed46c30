/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-state.h"
#include "ns3/ideal-time.h"
#include "ns3/known-ideal.h"
#include "ns3/link-prices.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

constexpr uint64_t RATE_BPS = 8'000'000'000;
constexpr uint64_t SECOND_OF_BYTES = RATE_BPS / 8; // what a link of this rate carries in a second
constexpr int64_t SECOND_NS = 1'000'000'000;

/// @return both directions of a link with another rate from some time on, in seconds
std::vector<RateChange>
ChangeLink(LinkId link, double at, double rateBps)
{
    const auto atNs = static_cast<int64_t>(at * SECOND_NS);
    const auto rate = static_cast<uint64_t>(rateBps);
    return {{2 * link, atNs, rate}, {2 * link + 1, atNs, rate}};
}

/// @return several lists in the order of their times
std::vector<RateChange>
Merge(const std::vector<std::vector<RateChange>>& lists)
{
    std::vector<RateChange> all;
    for (const auto& list : lists)
    {
        all.insert(all.end(), list.begin(), list.end());
    }
    std::stable_sort(all.begin(), all.end(), [](const RateChange& x, const RateChange& y) {
        return x.atNs < y.atNs;
    });
    return all;
}

/// @return what keeps a server from sending and receiving until it is ready, in seconds
std::vector<RateChange>
MakeLate(const Topology& topology, NodeId server, double ready)
{
    std::vector<std::vector<RateChange>> lists;
    for (const Topology::Port& port : topology.GetPorts(server))
    {
        const LinkId link = GetLinkId(port.out);
        lists.push_back(ChangeLink(link, 0, 0));
        lists.push_back(ChangeLink(link, ready, topology.GetLink(link).rateBps));
    }
    return Merge(lists);
}

/// @return servers around a switch, over links of RATE_BPS and a delay; link i is that of server i
Topology
MakeStarOf(uint32_t nServers, int64_t delayNs)
{
    std::vector<Link> links;
    for (NodeId server = 0; server < nServers; ++server)
    {
        Link link;
        link.a = server;
        link.b = nServers;
        link.rateBps = RATE_BPS;
        link.delayNs = delayNs;
        links.push_back(link);
    }
    return Topology("star", nServers, 1, links);
}

/// @return networks of several families, and such as nobody would build
std::vector<Topology>
ListNetworks()
{
    std::vector<Topology> networks;
    for (const std::string spec :
         {"bcube:4,1", "dcell:3,1", "torus:3x3", "fattree:4", "jellyfish:10,3,2"})
    {
        networks.push_back(ParseTopology(spec));
    }
    for (uint64_t seed = 1; seed <= 40; ++seed)
    {
        networks.push_back(DrawNetwork(seed, 12));
    }
    return networks;
}

/// Without a change, and with changes that come too late, it is the ideal, to the last bit.
class NoChangeTestCase : public TestCase
{
  public:
    NoChangeTestCase()
        : TestCase("without changes it is the ideal")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : ListNetworks())
        {
            const uint32_t n = topology.GetNServers();
            Check(topology, Collective({0}), 100'000'000);
            Check(topology, Collective({0}), 1);
            for (const CollectiveKind kind : {CollectiveKind::ALL_REDUCE,
                                              CollectiveKind::REDUCE_SCATTER,
                                              CollectiveKind::ALL_GATHER,
                                              CollectiveKind::BROADCAST,
                                              CollectiveKind::REDUCE})
            {
                Group group{kind, {}, 0};
                for (NodeId server = 0; server < n; server += 1 + (n > 3))
                {
                    group.servers.push_back(server);
                }
                if (group.servers.size() > 1)
                {
                    Check(topology, MakeCollective({group}, n, 2, true), 1'000'003);
                }
            }
        }
    }

    void Check(const Topology& topology, const Collective& collective, uint64_t bytes)
    {
        const IdealTime expected = ComputeIdealTime(topology, collective, bytes);
        const auto late = ChangeLink(0, 2 * expected.seconds + 1e-6, 1);
        for (const auto& changes : {std::vector<RateChange>{}, late})
        {
            const IdealTime known = ComputeKnownIdealTime(topology, collective, bytes, changes);
            NS_TEST_EXPECT_MSG_EQ(known.seconds, expected.seconds, topology.GetName());
            NS_TEST_EXPECT_MSG_EQ(known.bandwidth, expected.bandwidth, topology.GetName());
            NS_TEST_EXPECT_MSG_EQ(known.latency, expected.latency, topology.GetName());
            if (changes.empty())
            {
                NS_TEST_EXPECT_MSG_EQ(known.GetReason(), expected.GetReason(), topology.GetName());
            }
        }
    }
};

/// What is slow from the beginning on is a slow network.
class SlowFirstTestCase : public TestCase
{
  public:
    SlowFirstTestCase()
        : TestCase("links that are slow from the beginning on")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (const Topology& topology : ListNetworks())
        {
            std::vector<Link> links = topology.GetLinks();
            std::vector<RateChange> changes;
            for (uint32_t i = 0; i < 2; ++i)
            {
                const LinkId link = Draw(random, links.size());
                links[link].rateBps /= 2 + Draw(random, 20);
                for (const RateChange& change : ChangeLink(link, 0, links[link].rateBps))
                {
                    changes.push_back(change);
                }
            }
            const Topology slow = topology.WithLinks(topology.GetName(), links);
            const IdealTime expected = ComputeIdealTime(slow, {0}, 10'000'000);
            const IdealTime known = ComputeKnownIdealTime(topology, {0}, 10'000'000, changes);
            NS_TEST_EXPECT_MSG_EQ(known.seconds, expected.seconds, topology.GetName());
            NS_TEST_EXPECT_MSG_EQ(known.GetReason(), expected.GetReason(), topology.GetName());
        }
    }
};

/// Where it can be told by hand: two servers, and servers around a switch.
class ByHandTestCase : public TestCase
{
  public:
    ByHandTestCase()
        : TestCase("changes on a pair and on stars")
    {
    }

  private:
    void Check(const Topology& topology,
               const std::vector<RateChange>& changes,
               double expected,
               const std::string& what)
    {
        const IdealTime known = ComputeKnownIdealTime(topology, {0}, SECOND_OF_BYTES, changes);
        NS_TEST_EXPECT_MSG_EQ_TOL(known.seconds, expected, 1e-9, topology.GetName() << " " << what);
    }

    void DoRun() override
    {
        CheckPair();
        CheckStar();
        CheckDirections();
        for (const uint32_t n : {8, 16, 32, 64})
        {
            CheckLate(n);
        }
    }

    /// All data once in each direction, and the way of the last byte.
    void CheckPair()
    {
        constexpr double DELAY = 3e-6;
        Link link;
        link.b = 1;
        link.rateBps = RATE_BPS;
        link.delayNs = 3000;
        const Topology pair("pair", 2, 0, {link});
        const auto slower = ChangeLink(0, 0.5, RATE_BPS / 4);
        const auto recovers = Merge({slower, ChangeLink(0, 1.5, RATE_BPS)});
        const auto fails = Merge({ChangeLink(0, 0.5, 0), ChangeLink(0, 1.5, RATE_BPS)});
        Check(pair, slower, 0.5 + 0.5 * 4 + DELAY, "slower from half of the time on");
        Check(pair, {slower[1]}, 2.5 + DELAY, "slower in one direction");
        Check(pair, recovers, 1.5 + 0.25 + DELAY, "a quarter in a second");
        Check(pair, {recovers[0], recovers[2]}, 1.75 + DELAY, "likewise in one direction");
        Check(pair, fails, 2 + DELAY, "nothing for a second");
        Check(pair, {fails[0], fails[2]}, 2 + DELAY, "nothing in one direction");
        Check(pair, ChangeLink(0, 0.5, 2.0 * RATE_BPS), 0.75 + DELAY, "faster");
        Check(pair, ChangeLink(0, -1, RATE_BPS / 4), 4 + DELAY, "slow before the beginning");
        Check(pair, MakeLate(pair, 1, 5), 6 + DELAY, "a late server");
    }

    /// Of n ports, each passes 2 (n-1) / n of the data; if one is slow, the others pass more, and
    /// it passes all of the data once.
    void CheckStar()
    {
        constexpr double DELAY = 2e-6;
        const Topology star = MakeStarOf(4, 1000);
        const auto half = ChangeLink(0, 0.6, RATE_BPS / 2);
        const auto tenth = ChangeLink(0, 0.6, RATE_BPS / 10);
        Check(star, half, (6 - 0.6 + 0.6 / 2) / 3.5 + DELAY, "all ports, one with less");
        // Its first bits come after two delays, so half of these is lost to the time of full rate.
        Check(star, tenth, 0.6 + (0.4 + DELAY / 2) * 10 + DELAY / 2, "the slow port");
        const auto recovers = Merge({tenth, ChangeLink(0, 1.6, RATE_BPS)});
        Check(star, recovers, 1.6 + 0.3 + DELAY, "the slow port, which recovers");
        // Here ports count until the last byte leaves a server, or from the first that arrives on.
        const auto early = Merge({tenth, ChangeLink(0, 0.9, RATE_BPS)});
        const double seconds = (6 + 0.9 * 0.3) / 4;
        const IdealTime known = ComputeKnownIdealTime(star, {0}, SECOND_OF_BYTES, early);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(known.seconds, seconds, "all ports");
        NS_TEST_EXPECT_MSG_LT(known.seconds, seconds + DELAY + 1e-9, "and at most the delay");
        NS_TEST_EXPECT_MSG_EQ(known.GetReason().find("the ports of all servers"), 0, "the reason");
    }

    /// Where directions differ, each must carry what it must.
    void CheckDirections()
    {
        constexpr double DELAY = 2e-6;
        const Topology star = MakeStarOf(4, 1000);
        const uint64_t slow = RATE_BPS / 10 * 8;
        const std::vector<RateChange> in{{1, 0, slow}, {3, 0, slow}};
        const std::vector<RateChange> out{{0, 0, slow}, {2, 0, slow}};
        Check(star, in, 6 / 3.6 + DELAY, "all that is received, over two slow ports");
        Check(star, out, 6 / 3.6 + DELAY, "all that is sent, over two slow ports");
        std::vector<Link> links = star.GetLinks();
        links[2].b = links[3].b = 5;
        links.push_back(links[0]);
        links.back().a = 4;
        links.back().b = 5;
        const Topology racks("racks", 4, 2, links);
        for (const DirectedLinkId direction : {8, 9})
        {
            const std::vector<RateChange> changes{{direction, 0, RATE_BPS / 4}};
            Check(racks, changes, 4 + DELAY, "the way out of a rack");
            NS_TEST_EXPECT_MSG_EQ(
                ComputeKnownIdealTime(racks, {0}, SECOND_OF_BYTES, changes).GetReason(),
                "servers 0, 1, link 4-5 of 5 Gb/s",
                "with the mean of both directions");
        }
    }

    /// The others cannot do without a server that is late, and it has to pass all of the data.
    void CheckLate(uint32_t n)
    {
        constexpr double DELAY = 2e-6;
        const Topology star = MakeStarOf(n, 1000);
        Check(star, MakeLate(star, 3, 2), 2 + 1 + DELAY, "later than the others take");
        const double expected = (2.0 * (n - 1) + 0.5) / n; // of all ports, half a second is missing
        const IdealTime known =
            ComputeKnownIdealTime(star, {0}, SECOND_OF_BYTES, MakeLate(star, 3, 0.5));
        NS_TEST_EXPECT_MSG_EQ_TOL(known.seconds, expected, DELAY, "a bit late, " << n);
    }
};

/// What cannot be, and what never ends.
class NeverTestCase : public TestCase
{
  public:
    NeverTestCase()
        : TestCase("changes that are wrong, and links that are lost for ever")
    {
    }

  private:
    std::string GetErrorOf(const std::vector<RateChange>& changes)
    {
        const Topology star = MakeStarOf(4, 1000);
        return GetError([&] { ComputeKnownIdealTime(star, {0}, SECOND_OF_BYTES, changes); });
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(GetErrorOf({{8, 0, 1}}),
                              "star: the rate of directed link 8 changes, expected less than 8",
                              "links");
        NS_TEST_EXPECT_MSG_EQ(GetErrorOf({{0, 5, 1}, {1, 4, 1}}),
                              "star: a rate changes at 4 ns after one at 5 ns, expected ascending "
                              "times",
                              "times");
        NS_TEST_EXPECT_MSG_EQ(GetErrorOf({{1, 0, Link::MAX_RATE_BPS + 1}}),
                              "star: directed link 1 gets a rate of 1000000000000000001 bit/s, "
                              "expected at most 1000000000000000000",
                              "rates");
        const std::string expected =
            "star: server 2, link 2-4 of 8 Gb/s: after all changes of rates too little gets "
            "through, for ever, for 1000000000 bytes; expected links that last longer or come back";
        NS_TEST_EXPECT_MSG_EQ(GetErrorOf(ChangeLink(2, 0.5, 0)), expected, "for ever");
        NS_TEST_EXPECT_MSG_EQ(GetErrorOf({{4, SECOND_NS / 2, 0}}), expected, "in one direction");
        NS_TEST_EXPECT_MSG_EQ(GetErrorOf(ChangeLink(2, 1.75, 0)), "", "it was there long enough");
    }
};

/// @return changes of some links, in both directions or one, and perhaps a late server
std::vector<RateChange>
DrawChanges(const Topology& topology, TestRandom& random, double horizon, bool inBothDirections)
{
    std::vector<std::vector<RateChange>> lists;
    const uint32_t nLinks = 1 + Draw(random, 4);
    for (uint32_t i = 0; i < nLinks; ++i)
    {
        const LinkId link = Draw(random, topology.GetNLinks());
        const double rate = topology.GetLink(link).rateBps;
        const bool isInBoth = inBothDirections || Draw(random, 2) == 0;
        const uint32_t direction = Draw(random, 2);
        const uint32_t nTimes = 1 + Draw(random, 4);
        for (uint32_t j = 0; j <= nTimes; ++j)
        {
            const double factor = std::vector<double>{0, 0.05, 0.3, 0.5, 1, 2}[Draw(random, 6)];
            const double at = j == nTimes ? 2 * horizon : horizon * Draw(random, 1000) / 500;
            const auto both = ChangeLink(link, at, rate * (j == nTimes ? 0.5 : factor));
            lists.push_back(isInBoth ? both : std::vector<RateChange>{both[direction]});
        }
    }
    if (Draw(random, 4) == 0)
    {
        const NodeId server = Draw(random, topology.GetNServers());
        lists.push_back(MakeLate(topology, server, horizon * Draw(random, 1000) / 500));
    }
    return Merge(lists);
}

/// What has more capacity at some time is not slower.
class MonotoneTestCase : public TestCase
{
  public:
    /// @param inBothDirections whether both directions of a link always have the same rate
    MonotoneTestCase(bool inBothDirections)
        : TestCase(std::string("more capacity never makes it longer, ") +
                   (inBothDirections ? "in both directions" : "in one direction")),
          m_inBothDirections(inBothDirections)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 10'000'000;
        TestRandom random(1);
        uint32_t nShorter = 0;
        for (uint64_t seed = 1; seed <= 150; ++seed)
        {
            const Topology topology = DrawNetwork(seed, 10);
            const double horizon = ComputeIdealTime(topology, {0}, BYTES).seconds;
            auto changes = DrawChanges(topology, random, horizon, m_inBothDirections);
            double last = ComputeKnownIdealTime(topology, {0}, BYTES, changes).seconds;
            for (uint32_t i = 0; i < 6; ++i)
            {
                const RateChange chosen = changes[Draw(random, changes.size())];
                const uint64_t more = topology.GetLinkOf(chosen.link).rateBps / 5;
                for (RateChange& change : changes)
                {
                    const bool isSame = m_inBothDirections
                                            ? GetLinkId(change.link) == GetLinkId(chosen.link)
                                            : change.link == chosen.link;
                    change.rateBps += isSame && change.atNs == chosen.atNs ? more : 0;
                }
                const double next = ComputeKnownIdealTime(topology, {0}, BYTES, changes).seconds;
                NS_TEST_EXPECT_MSG_LT_OR_EQ(next, last * (1 + 1e-9), topology.GetName() << seed);
                nShorter += next < last * (1 - 1e-9);
                last = next;
            }
        }
        NS_TEST_EXPECT_MSG_GT(nShorter, 80, "changes matter");
    }

    const bool m_inBothDirections; //!< whether both directions always have the same rate
};

/// No other sides are harder to leave: all partitions of few servers are tried.
class SidesToLeaveTestCase : public TestCase
{
  public:
    SidesToLeaveTestCase()
        : TestCase("sides that are hardest to leave, by trying all")
    {
    }

  private:
    using Widths = std::vector<uint64_t>;

    void DoRun() override
    {
        TestRandom random(1);
        for (uint32_t i = 0; i < 200; ++i)
        {
            const Topology topology = MakeRandomNetwork(random, {5, 3, 1});
            Widths widths;
            for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
            {
                widths.push_back(1 + Draw(random, 9));
            }
            CheckNarrowest(topology, widths);
            CheckAll(topology, widths);
        }
    }

    /// @return what leaves some nodes
    static uint64_t SumLeaving(const Topology& topology,
                               const Widths& widths,
                               const std::function<bool(NodeId)>& isInside)
    {
        uint64_t sum = 0;
        for (DirectedLinkId link = 0; link < widths.size(); ++link)
        {
            const bool isLeaving =
                isInside(topology.GetSource(link)) && !isInside(topology.GetTarget(link));
            sum += isLeaving ? widths[link] : 0;
        }
        return sum;
    }

    /// @return the least that leaves some servers, with any switches @param servers as bits
    static uint64_t FindLeast(const Topology& topology, const Widths& widths, uint32_t servers)
    {
        uint64_t least = UINT64_MAX;
        for (uint32_t switches = 0; switches < 1U << topology.GetNSwitches(); ++switches)
        {
            const uint32_t nodes = servers | switches << topology.GetNServers();
            least = std::min(least, SumLeaving(topology, widths, [&](NodeId node) {
                                 return nodes >> node & 1;
                             }));
        }
        return least;
    }

    void CheckNarrowest(const Topology& topology, const Widths& widths)
    {
        uint64_t least = UINT64_MAX;
        for (uint32_t servers = 1; servers + 1 < 1U << topology.GetNServers(); ++servers)
        {
            least = std::min(least, FindLeast(topology, widths, servers));
        }
        const std::vector<bool> side = FindNarrowestSide(topology, widths);
        NS_TEST_EXPECT_MSG_EQ(SumLeaving(topology, widths, [&](NodeId node) { return side[node]; }),
                              least,
                              "one side");
    }

    void CheckAll(const Topology& topology, const Widths& widths)
    {
        const auto sides = FindSidesToLeave(topology, widths);
        uint64_t found = 0;
        for (const std::vector<bool>& side : sides)
        {
            found += SumLeaving(topology, widths, [&](NodeId node) { return side[node]; });
        }
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            NS_TEST_EXPECT_MSG_EQ(std::count_if(sides.begin(),
                                                sides.end(),
                                                [&](const auto& side) { return side[server]; }),
                                  1,
                                  "each server is on a side");
        }
        TryPartitions(topology, widths, {}, 0, [&](uint64_t sum, uint64_t nParts) {
            NS_TEST_EXPECT_MSG_GT_OR_EQ((sides.size() - 1) * sum,
                                        (nParts - 1) * found,
                                        "another partition proves more");
        });
    }

    /// Try all partitions that begin with some. @param parts as bits @param next server
    void TryPartitions(const Topology& topology,
                       const Widths& widths,
                       std::vector<uint32_t> parts,
                       NodeId next,
                       const std::function<void(uint64_t, uint64_t)>& call)
    {
        if (next == topology.GetNServers())
        {
            uint64_t sum = 0;
            for (const uint32_t part : parts)
            {
                sum += FindLeast(topology, widths, part);
            }
            call(sum, parts.size());
            return;
        }
        for (std::size_t i = 0; i < parts.size(); ++i)
        {
            parts[i] |= 1U << next;
            TryPartitions(topology, widths, parts, next + 1, call);
            parts[i] ^= 1U << next;
        }
        parts.push_back(1U << next);
        TryPartitions(topology, widths, parts, next + 1, call);
    }
};

/// Plays rounds of a plan as fluids: each workload gets the same share of its links for all of a
/// round, however fast they are, and uses each of them as much later as its delay is.
class FluidPlayer
{
  public:
    FluidPlayer(const Topology& topology, const std::vector<RateChange>& changes)
        : m_topology(topology),
          m_changes(changes)
    {
    }

    /// @return when the last round is over, in seconds
    double Play(const std::vector<WorkloadList>& rounds, uint32_t nChunks, uint64_t bytes) const
    {
        double now = 0;
        for (const WorkloadList& round : rounds)
        {
            std::vector<uint32_t> nUsers(m_topology.GetNDirectedLinks(), 0);
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                ForEachLink(m_topology, round.Get(i).path, [&](DirectedLinkId link) {
                    ++nUsers[link];
                });
            }
            double end = now;
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const auto links = FindLinks(m_topology, round.Get(i).path);
                const double bits = 8.0 * GetChunkBytes(bytes, nChunks, round.Get(i).chunk);
                end = std::max(end, FindArrival(links, nUsers, now, bits));
            }
            now = end;
        }
        return now;
    }

  private:
    double GetRate(DirectedLinkId link, double at) const
    {
        double rate = m_topology.GetLinkOf(link).rateBps;
        for (const RateChange& change : m_changes)
        {
            rate = change.link == link && 1e-9 * change.atNs <= at ? change.rateBps : rate;
        }
        return rate;
    }

    double FindArrival(const std::vector<DirectedLinkId>& links,
                       const std::vector<uint32_t>& nUsers,
                       double now,
                       double bits) const
    {
        std::vector<double> delays; // until a bit gets to a link
        double delay = 0;
        std::vector<double> times{now}; // at which the rate may change
        for (const DirectedLinkId link : links)
        {
            for (const RateChange& change : m_changes)
            {
                if (change.link == link && 1e-9 * change.atNs - delay > now)
                {
                    times.push_back(1e-9 * change.atNs - delay);
                }
            }
            delays.push_back(delay);
            delay += 1e-9 * m_topology.GetLinkOf(link).delayNs;
        }
        std::sort(times.begin(), times.end());
        for (std::size_t i = 0;; ++i)
        {
            double rate = Link::MAX_RATE_BPS;
            for (std::size_t hop = 0; hop < links.size(); ++hop)
            {
                const double at = times[i] + delays[hop] + 1e-10; // just after a change
                rate = std::min(rate, GetRate(links[hop], at) / nUsers[links[hop]]);
            }
            if (i + 1 == times.size() || rate * (times[i + 1] - times[i]) >= bits)
            {
                return times[i] + bits / rate + delay;
            }
            bits -= rate * (times[i + 1] - times[i]);
        }
    }

    const Topology& m_topology;
    const std::vector<RateChange>& m_changes; //!< of rates
};

/// Plans that are played on networks whose rates change are not faster.
class PlayedTestCase : public TestCase
{
  public:
    PlayedTestCase()
        : TestCase("no plan that is played on random networks is faster")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        uint32_t nClose = 0;
        for (uint64_t seed = 1; seed <= 100; ++seed)
        {
            const Topology topology = DrawNetwork(seed, 6);
            const uint64_t bytes = Draw(random, 5) == 0 ? 1'000 : 10'000'000;
            const double horizon = ComputeIdealTime(topology, {0}, bytes).seconds;
            const auto changes = DrawChanges(topology, random, horizon, Draw(random, 2) == 0);
            const IdealTime known = ComputeKnownIdealTime(topology, {0}, bytes, changes);
            const double played = PlayBest(topology, changes, bytes);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(known.seconds,
                                        played * (1 + 1e-9),
                                        topology.GetName()
                                            << " seed " << seed << ": " << known.GetReason());
            nClose += played < 1.25 * known.seconds;
        }
        NS_TEST_EXPECT_MSG_GT(nClose, 15, "some plans that know of no change come near");
    }

    double PlayBest(const Topology& topology,
                    const std::vector<RateChange>& changes,
                    uint64_t bytes) const
    {
        double best = std::numeric_limits<double>::infinity();
        for (const std::string name : {"greedy", "forest"})
        {
            for (const uint32_t chunksPerServer : {1, 4, 16})
            {
                const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
                const auto plan = Plan(*CreateScheduler(name), AllReduceState(topology, roots));
                const FluidPlayer player(topology, changes);
                best = std::min(best, player.Play(plan.rounds, roots.size(), bytes));
            }
        }
        return best;
    }
};

/// The suite.
class KnownIdealTestSuite : public TestSuite
{
  public:
    KnownIdealTestSuite()
        : TestSuite("allreduce-known-ideal", TestSuite::Type::UNIT)
    {
        AddTestCase(new NoChangeTestCase);
        AddTestCase(new SlowFirstTestCase);
        AddTestCase(new ByHandTestCase);
        AddTestCase(new NeverTestCase);
        AddTestCase(new MonotoneTestCase(true));
        AddTestCase(new MonotoneTestCase(false));
        AddTestCase(new SidesToLeaveTestCase);
        AddTestCase(new PlayedTestCase);
    }
};

KnownIdealTestSuite g_knownIdealTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
