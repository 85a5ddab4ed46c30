/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "gadget-policy.h"

#include "ns3/log.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceGadgetPolicy");

namespace
{

/// How many rings the network may refuse in a slot before gaps are no longer filled.
constexpr uint32_t MOST_REFUSALS = 64;

} // namespace

uint32_t
GainCurve::GetWidth(std::size_t i) const
{
    return corners[i].workers - (i == 0 ? 0 : corners[i - 1].workers);
}

double
GainCurve::GetDensity(std::size_t i) const
{
    return (corners[i].gain - (i == 0 ? 0 : corners[i - 1].gain)) / GetWidth(i);
}

GainCurve
MakeGainCurve(const JobState& state,
              const JobUtility& utility,
              uint32_t limit,
              const MoveCharge& charge)
{
    const double cost = utility.GetWorkerSlotCost(state);
    const auto getGain = [&](uint32_t workers, uint32_t rate) {
        const uint32_t progress = std::min(rate, state.GetRemaining());
        const double price = cost * workers * state.GetBusyPart(rate);
        const double before = state.iterations;
        return utility.GetGain(state, before, before + progress) - price;
    };
    const auto& rates = charge.isCharged ? state.movedRates : state.rates;
    GainCurve curve;
    auto& corners = curve.corners;
    uint32_t lastRate = 0;
    for (uint32_t workers = 1; workers <= std::min(limit, state.job->maxWorkers); ++workers)
    {
        const bool isStaying = charge.isCharged && workers == charge.nWorkersNow;
        if (rates[workers] <= lastRate && !isStaying)
        {
            continue; // More workers that are not faster are never a corner.
        }
        lastRate = std::max(lastRate, rates[workers]);
        double gain = getGain(workers, rates[workers]);
        if (isStaying)
        {
            const double staying = getGain(workers, state.rates[workers]);
            const double loss = staying - std::clamp(gain, 0.0, std::max(0.0, staying));
            gain = staying + MoveCharge::HYSTERESIS * std::max(0.0, loss);
        }
        corners.push_back({workers, gain});
        // Corners whose step is not better than the next one lie under the hull.
        while (corners.size() > 1 &&
               curve.GetDensity(corners.size() - 1) >= curve.GetDensity(corners.size() - 2))
        {
            corners.erase(corners.end() - 2);
        }
    }
    while (!corners.empty() && curve.GetDensity(corners.size() - 1) <= 0)
    {
        corners.pop_back();
    }
    return curve;
}

void
GadgetPolicy::AddJob(JobId job)
{
    ClusterPolicy::AddJob(job);
    m_candidates.resize(std::max<std::size_t>(m_candidates.size(), job + 1));
    m_candidates[job] = {};
    m_candidates[job].curve =
        MakeGainCurve(GetState(job), *m_world.utility, m_world.placement->GetNGpus());
    m_candidates[job].isKnown = true;
    if (!m_candidates[job].curve.corners.empty())
    {
        m_candidates[job].firstDensity = m_candidates[job].curve.GetDensity(0);
        m_waiting.push({m_candidates[job].firstDensity, job});
    }
}

std::optional<double>
GadgetPolicy::GetSlotBound() const
{
    return m_bound;
}

void
GadgetPolicy::Allocate(uint32_t slot)
{
    NS_LOG_FUNCTION(this << slot);
    m_isCharged = false;
    m_hasRefused = false;
    FindBound();
    if (m_world.cluster->moveSeconds > 0)
    {
        ReturnAll();
        m_isCharged = true;
        m_refusal.reset();
        TakeSteps(m_world.placement->GetNGpus());
    }
    PreferSingleRing();
    EmbedRings();
    FillGaps();
    ReturnAll();
}

/// Takes steps as if moves were free: nobody gains more than that.
void
GadgetPolicy::FindBound()
{
    m_refusal.reset();
    m_bound = 0;
    TakeSteps(m_world.placement->GetNGpus());
    if (!m_refusal)
    {
        m_bound = GetGain();
    }
}

GainCurve
GadgetPolicy::MakeCurve(JobId job, uint32_t limit) const
{
    const JobState& state = GetState(job);
    const bool isCharged = m_isCharged && state.workerSlots > 0;
    return MakeGainCurve(state,
                         *m_world.utility,
                         limit,
                         {isCharged, m_candidates[job].nWorkersNow});
}

/// Moves a job from those whose steps are known by a bound to those whose steps are known.
void
GadgetPolicy::OfferCharged(JobId job)
{
    Candidate& candidate = m_candidates[job];
    const RingEmbedding* ring = m_world.placement->Find(job);
    candidate.nWorkersNow = ring ? ring->GetNWorkers() : 0;
    candidate.curve = MakeCurve(job, m_world.placement->GetNGpus());
    candidate.isKnown = false;
    m_touched.push_back(job);
    OfferNext(job);
}

/// @return the job whose next step is best, which is taken out of its heap
std::optional<JobId>
GadgetPolicy::PopBest()
{
    // With its hysteresis a step is better than if moves were free, but not more than so.
    const double factor = m_isCharged ? 1 + MoveCharge::HYSTERESIS : 1;
    while (!m_waiting.empty() || !m_next.empty())
    {
        const bool isNext =
            m_waiting.empty() || (!m_next.empty() && Step{factor * m_waiting.top().density,
                                                          m_waiting.top().job} < m_next.top());
        auto& heap = isNext ? m_next : m_waiting;
        const JobId job = heap.top().job;
        heap.pop();
        if (isNext)
        {
            return job;
        }
        if (m_isCharged)
        {
            OfferCharged(job);
            continue;
        }
        Candidate& candidate = m_candidates[job];
        const JobState& state = GetState(job);
        if (candidate.isKnown && candidate.iterations == state.iterations)
        {
            m_touched.push_back(job);
            return job;
        }
        candidate.curve = MakeGainCurve(state, *m_world.utility, m_world.placement->GetNGpus());
        candidate.isKnown = true;
        candidate.iterations = state.iterations;
        // A job without a step that gains something never has one again: it is not put back.
        if (!candidate.curve.corners.empty())
        {
            candidate.firstDensity = candidate.curve.GetDensity(0);
            m_waiting.push({candidate.firstDensity, job});
        }
    }
    return std::nullopt;
}

/// Lets rings grow, best steps first, until the GPUs are given away.
void
GadgetPolicy::TakeSteps(uint32_t budget)
{
    while (budget > 0)
    {
        const auto job = PopBest();
        if (!job)
        {
            return;
        }
        Candidate& candidate = m_candidates[*job];
        const uint32_t width = candidate.curve.GetWidth(candidate.nTaken);
        if (width > budget)
        {
            NoteRefusal(*job, budget);
            OfferLess(*job, budget);
            continue;
        }
        budget -= width;
        ++candidate.nTaken;
        OfferNext(*job);
    }
}

void
GadgetPolicy::NoteRefusal(JobId job, uint32_t budget)
{
    if (!m_refusal)
    {
        const Candidate& candidate = m_candidates[job];
        const auto& corner = candidate.curve.corners[candidate.nTaken];
        m_bound = GetGain() + budget * candidate.curve.GetDensity(candidate.nTaken);
        m_refusal = {job, corner.workers, corner.gain};
    }
}

/// Finds the steps of a job among fewer workers than its next corner has.
void
GadgetPolicy::OfferLess(JobId job, uint32_t budget)
{
    Candidate& candidate = m_candidates[job];
    auto& corners = candidate.curve.corners;
    const uint32_t present = candidate.nTaken == 0 ? 0 : corners[candidate.nTaken - 1].workers;
    const GainCurve less = MakeCurve(job, present + budget);
    corners.resize(candidate.nTaken);
    std::copy_if(less.corners.begin(),
                 less.corners.end(),
                 std::back_inserter(corners),
                 [present](const GainCurve::Corner& corner) { return corner.workers > present; });
    candidate.isKnown = false;
    OfferNext(job);
}

void
GadgetPolicy::OfferNext(JobId job)
{
    const Candidate& candidate = m_candidates[job];
    if (candidate.nTaken < candidate.curve.corners.size())
    {
        m_next.push({candidate.curve.GetDensity(candidate.nTaken), job});
    }
}

double
GadgetPolicy::GetGain() const
{
    double gain = 0;
    for (const JobId job : m_touched)
    {
        const Candidate& candidate = m_candidates[job];
        gain += candidate.nTaken == 0 ? 0 : candidate.curve.corners[candidate.nTaken - 1].gain;
    }
    return gain;
}

/// If the first ring that did not fit is worth more than all others together, it comes first.
void
GadgetPolicy::PreferSingleRing()
{
    const uint32_t nGpus = m_world.placement->GetNGpus();
    if (!m_refusal || m_refusal->workers > nGpus || m_refusal->gain <= GetGain())
    {
        return;
    }
    ReturnAll();
    const JobId job = m_refusal->job;
    Candidate& candidate = m_candidates[job];
    candidate.curve = MakeCurve(job, nGpus);
    const auto& corners = candidate.curve.corners;
    candidate.nTaken =
        1 + std::distance(corners.begin(),
                          std::find_if(corners.begin(), corners.end(), [&](const auto& corner) {
                              return corner.workers == m_refusal->workers;
                          }));
    std::vector<Step> others;
    for (; !m_waiting.empty(); m_waiting.pop())
    {
        if (m_waiting.top().job != job)
        {
            others.push_back(m_waiting.top());
        }
    }
    m_waiting = std::priority_queue<Step>({}, std::move(others));
    m_touched.push_back(job);
    TakeSteps(nGpus - m_refusal->workers);
}

/// Puts the jobs that left the waiting heap back into it.
void
GadgetPolicy::ReturnAll()
{
    for (const JobId job : m_touched)
    {
        m_candidates[job].nTaken = 0;
        m_candidates[job].isRefused = false;
        m_waiting.push({m_candidates[job].firstDensity, job});
    }
    m_touched.clear();
    m_next = {};
}

void
GadgetPolicy::EmbedRings()
{
    std::vector<RingSize> sizes;
    for (const JobId job : m_touched)
    {
        const Candidate& candidate = m_candidates[job];
        if (candidate.nTaken > 0)
        {
            sizes.push_back({job, candidate.curve.corners[candidate.nTaken - 1].workers});
        }
    }
    for (const RingSize& refused :
         ResizeRings(*m_world.cluster, *m_world.placement, *m_world.jobs, sizes))
    {
        ShrinkRing(refused);
    }
}

/// Gives a job that the network refused the best ring of fewer workers that there is room for.
void
GadgetPolicy::ShrinkRing(const RingSize& refused)
{
    NS_LOG_LOGIC("job " << refused.job << ": no ring of " << refused.workers << " workers fits");
    Candidate& candidate = m_candidates[refused.job];
    const uint64_t bandwidth = GetState(refused.job).job->bandwidthBps;
    candidate.isRefused = true;
    m_hasRefused = true;
    candidate.isKnown = false;
    candidate.nTaken = 0;
    for (uint32_t limit = refused.workers - 1; limit > 0;)
    {
        candidate.curve = MakeCurve(refused.job, limit);
        const auto& corners = candidate.curve.corners;
        if (corners.empty())
        {
            return;
        }
        const uint32_t workers = corners.back().workers;
        if (m_world.placement->Place(refused.job, workers, bandwidth))
        {
            candidate.nTaken = corners.size();
            return;
        }
        limit = workers - 1;
    }
}

/// Offers steps for which there were too few GPUs before the network refused others.
void
GadgetPolicy::OfferAgain()
{
    m_next = {};
    for (const JobId job : m_touched)
    {
        Candidate& candidate = m_candidates[job];
        if (!candidate.isRefused && candidate.nTaken == 0)
        {
            candidate.curve = MakeCurve(job, m_world.placement->GetNFreeGpus());
            candidate.isKnown = false;
        }
        if (!candidate.isRefused)
        {
            OfferNext(job);
        }
    }
}

/// Gives away the GPUs that are free because the network refused rings.
void
GadgetPolicy::FillGaps()
{
    RingPlacement& placement = *m_world.placement;
    if (m_hasRefused)
    {
        OfferAgain();
    }
    for (uint32_t nRefused = 0; placement.GetNFreeGpus() > 0 && nRefused < MOST_REFUSALS;)
    {
        const auto job = PopBest();
        if (!job)
        {
            return;
        }
        Candidate& candidate = m_candidates[*job];
        if (candidate.isRefused)
        {
            continue;
        }
        const uint32_t width = candidate.curve.GetWidth(candidate.nTaken);
        if (width > placement.GetNFreeGpus())
        {
            OfferLess(*job, placement.GetNFreeGpus());
        }
        else if (Enlarge(*job))
        {
            ++candidate.nTaken;
            OfferNext(*job);
        }
        else
        {
            OfferLess(*job, width - 1);
            ++nRefused;
        }
    }
}

/// @return whether there is room for a job's next corner; if not, its ring stays as it is
bool
GadgetPolicy::Enlarge(JobId job)
{
    RingPlacement& placement = *m_world.placement;
    const Candidate& candidate = m_candidates[job];
    std::optional<RingEmbedding> before;
    if (placement.Find(job))
    {
        before = placement.Remove(job);
    }
    const bool isPlaced = placement.Place(job,
                                          candidate.curve.corners[candidate.nTaken].workers,
                                          GetState(job).job->bandwidthBps);
    if (!isPlaced && before)
    {
        placement.Restore(std::move(*before));
    }
    return isPlaced;
}

} // namespace ns3::allreduce
