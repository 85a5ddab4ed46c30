/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TIME_PREDICTION_H
#define ALLREDUCE_TIME_PREDICTION_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-transport.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * What the flow-level model says about a schedule on a network. With barriers, each round takes as
 * long as its slowest workload, and that as long as the link on its path that has most to carry for
 * its rate in this round; then its last frame goes over the other links. Without,
 * WorkloadDispatcher says what begins when, and links send what comes to them in order. To the
 * first workload on a path the transport may add the time for a connection.
 *
 * @param topology the network
 * @param transport how data is cut into frames; it need not be open
 * @param mtu largest packet on the links
 * @param schedule a valid schedule
 * @param bytes size of the gradient
 * @param hasBarriers whether all wait for each other between rounds
 * @return seconds
 */
double PredictSeconds(const Topology& topology,
                      const AllReduceTransport& transport,
                      uint32_t mtu,
                      const AllReduceSchedule& schedule,
                      uint64_t bytes,
                      bool hasBarriers);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TIME_PREDICTION_H */
