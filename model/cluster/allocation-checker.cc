/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allocation-checker.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// What rounding may add.
constexpr double ROUNDING = 1e-8;

template <typename... Parts>
std::string
Say(const Parts&... parts)
{
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

uint64_t
MakeLinkKey(NodeId from, NodeId to)
{
    return (uint64_t{from} << 32) | to;
}

} // namespace

AllocationChecker::AllocationChecker(const GpuCluster& cluster, const std::vector<Job>& jobs)
    : m_cluster(cluster),
      m_jobs(jobs),
      m_progress(jobs.size(), 0),
      m_last(jobs.size())
{
    for (const Link& link : cluster.topology.GetLinks())
    {
        for (const auto& [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)})
        {
            m_links[MakeLinkKey(from, to)] = m_rates.size();
            m_rates.push_back(link.rateBps);
        }
    }
}

std::string
AllocationChecker::Check(uint32_t slot, const std::vector<RingRun>& runs)
{
    m_reserved.assign(m_rates.size(), 0);
    m_nSharing.assign(m_rates.size(), 0);
    m_gpusUsed.assign(m_cluster.gpus.size(), 0);
    m_hasRing.assign(m_jobs.size(), false);
    std::string fault;
    for (auto run = runs.begin(); run != runs.end() && fault.empty(); ++run)
    {
        fault = CheckJob(slot, *run);
        fault = fault.empty() ? CheckServers(run->ring) : fault;
        fault = fault.empty() ? CheckPaths(run->ring) : fault;
        fault = fault.empty() ? "" : Say("job ", run->ring.job, ": ", fault);
    }
    fault = fault.empty() ? CheckLinks() : fault;
    // How fast rings are that share links is known only when all are.
    for (auto run = runs.begin(); run != runs.end() && fault.empty(); ++run)
    {
        fault = CheckProgress(slot, *run);
    }
    return fault.empty() ? "" : Say("slot ", slot, ": ", fault);
}

std::string
AllocationChecker::CheckJob(uint32_t slot, const RingRun& run)
{
    const JobId job = run.ring.job;
    if (job >= m_jobs.size())
    {
        return "is not in the trace";
    }
    if (m_hasRing[job])
    {
        return "has two rings";
    }
    m_hasRing[job] = true;
    if (slot < m_jobs[job].arrivalSlot)
    {
        return Say("runs before it arrives in slot ", m_jobs[job].arrivalSlot);
    }
    if (m_progress[job] >= m_jobs[job].targetIterations)
    {
        return "runs although it has finished";
    }
    const uint64_t reserved = run.ring.bandwidthBps;
    if (reserved != 0 && reserved != m_jobs[job].bandwidthBps)
    {
        return Say("reserves ", reserved, " bit/s instead of ", m_jobs[job].bandwidthBps);
    }
    return "";
}

std::string
AllocationChecker::CheckServers(const RingEmbedding& ring)
{
    if (ring.servers.empty() || ring.servers.size() != ring.workers.size())
    {
        return "has no workers, or not one number of them for each server";
    }
    if (ring.servers.size() > 1 &&
        std::set<NodeId>(ring.servers.begin(), ring.servers.end()).size() != ring.servers.size())
    {
        return "visits a server twice";
    }
    uint64_t nWorkers = 0;
    for (std::size_t i = 0; i < ring.servers.size(); ++i)
    {
        const NodeId server = ring.servers[i];
        if (server >= m_cluster.gpus.size())
        {
            return Say("has workers on node ", server, ", which is not a server");
        }
        if (ring.workers[i] == 0)
        {
            return Say("has no worker on server ", server);
        }
        nWorkers += ring.workers[i];
        m_gpusUsed[server] += ring.workers[i];
        if (m_gpusUsed[server] > m_cluster.gpus[server])
        {
            return Say("server ", server, " has ", m_cluster.gpus[server], " GPUs only");
        }
    }
    const uint32_t least = m_jobs[ring.job].minWorkers;
    const uint32_t most = m_jobs[ring.job].maxWorkers;
    return nWorkers > most    ? Say("has ", nWorkers, " workers, at most ", most, " are allowed")
           : nWorkers < least ? Say("has ", nWorkers, " workers, at least ", least, " are needed")
                              : "";
}

std::string
AllocationChecker::CheckPaths(const RingEmbedding& ring)
{
    const std::size_t nPaths = ring.servers.size() == 1 ? 0 : ring.servers.size();
    if (ring.paths.size() != nPaths)
    {
        return Say("has ", ring.paths.size(), " paths, ", nPaths, " would close the ring");
    }
    std::string fault;
    for (std::size_t i = 0; i < nPaths && fault.empty(); ++i)
    {
        fault = CheckPath(ring, i);
    }
    return fault;
}

std::string
AllocationChecker::CheckPath(const RingEmbedding& ring, std::size_t index)
{
    const Path& path = ring.paths[index];
    const NodeId next = ring.servers[(index + 1) % ring.servers.size()];
    if (path.size() < 2 || path.front() != ring.servers[index] || path.back() != next)
    {
        return Say("the ring is not closed: no path from server ",
                   ring.servers[index],
                   " to ",
                   next);
    }
    if (std::set<NodeId>(path.begin(), path.end()).size() != path.size())
    {
        return Say("a path from server ", path.front(), " passes a node twice");
    }
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
    {
        const auto& servers = ring.servers;
        if (i > 0 && std::find(servers.begin(), servers.end(), path[i]) != servers.end())
        {
            return Say("a path passes server ", path[i], " of the same ring");
        }
        const uint32_t link = FindLink(path[i], path[i + 1]);
        if (link == NO_LINK)
        {
            return Say("there is no link from ", path[i], " to ", path[i + 1]);
        }
        m_reserved[link] += ring.bandwidthBps;
        m_nSharing[link] += ring.bandwidthBps == 0;
    }
    return "";
}

uint32_t
AllocationChecker::FindLink(NodeId from, NodeId to) const
{
    const auto link = m_links.find(MakeLinkKey(from, to));
    return link == m_links.end() ? NO_LINK : link->second;
}

std::string
AllocationChecker::CheckLinks() const
{
    for (std::size_t link = 0; link < m_rates.size(); ++link)
    {
        const double most = m_cluster.reservableShare * m_rates[link];
        if (m_reserved[link] > most * (1 + ROUNDING))
        {
            const Link& ends = m_cluster.topology.GetLinkOf(link);
            return Say("link ",
                       link % 2 == 0 ? ends.a : ends.b,
                       "-",
                       link % 2 == 0 ? ends.b : ends.a,
                       ": ",
                       m_reserved[link],
                       " bit/s are reserved of ",
                       most);
        }
    }
    return "";
}

double
AllocationChecker::FindBandwidth(const RingEmbedding& ring) const
{
    double bandwidth = m_jobs[ring.job].bandwidthBps;
    if (ring.bandwidthBps == 0)
    {
        for (const Path& path : ring.paths)
        {
            for (std::size_t i = 0; i + 1 < path.size(); ++i)
            {
                const uint32_t link = FindLink(path[i], path[i + 1]);
                const double k = m_nSharing[link];
                bandwidth =
                    std::min(bandwidth, m_rates[link] / (k + m_cluster.contentionAlpha * (k - 1)));
            }
        }
    }
    return bandwidth;
}

/// @return whether a job goes on elsewhere, with other workers or after a pause
bool
AllocationChecker::NoteMove(uint32_t slot, const RingEmbedding& ring)
{
    LastRun& last = m_last[ring.job];
    const bool isFirst = last.servers.empty();
    const bool isSame = last.servers == ring.servers && last.workers == ring.workers;
    const bool isMoved = !isFirst && (!isSame || last.slot + 1 != slot);
    last.slot = slot;
    if (!isSame)
    {
        last.servers = ring.servers;
        last.workers = ring.workers;
    }
    return isMoved;
}

std::string
AllocationChecker::CheckProgress(uint32_t slot, const RingRun& run)
{
    const Job& job = m_jobs[run.ring.job];
    double w = 0;
    for (const uint32_t workers : run.ring.workers)
    {
        w += workers;
    }
    const double moved = job.gradientBytes * (w - 1) / w;
    const double share = m_cluster.GetTransferShare(run.ring.servers);
    const double tau = share * 16 * moved / FindBandwidth(run.ring) +
                       moved / m_cluster.reduceBytesPerSecond + job.overheadSeconds +
                       (job.forwardSeconds + job.backwardSeconds) / w;
    const bool isMoved = NoteMove(slot, run.ring);
    const double time = m_cluster.slotSeconds - (isMoved ? m_cluster.moveSeconds : 0);
    const double most = std::floor(time / tau * (1 + ROUNDING));
    uint64_t& progress = m_progress[run.ring.job];
    progress += run.iterations;
    if (run.isMoved != isMoved)
    {
        return Say("job ", run.ring.job, isMoved ? ": moves" : ": does not move");
    }
    if (run.iterations > most)
    {
        return Say("job ", run.ring.job, ": does ", run.iterations, " iterations, ", most, " fit");
    }
    if (progress > job.targetIterations)
    {
        return Say("job ", run.ring.job, ": trains beyond its target");
    }
    return "";
}

} // namespace ns3::allreduce
