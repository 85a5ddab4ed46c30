/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-process.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace ns3::allreduce
{

namespace
{

constexpr uint64_t MOST_PROCESSES = 1'000'000;
constexpr uint64_t MOST_PORT = 65'535;

/// @return the value of a variable; "" if it is not set
std::string
ReadVariable(const std::string& name)
{
    const char* value = std::getenv(name.c_str());
    return value ? value : "";
}

uint64_t
ReadNumber(const std::string& name, uint64_t least, uint64_t most)
{
    const uint64_t number = ParseNumber(ReadVariable(name), name);
    if (number < least || number > most)
    {
        FailInput(name, " ", number, ": expected a whole number from ", least, " to ", most);
    }
    return number;
}

/// All of these must be set, or none.
void
CheckComplete(const std::vector<std::string>& names, const std::string& present)
{
    for (const std::string& name : names)
    {
        if (ReadVariable(name).empty())
        {
            FailInput(name, ": not set, but ", present, " is; several processes need both");
        }
    }
}

} // namespace

TrainingProcess
ReadTrainingProcess()
{
    TrainingProcess process;
    process.file = ReadVariable(TrainingProcess::FILE_VARIABLE);
    std::vector<std::string> needed{"RANK", "WORLD_SIZE"};
    if (process.file.empty())
    {
        needed.insert(needed.end(), {"MASTER_ADDR", "MASTER_PORT"});
    }
    const auto present = std::find_if(needed.begin(), needed.end(), [](const std::string& name) {
        return !ReadVariable(name).empty();
    });
    if (present == needed.end())
    {
        return {};
    }
    CheckComplete(needed, *present);
    process.size = ReadNumber("WORLD_SIZE", 1, MOST_PROCESSES);
    process.rank = ReadNumber("RANK", 0, process.size - 1);
    if (process.file.empty())
    {
        process.address = ReadVariable("MASTER_ADDR");
        process.port = ReadNumber("MASTER_PORT", 1, MOST_PORT);
    }
    process.sizeHere = !process.file.empty() ? process.size
                       : ReadVariable("LOCAL_WORLD_SIZE").empty()
                           ? 1
                           : ReadNumber("LOCAL_WORLD_SIZE", 1, process.size);
    return process;
}

} // namespace ns3::allreduce
