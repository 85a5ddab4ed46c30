/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_ROWS_H
#define ALLREDUCE_PLAN_ROWS_H

#include "result-writer.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// A schedule and where it is from.
struct PlanResult
{
    std::string scheduler;      //!< who made it
    AllReduceSchedule schedule; //!< what it made
    double planMs{0};           //!< how long that took
    std::string remark{};       //!< what its maker says about it
};

/**
 * @param topology the network
 * @param result a schedule on it, verified
 * @param bounds what no schedule can beat
 * @return its row
 */
nlohmann::ordered_json MakePlanRow(const Topology& topology,
                                   const PlanResult& result,
                                   const LowerBounds& bounds);

/**
 * @param hasGroups whether rows say who does what
 * @return the columns of MakePlanRow that people look at
 */
std::vector<ResultWriter::Column> GetPlanColumns(bool hasGroups);

/**
 * @param topology the network
 * @param bound a bound by prices
 * @return the prices of links, so that anybody can check the bound
 */
nlohmann::ordered_json MakePricesJson(const Topology& topology, const PriceBound& bound);

/**
 * @param topology the network
 * @param schedule a schedule on it
 * @return the loads of all links, for JSON
 */
nlohmann::ordered_json MakePlannedLinksJson(const Topology& topology,
                                            const AllReduceSchedule& schedule);

/**
 * Print the loads of the busiest links and the mean of all.
 *
 * @param topology the network
 * @param schedule a schedule on it
 * @param out where to print
 */
void PrintPlannedLinks(const Topology& topology,
                       const AllReduceSchedule& schedule,
                       std::ostream& out);

/**
 * Print all bounds, and the proof of that by prices.
 *
 * @param bounds the bounds
 * @param nChunks how many chunks there are
 * @param out where to print
 */
void PrintBounds(const LowerBounds& bounds, std::size_t nChunks, std::ostream& out);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_ROWS_H */
