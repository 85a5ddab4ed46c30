/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-workload.h"

#include <algorithm>

namespace ns3::allreduce
{

const char*
ToString(WorkloadKind kind)
{
    return kind == WorkloadKind::REDUCE ? "reduce" : "broadcast";
}

bool
operator==(const Workload& x, const Workload& y)
{
    return x.chunk == y.chunk && x.kind == y.kind && x.path == y.path &&
           x.contributors == y.contributors;
}

Workload
WorkloadList::Get(std::size_t index) const
{
    const Entry& entry = m_entries[index];
    const NodeId* path = m_nodes.data() + entry.firstNode;
    const NodeId* end =
        m_nodes.data() +
        (index + 1 < m_entries.size() ? m_entries[index + 1].firstNode : m_nodes.size());
    return {entry.chunk, entry.kind, {path, path + entry.length}, {path + entry.length, end}};
}

void
WorkloadList::Add(const Workload& workload)
{
    m_entries.push_back({static_cast<uint32_t>(m_nodes.size()),
                         workload.chunk,
                         static_cast<uint16_t>(workload.path.size()),
                         workload.kind});
    m_nodes.insert(m_nodes.end(), workload.path.begin(), workload.path.end());
    m_nodes.insert(m_nodes.end(), workload.contributors.begin(), workload.contributors.end());
}

void
WorkloadList::Add(ChunkId chunk,
                  WorkloadKind kind,
                  const Path& path,
                  const std::vector<NodeId>& contributors)
{
    Add({chunk,
         kind,
         {path.data(), path.data() + path.size()},
         {contributors.data(), contributors.data() + contributors.size()}});
}

void
WorkloadList::Reserve(const WorkloadList& other)
{
    m_entries.reserve(other.m_entries.size());
    m_nodes.reserve(other.m_nodes.size());
}

void
WorkloadList::Clear()
{
    m_entries.clear();
    m_nodes.clear();
}

void
WorkloadList::ShrinkToFit()
{
    m_entries.shrink_to_fit();
    m_nodes.shrink_to_fit();
}

} // namespace ns3::allreduce
