/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_BUILDER_H
#define ALLREDUCE_TOPOLOGY_BUILDER_H

#include "allreduce-error.h"
#include "allreduce-topology.h"

#include <string>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Collects the nodes, links and positions of a topology while a generator makes it.
 */
class TopologyBuilder
{
  public:
    /// More nodes or links than this are refused: they would not fit into memory as a network.
    static constexpr uint64_t MAX_SIZE = 1 << 24;
    /// A file's link with a larger capacity is refused: it would be a mistake.
    static constexpr uint32_t MAX_CAPACITY = 65535;

    /// @param name the topology's name, also named in errors
    explicit TopologyBuilder(std::string name);

    /**
     * Refuse a parameter.
     *
     * @param condition what must hold
     * @param why the message, if it does not
     */
    template <typename... Parts>
    void Require(bool condition, const Parts&... why) const
    {
        if (!condition)
        {
            FailInput(m_name, ": ", why...);
        }
    }

    /**
     * Refuse a network that is too large.
     *
     * @param count a number of nodes or links
     * @return the same number
     */
    uint32_t CheckSize(uint64_t count) const;

    /**
     * Refuse a network that can have no AllReduce, because its servers are too few, or too many for
     * its links to join them.
     *
     * @param nServers number of servers
     * @param nLinks number of links
     */
    void CheckServers(uint64_t nServers, uint64_t nLinks) const;

    /**
     * Add servers, all of them before the first switch.
     *
     * @param count how many
     * @return the first one
     */
    NodeId AddServers(uint32_t count);

    /**
     * Add switches.
     *
     * @param count how many
     * @return the first one
     */
    NodeId AddSwitches(uint32_t count);

    /**
     * Add a link of the default delay.
     *
     * @param a one end
     * @param b the other end
     * @param rateBps its rate in bit/s
     */
    void AddLink(NodeId a, NodeId b, uint64_t rateBps = DEFAULT_LINK_RATE_BPS);

    /**
     * Say where a node is drawn.
     *
     * @param node the node
     * @param position its place
     */
    void Place(NodeId node, Position position);

    /**
     * Draw nodes in a row over the whole width.
     *
     * @param first the first node
     * @param count how many
     * @param y the row, 0 (top) to 1 (bottom)
     */
    void PlaceInRow(NodeId first, uint32_t count, double y);

    /// @return the topology, its capacities derived from its rates; nodes that were not placed
    /// stand on two circles
    Topology Build();

  private:
    std::string m_name;                //!< the topology's name
    uint32_t m_nServers{0};            //!< servers so far
    uint32_t m_nSwitches{0};           //!< switches so far
    std::vector<Link> m_links;         //!< links so far
    std::vector<Position> m_positions; //!< by node; empty if none was placed
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_BUILDER_H */
