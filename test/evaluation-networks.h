/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_EVALUATION_NETWORKS_H
#define ALLREDUCE_EVALUATION_NETWORKS_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// An AllReduce that schedulers are compared on.
struct EvaluationCase
{
    Topology topology;        //!< the network
    uint32_t chunksPerServer; //!< m
};

/// @return the 16 reference networks and three fat-trees, m = auto
std::vector<EvaluationCase> MakeReferenceCases();

/**
 * @param chunksPerPort m is so many times the ports of a server before links were lost
 * @return 12 networks, each with 5 or 10 % of its links lost in five ways
 */
std::vector<EvaluationCase> MakeDegradedCases(uint32_t chunksPerPort);

/**
 * @param chunksPerPort m is so many times the ports of a server
 * @return 12 networks, each with 30 % of its links twice as wide in five ways
 */
std::vector<EvaluationCase> MakeMixedCases(uint32_t chunksPerPort);

/// @return the four networks for which shorter plans are known than any scheduler made, m = 2
std::vector<EvaluationCase> MakeNamedCases();

/**
 * Networks that nobody chose. The seed is fixed, so they are always the same. Each is drawn like
 * this, all numbers alike: one of five families; its parameters, anew until there are 2 to 40
 * servers (bcube:N,K and dcell:N,K with N from 2 to 6 and K from 0 to 2; jellyfish with 3 to 16
 * switches, degree 2 to 6, 1 to 3 servers a switch and a random seed; torus:A and AxB with sides
 * from 2 to 6; fattree:2 and 4); then, each as often, nothing, 1 to 20 % of the links lost, 10 to
 * 50 % of them twice as wide, or both.
 *
 * @param chunksPerPort m is so many times the mean ports of a server
 * @return 100 networks
 */
std::vector<EvaluationCase> DrawUnseenCases(uint32_t chunksPerPort);

/// @return networks to break links of, in the midst of an AllReduce, m = ports
std::vector<EvaluationCase> MakeBreakableCases();

/// @return 64 servers with 8 chunks for each port; 128, 512 and 1,024 servers with m = ports
std::vector<EvaluationCase> MakeLargeCases();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_EVALUATION_NETWORKS_H */
