/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ADAPTATION_CASES_H
#define ALLREDUCE_ADAPTATION_CASES_H

#include "ns3/allreduce-experiment.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// A second AllReduce, of some servers, that nobody has announced.
struct OtherJob
{
    std::vector<NodeId> servers; //!< who takes part
    Time start;                  //!< when it begins
};

/**
 * @brief A network that is not what was announced.
 *
 * ADAPTATION_KINDS says which there are.
 */
struct AdaptationCase
{
    std::string kind;                    //!< what is wrong with it
    std::string text;                    //!< the same in detail, as "0-16:10"
    Topology announced;                  //!< the network as planners are told of it
    Topology actual;                     //!< with links that are slow all the time
    std::vector<RateChange> rateChanges; //!< links that become slower, and recover
    std::optional<BurstModel> bursts;    //!< other traffic
    std::vector<LateServer> lateServers; //!< servers that are ready later
    std::optional<OtherJob> otherJob;    //!< that uses the network, too
    double background{0};                //!< share of the ports' rate that other traffic uses
    std::optional<QueueSize> queue;      //!< of a device; none: what follows from rates and delays

    /// @return whether a planner could have been told of all that is wrong
    bool IsConstant() const;
};

/// What can be wrong with a network: one link, three links, all of a server's links at half of
/// their rate, a link from the middle on, one that recovers, bursts, a late server, another job on
/// half of the servers; "noise": a little other
/// traffic and short queues; "none": nothing.
extern const std::vector<std::string> ADAPTATION_KINDS;

/**
 * Draw a case: a network of 8 to 64 servers of a random family, and what is wrong with it.
 *
 * @param kind one of ADAPTATION_KINDS
 * @param mostServers larger networks are not drawn; at least 8
 * @param bytes size of the gradient, which says when changes come
 * @param seed the random seed
 * @return the case
 * @throws InputError if there is no such kind
 */
AdaptationCase DrawAdaptationCase(const std::string& kind,
                                  uint32_t mostServers,
                                  uint64_t bytes,
                                  uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ADAPTATION_CASES_H */
