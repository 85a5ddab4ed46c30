/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forest-scheduler.h"

#include "forest-packing.h"
#include "forest-timetable.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/chunk-needs.h"
#include "ns3/plan-search.h"
#include "ns3/planned-scheduler.h"
#include "ns3/random-source.h"
#include "ns3/remainder-planner.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Other lags are tried until so many workloads have been placed: about a second.
constexpr std::size_t MOST_WORK_OF_LAGS = 4'000'000;
/// The share of planning that growing trees takes, roughly.
constexpr double SHARE_OF_TREES = 0.5;
/// Remainders of more servers times links times chunks take minutes.
constexpr uint64_t MOST_WORK_OF_REMAINDER = uint64_t{1} << 31;
/// Lags of first timetables, the one that is best in the mean first.
constexpr uint32_t LAGS[] = {4, 8, 2, 32};

/**
 * @param roots the root of each chunk
 * @param seed another seed gives another order
 * @return the chunks, such that all servers' first ones come before anybody's second one
 */
std::vector<ChunkId>
OrderChunks(const std::vector<NodeId>& roots, uint64_t seed)
{
    const NodeId nServers = *std::max_element(roots.begin(), roots.end()) + 1;
    PlannerRandom random(seed);
    std::vector<uint64_t> tie(nServers);
    std::generate(tie.begin(), tie.end(), random);
    std::vector<uint32_t> nBefore(nServers, 0);
    std::vector<uint32_t> turn(roots.size());
    std::transform(roots.begin(), roots.end(), turn.begin(), [&](NodeId root) {
        return nBefore[root]++;
    });
    std::vector<ChunkId> order(roots.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](ChunkId x, ChunkId y) {
        return std::make_tuple(turn[x], tie[roots[x]], x) <
               std::make_tuple(turn[y], tie[roots[y]], y);
    });
    return order;
}

/// @return the network without links that are down
Topology
KeepLinksUp(const AllReduceState& state)
{
    const Topology& topology = state.GetTopology();
    std::vector<Link> links;
    for (LinkId link = 0; link < topology.GetNLinks(); ++link)
    {
        if (state.IsLinkUp(link))
        {
            links.push_back(topology.GetLink(link));
        }
    }
    return {topology.GetName(), topology.GetNServers(), topology.GetNSwitches(), std::move(links)};
}

/// @return what is left, as if it were a collective: who holds partial sums contributes, who lacks
/// the sum receives
Collective
MakeRemainder(const AllReduceState& state)
{
    const ChunkNeeds needs(state);
    Collective left(state.GetRoots());
    const auto addSet = [&](const BitMatrix& servers, ChunkId chunk) {
        left.sets.emplace_back();
        for (NodeId server = 0; server < state.GetTopology().GetNServers(); ++server)
        {
            if (server == left.roots[chunk] || servers.Test(server, chunk))
            {
                left.sets.back().push_back(server);
            }
        }
        return left.sets.size() - 1;
    };
    for (ChunkId chunk = 0; chunk < left.GetNChunks(); ++chunk)
    {
        left.contributors.push_back(addSet(needs.gives, chunk));
        left.receivers.push_back(addSet(needs.lacksSum, chunk));
    }
    return left;
}

/// @return whether the remainder can be planned within about half a minute
bool
IsQuickToPlan(const AllReduceState& state)
{
    const Topology& topology = state.GetTopology();
    return uint64_t{topology.GetNServers()} * topology.GetNLinks() * state.GetNChunks() <=
           MOST_WORK_OF_REMAINDER;
}

/// Keeps the shortest of many timetables.
class ShortestTimetable
{
  public:
    ShortestTimetable(const Topology& topology, const Collective& collective)
        : m_topology(topology),
          m_collective(collective)
    {
    }

    /// Make timetables of a forest. @param order of the chunks @param progress told which
    void TryLags(const std::vector<ChunkId>& order,
                 const Forest& forest,
                 const PlanningProgress& progress)
    {
        std::size_t work = 0;
        m_matching = 0;
        for (const uint32_t lag : LAGS)
        {
            if (work > MOST_WORK_OF_LAGS)
            {
                break;
            }
            progress.Show("timetable with lag " + std::to_string(lag), SHARE_OF_TREES);
            work += Offer({m_topology, m_collective, order, forest, lag});
        }
    }

    /// Shorten somebody else's plan. @param plan the plan @param holders see Forest
    void TryPlan(const std::vector<WorkloadList>& plan, const std::vector<uint32_t>& holders)
    {
        m_matching = 0;
        Offer({m_topology, m_collective, plan, holders});
    }

    std::vector<WorkloadList> MakeRounds() const
    {
        return m_best->MakeRounds();
    }

  private:
    /// Shorten a timetable as it is, and with its links matched.
    /// @return how many workloads were placed
    std::size_t Offer(ForestTimetable timetable)
    {
        std::size_t work = 0;
        if (timetable.IsQuickToMatch() && m_matching < ForestTimetable::MOST_MATCHING)
        {
            ForestTimetable matched = timetable;
            m_matching += matched.MatchLinks(ForestTimetable::MOST_MATCHING - m_matching);
            work += Keep(matched);
        }
        return work + Keep(timetable);
    }

    /// @return how many workloads were placed to shorten it
    std::size_t Keep(ForestTimetable& timetable)
    {
        const std::size_t work = timetable.Shorten();
        if (!m_best || timetable.GetNRounds() < m_best->GetNRounds())
        {
            m_best.emplace(std::move(timetable));
        }
        return work;
    }

    const Topology& m_topology;
    const Collective& m_collective;        //!< what is to be summed where
    uint64_t m_matching{0};                //!< work of MatchLinks for this forest
    std::optional<ForestTimetable> m_best; //!< the shortest so far
};

} // namespace

std::vector<WorkloadList>
PlanForest(const Topology& topology,
           const Collective& collective,
           uint64_t seed,
           uint32_t nSamples,
           const PlanningProgress& progress)
{
    std::vector<LinkLoads> packings{LinkLoads::BOTH_WAYS};
    if (collective.contributors != collective.receivers)
    {
        packings.push_back(LinkLoads::AS_USED);
    }
    ShortestTimetable shortest(topology, collective);
    for (uint32_t sample = 0; sample < nSamples; ++sample)
    {
        const std::vector<ChunkId> order = OrderChunks(collective.roots, seed + sample);
        const PlanningProgress ofSample = progress.GetPart("forest", sample, nSamples);
        for (std::size_t i = 0; i < packings.size(); ++i)
        {
            const PlanningProgress part = ofSample.GetPart("packing", i, packings.size());
            const PlanningProgress ofTrees = part.GetPart(0, SHARE_OF_TREES);
            shortest.TryLags(order,
                             PackForest(topology, collective, order, ofTrees, packings[i]),
                             part);
        }
    }
    return shortest.MakeRounds();
}

std::vector<WorkloadList>
PlanRemainderByForest(const AllReduceState& state,
                      uint64_t seed,
                      uint32_t nSamples,
                      const PlanningProgress& progress)
{
    if (state.IsDone())
    {
        return {};
    }
    const Topology topology = KeepLinksUp(state);
    const Collective collective = MakeRemainder(state);
    ShortestTimetable shortest(topology, collective);
    for (uint32_t sample = 0; sample < nSamples; ++sample)
    {
        const std::vector<ChunkId> order = OrderChunks(collective.roots, seed + sample);
        const PlanningProgress part = progress.GetPart("forest", sample, nSamples);
        const PlanningProgress ofTrees = part.GetPart(0, SHARE_OF_TREES);
        const Forest forest = PackRemainder(topology, state, order, ofTrees);
        shortest.TryLags(order, forest, part);
        shortest.TryPlan(PlanRemainderGreedily(state, seed + sample, 1), forest.holders);
    }
    return shortest.MakeRounds();
}

/**
 * @ingroup allreduce
 *
 * @brief Packs a flow-tree for each chunk into the network, and lets reduce and broadcast of all of
 * them overlap.
 *
 * What a link must carry for all chunks together is balanced first (PackForest), then when
 * (ForestTimetable). It needs no learning, and plans for thousands of servers. Where links differ
 * or are missing it is far ahead of plans whose broadcasts wait for the last reduce.
 */
class ForestScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::allreduce::ForestScheduler")
                .SetParent<PlannedScheduler>()
                .SetGroupName("AllReduce")
                .AddConstructor<ForestScheduler>()
                .AddAttribute("Samples",
                              "Of so many forests the one with the shortest plan is "
                              "taken.",
                              UintegerValue(1),
                              MakeUintegerAccessor(&ForestScheduler::m_samples),
                              MakeUintegerChecker<uint32_t>(1))
                .AddAttribute("SearchEffort",
                              "The plan is shortened by a search that looks at so many "
                              "places for workloads, fewer if the plan is large: "
                              "60,000,000 take about a second. What is left after a "
                              "link broke is not searched.",
                              UintegerValue(0),
                              MakeUintegerAccessor(&ForestScheduler::m_searchEffort),
                              MakeUintegerChecker<uint64_t>(0, MOST_SEARCH_EFFORT));
        return tid;
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        const Topology& topology = state.GetTopology();
        const Collective& collective = state.GetCollective();
        const double shareOfForest = m_searchEffort == 0 ? 1 : 0.5;
        std::vector<WorkloadList> plan = PlanForest(topology,
                                                    collective,
                                                    GetSeed(),
                                                    m_samples,
                                                    GetProgress().GetPart(0, shareOfForest));
        if (m_searchEffort == 0 || !collective.IsOfAll())
        {
            return plan;
        }
        const uint32_t bound = ComputeLowerBounds(topology, collective).GetBest().rounds;
        return ShortenBySearch(topology,
                               collective.roots,
                               std::move(plan),
                               bound,
                               m_searchEffort,
                               GetSeed(),
                               GetProgress().GetPart(shareOfForest, 1));
    }

    std::vector<WorkloadList> PlanRest(const AllReduceState& state) override
    {
        if (!IsQuickToPlan(state))
        {
            HandOver("greedy");
            return PlanRemainderGreedily(state, GetSeed(), m_samples, GetProgress());
        }
        return PlanRemainderByForest(state, GetSeed(), m_samples, GetProgress());
    }

    bool PlansGroups() const override
    {
        return true;
    }

    uint32_t m_samples{1};      //!< the attribute Samples
    uint64_t m_searchEffort{0}; //!< the attribute SearchEffort
};

NS_OBJECT_ENSURE_REGISTERED(ForestScheduler);

} // namespace ns3::allreduce
