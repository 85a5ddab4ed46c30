/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "trace-formats.h"
#include "trace-lines.h"

#include "ns3/allreduce-error.h"

#include <cmath>
#include <optional>

namespace ns3::allreduce
{

namespace
{

/// The columns of pai_task_table.csv.
enum PaiColumn
{
    JOB_NAME,
    TASK_NAME,
    INST_NUM,
    STATUS,
    START_TIME,
    END_TIME,
    PLAN_CPU,
    PLAN_MEM,
    PLAN_GPU,
    GPU_TYPE,
    N_PAI_COLUMNS
};

/// @return why a row is left out; "" if it is not
std::string
FindGap(const Fields& fields)
{
    return fields[PLAN_GPU].empty()     ? "no GPUs, left out"
           : fields[INST_NUM].empty()   ? "no number of instances, left out"
           : fields[START_TIME].empty() ? "no start, left out"
           : fields[END_TIME].empty()   ? "no end, left out"
                                        : "";
}

uint32_t
CountGpus(const Fields& fields, TraceNotes& notes)
{
    constexpr double PERCENT = 100;
    const double exact =
        ParseReal(fields[INST_NUM], "inst_num") * ParseReal(fields[PLAN_GPU], "plan_gpu") / PERCENT;
    const double whole = std::ceil(exact);
    if (whole != exact)
    {
        notes.Count("parts of a GPU, rounded up");
    }
    return CheckGpuCount(std::min(whole, 1e9));
}

std::optional<TracedJob>
ReadRow(const Fields& fields, TraceNotes& notes)
{
    if (fields.size() != N_PAI_COLUMNS)
    {
        FailInput(fields.size(), " fields, expected ", int(N_PAI_COLUMNS));
    }
    const std::string gap = FindGap(fields);
    if (!gap.empty())
    {
        notes.Count(gap);
        return std::nullopt;
    }
    TracedJob job;
    job.name = fields[JOB_NAME];
    job.gpus = CountGpus(fields, notes);
    job.submitSeconds = ParseReal(fields[START_TIME], "start_time");
    const double end = ParseReal(fields[END_TIME], "end_time");
    if (end < job.submitSeconds)
    {
        FailInput("end_time ",
                  Quote(std::string(fields[END_TIME])),
                  ": expected the start, ",
                  fields[START_TIME],
                  ", or more");
    }
    job.durationSeconds =
        ParseDuration(std::to_string(end - job.submitSeconds), "end_time - start_time");
    if (job.gpus == 0 || job.durationSeconds == 0)
    {
        notes.Count(job.gpus == 0 ? "no GPUs, left out" : "a duration of 0 s, left out");
        return std::nullopt;
    }
    if (fields[STATUS] != "Terminated")
    {
        notes.Count("another status than Terminated, taken as it is");
    }
    return job;
}

} // namespace

std::vector<TracedJob>
ReadPai(std::istream& in, const std::string& name, TraceNotes& notes)
{
    std::vector<TracedJob> jobs;
    bool isFirst = true;
    Fields fields;
    ForEachLine(in, name, [&](std::string_view line, std::size_t) {
        SplitLine(line, ',', fields);
        const bool isHeader = isFirst && fields.front() == "job_name";
        isFirst = false;
        if (isHeader)
        {
            return;
        }
        if (auto job = ReadRow(fields, notes))
        {
            jobs.push_back(std::move(*job));
        }
    });
    notes.Say("a row is a task of a job and counts as a job; it comes when the trace launched it, "
              "as the table has no submissions");
    return jobs;
}

} // namespace ns3::allreduce
