/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-error.h"
#include "topology-builder.h"
#include "topology-file.h"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/**
 * @param json a number
 * @param most the largest one allowed
 * @param what names it in the message
 * @return the number
 */
uint64_t
GetWhole(const nlohmann::json& json, uint64_t most, const std::string& what)
{
    if (!json.is_number_integer() || json.get<int64_t>() < 0 || json.get<uint64_t>() > most)
    {
        FailInput(what, " is ", json.dump(), ", expected a whole number from 0 to ", most);
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

Link
ReadLink(const nlohmann::json& json, const std::string& what)
{
    if (!json.is_array() || json.size() < 2 || json.size() > 6)
    {
        FailInput(what, " is ", json.dump(), ", expected [a, b, capacity, rate, delay, errors]");
    }
    const auto small = std::numeric_limits<uint32_t>::max();
    const auto large = std::numeric_limits<int64_t>::max();
    Link link;
    link.a = GetWhole(json[0], small, what + ": node");
    link.b = GetWhole(json[1], small, what + ": node");
    if (json.size() > 2)
    {
        link.capacity = GetWhole(json[2], TopologyBuilder::MAX_CAPACITY, what + ": capacity");
        link.rateBps *= link.capacity;
    }
    if (json.size() > 3)
    {
        link.rateBps = GetWhole(json[3], large, what + ": rate");
    }
    if (json.size() > 4)
    {
        link.delayNs = GetWhole(json[4], large, what + ": delay");
    }
    if (json.size() > 5)
    {
        if (!json[5].is_number())
        {
            FailInput(what, ": error rate is ", json[5].dump(), ", expected a number");
        }
        link.errorRate = json[5].get<double>();
    }
    return link;
}

std::vector<Position>
ReadPositions(const nlohmann::json& json, const std::string& source)
{
    std::vector<Position> positions;
    for (const auto& pair : json)
    {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number())
        {
            FailInput(source,
                      ": position ",
                      positions.size(),
                      " is ",
                      pair.dump(),
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

} // namespace

Topology
TopologyFromJson(const nlohmann::json& json, const std::string& source)
{
    if (!json.is_object())
    {
        FailInput(source, ": expected a JSON object that describes a topology");
    }
    if (json.value("format", "allreduce-topology") != "allreduce-topology" ||
        json.value("version", 1) != 1)
    {
        FailInput(source,
                  ": format ",
                  json.value("format", ""),
                  " version ",
                  json.value("version", 1),
                  ", expected allreduce-topology version 1");
    }
    const uint64_t most = TopologyBuilder::MAX_SIZE;
    const auto nServers = GetWhole(GetMember(json, "servers", source), most, source + ": servers");
    const auto nSwitches =
        GetWhole(GetMember(json, "switches", source), most, source + ": switches");
    const nlohmann::json& list = GetMember(json, "links", source);
    if (!list.is_array())
    {
        FailInput(source, ": \"links\" is not a list");
    }
    std::vector<Link> links;
    for (const auto& item : list)
    {
        links.push_back(ReadLink(item, source + ": link " + std::to_string(links.size())));
    }
    if (nServers < 2)
    {
        FailInput(source, ": ", nServers, " servers, expected 2 or more");
    }
    // First under the name of the file, which is what a complaint should name.
    Topology topology(source, nServers, nSwitches, std::move(links));
    topology = topology.WithLinks(json.value("name", source), topology.GetLinks());
    if (json.contains("positions"))
    {
        topology.SetPositions(ReadPositions(json["positions"], source));
    }
    return topology;
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
    std::ifstream in(path);
    if (!in)
    {
        FailInput("topology file ", path, ": cannot be opened");
    }
    in >> std::ws;
    if (in.peek() != '{')
    {
        return ReadLinkList(in, path);
    }
    try
    {
        return TopologyFromJson(nlohmann::json::parse(in), path);
    }
    catch (const nlohmann::json::exception& error)
    {
        FailInput("topology file ", path, ": ", error.what());
    }
}

} // namespace ns3::allreduce
