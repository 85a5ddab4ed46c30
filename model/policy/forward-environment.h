/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FORWARD_ENVIRONMENT_H
#define ALLREDUCE_FORWARD_ENVIRONMENT_H

#include "chunk-spread.h"
#include "cut-servers.h"
#include "planning-environment.h"

#include "ns3/allreduce-state.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief An AllReduce as the two policies see it forwards in time: reduces and broadcasts are in
 * flight together.
 *
 * A partial sum is sent where it is merged with another one, and only while those that stay can
 * still be merged one by one at the root: so no transfer is wasted. Where no other is in reach, as
 * after a failure, it is moved nearer to the root by itself.
 *
 * In a round, reduces of the trees that the upper policy selects are picked first, then their
 * broadcasts, then what the other trees can do with the ports that are left: a sum that becomes
 * final late delays everything, a broadcast can almost always wait for a round.
 */
class ForwardEnvironment : public PlanningEnvironment
{
  public:
    /// @param state any state in which no workload is in flight; its network must live on
    explicit ForwardEnvironment(const AllReduceState& state);

    uint64_t GetNTransfersLeft() const override;
    uint32_t GetRoundsNeeded() const override;
    void WriteTreeFeatures(std::vector<float>& rows) const override;
    bool OfferMore() override;
    std::vector<float> MakeValueFeatures() const override;
    void WriteSenderFeatures(uint32_t port, std::vector<float>& rows) const override;
    void WriteItemFeatures(uint32_t port,
                           const Sender& sender,
                           const std::vector<uint32_t>& items,
                           std::vector<float>& rows) const override;
    RoundOutcome EndRound() override;

  private:
    /// What a sender has for a receiver.
    struct Stock
    {
        uint32_t nItems{0};    //!< items
        uint32_t nPartials{0}; //!< of these, partial sums
        uint32_t rarest{0};    //!< rarity of the rarest
        bool isForRoot{false}; //!< there is a partial sum of a chunk with the receiver as root
    };

    void TakeStock() override;
    bool OfferFirst() override;
    bool IsReceiving(NodeId server) const override;
    void Apply(uint32_t item, const Path& path, WorkloadList& round) override;
    void WritePortFeatures(uint32_t port, float* row) const override;

    void FindReach();
    void FindHolders();
    void CountNeeds();
    void FindIncomplete();
    uint32_t CountHopsLeft(ChunkId chunk) const;
    void WriteMasks();
    void AdmitRelays(ChunkId chunk);
    void KeepTogether(ChunkId chunk);
    void ApplyReduce(ChunkId chunk, NodeId source, NodeId target);
    void ApplyBroadcast(ChunkId chunk, NodeId source, NodeId target);
    void UpdateRarity(ChunkId chunk);
    double CountRoundsOfWork() const;
    Stock FindStock(NodeId sender, NodeId receiver) const;
    float GetSlackOut(NodeId server) const;
    void WriteFinalFeatures(uint32_t port, ChunkId chunk, uint32_t fewest, float* row) const;
    void WritePartialFeatures(NodeId sender,
                              NodeId receiver,
                              ChunkId chunk,
                              uint32_t fewest,
                              float* row) const;
    uint32_t CountPartials(const BitMatrix& around, NodeId server, ChunkId chunk) const;
    uint32_t CountHolders(ChunkId chunk) const;

    AllReduceState m_state;                 //!< how far all has come
    BitMatrix m_reach;                      //!< [server][server]: one workload joins them
    bool m_areAllJoined{true};              //!< m_reach joins all servers with all
    CutServers m_cuts;                      //!< on m_reach
    std::vector<uint32_t> m_hops;           //!< [root][server]: workloads between them
    ChunkSpread m_spread;                   //!< who has the final sums, or soon will
    BitMatrix m_partials;                   //!< [chunk][server]: has a partial sum
    std::vector<uint32_t> m_nHoldersBefore; //!< by chunk, at the beginning of the round
    std::vector<uint32_t> m_nPartials;      //!< by chunk: servers in m_partials
    std::vector<uint32_t> m_nToSend;        //!< by server: partial sums it has to send
    std::vector<uint32_t> m_nAwaited;       //!< by server: chunks it is the root of, not final
    std::vector<uint32_t> m_outNeed;        //!< by server: workloads it must yet send, at least
    std::vector<uint32_t> m_nComing;        //!< [server][chunk]: partial sums on the way
    uint64_t m_nTransfersLeft{0};           //!< of all chunks
    uint64_t m_nPicked{0};                  //!< workloads of the present round
    uint32_t m_pass{0};                     //!< what is offered in the present round: see OfferMore
    uint32_t m_firstTarget{0};              //!< m_target at the start
    double m_meanHolders{0};                //!< of final chunks that are not everywhere
    double m_meanPartials{0};               //!< of chunks that are not final
    double m_shareFinal{0};                 //!< of chunks
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FORWARD_ENVIRONMENT_H */
