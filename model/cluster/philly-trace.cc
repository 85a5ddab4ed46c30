/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "trace-formats.h"
#include "trace-lines.h"

#include "ns3/allreduce-error.h"

namespace ns3::allreduce
{

namespace
{

/// The columns of the file, which has no header.
enum PhillyColumn
{
    JOB_TYPE,
    COMMAND,
    STEPS_ARGUMENT,
    NEEDS_DATA,
    TOTAL_STEPS,
    ARRIVAL,
    GPUS,
    N_PHILLY_COLUMNS
};

/// Finds the model and the time of its step: "ResNet-50 (batch size 64)".
void
ReadJobType(std::string_view text, TracedJob& job)
{
    constexpr std::string_view BATCH = " (batch size ";
    const std::size_t bracket = text.find(BATCH);
    uint32_t batch = 0;
    if (bracket != std::string_view::npos && text.back() == ')')
    {
        std::string_view number = text.substr(bracket + BATCH.size());
        number.remove_suffix(1);
        batch = ParseSmallNumber(number, "batch size");
    }
    job.model = &FindModel(text.substr(0, bracket));
    job.stepSeconds = job.model->GetStepSeconds(batch);
}

} // namespace

std::vector<TracedJob>
ReadPhilly(std::istream& in, const std::string& name, TraceNotes& notes)
{
    std::vector<TracedJob> jobs;
    Fields fields;
    ForEachLine(in, name, [&](std::string_view line, std::size_t number) {
        SplitLine(line, '\t', fields);
        if (fields.size() != N_PHILLY_COLUMNS)
        {
            FailInput(fields.size(), " fields between tabs, expected ", int(N_PHILLY_COLUMNS));
        }
        TracedJob job;
        job.name = std::to_string(number);
        ReadJobType(fields[JOB_TYPE], job);
        job.steps = ParseSmallNumber(fields[TOTAL_STEPS], "total steps");
        job.submitSeconds = ParseReal(fields[ARRIVAL], "arrival");
        job.gpus = CheckGpuCount(ParseSmallNumber(fields[GPUS], "number of GPUs"));
        if (fields[NEEDS_DATA] != "0" && fields[NEEDS_DATA] != "1")
        {
            FailInput("needs data ", Quote(std::string(fields[NEEDS_DATA])), ": expected 0 or 1");
        }
        if (job.steps == 0 || job.gpus == 0)
        {
            FailInput("a job of ", job.steps, " steps on ", job.gpus, " GPUs: expected 1 or more");
        }
        jobs.push_back(std::move(job));
    });
    notes.Say("a step is a batch on one GPU: an iteration of a job is a step for each GPU that it "
              "asked for, whatever it gets");
    notes.Say("steps take what Gavel measured on one V100");
    return jobs;
}

} // namespace ns3::allreduce
