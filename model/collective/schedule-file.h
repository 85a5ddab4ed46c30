/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULE_FILE_H
#define ALLREDUCE_SCHEDULE_FILE_H

#include "allreduce-schedule.h"

#include "ns3/allreduce-topology.h"

#include <iosfwd>
#include <string>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A schedule and the network that it was made for.
struct ScheduleFile
{
    Topology topology;          //!< the network
    AllReduceSchedule schedule; //!< the schedule
};

/**
 * @ingroup allreduce
 *
 * Write a schedule in JSON, a line for each round:
 *
 *     {"format": "allreduce-schedule", "version": 1,
 *      "topology": {"name": "bcube:4,1", "servers": 16, "switches": 8, "links": [[0, 16, 1], ...]},
 *      "chunk_roots": [0, 1, ...],
 *      "rounds": [[{"chunk": 3, "kind": "reduce", "path": [5, 17, 4]}, ...], ...]}
 *
 * What is no AllReduce of all servers has the key "groups": sets of servers, for each chunk the
 * number of the set that contributes and of the one that receives, and whether others may relay:
 *
 *     "groups": {"sets": [[0, 1, 2], [5, 6]], "contributors": [0, 0, 1], "receivers": [0, 0, 1],
 *                "relay": "all"}
 *
 * A reduce of only some contributions has the key "contributors" besides. Links are written as in
 * topology files.
 *
 * @param topology the network
 * @param schedule a schedule on it
 * @param out where to write
 */
void WriteSchedule(const Topology& topology, const AllReduceSchedule& schedule, std::ostream& out);

/**
 * @ingroup allreduce
 *
 * Read what WriteSchedule wrote. Whether the schedule is correct is for the verifier to say.
 *
 * @param in the text
 * @param source where it comes from, for messages
 * @return network and schedule
 * @throws InputError that names source, the place in it and what was expected
 */
ScheduleFile ReadSchedule(std::istream& in, const std::string& source);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULE_FILE_H */
