/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_FILE_H
#define ALLREDUCE_TOPOLOGY_FILE_H

#include "allreduce-topology.h"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Read a topology file in either format; which one it is shows in its first character.
 *
 * @param path where the file is
 * @return the topology
 * @throws InputError that names the file, the place in it and what was expected
 */
Topology ReadTopologyFile(const std::string& path);

/**
 * @ingroup allreduce
 *
 * Read a topology in JSON:
 *
 *     {"format": "allreduce-topology", "version": 1, "name": "mine", "servers": 2, "switches": 1,
 *      "links": [[0, 2, 1], [1, 2, 1, 40000000000, 500, 0]], "positions": [[0, 1], [1, 1], [0.5,
 * 0]]}
 *
 * A link is [a, b, capacity, bit/s, delay in ns, error rate]; what is left out at its end has the
 * value that Link gives it. "positions", "format" and "version" may be left out.
 *
 * @param json the text, parsed
 * @param source where it comes from, for messages
 * @return the topology
 * @throws InputError that names source, the key and what was expected
 */
Topology TopologyFromJson(const nlohmann::json& json, const std::string& source);

/**
 * @ingroup allreduce
 *
 * @param topology a topology
 * @return what TopologyFromJson reads, without positions, which only drawing needs
 */
nlohmann::ordered_json TopologyToJson(const Topology& topology);

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
 * Read the plain list that ASTRA-sim's ns-3 back end uses. First line: number of nodes, of
 * switches and of links; second line: the switches' ids; then a line for each link: source,
 * destination, rate, delay, error rate.
 *
 * Switches may have any ids there; here servers are numbered first, in the order of their ids.
 * Lines that join the same pair become one link. A link's capacity is its rate divided by that
 * of the slowest link, rounded down and at most 65535.
 *
 * @param in the text
 * @param source where it comes from, for messages; also the topology's name
 * @return the topology
 * @throws InputError that names source, the line and what was expected
 */
Topology ReadLinkList(std::istream& in, const std::string& source);

/**
 * @ingroup allreduce
 *
 * Write the plain list that ASTRA-sim's ns-3 back end uses.
 *
 * @param topology a topology
 * @param out where to write
 */
void WriteLinkList(const Topology& topology, std::ostream& out);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_FILE_H */
