/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "partial-sums.h"

#include "ns3/allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

PartialSums::PartialSums(uint32_t nServers, std::vector<NodeId> roots)
    : m_roots(std::move(roots)),
      m_isSent(nServers, m_roots.size()),
      m_isMerged(nServers, m_roots.size())
{
}

PartialSums::Parts
PartialSums::Take(const Workload& reduce)
{
    const NodeId source = reduce.GetSource();
    const ChunkId chunk = reduce.chunk;
    std::vector<NodeId> named(reduce.contributors.begin(), reduce.contributors.end());
    std::sort(named.begin(), named.end());
    const auto isNamed = [&](NodeId contributor) {
        return std::binary_search(named.begin(), named.end(), contributor);
    };
    const bool takesAll = named.empty();
    Parts parts;
    if (!m_isSent.Test(source, chunk) &&
        (takesAll || (isNamed(source) && !m_isMerged.Test(source, chunk))))
    {
        parts.hasOwn = true;
        m_isSent.Set(source, chunk);
    }
    const auto held = m_apart.find({source, chunk});
    if (held != m_apart.end())
    {
        std::vector<Apart> stays;
        for (Apart& apart : held->second)
        {
            if (takesAll ||
                std::all_of(apart.contributors.begin(), apart.contributors.end(), isNamed))
            {
                parts.apart.push_back(apart.place);
            }
            else
            {
                stays.push_back(std::move(apart));
            }
        }
        held->second = std::move(stays);
    }
    if (!parts.hasOwn && parts.apart.empty())
    {
        FailInput("reduce of chunk ",
                  chunk,
                  " along ",
                  FormatPath(Path(reduce.path.begin(), reduce.path.end())),
                  ": the contributors that it names are merged with others");
    }
    return parts;
}

bool
PartialSums::IsKeptApart(const Workload& reduce) const
{
    return !reduce.contributors.empty() && reduce.GetTarget() != m_roots[reduce.chunk];
}

void
PartialSums::KeepApart(const Workload& reduce, Place place)
{
    m_apart[{reduce.GetTarget(), reduce.chunk}].push_back(
        {place, {reduce.contributors.begin(), reduce.contributors.end()}});
}

bool
PartialSums::Merge(const Workload& reduce)
{
    const NodeId target = reduce.GetTarget();
    const bool isAdded = !m_isSent.Test(target, reduce.chunk);
    m_isSent.Clear(target, reduce.chunk);
    m_isMerged.Set(target, reduce.chunk);
    return isAdded;
}

} // namespace ns3::allreduce
