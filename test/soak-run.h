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
        REFUSED, //!< a group would need relays that it may not have
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
 * Run AllReduces or other collectives packet by packet with everything drawn at random: network,
 * scheduler, transport, groups, jobs, relays, bytes, rates, delays, losses, queues, slow links,
 * links that go down and up, background traffic. How it ended is judged by a SoakJudge; about every
 * fourth is run over the full stack, too, with the same outcome.
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
