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
 * ReadTopologyFile (see topology-spec.h) of a file that is open.
 *
 * @param in the file
 * @param source where it comes from, for messages
 * @return the topology
 * @throws InputError that names source, the place in it and what was expected
 */
Topology ReadTopology(std::istream& in, const std::string& source);

/**
 * @ingroup allreduce
 *
 * Read a topology in JSON:
 *
 *     {"format": "allreduce-topology", "version": 1, "name": "mine", "servers": 2, "switches": 1,
 *      "links": [[0, 2, "25Gbps"], {"ends": [1, 2], "rate": "100Gbps", "delay": "500ns"}],
 *      "positions": [[0, 1], [1, 1], [0.5, 0]]}
 *
 * "positions", "format" and "version" may be left out. A link is one of
 *
 *     [a, b, rate, delay, error rate]
 *     [a, b, capacity, rate, delay, error rate]
 *     {"ends": [a, b], "rate": ..., "delay": ..., "error_rate": ..., "capacity": ...}
 *
 * where an array may end after b or later, and an object needs only its ends. A rate is a text
 * ("25Gbps") or bit/s, a delay a text ("1us") or nanoseconds. The third element of an array is a
 * rate if it is a text or above TopologyBuilder::MAX_CAPACITY, else a capacity.
 *
 * What is left out has the value that Link gives it, but for a rate beside a capacity, which is 10
 * Gb/s for each unit flow, and for capacities: if no link states one, DeriveCapacities gives them;
 * else those that state one say what a unit flow is, and the others carry as many as they have
 * room for, one at least. Whether capacities and rates agree is not checked here, because a
 * schedule may have been made for a network one of whose links became slower since.
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
 * Read the plain list that ASTRA-sim's ns-3 back end uses. First line: number of nodes, of
 * switches and of links; second line: the switches' ids; then a line for each link: source,
 * destination, rate, delay, error rate.
 *
 * Switches may have any ids there; here servers are numbered first, in the order of their ids.
 * Lines that join the same pair become one link as fast as they are together; they must have the
 * same delay and error rate. DeriveCapacities gives the capacities.
 *
 * @param in the text
 * @param source where it comes from, for messages; also the topology's name
 * @param nLinesBefore lines that have been read already
 * @return the topology
 * @throws InputError that names source, the line and what was expected
 */
Topology ReadLinkList(std::istream& in, const std::string& source, uint32_t nLinesBefore = 0);

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
