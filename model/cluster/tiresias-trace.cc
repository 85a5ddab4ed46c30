/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "trace-formats.h"
#include "trace-lines.h"

#include "ns3/allreduce-error.h"

#include <optional>

namespace ns3::allreduce
{

namespace
{

/// Where the columns are that are read.
struct TiresiasColumns
{
    TraceHeader header;     //!< all names
    std::size_t id;         //!< job_id
    std::size_t gpus;       //!< num_gpu
    std::size_t submit;     //!< submit_time
    std::size_t iterations; //!< iterations
    std::size_t model;      //!< model_name
    std::size_t duration;   //!< duration

    explicit TiresiasColumns(const Fields& fields)
        : header(fields),
          id(header.Find("job_id")),
          gpus(header.Find("num_gpu")),
          submit(header.Find("submit_time")),
          iterations(header.Find("iterations")),
          model(header.Find("model_name")),
          duration(header.Find("duration"))
    {
    }
};

TracedJob
ReadRow(const Fields& fields, const TiresiasColumns& columns)
{
    columns.header.CheckRow(fields);
    TracedJob job;
    job.name = fields[columns.id];
    job.gpus = CheckGpuCount(ParseSmallNumber(fields[columns.gpus], "num_gpu"));
    job.submitSeconds = ParseReal(fields[columns.submit], "submit_time");
    job.iterations = ParseSmallNumber(fields[columns.iterations], "iterations");
    job.durationSeconds = ParseDuration(fields[columns.duration], "duration");
    job.model = &FindModel(fields[columns.model]);
    if (job.gpus == 0 || job.iterations == 0 || job.durationSeconds == 0)
    {
        FailInput("a job of ",
                  job.iterations,
                  " iterations in ",
                  job.durationSeconds,
                  " s on ",
                  job.gpus,
                  " GPUs: expected more than 0");
    }
    return job;
}

} // namespace

std::vector<TracedJob>
ReadTiresias(std::istream& in, const std::string& name, TraceNotes& notes)
{
    std::vector<TracedJob> jobs;
    std::optional<TiresiasColumns> columns;
    Fields fields;
    ForEachLine(in, name, [&](std::string_view line, std::size_t) {
        SplitLine(line, ',', fields);
        if (!columns)
        {
            columns.emplace(fields);
        }
        else
        {
            jobs.push_back(ReadRow(fields, *columns));
        }
    });
    notes.Say("an iteration takes duration / iterations on the GPUs that the job asked for");
    return jobs;
}

} // namespace ns3::allreduce
