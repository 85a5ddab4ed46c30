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
AllReduceState::SetRates(const Topology& topology)
{
    m_topology = &topology;
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
