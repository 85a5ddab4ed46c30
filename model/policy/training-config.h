/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_CONFIG_H
#define ALLREDUCE_TRAINING_CONFIG_H

#include "policy-rollout.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// The configuration of a training. The table in training-config.cc has a line for each key of
/// the JSON file: its name, its range and what it means; the defaults are here.
struct TrainingConfig
{
    /// Networks to train on, as likely as they stand here often; * draws another seed.
    std::vector<std::string> topologies{
        "bcube:3,1",          "bcube:3,1",          "bcube:4,1",          "bcube:4,1",
        "bcube:3,2",          "bcube:2,2",          "bcube:2,3",          "dcell:2,1",
        "dcell:3,1",          "dcell:3,1",          "dcell:4,1",          "dcell:4,1",
        "jellyfish:10,3,2,*", "jellyfish:10,3,2,*", "jellyfish:8,3,2,*",  "jellyfish:12,4,2,*",
        "jellyfish:7,4,3,*",  "jellyfish:16,4,1,*", "jellyfish:12,5,2,*", "fattree:4",
        "fattree:4"};
    /// Networks to validate on.
    std::vector<std::string> validation{"bcube:3,1",
                                        "bcube:4,1",
                                        "bcube:2,3",
                                        "bcube:3,2",
                                        "dcell:3,1",
                                        "dcell:4,1",
                                        "jellyfish:10,3,2,501",
                                        "jellyfish:12,4,2,502",
                                        "jellyfish:14,4,1,503",
                                        "jellyfish:16,4,2,505",
                                        "jellyfish:20,5,3,507",
                                        "fattree:4"};
    uint32_t validation_seeds{3};   //!< problems on each of these
    uint32_t validation_drawn{120}; //!< problems drawn to validate
    uint32_t validation_every{10};  //!< iterations
    uint32_t validation_from{20};   //!< iterations before the first
    double several_chunks{0.7};     //!< problems with m > 1
    double degraded{0.4};           //!< problems on networks that lost links
    double mixed{0.3};              //!< problems on networks with wider links
    double forward{0.35};           //!< problems that begin with nothing reduced
    uint32_t most_chunks{60};       //!< chunks of a problem, unless m = 1
    uint64_t seed{1};               //!< random seed
    uint32_t iterations{140};       //!< of rollouts and updates
    uint32_t problems{12};          //!< in an iteration
    uint32_t rollouts{8};           //!< of each problem
    uint32_t epochs{3};             //!< over the rollouts of an iteration
    uint32_t minibatches{8};        //!< in an epoch
    uint32_t slices{8};             //!< parts of a minibatch, shared out among processes
    double clip{0.2};               //!< PPO's limit on the ratio of probabilities
    double lambda{0.95};            //!< of generalized advantage estimation, over rounds
    double pick_lambda{0.9};        //!< discount of what later picks of a round earn
    double learning_rate{3e-3};     //!< at the beginning
    double learning_rate_end{1e-4}; //!< at the end
    double entropy{0.003};          //!< weight at the beginning; none at the end
    double gradient_norm{0.5};      //!< longer gradients are cut
    double group_weight{0.5};       //!< of the baseline of a problem's rollouts
    double upper_rate{1};           //!< steps of the upper policy, times
    double critic_rate{2};          //!< steps of the critic, times
    double most_advantage{4};       //!< normalized ones beyond are cut
    double port_share{0.25};        //!< of choices among more than 8 ports to use
    double averaging{0.98};         //!< of the weights over iterations
    RewardWeights reward;           //!< reward_lost_round and so on

    /// @return the configuration as JSON
    nlohmann::ordered_json ToJson() const;

    /// @param json some or all of the keys @param source where it comes from, for messages
    /// @return the configuration; what is left out has its default
    /// @throws InputError that names an unknown key or a value that is not possible
    static TrainingConfig FromJson(const nlohmann::json& json, const std::string& source);

    /// @return a line for each key: name, default, range and meaning
    static std::string DescribeKeys();
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_CONFIG_H */
