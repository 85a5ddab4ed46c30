/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forest-matching.h"

#include "path-matching.h"

#include <algorithm>
#include <functional>
#include <set>

namespace ns3::allreduce
{

namespace
{

/// The different paths that workloads are sent over.
struct UsedPaths
{
    PathIndex paths;                         //!< in the direction in which they are used
    std::vector<PathMatching::Index> ofRank; //!< by rank of a workload
};

UsedPaths
ListPaths(const ForestOrder& order)
{
    UsedPaths used{PathIndex(order.topology), {}};
    for (const DeliveryId delivery : order.deliveries)
    {
        const PathId path = order.paths[delivery % 2][delivery / 2];
        const auto links = order.table.GetLinks(delivery % 2 == UP ? Reverse(path) : path);
        used.ofRank.push_back(used.paths.FindOrAdd({links.begin(), links.end()}) / 2);
    }
    return used;
}

/// Which workloads can be sent: those whose data is there.
class Readiness
{
  public:
    explicit Readiness(const ForestOrder& order)
        : m_order(order),
          m_nServers(order.topology.GetNServers()),
          m_nMissing(order.paths[UP].size(), 0),
          m_rank(2 * order.paths[UP].size()),
          m_firstChild(order.paths[UP].size() + 1, 0)
    {
        for (uint32_t rank = 0; rank < order.deliveries.size(); ++rank)
        {
            const DeliveryId delivery = order.deliveries[rank];
            m_rank[delivery] = rank;
            ++(delivery % 2 == UP ? m_nMissing[GetParent(delivery)]
                                  : m_firstChild[GetParent(delivery)]);
        }
        ListChildren();
    }

    /// @return the workloads that can be sent at the beginning, as ranks
    std::vector<uint32_t> GetFirst() const
    {
        std::vector<uint32_t> first;
        for (uint32_t rank = 0; rank < m_order.deliveries.size(); ++rank)
        {
            const DeliveryId delivery = m_order.deliveries[rank];
            const bool isFromRoot = delivery % 2 == DOWN && !IsInTree(GetParent(delivery), DOWN);
            if ((delivery % 2 == UP && m_nMissing[delivery / 2] == 0) ||
                (isFromRoot && m_nMissing[GetParent(delivery)] == 0))
            {
                first.push_back(rank);
            }
        }
        return first;
    }

    /// A workload has been sent. @param use called with each that can be sent after it
    template <typename Use>
    void Send(uint32_t rank, Use use)
    {
        const DeliveryId delivery = m_order.deliveries[rank];
        if (delivery % 2 == DOWN)
        {
            SendToChildren(delivery / 2, use);
            return;
        }
        const uint32_t parent = GetParent(delivery);
        if (--m_nMissing[parent] > 0)
        {
            return;
        }
        if (!IsInTree(parent, UP))
        {
            SendToChildren(parent, use);
        }
        else
        {
            use(m_rank[2 * parent + UP]);
        }
    }

  private:
    /// @return whether there is a delivery; who sends or receives others without one is a root
    bool IsInTree(uint32_t index, uint32_t half) const
    {
        return m_order.paths[half][index] != NO_PATH;
    }

    /// @return the index of the chunk and the server at the upper end of a workload
    uint32_t GetParent(DeliveryId delivery) const
    {
        const NodeId parent = m_order.table.GetSource(m_order.paths[delivery % 2][delivery / 2]);
        return delivery / 2 / m_nServers * m_nServers + parent;
    }

    void ListChildren()
    {
        uint32_t nBefore = 0;
        for (uint32_t& first : m_firstChild)
        {
            nBefore += first;
            first = nBefore;
        }
        m_children.resize(nBefore);
        for (const DeliveryId delivery : m_order.deliveries)
        {
            if (delivery % 2 == DOWN)
            {
                m_children[--m_firstChild[GetParent(delivery)]] = m_rank[delivery];
            }
        }
    }

    template <typename Use>
    void SendToChildren(uint32_t index, Use use) const
    {
        for (uint32_t i = m_firstChild[index]; i < m_firstChild[index + 1]; ++i)
        {
            use(m_children[i]);
        }
    }

    const ForestOrder& m_order;
    const uint32_t m_nServers;
    std::vector<uint32_t> m_nMissing;   //!< by index: partial sums that have not come
    std::vector<uint32_t> m_rank;       //!< by delivery: its place in the order
    std::vector<uint32_t> m_firstChild; //!< by index: where its children are; one more at the end
    std::vector<uint32_t> m_children;   //!< broadcasts to all children, as ranks
};

/// Queues of workloads that can be sent, and what links have yet to carry.
class WaitingWorkloads
{
  public:
    WaitingWorkloads(const Topology& topology, const UsedPaths& paths)
        : m_topology(topology),
          m_paths(paths),
          m_queues(paths.paths.GetSize() / 2),
          m_nWaiting(paths.paths.GetSize() / 2, 0),
          m_load(2 * topology.GetNLinks(), 0)
    {
        for (const PathMatching::Index path : paths.ofRank)
        {
            AddLoad(path, 1);
        }
    }

    void Add(uint32_t rank)
    {
        const PathMatching::Index path = m_paths.ofRank[rank];
        std::vector<uint32_t>& queue = m_queues[path];
        if (queue.empty() || rank < queue.front())
        {
            m_fronts.insert(rank);
            if (!queue.empty())
            {
                m_fronts.erase(queue.front());
            }
        }
        queue.push_back(rank);
        std::push_heap(queue.begin(), queue.end(), std::greater<>());
        ++m_nWaiting[path];
    }

    /// @return the first workload of a path's queue, which has left it
    uint32_t TakeFirst(PathMatching::Index path)
    {
        std::vector<uint32_t>& queue = m_queues[path];
        std::pop_heap(queue.begin(), queue.end(), std::greater<>());
        const uint32_t rank = queue.back();
        queue.pop_back();
        m_fronts.erase(rank);
        if (!queue.empty())
        {
            m_fronts.insert(queue.front());
        }
        --m_nWaiting[path];
        AddLoad(path, -1);
        return rank;
    }

    /// @return by path: how many workloads are sent in this round
    const std::vector<uint32_t>& Match(PathMatching& matching)
    {
        m_inUse.clear();
        for (const uint32_t rank : m_fronts)
        {
            m_inUse.push_back(m_paths.ofRank[rank]);
        }
        return matching.Choose(m_inUse, m_nWaiting, m_load);
    }

  private:
    void AddLoad(PathMatching::Index path, double nWorkloads)
    {
        for (const DirectedLinkId link : m_paths.paths.GetLinks(2 * path))
        {
            m_load[link] += nWorkloads / m_topology.GetCapacity(link);
        }
    }

    const Topology& m_topology;
    const UsedPaths& m_paths;
    std::vector<std::vector<uint32_t>> m_queues; //!< by path: ranks, as a heap
    std::set<uint32_t> m_fronts;                 //!< the first one of each queue
    std::vector<uint32_t> m_nWaiting;            //!< by path
    std::vector<double> m_load;                  //!< by directed link, for its capacity
    std::vector<PathMatching::Index> m_inUse;    //!< paths on which workloads wait
};

} // namespace

uint64_t
PlaceByMatching(const ForestOrder& order, std::array<std::vector<uint32_t>, 2>& rounds)
{
    const UsedPaths paths = ListPaths(order);
    PathMatching matching(order.topology, paths.paths);
    Readiness readiness(order);
    WaitingWorkloads waiting(order.topology, paths);
    std::vector<uint32_t> ready = readiness.GetFirst();
    std::vector<uint32_t> sent;
    uint32_t nRounds = 0;
    for (std::size_t nSent = 0; nSent < order.deliveries.size(); nSent += sent.size(), ++nRounds)
    {
        for (const uint32_t rank : ready)
        {
            waiting.Add(rank);
        }
        const std::vector<uint32_t>& chosen = waiting.Match(matching);
        sent.clear();
        ready.clear();
        for (PathMatching::Index path = 0; path < chosen.size(); ++path)
        {
            for (uint32_t i = 0; i < chosen[path]; ++i)
            {
                sent.push_back(waiting.TakeFirst(path));
            }
        }
        for (const uint32_t rank : sent)
        {
            const DeliveryId delivery = order.deliveries[rank];
            rounds[delivery % 2][delivery / 2] = nRounds;
            readiness.Send(rank, [&](uint32_t next) { ready.push_back(next); });
        }
    }
    return uint64_t{nRounds} * paths.paths.GetSize() / 2;
}

} // namespace ns3::allreduce
