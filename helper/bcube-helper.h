/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BCUBE_HELPER_H
#define ALLREDUCE_BCUBE_HELPER_H

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

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BCUBE_HELPER_H */
