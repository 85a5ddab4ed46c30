/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Says what topologies are made of, and sends a TCP flow through each along a pinned path.
 */

#include "allreduce-program-options.h"
#include "mpi-ranks.h"
#include "result-writer.h"
#include "topology-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/inet-socket-address.h"
#include "ns3/link-capacities.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/simulator.h"
#include "ns3/topology-file.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

constexpr uint16_t PORT = 5000; //!< that the flow goes to

/// What can be asked for.
struct Options
{
    TopologyOptions topologies;  //!< which
    uint64_t bytes{10'000'000};  //!< that the flow sends
    bool noFlow{false};          //!< only describe
    std::string format{"table"}; //!< of the results
    std::string writeJson;       //!< where to write the topology as JSON
    std::string writeLinkList;   //!< where to write the topology as a plain list
};

/// @return the server farthest from server 0
NodeId
FindFarthestServer(const Topology& topology)
{
    const std::vector<uint32_t> distance = ComputeDistances(topology, 0);
    return std::max_element(distance.begin(), distance.begin() + topology.GetNServers()) -
           distance.begin();
}

/// Adds the rates, and what is lost because capacities are whole numbers.
void
DescribeRates(const Topology& topology, nlohmann::ordered_json& row)
{
    const std::vector<Link>& links = topology.GetLinks();
    const auto [slowest, fastest] =
        std::minmax_element(links.begin(), links.end(), [](const Link& x, const Link& y) {
            return x.rateBps < y.rateBps;
        });
    const CapacityRounding rounding = ComputeCapacityRounding(topology);
    const Link& worst = topology.GetLink(rounding.worstLink);
    row["slowest_rate_bps"] = slowest->rateBps;
    row["fastest_rate_bps"] = fastest->rateBps;
    row["unit_rate_bps"] = rounding.unitRateBps;
    row["rounding_loss"] = rounding.worstLoss;
    row["rounding_link"] = nullptr;
    if (rounding.worstLoss > 0)
    {
        row["rounding_link"] = FormatPath({worst.a, worst.b});
    }
}

nlohmann::ordered_json
Describe(const Topology& topology)
{
    uint32_t fewest = UNREACHABLE;
    uint32_t most = 0;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const uint32_t nPorts = topology.GetPorts(server).size();
        fewest = std::min(fewest, nPorts);
        most = std::max(most, nPorts);
    }
    nlohmann::ordered_json row = {{"topology", topology.GetName()},
                                  {"servers", topology.GetNServers()},
                                  {"switches", topology.GetNSwitches()},
                                  {"links", topology.GetNLinks()},
                                  {"fewest_server_ports", fewest},
                                  {"most_server_ports", most},
                                  {"diameter", nullptr}};
    // It takes a search from each server: hours for a million of them.
    constexpr uint32_t MOST_SERVERS = 4096;
    if (topology.GetNServers() <= MOST_SERVERS)
    {
        row["diameter"] = ComputeDiameter(topology);
    }
    DescribeRates(topology, row);
    return row;
}

/// Counts the directed links that carry something.
class LinkWatcher
{
  public:
    explicit LinkWatcher(const AllReduceNetwork& network)
        : m_isUsed(network.GetTopology().GetNDirectedLinks(), false)
    {
        for (DirectedLinkId link = 0; link < m_isUsed.size(); ++link)
        {
            network.GetDevice(link)->TraceConnectWithoutContext(
                "PhyTxEnd",
                MakeBoundCallback(&LinkWatcher::Note, this, link));
        }
    }

    /// @return how many directed links carried something
    uint32_t CountUsed() const
    {
        return std::count(m_isUsed.begin(), m_isUsed.end(), true);
    }

  private:
    static void Note(LinkWatcher* watcher, DirectedLinkId link, Ptr<const Packet>)
    {
        watcher->m_isUsed[link] = true;
    }

    std::vector<bool> m_isUsed; //!< by directed link
};

/// Sends a flow from server 0 to the farthest one and adds what happened to the row.
void
RunFlow(const Topology& topology, uint64_t bytes, nlohmann::ordered_json& row)
{
    const Ptr<AllReduceNetwork> network = TopologyHelper(topology).Install();
    const NodeId target = FindFarthestServer(topology);
    const Path path = FindShortestPath(topology, 0, target);
    network->PinFlow(path, "ns3::TcpSocketFactory", 0, PORT);

    const InetSocketAddress address(network->GetServerAddress(target), PORT);
    PacketSinkHelper sinkHelper("ns3::TcpSocketFactory",
                                InetSocketAddress(Ipv4Address::GetAny(), PORT));
    const auto sink =
        DynamicCast<PacketSink>(sinkHelper.Install(network->GetServer(target)).Get(0));
    BulkSendHelper source("ns3::TcpSocketFactory", address);
    source.SetAttribute("MaxBytes", UintegerValue(bytes));
    source.Install(network->GetServer(0));

    const LinkWatcher watcher(*network);
    Time arrival;
    sink->TraceConnectWithoutContext(
        "Rx",
        MakeBoundCallback(
            +[](Time* time, Ptr<const Packet>, const Address&) { *time = Simulator::Now(); },
            &arrival));
    Simulator::Run();
    const uint64_t received = sink->GetTotalRx();
    const uint32_t nUsed = watcher.CountUsed();
    Simulator::Destroy();

    row["path"] = FormatPath(path);
    row["links_on_path"] = path.size() - 1;
    row["directed_links_used"] = nUsed;
    row["bytes_received"] = received;
    row["flow_ms"] = arrival.GetSeconds() * 1e3;
    if (received != bytes)
    {
        FailInput(topology.GetName(), ": ", received, " of ", bytes, " bytes arrived");
    }
}

void
WriteFile(const std::string& path,
          const Topology& topology,
          void (*write)(const Topology&, std::ostream&))
{
    if (path.empty())
    {
        return;
    }
    std::ofstream out(path);
    write(topology, out);
    if (!out.flush())
    {
        FailInput("file ", NamePath(path), ": cannot be written");
    }
}

int
Run(int argc, char* argv[])
{
    Options options;
    options.topologies.specs = {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2"};
    ProgramOptions parser(
        "allreduce-topology",
        "Describes topologies and sends a flow along a pinned path through each.");
    options.topologies.AddTo(parser);
    parser.Add("bytes", options.bytes, "that the flow sends");
    parser.Add("no-flow", options.noFlow, "only describe the topologies");
    parser.Add("format", options.format, "table, json, csv or gnuplot");
    parser.Add("write-json", options.writeJson, "write the (last) topology to this file");
    parser.Add("write-list", options.writeLinkList, "the same, as ASTRA-sim's plain list");
    parser.AddExample("--topology=bcube:4,1",
                      "describe a network, and send a flow along a pinned path");
    parser.AddExample("--topology='jellyfish:20,5,3;torus:4x4' --mixed=0.3 --no-flow",
                      "describe two networks of mixed speed");
    parser.AddExample("--topology=fattree:4 --no-flow --write-json=network.json",
                      "write a network down, to be changed and read again as file:network.json");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }

    RequireOneProcess();
    if (options.bytes == 0)
    {
        FailInput("--bytes \"0\": expected 1 or more, or --no-flow");
    }
    std::vector<ResultWriter::Column> columns = {{"topology", "topology", 9},
                                                 {"servers", "servers", 7},
                                                 {"switches", "switches", 8},
                                                 {"links", "links", 6},
                                                 {"slowest_rate_bps", "slowest Gb/s", 12, -1, 1e-9},
                                                 {"fastest_rate_bps", "fastest Gb/s", 12, -1, 1e-9},
                                                 {"unit_rate_bps", "unit flow Gb/s", 14, -1, 1e-9},
                                                 {"rounding_loss", "rounding %", 10, -1, 100},
                                                 {"most_server_ports", "ports", 5},
                                                 {"diameter", "diameter hops", 13}};
    if (!options.noFlow)
    {
        columns.push_back({"flow_ms", "flow ms", 8, 3});
        columns.push_back({"path", "pinned path", 24});
    }
    ResultWriter writer(std::cout, ParseFormat(options.format), columns);
    const std::vector<Topology> topologies = options.topologies.Make();
    writer.MakeRoom("topology", GetNames(topologies));
    for (const Topology& topology : topologies)
    {
        nlohmann::ordered_json row = Describe(topology);
        if (!options.noFlow)
        {
            RunFlow(topology, options.bytes, row);
        }
        writer.Add(row);
        WriteFile(options.writeJson, topology, WriteTopologyJson);
        WriteFile(options.writeLinkList, topology, WriteLinkList);
    }
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-topology", [=] { return Run(argc, argv); });
}
