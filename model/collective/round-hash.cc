/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "round-hash.h"

#include "bit-mix.h"

#include <iomanip>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// A hash of numbers in order.
class HashChain
{
  public:
    void Add(uint64_t number)
    {
        m_hash = MixBits(m_hash ^ number);
    }

    /// Nodes, and how many, lest a path's end is taken for a contributor.
    void Add(const NodeRange& nodes)
    {
        Add(nodes.size());
        for (const NodeId node : nodes)
        {
            Add(node);
        }
    }

    uint64_t Get() const
    {
        return m_hash;
    }

  private:
    uint64_t m_hash{0}; //!< of what was added
};

} // namespace

uint64_t
HashRound(const WorkloadList& round)
{
    HashChain chain;
    chain.Add(round.GetSize());
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        const Workload workload = round.Get(i);
        chain.Add(workload.chunk);
        chain.Add(static_cast<uint64_t>(workload.kind));
        chain.Add(workload.path);
        chain.Add(workload.contributors);
    }
    return chain.Get();
}

uint64_t
CombineHashes(const std::vector<uint64_t>& hashes)
{
    HashChain chain;
    chain.Add(hashes.size());
    for (const uint64_t hash : hashes)
    {
        chain.Add(hash);
    }
    return chain.Get();
}

uint64_t
HashRounds(RoundRange rounds)
{
    std::vector<uint64_t> hashes;
    for (const WorkloadList& round : rounds)
    {
        hashes.push_back(HashRound(round));
    }
    return CombineHashes(hashes);
}

std::string
FormatHash(uint64_t hash)
{
    std::ostringstream text;
    text << std::hex << std::setw(16) << std::setfill('0') << hash;
    return text.str();
}

} // namespace ns3::allreduce
