/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JELLYFISH_HELPER_H
#define ALLREDUCE_JELLYFISH_HELPER_H

#include "topology-helper.h"

namespace ns3::allreduce
{

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

#endif /* ALLREDUCE_JELLYFISH_HELPER_H */
