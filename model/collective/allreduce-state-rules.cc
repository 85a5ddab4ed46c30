/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// What may begin, and how it begins: the rules of AllReduceState.

#include "allreduce-state.h"

#include "ns3/allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

enum class AllReduceState::Fault
{
    NONE,
    UNKNOWN_CHUNK,
    SHORT_PATH,
    UNKNOWN_NODE,
    ENDS_NOT_SERVERS,
    SAME_ENDS,
    SERVER_INSIDE,
    NODE_TWICE,
    NO_LINK,
    LINK_DOWN,
    LINK_FULL,
    CHUNK_FINAL,
    FROM_ROOT,
    NOTHING_HELD,
    NOT_HELD_APART,
    COPY_WITH_CONTRIBUTORS,
    NOT_FINAL,
    ALREADY_THERE,
    MAY_NOT_RELAY,
};

template <typename Call>
AllReduceState::Fault
AllReduceState::FindPathFault(const Workload& workload, Call call) const
{
    const NodeRange& path = workload.path;
    if (path.size() < 2)
    {
        return Fault::SHORT_PATH;
    }
    for (const NodeId node : path)
    {
        if (node >= m_topology->GetNNodes())
        {
            return Fault::UNKNOWN_NODE;
        }
    }
    if (!m_topology->IsServer(path.front()) || !m_topology->IsServer(path.back()))
    {
        return Fault::ENDS_NOT_SERVERS;
    }
    if (path.front() == path.back())
    {
        return Fault::SAME_ENDS;
    }
    for (const NodeId* node = path.begin(); node + 1 != path.end(); ++node)
    {
        if (node != path.begin() && m_topology->IsServer(*node))
        {
            return Fault::SERVER_INSIDE;
        }
        if (std::find(path.begin(), node, *node) != node)
        {
            return Fault::NODE_TWICE;
        }
        const auto link = m_topology->FindDirectedLink(*node, *(node + 1));
        if (!link)
        {
            return Fault::NO_LINK;
        }
        if (m_isDown[GetLinkId(*link)])
        {
            return Fault::LINK_DOWN;
        }
        if (!m_areLinksShared && GetFreeCapacity(*link) == 0)
        {
            return Fault::LINK_FULL;
        }
        call(*link);
    }
    return Fault::NONE;
}

AllReduceState::Fault
AllReduceState::FindPathFault(const Workload& workload) const
{
    return FindPathFault(workload, [](DirectedLinkId) {});
}

std::string
AllReduceState::FindFault(const Workload& workload) const
{
    Fault fault = FindPathFault(workload);
    if (fault == Fault::NONE)
    {
        fault = FindDataFault(workload);
    }
    switch (fault)
    {
    case Fault::NONE:
        return "";
    case Fault::UNKNOWN_CHUNK:
        return "there are only " + std::to_string(GetNChunks()) + " chunks";
    case Fault::SHORT_PATH:
        return "a path has two nodes or more";
    case Fault::UNKNOWN_NODE:
        return "the path has a node that is not in the network";
    case Fault::ENDS_NOT_SERVERS:
        return "a path begins and ends at a server";
    case Fault::SAME_ENDS:
        return "sender and receiver are the same";
    case Fault::SERVER_INSIDE:
        return "the path passes a server, expected only switches";
    case Fault::NODE_TWICE:
        return "the path visits a node twice";
    case Fault::NO_LINK:
        return "the path uses a link that is not in the network";
    case Fault::LINK_DOWN:
        return "the path uses a link that is down";
    case Fault::LINK_FULL:
        return "the path uses a link that is full";
    case Fault::CHUNK_FINAL:
        return "the chunk is final already";
    case Fault::FROM_ROOT:
        return "the sender is the chunk's root, which collects";
    case Fault::NOTHING_HELD:
        return "the sender holds no contribution";
    case Fault::NOT_HELD_APART:
        return "the sender does not hold the named contributions apart from others";
    case Fault::COPY_WITH_CONTRIBUTORS:
        return "a broadcast names contributors";
    case Fault::NOT_FINAL:
        return "the sender does not hold the final sum";
    case Fault::ALREADY_THERE:
        return "the receiver has the final sum or is about to";
    case Fault::MAY_NOT_RELAY:
        return "the receiver takes no part in the chunk, and may not relay";
    }
    return "";
}

bool
AllReduceState::IsLegal(const Workload& workload) const
{
    return FindPathFault(workload) == Fault::NONE && FindDataFault(workload) == Fault::NONE;
}

AllReduceState::Fault
AllReduceState::FindDataFault(const Workload& workload) const
{
    const ChunkId chunk = workload.chunk;
    if (chunk >= GetNChunks())
    {
        return Fault::UNKNOWN_CHUNK;
    }
    if (!MayHold(workload.GetTarget(), chunk))
    {
        return Fault::MAY_NOT_RELAY;
    }
    if (workload.kind == WorkloadKind::BROADCAST)
    {
        if (!workload.contributors.empty())
        {
            return Fault::COPY_WITH_CONTRIBUTORS;
        }
        if (!m_finals.Test(workload.GetSource(), chunk))
        {
            return Fault::NOT_FINAL;
        }
        return m_expected.Test(workload.GetTarget(), chunk) ? Fault::ALREADY_THERE : Fault::NONE;
    }
    if (m_isFinal[chunk])
    {
        return Fault::CHUNK_FINAL;
    }
    if (workload.GetSource() == m_collective.roots[chunk])
    {
        return Fault::FROM_ROOT;
    }
    if (!m_partials.Test(workload.GetSource(), chunk))
    {
        return Fault::NOTHING_HELD;
    }
    return workload.contributors.empty() ? Fault::NONE : FindContributorFault(workload);
}

AllReduceState::Fault
AllReduceState::FindContributorFault(const Workload& workload) const
{
    // The named contributors must be whole units that the sender holds.
    std::vector<NodeId> left(workload.contributors.begin(), workload.contributors.end());
    std::sort(left.begin(), left.end());
    if (std::adjacent_find(left.begin(), left.end()) != left.end())
    {
        return Fault::NOT_HELD_APART;
    }
    std::size_t covered = 0;
    const NodeId source = workload.GetSource();
    if (IsOwnContributionApart(source, workload.chunk) &&
        std::binary_search(left.begin(), left.end(), source))
    {
        ++covered;
    }
    for (const std::size_t index : FindApartUnits(workload.chunk, source))
    {
        const auto& unit = m_apart.at(workload.chunk)[index].contributors;
        if (std::includes(left.begin(), left.end(), unit.begin(), unit.end()))
        {
            covered += unit.size();
        }
    }
    return covered == left.size() ? Fault::NONE : Fault::NOT_HELD_APART;
}

AllReduceState::FlightId
AllReduceState::Start(const Workload& workload)
{
    if (!TryStart(workload))
    {
        FailInput(Describe(workload), ": ", FindFault(workload));
    }
    return m_flights.size() - 1;
}

bool
AllReduceState::TryStart(const Workload& workload)
{
    Flight flight{};
    flight.firstLink = m_flightLinks.size();
    const Fault pathFault =
        FindPathFault(workload, [this](DirectedLinkId link) { m_flightLinks.push_back(link); });
    if (pathFault != Fault::NONE || FindDataFault(workload) != Fault::NONE)
    {
        m_flightLinks.resize(flight.firstLink);
        return false;
    }
    flight.nLinks = m_flightLinks.size() - flight.firstLink;
    for (uint32_t i = 0; i < flight.nLinks; ++i)
    {
        ++m_used[m_flightLinks[flight.firstLink + i]];
    }
    flight.chunk = workload.chunk;
    flight.kind = workload.kind;
    flight.isActive = true;
    flight.source = workload.GetSource();
    flight.target = workload.GetTarget();
    flight.fingerprint = GetFingerprint(workload);
    flight.contributors.assign(workload.contributors.begin(), workload.contributors.end());
    std::sort(flight.contributors.begin(), flight.contributors.end());
    TakeFromSender(flight);
    m_flights.push_back(std::move(flight));
    ++m_nActive;
    return true;
}

std::string
Describe(const Workload& workload)
{
    return std::string(ToString(workload.kind)) + " of chunk " + std::to_string(workload.chunk) +
           " along " + FormatPath(Path(workload.path.begin(), workload.path.end()));
}

} // namespace ns3::allreduce
