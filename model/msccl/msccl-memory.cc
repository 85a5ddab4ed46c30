/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-memory.h"

#include "ns3/allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

std::vector<NodeId>
MscclSum::ListMembers() const
{
    std::vector<NodeId> list;
    for (std::size_t word = 0; word < members.size(); ++word)
    {
        for (uint64_t bits = members[word]; bits != 0; bits &= bits - 1)
        {
            list.push_back(word * 64 + __builtin_ctzll(bits));
        }
    }
    return list;
}

MscclMemory::MscclMemory(const MscclProgram& program, std::string source)
    : m_program(program),
      m_source(std::move(source)),
      m_firstCell(1, 0),
      m_firstBlock(1, 0)
{
    const uint32_t nGpus = program.gpus.size();
    for (const MscclGpu& gpu : program.gpus)
    {
        m_firstCell.push_back(m_firstCell.back() + 2 * program.nChunks + gpu.nScratch);
        m_firstBlock.push_back(m_firstBlock.back() + gpu.blocks.size());
    }
    m_cells.resize(m_firstCell.back());
    for (uint32_t gpu = 0; gpu < nGpus; ++gpu)
    {
        for (ChunkId chunk = 0; chunk < program.nChunks; ++chunk)
        {
            MscclSum sum;
            sum.chunk = chunk;
            sum.members.assign((nGpus + 63) / 64, 0);
            sum.members[gpu / 64] |= uint64_t{1} << (gpu % 64);
            sum.nMembers = 1;
            sum.isFinal = nGpus == 1;
            m_cells[m_firstCell[gpu] + chunk].sum = std::move(sum);
        }
    }
    m_roots.assign(program.nChunks, nGpus == 1 ? 0 : nGpus);
}

template <typename... Parts>
void
MscclMemory::Fail(const Parts&... parts) const
{
    FailInput(m_source, ": ", Describe(m_place), ": ", parts...);
}

std::size_t
MscclMemory::GetIndex(uint32_t gpu, MscclSlot slot) const
{
    std::size_t index = m_firstCell[gpu] + slot.offset;
    if (slot.buffer == MscclBuffer::SCRATCH)
    {
        index += 2 * std::size_t{m_program.nChunks};
    }
    else if (slot.buffer == MscclBuffer::OUTPUT && !m_program.isInPlace)
    {
        index += m_program.nChunks;
    }
    return index;
}

std::size_t
MscclMemory::GetNBlocks() const
{
    return m_firstBlock.back();
}

void
MscclMemory::Begin(const MscclPlace& place, Past& past)
{
    m_place = place;
    m_past = &past;
    past[m_firstBlock[place.gpu] + place.tb] = place.step + 1;
}

void
MscclMemory::CheckPast(const Access& access, MscclSlot slot) const
{
    if ((*m_past)[access.block] > access.step)
    {
        return;
    }
    Fail("races with tb ",
         access.block - m_firstBlock[m_place.gpu],
         ", step ",
         access.step,
         " for ",
         static_cast<char>(slot.buffer),
         "[",
         slot.offset,
         "]: nothing says which of them comes first");
}

MscclMemory::Cell&
MscclMemory::Read(MscclSlot slot)
{
    Cell& cell = m_cells[GetIndex(m_place.gpu, slot)];
    if (cell.writer)
    {
        CheckPast(*cell.writer, slot);
    }
    cell.readers.push_back({m_firstBlock[m_place.gpu] + m_place.tb, m_place.step});
    return cell;
}

MscclMemory::Cell&
MscclMemory::Write(MscclSlot slot)
{
    Cell& cell = m_cells[GetIndex(m_place.gpu, slot)];
    if (cell.writer)
    {
        CheckPast(*cell.writer, slot);
    }
    for (const Access& reader : cell.readers)
    {
        CheckPast(reader, slot);
    }
    cell.readers.clear();
    cell.writer = {m_firstBlock[m_place.gpu] + m_place.tb, m_place.step};
    return cell;
}

MscclSum
MscclMemory::Take(MscclSlot slot)
{
    Cell& cell = Read(slot);
    if (!cell.sum)
    {
        Fail("there is nothing in ", static_cast<char>(slot.buffer), "[", slot.offset, "]");
    }
    if (cell.sum->isSpent)
    {
        Fail("uses a partial sum of chunk ",
             cell.sum->chunk,
             " that was sent or added before, expected each to go one way only");
    }
    MscclSum sum = *cell.sum;
    cell.sum->isSpent = !sum.isFinal;
    return sum;
}

MscclSum
MscclMemory::Add(MscclSlot slot, const MscclSum& sum)
{
    MscclSum total = Take(slot);
    if (total.chunk != sum.chunk)
    {
        Fail("adds chunk ", sum.chunk, " to chunk ", total.chunk);
    }
    if (total.isFinal || sum.isFinal)
    {
        Fail("adds to the sum of chunk ", sum.chunk, ", which is complete");
    }
    for (std::size_t i = 0; i < total.members.size(); ++i)
    {
        total.members[i] |= sum.members[i];
    }
    total.nMembers += sum.nMembers;
    if (total.nMembers == m_program.gpus.size())
    {
        total.isFinal = true;
        m_roots[total.chunk] = m_place.gpu;
    }
    return total;
}

void
MscclMemory::Store(MscclSlot slot, MscclSum sum)
{
    Cell& cell = Write(slot);
    if (cell.sum && !cell.sum->isSpent && !cell.sum->isFinal)
    {
        Fail("overwrites contributions to chunk ", cell.sum->chunk, " that nobody else has");
    }
    m_isInPlace = m_isInPlace && m_program.isInPlace && slot.buffer != MscclBuffer::SCRATCH &&
                  slot.offset == sum.chunk;
    cell.sum = std::move(sum);
}

void
MscclMemory::Copy(MscclSlot from, MscclSlot to)
{
    Cell& cell = Read(from);
    if (!cell.sum)
    {
        Fail("there is nothing in ", static_cast<char>(from.buffer), "[", from.offset, "]");
    }
    MscclSum sum = *cell.sum;
    cell.sum->isSpent = !sum.isFinal;
    Store(to, std::move(sum));
}

void
MscclMemory::CheckEnd() const
{
    for (uint32_t gpu = 0; gpu < m_program.gpus.size(); ++gpu)
    {
        for (ChunkId chunk = 0; chunk < m_program.nChunks; ++chunk)
        {
            const auto& sum = m_cells[GetIndex(gpu, {MscclBuffer::OUTPUT, chunk})].sum;
            if (!sum || !sum->isFinal || sum->chunk != chunk)
            {
                FailInput(m_source, ": gpu ", gpu, " ends without the sum of chunk ", chunk);
            }
        }
    }
}

const std::vector<NodeId>&
MscclMemory::GetRoots() const
{
    return m_roots;
}

bool
MscclMemory::IsInPlace() const
{
    return m_isInPlace;
}

} // namespace ns3::allreduce
