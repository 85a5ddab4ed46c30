/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUTE_SEARCH_H
#define ALLREDUCE_ROUTE_SEARCH_H

#include "broadcast-problem.h"
#include "broadcast-progress.h"

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What a greedy planner prefers: of the chunks that a server could receive next, the one of
 * lowest cost.
 */
struct GreedyWeights
{
    double rarity{1};  //!< off, for each server that must still be sent the chunk
    double spread{6};  //!< off, times the share of the receiver's neighbors that lack the chunk
    double hop{0.5};   //!< for each link of the path
    double noise{0.3}; //!< up to this much at random
};

/// @ingroup allreduce
/// The random numbers of one planner.
class PlannerRandom
{
  public:
    /// @param seed another seed gives other numbers
    explicit PlannerRandom(uint64_t seed)
        : m_engine(seed)
    {
    }

    /// @return a number below this @param bound at least 1
    uint32_t Below(uint32_t bound)
    {
        return (m_engine() >> 32) * bound >> 32;
    }

    /// @return a number in [0, 1)
    double Unit()
    {
        return (m_engine() >> 11) * 0x1p-53;
    }

  private:
    std::mt19937_64 m_engine; //!< the generator
};

/// @ingroup allreduce
/// A way for a chunk to a server.
struct Route
{
    ChunkId chunk{0};                                    //!< what is sent
    double cost{std::numeric_limits<double>::infinity()}; //!< by GreedyWeights
    std::vector<DirectedLinkId> links;                   //!< from the sender to the receiver
};

/**
 * @ingroup allreduce
 *
 * @brief Finds what can be sent to a server over one of its ports, and from where: a search from
 * the port backwards through the switches, shortest paths first.
 */
class RouteSearch
{
  public:
    /// A route that one thing is in the way of: a full link, or that the chunk comes otherwise.
    struct BlockedRoute
    {
        Route route;                //!< the route
        bool isLinkFull{false};     //!< else the chunk comes over another port
        DirectedLinkId fullLink{0}; //!< which link is full, if one is
    };

    /**
     * @param topology the network
     * @param free by directed link: how many unit flows more it takes in this round
     * @param progress who holds and misses what
     * @param weights what to prefer
     * @param random random numbers
     */
    RouteSearch(const Topology& topology,
                const std::vector<uint32_t>& free,
                const BroadcastProgress& progress,
                const GreedyWeights& weights,
                PlannerRandom& random);

    /**
     * @param last the link over which the server is to receive, which must have room
     * @param route the cheapest route found
     * @return whether one was found
     */
    bool FindFree(DirectedLinkId last, Route& route);

    /**
     * Find routes that would be there, were it not for one thing.
     *
     * @param last the link over which the server is to receive, which must have room
     * @param comingChunks what the server gets over other ports in this round
     * @param limit how many routes to find at most
     * @param routes the routes found
     */
    void FindBlocked(DirectedLinkId last,
                     const std::vector<ChunkId>& comingChunks,
                     std::size_t limit,
                     std::vector<BlockedRoute>& routes);

  private:
    /// Forget the last search and begin at the port.
    void Begin(DirectedLinkId last);
    /// Look at a server that can send over a link: is there a better chunk than the best so far?
    void ConsiderSender(DirectedLinkId first, uint32_t length, Route& best);
    /// Go on to a switch.
    void Reach(NodeId node, DirectedLinkId towards, uint32_t length);
    /// @return the cost of a chunk, whoever sends it
    double GetCost(ChunkId chunk);
    /// Write down the links from a sender's one to the receiver.
    void TracePath(DirectedLinkId first, std::vector<DirectedLinkId>& links) const;
    void FindBehindFullLinks(std::size_t limit, std::vector<BlockedRoute>& routes);
    void AddBlocked(DirectedLinkId first,
                    DirectedLinkId fullLink,
                    uint32_t length,
                    std::vector<BlockedRoute>& routes);

    const Topology& m_topology;           //!< the network
    const std::vector<uint32_t>& m_free;  //!< by directed link: unit flows that it still takes
    const BroadcastProgress& m_progress;  //!< who holds and misses what
    const GreedyWeights m_weights;        //!< what to prefer
    PlannerRandom& m_random;              //!< random numbers
    NodeId m_receiver{0};                 //!< the server that is to receive
    DirectedLinkId m_last{0};             //!< the link over which it is to receive
    uint32_t m_search{0};                 //!< number of this search
    std::vector<uint32_t> m_reachedIn;    //!< by node: the last search that reached it
    std::vector<DirectedLinkId> m_towards; //!< by switch reached: link towards the receiver
    std::vector<uint32_t> m_length;       //!< by switch reached: links to the receiver
    std::vector<DirectedLinkId> m_blockedBy; //!< by switch reached: full link on the way
    std::vector<NodeId> m_queue;          //!< switches in the order they were reached
    std::vector<uint64_t> m_open;         //!< chunks wanted that no nearer server could send
    uint32_t m_nConsidered{0};            //!< chunks weighed in this search
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUTE_SEARCH_H */
