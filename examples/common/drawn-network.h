/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DRAWN_NETWORK_H
#define ALLREDUCE_DRAWN_NETWORK_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// A node of a drawing: a server, a switch, or several of them together.
struct DrawnNode
{
    std::string label;     //!< "3", "0-9" for several, "0+9" for 0 and nine others
    Position position;     //!< where it is drawn
    uint32_t nServers{0};  //!< servers in it
    uint32_t nSwitches{0}; //!< switches in it
};

/// A line of a drawing: all links between two drawn nodes.
struct DrawnLink
{
    uint32_t a{0};        //!< one end
    uint32_t b{0};        //!< the other end
    uint64_t capacity{0}; //!< of all links together, in one direction
};

/**
 * @brief A network as people can look at it: large ones have nodes put together.
 */
struct DrawnNetwork
{
    /// Stands for a directed link between nodes that are drawn as one.
    static constexpr uint32_t INSIDE = std::numeric_limits<uint32_t>::max();

    bool isAggregated{false};         //!< some nodes are drawn as one
    std::vector<DrawnNode> nodes;     //!< what is drawn
    std::vector<DrawnLink> links;     //!< the lines between
    std::vector<uint32_t> nodeOf;     //!< by node id: what it is drawn as
    std::vector<uint32_t> directedOf; //!< by directed link: 2 * line, + 1 from b to a; or INSIDE
};

/**
 * Put nodes together until a drawing is readable: the servers of a switch with that switch, then
 * neighboring ones of these, and neighboring switches of each row.
 *
 * @param topology a network
 * @param mostServers with so many or fewer every node is drawn
 * @return how to draw it
 */
DrawnNetwork DrawNetwork(const Topology& topology, uint32_t mostServers = 64);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DRAWN_NETWORK_H */
