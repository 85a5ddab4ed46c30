/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-units.h"
#include "ns3/link-capacities.h"
#include "ns3/test.h"
#include "ns3/topology-generators.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <cmath>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Capacities follow from rates.
class CapacityTestCase : public TestCase
{
  public:
    CapacityTestCase()
        : TestCase("Capacities follow from rates, and lose as little as 16 parts allow")
    {
    }

  private:
    using Numbers = std::vector<uint64_t>; //!< rates or capacities, by link

    static constexpr uint64_t GIGABIT = 1'000'000'000;
    static constexpr uint32_t MOST_PARTS = 16;

    void DoRun() override
    {
        ExpectDerived({10, 10, 10}, {1, 1, 1});
        ExpectDerived({25, 100}, {1, 4});
        ExpectDerived({10, 25, 100}, {2, 5, 20});
        ExpectDerived({100, 10, 25}, {20, 2, 5});
        ExpectDerived({1, 10, 25, 40, 100, 400}, {1, 10, 25, 40, 100, 400});
        ExpectDerived({19, 20}, {1, 1});
        ExpectDerived({18, 20}, {9, 10});
        ExpectDerived({1, 100'000}, {1, 65535});
        ExpectDerived({}, {});
        for (const std::string& spec : GetTopologyExamples())
        {
            const Topology topology = ParseTopology(spec);
            for (const Link& link : topology.GetLinks())
            {
                NS_TEST_ASSERT_MSG_EQ(link.capacity, 1, spec);
            }
        }
        TestRandom random(7);
        for (uint32_t i = 0; i < 2000; ++i)
        {
            CheckRules(DrawRates(random));
        }
        CheckRules({1, Link::MAX_RATE_BPS});
        CheckRules({Link::MAX_RATE_BPS - 1, Link::MAX_RATE_BPS});
        CheckCheck();
        CheckRoughRates();
        CheckRounding();
    }

    /// @return links in a line @param rates in bit/s
    std::vector<Link> MakeLinks(const Numbers& rates)
    {
        std::vector<Link> links;
        for (NodeId node = 0; node < rates.size(); ++node)
        {
            links.push_back({node, node + 1, 1, rates[node]});
        }
        return links;
    }

    Numbers GetCapacities(const std::vector<Link>& links)
    {
        Numbers capacities;
        for (const Link& link : links)
        {
            capacities.push_back(link.capacity);
        }
        return capacities;
    }

    void ExpectDerived(Numbers gigabits, const Numbers& capacities)
    {
        for (uint64_t& rate : gigabits)
        {
            rate *= GIGABIT;
        }
        std::vector<Link> links = MakeLinks(gigabits);
        DeriveCapacities(links);
        NS_TEST_ASSERT_MSG_EQ((GetCapacities(links) == capacities),
                              true,
                              "capacities of " << gigabits.size() << " links");
    }

    /// @return rates of networks as they are sold, or any rates
    Numbers DrawRates(TestRandom& random)
    {
        const Numbers sold = {1, 10, 25, 40, 50, 100, 200, 400, 800};
        const bool areSold = Draw(random, 2) == 0;
        const uint32_t most = 1 + Draw(random, 1'000'000);
        Numbers rates;
        for (uint32_t i = 1 + Draw(random, 6); i > 0; --i)
        {
            rates.push_back(areSold ? GIGABIT * sold[Draw(random, sold.size())]
                                    : 1 + Draw(random, most));
        }
        return rates;
    }

    /// @return the largest share of a rate that is lost if the slowest link carries k unit flows
    static long double ComputeLoss(const Numbers& rates, uint32_t k)
    {
        const long double unit =
            *std::min_element(rates.begin(), rates.end()) / static_cast<long double>(k);
        long double loss = 0;
        for (const uint64_t rate : rates)
        {
            // A hair, so that what fits exactly is not rounded away.
            const long double flows = std::min(65535.0L, std::floor(rate / unit + 1e-12L));
            loss = std::max(loss, 1 - flows * unit / rate);
        }
        return loss;
    }

    void CheckRules(const Numbers& rates)
    {
        std::vector<Link> links = MakeLinks(rates);
        DeriveCapacities(links);
        std::ostringstream what;
        for (const Link& link : links)
        {
            what << link.rateBps << " bit/s: " << link.capacity << ", ";
        }
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { CheckCapacities(links, "derived"); }), "", what.str());
        const std::size_t slowest = std::min_element(rates.begin(), rates.end()) - rates.begin();
        const uint32_t k = links[slowest].capacity;
        NS_TEST_ASSERT_MSG_EQ((k >= 1 && k <= MOST_PARTS), true, what.str());
        const long double loss = ComputeLoss(rates, k);
        const long double hair = 1e-9L;
        for (uint32_t other = 1; other <= MOST_PARTS; ++other)
        {
            const long double otherLoss = ComputeLoss(rates, other);
            if (other < k)
            {
                NS_TEST_ASSERT_MSG_GT(otherLoss, 0.05L - hair, what.str() << other << " parts do");
                NS_TEST_ASSERT_MSG_GT(otherLoss, loss - hair, what.str() << other << " parts");
            }
            if (loss > 0.05L + hair)
            {
                NS_TEST_ASSERT_MSG_GT(otherLoss, loss - hair, what.str() << other << " parts");
            }
        }
        const CapacityRounding rounding =
            ComputeCapacityRounding(Topology("line", rates.size() + 1, 0, links));
        NS_TEST_ASSERT_MSG_EQ_TOL(rounding.worstLoss,
                                  static_cast<double>(loss),
                                  1e-9,
                                  what.str() << "reported loss");
    }

    void CheckCheck()
    {
        const auto check = [this](const Numbers& capacities) {
            std::vector<Link> links = MakeLinks({10 * GIGABIT, 25 * GIGABIT, 100 * GIGABIT});
            for (LinkId id = 0; id < links.size(); ++id)
            {
                links[id].capacity = capacities[id];
            }
            return GetError([&] { CheckCapacities(links, "here"); });
        };
        NS_TEST_ASSERT_MSG_EQ(check({1, 2, 10}), "", "unit flows of 10 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(check({2, 5, 20}), "", "unit flows of 5 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(check({1, 1, 1}),
                              "here: link 1-2: capacity 1 at 25Gbps contradicts link 0-1, capacity "
                              "1 at 10Gbps: with unit flows of 10Gbps expected capacity 2, or "
                              "leave the capacities out",
                              "one capacity for all");
        NS_TEST_ASSERT_MSG_EQ(Contains(check({1, 3, 10}), "link 0-1: capacity 1 at 10Gbps"),
                              false,
                              "3 unit flows of 8.33 Gb/s leave room for 1 at 10 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(Contains(check({1, 3, 10}), "link 2-3: capacity 10 at 100Gbps"),
                              true,
                              "but for 12 at 100 Gb/s");
    }

    void CheckRoughRates()
    {
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(1e10), "10Gbps", "whole");
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(2.5e9), "2.5Gbps", "a fraction");
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(1e10 / 3), "3.33333Gbps", "six digits");
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(0.5), "0.5bps", "less than the smallest unit");
    }

    void CheckRounding()
    {
        std::vector<Link> links = MakeLinks({10 * GIGABIT, 25 * GIGABIT, 100 * GIGABIT});
        links[1].capacity = 2;
        links[2].capacity = 10;
        const CapacityRounding rounding = ComputeCapacityRounding(Topology("line", 4, 0, links));
        NS_TEST_ASSERT_MSG_EQ(rounding.unitRateBps, 1e10, "unit rate");
        NS_TEST_ASSERT_MSG_EQ(rounding.worstLoss, 0.2, "5 of 25 Gb/s are lost");
        NS_TEST_ASSERT_MSG_EQ(rounding.worstLink, 1, "the link that loses them");
        const CapacityRounding none = ComputeCapacityRounding(MakeBCube(4, 1));
        NS_TEST_ASSERT_MSG_EQ(none.worstLoss, 0, "equal links lose nothing");
        NS_TEST_ASSERT_MSG_EQ(none.unitRateBps, 1e10, "and carry one unit flow");
    }
};

/// @ingroup allreduce-tests
/// @brief How many unit flows a link carries, given its rate.
class LinkCapacitiesTestSuite : public TestSuite
{
  public:
    LinkCapacitiesTestSuite()
        : TestSuite("allreduce-link-capacities", TestSuite::Type::UNIT)
    {
        AddTestCase(new CapacityTestCase);
    }
};

LinkCapacitiesTestSuite g_linkCapacitiesTestSuite; //!< registers the suite

} // namespace
