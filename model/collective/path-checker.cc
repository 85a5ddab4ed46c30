/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "path-checker.h"

#include <algorithm>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// Checks each round's paths against the network.
class PathChecker
{
  public:
    PathChecker(const ContributionLedger& start, FirstViolation& violation)
        : m_start(start),
          m_topology(start.GetTopology()),
          m_violation(violation),
          m_used(m_topology.GetNDirectedLinks(), 0)
    {
    }

    /// @return whether all paths of the round are good
    bool Check(const WorkloadList& round, uint32_t number)
    {
        for (uint32_t i = 0; i < round.GetSize(); ++i)
        {
            if (!CheckWorkload(round.Get(i), {number, i}))
            {
                return false;
            }
        }
        for (const DirectedLinkId link : m_touched)
        {
            m_used[link] = 0;
        }
        m_touched.clear();
        return true;
    }

  private:
    bool CheckWorkload(const Workload& workload, SchedulePlace place)
    {
        const NodeRange& path = workload.path;
        if (path.size() < 2)
        {
            m_violation.Note(place, "the path has fewer than two nodes");
            return false;
        }
        for (const NodeId node : path)
        {
            if (node >= m_topology.GetNNodes())
            {
                m_violation.Note(place, "there is no node ", node);
                return false;
            }
        }
        for (const NodeId end : {path.front(), path.back()})
        {
            if (!m_topology.IsServer(end))
            {
                m_violation.Note(place, "the path ends at switch ", end);
                return false;
            }
        }
        return CheckInside(path, place) && CheckLinks(path, place);
    }

    bool CheckInside(const NodeRange& path, SchedulePlace place)
    {
        for (const NodeId* node = path.begin(); node != path.end(); ++node)
        {
            if (std::find(path.begin(), node, *node) != node)
            {
                m_violation.Note(place, "the path visits node ", *node, " twice");
                return false;
            }
            const bool isInside = node != path.begin() && node + 1 != path.end();
            if (isInside && m_topology.IsServer(*node))
            {
                m_violation.Note(place, "the path passes through server ", *node);
                return false;
            }
        }
        return true;
    }

    bool CheckLinks(const NodeRange& path, SchedulePlace place)
    {
        for (const NodeId* node = path.begin(); node + 1 != path.end(); ++node)
        {
            const auto link = m_topology.FindDirectedLink(*node, *(node + 1));
            if (!link)
            {
                m_violation.Note(place, "there is no link ", *node, "-", *(node + 1));
                return false;
            }
            if (!m_start.IsLinkUp(GetLinkId(*link)))
            {
                m_violation.Note(place, "link ", *node, "-", *(node + 1), " is down");
                return false;
            }
            m_touched.push_back(*link);
            if (++m_used[*link] > m_topology.GetCapacity(*link))
            {
                m_violation.Note(place,
                                 "link ",
                                 *node,
                                 "-",
                                 *(node + 1),
                                 " is over its capacity of ",
                                 m_topology.GetCapacity(*link));
                return false;
            }
        }
        return true;
    }

    const ContributionLedger& m_start;     //!< knows which links are up
    const Topology& m_topology;            //!< the network
    FirstViolation& m_violation;           //!< where violations go
    std::vector<uint32_t> m_used;          //!< by directed link: workloads in this round
    std::vector<DirectedLinkId> m_touched; //!< links used in this round
};

} // namespace

void
CheckPaths(const ContributionLedger& start,
           RoundRange rounds,
           uint32_t first,
           uint32_t end,
           FirstViolation& violation)
{
    PathChecker paths(start, violation);
    uint32_t round = first;
    while (round < end && paths.Check(rounds[round], round))
    {
        ++round;
    }
}

} // namespace ns3::allreduce
