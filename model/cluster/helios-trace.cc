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
struct Columns
{
    TraceHeader header;   //!< all names
    std::size_t id;       //!< job_id
    std::size_t gpus;     //!< gpu_num
    std::size_t state;    //!< state
    std::size_t submit;   //!< submit_time
    std::size_t duration; //!< duration

    explicit Columns(const Fields& fields)
        : header(fields),
          id(header.Find("job_id")),
          gpus(header.Find("gpu_num")),
          state(header.Find("state")),
          submit(header.Find("submit_time")),
          duration(header.Find("duration"))
    {
    }
};

/// @return days from 1 March of year 0, so that leap days are the last of their years
int64_t
CountDays(int64_t year, int64_t month, int64_t day)
{
    const int64_t y = month > 2 ? year : year - 1;
    const int64_t m = month > 2 ? month - 3 : month + 9;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
}

/// @return how many days a month has
int64_t
CountDaysOfMonth(int64_t year, int64_t month)
{
    return month == 12 ? 31 : CountDays(year, month + 1, 1) - CountDays(year, month, 1);
}

/// @return seconds of a time as 2020-04-01 00:00:12, from some beginning on
double
ParseDate(std::string_view text)
{
    constexpr std::string_view SHAPE = "dddd-dd-dd dd:dd:dd";
    bool isDate = text.size() == SHAPE.size();
    for (std::size_t i = 0; i < text.size() && isDate; ++i)
    {
        isDate = SHAPE[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == SHAPE[i];
    }
    const auto number = [&](std::size_t begin, std::size_t length) {
        int64_t value = 0;
        for (std::size_t i = begin; isDate && i < begin + length; ++i)
        {
            value = 10 * value + (text[i] - '0');
        }
        return value;
    };
    const int64_t month = number(5, 2);
    const int64_t day = number(8, 2);
    isDate = isDate && month >= 1 && month <= 12 && day >= 1 &&
             day <= CountDaysOfMonth(number(0, 4), month) && number(11, 2) < 24 &&
             number(14, 2) < 60 && number(17, 2) <= 60;
    if (!isDate)
    {
        FailInput("submit_time ",
                  Quote(std::string(text)),
                  ": expected a time as 2020-04-01 00:00:12");
    }
    return 86400.0 * CountDays(number(0, 4), month, day) + 3600.0 * number(11, 2) +
           60.0 * number(14, 2) + number(17, 2);
}

std::optional<TracedJob>
ReadRow(const Fields& fields, const Columns& columns, TraceNotes& notes)
{
    columns.header.CheckRow(fields);
    TracedJob job;
    job.name = fields[columns.id];
    job.gpus = CheckGpuCount(ParseSmallNumber(fields[columns.gpus], "gpu_num"));
    job.submitSeconds = ParseDate(fields[columns.submit]);
    job.durationSeconds = ParseDuration(fields[columns.duration], "duration");
    if (fields[columns.state].empty())
    {
        FailInput("state \"\": expected a state as COMPLETED");
    }
    if (job.gpus == 0)
    {
        notes.Count("no GPUs, left out");
        return std::nullopt;
    }
    if (job.durationSeconds == 0)
    {
        notes.Count("a duration of 0 s, left out");
        return std::nullopt;
    }
    if (fields[columns.state] != "COMPLETED")
    {
        notes.Count("another state than COMPLETED, taken as it is");
    }
    return job;
}

} // namespace

std::vector<TracedJob>
ReadHelios(std::istream& in, const std::string& name, TraceNotes& notes)
{
    std::vector<TracedJob> jobs;
    std::optional<Columns> columns;
    Fields fields;
    ForEachLine(in, name, [&](std::string_view line, std::size_t) {
        SplitLine(line, ',', fields);
        if (!columns)
        {
            columns.emplace(fields);
        }
        else if (auto job = ReadRow(fields, *columns, notes))
        {
            jobs.push_back(std::move(*job));
        }
    });
    return jobs;
}

} // namespace ns3::allreduce
