/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_H
#define ALLREDUCE_TOPOLOGY_H

#include <boost/range/iterator_range.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// A server or a switch: servers are 0..N-1, switches follow.
using NodeId = uint32_t;
/// Index of a full-duplex link.
using LinkId = uint32_t;
/// One direction of a link: 2 * link for a -> b, 2 * link + 1 for b -> a.
using DirectedLinkId = uint32_t;
/// The nodes that a transfer passes, both ends included.
using Path = std::vector<NodeId>;

/// Rate of a link whose maker does not say otherwise, in bit/s.
constexpr uint64_t DEFAULT_LINK_RATE_BPS = 10'000'000'000;
/// Propagation delay of a link whose maker does not say otherwise, in nanoseconds.
constexpr int64_t DEFAULT_LINK_DELAY_NS = 1000;
/// The distance to a node that cannot be reached.
constexpr uint32_t UNREACHABLE = std::numeric_limits<uint32_t>::max();

/// @ingroup allreduce
/// A full-duplex link between two nodes.
struct Link
{
    NodeId a{0};                             //!< one end
    NodeId b{0};                             //!< the other end
    uint32_t capacity{1};                    //!< unit flows per round and direction
    uint64_t rateBps{DEFAULT_LINK_RATE_BPS}; //!< bit/s per direction, of the whole link
    int64_t delayNs{DEFAULT_LINK_DELAY_NS};  //!< propagation delay
    double errorRate{0};                     //!< probability that a packet is lost

    /// Nothing is faster; sums and products of rates fit into their types.
    static constexpr uint64_t MAX_RATE_BPS = 1'000'000'000'000'000'000;
    /// Nothing is farther: ns-3's clock holds many such delays.
    static constexpr int64_t MAX_DELAY_NS = 1'000'000'000'000;
};

/// @return whether the two links are equal in every field
bool operator==(const Link& x, const Link& y);

/**
 * @ingroup allreduce
 *
 * @param link a directed link
 * @return the opposite direction of the same link
 */
constexpr DirectedLinkId
Reverse(DirectedLinkId link)
{
    return link ^ 1;
}

/**
 * @ingroup allreduce
 *
 * @param link a directed link
 * @return the link that it is a direction of
 */
constexpr LinkId
GetLinkId(DirectedLinkId link)
{
    return link / 2;
}

/// @ingroup allreduce
/// Where a node is drawn; both coordinates lie in [0, 1], y grows downwards.
struct Position
{
    double x{0}; //!< from left to right
    double y{0}; //!< from top to bottom
};

/**
 * @ingroup allreduce
 *
 * @brief A data-centre network: servers, switches and full-duplex links, fixed once made.
 *
 * The graph is simple: no link joins a node to itself and no two links join the same pair, so
 * that a list of nodes names a path unambiguously. A wider link is one with a larger capacity.
 */
class Topology
{
  public:
    /// One end of a link, seen from the node that it belongs to.
    struct Port
    {
        NodeId neighbor;    //!< the node at the other end
        DirectedLinkId out; //!< the direction that leads there
    };

    /// The ports of one node, ordered by neighbor.
    using Ports = boost::iterator_range<const Port*>;

    /**
     * @param name what the topology calls itself, for example "bcube:4,1"
     * @param nServers number of servers
     * @param nSwitches number of switches
     * @param links the links, whose order gives them their ids
     * @throws InputError if a link is not possible in such a network
     */
    Topology(std::string name, uint32_t nServers, uint32_t nSwitches, std::vector<Link> links);

    /// @return the name, for example "bcube:4,1"
    const std::string& GetName() const;

    /// @return the number of servers
    uint32_t GetNServers() const
    {
        return m_nServers;
    }

    /// @return the number of switches
    uint32_t GetNSwitches() const
    {
        return m_nSwitches;
    }

    /// @return the number of servers and switches
    uint32_t GetNNodes() const
    {
        return m_nServers + m_nSwitches;
    }

    /// @return the number of full-duplex links
    uint32_t GetNLinks() const
    {
        return m_links.size();
    }

    /// @return the number of directed links, twice that of links
    uint32_t GetNDirectedLinks() const
    {
        return 2 * m_links.size();
    }

    /**
     * @param node a node
     * @return whether it is a server
     */
    bool IsServer(NodeId node) const
    {
        return node < m_nServers;
    }

    /// @return all links, by id
    const std::vector<Link>& GetLinks() const;

    /**
     * @param link a link's id
     * @return the link
     */
    const Link& GetLink(LinkId link) const;

    /**
     * @param link a directed link
     * @return the link that it is a direction of
     */
    const Link& GetLinkOf(DirectedLinkId link) const
    {
        return m_links[GetLinkId(link)];
    }

    /**
     * @param node a node
     * @return its ports, ordered by neighbor
     */
    Ports GetPorts(NodeId node) const
    {
        return {m_ports.data() + m_firstPort[node], m_ports.data() + m_firstPort[node + 1]};
    }

    /**
     * @param link a directed link
     * @return the node it leaves
     */
    NodeId GetSource(DirectedLinkId link) const
    {
        const Link& l = GetLinkOf(link);
        return link % 2 ? l.b : l.a;
    }

    /**
     * @param link a directed link
     * @return the node it leads to
     */
    NodeId GetTarget(DirectedLinkId link) const
    {
        return GetSource(Reverse(link));
    }

    /**
     * @param link a directed link
     * @return how many unit flows it carries in a round
     */
    uint32_t GetCapacity(DirectedLinkId link) const
    {
        return GetLinkOf(link).capacity;
    }

    /// @return by directed link: how many unit flows it carries in a round
    std::vector<uint32_t> GetCapacities() const;

    /**
     * @param from a node
     * @param to another node
     * @return the directed link between them, if there is one
     */
    std::optional<DirectedLinkId> FindDirectedLink(NodeId from, NodeId to) const;

    /**
     * Check that a path exists: two nodes or more, none twice, each joined to the next.
     *
     * @param path the nodes of the path
     * @throws InputError that names the path and what is wrong with it
     */
    void CheckPath(const Path& path) const;

    /// @return whether every server can reach every other
    bool AreServersConnected() const;

    /**
     * @param node a node
     * @return "server 3" or "switch 17" (by node id), for messages
     */
    std::string Describe(NodeId node) const;

    /// @return where each node is drawn, by node id
    const std::vector<Position>& GetPositions() const;

    /**
     * Give the nodes places for drawing; without this they stand on two circles.
     *
     * @param positions a position for each node
     */
    void SetPositions(std::vector<Position> positions);

    /**
     * The same network under another name and with other links: what the modifiers make.
     *
     * @param name the new name
     * @param links the new links
     * @return the new topology, drawn as this one is
     */
    Topology WithLinks(std::string name, std::vector<Link> links) const;

  private:
    /// Refuse what cannot be a link of this network.
    void CheckLinks() const;
    /// Fill the table of ports.
    void BuildPorts();

    std::string m_name;                //!< what the topology calls itself
    uint32_t m_nServers;               //!< number of servers
    uint32_t m_nSwitches;              //!< number of switches
    std::vector<Link> m_links;         //!< links by id
    std::vector<uint32_t> m_firstPort; //!< by node: index of its first port in m_ports
    std::vector<Port> m_ports;         //!< ports of all nodes, one node after another
    std::vector<Position> m_positions; //!< where the nodes are drawn
};

/**
 * @ingroup allreduce
 *
 * Call a function with each directed link along a path.
 *
 * @param topology the network
 * @param path the nodes of a path that exists
 * @param call called with a DirectedLinkId
 */
template <typename Nodes, typename Call>
void
ForEachLink(const Topology& topology, const Nodes& path, Call call)
{
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
    {
        call(*topology.FindDirectedLink(path[i], path[i + 1]));
    }
}

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param path the nodes of a path that exists
 * @return the directed links along the path
 */
template <typename Nodes>
std::vector<DirectedLinkId>
FindLinks(const Topology& topology, const Nodes& path)
{
    std::vector<DirectedLinkId> links;
    links.reserve(path.size());
    ForEachLink(topology, path, [&](DirectedLinkId link) { links.push_back(link); });
    return links;
}

/**
 * @ingroup allreduce
 *
 * @param path the nodes of a path
 * @return the path as "5-17-1"
 */
std::string FormatPath(const Path& path);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_H */
