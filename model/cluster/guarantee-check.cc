/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "guarantee-check.h"

#include "cluster-simulation.h"
#include "gadget-policy.h"
#include "offline-optimum.h"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

namespace ns3::allreduce
{

namespace
{

using Random = std::mt19937_64;

constexpr uint64_t GIGABIT = 1'000'000'000;
/// What rounding may take away.
constexpr double TOLERANCE = 1e-9;

uint32_t
DrawInt(Random& random, uint32_t least, uint32_t most)
{
    return boost::random::uniform_int_distribution<uint32_t>(least, most)(random);
}

double
DrawReal(Random& random, double least, double most)
{
    return boost::random::uniform_real_distribution<double>(least, most)(random);
}

/// @return servers at one switch, servers at two switches, or servers in a circle
Topology
MakeTinyTopology(Random& random, bool isRoomy)
{
    const uint32_t nServers = DrawInt(random, 2, 4);
    const uint32_t kind = DrawInt(random, 0, isRoomy ? 1 : 2);
    const auto makeLink = [&](NodeId a, NodeId b) {
        Link link;
        link.a = a;
        link.b = b;
        link.rateBps = isRoomy ? 1000 * GIGABIT : DrawInt(random, 1, 4) * GIGABIT;
        return link;
    };
    std::vector<Link> links;
    for (NodeId server = 0; server < nServers; ++server)
    {
        const NodeId next = (server + 1) % nServers;
        const NodeId other = kind == 2 ? next : nServers + (kind == 1 ? server % 2 : 0);
        if (kind < 2 || nServers > 2 || server == 0)
        {
            links.push_back(makeLink(server, other));
        }
    }
    if (kind == 1)
    {
        links.push_back(makeLink(nServers, nServers + 1));
    }
    return {"tiny", nServers, kind == 2 ? 0 : kind + 1, links};
}

Job
MakeTinyJob(Random& random, uint32_t nSlots)
{
    Job job;
    job.arrivalSlot = DrawInt(random, 0, nSlots - 1);
    job.gradientBytes = DrawInt(random, 1, 200) * 1'000'000;
    // From hardly anything to so much that one worker does not finish an iteration in a slot.
    const double batch = DrawReal(random, 0.5, 10) * (1 << DrawInt(random, 0, 4));
    job.forwardSeconds = batch / 3;
    job.backwardSeconds = batch - job.forwardSeconds;
    job.overheadSeconds = DrawReal(random, 0, 0.5);
    job.targetIterations = DrawInt(random, 2, 40);
    job.maxWorkers = DrawInt(random, 1, 4);
    job.minWorkers = DrawInt(random, 0, 1) == 0 ? 1 : DrawInt(random, 1, job.maxWorkers);
    job.bandwidthBps = DrawInt(random, 1, 2) * GIGABIT;
    job.weight = DrawReal(random, 0.5, 2);
    return job;
}

bool
IsMoving(const TinyInstance& instance)
{
    return instance.cluster.moveSeconds > 0;
}

/// @return which share of its bound every slot gains for certain if bandwidth is no limit
double
FindSlotGuarantee(const TinyInstance& instance, const JobUtility& utility)
{
    double kept = 1; // of what a job does in a slot, if it moves
    double cost = 0;
    for (const Job& job : instance.jobs)
    {
        const JobState state = MakeJobState(instance.cluster, job);
        cost += utility.GetWorkerSlotCost(state);
        for (std::size_t w = 0; w < state.rates.size(); ++w)
        {
            kept = state.rates[w] == 0
                       ? kept
                       : std::min(kept, double(state.movedRates[w]) / state.rates[w]);
        }
    }
    const bool isNone = IsMoving(instance) && cost > 0; // Nothing is claimed.
    return isNone ? 0 : 0.5 * kept / (1 + MoveCharge::HYSTERESIS * (1 - kept));
}

/// Plays one instance and adds what came out to the report, if there is anything to gain in it.
void
CheckInstance(const TinyInstance& instance, GuaranteeReport& report)
{
    const auto utility = ParseUtility(instance.objective);
    GadgetPolicy policy;
    const ClusterResult result =
        PlayTrace(instance.cluster, instance.jobs, *utility, policy, instance.nSlots);
    std::vector<double> weights(instance.nSlots, 1);
    const double best = FindOfflineOptimum(instance.cluster, instance.jobs, *utility, weights);
    if (best <= 0)
    {
        return; // Nobody can gain anything.
    }
    for (uint32_t slot = 0; slot < instance.nSlots; ++slot)
    {
        weights[slot] = double(instance.nSlots - slot) / instance.nSlots;
    }
    const double bestMean = FindOfflineOptimum(instance.cluster, instance.jobs, *utility, weights);
    const double ratio = result.utility / best;
    const double meanRatio = result.meanUtility / bestMean;
    report.worstRatio = std::min(report.worstRatio, ratio);
    report.meanRatio += ratio;
    report.worstMeanRatio = std::min(report.worstMeanRatio, meanRatio);
    report.meanMeanRatio += meanRatio;
    report.worstGuaranteed = std::min(report.worstGuaranteed, result.guaranteedShare);
    report.meanGuaranteed += result.guaranteedShare;
    const std::string name = "instance " + std::to_string(report.nInstances);
    if (ratio < result.guaranteedShare - TOLERANCE ||
        meanRatio < result.guaranteedMeanShare - TOLERANCE)
    {
        report.violations.push_back(name + ": less than the guaranteed share");
    }
    if (ratio > 1 + TOLERANCE || meanRatio > 1 + TOLERANCE)
    {
        report.violations.push_back(name + ": more than the best possible");
    }
    if (instance.isRoomy)
    {
        ++report.nRoomy;
        if (result.worstSlotShare < FindSlotGuarantee(instance, *utility) - TOLERANCE)
        {
            report.violations.push_back(name + ": a slot below the share of its bound");
        }
        if (!IsMoving(instance))
        {
            report.worstRoomySlotShare =
                std::min(report.worstRoomySlotShare, result.worstSlotShare);
        }
    }
    report.nMoving += IsMoving(instance);
    report.nGangs += std::any_of(instance.jobs.begin(), instance.jobs.end(), [](const Job& job) {
        return job.minWorkers > 1;
    });
    ++report.nInstances;
}

} // namespace

TinyInstance
MakeTinyInstance(std::mt19937_64& random)
{
    const std::vector<std::string> objectives = {"progress", "energy:0.3", "fair:1", "max-min"};
    const bool isRoomy = DrawInt(random, 0, 1);
    TinyInstance instance{{MakeTinyTopology(random, isRoomy), {}}, {}, {}, 0, isRoomy};
    for (NodeId server = 0; server < instance.cluster.topology.GetNServers(); ++server)
    {
        instance.cluster.gpus.push_back(DrawInt(random, 1, 2));
    }
    instance.nSlots = DrawInt(random, 2, 4);
    const double mostMove = 0.5 * instance.cluster.slotSeconds;
    instance.cluster.moveSeconds = DrawInt(random, 0, 1) == 0 ? 0 : DrawReal(random, 1, mostMove);
    instance.objective = objectives[DrawInt(random, 0, objectives.size() - 1)];
    const uint32_t nJobs = DrawInt(random, 2, 3);
    for (uint32_t job = 0; job < nJobs; ++job)
    {
        instance.jobs.push_back(MakeTinyJob(random, instance.nSlots));
    }
    return instance;
}

GuaranteeReport
CheckGuarantee(uint32_t nInstances, uint64_t seed, const std::function<void(uint32_t)>& progress)
{
    std::mt19937_64 random(seed);
    GuaranteeReport report;
    while (report.nInstances < nInstances)
    {
        CheckInstance(MakeTinyInstance(random), report);
        if (progress)
        {
            progress(report.nInstances);
        }
    }
    report.meanRatio /= nInstances;
    report.meanMeanRatio /= nInstances;
    report.meanGuaranteed /= nInstances;
    return report;
}

} // namespace ns3::allreduce
