/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COLLECTIVE_H
#define ALLREDUCE_COLLECTIVE_H

#include "allreduce-workload.h"
#include "bit-matrix.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a group of servers does with its data.
enum class CollectiveKind : uint8_t
{
    ALL_REDUCE,     //!< all contribute, all receive the sum
    REDUCE_SCATTER, //!< all contribute, the root of a chunk receives its sum
    ALL_GATHER,     //!< the root of a chunk contributes, all receive it
    BROADCAST,      //!< as ALL_GATHER, with one root for all chunks
    REDUCE          //!< as REDUCE_SCATTER, with one root for all chunks
};

/// @ingroup allreduce
/// @return "allreduce", "reduce-scatter", "all-gather", "broadcast" or "reduce"
const char* ToString(CollectiveKind kind);

/// @ingroup allreduce
/// @return whether all chunks have the same root: BROADCAST and REDUCE
bool HasOneRoot(CollectiveKind kind);

/**
 * @ingroup allreduce
 *
 * @param text what ToString returns
 * @param what names the text in messages
 * @return the kind
 * @throws InputError if there is none of this name
 */
CollectiveKind ParseCollectiveKind(const std::string& text, const std::string& what);

/**
 * @ingroup allreduce
 *
 * @brief What is to be summed, and where: for each chunk a root, where its sum is made, the
 * *contributors*, whose numbers are in the sum, and the *receivers*, which have it in the end.
 *
 * The root contributes, and has the sum. Servers that neither contribute nor receive may pass a
 * chunk on, if relays are allowed. An AllReduce of all servers has no sets: all contribute to and
 * receive all chunks.
 */
struct Collective
{
    Collective() = default;

    /// An AllReduce of all servers. @param chunkRoots the root of each chunk
    Collective(std::vector<NodeId> chunkRoots)
        : roots(std::move(chunkRoots))
    {
    }

    /// An AllReduce of all servers. @param chunkRoots the root of each chunk
    Collective(std::initializer_list<NodeId> chunkRoots)
        : roots(chunkRoots)
    {
    }

    std::vector<NodeId> roots;             //!< by chunk: where its sum is made
    std::vector<std::vector<NodeId>> sets; //!< sets of servers, each ascending
    std::vector<uint32_t> contributors;    //!< by chunk: an index in sets; none: all servers
    std::vector<uint32_t> receivers;       //!< by chunk: likewise
    bool mayRelay{true};                   //!< whether others may pass chunks on

    /// @return whether all servers contribute to and receive all chunks
    bool IsOfAll() const
    {
        return contributors.empty();
    }

    /// @return the number of chunks
    uint32_t GetNChunks() const
    {
        return roots.size();
    }
};

/// @return whether the two are equal in every part
bool operator==(const Collective& x, const Collective& y);

/**
 * @ingroup allreduce
 *
 * @param collective a collective
 * @param topology the network
 * @return why it is none of this network; "" if it is one
 */
std::string FindFault(const Collective& collective, const Topology& topology);

/**
 * @ingroup allreduce
 *
 * @param collective a collective of groups, without a fault
 * @param chunk a chunk
 * @return who contributes to it or receives it, ascending
 */
std::vector<NodeId> GetMembers(const Collective& collective, ChunkId chunk);

/**
 * @ingroup allreduce
 *
 * @param collective a collective without a fault
 * @param nServers number of servers
 * @return how many workloads a schedule of it has at least
 */
uint64_t CountLeastWorkloads(const Collective& collective, uint32_t nServers);

/// @ingroup allreduce
/// Who takes part in which chunk, for quick look-ups: matrices of [server][chunk].
struct ChunkMembers
{
    /**
     * @param collective a collective without a fault
     * @param nServers number of servers
     */
    ChunkMembers(const Collective& collective, uint32_t nServers);

    BitMatrix contributors; //!< whose numbers are in the sum
    BitMatrix receivers;    //!< who is to have the sum, the root among them
    BitMatrix mayHold;      //!< who may have a part of it; no columns: everybody
};

/// @ingroup allreduce
/// A group of servers and what it does.
struct Group
{
    CollectiveKind kind{CollectiveKind::ALL_REDUCE}; //!< what it does
    std::vector<NodeId> servers;                     //!< ascending, each once
    NodeId root{0};                                  //!< of BROADCAST and REDUCE: a server of it
};

/**
 * @ingroup allreduce
 *
 * The collectives of several groups as one. Each group has as many chunks as any other, so that
 * all chunks are of one size if all groups have as much data: as many for each server of the
 * largest group as asked for. Their roots are the group's servers in turn: chunk c of a group of n
 * has the server at c n / chunks. If all groups have as many servers, all are roots equally often.
 *
 * @param groups the groups; no server is in two of them
 * @param nServers number of servers of the network
 * @param chunksPerServer chunks for each server of the largest group
 * @param mayRelay whether servers of other groups and of none may pass chunks on
 * @return the collective; an AllReduce of all servers if that is what it is
 * @throws InputError if a server is in two groups or not in the network, or a group is too small
 */
Collective MakeCollective(const std::vector<Group>& groups,
                          uint32_t nServers,
                          uint32_t chunksPerServer,
                          bool mayRelay);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_COLLECTIVE_H */
