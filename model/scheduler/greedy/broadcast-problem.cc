/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "broadcast-problem.h"

#include "ns3/allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Spreads one chunk after another over the links that are up, without regard to time.
class RelayFinder
{
  public:
    explicit RelayFinder(const BroadcastProblem& problem)
        : m_problem(problem),
          m_topology(*problem.topology),
          m_receivers(problem.wants),
          m_cameFrom(m_topology.GetNNodes()),
          m_reached(m_topology.GetNNodes()),
          m_isBarred(m_topology.GetNNodes(), false)
    {
    }

    BitMatrix Find()
    {
        const std::vector<uint64_t> easy = FindChunksThatNeedNoRelay();
        for (ChunkId chunk = 0; chunk < m_problem.nChunks; ++chunk)
        {
            const bool isEasy =
                easy[chunk / BitMatrix::WORD_BITS] >> (chunk % BitMatrix::WORD_BITS) & 1;
            if (!isEasy)
            {
                SpreadChunk(chunk);
            }
        }
        return std::move(m_receivers);
    }

  private:
    static constexpr NodeId NOBODY = -1; //!< where a node came from that holds the chunk

    /// Where everything is connected, a chunk that all servers hold or want needs no search: this
    /// is every chunk of an AllReduce on a healthy network.
    std::vector<uint64_t> FindChunksThatNeedNoRelay()
    {
        const std::size_t words = m_problem.holders.GetRowWords();
        std::vector<uint64_t> someoneHolds(words, 0);
        std::vector<uint64_t> everyoneTakesPart(words, ~uint64_t{0});
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            const uint64_t* holds = m_problem.holders.GetRow(server);
            const uint64_t* wants = m_problem.wants.GetRow(server);
            for (std::size_t i = 0; i < words; ++i)
            {
                someoneHolds[i] |= holds[i];
                everyoneTakesPart[i] &= holds[i] | wants[i];
            }
        }
        const bool connected = AreServersStronglyConnected();
        for (std::size_t i = 0; i < words; ++i)
        {
            someoneHolds[i] &= connected ? everyoneTakesPart[i] : 0;
        }
        return someoneHolds;
    }

    bool AreServersStronglyConnected()
    {
        for (bool backwards : {false, true})
        {
            Forget();
            if (m_topology.GetNServers() > 0)
            {
                Reach(0, NOBODY);
            }
            for (std::size_t i = 0; i < m_queue.size(); ++i)
            {
                ReachNeighbors(m_queue[i], 0, backwards);
            }
            if (!std::all_of(m_reached.begin(),
                             m_reached.begin() + m_topology.GetNServers(),
                             [](bool reached) { return reached; }))
            {
                return false;
            }
        }
        return true;
    }

    /// Spread a chunk among those who want it and, as long as some are left out, towards them.
    void SpreadChunk(ChunkId chunk)
    {
        Forget();
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            m_isBarred[server] =
                m_problem.mayHold.GetNColumns() > 0 && !m_problem.mayHold.Test(server, chunk);
            if (m_problem.holders.Test(server, chunk))
            {
                Reach(server, NOBODY);
            }
        }
        std::size_t next = 0; // in the queue
        std::vector<NodeId> outsiders;
        while (true)
        {
            for (; next < m_queue.size(); ++next)
            {
                const NodeId node = m_queue[next];
                if (TakesPart(node, chunk))
                {
                    ReachNeighbors(node, chunk, false);
                }
                else
                {
                    outsiders.push_back(node);
                }
            }
            if (FindLeftOut(chunk) == NOBODY)
            {
                return;
            }
            AddRelaysTowardsNearest(chunk, outsiders);
            // The search went on past outsiders: take it up again with the relays it found.
            outsiders.clear();
            next = 0;
        }
    }

    /// Let outsiders pass the chunk on until a server is found that lacks it, then make relays of
    /// those on the path there, and of no others.
    void AddRelaysTowardsNearest(ChunkId chunk, const std::vector<NodeId>& outsiders)
    {
        const std::size_t settled = m_queue.size();
        for (NodeId outsider : outsiders)
        {
            ReachNeighbors(outsider, chunk, false);
        }
        NodeId found = FindLackingServer(chunk, settled);
        for (std::size_t i = settled; found == NOBODY && i < m_queue.size(); ++i)
        {
            const std::size_t before = m_queue.size();
            ReachNeighbors(m_queue[i], chunk, false);
            found = FindLackingServer(chunk, before);
        }
        if (found == NOBODY)
        {
            FailUnreachable(chunk);
        }
        for (NodeId node = m_cameFrom[found]; node != NOBODY; node = m_cameFrom[node])
        {
            if (!TakesPart(node, chunk))
            {
                m_receivers.Set(node, chunk);
            }
        }
        while (m_queue.size() > settled)
        {
            m_reached[m_queue.back()] = false;
            m_queue.pop_back();
        }
    }

    /// @return the first server in the queue from this index on that wants the chunk
    NodeId FindLackingServer(ChunkId chunk, std::size_t from) const
    {
        for (std::size_t i = from; i < m_queue.size(); ++i)
        {
            if (m_topology.IsServer(m_queue[i]) && m_problem.wants.Test(m_queue[i], chunk))
            {
                return m_queue[i];
            }
        }
        return NOBODY;
    }

    /// @return the first server that wants the chunk and has not been reached
    NodeId FindLeftOut(ChunkId chunk) const
    {
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            if (!m_reached[server] && m_problem.wants.Test(server, chunk))
            {
                return server;
            }
        }
        return NOBODY;
    }

    [[noreturn]] void FailUnreachable(ChunkId chunk) const
    {
        FailInput("chunk ",
                  chunk,
                  " cannot reach ",
                  m_topology.Describe(FindLeftOut(chunk)),
                  " over the links of ",
                  m_topology.GetName(),
                  " that are up",
                  m_problem.mayHold.GetNColumns() > 0 ? " and servers that may hold it" : "");
    }

    /// @return whether the node passes the chunk on without being asked to relay
    bool TakesPart(NodeId node, ChunkId chunk) const
    {
        return !m_topology.IsServer(node) || m_problem.holders.Test(node, chunk) ||
               m_receivers.Test(node, chunk);
    }

    void Forget()
    {
        m_queue.clear();
        std::fill(m_reached.begin(), m_reached.end(), false);
    }

    void Reach(NodeId node, NodeId from)
    {
        m_reached[node] = true;
        m_cameFrom[node] = from;
        m_queue.push_back(node);
    }

    /// Go on to all neighbors over links that are up.
    /// @param node where to go on from
    /// @param rotation which neighbor comes first, so that not all chunks take the same relays
    /// @param backwards against the direction of the links
    void ReachNeighbors(NodeId node, uint32_t rotation, bool backwards)
    {
        const Topology::Ports ports = m_topology.GetPorts(node);
        for (std::size_t i = 0; i < ports.size(); ++i)
        {
            const Topology::Port& port = ports[(i + rotation) % ports.size()];
            const DirectedLinkId link = backwards ? Reverse(port.out) : port.out;
            if (!m_reached[port.neighbor] && !m_isBarred[port.neighbor] &&
                m_problem.capacity[link] > 0)
            {
                Reach(port.neighbor, node);
            }
        }
    }

    const BroadcastProblem& m_problem; //!< what is asked
    const Topology& m_topology;
    BitMatrix m_receivers;          //!< who wants or relays what
    std::vector<NodeId> m_queue;    //!< nodes in the order they were reached
    std::vector<NodeId> m_cameFrom; //!< by node: which one it was reached from
    std::vector<bool> m_reached;    //!< by node
    std::vector<bool> m_isBarred;   //!< by node: may not hold the chunk
};

} // namespace

BitMatrix
FindReceivers(const BroadcastProblem& problem)
{
    return RelayFinder(problem).Find();
}

} // namespace ns3::allreduce
