/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-trace.h"

#include "trace-lines.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/input-file.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// A column of the file.
struct Column
{
    std::string name;                                 //!< in the first line
    bool isRequired;                                  //!< whether it must be there
    std::function<void(Job&, std::string_view)> read; //!< puts a field into a job
    std::function<std::string(const Job&)> write;     //!< makes a field of a job
};

std::string
FormatReal(double value)
{
    std::ostringstream text;
    text.precision(std::numeric_limits<double>::max_digits10);
    text << value;
    return text.str();
}

template <typename Number>
Column
MakeNumberColumn(const char* name, bool isRequired, Number Job::*field)
{
    return {name,
            isRequired,
            [=](Job& job, std::string_view text) { job.*field = ParseSmallNumber(text, name); },
            [=](const Job& job) { return std::to_string(job.*field); }};
}

Column
MakeRealColumn(const char* name, bool isRequired, double Job::*field)
{
    return {name,
            isRequired,
            [=](Job& job, std::string_view text) { job.*field = ParseReal(text, name); },
            [=](const Job& job) { return FormatReal(job.*field); }};
}

const std::vector<Column>&
GetColumns()
{
    static const std::vector<Column> columns = {
        {"name",
         false,
         [](Job& job, std::string_view text) { job.name = text; },
         [](const Job& job) { return job.name; }},
        MakeNumberColumn("arrival_slot", true, &Job::arrivalSlot),
        {"gradient_bytes",
         true,
         [](Job& job, std::string_view text) {
             job.gradientBytes = ParseNumber(std::string(text), "gradient_bytes");
         },
         [](const Job& job) { return std::to_string(job.gradientBytes); }},
        MakeRealColumn("forward_s", true, &Job::forwardSeconds),
        MakeRealColumn("backward_s", true, &Job::backwardSeconds),
        MakeRealColumn("overhead_s", false, &Job::overheadSeconds),
        MakeNumberColumn("iterations", true, &Job::targetIterations),
        MakeNumberColumn("min_workers", false, &Job::minWorkers),
        MakeNumberColumn("max_workers", true, &Job::maxWorkers),
        {"bandwidth",
         true,
         [](Job& job, std::string_view text) {
             job.bandwidthBps = ParseRate(std::string(text), "bandwidth");
         },
         [](const Job& job) { return FormatRate(job.bandwidthBps); }},
        MakeRealColumn("weight", false, &Job::weight),
    };
    return columns;
}

/// @return the columns that the first line names, in its order
std::vector<const Column*>
ReadHeader(const Fields& fields)
{
    std::vector<const Column*> header;
    for (const std::string_view name : fields)
    {
        const auto& columns = GetColumns();
        const auto column = std::find_if(columns.begin(), columns.end(), [&](const Column& c) {
            return c.name == name;
        });
        if (column == columns.end())
        {
            std::vector<std::string> names;
            for (const Column& known : columns)
            {
                names.push_back(known.name);
            }
            FailInput("column ",
                      Quote(std::string(name)),
                      ": expected ",
                      boost::algorithm::join(names, ", "),
                      "; a public trace has its format before it, as philly:FILE");
        }
        if (std::find(header.begin(), header.end(), &*column) != header.end())
        {
            FailInput("column ", Quote(std::string(name)), " is there twice");
        }
        header.push_back(&*column);
    }
    for (const Column& column : GetColumns())
    {
        if (column.isRequired && std::find(header.begin(), header.end(), &column) == header.end())
        {
            FailInput("column \"", column.name, "\" is missing");
        }
    }
    return header;
}

Job
ReadRow(const Fields& fields, const std::vector<const Column*>& header, std::size_t number)
{
    if (fields.size() != header.size())
    {
        FailInput(fields.size(), " fields, expected ", header.size());
    }
    Job job;
    job.name = std::to_string(number);
    for (std::size_t i = 0; i < fields.size(); ++i)
    {
        header[i]->read(job, fields[i]);
    }
    CheckJob(job);
    return job;
}

} // namespace

std::vector<Job>
ReadJobs(std::istream& in, const std::string& name)
{
    std::vector<Job> jobs;
    std::vector<const Column*> header;
    Fields fields;
    ForEachLine(in, name, [&](std::string_view line, std::size_t number) {
        SplitLine(line, ',', fields);
        if (header.empty())
        {
            header = ReadHeader(fields);
        }
        else
        {
            jobs.push_back(ReadRow(fields, header, number));
        }
    });
    if (jobs.empty())
    {
        FailInput("job file ", name, ": there are no jobs");
    }
    return jobs;
}

std::vector<Job>
ReadJobFile(const std::string& path)
{
    InputFile in(path, "job file");
    return ReadJobs(in, NamePath(path));
}

void
WriteJobs(const std::vector<Job>& jobs, const std::string& comment, std::ostream& out)
{
    if (!comment.empty())
    {
        out << "# " << comment << "\n";
    }
    const auto& columns = GetColumns();
    for (const Column& column : columns)
    {
        out << (&column == &columns.front() ? "" : ",") << column.name;
    }
    out << "\n";
    for (const Job& job : jobs)
    {
        for (const Column& column : columns)
        {
            out << (&column == &columns.front() ? "" : ",") << column.write(job);
        }
        out << "\n";
    }
}

} // namespace ns3::allreduce
