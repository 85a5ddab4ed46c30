/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SOAK_RUN_H
#define ALLREDUCE_SOAK_RUN_H

#include <cstdint>
#include <string>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// How a random run ended.
struct SoakOutcome
{
    /// What it comes to.
    enum Kind
    {
        EXACT,   //!< all sums are right
        CUT_OFF, //!< servers could not reach each other, and the right ones were named
        DEFECT   //!< anything else
    };

    Kind kind;                 //!< what it comes to
    std::string reason;        //!< of a defect: what is wrong
    std::string command;       //!< reproduces it, with the topology in the file that it names
    std::string topologyJson;  //!< what is in that file
    double processorSeconds{}; //!< what it took
};

/**
 * @ingroup allreduce-tests
 *
 * Run an AllReduce packet by packet with everything drawn at random: network, scheduler, transport,
 * bytes, delays, losses, slow links, links that go down and up, background traffic. Whether it
 * ended well is judged without the session's own state: sums are added up anew from the flows that
 * arrived, and whether servers could reach each other is looked up in the links that were up.
 *
 * @param seed another seed draws another run
 * @return how it ended
 */
SoakOutcome RunSoak(uint64_t seed);

/**
 * @ingroup allreduce-tests
 *
 * @param seed as for RunSoak
 * @return the command and the topology of a run that has not been run
 */
SoakOutcome DescribeSoak(uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SOAK_RUN_H */
