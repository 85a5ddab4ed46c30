/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TIME_PREDICTION_H
#define ALLREDUCE_TIME_PREDICTION_H

#include "allreduce-network.h"
#include "allreduce-transport.h"

#include "ns3/allreduce-schedule.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * What the flow-level model says about a schedule on a network, in barrier mode: each round takes
 * as long as its slowest workload. A workload takes as long as the link on its path that has most
 * to carry for its rate in this round, and then its last frame goes over the other links. To the
 * first workload on a path the transport may add the time for a connection.
 *
 * @param network the network
 * @param transport how data is cut into frames
 * @param schedule a valid schedule
 * @param bytes size of the gradient
 * @return seconds
 */
double PredictSeconds(const AllReduceNetwork& network,
                      const AllReduceTransport& transport,
                      const AllReduceSchedule& schedule,
                      uint64_t bytes);

/**
 * @ingroup allreduce
 *
 * The time that no schedule can beat: the bound on rounds, each as long as a chunk without any
 * header on the fastest link.
 *
 * @param topology the network
 * @param boundRounds the lower bound on rounds
 * @param nChunks number of chunks
 * @param bytes size of the gradient
 * @return seconds
 */
double GetIdealSeconds(const Topology& topology,
                       uint64_t boundRounds,
                       uint32_t nChunks,
                       uint64_t bytes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TIME_PREDICTION_H */
