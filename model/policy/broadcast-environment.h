/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BROADCAST_ENVIRONMENT_H
#define ALLREDUCE_BROADCAST_ENVIRONMENT_H

#include "chunk-spread.h"
#include "planning-environment.h"
#include "region-supply.h"

#include "ns3/broadcast-problem.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A broadcast as the two policies see it. Read backwards in time it is a reduce, so that
 * policies for this environment plan both halves of an AllReduce.
 *
 * In a staggered broadcast a tree is worked on from the round on in which the upper policy selects
 * it. Read backwards, its reduce ends early, so that its sums can be broadcast while others are
 * still reduced. Else all trees are worked on from the first round, and there is nothing to select.
 *
 * As long as trees wait, a staggered broadcast spares the *narrow* servers, those that need all
 * rounds to receive what they miss: over switches they send only what nobody else has, or to
 * servers that have no slack. Read backwards, they merge little for others, so that their in-ports
 * are free for final sums while they still send their own partial ones.
 */
class BroadcastEnvironment : public PlanningEnvironment
{
  public:
    /**
     * @param problem who holds and wants what; its network must outlive the environment
     * @param limits what to leave to others
     * @param isStaggered whether trees begin when the upper policy selects them
     * @throws InputError if some server cannot be reached
     */
    explicit BroadcastEnvironment(const BroadcastProblem& problem,
                                  BroadcastLimits limits = {},
                                  bool isStaggered = false);

    uint64_t GetNTransfersLeft() const override;
    uint32_t GetRoundsNeeded() const override;
    void WriteTreeFeatures(std::vector<float>& rows) const override;
    bool IsDue(uint32_t tree, const Stagger& stagger) const override;
    bool OfferMore() override;
    bool MayWait() const override;
    std::vector<float> MakeValueFeatures() const override;
    void WriteSenderFeatures(uint32_t port, std::vector<float>& rows) const override;
    void WriteItemFeatures(uint32_t port,
                           const Sender& sender,
                           const std::vector<uint32_t>& items,
                           std::vector<float>& rows) const override;
    RoundOutcome EndRound() override;

  private:
    /// What narrow servers are spared.
    enum class Sparing
    {
        NEARLY_ALL,         //!< they send what nobody else has, to wide servers
        WHERE_TIME_IS_LEFT, //!< they send what they have, to servers without slack
        NOTHING             //!< they send like others
    };

    /// What a sender has for a receiver.
    struct Stock
    {
        uint32_t nChunks{0};                                   //!< chunks
        uint32_t nRare{0};                                     //!< of these, rarer than the mean
        uint32_t rarest{std::numeric_limits<uint32_t>::max()}; //!< holders of the rarest
    };

    void TakeStock() override;
    bool OfferFirst() override;
    bool IsReceiving(NodeId server) const override;
    void Apply(uint32_t item, const Path& path, WorkloadList& round) override;
    void WritePortFeatures(uint32_t port, float* row) const override;

    void AddHolder(NodeId server, ChunkId chunk);
    void FindTurns();
    void FindTaken();
    void MakeRoom();
    void FindLost();
    int64_t CountLostLater(NodeId server) const;
    std::vector<uint32_t> CountLackingByRound(NodeId server) const;
    void FindSelectable();
    uint32_t CountRoundsToReceive(NodeId server) const;
    RegionSupply::RoomLeft GetRoomLeft() const;
    Stock FindStock(NodeId sender, NodeId receiver) const;
    const std::vector<uint64_t>& GetOffered(NodeId sender, NodeId receiver) const override;
    void FindNarrow();
    bool IsTreeWaiting() const;
    bool OfferSomething();

    const BroadcastLimits m_limits;               //!< what to leave to others
    std::vector<std::vector<uint32_t>> m_inTaken; //!< [round][server]: of its in-capacity
    RegionSupply m_regions;                       //!< what comes into regions
    std::vector<NodeId> m_roots;                  //!< by chunk: the first that holds it
    std::vector<ChunkId> m_turns;                 //!< chunks in the order to begin
    std::vector<uint32_t> m_place;                //!< by chunk: where it is in m_turns
    std::vector<bool> m_isBegun;                  //!< by chunk: has been selected
    std::vector<bool> m_isNarrow;                 //!< by server: no slack at the start
    uint32_t m_nNarrowRoots{0};                   //!< trees whose root is narrow
    Sparing m_sparing{Sparing::NOTHING};          //!< at present

    BitMatrix m_held;     //!< [server][chunk]: can be sent from the next round on
    BitMatrix m_initial;  //!< [server][chunk]: held from the start
    ChunkSpread m_spread; //!< what is held, coming or not wanted
    const std::vector<uint32_t>& m_nHolders; //!< by chunk: of m_spread
    const uint32_t m_widest;                 //!< the largest capacity of a server
    std::vector<uint32_t> m_nHoldersBefore;  //!< by chunk, at the beginning of the round
    uint64_t m_nTransfersLeft{0};            //!< sum of m_inNeed
    double m_shareOfWork{0};                 //!< of what all ports could do until the target
    uint32_t m_firstTarget{0};               //!< m_target at the start
    double m_meanHolders{1};                 //!< at the beginning of the round
    uint64_t m_nLeftBefore{0};               //!< m_nTransfersLeft at the beginning of the round
    const std::vector<uint64_t> m_nothing;   //!< no item
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BROADCAST_ENVIRONMENT_H */
