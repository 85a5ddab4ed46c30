/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_FEATURES_H
#define ALLREDUCE_POLICY_FEATURES_H

#include "planning-environment.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The five networks of the two policies.
 *
 * The upper policy, Flow-Tree Selection, is TREE. The lower one, Workload Scheduling, makes each
 * pick in three stages: PORT, SENDER, ITEM. VALUE is the critic and only needed for training.
 */
enum class PolicyHead : uint8_t
{
    PORT,   //!< which open in-port of a server is served next
    SENDER, //!< which server sends to it
    ITEM,   //!< which chunk is sent, final or to be merged
    TREE,   //!< whether a flow-tree is worked on before others in this round
    VALUE,  //!< how good the state at the beginning of a round is
};

/// Number of values of PolicyHead.
constexpr std::size_t N_POLICY_HEADS = 5;

/// @return the heads, in order
constexpr std::array<PolicyHead, N_POLICY_HEADS> POLICY_HEADS = {PolicyHead::PORT,
                                                                 PolicyHead::SENDER,
                                                                 PolicyHead::ITEM,
                                                                 PolicyHead::TREE,
                                                                 PolicyHead::VALUE};

/**
 * @ingroup allreduce
 *
 * @param head one of the networks
 * @return its name, as it stands in checkpoints
 */
const char* GetPolicyHeadName(PolicyHead head);

/**
 * The features that a network sees, in order: the layout that a checkpoint must agree with. No
 * feature names a topology or depends on its size; counts are shares, logarithms or capped.
 *
 * @ingroup allreduce
 *
 * @param head one of the networks
 * @return the names of its features
 */
const std::vector<std::string>& GetPolicyFeatures(PolicyHead head);

/**
 * @ingroup allreduce
 *
 * @brief The environment as the networks see it: rows of features.
 */
class PolicyView
{
  public:
    /// @param environment what is seen; must outlive the view
    explicit PolicyView(const PlanningEnvironment& environment);

    /**
     * @param port an open port
     * @param [out] rows its features are appended
     */
    void AppendPort(uint32_t port, std::vector<float>& rows) const;

    /**
     * @param port an open port
     * @param [out] rows a row for each of its senders
     */
    void WriteSenders(uint32_t port, std::vector<float>& rows) const;

    /**
     * @param port an open port
     * @param sender one of its senders
     * @param items what FindItems found
     * @param [out] rows a row for each of the items
     */
    void WriteItems(uint32_t port,
                    const PlanningEnvironment::Sender& sender,
                    const std::vector<uint32_t>& items,
                    std::vector<float>& rows) const;

    /// @param [out] rows a row for each selectable tree
    void WriteTrees(std::vector<float>& rows) const;

    /// @param [out] rows the features of the state for the critic are appended
    void AppendValue(std::vector<float>& rows) const;

    struct PortFacts;   //!< what the features of a port are made of
    struct SenderFacts; //!< likewise, of a sender
    struct ItemFacts;   //!< likewise, of an item
    struct TreeFacts;   //!< likewise, of a flow-tree
    struct StateFacts;  //!< likewise, of the state

  private:
    /// How contended the way from a sender to a port is.
    struct WayPressure
    {
        float contention{0}; //!< sum of one over the free links at the switches on the way
        float largest{0};    //!< largest demand for a link on the way
        float sum{0};        //!< sum of the demands
        float price{0};      //!< sum of the prices
    };

    float GetTime() const;
    /// @return 1 if the hops of a chunk's partial sums to its root must begin now for its sum to
    /// be final when due, less if they can wait, 0 if for 20 rounds or if no round is due
    float GetUrgency(ChunkId chunk, uint32_t nHops) const;
    float GetSlack(NodeId server) const;
    float GetOutSlack(NodeId server) const;
    uint32_t CountFreeOut(NodeId server) const;
    RegionSupply::RoomLeft GetRoomLeft() const;
    WayPressure ExploreWay(uint32_t port, const PlanningEnvironment::Sender& sender) const;
    PortFacts FindPortFacts(uint32_t port) const;
    SenderFacts FindSenderFacts(uint32_t port, const PlanningEnvironment::Sender& sender) const;
    ItemFacts FindItemFacts(uint32_t port,
                            const PlanningEnvironment::Sender& sender,
                            uint32_t item) const;

    const PlanningEnvironment& m_env; //!< what is seen
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_FEATURES_H */
