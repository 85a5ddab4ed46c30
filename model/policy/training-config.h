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

/**
 * @ingroup allreduce
 *
 * @brief What is trained on, and how. The table in training-config.cc has a line for each key of
 * the JSON file: its name, its range and what it means; the defaults are here.
 */
struct TrainingConfig
{
    std::vector<std::string> topologies{
        "bcube:3,1",          "bcube:3,1",          "bcube:4,1",          "bcube:4,1",
        "bcube:3,2",          "bcube:2,2",          "bcube:2,3",          "dcell:2,1",
        "dcell:3,1",          "dcell:3,1",          "dcell:4,1",          "dcell:4,1",
        "jellyfish:10,3,2,*", "jellyfish:10,3,2,*", "jellyfish:8,3,2,*",  "jellyfish:12,4,2,*",
        "jellyfish:7,4,3,*",  "jellyfish:16,4,1,*", "jellyfish:12,5,2,*", "fattree:4",
        "fattree:4"};
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
                                        "fattree:4"};
    uint32_t validation_seeds{3};
    uint32_t validation_drawn{80};
    uint32_t validation_every{10};
    uint32_t validation_from{20};
    double several_chunks{0.7};
    double degraded{0.4};
    double mixed{0.3};
    double forward{0.05};
    uint32_t most_chunks{60};
    uint64_t seed{1};
    uint32_t iterations{240};
    uint32_t problems{12};
    uint32_t rollouts{8};
    uint32_t epochs{3};
    uint32_t minibatches{8};
    double clip{0.2};
    double lambda{0.95};
    double pick_lambda{0.9};
    double learning_rate{3e-3};
    double learning_rate_end{1e-4};
    double entropy{0.003};
    double gradient_norm{0.5};
    double group_weight{0.5};
    double upper_rate{1};
    double critic_rate{2};
    double most_advantage{4};
    double port_share{0.25};
    double averaging{0.98};
    RewardWeights reward; //!< reward_lost_round and so on

    /// @return the configuration as JSON
    nlohmann::ordered_json ToJson() const;

    /**
     * @param json some or all of the keys
     * @param source where it comes from, for messages
     * @return the configuration; what is left out has its default
     * @throws InputError that names an unknown key or a value that is not possible
     */
    static TrainingConfig FromJson(const nlohmann::json& json, const std::string& source);

    /// @return a line for each key: name, default, range and meaning
    static std::string DescribeKeys();
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_CONFIG_H */
