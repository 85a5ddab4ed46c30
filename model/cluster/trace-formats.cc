/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "trace-formats.h"

#include "trace-lines.h"

#include "ns3/allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

void
TraceNotes::Say(const std::string& assumption)
{
    if (std::find(m_order.begin(), m_order.end(), assumption) == m_order.end())
    {
        m_order.push_back(assumption);
    }
}

void
TraceNotes::Count(const std::string& what)
{
    if (m_nByNote[what]++ == 0)
    {
        m_order.push_back(what);
    }
}

std::vector<std::string>
TraceNotes::GetLines() const
{
    std::vector<std::string> lines;
    for (const std::string& note : m_order)
    {
        const auto count = m_nByNote.find(note);
        lines.push_back(count == m_nByNote.end()
                            ? note
                            : std::to_string(count->second) +
                                  (count->second == 1 ? " row: " : " rows: ") + note);
    }
    return lines;
}

const std::vector<TraceFormat>&
GetTraceFormats()
{
    static const std::vector<TraceFormat> formats = {
        {"philly",
         ".trace",
         ReadPhilly,
         [](const auto& line) { return std::count(line.begin(), line.end(), '\t') >= 5; }},
        {"tiresias",
         ".csv",
         ReadTiresias,
         [](const auto& line) { return line.find("num_gpu") != std::string::npos; }},
        {"helios",
         ".csv",
         ReadHelios,
         [](const auto& line) { return line.find("gpu_num") != std::string::npos; }},
        {"pai",
         ".csv",
         ReadPai,
         [](const auto& line) { return line.rfind("job_name,task_name", 0) == 0; }},
    };
    return formats;
}

double
ParseDuration(std::string_view text, const std::string& what)
{
    constexpr double YEAR = 366 * 86400.0;
    const double seconds = ParseReal(text, what);
    if (seconds > YEAR)
    {
        FailInput(what, " ", Quote(std::string(text)), ": expected a year of seconds at most");
    }
    return seconds;
}

uint32_t
CheckGpuCount(uint64_t number)
{
    constexpr uint32_t MOST_GPUS = 1'000'000;
    if (number > MOST_GPUS)
    {
        FailInput(number, " GPUs: expected at most ", MOST_GPUS);
    }
    return number;
}

} // namespace ns3::allreduce
