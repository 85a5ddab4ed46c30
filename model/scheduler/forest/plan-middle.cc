/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-middle.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/random-source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// How often every chunk chooses its trees.
constexpr uint32_t N_SWEEPS = 5;
/// How steeply prices grow with load, in the first sweep and in the last one.
constexpr double FIRST_STEEPNESS = 3;
constexpr double LAST_STEEPNESS = 13;
/// What a server in the core costs, because the open chunk has to wait for it.
constexpr double PRICE_OF_MEMBER = 0.15;
/// What is added next to the root: there a settled chunk is at hand when others are not yet.
constexpr double PRICE_NEXT_TO_ROOT = 0.3;
/// What it costs that a core is more than the root: such a chunk is not final in the middle.
constexpr double PRICE_OF_CORE = 0.3;
/// The least price of a link: of paths that cost nothing the shorter one is better.
constexpr double LEAST_CORE_PRICE = 1e-4;

/// A spanning tree of the servers, each with the path from its parent.
struct RootedTree
{
    std::vector<NodeId> order;                       //!< servers, parents first
    std::vector<NodeId> parent;                      //!< by server
    std::vector<std::vector<DirectedLinkId>> comeBy; //!< by server: links from its parent

    explicit RootedTree(uint32_t nServers)
        : parent(nServers),
          comeBy(nServers)
    {
    }
};

/**
 * Grows trees of servers as Prim does, over paths of switches, where each direction of a
 * link has a price of its own. Deep trees are a little dearer than shallow ones.
 */
class RootedTreeGrower
{
  public:
    explicit RootedTreeGrower(const Topology& topology)
        : m_topology(topology),
          m_price(topology.GetNNodes()),
          m_by(topology.GetNNodes()),
          m_depth(topology.GetNServers()),
          m_isDone(topology.GetNServers())
    {
    }

    /**
     * Servers that no path of finite price leads to are left out.
     *
     * @param root where it begins
     * @param getPrice of a directed link, away from the root
     * @param [out] tree the tree
     */
    template <typename GetPrice>
    void Grow(NodeId root, const GetPrice& getPrice, RootedTree& tree)
    {
        std::fill(m_price.begin(), m_price.end(), std::numeric_limits<double>::infinity());
        std::fill(m_isDone.begin(), m_isDone.end(), false);
        m_heap.clear();
        tree.order.assign(1, root);
        tree.parent[root] = root;
        tree.comeBy[root].clear();
        m_depth[root] = 0;
        m_isDone[root] = true;
        Leave(root, 0, getPrice);
        while (!m_heap.empty())
        {
            std::pop_heap(m_heap.begin(), m_heap.end());
            const auto [negativePrice, node] = m_heap.back();
            m_heap.pop_back();
            if (-negativePrice > m_price[node])
            {
                continue;
            }
            if (!m_topology.IsServer(node))
            {
                Leave(node, -negativePrice, getPrice);
            }
            else if (!m_isDone[node])
            {
                Attach(node, tree);
                Leave(node, 0, getPrice);
            }
        }
    }

  private:
    /// What every server between the root and the next edge of a tree adds to its price.
    static constexpr double PRICE_OF_DEPTH = 0.1;

    template <typename GetPrice>
    void Leave(NodeId node, double price, const GetPrice& getPrice)
    {
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const NodeId next = port.neighbor;
            if (m_topology.IsServer(next) && m_isDone[next])
            {
                continue;
            }
            const uint32_t depth = m_topology.IsServer(node) ? m_depth[node] : 0;
            const double there = price + getPrice(port.out) * (1 + PRICE_OF_DEPTH * depth);
            if (there < m_price[next])
            {
                m_price[next] = there;
                m_by[next] = port.out;
                m_heap.emplace_back(-there, next);
                std::push_heap(m_heap.begin(), m_heap.end());
            }
        }
    }

    void Attach(NodeId server, RootedTree& tree)
    {
        m_isDone[server] = true;
        std::vector<DirectedLinkId>& links = tree.comeBy[server];
        links.clear();
        NodeId node = server;
        do
        {
            links.push_back(m_by[node]);
            node = m_topology.GetSource(m_by[node]);
        } while (!m_topology.IsServer(node));
        tree.parent[server] = node;
        tree.order.push_back(server);
        m_depth[server] = m_depth[node] + 1;
    }

    const Topology& m_topology;
    std::vector<double> m_price;                   //!< by node: from the tree
    std::vector<DirectedLinkId> m_by;              //!< by node: the last link of the path there
    std::vector<uint32_t> m_depth;                 //!< by server: edges from the root
    std::vector<bool> m_isDone;                    //!< by server: in the tree
    std::vector<std::pair<double, NodeId>> m_heap; //!< the cheapest nodes first
};

/// What the halves are called where they are an index: by which of a chunk's forms they begin with.
enum Half : uint8_t
{
    SECOND,
    FIRST
};

/// What the links carry in both halves, and the prices that follow from it.
class HalfLoads
{
  public:
    HalfLoads(const Topology& topology, uint32_t nRounds)
    {
        for (const uint32_t capacity : topology.GetCapacities())
        {
            m_capacity.push_back(capacity);
            m_room.push_back(capacity * nRounds / 2.0);
        }
        for (auto& load : m_load)
        {
            load.assign(m_room.size(), 0);
        }
        m_price = {std::vector<double>(m_room.size()), std::vector<double>(m_room.size())};
    }

    void SetSteepness(double steepness)
    {
        m_steepness = steepness;
        for (const Half half : {SECOND, FIRST})
        {
            for (DirectedLinkId link = 0; link < m_room.size(); ++link)
            {
                UpdatePrice(half, link);
            }
        }
    }

    void Add(Half half, DirectedLinkId link, double change)
    {
        m_load[half][link] += change;
        UpdatePrice(half, link);
    }

    double GetPrice(Half half, DirectedLinkId link) const
    {
        return m_price[half][link];
    }

  private:
    void UpdatePrice(Half half, DirectedLinkId link)
    {
        const double fullness = m_load[half][link] / m_room[link];
        m_price[half][link] =
            std::exp(m_steepness * (fullness - 1)) / m_capacity[link] + LEAST_CORE_PRICE;
    }

    double m_steepness{1};                      //!< how prices grow with load
    std::vector<double> m_capacity;             //!< by directed link
    std::vector<double> m_room;                 //!< by directed link: for a half
    std::array<std::vector<double>, 2> m_load;  //!< by half and directed link
    std::array<std::vector<double>, 2> m_price; //!< likewise
};

/// Chooses the cores, chunk by chunk.
class CoreChooser
{
  public:
    CoreChooser(const Topology& topology,
                const std::vector<NodeId>& roots,
                uint32_t nRounds,
                uint64_t seed)
        : m_roots(roots),
          m_middle(MakeBareMiddle(topology, roots)),
          m_loads(topology, nRounds),
          m_grower(topology),
          m_tree(topology.GetNServers()),
          m_random(seed)
    {
        FormPairs();
    }

    PlanMiddle Choose()
    {
        for (uint32_t sweep = 0; sweep < N_SWEEPS; ++sweep)
        {
            m_loads.SetSteepness(FIRST_STEEPNESS +
                                 (LAST_STEEPNESS - FIRST_STEEPNESS) * sweep / (N_SWEEPS - 1));
            std::shuffle(m_choices.begin(), m_choices.end(), m_random);
            for (Choice& choice : m_choices)
            {
                Choose(choice);
            }
        }
        for (const Choice& choice : m_choices)
        {
            const ChunkId partner = m_middle.partners[choice.chunk];
            if (partner != NO_CHUNK)
            {
                m_middle.parents[partner] = m_middle.parents[choice.chunk];
            }
            else
            {
                m_middle.isSymmetric = m_middle.isSymmetric && !choice.hasCore;
            }
        }
        return std::move(m_middle);
    }

  private:
    /// What one chunk, or a pair of partners, puts on the links.
    struct Choice
    {
        ChunkId chunk;                                    //!< the open one of a pair
        Half whereOpen;                                   //!< where the chunk is open
        Half whereSettled;                                //!< where it, or its partner, is settled
        bool hasCore;                                     //!< more than the root
        std::vector<std::pair<Half, DirectedLinkId>> use; //!< of the links
    };

    /// Two chunks of a root are partners; of single ones every other is open in the first half.
    void FormPairs()
    {
        std::vector<ChunkId> waiting(m_tree.parent.size(), NO_CHUNK);
        for (ChunkId chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            ChunkId& other = waiting[m_roots[chunk]];
            if (other == NO_CHUNK)
            {
                other = chunk;
                continue;
            }
            m_middle.partners[chunk] = other;
            m_middle.partners[other] = chunk;
            m_middle.isOpen[chunk] = true;
            m_choices.push_back({chunk, SECOND, SECOND, false, {}});
            other = NO_CHUNK;
        }
        bool isOpen = false;
        for (const ChunkId chunk : waiting)
        {
            if (chunk != NO_CHUNK)
            {
                m_hasSingles = true;
                isOpen = !isOpen;
                m_middle.isOpen[chunk] = isOpen;
                m_choices.push_back(
                    {chunk, isOpen ? SECOND : FIRST, isOpen ? FIRST : SECOND, false, {}});
            }
        }
    }

    void Use(Choice& choice, Half half, const std::vector<DirectedLinkId>& links, bool isUpwards)
    {
        for (const DirectedLinkId link : links)
        {
            const DirectedLinkId used = isUpwards ? Reverse(link) : link;
            choice.use.emplace_back(half, used);
            Load(choice, choice.use.back(), 1);
        }
    }

    /// A pair puts the same on both halves, which are mirror images of each other.
    void Load(const Choice& choice, const std::pair<Half, DirectedLinkId>& use, double change)
    {
        m_loads.Add(use.first, use.second, change);
        if (m_hasSingles && m_middle.partners[choice.chunk] != NO_CHUNK)
        {
            m_loads.Add(use.first == FIRST ? SECOND : FIRST, use.second, change);
        }
    }

    double PriceOf(Half half, const std::vector<DirectedLinkId>& links, bool isUpwards) const
    {
        double sum = 0;
        for (const DirectedLinkId link : links)
        {
            sum += m_loads.GetPrice(half, isUpwards ? Reverse(link) : link);
        }
        return sum;
    }

    void Choose(Choice& choice)
    {
        for (const auto& use : choice.use)
        {
            Load(choice, use, -1);
        }
        choice.use.clear();
        const NodeId root = m_roots[choice.chunk];
        const Half open = choice.whereOpen;
        m_grower.Grow(
            root,
            [&](DirectedLinkId link) { return m_loads.GetPrice(open, link); },
            m_tree);
        for (const NodeId server : m_tree.order)
        {
            Use(choice, open, m_tree.comeBy[server], false);
        }
        m_grower.Grow(
            root,
            [&](DirectedLinkId link) {
                return std::min(m_loads.GetPrice(choice.whereSettled, link),
                                m_loads.GetPrice(open, Reverse(link)));
            },
            m_tree);
        ChooseCore(choice);
    }

    /// Decide which servers of the tree are in the core: a part of the tree around the root.
    void ChooseCore(Choice& choice)
    {
        const std::size_t nServers = m_tree.order.size();
        m_below.assign(nServers, 0);
        m_belowCore.assign(nServers, 0);
        m_isBetterIn.assign(nServers, false);
        const NodeId root = m_tree.order[0];
        for (std::size_t i = nServers; --i > 0;)
        {
            const NodeId server = m_tree.order[i];
            const NodeId parent = m_tree.parent[server];
            const auto& links = m_tree.comeBy[server];
            const double out = PriceOf(choice.whereSettled, links, false) + m_below[server];
            const double in = PriceOf(choice.whereOpen, links, true) + m_belowCore[server] +
                              PRICE_OF_MEMBER + (parent == root ? PRICE_NEXT_TO_ROOT : 0);
            m_isBetterIn[server] = in < out;
            m_below[parent] += out;
            m_belowCore[parent] += std::min(in, out);
        }
        choice.hasCore = m_belowCore[root] + PRICE_OF_CORE < m_below[root];
        std::vector<NodeId>& parents = m_middle.parents[choice.chunk];
        std::fill(parents.begin(), parents.end(), NO_SERVER);
        parents[root] = root;
        for (std::size_t i = 1; i < nServers; ++i)
        {
            const NodeId server = m_tree.order[i];
            const NodeId parent = m_tree.parent[server];
            const bool isIn =
                choice.hasCore && m_isBetterIn[server] && parents[parent] != NO_SERVER;
            parents[server] = isIn ? parent : NO_SERVER;
            Use(choice, isIn ? choice.whereOpen : choice.whereSettled, m_tree.comeBy[server], isIn);
        }
    }

    const std::vector<NodeId>& m_roots; //!< by chunk
    PlanMiddle m_middle;                //!< what has been chosen
    HalfLoads m_loads;                  //!< of the links
    RootedTreeGrower m_grower;
    RootedTree m_tree; //!< the one found last
    PlannerRandom m_random;
    bool m_hasSingles{false};        //!< chunks without partners
    std::vector<Choice> m_choices;   //!< in the order of the present sweep
    std::vector<double> m_below;     //!< by server: price of its subtree, without a core
    std::vector<double> m_belowCore; //!< by server: likewise, if it is in the core
    std::vector<bool> m_isBetterIn;  //!< by server: if its parent is in the core
};

} // namespace

PlanMiddle
MakeBareMiddle(const Topology& topology, const std::vector<NodeId>& roots)
{
    PlanMiddle middle;
    middle.parents.assign(roots.size(), std::vector<NodeId>(topology.GetNServers(), NO_SERVER));
    middle.isOpen.assign(roots.size(), false);
    middle.partners.assign(roots.size(), NO_CHUNK);
    for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
    {
        middle.parents[chunk][roots[chunk]] = roots[chunk];
    }
    return middle;
}

PlanMiddle
ChooseMiddle(const Topology& topology,
             const std::vector<NodeId>& roots,
             uint32_t nRounds,
             uint64_t seed)
{
    return CoreChooser(topology, roots, nRounds, seed).Choose();
}

PlanMiddle
Mirror(const PlanMiddle& middle)
{
    PlanMiddle mirrored = middle;
    mirrored.isOpen.flip();
    return mirrored;
}

std::vector<WorkloadList>
JoinHalves(const std::vector<WorkloadList>& firstMirrored,
           const std::vector<WorkloadList>& second,
           const std::vector<ChunkId>& partners)
{
    std::vector<WorkloadList> plan;
    for (const WorkloadList& round : Mirror(firstMirrored))
    {
        plan.emplace_back();
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            Workload workload = round.Get(i);
            const ChunkId partner = partners[workload.chunk];
            workload.chunk = partner == NO_CHUNK ? workload.chunk : partner;
            plan.back().Add(workload);
        }
    }
    plan.insert(plan.end(), second.begin(), second.end());
    return plan;
}

} // namespace ns3::allreduce
