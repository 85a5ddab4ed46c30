/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-state.h"

#include "bit-mix.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <numeric>

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

AllReduceState::AllReduceState(const Topology& topology, Collective collective)
    : m_topology(&topology),
      m_collective(std::move(collective)),
      m_isDown(topology.GetNLinks(), false),
      m_used(topology.GetNDirectedLinks(), 0),
      m_touched(topology.GetNServers(), GetNChunks()),
      m_finals(topology.GetNServers(), GetNChunks()),
      m_expected(topology.GetNServers(), GetNChunks()),
      m_nUnits(GetNChunks(), topology.GetNServers()),
      m_nLacking(GetNChunks(), topology.GetNServers()),
      m_isFinal(GetNChunks(), false)
{
    const std::string fault = allreduce::FindFault(m_collective, topology);
    if (!fault.empty())
    {
        FailInput(fault);
    }
    ChunkMembers members(m_collective, topology.GetNServers());
    if (!m_collective.IsOfAll())
    {
        for (ChunkId chunk = 0; chunk < GetNChunks(); ++chunk)
        {
            const auto& receivers = m_collective.sets[m_collective.receivers[chunk]];
            const bool isRootAmong =
                std::binary_search(receivers.begin(), receivers.end(), m_collective.roots[chunk]);
            m_nUnits[chunk] = m_collective.sets[m_collective.contributors[chunk]].size();
            m_nLacking[chunk] = receivers.size() + !isRootAmong;
        }
        m_receivers = std::move(members.receivers);
        m_mayHold = std::move(members.mayHold);
    }
    m_nMissing = std::accumulate(m_nLacking.begin(), m_nLacking.end(), uint64_t{0});
    m_own = members.contributors;
    m_partials = std::move(members.contributors);
    for (ChunkId chunk = 0; chunk < GetNChunks(); ++chunk)
    {
        MakeFinalIfComplete(chunk);
    }
}

AllReduceState
AllReduceState::MakeReduced(const Topology& topology, Collective collective)
{
    AllReduceState state(topology, std::move(collective));
    state.m_partials = BitMatrix(topology.GetNServers(), state.GetNChunks());
    state.m_own = state.m_partials;
    for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
    {
        state.m_nUnits[chunk] = 1;
        state.MakeFinalIfComplete(chunk);
    }
    state.m_fingerprint = MixBits(state.GetNChunks());
    return state;
}

const Topology&
AllReduceState::GetTopology() const
{
    return *m_topology;
}

uint32_t
AllReduceState::GetNChunks() const
{
    return m_collective.GetNChunks();
}

const Collective&
AllReduceState::GetCollective() const
{
    return m_collective;
}

const std::vector<NodeId>&
AllReduceState::GetRoots() const
{
    return m_collective.roots;
}

const BitMatrix&
AllReduceState::GetMayHold() const
{
    return m_mayHold;
}

uint32_t
AllReduceState::GetRound() const
{
    return m_round;
}

void
AllReduceState::SetLinkUp(LinkId link, bool up)
{
    if (m_isDown[link] == up)
    {
        m_isDown[link] = !up;
        // Added and subtracted like all else, so that the order does not matter.
        const uint64_t fingerprint = MixBits(~uint64_t{link});
        m_fingerprint += up ? -fingerprint : fingerprint;
    }
}

void
AllReduceState::SetLinksShared(bool shared)
{
    m_areLinksShared = shared;
}

bool
AllReduceState::IsLinkUp(LinkId link) const
{
    return !m_isDown[link];
}

std::vector<uint32_t>
AllReduceState::GetCapacities() const
{
    std::vector<uint32_t> capacities = m_topology->GetCapacities();
    for (DirectedLinkId link = 0; link < capacities.size(); ++link)
    {
        capacities[link] = m_isDown[GetLinkId(link)] ? 0 : capacities[link];
    }
    return capacities;
}

const BitMatrix&
AllReduceState::GetPartials() const
{
    return m_partials;
}

const BitMatrix&
AllReduceState::GetFinals() const
{
    return m_finals;
}

const BitMatrix&
AllReduceState::GetExpected() const
{
    return m_expected;
}

bool
AllReduceState::IsFinal(ChunkId chunk) const
{
    return m_isFinal[chunk];
}

bool
AllReduceState::IsEverywhere(ChunkId chunk) const
{
    return m_nLacking[chunk] == 0;
}

uint64_t
AllReduceState::GetNMissing() const
{
    return m_nMissing;
}

bool
AllReduceState::IsDone() const
{
    return m_nMissing == 0;
}

bool
AllReduceState::IsFresh() const
{
    return m_fingerprint == 0 && m_nActive == 0;
}

uint64_t
AllReduceState::GetFingerprint() const
{
    return m_fingerprint;
}

uint64_t
AllReduceState::GetFingerprint(const Workload& workload)
{
    uint64_t hash = MixBits(uint64_t{workload.chunk} << 1 |
                            static_cast<uint64_t>(workload.kind == WorkloadKind::REDUCE));
    hash = MixBits(hash ^ (uint64_t{workload.GetSource()} << 32 | workload.GetTarget()));
    for (const NodeId contributor : workload.contributors)
    {
        hash = MixBits(hash ^ contributor);
    }
    return hash;
}

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

bool
AllReduceState::IsOwnContributionApart(NodeId server, ChunkId chunk) const
{
    return m_own.Test(server, chunk) && !m_touched.Test(server, chunk);
}

std::vector<std::size_t>
AllReduceState::FindApartUnits(ChunkId chunk, NodeId server) const
{
    std::vector<std::size_t> found;
    const auto units = m_apart.find(chunk);
    if (units != m_apart.end())
    {
        for (std::size_t i = 0; i < units->second.size(); ++i)
        {
            if (units->second[i].server == server)
            {
                found.push_back(i);
            }
        }
    }
    return found;
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

void
AllReduceState::Release(Flight& flight)
{
    for (uint32_t i = 0; i < flight.nLinks; ++i)
    {
        --m_used[m_flightLinks[flight.firstLink + i]];
    }
    flight.isActive = false;
    --m_nActive;
}

void
AllReduceState::TakeFromSender(Flight& flight)
{
    if (flight.kind == WorkloadKind::BROADCAST)
    {
        m_expected.Set(flight.target, flight.chunk);
        return;
    }
    const auto& wanted = flight.contributors;
    flight.wasTouched = m_touched.Test(flight.source, flight.chunk);
    flight.tookOwn = wanted.empty()
                         ? m_own.Test(flight.source, flight.chunk)
                         : IsOwnContributionApart(flight.source, flight.chunk) &&
                               std::binary_search(wanted.begin(), wanted.end(), flight.source);
    if (flight.tookOwn)
    {
        m_own.Clear(flight.source, flight.chunk);
    }
    const auto apart = FindApartUnits(flight.chunk, flight.source);
    for (auto index = apart.rbegin(); index != apart.rend(); ++index)
    {
        auto& units = m_apart[flight.chunk];
        auto& unit = units[*index].contributors;
        if (wanted.empty() || std::includes(wanted.begin(), wanted.end(), unit.begin(), unit.end()))
        {
            flight.tookApart.push_back(std::move(unit));
            units.erase(units.begin() + *index);
        }
    }
    // In flight they are one.
    m_nUnits[flight.chunk] -= flight.tookOwn + flight.tookApart.size() - 1;
    UpdatePartialBit(flight.source, flight.chunk);
}

void
AllReduceState::GiveBackToSender(Flight& flight)
{
    m_nUnits[flight.chunk] += flight.tookOwn + flight.tookApart.size() - 1;
    if (flight.tookOwn && m_own.Test(flight.source, flight.chunk))
    {
        MergeInto(flight.source, flight.chunk); // with what came in the meantime
    }
    else if (flight.tookOwn)
    {
        m_own.Set(flight.source, flight.chunk);
        if (!flight.wasTouched)
        {
            m_touched.Clear(flight.source, flight.chunk);
        }
    }
    for (auto& unit : flight.tookApart)
    {
        m_apart[flight.chunk].push_back({flight.source, std::move(unit)});
    }
    m_partials.Set(flight.source, flight.chunk);
}

void
AllReduceState::UpdatePartialBit(NodeId server, ChunkId chunk)
{
    if (m_own.Test(server, chunk) || !FindApartUnits(chunk, server).empty())
    {
        m_partials.Set(server, chunk);
    }
    else
    {
        m_partials.Clear(server, chunk);
    }
}

void
AllReduceState::MergeInto(NodeId server, ChunkId chunk)
{
    if (m_own.Test(server, chunk))
    {
        --m_nUnits[chunk];
    }
    m_own.Set(server, chunk);
    m_touched.Set(server, chunk);
    m_partials.Set(server, chunk);
}

void
AllReduceState::MakeFinalIfComplete(ChunkId chunk)
{
    // The root's own unit never moves, so that a single one is the root's.
    if (m_nUnits[chunk] > 1 || m_isFinal[chunk])
    {
        return;
    }
    const NodeId root = m_collective.roots[chunk];
    m_isFinal[chunk] = true;
    m_own.Clear(root, chunk);
    m_partials.Clear(root, chunk);
    m_finals.Set(root, chunk);
    m_expected.Set(root, chunk);
    --m_nLacking[chunk];
    --m_nMissing;
}

void
AllReduceState::Finish(FlightId id)
{
    Flight& flight = m_flights[id];
    Release(flight);
    m_fingerprint += flight.fingerprint;
    if (flight.kind == WorkloadKind::BROADCAST)
    {
        m_finals.Set(flight.target, flight.chunk);
        if (IsReceiver(flight.target, flight.chunk))
        {
            --m_nLacking[flight.chunk];
            --m_nMissing;
        }
    }
    else if (flight.contributors.empty() || flight.target == m_collective.roots[flight.chunk])
    {
        MergeInto(flight.target, flight.chunk);
        MakeFinalIfComplete(flight.chunk);
    }
    else
    {
        m_apart[flight.chunk].push_back({flight.target, flight.contributors});
        m_partials.Set(flight.target, flight.chunk);
    }
    DropEndedFlights();
}

void
AllReduceState::Abort(FlightId id)
{
    Flight& flight = m_flights[id];
    Release(flight);
    if (flight.kind == WorkloadKind::BROADCAST)
    {
        m_expected.Clear(flight.target, flight.chunk);
    }
    else
    {
        GiveBackToSender(flight);
    }
    DropEndedFlights();
}

void
AllReduceState::EndRound()
{
    const std::size_t nFlights = m_flights.size();
    for (FlightId id = 0; id < nFlights && m_nActive > 0; ++id)
    {
        if (m_flights[id].isActive)
        {
            Finish(id);
        }
    }
    ++m_round;
}

void
AllReduceState::DropEndedFlights()
{
    if (m_nActive == 0)
    {
        m_flights.clear();
        m_flightLinks.clear();
    }
}

std::string
Describe(const Workload& workload)
{
    return std::string(ToString(workload.kind)) + " of chunk " + std::to_string(workload.chunk) +
           " along " + FormatPath(Path(workload.path.begin(), workload.path.end()));
}

std::vector<NodeId>
MakeRoots(uint32_t nServers, uint32_t chunksPerServer)
{
    std::vector<NodeId> roots;
    roots.reserve(std::size_t{nServers} * chunksPerServer);
    for (NodeId server = 0; server < nServers; ++server)
    {
        roots.insert(roots.end(), chunksPerServer, server);
    }
    return roots;
}

} // namespace ns3::allreduce
