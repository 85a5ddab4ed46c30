/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SIMULATION_DEFAULTS_H
#define ALLREDUCE_SIMULATION_DEFAULTS_H

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Give the simulator the module's queue of events, which is faster. Call it before the command line
 * is parsed, so that users can say otherwise.
 */
void SetFastEventQueue();

/**
 * @ingroup allreduce
 *
 * Give ns-3's TCP the shorter timeouts of a data centre and fewer acknowledgements; ns-3 has those
 * of the internet. Call it before the command line is parsed, so that users can say otherwise.
 */
void SetDataCentreTcpDefaults();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SIMULATION_DEFAULTS_H */
