/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tree-packing.h"

#include <algorithm>
#include <cmath>

namespace ns3::allreduce
{

namespace
{

/// A link that has to carry a round more than another one costs e^3 times as much.
constexpr double SHARPNESS = 3;
/// What a link costs however idle it is, so that paths are short.
constexpr double LEAST_PRICE = 1e-9;

} // namespace

TreePacking::TreePacking(const Topology& topology)
    : m_topology(topology),
      m_tree(topology),
      m_prices(topology.GetNLinks(), 0),
      m_loads(topology.GetNLinks(), 0)
{
}

const ServerSpanningTree<double>&
TreePacking::Add()
{
    SetPrices();
    m_tree.Find(m_prices);
    for (const auto& edge : m_tree.GetEdges())
    {
        m_tree.ForEachLink(edge, [this](LinkId link) { ++m_loads[link]; });
    }
    ++m_nTrees;
    return m_tree;
}

uint64_t
TreePacking::GetNTrees() const
{
    return m_nTrees;
}

const std::vector<uint64_t>&
TreePacking::GetLoads() const
{
    return m_loads;
}

double
TreePacking::GetRounds() const
{
    double rounds = 0;
    for (LinkId link = 0; link < m_loads.size(); ++link)
    {
        const double load = m_loads[link];
        rounds = std::max(rounds, load / m_topology.GetLink(link).capacity);
    }
    return rounds;
}

void
TreePacking::SetPrices()
{
    const double most = GetRounds();
    for (LinkId link = 0; link < m_loads.size(); ++link)
    {
        const double capacity = m_topology.GetLink(link).capacity;
        m_prices[link] =
            LEAST_PRICE + std::exp(SHARPNESS * (m_loads[link] / capacity - most)) / capacity;
    }
}

} // namespace ns3::allreduce
