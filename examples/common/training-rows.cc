/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-rows.h"

#include "run-rows.h"

#include "ns3/allreduce-error.h"
#include "ns3/chakra-iteration.h"

#include <nlohmann/json.hpp>

namespace ns3::allreduce
{

namespace
{

/// @return what all rows have, with nothing for what only some have
nlohmann::ordered_json
MakeCommonRow(const Experiment& experiment, const RunOptions& options)
{
    nlohmann::ordered_json row = {{"topology", experiment.topology.GetName()},
                                  {"servers", experiment.topology.GetNServers()},
                                  {"scheduler", experiment.schedulerName},
                                  {"transport", options.transport},
                                  {"sync", options.sync}};
    for (const ResultWriter::Column& column : GetTrainingColumns())
    {
        if (!row.contains(column.key))
        {
            row[column.key] = nullptr;
        }
    }
    return row;
}

void
AddRates(nlohmann::ordered_json& row, uint64_t bytes, double idealSeconds, double seconds)
{
    row["bytes"] = bytes;
    row["size"] = FormatSize(bytes);
    row["ideal_s"] = idealSeconds;
    row["measured_s"] = seconds;
    row["ratio"] = seconds / idealSeconds;
    AddBandwidths(row, bytes, seconds);
}

} // namespace

std::vector<ResultWriter::Column>
GetTrainingColumns()
{
    return {{"topology", "topology", 9},
            {"scheduler", "scheduler", 9},
            {"collective", "collective", 10},
            {"size", "bytes", 6},
            {"ready_s", "ready s", 9, 6},
            {"begin_s", "begin s", 9, 6},
            {"end_s", "end s", 9, 6},
            {"ideal_s", "ideal s", 9, 6},
            {"predicted_s", "predicted s", 11, 6},
            {"measured_s", "measured s", 10, 6},
            {"ratio", "to ideal", 8, 3},
            {"algbw_gbs", "algbw GB/s", 10, 3},
            {"busbw_gbs", "busbw GB/s", 10, 3},
            {"computing_s", "computing s", 11, 6},
            {"exposed_s", "exposed s", 9, 6},
            {"queue_peak", "queue pkts", 10},
            {"dropped", "dropped", 7},
            {"verified", "verified", 8},
            {"data_verified", "data", 4},
            {"replans", "replans", 7}};
}

std::vector<nlohmann::ordered_json>
MakeTrainingRows(const Experiment& experiment,
                 const RunOptions& options,
                 const ExperimentResult& result)
{
    const nlohmann::ordered_json common = MakeCommonRow(experiment, options);
    std::vector<nlohmann::ordered_json> rows;
    uint64_t bytes = 0;
    double idealSeconds = 0;
    double predictedSeconds = 0;
    double seconds = 0;
    for (std::size_t i = 0; i < result.collectives.size(); ++i)
    {
        const ChakraCollective& collective = experiment.training->front().collectives[i];
        const CollectiveSpan& span = result.collectives[i];
        nlohmann::ordered_json& row = rows.emplace_back(common);
        row["collective"] = Shorten(collective.name);
        row["ready_s"] = span.ready;
        row["begin_s"] = span.begin;
        row["end_s"] = span.end;
        row["predicted_s"] = span.predicted;
        AddRates(row, collective.bytes, span.ideal, span.end - span.begin);
        bytes += collective.bytes;
        idealSeconds += span.ideal;
        predictedSeconds += span.predicted;
        seconds += span.end - span.begin;
    }
    nlohmann::ordered_json& total = rows.emplace_back(common);
    total["collective"] = "total";
    AddOutcome(total, options, result);
    total["computing_s"] = 1e-9 * GetComputeNanos(*experiment.training);
    if (!result.failure.empty())
    {
        total["size"] = "-";
        return rows;
    }
    AddRates(total, bytes, idealSeconds, seconds);
    total["predicted_s"] = predictedSeconds;
    total["begin_s"] = 0;
    total["end_s"] = result.iterationSeconds;
    total["exposed_s"] = result.iterationSeconds - total["computing_s"].get<double>();
    return rows;
}

} // namespace ns3::allreduce
