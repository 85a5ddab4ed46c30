/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bindings.h"

#include "ns3/allreduce-state.h"
#include "ns3/topology-builder.h"
#include "ns3/topology-file.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-spec.h"

#include <sstream>

namespace ns3::allreduce::python
{

namespace
{

/// A link as numpy has it.
struct LinkRow
{
    uint32_t a;        //!< one end
    uint32_t b;        //!< the other end
    uint32_t capacity; //!< unit flows per round and direction
    uint64_t rate;     //!< bit/s
    int64_t delay;     //!< nanoseconds
    double errorRate;  //!< probability that a packet is lost
};

TopologyPointer
Parse(const std::string& spec, const std::string& degrade, const std::string& mixed)
{
    Topology topology = ParseTopology(spec);
    if (!degrade.empty())
    {
        topology = ParseDegrade(topology, degrade);
    }
    if (!mixed.empty())
    {
        topology = ParseMixed(topology, mixed);
    }
    return std::make_shared<Topology>(std::move(topology));
}

TopologyPointer
FromJson(const std::string& text, const std::string& source)
{
    std::istringstream in(text);
    return std::make_shared<Topology>(ReadTopology(in, source));
}

std::string
ToJson(const Topology& topology)
{
    std::ostringstream out;
    WriteTopologyJson(topology, out);
    return out.str();
}

py::array_t<LinkRow>
ListLinks(const Topology& topology)
{
    py::array_t<LinkRow> rows(topology.GetNLinks());
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        const Link& link = topology.GetLink(id);
        rows.mutable_at(
            id) = {link.a, link.b, link.capacity, link.rateBps, link.delayNs, link.errorRate};
    }
    return rows;
}

} // namespace

std::vector<NodeId>
MakeRootsOf(const Topology& topology, uint64_t chunksPerServer)
{
    const uint64_t nServers = topology.GetNServers();
    const uint64_t most = TopologyBuilder::MAX_SIZE / nServers;
    const uint64_t m = chunksPerServer == 0 ? ComputeMeanPorts(topology) : chunksPerServer;
    if (m > most)
    {
        FailInput("chunks_per_server ", m, ": expected 1 to ", most, " on ", topology.GetName());
    }
    return MakeRoots(nServers, m);
}

void
BindTopology(py::module_& module)
{
    PYBIND11_NUMPY_DTYPE_EX(LinkRow,
                            a,
                            "a",
                            b,
                            "b",
                            capacity,
                            "capacity",
                            rate,
                            "rate",
                            delay,
                            "delay",
                            errorRate,
                            "error_rate");
    py::class_<Topology, TopologyPointer>(module,
                                          "Topology",
                                          "A network: servers, switches and links.")
        .def(py::init(&Parse),
             py::arg("spec"),
             py::kw_only(),
             py::arg("degrade") = "",
             py::arg("mixed") = "",
             "Make the network that a text asks for, as --topology, --degrade and --mixed do.")
        .def_static(
            "from_json",
            &FromJson,
            py::arg("text"),
            py::arg("source") = "topology",
            "Read a network from a text in either format of topology files; source names it in "
            "messages.")
        .def("to_json", &ToJson, "The network as a topology file has it.")
        .def_property_readonly("name", &Topology::GetName, "What the network calls itself.")
        .def_property_readonly("n_servers", &Topology::GetNServers, "Servers: nodes 0 and on.")
        .def_property_readonly("n_switches", &Topology::GetNSwitches, "Switches: nodes after them.")
        .def_property_readonly("ports",
                               &ComputeMeanPorts,
                               "Ports of a server in the mean, rounded: the default of "
                               "chunks_per_server.")
        .def_property_readonly("links",
                               &ListLinks,
                               "An array with a row for each link: a, b, capacity (unit flows a "
                               "round), rate (bit/s), delay (ns), error_rate.")
        .def("__repr__", [](const Topology& topology) {
            std::ostringstream text;
            text << "<Topology " << topology.GetName() << ": " << topology.GetNServers()
                 << " servers, " << topology.GetNSwitches() << " switches, " << topology.GetNLinks()
                 << " links>";
            return text.str();
        });
}

} // namespace ns3::allreduce::python
