/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-rows.h"

#include "ns3/round-hash.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

namespace ns3::allreduce
{

namespace
{

nlohmann::ordered_json
MakeLinksJson(const Experiment& experiment, const ExperimentResult& result)
{
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const LinkUse& use : result.links)
    {
        json.push_back({{"from", experiment.topology.GetSource(use.link)},
                        {"to", experiment.topology.GetTarget(use.link)},
                        {"bytes", use.bytes},
                        {"utilization", use.utilization},
                        {"queue_peak", use.queuePeak},
                        {"dropped", use.nDropped}});
    }
    return json;
}

void
AddLinkSummary(nlohmann::ordered_json& row,
               const Experiment& experiment,
               const ExperimentResult& result)
{
    const LinkUse* busiest = &result.links.front();
    double sum = 0;
    for (const LinkUse& use : result.links)
    {
        busiest = use.utilization > busiest->utilization ? &use : busiest;
        sum += use.utilization;
    }
    row["mean_utilization"] = sum / result.links.size();
    row["max_utilization"] = busiest->utilization;
    row["busiest_link"] = std::to_string(experiment.topology.GetSource(busiest->link)) + "-" +
                          std::to_string(experiment.topology.GetTarget(busiest->link));
}

/// @return what was to be run
nlohmann::ordered_json
MakeSettingsJson(const Experiment& experiment, const RunOptions& options)
{
    const GroupShape& shape = experiment.shape;
    const double nChunks = experiment.plan.GetCollective().GetNChunks();
    const uint32_t nServers = experiment.topology.GetNServers();
    nlohmann::ordered_json row = {
        {"topology", experiment.topology.GetName()},
        {"servers", experiment.topology.GetNServers()},
        {"switches", experiment.topology.GetNSwitches()},
        {"links", experiment.topology.GetNLinks()},
        {"scheduler", experiment.schedulerName},
        {"collective", shape.collective},
        {"groups", shape.nGroups},
        {"group_servers", shape.nServers == 0 ? nServers : shape.nServers},
        {"chunks_per_server", 0},
        {"bytes", experiment.bytes},
        {"size", FormatSize(experiment.bytes)},
        {"transport", options.transport},
        {"sync", options.sync},
        {"control", options.control},
        {"adapt", options.adapt},
        {"frame", options.frame},
        {"iterations", options.iterations}};
    const double nPlaces = row["groups"].get<double>() * row["group_servers"].get<double>();
    row["chunks_per_server"] = nChunks / nPlaces;
    return row;
}

/// What is believed in the end of links that do not seem to be as announced.
void
AddAdaptation(nlohmann::ordered_json& row,
              const Experiment& experiment,
              const ExperimentResult& result)
{
    row["given_up_bytes"] = result.bytesGivenUp;
    const Topology& announced = experiment.GetAnnounced();
    std::map<DirectedLinkId, BeliefChange> last;
    for (const BeliefChange& change : result.beliefs)
    {
        last[change.link] = change;
    }
    row["belief_changes"] = result.beliefs.size();
    row["believed"] = nlohmann::ordered_json::array();
    for (const auto& [link, change] : last)
    {
        const uint64_t rate = announced.GetLinkOf(link).rateBps;
        if (change.newBps != rate)
        {
            row["believed"].push_back(
                {{"link", FormatPath({announced.GetSource(link), announced.GetTarget(link)})},
                 {"announced_bps", rate},
                 {"believed_bps", change.newBps},
                 {"since_s", change.seconds}});
        }
    }
}

/// What was measured is there only if the run came to its end.
void
AddTimes(nlohmann::ordered_json& row, const Experiment& experiment, const ExperimentResult& result)
{
    row["rounds"] = result.rounds;
    row["planned_rounds"] = experiment.plan.GetRounds().size();
    row["bound"] = result.boundRounds;
    row["ideal_s"] = result.idealSeconds;
    row["ideal_bandwidth_s"] = result.idealBandwidthSeconds;
    row["ideal_latency_s"] = result.idealLatencySeconds;
    row["bottleneck"] = result.bottleneck;
    row["predicted_s"] = result.predictedSeconds;
    if (experiment.announced)
    {
        row["ideal_of"] = "actual network"; // in which links are slower
        row["predicted_for"] = "announced network";
    }
    row["measured_s"] = nullptr;
    row["ratio"] = nullptr;
    row["goodput_gbps"] = nullptr;
    row["algbw_gbs"] = nullptr;
    row["busbw_gbs"] = nullptr;
    if (result.failure.empty())
    {
        row["measured_s"] = result.measuredSeconds;
        row["ratio"] = result.measuredSeconds / result.idealSeconds;
        AddBandwidths(row, experiment.bytes, result.measuredSeconds);
    }
}

/// What the best of all plans would take that knew what the network did.
void
AddKnownIdeal(nlohmann::ordered_json& row, const ExperimentResult& result)
{
    if (result.knownBottleneck.empty())
    {
        return; // it was as announced
    }
    row["known_ideal_s"] = nullptr; // nobody could end
    row["known_ratio"] = nullptr;
    row["known_bottleneck"] = result.knownBottleneck;
    if (result.knownIdealSeconds > 0)
    {
        row["known_ideal_s"] = result.knownIdealSeconds;
    }
    if (result.knownIdealSeconds > 0 && result.failure.empty())
    {
        row["known_ratio"] = result.measuredSeconds / result.knownIdealSeconds;
    }
}

/// What the network did that no plan knew of.
void
AddSurprises(nlohmann::ordered_json& row, const FaultOptions& faults)
{
    if (const auto unknown = faults.GetUnknownSlow(); !unknown.empty())
    {
        row["slower_than_planned"] = unknown;
    }
    if (!faults.late.empty())
    {
        row["late_servers"] = faults.late;
    }
    if (!faults.bursts.empty())
    {
        row["bursts"] = faults.bursts;
    }
}

/// Say of a run in which links were slower than planned what could be done about it.
void
TellSlowLinks(const std::string& program, const nlohmann::ordered_json& row)
{
    const auto slow = row.find("slower_than_planned");
    if (slow == row.end())
    {
        return;
    }
    const auto text = slow->front().get<std::string>();
    const bool isTimed = text.find('@') != std::string::npos;
    std::cerr << program << ": note: --slow=" << text
              << (slow->size() > 1 ? " and others: the plan does not know that these links are slow"
                                   : ": the plan does not know that this link is slow")
              << (isTimed ? "" : "; with --known schedulers plan for it")
              << (row.value("adapt", "none") == "none"
                      ? "; --adapt=replan and --adapt=live find out"
                      : "")
              << std::endl;
}

/// Say so if queues that overflowed decided how long a run took.
void
WarnOfDrops(const std::string& program, const nlohmann::ordered_json& row)
{
    constexpr double MUCH_LONGER = 1.1;
    const auto dropped = row.find("dropped");
    if (dropped == row.end() || !dropped->is_number() || *dropped == 0 ||
        !row["measured_s"].is_number() ||
        row["measured_s"] < MUCH_LONGER * row["predicted_s"].get<double>())
    {
        return;
    }
    const bool isJob = row.contains("job");
    std::cerr << program << ": warning: " << row["topology"].get<std::string>() << " "
              << (isJob ? row["job"].get<std::string>() + " " : "")
              << row["scheduler"].get<std::string>() << ": " << *dropped << " packets"
              << (isJob ? " of all jobs" : "") << " found a queue full, and it took "
              << row["measured_s"].get<double>() / row["predicted_s"].get<double>()
              << " times as long as predicted" << std::endl;
}

/// Say of a run on a network that changed which network its ideal is of, and what was possible.
void
TellKnownIdeal(const std::string& program, const nlohmann::ordered_json& row)
{
    const bool isBroken = row.contains("down_links");
    const auto known = row.find("known_ideal_s");
    const bool isKnown =
        known != row.end() && known->is_number() && *known != row["ideal_s"]; // it changed
    if (row.contains("job") || !(isBroken || isKnown))
    {
        return;
    }
    std::cerr << program << ": note: ideal and prediction are of the network "
              << (isBroken ? "with all its links" : "as it is at first");
    if (isKnown)
    {
        std::cerr << "; no plan that knew what happens to it takes less than "
                  << known->get<double>() << " s";
    }
    std::cerr << std::endl;
}

} // namespace

std::vector<ResultWriter::Column>
GetRunColumns()
{
    return {{"topology", "topology", 9},
            {"scheduler", "scheduler", 9},
            {"size", "bytes", 6},
            {"transport", "transport", 4},
            {"sync", "sync", 7},
            {"chunks_per_server", "m", 2, 0},
            {"rounds", "rounds", 6},
            {"bound", "bound", 5},
            {"ideal_s", "ideal s", 10, 7},
            {"predicted_s", "predicted s", 11, 7},
            {"measured_s", "measured s", 10, 7},
            {"ratio", "to ideal", 8, 3},
            {"goodput_gbps", "goodput Gb/s", 12, 2},
            {"algbw_gbs", "algbw GB/s", 10, 3},
            {"busbw_gbs", "busbw GB/s", 10, 3},
            {"queue_peak", "queue pkts", 10},
            {"dropped", "dropped", 7},
            {"verified", "verified", 8},
            {"data_verified", "data", 4},
            {"replans", "replans", 7},
            {"replanned_by", "replanned by", 12},
            {"bottleneck", "bottleneck", 10},
            {"events", "events", 9},
            {"wall_s", "wall s", 7, 2}};
}

std::vector<ResultWriter::Column>
GetCompareColumns()
{
    return {{"topology", "topology", 9},
            {"size", "bytes", 5},
            {"scheduler", "scheduler", 9},
            {"chunks_per_server", "m", 2, 0},
            {"rounds", "rounds", 6},
            {"bound", "bound", 5},
            {"ideal_s", "ideal s", 10, 6},
            {"predicted_s", "predicted s", 11, 6},
            {"measured_s", "measured s", 10, 6},
            {"ratio", "to ideal", 8, 3},
            {"goodput_gbps", "Gb/s", 6, 2},
            {"algbw_gbs", "algbw GB/s", 10, 3},
            {"busbw_gbs", "busbw GB/s", 10, 3},
            {"max_utilization", "busiest %", 9, 1, 100},
            {"queue_peak", "queue pkts", 10},
            {"dropped", "dropped", 7},
            {"verified", "verified", 8},
            {"data_verified", "data", 4},
            {"replanned_by", "replanned by", 12},
            {"bottleneck", "bottleneck", 10},
            {"wall_s", "wall s", 6, 1}};
}

nlohmann::ordered_json
MakeRow(const Experiment& experiment, const RunOptions& options, const ExperimentResult& result)
{
    nlohmann::ordered_json row = MakeSettingsJson(experiment, options);
    AddTimes(row, experiment, result);
    row["plan_hash"] = FormatHash(experiment.plan.GetHash());
    AddOutcome(row, options, result);
    if (options.GetAdaptation() != AllReduceSession::NO_ADAPTATION)
    {
        AddAdaptation(row, experiment, result);
    }
    AddLinkSummary(row, experiment, result);
    row["wall_s"] = result.wallSeconds;
    row["events"] = result.nEvents;
    if (result.nRanks > 1)
    {
        row["ranks"] = result.nRanks;
        row["wait_share"] = result.waitShare;
    }
    row["round_s"] = result.roundSeconds;
    if (options.showLinks)
    {
        row["link_use"] = MakeLinksJson(experiment, result);
    }
    return row;
}

void
AddOutcome(nlohmann::ordered_json& row, const RunOptions& options, const ExperimentResult& result)
{
    row["verified"] = result.isVerified;
    row["data_verified"] = nullptr; // nobody asked
    if (options.verifyData)
    {
        row["data_verified"] = result.failure.empty();
    }
    row["replans"] = result.nReplans;
    row["replanned_by"] = result.replannedBy;
    row["aborted"] = result.nAborted;
    if (!result.downLinks.empty())
    {
        row["down_links"] = result.downLinks;
    }
    AddKnownIdeal(row, result);
    row["control_messages"] = result.nMessages;
    uint32_t peak = 0;
    for (const LinkUse& use : result.links)
    {
        peak = std::max(peak, use.queuePeak);
    }
    row["queue_peak"] = peak;
    row["dropped"] = result.nDropped;
    row["resent"] = result.countsResent ? nlohmann::ordered_json(result.nResent) : nullptr;
    if (result.nLateFaults > 0)
    {
        row["late_faults"] = result.nLateFaults;
    }
    AddSurprises(row, options.faults);
    if (!result.failure.empty())
    {
        row["failure"] = result.failure;
    }
}

void
AddBandwidths(nlohmann::ordered_json& row, uint64_t bytes, double seconds)
{
    const double bandwidth = 1e-9 * bytes / seconds;
    const GroupShape shape{row.value("collective", "allreduce"),
                           1,
                           row.value("group_servers", row["servers"].get<uint32_t>())};
    row["goodput_gbps"] = 8 * bandwidth;
    row["algbw_gbs"] = bandwidth;
    row["busbw_gbs"] = nullptr;
    if (shape.GetBusFactor() > 0)
    {
        row["busbw_gbs"] = bandwidth * shape.GetBusFactor();
    }
}

bool
ReportRow(const std::string& program, const nlohmann::ordered_json& row, ResultWriter& writer)
{
    writer.Add(row);
    if (row.value("late_faults", 0) > 0)
    {
        std::cerr << program << ": warning: " << row["late_faults"]
                  << " of the faults were to come after the end" << std::endl;
    }
    TellSlowLinks(program, row);
    const auto failure = row.find("failure");
    if (failure == row.end())
    {
        WarnOfDrops(program, row);
        TellKnownIdeal(program, row);
        return true;
    }
    const std::string job = row.contains("job") ? row["job"].get<std::string>() + " " : "";
    std::cerr << program << ": " << row["topology"].get<std::string>() << " " << job
              << row["scheduler"].get<std::string>() << " " << row["size"].get<std::string>()
              << " failed: " << failure->get<std::string>() << std::endl;
    return false;
}

void
PrintLinkUse(const nlohmann::ordered_json& row, std::ostream& out)
{
    constexpr std::size_t BUSIEST = 10;
    auto links = row["link_use"];
    std::stable_sort(links.begin(), links.end(), [](const auto& x, const auto& y) {
        return x["utilization"] > y["utilization"];
    });
    out << "  measured use of " << links.size() << " directed links: mean "
        << 100 * row["mean_utilization"].get<double>() << " %; the busiest:\n";
    for (std::size_t i = 0; i < std::min(links.size(), BUSIEST); ++i)
    {
        out << "    " << links[i]["from"] << "-" << links[i]["to"] << ": " << links[i]["bytes"]
            << " bytes, " << 100 * links[i]["utilization"].get<double>() << " %, queue peak "
            << links[i]["queue_peak"] << ", dropped " << links[i]["dropped"] << "\n";
    }
}

} // namespace ns3::allreduce
