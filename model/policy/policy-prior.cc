/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-prior.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <string>

namespace ns3::allreduce
{

namespace
{

/// What a feature adds to the score of a choice.
struct Rule
{
    PolicyHead head;     //!< whose choice
    const char* feature; //!< see GetPolicyFeatures
    float weight;        //!< of the feature
};

const Rule RULES[] = {
    {PolicyHead::PORT, "slack of its server", -2},
    {PolicyHead::PORT, "slack of its server's tightest region", -2},
    {PolicyHead::PORT, "log of the partial sums it could receive", 2},
    {PolicyHead::PORT, "one over its possible senders", 0.5},
    {PolicyHead::SENDER, "log of the partial sums it could send", 3},
    {PolicyHead::SENDER, "one over the ports that compete for it", 1},
    {PolicyHead::SENDER, "its distance, over the least one", -1},
    {PolicyHead::SENDER, "rarest final sum it could send, against the mean", -1},
    {PolicyHead::SENDER, "least slack of the regions that it would send into", -0.5},
    {PolicyHead::ITEM, "whether it is a partial sum", 3},
    {PolicyHead::ITEM, "partial: log of the partial sums that are left", -3},
    {PolicyHead::ITEM, "partial: its depth", 0.5},
    {PolicyHead::ITEM, "partial: how soon it must leave to be there when due", 1},
    {PolicyHead::ITEM, "final: log of servers over holders", 5},
    {PolicyHead::ITEM, "final: share of the receiver's neighbors that lack it", 2},
    {PolicyHead::ITEM, "final: least slack of the regions that it would be new to", -0.5},
    {PolicyHead::ITEM, "final: whether it enters a part of the network that has it", -1},
    {PolicyHead::TREE, "share of open trees with fewer left", -2},
    {PolicyHead::TREE, "how soon it must be worked on to be final when due", 6},
    {PolicyHead::TREE, "whether its sum is not final yet", -3.6F},
};

/// @return the index of a feature
uint32_t
FindFeature(const Rule& rule)
{
    const std::vector<std::string>& names = GetPolicyFeatures(rule.head);
    const auto name = std::find(names.begin(), names.end(), rule.feature);
    if (name == names.end())
    {
        FailInput("network \"",
                  GetPolicyHeadName(rule.head),
                  "\": no feature \"",
                  rule.feature,
                  "\"");
    }
    return name - names.begin();
}

/// Let the first unit of both hidden layers carry a sum that the activation does not bend.
void
ClearFirstUnits(PerceptronWeights& head, float offset)
{
    float* first = head.values.data();
    float* second = first + (head.nInputs + 1) * HIDDEN;
    float* last = second + (HIDDEN + 1) * HIDDEN;
    for (uint32_t i = 0; i < head.nInputs; ++i)
    {
        first[i * HIDDEN] = 0;
    }
    first[head.nInputs * HIDDEN] = offset;
    for (uint32_t i = 0; i < HIDDEN; ++i)
    {
        second[i * HIDDEN] = i == 0 ? 1 : 0; // into the first unit
        second[i] = i == 0 ? 1 : 0;          // out of the first unit
    }
    second[HIDDEN * HIDDEN] = 0;
    last[0] = 1;
    last[HIDDEN] -= offset;
}

} // namespace

PolicyWeights
MakePrior(uint64_t seed)
{
    constexpr float OFFSET = 8;
    PolicyWeights weights = PolicyWeights::MakeInitial(seed);
    for (const PolicyHead head : POLICY_HEADS)
    {
        if (head != PolicyHead::VALUE)
        {
            ClearFirstUnits(weights.Get(head), OFFSET);
        }
    }
    for (const Rule& rule : RULES)
    {
        weights.Get(rule.head).values[FindFeature(rule) * HIDDEN] = rule.weight;
    }
    return weights;
}

} // namespace ns3::allreduce
