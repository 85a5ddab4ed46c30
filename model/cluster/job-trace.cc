/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-trace.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/input-file.h"

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <cmath>
#include <cstdlib>
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
    std::string name;                                   //!< in the first line
    bool isRequired;                                    //!< whether it must be there
    std::function<void(Job&, const std::string&)> read; //!< puts a field into a job
    std::function<std::string(const Job&)> write;       //!< makes a field of a job
};

uint32_t
ParseSmallNumber(const std::string& text, const std::string& what)
{
    const uint64_t number = ParseNumber(text, what);
    if (number >= std::numeric_limits<uint32_t>::max())
    {
        FailInput(what, " ", Quote(text), ": expected a smaller number");
    }
    return number;
}

double
ParseReal(const std::string& text, const std::string& what)
{
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value) || value < 0)
    {
        FailInput(what, " ", Quote(text), ": expected a number of 0 or more");
    }
    return value;
}

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
MakeNumberColumn(const char* name, Number Job::*field)
{
    return {name,
            true,
            [=](Job& job, const std::string& text) { job.*field = ParseSmallNumber(text, name); },
            [=](const Job& job) { return std::to_string(job.*field); }};
}

Column
MakeRealColumn(const char* name, bool isRequired, double Job::*field)
{
    return {name,
            isRequired,
            [=](Job& job, const std::string& text) { job.*field = ParseReal(text, name); },
            [=](const Job& job) { return FormatReal(job.*field); }};
}

const std::vector<Column>&
GetColumns()
{
    static const std::vector<Column> columns = {
        {"name",
         false,
         [](Job& job, const std::string& text) { job.name = text; },
         [](const Job& job) { return job.name; }},
        MakeNumberColumn("arrival_slot", &Job::arrivalSlot),
        {"gradient_bytes",
         true,
         [](Job& job, const std::string& text) {
             job.gradientBytes = ParseNumber(text, "gradient_bytes");
         },
         [](const Job& job) { return std::to_string(job.gradientBytes); }},
        MakeRealColumn("forward_s", true, &Job::forwardSeconds),
        MakeRealColumn("backward_s", true, &Job::backwardSeconds),
        MakeRealColumn("overhead_s", false, &Job::overheadSeconds),
        MakeNumberColumn("iterations", &Job::targetIterations),
        MakeNumberColumn("max_workers", &Job::maxWorkers),
        {"bandwidth",
         true,
         [](Job& job, const std::string& text) { job.bandwidthBps = ParseRate(text, "bandwidth"); },
         [](const Job& job) { return FormatRate(job.bandwidthBps); }},
        MakeRealColumn("weight", false, &Job::weight),
    };
    return columns;
}

std::vector<std::string>
SplitLine(const std::string& line)
{
    std::vector<std::string> fields;
    boost::split(fields, line, boost::is_any_of(","));
    for (std::string& field : fields)
    {
        boost::trim(field);
    }
    return fields;
}

/// @return the columns that the first line names, in its order
std::vector<const Column*>
ReadHeader(const std::string& line)
{
    std::vector<const Column*> header;
    for (const std::string& name : SplitLine(line))
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
            FailInput("column ", Quote(name), ": expected ", boost::algorithm::join(names, ", "));
        }
        if (std::find(header.begin(), header.end(), &*column) != header.end())
        {
            FailInput("column ", Quote(name), " is there twice");
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
ReadRow(const std::string& line, const std::vector<const Column*>& header, std::size_t number)
{
    const std::vector<std::string> fields = SplitLine(line);
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
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);)
    {
        ++number;
        boost::trim(line);
        if (line.empty() || line[0] == '#')
        {
            continue;
        }
        try
        {
            if (header.empty())
            {
                header = ReadHeader(line);
            }
            else
            {
                jobs.push_back(ReadRow(line, header, number));
            }
        }
        catch (const InputError& error)
        {
            FailInput("job file ", name, ", line ", number, ": ", error.what());
        }
    }
    if (jobs.empty())
    {
        FailInput("job file ", name, ": there are no jobs");
    }
    return jobs;
}

std::vector<Job>
ReadJobFile(const std::string& path)
{
    std::ifstream in = OpenInput(path, "job file");
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
