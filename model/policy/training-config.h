/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_CONFIG_H
#define ALLREDUCE_TRAINING_CONFIG_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What is trained on, and how. Each member is a key of the same name in the JSON file.
 */
struct TrainingConfig
{
    std::string mode{"mirrored"}; //!< what is planned: "mirrored" broadcasts, or "forward"
    /// Networks to train on, each as likely as it stands here often; "jellyfish:10,3,2,*" draws
    /// another seed every time.
    std::vector<std::string> topologies{
        "bcube:3,1",          "bcube:3,1",          "bcube:4,1",          "bcube:4,1",
        "bcube:3,2",          "bcube:2,2",          "bcube:2,3",          "dcell:2,1",
        "dcell:3,1",          "dcell:4,1",          "dcell:4,1",          "jellyfish:10,3,2",
        "jellyfish:10,3,2",   "jellyfish:10,3,2,*", "jellyfish:10,3,2,*", "jellyfish:10,3,2,*",
        "jellyfish:8,3,2,*",  "jellyfish:8,3,2,*",  "jellyfish:12,4,2,*", "jellyfish:7,4,3,*",
        "jellyfish:16,4,1,*", "jellyfish:18,4,1,*", "jellyfish:12,5,2,*"};
    /// Networks to train the upper policy of staggered plans on, likewise.
    std::vector<std::string> staggered_topologies{"bcube:3,1",
                                                  "bcube:4,1",
                                                  "bcube:4,1",
                                                  "bcube:5,1",
                                                  "bcube:3,2",
                                                  "bcube:2,3",
                                                  "dcell:3,1",
                                                  "dcell:4,1",
                                                  "dcell:4,1",
                                                  "dcell:5,1",
                                                  "jellyfish:8,3,2,*",
                                                  "jellyfish:10,3,2,*",
                                                  "jellyfish:12,4,2,*",
                                                  "jellyfish:18,4,1,*"};
    /// Networks to validate on, as ParseTopology takes them.
    std::vector<std::string> validation{"bcube:3,1",
                                        "bcube:4,1",
                                        "bcube:2,3",
                                        "bcube:3,2",
                                        "dcell:3,1",
                                        "dcell:4,1",
                                        "jellyfish:10,3,2,501",
                                        "jellyfish:12,4,2,502",
                                        "jellyfish:14,4,1,503",
                                        "jellyfish:18,4,1,504",
                                        "jellyfish:16,4,2,505",
                                        "jellyfish:12,5,3,506"};
    uint32_t validation_seeds{6};  //!< rollouts on each of these
    uint32_t validation_drawn{48}; //!< problems to validate on that are drawn like training ones
    uint64_t validation_staggered{48}; //!< problems for the upper policy; mirrored plans only
    uint32_t validation_every{10};     //!< iterations
    uint32_t validation_from{60};      //!< iterations before the first validation
    double several_chunks{0.3};        //!< share of problems with more chunks than servers
    double degraded{0.4};              //!< share of problems on networks that lost links
    double mixed{0.2};                 //!< share of problems on networks with wider links
    double partial{0.15};              //!< share of problems in which not all want all chunks
    uint64_t seed{1};                  //!< where chance comes from
    uint32_t iterations{400};          //!< of rollouts and updates
    uint64_t imitation{0};        //!< the first so many follow greedy plans instead of own ones
    uint32_t problems{8};         //!< in an iteration
    uint64_t halves{3};           //!< problems more: halves of staggered plans; mirrored plans only
    uint32_t rollouts{8};         //!< of each problem
    uint64_t staggered{12};       //!< problems more for the upper policy; mirrored plans only
    uint64_t upper_from{120};     //!< iterations before that, so that the lower one is good
    uint64_t upper_imitation{60}; //!< iterations in which it then follows the best of its variants
    uint32_t epochs{2};           //!< over the rollouts of an iteration
    uint32_t minibatches{4};      //!< in an epoch
    double clip{0.2};             //!< PPO's limit on the ratio of probabilities
    double lambda{0.95};          //!< of the generalized advantage estimate, over rounds
    double learning_rate{1e-3};   //!< at the beginning
    double learning_rate_end{1e-4}; //!< at the end
    double entropy{0.003};          //!< weight at the beginning; none at the end
    double gradient_norm{0.5};      //!< longer gradients are cut
    double group_weight{0.5};       //!< of a rollout's lead over others of the same problem
    double upper_weight{0.2};       //!< of a round's advantage for the upper policy
    double upper_rate{3};           //!< the upper policy's steps, against the lower one's
    double port_share{0.25};        //!< of the choices among more than 8 ports that are used
    double averaging{0.98};         //!< of the weights over iterations

    /// @return the configuration as JSON
    nlohmann::ordered_json ToJson() const;

    /**
     * @param json some or all of the keys
     * @param source where it comes from, for messages
     * @return the configuration; what is left out has its default
     * @throws InputError that names an unknown key or a value that is not possible
     */
    static TrainingConfig FromJson(const nlohmann::json& json, const std::string& source);
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_CONFIG_H */
