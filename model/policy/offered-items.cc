/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "offered-items.h"

#include <algorithm>

namespace ns3::allreduce
{

OfferedItems::OfferedItems(const PlanningState& state)
    : m_isSelected(state.nChunks, true),
      m_active(state.sendable.GetRowWords(), 0)
{
}

void
OfferedItems::BeginRound(const PlanningState& state)
{
    m_selectable.clear();
    m_isAnyLeftOut = false;
    for (ChunkId chunk = 0; chunk < state.nChunks; ++chunk)
    {
        m_isSelected[chunk] = true;
        if (state.trees.CountLeft(chunk) > 0 || state.nHoldersBefore[chunk] == 1)
        {
            m_selectable.push_back(chunk);
        }
    }
}

void
OfferedItems::SelectTrees(const std::vector<bool>& selected)
{
    for (std::size_t i = 0; i < m_selectable.size(); ++i)
    {
        m_isSelected[m_selectable[i]] = selected[i];
        m_isAnyLeftOut = m_isAnyLeftOut || !selected[i];
    }
}

void
OfferedItems::SetPhase(OfferPhase phase)
{
    m_phase = phase;
    std::fill(m_active.begin(), m_active.end(), ~uint64_t{0});
    for (ChunkId chunk = 0; phase == OfferPhase::SELECTED && chunk < m_isSelected.size(); ++chunk)
    {
        if (!m_isSelected[chunk])
        {
            m_active[chunk / BitMatrix::WORD_BITS] &=
                ~(uint64_t{1} << chunk % BitMatrix::WORD_BITS);
        }
    }
}

bool
OfferedItems::IsReceiving(const PlanningState& state, NodeId server) const
{
    if (m_phase != OfferPhase::LEAVING)
    {
        return state.nMissing[server] > 0;
    }
    const uint64_t* row = state.mayLeave.GetRow(server);
    return std::any_of(row, row + m_active.size(), [](uint64_t word) { return word; });
}

uint32_t
OfferedItems::CountPartials(const PlanningState& state, NodeId sender, NodeId receiver) const
{
    if (m_phase == OfferPhase::LEAVING || state.trees.CountPending(sender) == 0)
    {
        return 0;
    }
    const std::vector<ChunkId>& ready = state.trees.GetReady(sender, receiver);
    return m_phase == OfferPhase::ALL
               ? ready.size()
               : std::count_if(ready.begin(), ready.end(), [&](ChunkId chunk) {
                     return m_isSelected[chunk];
                 });
}

bool
OfferedItems::HasAny(const PlanningState& state, NodeId sender, NodeId receiver) const
{
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        if (GetFinals(state, sender, receiver, i) != 0)
        {
            return true;
        }
    }
    return CountPartials(state, sender, receiver) > 0;
}

void
OfferedItems::Find(const PlanningState& state,
                   NodeId sender,
                   uint32_t port,
                   uint32_t most,
                   std::vector<uint32_t>& items) const
{
    const NodeId receiver = state.network->ports[port].server;
    items.clear();
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        const uint64_t word = GetFinals(state, sender, receiver, i);
        ForEachBit(&word, 1, [&](uint32_t bit) {
            items.push_back(i * BitMatrix::WORD_BITS + bit);
        });
    }
    if (m_phase != OfferPhase::LEAVING)
    {
        for (const ChunkId chunk : state.trees.GetReady(sender, receiver))
        {
            if (m_phase == OfferPhase::ALL || m_isSelected[chunk])
            {
                items.push_back(state.nChunks + chunk);
            }
        }
    }
    if (items.size() > most)
    {
        KeepRarest(state, port, most, items);
    }
}

void
OfferedItems::KeepRarest(const PlanningState& state,
                         uint32_t port,
                         uint32_t most,
                         std::vector<uint32_t>& items) const
{
    // Partial sums that are nearly complete and final sums that few have come first, equal ones in
    // another order for each port, so that not all send the same.
    const uint32_t offset = port * 31 + state.round * 17;
    m_keys.clear();
    for (const uint32_t item : items)
    {
        const uint64_t rarity = item < state.nChunks ? state.spread.GetCounts()[item]
                                                     : state.trees.CountLeft(item - state.nChunks);
        m_keys.emplace_back(rarity * state.nChunks + (item + offset) % state.nChunks, item);
    }
    std::nth_element(m_keys.begin(), m_keys.begin() + most, m_keys.end());
    items.resize(most);
    std::transform(m_keys.begin(), m_keys.begin() + most, items.begin(), [](const auto& key) {
        return key.second;
    });
}

} // namespace ns3::allreduce
