/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SOAK_CASE_H
#define ALLREDUCE_SOAK_CASE_H

#include "job-options.h"

#include "ns3/allreduce-topology.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// An outage of a link.
struct SoakOutage
{
    Link link;  //!< the link
    Time begin; //!< when it goes down
    Time end;   //!< when it is over; 0: never
};

/// @ingroup allreduce-tests
/// What is drawn for a run: options as a user gives them.
struct SoakCase
{
    Topology topology;               //!< with rates, delays and losses
    PlanOptions plan;                //!< scheduler, groups, collective
    RunOptions options;              //!< the rest
    uint64_t bytes;                  //!< size of the gradient
    std::vector<std::string> jobs;   //!< several on the network, as --job has them; none: one
    std::vector<SoakOutage> outages; //!< the same as in options
    bool hasTwin;                    //!< it is run over the full stack, too
    Time ready;                      //!< when the last server is, if one is late

    /**
     * @param seed another seed draws another run
     * @return the run
     */
    static SoakCase Draw(uint64_t seed);

    /**
     * @param name of the file with the topology
     * @return the command that repeats it
     */
    std::string MakeCommand(const std::string& name) const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SOAK_CASE_H */
