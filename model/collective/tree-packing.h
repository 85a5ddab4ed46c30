/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TREE_PACKING_H
#define ALLREDUCE_TREE_PACKING_H

#include "server-spanning-tree.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Packs spanning trees of the servers into a network, one after another: what the best link
 * prices are the other side of.
 *
 * Each tree is the cheapest under prices that grow exponentially with the load of the links, so the
 * loads even out. With K trees the most loaded link carries K / lambda times its capacity, which
 * FindLinkPrices proves to be the least, and a little more. That little does not grow with K: a
 * tree may be a star, so it is about the number of servers. Prices and trees thus prove of each
 * other how near they are to the optimum.
 */
class TreePacking
{
  public:
    /// @param topology the network, its servers connected, which must outlive the packing
    explicit TreePacking(const Topology& topology);

    /**
     * Pack one more tree.
     *
     * @return the tree, until the next one is packed
     */
    const ServerSpanningTree<double>& Add();

    /// @return the number of trees
    uint64_t GetNTrees() const;

    /// @return by link: how many edges of trees lead over it
    const std::vector<uint64_t>& GetLoads() const;

    /// @return the largest load of a link over its capacity: rounds that the trees take as they are
    double GetRounds() const;

  private:
    /// Set the prices for the next tree.
    void SetPrices();

    const Topology& m_topology;        //!< the network
    ServerSpanningTree<double> m_tree; //!< the last tree
    std::vector<double> m_prices;      //!< by link
    std::vector<uint64_t> m_loads;     //!< by link
    uint64_t m_nTrees{0};              //!< so far
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TREE_PACKING_H */
