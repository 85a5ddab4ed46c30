/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DATA_H
#define ALLREDUCE_DATA_H

#include "ns3/allreduce-transport.h"
#include "ns3/allreduce-workload.h"
#include "ns3/collective.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The numbers of an AllReduce, or another collective: what every server really holds of
 * every chunk.
 *
 * A chunk is a vector of 64-bit integers that are added modulo 2^64; if its size is not a multiple
 * of eight bytes the last integer is shorter and added modulo a smaller power of two. Contributors
 * begin with pseudo-random numbers. Whether a move is allowed is for AllReduceState to say.
 *
 * Sums that have been found to be right are kept once for all servers, so that the memory needed
 * does not grow with their number.
 */
class AllReduceData
{
  public:
    /// What a workload took from its sender, in pieces, so that it can be put back.
    struct Contents
    {
        std::shared_ptr<const Bytes> payload;   //!< the sum of the pieces
        bool hasOwn{false};                     //!< whether the sender's partial is among them
        Bytes own;                              //!< the sender's partial
        std::vector<std::vector<NodeId>> names; //!< whose the other pieces are
        std::vector<Bytes> pieces;              //!< the other pieces
    };

    /**
     * @param collective what is to be summed where
     * @param nServers number of servers
     * @param chunkBytes by chunk: its size
     */
    AllReduceData(Collective collective, uint32_t nServers, std::vector<uint64_t> chunkBytes);

    /**
     * A workload begins.
     *
     * @param workload the workload
     * @return what it carries
     */
    Contents Take(const Workload& workload);

    /**
     * A workload has arrived.
     *
     * @param workload the workload
     * @param arrived the bytes that have arrived
     */
    void Put(const Workload& workload, const Bytes& arrived);

    /**
     * A workload is lost; the sender has its data again.
     *
     * @param workload the workload
     * @param contents what Take returned
     */
    void PutBack(const Workload& workload, Contents contents);

    /**
     * All contributions to a chunk are at its root.
     *
     * @param chunk the chunk
     */
    void MakeFinal(ChunkId chunk);

    /**
     * @param isChecked says which servers to look at
     * @return which of them lacks which sum that it is to receive, or has a wrong one; "" if all
     * is right
     */
    std::string FindWrong(const std::function<bool(NodeId)>& isChecked) const;

  private:
    /// Contributions that a server holds apart from its partial.
    struct ApartPiece
    {
        std::vector<NodeId> contributors; //!< whose they are, ascending
        Bytes data;                       //!< their sum
    };

    /// What a server holds of a chunk.
    struct Holding
    {
        bool isUntouched{true};           //!< the partial is still the server's first one
        bool hasPartial{true};            //!< whether there is a partial
        Bytes partial;                    //!< the partial, unless it is untouched
        std::vector<ApartPiece> apart;    //!< what is held apart
        std::shared_ptr<const Bytes> sum; //!< the final sum
    };

    Holding& Get(NodeId server, ChunkId chunk);
    Bytes MakeFirst(NodeId server, ChunkId chunk) const;
    std::shared_ptr<const Bytes> GetTruth(ChunkId chunk);
    void AddToPartial(NodeId server, ChunkId chunk, const Bytes& data);
    Bytes TakePartial(NodeId server, ChunkId chunk);
    void SetSum(NodeId server, ChunkId chunk, const Bytes& data);

    std::vector<NodeId> m_roots;                        //!< by chunk
    ChunkMembers m_members;                             //!< who contributes and receives
    uint32_t m_nServers;                                //!< number of servers
    std::vector<uint64_t> m_chunkBytes;                 //!< by chunk
    std::vector<Holding> m_holdings;                    //!< [server][chunk]
    std::vector<std::shared_ptr<const Bytes>> m_truths; //!< by chunk: the true sum, once needed
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DATA_H */
