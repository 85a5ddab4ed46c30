/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_GENERATORS_H
#define ALLREDUCE_TOPOLOGY_GENERATORS_H

#include "allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * BCube(n, k) of Guo et al. (SIGCOMM 2009): n^(k+1) servers with k+1 ports each and k+1 levels of
 * n^k switches with n ports. Server a_k...a_0 (in base n) is joined at level l to the switch whose
 * index is its address with digit l taken out.
 *
 * @param n ports of a switch, 2 or more
 * @param k the highest level, 0 or more
 * @return the network, "bcube:n,k"
 */
Topology MakeBCube(uint32_t n, uint32_t k);

/**
 * @ingroup allreduce
 *
 * DCell(n, k) of Guo et al. (SIGCOMM 2008): a DCell_0 is n servers at one switch; a DCell_l is
 * t_(l-1) + 1 DCell_(l-1), each pair joined by one link between two servers, where t_(l-1) is the
 * number of servers in a DCell_(l-1).
 *
 * @param n servers in a DCell_0, 2 or more
 * @param k the level, 0 or more
 * @return the network, "dcell:n,k"
 */
Topology MakeDCell(uint32_t n, uint32_t k);

/**
 * @ingroup allreduce
 *
 * Jellyfish of Singla et al. (NSDI 2012): switches in a connected random regular graph, made by
 * joining random pairs of free ports and, when none can be joined, by breaking a link.
 *
 * @param nSwitches number of switches
 * @param degree ports of a switch that lead to other switches
 * @param serversPerSwitch servers at each switch
 * @param seed another seed gives another graph
 * @return the network, "jellyfish:nSwitches,degree,serversPerSwitch,seed"
 */
Topology MakeJellyfish(uint32_t nSwitches,
                       uint32_t degree,
                       uint32_t serversPerSwitch,
                       uint64_t seed = 1);

/**
 * @ingroup allreduce
 *
 * The k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation
 * switches, (k/2)^2 core switches and k^3/4 servers.
 *
 * @param k ports of a switch, even, 2 or more
 * @return the network, "fattree:k"
 */
Topology MakeFatTree(uint32_t k);

/**
 * @ingroup allreduce
 *
 * A torus of servers without switches.
 *
 * @param sides servers along each of one to three dimensions, at least two servers in all
 * @return the network, "torus:AxBxC"
 */
Topology MakeTorus(const std::vector<uint32_t>& sides);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_GENERATORS_H */
