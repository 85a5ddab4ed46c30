/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_OFFERED_ITEMS_H
#define ALLREDUCE_OFFERED_ITEMS_H

#include "planning-state.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A round offers choices in three phases, so that no port idles because a choice was held back.
enum class OfferPhase : uint8_t
{
    SELECTED, //!< items of the flow-trees that the upper policy selected
    ALL,      //!< all items
    LEAVING   //!< final sums for servers that leave the chunk's core by receiving them
};

/**
 * @ingroup allreduce
 * @brief What servers may send to each other in the present phase of a round.
 *
 * An *item* is something that a workload can carry: the final sum of a chunk, whose item is the
 * chunk's number, or a partial sum of it, whose item is the number of chunks more.
 */
class OfferedItems
{
  public:
    /// @param state at its beginning
    explicit OfferedItems(const PlanningState& state);

    /// Begin a round: all trees are selected. @param state after its BeginRound
    void BeginRound(const PlanningState& state);

    /// @param phase what is offered from now on
    void SetPhase(OfferPhase phase);

    /// @return what is offered
    OfferPhase GetPhase() const
    {
        return m_phase;
    }

    /// @return the trees that may be selected or not: those whose broadcast has not begun
    const std::vector<ChunkId>& GetSelectableTrees() const
    {
        return m_selectable;
    }

    /// @param selected by index in GetSelectableTrees; takes effect with the next SetPhase
    void SelectTrees(const std::vector<bool>& selected);

    /// @return whether some tree is not selected
    bool IsAnyLeftOut() const
    {
        return m_isAnyLeftOut;
    }

    /// @return whether a server has any use for items @param state the state @param server receives
    bool IsReceiving(const PlanningState& state, NodeId server) const;

    /// @return bits of the chunks whose final sums a server would take
    /// @param state the state @param receiver the server @param word which 64 chunks
    uint64_t GetAcceptedFinals(const PlanningState& state, NodeId receiver, std::size_t word) const
    {
        return m_active[word] &
               (m_phase == OfferPhase::LEAVING ? state.mayLeave.GetRow(receiver)[word]
                                               : ~state.refused.GetRow(receiver)[word]);
    }

    /// @return bits of the chunks whose final sums one server could send to another
    /// @param state the state @param sender the one @param receiver the other
    /// @param word which 64 chunks
    uint64_t GetFinals(const PlanningState& state,
                       NodeId sender,
                       NodeId receiver,
                       std::size_t word) const
    {
        return state.sendable.GetRow(sender)[word] & GetAcceptedFinals(state, receiver, word);
    }

    /// @return how many partial sums one server could send to another
    /// @param state the state @param sender the one @param receiver the other
    uint32_t CountPartials(const PlanningState& state, NodeId sender, NodeId receiver) const;

    /// @return whether one server could send anything to another
    /// @param state the state @param sender the one @param receiver the other
    bool HasAny(const PlanningState& state, NodeId sender, NodeId receiver) const;

    /// @param state the state @param sender a server @param port of another server
    /// @param most if there are more items, only so many of the rarest
    /// @param [out] items what the one could send to the other
    void Find(const PlanningState& state,
              NodeId sender,
              uint32_t port,
              uint32_t most,
              std::vector<uint32_t>& items) const;

  private:
    void KeepRarest(const PlanningState& state,
                    uint32_t port,
                    uint32_t most,
                    std::vector<uint32_t>& items) const;

    OfferPhase m_phase{OfferPhase::SELECTED};
    std::vector<ChunkId> m_selectable;
    std::vector<bool> m_isSelected; //!< by chunk
    bool m_isAnyLeftOut{false};
    std::vector<uint64_t> m_active; //!< bits of the chunks whose trees are offered
    mutable std::vector<std::pair<uint64_t, uint32_t>> m_keys; //!< rarity and item, to be sorted
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_OFFERED_ITEMS_H */
