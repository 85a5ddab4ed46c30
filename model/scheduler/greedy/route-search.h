/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUTE_SEARCH_H
#define ALLREDUCE_ROUTE_SEARCH_H

#include "broadcast-problem.h"
#include "broadcast-progress.h"

#include "ns3/random-source.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a chunk costs that a server could receive next. A greedy planner takes the cheapest.
struct GreedyWeights
{
    double rarity{1};   //!< off, for each server that must still be sent the chunk
    double spread{6};   //!< off, times the share of the receiver's neighbors that lack the chunk
    double length{0.5}; //!< for each link of the path
    double noise{0.3};  //!< up to this much at random
};

/// @ingroup allreduce
/// A chunk and its path to the server that receives it.
struct Route
{
    ChunkId chunk{0};                  //!< what is sent
    std::vector<DirectedLinkId> links; //!< from the sender to the receiver
};

/// @ingroup allreduce
/// A route that one thing blocks: a link is full, or the chunk comes over another port.
struct BlockedRoute
{
    Route route;                //!< the route
    bool isLinkFull;            //!< else the receiver gets the chunk over another port
    DirectedLinkId fullLink{0}; //!< which link is full, if one is
};

/// @ingroup allreduce
/// Finds what can be sent to a server over one of its ports, and from where. The search goes from
/// the port backwards through the switches, and comes to the nearest senders first.
class RouteSearch
{
  public:
    /**
     * @param problem the network
     * @param free by directed link: how many unit flows more it takes in this round
     * @param progress who holds and misses what
     * @param weights what to prefer
     * @param random random numbers
     */
    RouteSearch(const BroadcastProblem& problem,
                const std::vector<uint32_t>& free,
                const BroadcastProgress& progress,
                const GreedyWeights& weights,
                PlannerRandom& random);

    /**
     * Begin a new round. Where only samples of the chunks are weighed, all samples of a round are
     * taken from about the same chunks, so that what is known of them stays in the caches.
     */
    void BeginRound();

    /**
     * @param last the link over which the server is to receive, which must have room
     * @param route the cheapest route found
     * @return whether there is one
     */
    bool FindFree(DirectedLinkId last, Route& route);

    /**
     * Find routes that would be there, were it not for one thing.
     *
     * @param last the link over which the server is to receive, which must have room
     * @param coming what the server gets over other ports in this round
     * @param routes the routes found, not too many
     */
    void FindBlocked(DirectedLinkId last,
                     const std::vector<ChunkId>& coming,
                     std::vector<BlockedRoute>& routes);

  private:
    struct Choice
    {
        double cost;          //!< of sending it
        ChunkId chunk;        //!< the chunk
        DirectedLinkId first; //!< the link on which it leaves its sender
    };

    /// Forget the last search and begin at the port.
    void Begin(DirectedLinkId last);
    /// Let all chunks be weighed that the receiver misses.
    void OpenMissing();
    bool IsReached(NodeId node) const;
    /// Go on to a switch. @param link leads from it towards the receiver
    void ReachSwitch(NodeId node, DirectedLinkId link, uint32_t length, DirectedLinkId fullLink);
    /// Call visit(from, link) for the links into a node, in turn from a random one on.
    template <typename Visit>
    void VisitLinksInto(NodeId node, Visit visit);
    /// Search behind links with room, nearest servers first. @param goOn whether to look further
    /// @param consider called with each server, its first link and the length of its path
    template <typename GoOn, typename Consider>
    void SearchFreeLinks(GoOn goOn, Consider consider);
    /// Weigh the chunks that a server can send.
    /// @param sender the server @param first its link @param length links of the path
    /// @param best the best chunk so far
    void ConsiderSender(NodeId sender, DirectedLinkId first, uint32_t length, Choice& best);
    /// @return what it costs to send a chunk over a path of this length
    double GetCost(ChunkId chunk, uint32_t length) const;
    /// Search behind links with room for servers that have what comes from elsewhere.
    void FindComing(const std::vector<ChunkId>& coming, std::vector<BlockedRoute>& routes);
    /// Search on, behind one full link.
    void FindBehindFullLinks(std::vector<BlockedRoute>& routes);
    /// Write down a route that goes out from a sender on its link.
    void AddBlocked(ChunkId chunk,
                    DirectedLinkId first,
                    DirectedLinkId fullLink,
                    std::vector<BlockedRoute>& routes) const;
    /// Write down the links from a sender's one to the receiver.
    void TracePath(DirectedLinkId first, std::vector<DirectedLinkId>& links) const;

    const BroadcastProblem& m_problem; //!< which links are up
    const Topology& m_topology;
    const std::vector<uint32_t>& m_free; //!< by directed link: unit flows that it still takes
    const BroadcastProgress& m_progress; //!< who holds and misses what
    const GreedyWeights m_weights;       //!< what to prefer
    PlannerRandom& m_random;
    const bool m_sampling; //!< too many chunks to weigh all

    std::size_t m_startWord{0}; //!< where in rows of chunks searches of a round begin

    // One search:
    NodeId m_receiver{0};                     //!< the server that is to receive
    DirectedLinkId m_last{0};                 //!< the link over which it is to receive
    uint64_t m_salt{0};                       //!< makes the noise in the costs
    std::vector<uint64_t> m_open;             //!< chunks that are still to be weighed
    uint32_t m_nToWeigh{0};                   //!< how many more chunks to weigh
    std::vector<NodeId> m_queue;              //!< switches in the order they were reached
    uint32_t m_search{0};                     //!< number of this search
    std::vector<uint32_t> m_reachedIn;        //!< by node: the last search that reached it
    std::vector<DirectedLinkId> m_towards;    //!< by switch reached: link towards the receiver
    std::vector<uint32_t> m_length;           //!< by switch reached: links to the receiver
    std::vector<DirectedLinkId> m_fullOnPath; //!< by switch reached: full link on the path
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUTE_SEARCH_H */
