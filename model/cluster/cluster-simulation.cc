/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-simulation.h"

#include "ns3/log.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceClusterSimulation");

namespace
{

/// One trace under one policy.
class Simulation
{
  public:
    Simulation(const GpuCluster& cluster,
               const std::vector<Job>& jobs,
               const JobUtility& utility,
               ClusterPolicy& policy,
               uint32_t nSlots)
        : m_cluster(cluster),
          m_jobs(jobs),
          m_utility(utility),
          m_policy(policy),
          m_nSlots(nSlots),
          m_placement(cluster),
          m_checker(cluster, jobs),
          m_byArrival(jobs.size()),
          m_lastRings(jobs.size())
    {
        m_result.nJobs = jobs.size();
        m_result.outcomes.resize(jobs.size());
        for (const Job& job : jobs)
        {
            CheckJob(job);
            m_result.jobs.push_back(MakeJobState(cluster, job));
        }
        std::iota(m_byArrival.begin(), m_byArrival.end(), 0);
        std::stable_sort(m_byArrival.begin(), m_byArrival.end(), [&](JobId x, JobId y) {
            return jobs[x].arrivalSlot < jobs[y].arrivalSlot;
        });
        policy.Begin({&cluster, &m_result.jobs, &utility, &m_placement, nSlots});
    }

    ClusterResult Run(const SlotObserver& observer, bool isChecked)
    {
        for (uint32_t slot = 0; slot < m_nSlots; ++slot)
        {
            Arrive(slot);
            m_policy.Allocate(slot);
            RunRings(slot);
            if (isChecked)
            {
                Check();
            }
            Account(slot);
            if (observer)
            {
                observer(m_report);
            }
            RemoveFinished();
        }
        Summarize();
        return std::move(m_result);
    }

  private:
    /// Where a job's last ring was.
    struct LastRing
    {
        std::vector<NodeId> servers;
        std::vector<uint32_t> workers; //!< on each
    };

    void Arrive(uint32_t slot)
    {
        for (;
             m_nArrived < m_byArrival.size() && m_jobs[m_byArrival[m_nArrived]].arrivalSlot == slot;
             ++m_nArrived)
        {
            m_policy.AddJob(m_byArrival[m_nArrived]);
        }
    }

    /// Lets every ring do what it can in a slot.
    void RunRings(uint32_t slot)
    {
        const auto& rings = m_placement.GetRings();
        const auto bandwidths = FindRingBandwidths(m_cluster, m_jobs, rings);
        m_report.slot = slot;
        m_report.nActive = m_nArrived - m_result.nFinished;
        m_report.gain = 0;
        m_report.runs.resize(rings.size()); // Their vectors are used again.
        for (std::size_t i = 0; i < rings.size(); ++i)
        {
            const JobState& state = m_result.jobs[rings[i].job];
            const bool isMoved = NoteMove(slot, rings[i]);
            const uint32_t rate = FindRate(state, rings[i], bandwidths[i], isMoved);
            RingRun& run = m_report.runs[i];
            run.ring = rings[i];
            run.iterations = std::min(rate, state.GetRemaining());
            run.rate = rate;
            run.isMoved = isMoved;
        }
    }

    /// @return how many iterations a ring can do in this slot
    uint32_t FindRate(const JobState& state,
                      const RingEmbedding& ring,
                      double bandwidth,
                      bool isMoved) const
    {
        const uint32_t workers = ring.GetNWorkers();
        const double share = m_cluster.GetTransferShare(ring.servers);
        if (bandwidth == state.job->bandwidthBps && share == 1)
        {
            return (isMoved ? state.movedRates : state.rates)[workers];
        }
        IterationTime time =
            GetIterationTime(*state.job, workers, bandwidth, m_cluster.reduceBytesPerSecond);
        time.transfer *= share;
        return CountIterations(time.GetTotal(), GetTime(isMoved));
    }

    /// @return seconds of a slot in which a ring computes
    double GetTime(bool isMoved) const
    {
        return m_cluster.slotSeconds - (isMoved ? m_cluster.moveSeconds : 0);
    }

    void Check()
    {
        const std::string fault = m_checker.Check(m_report.slot, m_report.runs);
        if (!fault.empty())
        {
            throw std::logic_error("allocation is not possible: " + fault);
        }
    }

    /// Adds up what the slot brought.
    void Account(uint32_t slot)
    {
        for (const RingRun& run : m_report.runs)
        {
            JobState& state = m_result.jobs[run.ring.job];
            const uint32_t workers = run.ring.GetNWorkers();
            const double busyPart = state.GetBusyPart(run.rate);
            const double cost = workers * m_utility.GetWorkerSlotCost(state) * busyPart;
            const double before = state.iterations;
            state.iterations += run.iterations;
            state.workerSlots += workers;
            m_report.gain += m_utility.GetGain(state, before, state.iterations) - cost;
            m_result.workerSlotCost += cost;
            m_meanCost += cost * GetSlotWeight(slot);
            const double seconds = m_cluster.slotSeconds - (1 - busyPart) * GetTime(run.isMoved);
            m_result.gpuSeconds += workers * seconds;
            if (state.IsFinished())
            {
                state.endSlot = slot;
                m_result.outcomes[run.ring.job].endSeconds = slot * m_cluster.slotSeconds + seconds;
                ++m_result.nFinished;
            }
        }
        m_result.utility += m_report.gain;
        m_result.meanUtility += m_report.gain * GetSlotWeight(slot);
        m_report.utility = m_result.utility;
        m_report.nFinished = m_result.nFinished;
        m_report.gpuUse = 1 - double(m_placement.GetNFreeGpus()) / m_placement.GetNGpus();
        m_report.linkUse = double(m_placement.GetReservedBps()) /
                           std::max<uint64_t>(1, m_placement.GetReservableBps());
        m_result.meanGpuUse += m_report.gpuUse / m_nSlots;
        m_result.meanLinkUse += m_report.linkUse / m_nSlots;
        CompareWithBound(slot);
        NS_LOG_INFO("slot " << slot << ": " << m_report.runs.size() << " rings, gain "
                            << m_report.gain);
    }

    /// @return in how many of the slots that are averaged over a gain in this one is there
    double GetSlotWeight(uint32_t slot) const
    {
        return double(m_nSlots - slot) / m_nSlots;
    }

    void CompareWithBound(uint32_t slot)
    {
        const auto bound = m_policy.GetSlotBound();
        m_hasBounds = m_hasBounds && bound;
        if (bound && *bound > 0)
        {
            m_bounds += *bound;
            m_meanBounds += *bound * GetSlotWeight(slot);
            m_result.worstSlotShare = std::min(m_result.worstSlotShare, m_report.gain / *bound);
        }
    }

    /// @return whether a job goes on elsewhere, with other workers or after a pause
    bool NoteMove(uint32_t slot, const RingEmbedding& ring)
    {
        JobOutcome& outcome = m_result.outcomes[ring.job];
        LastRing& last = m_lastRings[ring.job];
        const bool isSame = last.servers == ring.servers && last.workers == ring.workers;
        const bool isMoved = outcome.hasRun && (!isSame || outcome.lastSlot + 1 != slot);
        outcome.firstSlot = outcome.hasRun ? outcome.firstSlot : slot;
        outcome.hasRun = true;
        outcome.lastSlot = slot;
        outcome.nMoves += isMoved;
        m_result.nMoves += isMoved;
        if (!isSame)
        {
            last = {ring.servers, ring.workers};
        }
        return isMoved;
    }

    void RemoveFinished()
    {
        for (const RingRun& run : m_report.runs)
        {
            if (m_result.jobs[run.ring.job].IsFinished())
            {
                m_placement.Remove(run.ring.job);
                m_policy.RemoveJob(run.ring.job);
            }
        }
    }

    void Summarize()
    {
        // Bounds are those of rings.
        if (m_hasBounds && m_result.utility > 0 && !m_cluster.collectiveTimes)
        {
            // The best possible utility is at most what was reached, paid and could be gained.
            const double best = m_result.utility + m_result.workerSlotCost + m_bounds;
            m_result.guaranteedShare = m_result.utility / best;
            const double bestMean = m_result.meanUtility + m_meanCost + m_meanBounds;
            m_result.guaranteedMeanShare = m_result.meanUtility / bestMean;
        }
        SummarizeFairness();
        m_result.remark = m_policy.GetRemark();
    }

    void SummarizeFairness()
    {
        double sum = 0;
        double sumOfSquares = 0;
        uint32_t nJobs = 0;
        for (const JobState& state : m_result.jobs)
        {
            const uint32_t best = *std::max_element(state.rates.begin(), state.rates.end());
            if (state.job->arrivalSlot >= m_nSlots || best == 0)
            {
                continue;
            }
            const uint32_t end = state.IsFinished() ? state.endSlot : m_nSlots - 1;
            const double speed =
                state.iterations / (double(end - state.job->arrivalSlot + 1) * best);
            sum += speed;
            sumOfSquares += speed * speed;
            ++nJobs;
        }
        m_result.fairness = sumOfSquares > 0 ? sum * sum / (nJobs * sumOfSquares) : 0;
    }

    const GpuCluster& m_cluster;    //!< where
    const std::vector<Job>& m_jobs; //!< by id
    const JobUtility& m_utility;    //!< what progress is worth
    ClusterPolicy& m_policy;        //!< who allocates
    uint32_t m_nSlots;              //!< number of slots
    RingPlacement m_placement;
    AllocationChecker m_checker;       //!< looks at every slot
    std::vector<JobId> m_byArrival;    //!< jobs in the order in which they arrive
    std::size_t m_nArrived{0};         //!< how many have
    SlotReport m_report;               //!< of this slot
    ClusterResult m_result;            //!< what comes out
    bool m_hasBounds{true};            //!< whether the policy knows a bound for every slot
    double m_bounds{0};                //!< their sum
    double m_meanBounds{0};            //!< the same, weighted as meanUtility is
    double m_meanCost{0};              //!< cost of worker-slots, weighted in this way
    std::vector<LastRing> m_lastRings; //!< by job
};

} // namespace

ClusterResult
PlayTrace(const GpuCluster& cluster,
          const std::vector<Job>& jobs,
          const JobUtility& utility,
          ClusterPolicy& policy,
          uint32_t nSlots,
          const SlotObserver& observer)
{
    CheckCluster(cluster);
    return Simulation(cluster, jobs, utility, policy, nSlots).Run(observer, true);
}

ClusterResult
TryTrace(const GpuCluster& cluster,
         const std::vector<Job>& jobs,
         const JobUtility& utility,
         ClusterPolicy& policy,
         uint32_t nSlots)
{
    return Simulation(cluster, jobs, utility, policy, nSlots).Run({}, false);
}

std::vector<double>
FindRingBandwidths(const GpuCluster& cluster,
                   const std::vector<Job>& jobs,
                   const std::vector<RingEmbedding>& rings)
{
    const Topology& topology = cluster.topology;
    std::vector<uint32_t> nSharing(topology.GetNDirectedLinks(), 0);
    for (const RingEmbedding& ring : rings)
    {
        if (ring.bandwidthBps == 0 && !ring.paths.empty())
        {
            for (const DirectedLinkId link : GetLinks(topology, ring))
            {
                ++nSharing[link];
            }
        }
    }
    std::vector<double> bandwidths;
    for (const RingEmbedding& ring : rings)
    {
        double bandwidth = jobs[ring.job].bandwidthBps;
        if (ring.bandwidthBps == 0 && !ring.paths.empty())
        {
            for (const DirectedLinkId link : GetLinks(topology, ring))
            {
                bandwidth = std::min(bandwidth,
                                     GetContendedBandwidth(topology.GetLinkOf(link).rateBps,
                                                           nSharing[link],
                                                           cluster.contentionAlpha));
            }
        }
        bandwidths.push_back(bandwidth);
    }
    return bandwidths;
}

} // namespace ns3::allreduce
