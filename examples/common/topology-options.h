/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_OPTIONS_H
#define ALLREDUCE_TOPOLOGY_OPTIONS_H

#include "allreduce-program-options.h"

#include "ns3/allreduce-topology.h"

#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief The options that say which networks to work on.
 */
struct TopologyOptions
{
    std::vector<std::string> specs{"bcube:4,1"}; //!< as ParseTopology takes them
    std::string degrade;                         //!< FRACTION[,SEED] or empty
    std::string mixed;                           //!< FRACTION[,SEED] or empty

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);

    /**
     * Make the networks. A line on standard error tells of each in which rounding rates to whole
     * unit flows costs more than 5 %.
     *
     * @return the networks, degraded and mixed as asked for
     * @throws InputError if one is not possible, or its servers are not connected
     */
    std::vector<Topology> Make() const;
};

/**
 * @param topologies networks
 * @return what they are called
 */
std::vector<std::string> GetNames(const std::vector<Topology>& topologies);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_OPTIONS_H */
