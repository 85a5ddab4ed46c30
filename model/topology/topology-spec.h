/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_SPEC_H
#define ALLREDUCE_TOPOLOGY_SPEC_H

#include "allreduce-topology.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @return the forms that ParseTopology understands, for help texts
std::string GetTopologyGrammar();

/**
 * @ingroup allreduce
 *
 * @return a small topology of each family, as ParseTopology takes it
 */
std::vector<std::string> GetTopologyExamples();

/**
 * @ingroup allreduce
 *
 * Make the topology that a text asks for: the one parser behind every `--topology`.
 *
 * @param spec one of the forms of GetTopologyGrammar, for example "bcube:4,1"
 * @return the topology
 * @throws InputError that names the text and what was expected
 */
Topology ParseTopology(const std::string& spec);

/**
 * @ingroup allreduce
 *
 * Read a topology file in either format; which one it is shows in its first character. Capacities
 * that contradict the rates are refused, see CheckCapacities.
 *
 * @param path where the file is
 * @return the topology
 * @throws InputError that names the file, the place in it and what was expected
 */
Topology ReadTopologyFile(const std::string& path);

/**
 * @ingroup allreduce
 *
 * Write a topology as JSON, positions included.
 *
 * @param topology a topology
 * @param out where to write
 */
void WriteTopologyJson(const Topology& topology, std::ostream& out);

/**
 * @ingroup allreduce
 *
 * Apply Degrade as an option asks for it.
 *
 * @param topology the network
 * @param spec "FRACTION" or "FRACTION,SEED"
 * @return the degraded network
 */
Topology ParseDegrade(const Topology& topology, const std::string& spec);

/**
 * @ingroup allreduce
 *
 * Apply MixCapacity as an option asks for it.
 *
 * @param topology the network
 * @param spec "FRACTION" or "FRACTION,SEED"
 * @return the network with mixed capacities
 */
Topology ParseMixed(const Topology& topology, const std::string& spec);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_SPEC_H */
