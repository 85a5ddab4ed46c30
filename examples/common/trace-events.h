/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRACE_EVENTS_H
#define ALLREDUCE_TRACE_EVENTS_H

#include "run-experiment.h"

#include "ns3/allreduce-schedule.h"

#include <iosfwd>

namespace ns3::allreduce
{

/**
 * Write a run in the JSON format of trace events, which ui.perfetto.dev and chrome://tracing show:
 * a process for the rounds and one for each server, whose threads are the flows that it sends at
 * the same time. Links that break or are mended and new plans are instants of all processes; flows
 * that did not arrive have names that say so.
 *
 * @param result what came out, with RunOptions::recordsFlows
 * @param out where to write
 */
void WriteTraceEvents(const ExperimentResult& result, std::ostream& out);

/**
 * The same for a schedule, whose rounds take a millisecond each.
 *
 * @param schedule the schedule
 * @param out where to write
 */
void WriteTraceEvents(const AllReduceSchedule& schedule, std::ostream& out);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRACE_EVENTS_H */
