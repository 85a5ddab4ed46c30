/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_FEATURES_H
#define ALLREDUCE_POLICY_FEATURES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// How an AllReduce is planned.
enum class PlanMode : uint8_t
{
    MIRRORED, //!< its broadcast, and its reduce as another one read backwards
    FORWARD,  //!< round by round, reduces and broadcasts together
};

/**
 * @ingroup allreduce
 *
 * @param mode a way to plan
 * @return its name, as it stands in checkpoints and configurations
 */
const char* GetPlanModeName(PlanMode mode);

/**
 * @ingroup allreduce
 *
 * @param name what GetPlanModeName returns
 * @param source where it comes from, for messages
 * @return the way to plan
 * @throws InputError if there is none of that name
 */
PlanMode ParsePlanMode(const std::string& name, const std::string& source);

/**
 * @ingroup allreduce
 *
 * @brief The five networks of the two policies.
 *
 * The upper policy, Flow-Tree Selection, is TREE. The lower one, Workload Scheduling, makes each
 * pick in three stages: PORT, SENDER, CHUNK. VALUE is the critic and only needed for training.
 */
enum class PolicyHead : uint8_t
{
    PORT,   //!< which open in-port of a server is served next
    SENDER, //!< which server sends to it
    CHUNK,  //!< which chunk is sent, and whether to be merged or copied
    TREE,   //!< whether a flow-tree is worked on in this round
    VALUE,  //!< how good the state at the beginning of a round is
};

/// Number of values of PolicyHead.
constexpr std::size_t N_POLICY_HEADS = 5;

/// @return the heads, in order
constexpr std::array<PolicyHead, N_POLICY_HEADS> POLICY_HEADS = {PolicyHead::PORT,
                                                                 PolicyHead::SENDER,
                                                                 PolicyHead::CHUNK,
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
 * @param mode how it is planned
 * @param head one of the networks
 * @return the names of its features
 */
const std::vector<std::string>& GetPolicyFeatures(PlanMode mode, PolicyHead head);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_FEATURES_H */
