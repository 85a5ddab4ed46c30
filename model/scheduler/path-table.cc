/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "path-table.h"

namespace ns3::allreduce
{

PathTable::PathTable(const Topology& topology)
    : m_topology(topology),
      m_firstLink(1, 0)
{
}

PathId
PathTable::Add(const std::vector<DirectedLinkId>& links)
{
    const PathId path = m_target.size();
    m_links.insert(m_links.end(), links.begin(), links.end());
    m_firstLink.push_back(m_links.size());
    m_target.push_back(m_topology.GetTarget(links.back()));
    for (auto link = links.rbegin(); link != links.rend(); ++link)
    {
        m_links.push_back(Reverse(*link));
    }
    m_firstLink.push_back(m_links.size());
    m_target.push_back(m_topology.GetSource(links.front()));
    return path;
}

void
PathTable::GetNodes(PathId path, Path& nodes) const
{
    nodes.assign(1, GetSource(path));
    for (const DirectedLinkId link : GetLinks(path))
    {
        nodes.push_back(m_topology.GetTarget(link));
    }
}

PathId
PathIndex::FindOrAdd(const std::vector<DirectedLinkId>& links)
{
    const auto [known, isNew] = m_known.emplace(links, 0);
    if (isNew)
    {
        known->second = Add(links);
    }
    return known->second;
}

} // namespace ns3::allreduce
