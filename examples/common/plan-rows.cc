/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-rows.h"

#include "ns3/price-checker.h"
#include "ns3/round-hash.h"
#include "ns3/topology-metrics.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

namespace ns3::allreduce
{

void
PrintPlannedLinks(const Topology& topology, const AllReduceSchedule& schedule, std::ostream& out)
{
    constexpr std::size_t BUSIEST = 10;
    const std::vector<LinkLoad> loads = ComputeLinkLoads(topology, schedule);
    double sum = 0;
    for (const LinkLoad& load : loads)
    {
        sum += load.utilization;
    }
    out << "  planned unit flows over capacity, in all rounds: mean of " << loads.size()
        << " directed links " << 100 * sum / loads.size() << " %; the busiest:\n";
    for (std::size_t i = 0; i < std::min(loads.size(), BUSIEST); ++i)
    {
        out << "    " << topology.GetSource(loads[i].link) << "-"
            << topology.GetTarget(loads[i].link) << ": " << loads[i].nWorkloads << " workloads, "
            << 100 * loads[i].utilization << " %\n";
    }
}

void
PrintBounds(const LowerBounds& bounds, std::size_t nChunks, std::ostream& out)
{
    for (const LowerBound& bound : bounds.all)
    {
        out << "  bound by " << bound.name << ": " << bound.rounds
            << " rounds: " << bound.bottleneck << "\n";
    }
    if (bounds.prices.prices.empty())
    {
        return; // A bound by a cut says all itself.
    }
    out << "  proof by prices: " << nChunks << " chunks cost " << bounds.prices.treePrice
        << " or more each, a round is worth " << bounds.prices.widthPrice << " at most\n";
}

nlohmann::ordered_json
MakePricesJson(const Topology& topology, const PriceBound& bound)
{
    nlohmann::ordered_json links = nlohmann::ordered_json::array();
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        if (bound.prices[id] > 0)
        {
            links.push_back({topology.GetLink(id).a, topology.GetLink(id).b, bound.prices[id]});
        }
    }
    return {{"tree_price", bound.treePrice},
            {"capacity_price", bound.widthPrice},
            {"links", std::move(links)},
            {"parts", bound.parts}};
}

nlohmann::ordered_json
MakePlannedLinksJson(const Topology& topology, const AllReduceSchedule& schedule)
{
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const LinkLoad& load : ComputeLinkLoads(topology, schedule))
    {
        json.push_back({{"from", topology.GetSource(load.link)},
                        {"to", topology.GetTarget(load.link)},
                        {"workloads", load.nWorkloads},
                        {"unit_flows_over_capacity", load.utilization}});
    }
    return json;
}

nlohmann::ordered_json
MakePlanRow(const Topology& topology, const PlanResult& result, const LowerBounds& bounds)
{
    const LowerBound& best = bounds.GetBest();
    const auto rounds = result.schedule.rounds.size();
    nlohmann::ordered_json row = {
        {"topology", topology.GetName()},
        {"servers", topology.GetNServers()},
        {"switches", topology.GetNSwitches()},
        {"links", topology.GetNLinks()},
        {"scheduler", result.scheduler},
        {"chunks_per_server",
         static_cast<double>(result.schedule.collective.GetNChunks()) / topology.GetNServers()},
        {"rounds", rounds},
        {"bound", best.rounds},
        {"bound_name", best.name},
        {"bottleneck", best.bottleneck},
        {"ratio", static_cast<double>(rounds) / best.rounds},
        {"verified", true},
        {"plan_hash", FormatHash(HashRounds(MakeRoundRange(result.schedule.rounds)))},
        {"plan_ms", result.planMs},
        {"workloads", result.schedule.CountWorkloads()},
    };
    for (const LowerBound& bound : bounds.all)
    {
        row["bounds"][bound.name] = bound.rounds;
    }
    if (!result.remark.empty())
    {
        row["remark"] = result.remark;
    }
    return row;
}

std::vector<ResultWriter::Column>
GetPlanColumns(bool hasGroups)
{
    std::vector<ResultWriter::Column> columns = {{"topology", "topology", 9},
                                                 {"scheduler", "scheduler", 9},
                                                 {"servers", "servers", 7},
                                                 {"chunks_per_server", "m", 3, 0},
                                                 {"rounds", "rounds", 7},
                                                 {"bound", "bound", 6},
                                                 {"ratio", "ratio", 6, 3},
                                                 {"verified", "verified", 8},
                                                 {"plan_ms", "plan ms", 10, 2}};
    if (hasGroups)
    {
        columns.insert(columns.begin() + 2,
                       {{"collective", "collective", 14},
                        {"groups", "groups", 6},
                        {"group_servers", "of servers", 10},
                        {"planned", "planned", 8}});
    }
    return columns;
}

} // namespace ns3::allreduce
