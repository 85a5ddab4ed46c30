/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "schedule-file.h"

#include "ns3/allreduce-error.h"
#include "ns3/json-input.h"
#include "ns3/topology-file.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

namespace ns3::allreduce
{

namespace
{

/// Writes numbers as "[1, 2, 3]".
template <typename Range>
void
WriteList(const Range& numbers, std::ostream& out)
{
    out << "[";
    const char* separator = "";
    for (const uint32_t number : numbers)
    {
        out << separator << number;
        separator = ", ";
    }
    out << "]";
}

void
WriteRound(const WorkloadList& round, std::ostream& out)
{
    out << "[";
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        const Workload workload = round.Get(i);
        out << (i == 0 ? "" : ", ") << R"({"chunk": )" << workload.chunk << R"(, "kind": ")"
            << ToString(workload.kind) << R"(", "path": )";
        WriteList(workload.path, out);
        if (!workload.contributors.empty())
        {
            out << R"(, "contributors": )";
            WriteList(workload.contributors, out);
        }
        out << "}";
    }
    out << "]";
}

/// Writes who contributes and receives, unless all do.
void
WriteMembers(const Collective& collective, std::ostream& out)
{
    if (collective.IsOfAll())
    {
        return;
    }
    out << ",\n \"groups\": {\"sets\": [";
    const char* separator = "";
    for (const std::vector<NodeId>& set : collective.sets)
    {
        out << separator;
        WriteList(set, out);
        separator = ", ";
    }
    out << "],\n  \"contributors\": ";
    WriteList(collective.contributors, out);
    out << ",\n  \"receivers\": ";
    WriteList(collective.receivers, out);
    out << ",\n  \"relay\": \"" << (collective.mayRelay ? "all" : "none") << "\"}";
}

/// Reads the parts of a schedule and says where it is when something is wrong.
class ScheduleReader
{
  public:
    explicit ScheduleReader(std::string source)
        : m_where(std::move(source))
    {
    }

    const nlohmann::json& Get(const nlohmann::json& object, const char* key) const
    {
        if (!object.is_object() || !object.contains(key))
        {
            FailInput(m_where, ": no \"", key, "\"");
        }
        return object.at(key);
    }

    std::vector<uint32_t> GetMember(const nlohmann::json& object, const char* key) const
    {
        return GetNumbers(Get(object, key), key);
    }

    std::vector<uint32_t> GetNumbers(const nlohmann::json& list, const char* key) const
    {
        std::vector<uint32_t> numbers;
        if (!list.is_array())
        {
            FailInput(m_where, ": \"", key, "\" is not a list");
        }
        for (const auto& item : list)
        {
            numbers.push_back(GetNumber(item, key));
        }
        return numbers;
    }

    /// Read who contributes and receives, if that is there.
    void ReadMembers(const nlohmann::json& json, Collective& collective) const
    {
        if (!json.contains("groups"))
        {
            return;
        }
        const nlohmann::json& groups = json.at("groups");
        const nlohmann::json& sets = Get(groups, "sets");
        if (!sets.is_array())
        {
            FailInput(m_where, ": \"sets\" is not a list");
        }
        for (const auto& set : sets)
        {
            collective.sets.push_back(GetNumbers(set, "sets"));
        }
        collective.contributors = GetNumbers(Get(groups, "contributors"), "contributors");
        collective.receivers = GetNumbers(Get(groups, "receivers"), "receivers");
        const nlohmann::json& relay = Get(groups, "relay");
        if (relay != "all" && relay != "none")
        {
            FailInput(m_where, ": relay is ", Shorten(relay), ", expected \"all\" or \"none\"");
        }
        collective.mayRelay = relay == "all";
        if (collective.contributors.empty())
        {
            FailInput(m_where, ": \"contributors\" is empty, expected one for each chunk");
        }
        CheckKeys(groups, {"sets", "contributors", "receivers", "relay"}, m_where);
    }

    WorkloadList ReadRound(const nlohmann::json& list)
    {
        if (!list.is_array())
        {
            FailInput(m_where, ": a round is not a list");
        }
        WorkloadList round;
        for (const auto& item : list)
        {
            const ScheduleReader reader(m_where + ", workload " + std::to_string(round.GetSize()));
            reader.ReadWorkload(item, round);
        }
        return round;
    }

  private:
    uint32_t GetNumber(const nlohmann::json& json, const char* key) const
    {
        if (!json.is_number_unsigned() ||
            json.get<uint64_t>() > std::numeric_limits<uint32_t>::max())
        {
            FailInput(m_where, ": \"", key, "\" has ", Shorten(json), ", expected a whole number");
        }
        return json.get<uint32_t>();
    }

    void ReadWorkload(const nlohmann::json& json, WorkloadList& round) const
    {
        const uint32_t chunk = GetNumber(Get(json, "chunk"), "chunk");
        const nlohmann::json& kind = Get(json, "kind");
        if (kind != "reduce" && kind != "broadcast")
        {
            FailInput(m_where,
                      ": kind is ",
                      Shorten(kind),
                      ", expected \"reduce\" or \"broadcast\"");
        }
        const Path path = GetMember(json, "path");
        if (path.size() > std::numeric_limits<uint16_t>::max())
        {
            FailInput(m_where, ": a path of ", path.size(), " nodes");
        }
        std::vector<NodeId> contributors;
        if (json.contains("contributors"))
        {
            contributors = GetMember(json, "contributors");
        }
        CheckKeys(json, {"chunk", "kind", "path", "contributors"}, m_where);
        round.Add(chunk,
                  kind == "reduce" ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST,
                  path,
                  contributors);
    }

    std::string m_where; //!< the file, and the place in it
};

/// @return the network that a schedule file describes
Topology
ReadTopology(const nlohmann::json& json, const std::string& source)
{
    try
    {
        return TopologyFromJson(json, "topology");
    }
    catch (const std::exception& error)
    {
        FailInput("schedule file ", source, ": ", error.what());
    }
}

} // namespace

void
WriteSchedule(const Topology& topology, const AllReduceSchedule& schedule, std::ostream& out)
{
    out << R"({"format": "allreduce-schedule", "version": 1,)"
        << "\n \"topology\": " << TopologyToJson(topology) << ",\n \"chunk_roots\": ";
    WriteList(schedule.collective.roots, out);
    WriteMembers(schedule.collective, out);
    out << ",\n \"rounds\": [";
    for (std::size_t i = 0; i < schedule.rounds.size(); ++i)
    {
        out << (i == 0 ? "\n  " : ",\n  ");
        WriteRound(schedule.rounds[i], out);
    }
    out << "]}\n";
}

ScheduleFile
ReadSchedule(std::istream& in, const std::string& source)
{
    const nlohmann::json json = ReadJson(in, "schedule file " + source);
    const ScheduleReader reader("schedule file " + source);
    const nlohmann::json& format = reader.Get(json, "format");
    const nlohmann::json& version = reader.Get(json, "version");
    if (format != "allreduce-schedule" || version != 1)
    {
        FailInput("schedule file ",
                  source,
                  ": format ",
                  Shorten(format),
                  " version ",
                  Shorten(version),
                  ", expected \"allreduce-schedule\" version 1");
    }
    ScheduleFile file{ReadTopology(reader.Get(json, "topology"), source), {}};
    file.schedule.collective.roots = reader.GetMember(json, "chunk_roots");
    reader.ReadMembers(json, file.schedule.collective);
    const nlohmann::json& rounds = reader.Get(json, "rounds");
    if (!rounds.is_array())
    {
        FailInput("schedule file ", source, ": \"rounds\" is not a list");
    }
    for (const auto& round : rounds)
    {
        ScheduleReader roundReader("schedule file " + source + ": round " +
                                   std::to_string(file.schedule.rounds.size()));
        file.schedule.rounds.push_back(roundReader.ReadRound(round));
    }
    CheckKeys(json,
              {"format", "version", "topology", "chunk_roots", "groups", "rounds"},
              "schedule file " + source);
    return file;
}

} // namespace ns3::allreduce
