/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_MEMORY_H
#define ALLREDUCE_MSCCL_MEMORY_H

#include "msccl-program.h"

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// The sum of some servers' contributions to a chunk.
struct MscclSum
{
    ChunkId chunk{0};              //!< the chunk
    std::vector<uint64_t> members; //!< a bit for each contributor
    uint32_t nMembers{0};          //!< how many they are
    bool isSpent{false};           //!< somebody else has it now; counting it again would be wrong
    bool isFinal{false};           //!< it is the sum of all

    /// @return the contributors, ascending
    std::vector<NodeId> ListMembers() const;
};

/**
 * @ingroup allreduce
 *
 * @brief What the buffers of a program's GPUs hold while it runs, and which steps race for it.
 *
 * A partial sum is somewhere only once: who sends, copies or adds it spends it. A step sees the
 * past through its own threadblock, the steps it waited for and the messages it received; what
 * touched its slots outside of that past races with it.
 */
class MscclMemory
{
  public:
    /// By threadblock of all GPUs: how many of its steps are past.
    using Past = std::vector<uint32_t>;

    /**
     * @param program the program, which must outlive this
     * @param source where it comes from, for messages
     */
    MscclMemory(const MscclProgram& program, std::string source);

    /**
     * A step begins: from now on slots are used by it.
     *
     * @param place the step
     * @param past what it sees; its own threadblock is brought up to date
     */
    void Begin(const MscclPlace& place, Past& past);

    /**
     * Take what is in a slot, to send it or to add it to something.
     *
     * @param slot the slot
     * @return what it held, not spent
     * @throws InputError if there is nothing, or it was spent before
     */
    MscclSum Take(MscclSlot slot);

    /**
     * @param slot a slot, whose sum is spent then
     * @param sum what to add to it
     * @return both together
     * @throws InputError if that counts something twice, or mixes chunks
     */
    MscclSum Add(MscclSlot slot, const MscclSum& sum);

    /**
     * @param slot a slot
     * @param sum what it holds from now on
     * @throws InputError if contributions are overwritten that nobody else has
     */
    void Store(MscclSlot slot, MscclSum sum);

    /**
     * @param from a slot, whose partial sum is spent then
     * @param to the slot that gets it
     */
    void Copy(MscclSlot from, MscclSlot to);

    /**
     * Check that every GPU has every sum in its output buffer.
     *
     * @throws InputError that names the first that is missing
     */
    void CheckEnd() const;

    /// @return by chunk: the GPU where its sum was complete first
    const std::vector<NodeId>& GetRoots() const;

    /// @return whether every sum was always in the slot of its chunk and in no other
    bool IsInPlace() const;

    /**
     * @param gpu a GPU
     * @param slot one of its slots
     * @return a number for it, different for all slots of all GPUs
     */
    std::size_t GetIndex(uint32_t gpu, MscclSlot slot) const;

    /// @return the number of threadblocks of all GPUs
    std::size_t GetNBlocks() const;

  private:
    /// A step that used a slot.
    struct Access
    {
        uint32_t block; //!< its threadblock, among those of all GPUs
        uint32_t step;  //!< the step
    };

    /// Room for one chunk.
    struct Cell
    {
        std::optional<MscclSum> sum;  //!< what is there
        std::optional<Access> writer; //!< who put it there
        std::vector<Access> readers;  //!< who has read it since
    };

    template <typename... Parts>
    [[noreturn]] void Fail(const Parts&... parts) const;
    Cell& Read(MscclSlot slot);
    Cell& Write(MscclSlot slot);
    void CheckPast(const Access& access, MscclSlot slot) const;

    const MscclProgram& m_program;
    std::string m_source;                 //!< where it comes from
    std::vector<std::size_t> m_firstCell; //!< by GPU: index of its first cell
    std::vector<uint32_t> m_firstBlock;   //!< by GPU: number of its first threadblock
    std::vector<Cell> m_cells;            //!< all slots
    std::vector<NodeId> m_roots;          //!< see GetRoots
    bool m_isInPlace{true};               //!< see IsInPlace
    MscclPlace m_place;                   //!< the step that runs
    const Past* m_past{nullptr};          //!< what it sees
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_MEMORY_H */
