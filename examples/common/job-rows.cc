/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-rows.h"

#include "run-rows.h"
#include "schedule-view.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace ns3::allreduce
{

std::vector<ResultWriter::Column>
GetJobColumns()
{
    return {{"topology", "topology", 9},
            {"job", "job", 4},
            {"job_servers", "servers", 7},
            {"collective", "collective", 10},
            {"scheduler", "scheduler", 9},
            {"size", "bytes", 6},
            {"iterations", "n", 2},
            {"start_s", "start s", 9, 6},
            {"end_s", "end s", 9, 6},
            {"ideal_s", "ideal s", 10, 7},
            {"predicted_s", "predicted s", 11, 7},
            {"alone_s", "alone s", 10, 7},
            {"measured_s", "measured s", 10, 7},
            {"slowdown", "slowdown", 8, 3},
            {"state", "state", 6},
            {"algbw_gbs", "algbw GB/s", 10, 3},
            {"busbw_gbs", "busbw GB/s", 10, 3},
            {"queue_peak", "queue pkts", 10},
            {"dropped", "dropped", 7},
            {"verified", "verified", 8},
            {"data_verified", "data", 4},
            {"replans", "replans", 7},
            {"replanned_by", "replanned by", 12}};
}

void
MakeRoomForJobs(const std::vector<JobOptions>& jobs, ResultWriter& writer)
{
    std::map<std::string, std::vector<std::string>> texts;
    for (const JobOptions& job : jobs)
    {
        texts["job"].push_back(job.name);
        texts["job_servers"].push_back(job.servers);
        texts["collective"].push_back(job.plan.groups.collective);
        texts["scheduler"].push_back(job.plan.schedulers.front());
        texts["size"].push_back(FormatSize(job.bytes));
    }
    for (const auto& [key, names] : texts)
    {
        writer.MakeRoom(key, names);
    }
}

nlohmann::ordered_json
MakeJobRow(const PlannedJob& job, const JobResult& result)
{
    nlohmann::ordered_json row = {{"job", job.options.name},
                                  {"job_servers", job.options.servers},
                                  {"start_s", job.options.start.GetSeconds()},
                                  {"end_s", result.together.doneSeconds},
                                  {"state", "done"},
                                  {"alone_s", nullptr},
                                  {"slowdown", nullptr}};
    row.update(MakeRow(job.experiment, job.options.run, result.together));
    if (result.alone.failure.empty())
    {
        row["alone_s"] = result.alone.measuredSeconds;
    }
    else if (result.together.failure.empty())
    {
        row["failure"] = "alone: " + result.alone.failure;
    }
    if (row.contains("failure"))
    {
        row["state"] = "failed";
    }
    if (const auto slowdown = result.GetSlowdown())
    {
        row["slowdown"] = *slowdown;
    }
    return row;
}

nlohmann::ordered_json
MakeJobView(const PlannedJob& job, const JobResult& result, uint32_t number, uint32_t run)
{
    nlohmann::ordered_json view = MakeRunView(job.experiment, result.together);
    view["job"] = {{"name", job.options.name}, {"number", number}, {"run", run}};
    return view;
}

} // namespace ns3::allreduce
