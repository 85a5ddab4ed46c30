/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RATE_CHANGE_H
#define ALLREDUCE_RATE_CHANGE_H

#include "allreduce-topology.h"

#include <cstdint>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// One direction of a link has another rate from some time on. Plain data, for what simulates such
/// links and for bounds of what they can carry.
struct RateChange
{
    DirectedLinkId link{0}; //!< which
    int64_t atNs{0};        //!< when, in simulated time
    uint64_t rateBps{0};    //!< what it can carry from then on; 0: nothing
};

/// @ingroup allreduce
/// A server takes part from some time on: until then it neither sends nor receives.
struct LateServer
{
    NodeId server{0};   //!< which
    int64_t readyNs{0}; //!< when it is ready, in simulated time
};

/// @ingroup allreduce
/// A change of what is believed of one direction of a link, large enough to matter.
struct BeliefChange
{
    double seconds{0};      //!< when, in simulated time
    DirectedLinkId link{0}; //!< which
    uint64_t oldBps{0};     //!< believed before
    uint64_t newBps{0};     //!< believed since
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RATE_CHANGE_H */
