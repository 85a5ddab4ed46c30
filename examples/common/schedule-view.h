/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULE_VIEW_H
#define ALLREDUCE_SCHEDULE_VIEW_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ns3::allreduce
{

struct Experiment;
struct ExperimentResult;

/**
 * Play a schedule for the page that HtmlReport writes: the network as DrawNetwork draws it, and
 * after each step what crosses the links and what the servers hold. A step is a round, or several
 * if there are very many. Every flow and every chunk is there if every server is drawn.
 *
 * @param topology the network
 * @param schedule a correct schedule on it
 * @param scheduler who made it
 * @return the view
 */
nlohmann::ordered_json MakeScheduleView(const Topology& topology,
                                        const AllReduceSchedule& schedule,
                                        const std::string& scheduler);

/**
 * The same for a packet run, from what really happened: the steps are the rounds of the last
 * AllReduce as they were handed out, with what arrived of them; what was aborted, had not arrived
 * when the run ended or never began is counted. Besides, of all AllReduces, flows, rounds, broken
 * links and new plans in time, and the use of the links. Without faults the steps are the plan's.
 *
 * @param experiment what was run, with RunOptions::recordsFlows
 * @param result what came out
 * @return the view of the run
 */
nlohmann::ordered_json MakeRunView(const Experiment& experiment, const ExperimentResult& result);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULE_VIEW_H */
