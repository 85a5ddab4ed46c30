/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-data.h"

#include "ns3/bit-mix.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

constexpr std::size_t WORD_BYTES = sizeof(uint64_t);

/// Reads an integer of up to eight bytes, the lowest first.
uint64_t
ReadWord(const uint8_t* from, std::size_t size)
{
    uint64_t word = 0;
    for (std::size_t i = 0; i < size; ++i)
    {
        word |= uint64_t{from[i]} << (8 * i);
    }
    return word;
}

/// Writes as many bytes of an integer, the lowest first.
void
WriteWord(uint8_t* to, uint64_t word, std::size_t size)
{
    for (std::size_t i = 0; i < size; ++i)
    {
        to[i] = word >> (8 * i);
    }
}

/// Adds a vector of integers to another of the same size.
void
AddTo(Bytes& sum, const Bytes& other)
{
    for (std::size_t at = 0; at < sum.size(); at += WORD_BYTES)
    {
        const std::size_t size = std::min(WORD_BYTES, sum.size() - at);
        WriteWord(&sum[at], ReadWord(&sum[at], size) + ReadWord(&other[at], size), size);
    }
}

} // namespace

AllReduceData::AllReduceData(Collective collective,
                             uint32_t nServers,
                             std::vector<uint64_t> chunkBytes)
    : m_roots(collective.roots),
      m_members(collective, nServers),
      m_nServers(nServers),
      m_chunkBytes(std::move(chunkBytes)),
      m_holdings(m_roots.size() * nServers),
      m_truths(m_roots.size())
{
    for (ChunkId chunk = 0; chunk < m_roots.size(); ++chunk)
    {
        uint32_t nContributors = 0;
        for (NodeId server = 0; server < nServers; ++server)
        {
            const bool contributes = m_members.contributors.Test(server, chunk);
            Get(server, chunk).hasPartial = contributes;
            Get(server, chunk).isUntouched = contributes;
            nContributors += contributes;
        }
        if (nContributors == 1)
        {
            MakeFinal(chunk);
        }
    }
}

AllReduceData::Holding&
AllReduceData::Get(NodeId server, ChunkId chunk)
{
    return m_holdings[std::size_t{server} * m_roots.size() + chunk];
}

Bytes
AllReduceData::MakeFirst(NodeId server, ChunkId chunk) const
{
    Bytes data(m_chunkBytes[chunk]);
    uint64_t state = uint64_t{server} << 32 | chunk;
    for (std::size_t at = 0; at < data.size(); at += WORD_BYTES, state += SPLIT_MIX_STEP)
    {
        WriteWord(&data[at], MixBits(state), std::min(WORD_BYTES, data.size() - at));
    }
    return data;
}

std::shared_ptr<const Bytes>
AllReduceData::GetTruth(ChunkId chunk)
{
    if (!m_truths[chunk])
    {
        auto sum = std::make_shared<Bytes>(m_chunkBytes[chunk]);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            if (m_members.contributors.Test(server, chunk))
            {
                AddTo(*sum, MakeFirst(server, chunk));
            }
        }
        m_truths[chunk] = sum;
    }
    return m_truths[chunk];
}

Bytes
AllReduceData::TakePartial(NodeId server, ChunkId chunk)
{
    Holding& holding = Get(server, chunk);
    Bytes data = holding.isUntouched ? MakeFirst(server, chunk) : std::move(holding.partial);
    holding.isUntouched = false;
    holding.hasPartial = false;
    holding.partial = {};
    return data;
}

void
AllReduceData::AddToPartial(NodeId server, ChunkId chunk, const Bytes& data)
{
    Bytes sum = data;
    if (Get(server, chunk).hasPartial)
    {
        AddTo(sum, TakePartial(server, chunk));
    }
    Holding& holding = Get(server, chunk);
    holding.hasPartial = true;
    holding.isUntouched = false;
    holding.partial = std::move(sum);
}

AllReduceData::Contents
AllReduceData::Take(const Workload& workload)
{
    const NodeId source = workload.GetSource();
    Holding& holding = Get(source, workload.chunk);
    if (workload.kind == WorkloadKind::BROADCAST)
    {
        Contents contents;
        contents.payload = holding.sum;
        return contents;
    }
    Contents contents;
    std::vector<NodeId> wanted(workload.contributors.begin(), workload.contributors.end());
    std::sort(wanted.begin(), wanted.end());
    const auto isWanted = [&](const std::vector<NodeId>& names) {
        return wanted.empty() ||
               std::includes(wanted.begin(), wanted.end(), names.begin(), names.end());
    };
    auto payload = std::make_shared<Bytes>(m_chunkBytes[workload.chunk]);
    if (holding.hasPartial && isWanted({source}))
    {
        contents.hasOwn = true;
        contents.own = TakePartial(source, workload.chunk);
        AddTo(*payload, contents.own);
    }
    std::vector<ApartPiece> left;
    for (ApartPiece& piece : holding.apart)
    {
        if (isWanted(piece.contributors))
        {
            AddTo(*payload, piece.data);
            contents.names.push_back(std::move(piece.contributors));
            contents.pieces.push_back(std::move(piece.data));
        }
        else
        {
            left.push_back(std::move(piece));
        }
    }
    holding.apart = std::move(left);
    contents.payload = payload;
    return contents;
}

void
AllReduceData::Put(const Workload& workload, const Bytes& arrived)
{
    const NodeId target = workload.GetTarget();
    if (workload.kind == WorkloadKind::BROADCAST)
    {
        SetSum(target, workload.chunk, arrived);
    }
    else if (workload.contributors.empty() || target == m_roots[workload.chunk])
    {
        AddToPartial(target, workload.chunk, arrived);
    }
    else
    {
        std::vector<NodeId> names(workload.contributors.begin(), workload.contributors.end());
        std::sort(names.begin(), names.end());
        Get(target, workload.chunk).apart.push_back({std::move(names), arrived});
    }
}

void
AllReduceData::PutBack(const Workload& workload, Contents contents)
{
    if (workload.kind == WorkloadKind::BROADCAST)
    {
        return;
    }
    const NodeId source = workload.GetSource();
    if (contents.hasOwn)
    {
        AddToPartial(source, workload.chunk, contents.own);
    }
    for (std::size_t i = 0; i < contents.pieces.size(); ++i)
    {
        Get(source, workload.chunk)
            .apart.push_back({std::move(contents.names[i]), std::move(contents.pieces[i])});
    }
}

void
AllReduceData::MakeFinal(ChunkId chunk)
{
    const NodeId root = m_roots[chunk];
    SetSum(root, chunk, TakePartial(root, chunk));
}

void
AllReduceData::SetSum(NodeId server, ChunkId chunk, const Bytes& data)
{
    const auto truth = GetTruth(chunk);
    Get(server, chunk).sum = data == *truth ? truth : std::make_shared<const Bytes>(data);
}

std::string
AllReduceData::FindWrong(const std::function<bool(NodeId)>& isChecked) const
{
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (ChunkId chunk = 0; isChecked(server) && chunk < m_roots.size(); ++chunk)
        {
            const auto& sum = m_holdings[std::size_t{server} * m_roots.size() + chunk].sum;
            if (m_members.receivers.Test(server, chunk) && (!sum || sum != m_truths[chunk]))
            {
                return "server " + std::to_string(server) +
                       (sum ? " has a wrong sum of chunk " : " lacks the sum of chunk ") +
                       std::to_string(chunk);
            }
        }
    }
    return "";
}

} // namespace ns3::allreduce
