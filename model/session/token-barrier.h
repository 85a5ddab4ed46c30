/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOKEN_BARRIER_H
#define ALLREDUCE_TOKEN_BARRIER_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A barrier of messages along a tree of the servers.
 *
 * A server that has received all that the round sends it, and heard the same from the servers below
 * it, sends a token up the tree. When the root is that far, the round is over. Then releases go
 * down the tree, and a server that gets one begins the next round. No server has more than four
 * below it for each of its ports, so that tokens do not drown each other in a short queue.
 *
 * Where several ranks simulate the network, each has a barrier for the servers that it simulates.
 */
class TokenBarrier
{
  public:
    /// A token or a release.
    struct Message
    {
        uint32_t phase; //!< what it is about: counts all that servers have waited for
        NodeId child;   //!< the lower of the two servers
        bool isRelease; //!< down to that server; a token comes up from there
    };

    /// What the barrier needs of its owner.
    struct Owner
    {
        /// Sends a message along a path; Arrive is called when it arrives.
        std::function<void(const Path&, const Message&)> send;
        /// Says whether a server is simulated here.
        std::function<bool(NodeId)> isHere;
        /// Told that a server may begin the round.
        std::function<void(NodeId)> release;
        /// Told that the round is over.
        std::function<void()> end;
    };

    /// @param owner what the barrier needs of its owner
    explicit TokenBarrier(Owner owner);

    /**
     * Lay out the tree; messages that are on their way count no longer. It joins all servers that
     * a given one can reach, with the first of them for its root. The others take no part.
     *
     * @param topology the network
     * @param isUp by link: whether it can be used
     * @param server the given one
     */
    void PlanTree(const Topology& topology, const std::vector<bool>& isUp, NodeId server);

    /// @return whether all servers take part; those that were cut off do not
    bool HasEverybody() const;

    /// @return the server at the top of the tree
    NodeId GetRoot() const;

    /// @return the paths of the tree, up and down
    std::vector<Path> GetPaths() const;

    /**
     * A round begins in which servers are released one by one, from the root on.
     *
     * @param round its workloads
     */
    void BeginRound(const WorkloadList& round);

    /**
     * A round begins at all servers at once.
     *
     * @param round its workloads; none to hear only that all servers are there
     */
    void BeginTogether(const WorkloadList& round);

    /// All servers are to say when they are ready, each with NotifyArrival.
    void BeginGathering();

    /// Tell all servers, from the root on, that it is over.
    void ReleaseAll();

    /// A workload of the round has arrived. @param server where
    void NotifyArrival(NodeId server);

    /// @param message a message that has arrived
    void Arrive(const Message& message);

    /// @return what is going on: the number in the messages
    uint32_t GetPhase() const;

    /**
     * @param message a message
     * @return its way
     */
    Path GetPath(const Message& message) const;

    /**
     * @param server a server
     * @return the ways from the root to it, one server after another
     */
    std::vector<Path> GetPathsTo(NodeId server) const;

  private:
    /// A server's place in the tree and how far it is.
    struct Member
    {
        bool takesPart{false};        //!< is in the tree
        NodeId parent{0};             //!< the server above it
        Path up;                      //!< the way there
        std::vector<NodeId> children; //!< the servers below it
        bool isReleased{false};       //!< may begin the round
        bool isDone{false};           //!< has sent its token
        uint32_t nAwaited{0};         //!< workloads and tokens that have not arrived
    };

    /// @return the first server with room for another below it, from this one down
    /// @param topology the network @param top this server
    NodeId FindRoom(const Topology& topology, NodeId top) const;
    void Expect(const WorkloadList& round);
    void Release(NodeId server);
    void Receive(NodeId server);
    void FinishIfDone(NodeId server);
    void Send(NodeId child, bool isRelease);

    Owner m_owner;                 //!< what the barrier needs of its owner
    NodeId m_root{0};              //!< the server at the top of the tree
    std::vector<Member> m_members; //!< by server
    uint32_t m_phase{0};           //!< messages of earlier ones do not count
    bool m_isOver{false};          //!< see ReleaseAll
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOKEN_BARRIER_H */
