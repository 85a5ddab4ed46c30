/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-error.h"
#include "allreduce-units.h"
#include "input-file.h"
#include "json-input.h"
#include "link-capacities.h"
#include "topology-builder.h"
#include "topology-file.h"
#include "topology-racks.h"
#include "topology-spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// Names stand in messages and tables.
constexpr std::size_t LONGEST_NAME = 200;

/**
 * @param json a number
 * @param most the largest one allowed
 * @param what names it in the message
 * @param orElse what else may stand there, for the message
 * @return the number
 */
uint64_t
GetWhole(const nlohmann::json& json,
         uint64_t most,
         const std::string& what,
         const std::string& orElse = "")
{
    if (!json.is_number_integer() || json.get<int64_t>() < 0 || json.get<uint64_t>() > most)
    {
        FailInput(what,
                  " is ",
                  Shorten(json),
                  ", expected ",
                  orElse,
                  orElse.empty() ? "" : " or ",
                  "a whole number from 0 to ",
                  most);
    }
    return json.get<uint64_t>();
}

const nlohmann::json&
GetMember(const nlohmann::json& json, const char* key, const std::string& source)
{
    const auto member = json.find(key);
    if (member == json.end())
    {
        FailInput(source, ": no \"", key, "\"");
    }
    return *member;
}

/// What a file says of a link; what it does not say is null.
struct LinkFields
{
    const nlohmann::json* a;                  //!< one end
    const nlohmann::json* b;                  //!< the other end
    const nlohmann::json* capacity{nullptr};  //!< unit flows
    const nlohmann::json* rate{nullptr};      //!< text or bit/s
    const nlohmann::json* delay{nullptr};     //!< text or nanoseconds
    const nlohmann::json* errorRate{nullptr}; //!< share of the packets
};

/// The links of a file.
struct FileLinks
{
    std::vector<Link> links;             //!< in the file's order
    std::vector<bool> doStateCapacities; //!< by link: whether the file gives its capacity
};

/// @return whether the third element of a link is its rate; capacities are smaller numbers
bool
IsRate(const nlohmann::json& json)
{
    return json.is_string() ||
           (json.is_number() && json.get<double>() > TopologyBuilder::MAX_CAPACITY);
}

/// @return the fields of [a, b, capacity, rate, delay, errors] or [a, b, rate, delay, errors]
LinkFields
SplitArray(const nlohmann::json& json, const std::string& what)
{
    const bool hasRate = json.is_array() && json.size() > 2 && IsRate(json[2]);
    const std::size_t most = hasRate ? 5 : 6;
    if (!json.is_array() || json.size() < 2 || json.size() > most)
    {
        FailInput(what,
                  " is ",
                  Shorten(json),
                  ", expected [a, b, capacity, rate, delay, errors], [a, b, rate, delay, errors] "
                  "or an object with \"ends\"");
    }
    const auto get = [&](std::size_t place) {
        return place < json.size() ? &json[place] : nullptr;
    };
    const std::size_t rate = hasRate ? 2 : 3;
    return {get(0), get(1), hasRate ? nullptr : get(2), get(rate), get(rate + 1), get(rate + 2)};
}

/// @return the fields of {"ends": [a, b], "rate": ...}
LinkFields
SplitObject(const nlohmann::json& json, const std::string& what)
{
    const nlohmann::json& ends = GetMember(json, "ends", what);
    if (!ends.is_array() || ends.size() != 2)
    {
        FailInput(what, ": ends is ", Shorten(ends), ", expected [a, b]");
    }
    LinkFields fields{&ends[0], &ends[1]};
    const std::map<std::string, const nlohmann::json**> places = {
        {"capacity", &fields.capacity},
        {"rate", &fields.rate},
        {"delay", &fields.delay},
        {"error_rate", &fields.errorRate},
    };
    CheckKeys(json, {"ends", "rate", "delay", "error_rate", "capacity"}, what);
    for (const auto& [key, place] : places)
    {
        const auto value = json.find(key);
        *place = value == json.end() ? nullptr : &*value;
    }
    return fields;
}

uint64_t
ReadRate(const nlohmann::json& json, const std::string& what)
{
    if (json.is_string())
    {
        return ParseRate(json.get<std::string>(), what);
    }
    if (const double rate = json.is_number_float() ? json.get<double>() : 0;
        rate >= 1 && rate < 1e18 && rate == std::floor(rate))
    {
        return rate; // as 100e9
    }
    return GetWhole(json, std::numeric_limits<int64_t>::max(), what, "text such as \"10Gbps\"");
}

int64_t
ReadDelay(const nlohmann::json& json, const std::string& what)
{
    if (json.is_string())
    {
        return ParseTime(json.get<std::string>(), what);
    }
    return GetWhole(json, std::numeric_limits<int64_t>::max(), what, "text such as \"1us\"");
}

double
ReadErrorRate(const nlohmann::json& json, const std::string& what)
{
    if (!json.is_number())
    {
        FailInput(what, " is ", Shorten(json), ", expected a number");
    }
    return json.get<double>();
}

Link
ReadLink(const LinkFields& fields, const std::string& what)
{
    const auto mostNode = std::numeric_limits<uint32_t>::max();
    Link link;
    link.a = GetWhole(*fields.a, mostNode, what + ": node");
    link.b = GetWhole(*fields.b, mostNode, what + ": node");
    if (fields.capacity)
    {
        link.capacity =
            GetWhole(*fields.capacity, TopologyBuilder::MAX_CAPACITY, what + ": capacity");
        link.rateBps *= link.capacity;
    }
    if (fields.rate)
    {
        link.rateBps = ReadRate(*fields.rate, what + ": rate");
    }
    if (fields.delay)
    {
        link.delayNs = ReadDelay(*fields.delay, what + ": delay");
    }
    if (fields.errorRate)
    {
        link.errorRate = ReadErrorRate(*fields.errorRate, what + ": error rate");
    }
    return link;
}

FileLinks
ReadLinks(const nlohmann::json& json, const std::string& source)
{
    if (!json.is_array())
    {
        FailInput(source, ": \"links\" is not a list");
    }
    FileLinks file;
    for (const auto& item : json)
    {
        const std::string what = source + ": link " + std::to_string(file.links.size());
        const LinkFields fields =
            item.is_object() ? SplitObject(item, what) : SplitArray(item, what);
        file.links.push_back(ReadLink(fields, what));
        file.doStateCapacities.push_back(fields.capacity != nullptr);
    }
    return file;
}

/// Give the links that do not state a capacity the one that goes with those of the others.
void
FillCapacities(FileLinks& file)
{
    std::vector<Link> stating;
    for (LinkId id = 0; id < file.links.size(); ++id)
    {
        if (file.doStateCapacities[id])
        {
            stating.push_back(file.links[id]);
        }
    }
    if (stating.empty())
    {
        DeriveCapacities(file.links);
        return;
    }
    const Link& unit = FindUnitLink(stating);
    for (LinkId id = 0; id < file.links.size(); ++id)
    {
        Link& link = file.links[id];
        if (!file.doStateCapacities[id])
        {
            link.capacity = std::max(1u, CountUnitFlows(link.rateBps, unit));
        }
    }
}

std::vector<Position>
ReadPositions(const nlohmann::json& json, const std::string& source)
{
    if (!json.is_array())
    {
        FailInput(source, ": \"positions\" is not a list");
    }
    std::vector<Position> positions;
    for (const auto& pair : json)
    {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
        {
            FailInput(source,
                      ": position ",
                      positions.size(),
                      " is ",
                      Shorten(pair),
                      ", expected [x, y]");
        }
        positions.push_back({pair[0].get<double>(), pair[1].get<double>()});
    }
    return positions;
}

/// @return a link as short as it can be said
nlohmann::ordered_json
WriteLink(const Link& link)
{
    Link plain;
    nlohmann::ordered_json json = {link.a, link.b, link.capacity};
    const bool writeErrors = link.errorRate != plain.errorRate;
    const bool writeDelay = writeErrors || link.delayNs != plain.delayNs;
    if (writeDelay || link.rateBps != plain.rateBps * link.capacity)
    {
        json.push_back(link.rateBps);
    }
    if (writeDelay)
    {
        json.push_back(link.delayNs);
    }
    if (writeErrors)
    {
        json.push_back(link.errorRate);
    }
    return json;
}

/// Names are in messages, which have one line. @return whether it can be one
bool
IsName(const nlohmann::json& json)
{
    constexpr unsigned char DELETE = 127;
    if (!json.is_string())
    {
        return false;
    }
    const auto& name = json.get_ref<const std::string&>();
    return name.size() <= LONGEST_NAME &&
           std::none_of(name.begin(), name.end(), [](unsigned char c) {
               return c < ' ' || c == DELETE;
           });
}

} // namespace

Topology
TopologyFromJson(const nlohmann::json& json, const std::string& source)
{
    if (!json.is_object())
    {
        FailInput(source, ": expected a JSON object that describes a topology");
    }
    CheckKeys(json,
              {"format", "version", "name", "servers", "switches", "links", "positions"},
              source);
    const nlohmann::json format = json.value("format", nlohmann::json("allreduce-topology"));
    const nlohmann::json version = json.value("version", nlohmann::json(1));
    if (format != "allreduce-topology" || version != 1)
    {
        FailInput(source,
                  ": format ",
                  Shorten(format),
                  " version ",
                  Shorten(version),
                  ", expected \"allreduce-topology\" version 1");
    }
    const nlohmann::json name = json.value("name", nlohmann::json(source));
    if (!IsName(name))
    {
        FailInput(source,
                  ": name is ",
                  Shorten(name),
                  ", expected text of at most ",
                  LONGEST_NAME,
                  " characters on one line");
    }
    const uint64_t most = TopologyBuilder::MAX_SIZE;
    const auto nServers = GetWhole(GetMember(json, "servers", source), most, source + ": servers");
    const auto nSwitches =
        GetWhole(GetMember(json, "switches", source), most, source + ": switches");
    FileLinks file = ReadLinks(GetMember(json, "links", source), source);
    TopologyBuilder(source).CheckServers(nServers, file.links.size());
    // First under the name of the file, which is what a complaint should name.
    Topology topology(source, nServers, nSwitches, file.links);
    FillCapacities(file);
    topology.SetPositions(json.contains("positions") ? ReadPositions(json["positions"], source)
                                                     : PlaceByRacks(topology));
    return topology.WithLinks(name.get<std::string>(), std::move(file.links));
}

nlohmann::ordered_json
TopologyToJson(const Topology& topology)
{
    nlohmann::ordered_json json = {{"name", topology.GetName()},
                                   {"servers", topology.GetNServers()},
                                   {"switches", topology.GetNSwitches()},
                                   {"links", nlohmann::ordered_json::array()}};
    for (const Link& link : topology.GetLinks())
    {
        json["links"].push_back(WriteLink(link));
    }
    return json;
}

void
WriteTopologyJson(const Topology& topology, std::ostream& out)
{
    nlohmann::ordered_json json = {{"format", "allreduce-topology"}, {"version", 1}};
    json.update(TopologyToJson(topology));
    for (const Position& position : topology.GetPositions())
    {
        json["positions"].push_back({position.x, position.y});
    }
    out << json << "\n";
}

Topology
ReadTopologyFile(const std::string& path)
{
    InputFile in(path, "topology file");
    return ReadTopology(in, NamePath(path));
}

Topology
ReadTopology(std::istream& in, const std::string& source)
{
    // Blank lines count: messages about link lists name the line.
    std::string blank;
    while (std::isspace(in.peek()))
    {
        blank += static_cast<char>(in.get());
    }
    if (in.peek() != '{')
    {
        return ReadLinkList(in, source, std::count(blank.begin(), blank.end(), '\n'));
    }
    Topology topology = TopologyFromJson(ReadJson(in, "topology file " + source), source);
    CheckCapacities(topology.GetLinks(), source);
    return topology;
}

} // namespace ns3::allreduce
