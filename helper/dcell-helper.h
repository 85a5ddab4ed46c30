/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DCELL_HELPER_H
#define ALLREDUCE_DCELL_HELPER_H

#include "topology-helper.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Builds DCell(n, k): servers by their address [a_k, ..., a_0], and the servers of a cell.
 *
 * Digit a_0 counts the servers at one switch, digit a_l the DCell_(l-1) in a DCell_l. The switch of
 * the DCell_0 with index s is GetSwitch(s).
 */
class DCellHelper : public TopologyHelper
{
  public:
    /// The address of a server: k + 1 numbers, the one of the highest level first.
    using CellAddress = std::vector<uint32_t>;

    /**
     * @param n servers in a DCell_0, 2 or more
     * @param k the level, 0 or more
     */
    DCellHelper(uint32_t n, uint32_t k);

    /**
     * @param address the address [a_k, ..., a_0] of a server
     * @return its node
     */
    Ptr<Node> GetServer(const CellAddress& address) const;

    /**
     * @param address the address [a_k, ..., a_0] of a server
     * @return its id in the topology, for paths
     */
    NodeId GetServerId(const CellAddress& address) const;

    /**
     * @param level a level, 0 to k
     * @return the number of servers in a DCell of this level
     */
    uint32_t GetCellSize(uint32_t level) const;

    /**
     * @param level a level, 0 to k
     * @param index a DCell of this level, counted through the whole network
     * @return its servers
     */
    NodeContainer GetCell(uint32_t level, uint32_t index) const;

  private:
    std::vector<uint32_t> m_cellSizes; //!< servers in a DCell, by level
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DCELL_HELPER_H */
