/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "hrl-planner.h"

#include "planning-limits.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/forest-scheduler.h"
#include "ns3/forest-timetable.h"
#include "ns3/plan-middle.h"
#include "ns3/plan-search.h"
#include "ns3/remainder-planner.h"
#include "ns3/ring-order.h"
#include "ns3/topology-metrics.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Other middles are tried until so many transfers have been planned: less than a second.
constexpr std::size_t MOST_TRANSFERS_OF_MIDDLES = 20'000;
/// Likewise, where plans can be at the bound and mostly are at the first try.
constexpr std::size_t MOST_TRANSFERS_BARE = 500'000;

/// Choosing round by round is rehearsed so often at most, and only for so many transfers in all.
constexpr uint32_t MOST_REHEARSALS = 16;
constexpr std::size_t MOST_TRANSFERS_REHEARSED = 60'000;

/// Rings are tried where servers have one port, and up to so many transfers.
constexpr std::size_t MOST_TRANSFERS_RING = 15'000;

/// Plans one AllReduce from several middles.
class MiddlePlanner
{
  public:
    MiddlePlanner(const Topology& topology,
                  const std::vector<NodeId>& roots,
                  const PolicyWeights& weights,
                  const RolloutOptions& options,
                  const LowerBounds& bounds)
        : m_topology(topology),
          m_roots(roots),
          m_weights(weights),
          m_options(options),
          m_mode(options.mode),
          m_prices(bounds.prices),
          m_bound(bounds.GetBest().rounds)
    {
    }

    /// Plan from a middle, hoping for so many rounds, and keep the plan if it is shorter.
    void Try(PlanMiddle middle, uint32_t nRounds, uint64_t seed, const PlanningProgress& progress)
    {
        m_options.seed = seed;
        m_options.progress = progress.GetPart(0, middle.isSymmetric ? 1 : 0.5);
        std::vector<PlanningState::Departure> departures;
        const std::vector<WorkloadList> second = PlanHalf(middle, nRounds, &departures);
        std::vector<WorkloadList> plan;
        if (middle.isSymmetric)
        {
            plan = JoinHalves(second, second, middle.partners);
        }
        else
        {
            for (const auto& [server, chunk] : departures)
            {
                middle.parents[chunk][server] = NO_SERVER;
            }
            m_options.progress = progress.GetPart(0.5, 1);
            const std::vector<ChunkId> none(m_roots.size(), NO_CHUNK);
            plan = JoinHalves(PlanHalf(Mirror(middle), nRounds, nullptr), second, none);
        }
        Keep(std::move(plan));
    }

    /// Try plans that are not the policies', where that is quick.
    void TryForestAndRings(uint64_t seed, const PlanningProgress& progress)
    {
        const std::size_t nTransfers = m_roots.size() * m_topology.GetNServers();
        if (nTransfers <= MOST_TRANSFERS_FOREST && IsWorthwhile(m_bound))
        {
            const uint32_t nForests =
                std::clamp<std::size_t>(MOST_TRANSFERS_FORESTS / nTransfers, 1, MOST_FORESTS);
            Keep(PlanForest(m_topology, m_roots, seed, nForests, progress));
        }
        const bool hasRing = nTransfers <= MOST_TRANSFERS_RING && ComputeMeanPorts(m_topology) == 1;
        for (const bool isAware : {true, false})
        {
            if (hasRing && IsWorthwhile(m_bound))
            {
                const Ring ring = isAware ? FindRing(m_topology, seed) : ListServers(m_topology);
                KeepAsItIs(PlanRing(AllReduceState(m_topology, m_roots), ring));
            }
        }
    }

    /// Choose less strictly from now on, in every other try. @param i the number of the try
    void Loosen(uint32_t i)
    {
        m_options.mode = i % 2 == 1 && m_mode == RolloutMode::BEST ? RolloutMode::SAMPLE : m_mode;
        m_options.temperature = m_mode == RolloutMode::BEST ? LOOSE : m_options.temperature;
    }

    /// @param nEndings how many endings are tried for each half
    void SetEndings(uint32_t nEndings)
    {
        m_nEndings = nEndings;
    }

    /// @return whether there is no plan yet that is as short @param nRounds rounds
    bool IsWorthwhile(uint32_t nRounds) const
    {
        return m_best.empty() || m_best.size() > nRounds;
    }

    /// @return rounds that a half takes at least @param middle where it begins
    uint32_t CountRoundsNeeded(const PlanMiddle& middle) const
    {
        const PlanningProblem problem = MakeHalf(m_topology, m_roots, middle, 0, m_prices);
        return PlanningEnvironment(problem).GetState().CountRoundsNeeded();
    }

    std::vector<WorkloadList>& GetBest()
    {
        return m_best;
    }

    /// Keep a plan if it is shorter. @param plan the plan
    void KeepAsItIs(std::vector<WorkloadList> plan)
    {
        if (IsWorthwhile(plan.size()))
        {
            m_best = std::move(plan);
        }
    }

    /// Push a plan together, and keep it if it is shorter. @param plan the plan
    void Keep(std::vector<WorkloadList> plan)
    {
        if (plan.size() > m_bound)
        {
            ForestTimetable timetable(m_topology, m_roots, plan);
            if (timetable.IsQuickToMatch())
            {
                timetable.MatchLinks();
            }
            timetable.Shorten(m_bound);
            if (timetable.GetNRounds() < plan.size())
            {
                plan = timetable.MakeRounds();
            }
        }
        KeepAsItIs(std::move(plan));
    }

  private:
    /// @param [out] departures servers that left cores; if null, none may
    std::vector<WorkloadList> PlanHalf(const PlanMiddle& middle,
                                       uint32_t nRounds,
                                       std::vector<PlanningState::Departure>* departures) const
    {
        PlanningProblem problem =
            MakeHalf(m_topology, m_roots, middle, (nRounds + 1) / 2, m_prices);
        problem.mayCoresShrink = departures && !middle.isSymmetric;
        if (m_nEndings > 1)
        {
            return RunRolloutWithEndings(problem, m_weights, m_options, m_nEndings);
        }
        PlanningEnvironment environment(problem);
        std::vector<WorkloadList> rounds = RunRollout(environment, m_weights, m_options);
        if (departures)
        {
            *departures = environment.GetState().departures;
        }
        return rounds;
    }

    const Topology& m_topology;
    const std::vector<NodeId>& m_roots; //!< by chunk
    const PolicyWeights& m_weights;
    RolloutOptions m_options;
    const RolloutMode m_mode;         //!< how to choose at first
    uint32_t m_nEndings{1};           //!< tried for each half
    const PriceBound& m_prices;       //!< of the network
    const uint32_t m_bound;           //!< no plan has fewer rounds
    std::vector<WorkloadList> m_best; //!< the shortest plan so far
};

} // namespace

std::vector<WorkloadList>
PlanFromMiddle(const Topology& topology,
               const std::vector<NodeId>& roots,
               const PolicyWeights& weights,
               const RolloutOptions& options,
               uint32_t nMiddles,
               uint64_t searchEffort)
{
    const LowerBounds bounds = ComputeLowerBounds(topology, roots);
    const uint32_t bound = bounds.GetBest().rounds;
    MiddlePlanner planner(topology, roots, weights, options, bounds);
    const PlanMiddle bare = MakeBareMiddle(topology, roots);
    const uint32_t leastOfBare = 2 * planner.CountRoundsNeeded(bare);
    // Where halves that do not overlap can be as short as any plan, that is easiest; ties are then
    // broken in other ways instead of trying other middles.
    const bool isBareEnough = nMiddles == 0 || leastOfBare <= bound;
    const std::size_t nTransfers = roots.size() * topology.GetNServers();
    const uint32_t nTries = std::clamp<std::size_t>(
        (isBareEnough ? MOST_TRANSFERS_BARE : MOST_TRANSFERS_OF_MIDDLES) / nTransfers,
        1,
        std::max(1U, nMiddles));
    if (isBareEnough && nMiddles > 1)
    {
        planner.SetEndings(std::min(MOST_ENDINGS, nTries + 1));
    }
    const bool hasForest = nTransfers <= MOST_TRANSFERS_FOREST;
    const uint32_t nSteps = nTries + !isBareEnough + hasForest;
    const double shareOfTries = GetSearchEffort(2 * nTransfers, searchEffort) > 0 ? 0.5 : 1;
    const PlanningProgress progress = options.progress.GetPart(0, shareOfTries);
    for (uint32_t i = 0; i < nTries && planner.IsWorthwhile(bound); ++i)
    {
        // Longer plans have smaller cores, which are easier to serve: try all lengths that are
        // shorter than the best plan, in large steps first.
        const uint32_t nLengths = i == 0 ? 1 : planner.GetBest().size() - bound;
        if (isBareEnough)
        {
            planner.Loosen(i);
        }
        const uint32_t nRounds = isBareEnough ? bound : bound + i * (1 + bound / 24) % nLengths;
        planner.Try(isBareEnough ? bare : ChooseMiddle(topology, roots, nRounds, options.seed + i),
                    nRounds,
                    options.seed + i,
                    progress.GetPart("try", i, nSteps));
    }
    if (!isBareEnough && planner.IsWorthwhile(leastOfBare))
    {
        planner.Try(bare, leastOfBare, options.seed, progress.GetPart("try", nTries, nSteps));
    }
    planner.TryForestAndRings(options.seed, progress.GetPart("try", nSteps - 1, nSteps));
    return ShortenBySearch(topology,
                           roots,
                           std::move(planner.GetBest()),
                           bound,
                           searchEffort,
                           options.seed,
                           options.progress.GetPart(shareOfTries, 1));
}

std::vector<WorkloadList>
PlanRemainderByPolicies(const AllReduceState& state,
                        const PolicyWeights& weights,
                        const RolloutOptions& options)
{
    const auto plan = [&](const PlanningProblem& problem) {
        PlanningEnvironment environment(problem);
        return RunRollout(environment, weights, options);
    };
    std::vector<WorkloadList> mirrored =
        PlanByMirroring(state, [&](const BroadcastProblem& broadcast) {
            return plan(MakeBroadcast(broadcast));
        });
    if (!state.GetCollective().IsOfAll())
    {
        return mirrored;
    }
    std::vector<WorkloadList> forwards = plan(MakeForward(state, MakeOutline(state, mirrored)));
    return forwards.size() < mirrored.size() ? forwards : mirrored;
}

WorkloadList
ChooseRound(const AllReduceState& state,
            const PlanOutline& outline,
            const PolicyWeights& weights,
            RolloutOptions options)
{
    const PlanningProblem problem = MakeForward(state, outline);
    PlanningEnvironment environment(problem);
    options.seed += state.GetRound(); // ties are broken in other ways in each round
    return RunRound(environment, weights, options);
}

std::vector<WorkloadList>
ChooseAllRounds(AllReduceState state,
                const PlanOutline& outline,
                const PolicyWeights& weights,
                const RolloutOptions& options)
{
    std::vector<WorkloadList> rounds;
    while (!state.IsDone())
    {
        rounds.push_back(ChooseRound(state, outline, weights, options));
        for (std::size_t i = 0; i < rounds.back().GetSize(); ++i)
        {
            state.Start(rounds.back().Get(i));
        }
        state.EndRound();
    }
    return rounds;
}

RolloutOptions
Rehearse(const AllReduceState& state,
         const PlanOutline& outline,
         const PolicyWeights& weights,
         const RolloutOptions& options)
{
    const std::size_t nTransfers = state.GetNChunks() * state.GetTopology().GetNServers();
    const uint32_t nTries =
        std::clamp<std::size_t>(MOST_TRANSFERS_REHEARSED / nTransfers, 1, MOST_REHEARSALS);
    const std::size_t enough = outline.nRounds - state.GetRound();
    RolloutOptions best = options;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (uint32_t i = 0; i < nTries && nTries > 1 && fewest > enough; ++i)
    {
        RolloutOptions other = options;
        other.seed += std::size_t{i} * outline.nRounds; // each round has a seed of its own
        other.upper = i % 2 == 1 ? UpperMode::ALL : options.upper;
        const std::size_t nRounds = ChooseAllRounds(state, outline, weights, other).size();
        if (nRounds < fewest)
        {
            fewest = nRounds;
            best = other;
        }
    }
    return best;
}

} // namespace ns3::allreduce
