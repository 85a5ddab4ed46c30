/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "evaluation-networks.h"

#include "ns3/allreduce-topology.h"
#include "ns3/link-prices.h"
#include "ns3/price-checker.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return prices of 0 to most
std::vector<uint64_t>
DrawPrices(const Topology& topology, TestRandom& random, uint32_t most)
{
    std::vector<uint64_t> prices;
    for (LinkId link = 0; link < topology.GetNLinks(); ++link)
    {
        prices.push_back(Draw(random, most + 1));
    }
    return prices;
}

/// @return the price of the cheapest spanning tree, by shortest paths between all nodes and Prim
uint64_t
PriceTree(const Topology& topology, const std::vector<uint64_t>& prices)
{
    const uint32_t n = topology.GetNNodes();
    const uint32_t nServers = topology.GetNServers();
    std::vector<std::vector<uint64_t>> distance(n, std::vector<uint64_t>(n, UINT32_MAX));
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        const Link& link = topology.GetLink(id);
        distance[link.a][link.b] = distance[link.b][link.a] = prices[id];
    }
    for (NodeId k = nServers; k < n; ++k) // no path leads through a server
    {
        for (NodeId i = 0; i < n; ++i)
        {
            for (NodeId j = 0; j < n; ++j)
            {
                distance[i][j] = std::min(distance[i][j], distance[i][k] + distance[k][j]);
            }
        }
    }
    std::vector<uint64_t> nearest = distance[0];
    std::vector<bool> isIn(nServers, false);
    isIn[0] = true;
    uint64_t sum = 0;
    for (uint32_t i = 1; i < nServers; ++i)
    {
        NodeId next = 0;
        for (NodeId server = 0; server < nServers; ++server)
        {
            next = !isIn[server] && (isIn[next] || nearest[server] < nearest[next]) ? server : next;
        }
        isIn[next] = true;
        sum += nearest[next];
        for (NodeId server = 0; server < nServers; ++server)
        {
            nearest[server] = std::min(nearest[server], distance[next][server]);
        }
    }
    return sum;
}

/// @return the sum of capacity * price
uint64_t
PriceCapacities(const Topology& topology, const std::vector<uint64_t>& prices)
{
    uint64_t sum = 0;
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        sum += prices[id] * topology.GetLink(id).capacity;
    }
    return sum;
}

/// @return by set of servers (a bit mask): the least cut, over all places of the switches
std::vector<uint64_t>
ComputeAllCuts(const Topology& topology)
{
    std::vector<uint64_t> cuts(1 << topology.GetNServers(), UINT64_MAX);
    for (uint32_t side = 0; side < 1U << topology.GetNNodes(); ++side)
    {
        uint64_t capacity = 0;
        for (const Link& link : topology.GetLinks())
        {
            capacity += (side >> link.a & 1) != (side >> link.b & 1) ? link.capacity : 0;
        }
        uint64_t& cut = cuts[side & (cuts.size() - 1)];
        cut = std::min(cut, capacity);
    }
    return cuts;
}

/// The prices that are found are the best there are.
class BestPricesTestCase : public TestCase
{
  public:
    BestPricesTestCase()
        : TestCase("No partition and no other prices prove more than those that are found")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(2);
        uint32_t nBetweenCutAndPorts = 0;
        for (uint32_t i = 0; i < 400; ++i)
        {
            const Topology topology = MakeRandomNetwork(random, {7, 5, i % 2 ? 1U : 5U});
            const PriceBound bound = FindLinkPrices(topology);
            CheckProof(topology, bound);
            CheckPartitions(topology, bound);
            CheckOtherPrices(topology, bound, random);
            const std::size_t nParts = bound.parts.size();
            nBetweenCutAndPorts += nParts > 2 && nParts < topology.GetNServers();
        }
        NS_TEST_ASSERT_MSG_GT(nBetweenCutAndPorts, 20, "too few networks that need other parts");
        CheckRates();
    }

    void CheckProof(const Topology& topology, const PriceBound& bound)
    {
        NS_TEST_ASSERT_MSG_EQ(bound.treePrice, PriceTree(topology, bound.prices), "tree");
        NS_TEST_ASSERT_MSG_EQ(bound.widthPrice, PriceCapacities(topology, bound.prices), "widths");
    }

    /// The best of all partitions, as a fraction.
    void CheckPartitions(const Topology& topology, const PriceBound& bound)
    {
        const std::vector<uint64_t> cuts = ComputeAllCuts(topology);
        uint64_t above = 0;
        uint64_t below = 1;
        std::function<void(uint32_t, uint64_t, uint64_t)> divide =
            [&](uint32_t left, uint64_t nParts, uint64_t sum) {
                if (left == 0)
                {
                    if (nParts > 1 && 2 * (nParts - 1) * below > above * sum)
                    {
                        above = 2 * (nParts - 1);
                        below = sum;
                    }
                    return;
                }
                const uint32_t first = left & -left;
                const uint32_t others = left ^ first;
                for (uint32_t more = others;; more = (more - 1) & others)
                {
                    divide(others ^ more, nParts + 1, sum + cuts[first | more]);
                    if (more == 0)
                    {
                        break;
                    }
                }
            };
        divide(cuts.size() - 1, 0, 0);
        NS_TEST_ASSERT_MSG_EQ(bound.treePrice * below, bound.widthPrice * above, "the best parts");
    }

    void CheckOtherPrices(const Topology& topology, const PriceBound& bound, TestRandom& random)
    {
        for (uint32_t i = 0; i < 20; ++i)
        {
            std::vector<uint64_t> prices = DrawPrices(topology, random, 1 + i % 4);
            for (LinkId link = 0; i % 2 && link < prices.size(); ++link)
            {
                prices[link] = Draw(random, 4) > 0 ? 2 * bound.prices[link] : prices[link];
            }
            NS_TEST_ASSERT_MSG_LT_OR_EQ(PriceTree(topology, prices) * bound.widthPrice,
                                        PriceCapacities(topology, prices) * bound.treePrice,
                                        "prices that prove more");
        }
    }

    /// Rates of any size for widths, with and without a common divisor.
    void CheckRates()
    {
        const Topology topology = MixCapacity(ParseTopology("bcube:3,1"), 0.3, 1);
        const PriceBound expected = FindLinkPrices(topology);
        for (const uint64_t unit : {uint64_t{1}, uint64_t{999'999'937}, uint64_t{1} << 56})
        {
            std::vector<uint64_t> rates;
            for (const Link& link : topology.GetLinks())
            {
                rates.push_back(unit * link.capacity);
            }
            const PriceBound bound = FindLinkPrices(topology, rates);
            NS_TEST_ASSERT_MSG_EQ(bound.treePrice, expected.treePrice, "unit " << unit);
            NS_TEST_ASSERT_MSG_EQ(bound.widthPrice, unit * expected.widthPrice, "unit " << unit);
        }
        const std::vector<uint64_t> tooWide(topology.GetNLinks(), UINT64_MAX / 2);
        const std::string message = GetError([&] { FindLinkPrices(topology, tooWide); });
        NS_TEST_ASSERT_MSG_EQ(Contains(message, "widths of links exceed 2^64"), true, message);
    }
};

/**
 * Packs spanning trees of the servers into a network, one after another: what the best link prices
 * are the other side of. Each tree is the cheapest under prices that grow exponentially with the
 * load of the links, so the loads even out. With K trees the most loaded link carries a little more
 * than K / lambda times its capacity, the least that FindLinkPrices proves.
 */
class TreePacking
{
  public:
    explicit TreePacking(const Topology& topology)
        : m_topology(topology),
          m_loads(topology.GetNLinks(), 0)
    {
    }

    /// Pack one more tree: it grows from server 0, always by the nearest server over switches.
    void Add()
    {
        const std::vector<double> prices = ComputePrices();
        std::vector<double> best(m_topology.GetNNodes(), HUGE_VAL);
        std::vector<DirectedLinkId> last(m_topology.GetNNodes());
        using Visit = std::pair<double, NodeId>;
        std::priority_queue<Visit, std::vector<Visit>, std::greater<>> heap;
        for (heap.emplace(0, 0); !heap.empty();)
        {
            const auto [price, node] = heap.top();
            heap.pop();
            if (price > best[node])
            {
                continue;
            }
            if (m_topology.IsServer(node))
            {
                Join(node, last);
                best[node] = 0;
            }
            for (const Topology::Port& port : m_topology.GetPorts(node))
            {
                const double there = best[node] + prices[port.out / 2];
                if (there < best[port.neighbor])
                {
                    heap.emplace(there, port.neighbor);
                    best[port.neighbor] = there;
                    last[port.neighbor] = port.out;
                }
            }
        }
    }

    /// @return the largest load of a link over its capacity: rounds that the trees take
    double GetRounds() const
    {
        double rounds = 0;
        for (LinkId link = 0; link < m_loads.size(); ++link)
        {
            rounds = std::max(rounds, m_loads[link] / m_topology.GetLink(link).capacity);
        }
        return rounds;
    }

  private:
    /// Load the path from the tree to a server, unless the server is the first.
    void Join(NodeId server, const std::vector<DirectedLinkId>& last)
    {
        for (NodeId node = server; node != 0 && (node == server || !m_topology.IsServer(node));)
        {
            ++m_loads[last[node] / 2];
            node = m_topology.GetSource(last[node]);
        }
    }

    std::vector<double> ComputePrices() const
    {
        constexpr double SHARPNESS = 3; // a round more costs e^3 times as much
        constexpr double LEAST = 1e-9;  // so that paths are short
        const double most = GetRounds();
        std::vector<double> prices;
        for (LinkId link = 0; link < m_loads.size(); ++link)
        {
            const double capacity = m_topology.GetLink(link).capacity;
            const double excess = m_loads[link] / capacity - most;
            prices.push_back(LEAST + std::exp(SHARPNESS * excess) / capacity);
        }
        return prices;
    }

    const Topology& m_topology;
    std::vector<double> m_loads; //!< by link: how many edges of trees lead over it
};

/// Prices and packed trees are two sides of one optimum.
class TreePackingTestCase : public TestCase
{
  public:
    TreePackingTestCase()
        : TestCase("Trees can be packed within 0.5 % of what prices prove, on 120 changed networks")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto& cases : {MakeDegradedCases(1), MakeMixedCases(1)})
        {
            for (const EvaluationCase& changed : cases)
            {
                Check(changed.topology);
            }
        }
    }

    void Check(const Topology& topology)
    {
        const uint32_t nTrees = 200 * topology.GetNServers();
        TreePacking packing(topology);
        for (uint32_t i = 0; i < nTrees; ++i)
        {
            packing.Add();
        }
        const PriceBound bound = FindLinkPrices(topology);
        const double least = static_cast<double>(nTrees) * bound.treePrice / bound.widthPrice;
        NS_TEST_EXPECT_MSG_GT_OR_EQ(packing.GetRounds(), least * (1 - 1e-9), topology.GetName());
        NS_TEST_EXPECT_MSG_LT_OR_EQ(packing.GetRounds(), least * 1.005, topology.GetName());
    }
};

/// Proofs that have been changed: those that claim too much are refused, the others are not.
class PriceCheckerTestCase : public TestCase
{
  public:
    PriceCheckerTestCase()
        : TestCase("The checker refuses 1,000 changed proofs that claim too much")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(3);
        uint32_t nRefused = 0;
        uint32_t nAccepted = 0;
        while (nRefused < 1000)
        {
            const Topology topology = MakeRandomNetwork(random, {9, 6, 3});
            const PriceClaim claim = MakeClaim(topology, 1 + Draw(random, 50));
            NS_TEST_ASSERT_MSG_EQ(FindFlaw(topology, claim), "", "a true claim");
            for (uint32_t i = 0; i < 10; ++i)
            {
                const PriceClaim changed = Change(claim, random);
                const bool isTrue = IsTrue(topology, changed);
                const std::string flaw = FindFlaw(topology, changed);
                NS_TEST_ASSERT_MSG_EQ(flaw.empty(), isTrue, topology.GetName() << flaw);
                (isTrue ? nAccepted : nRefused) += 1;
            }
        }
        NS_TEST_ASSERT_MSG_GT(nAccepted, 100, "too few changes that leave a proof");
        CheckMessages();
        CheckLargeNumbers();
    }

    PriceClaim MakeClaim(const Topology& topology, uint64_t nChunks)
    {
        const PriceBound bound = FindLinkPrices(topology);
        return {nChunks,
                bound.prices,
                bound.treePrice,
                bound.widthPrice,
                (nChunks * bound.treePrice + bound.widthPrice - 1) / bound.widthPrice};
    }

    PriceClaim Change(PriceClaim claim, TestRandom& random)
    {
        auto change = [&](uint64_t& number) {
            const uint64_t step = 1 + Draw(random, 2);
            number = Draw(random, 2) ? number + step : number - std::min(number, step);
        };
        switch (Draw(random, 5))
        {
        case 0:
            change(claim.treePrice);
            break;
        case 1:
            change(claim.widthPrice);
            break;
        case 2:
            change(claim.rounds);
            break;
        case 3:
            change(claim.nChunks);
            break;
        default:
            change(claim.prices[Draw(random, claim.prices.size())]);
        }
        return claim;
    }

    /// What the claim says, by brute force.
    bool IsTrue(const Topology& topology, const PriceClaim& claim)
    {
        return claim.treePrice <= PriceTree(topology, claim.prices) &&
               claim.widthPrice >= PriceCapacities(topology, claim.prices) &&
               (claim.rounds == 0 ||
                (claim.rounds - 1) * claim.widthPrice < claim.nChunks * claim.treePrice);
    }

    void CheckMessages()
    {
        const Topology pair("pair", 2, 0, {{0, 1, 2}});
        const PriceClaim claim{4, {1}, 1, 2, 2};
        CheckFlaw(pair, {4, {}, 1, 2, 2}, "pair: 0 prices, expected one for each of 1 links");
        CheckFlaw(pair, {4, {1}, 2, 2, 2}, "pair: a spanning tree costs 1, expected 2 or more");
        CheckFlaw(pair, {4, {1}, 1, 1, 2}, "pair: capacities times prices are 2, expected 1");
        CheckFlaw(pair, {4, {1}, 1, 2, 3}, "pair: the prices do not prove 3 rounds");
        CheckFlaw(pair, {4, {0}, 0, 0, 1}, "pair: the prices do not prove 1 rounds");
        CheckFlaw(Topology("apart", 2, 0, {}),
                  {4, {}, 0, 0, 0},
                  "apart: no tree joins all servers");
    }

    /// Sums of prices of 64 bits do not wrap around to something that fits.
    void CheckLargeNumbers()
    {
        const uint64_t half = uint64_t{1} << 63;
        const Topology path("path", 3, 0, {{0, 1, 2}, {1, 2, 2}});
        CheckFlaw(path,
                  {1, {half, half}, half, 0, 1},
                  "capacities times prices are more than 2^64");
        CheckFlaw(path, {1, {half, half}, half, UINT64_MAX, 1}, "are more than 2^64");
        const Topology thin("thin", 2, 0, {{0, 1}});
        NS_TEST_ASSERT_MSG_EQ(FindFlaw(thin, {UINT64_MAX, {half}, half, half, UINT64_MAX}), "", "");
    }

    void CheckFlaw(const Topology& topology, const PriceClaim& claim, const std::string& part)
    {
        const std::string flaw = FindFlaw(topology, claim);
        NS_TEST_ASSERT_MSG_EQ(Contains(flaw, part), true, flaw);
    }
};

/// @ingroup allreduce-tests
class LinkPricesTestSuite : public TestSuite
{
  public:
    LinkPricesTestSuite()
        : TestSuite("allreduce-link-prices", TestSuite::Type::UNIT)
    {
        AddTestCase(new BestPricesTestCase);
        AddTestCase(new TreePackingTestCase, EXTENSIVE);
        AddTestCase(new PriceCheckerTestCase);
    }
};

LinkPricesTestSuite g_linkPricesTestSuite; //!< registers the suite

} // namespace
