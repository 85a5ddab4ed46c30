/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SERVER_FLOW_H
#define ALLREDUCE_SERVER_FLOW_H

#include "ns3/allreduce-topology.h"

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/properties.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The network as a flow problem: besides its links there is an edge from a source to each
 * server and from each server to a sink, with capacities to be set.
 */
class ServerFlow
{
  public:
    /**
     * @param topology the network
     * @param widths by link: how much it carries in each direction
     */
    ServerFlow(const Topology& topology, const std::vector<int64_t>& widths);

    /// @param widths by link: how much it carries in each direction from now on
    void SetWidths(const std::vector<int64_t>& widths);

    /// @param widths by directed link: how much it carries from now on
    void SetDirectedWidths(const std::vector<int64_t>& widths);

    /// @return more than all links carry in one direction
    int64_t GetUnlimited() const;

    /**
     * @param server a server
     * @param capacity of the edge from the source to it, 0 at first
     */
    void SetSupply(NodeId server, int64_t capacity);

    /**
     * @param server a server
     * @param capacity of the edge from it to the sink, 0 at first
     */
    void SetDemand(NodeId server, int64_t capacity);

    /// @return the maximum flow from the source to the sink
    int64_t Run();

    /**
     * Find the least cut between some servers and the others, which replaces supplies and demands.
     *
     * @param isInside by server: whether it is one of these
     * @return how much the cut carries in each direction
     */
    int64_t FindCut(const std::vector<bool>& isInside);

    /**
     * @param node a server or a switch
     * @return whether the last flow leaves it on the source's side of the minimum cut; of all
     *         minimum cuts the one with the fewest nodes on that side
     */
    bool IsOnSourceSide(NodeId node) const;

  private:
    using Graph = boost::compressed_sparse_row_graph<boost::directedS,
                                                     boost::no_property,
                                                     boost::no_property,
                                                     boost::no_property,
                                                     uint32_t,
                                                     uint32_t>;
    using Edge = boost::graph_traits<Graph>::edge_descriptor;

    /// @return the first of the four edges between a server and the terminals, as listed
    uint32_t FirstTerminalEdge(NodeId server) const;

    /**
     * Lay out the graph.
     *
     * @param edges the edges, each followed or preceded by its reverse
     */
    void Build(const std::vector<std::pair<uint32_t, uint32_t>>& edges);

    int64_t m_unlimited{0};                         //!< more than all links carry
    uint32_t m_nServers;                            //!< number of servers
    uint32_t m_nDirectedLinks;                      //!< number of edges that are links
    uint32_t m_source;                              //!< the source's vertex
    uint32_t m_sink;                                //!< the sink's vertex
    Graph m_graph;                                  //!< nodes, source and sink
    std::vector<uint32_t> m_place;                  //!< edge as listed -> edge in m_graph
    std::vector<int64_t> m_capacity;                //!< by edge in m_graph
    std::vector<int64_t> m_residual;                //!< by edge in m_graph
    std::vector<Edge> m_reverse;                    //!< by edge in m_graph
    std::vector<Edge> m_predecessor;                //!< by vertex, for Boost
    std::vector<boost::default_color_type> m_color; //!< by vertex; black: the source's side
    std::vector<uint32_t> m_distance;               //!< by vertex, for Boost
};

/**
 * @ingroup allreduce
 *
 * @param topology a network
 * @return the capacities of its links, as widths
 */
std::vector<int64_t> GetCapacities(const Topology& topology);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SERVER_FLOW_H */
