/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_FAMILY_HELPERS_H
#define ALLREDUCE_TOPOLOGY_FAMILY_HELPERS_H

#include "topology-helper.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Builds BCube(n, k): servers by their digits, switches by level and index.
 */
class BCubeHelper : public TopologyHelper
{
  public:
    /// The address of a server: k + 1 digits below n, the digit of the highest level first.
    using Digits = std::vector<uint32_t>;

    /**
     * @param n ports of a switch, 2 or more
     * @param k the highest level, 0 or more
     */
    BCubeHelper(uint32_t n, uint32_t k);

    /**
     * @param digits the address a_k, ..., a_0 of a server
     * @return its node
     */
    Ptr<Node> GetServer(const Digits& digits) const;

    /**
     * @param level the level, 0 to k
     * @param index the switch's index in its level: a server's address with digit `level` taken out
     * @return its node
     */
    Ptr<Node> GetSwitch(uint32_t level, uint32_t index) const;

    /**
     * @param digits the address a_k, ..., a_0 of a server
     * @return its id in the topology, for paths
     */
    NodeId GetServerId(const Digits& digits) const;

    /**
     * @param level the level, 0 to k
     * @param index the switch's index in its level
     * @return its id in the topology, for paths
     */
    NodeId GetSwitchId(uint32_t level, uint32_t index) const;

    /**
     * @param server a server
     * @return its address a_k, ..., a_0
     */
    Digits GetDigits(NodeId server) const;

  private:
    uint32_t m_n; //!< ports of a switch
    uint32_t m_k; //!< the highest level
};

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

/**
 * @ingroup allreduce
 *
 * @brief Builds a Jellyfish network: servers by the switch that they are attached to.
 */
class JellyfishHelper : public TopologyHelper
{
  public:
    /**
     * @param nSwitches number of switches
     * @param degree ports of a switch that lead to other switches
     * @param serversPerSwitch servers at each switch
     * @param seed another seed gives another graph
     */
    JellyfishHelper(uint32_t nSwitches,
                    uint32_t degree,
                    uint32_t serversPerSwitch,
                    uint64_t seed = 1);

    /**
     * @param j a switch, from 0
     * @param i a server of this switch, from 0
     * @return the server's node
     */
    Ptr<Node> GetServerAt(uint32_t j, uint32_t i) const;

    /**
     * @param j a switch, from 0
     * @param i a server of this switch, from 0
     * @return the server's id in the topology, for paths
     */
    NodeId GetServerIdAt(uint32_t j, uint32_t i) const;

  private:
    uint32_t m_serversPerSwitch; //!< servers at each switch
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_FAMILY_HELPERS_H */
