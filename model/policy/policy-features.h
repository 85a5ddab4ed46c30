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
 * @brief The five networks of the two policies and the critic, called heads as usual, though they
 * share no layers.
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

/// All of them, in order.
constexpr std::array<PolicyHead, N_POLICY_HEADS> POLICY_HEADS = {PolicyHead::PORT,
                                                                 PolicyHead::SENDER,
                                                                 PolicyHead::ITEM,
                                                                 PolicyHead::TREE,
                                                                 PolicyHead::VALUE};

/// @ingroup allreduce
/// @param head one of the networks @return its name, as it stands in checkpoints
const char* GetPolicyHeadName(PolicyHead head);

/// @ingroup allreduce
/// The features that a network sees, in order: the layout that a checkpoint must agree with. No
/// feature names a topology or depends on its size; counts are shares, logarithms or capped.
/// @param head one of the networks @return the names of its features
const std::vector<std::string>& GetPolicyFeatures(PolicyHead head);

/// @ingroup allreduce
/// @return the features of all networks, in the order of POLICY_HEADS
const std::vector<std::vector<std::string>>& GetAllPolicyFeatures();

/// @ingroup allreduce
/// The environment as the networks see it: rows of features.
class PolicyView
{
  public:
    /// @param environment what is seen; must outlive the view
    explicit PolicyView(const PlanningEnvironment& environment);

    /// @param port an open port @param [out] rows its features are appended
    void AppendPort(uint32_t port, std::vector<float>& rows) const;

    /// @param port an open port @param [out] rows a row for each of its senders
    void WriteSenders(uint32_t port, std::vector<float>& rows) const;

    /// @param port an open port @param sender one of its senders @param items what FindItems found
    /// @param [out] rows a row for each of the items
    void WriteItems(uint32_t port,
                    const PortSender& sender,
                    const std::vector<uint32_t>& items,
                    std::vector<float>& rows) const;

    /// @param [out] rows a row for each selectable tree
    void WriteTrees(std::vector<float>& rows) const;

    /// @param [out] rows the features of the state for the critic are appended
    void AppendValue(std::vector<float>& rows) const;

    // What features are made of.
    struct PortFacts;
    struct SenderFacts;
    struct ItemFacts;
    struct TreeFacts;
    struct StateFacts;

  private:
    /// How contended the path from a sender to a port is.
    struct PathPressure
    {
        float contention{0}; //!< sum of one over the free links at the switches on the path
        float largest{0};    //!< largest demand for a link on the path
        float sum{0};        //!< sum of the demands
        float price{0};      //!< sum of the prices
    };

    bool IsLeaving() const;
    float GetTime() const;
    /// @return 1 if the hops of a chunk's partial sums to its root must begin now for its sum to
    /// be final when due, less if they can wait, 0 if for 20 rounds or if no round is due
    float GetUrgency(ChunkId chunk, uint32_t nHops) const;
    float GetSlack(NodeId server) const;
    float GetOutSlack(NodeId server) const;
    uint32_t CountFreeOut(NodeId server) const;
    RegionSupply::RoomLeft GetRoomLeft() const;
    PathPressure FindPressure(uint32_t port, const PortSender& sender) const;
    /// @param [out] lefts partial sums left of open trees @param [out] dues when they are due
    TreeFacts FindForestFacts(std::vector<uint32_t>& lefts, std::vector<uint32_t>& dues) const;
    PortFacts FindPortFacts(uint32_t port) const;
    SenderFacts FindSenderFacts(uint32_t port, const PortSender& sender) const;
    ItemFacts FindItemFacts(uint32_t port, const PortSender& sender, uint32_t item) const;

    const PlanningEnvironment& m_environment;
    const PlanningState& m_state;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_FEATURES_H */
