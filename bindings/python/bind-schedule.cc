/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bindings.h"
#include "schedule-object.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-state.h"
#include "ns3/ideal-time.h"
#include "ns3/input-file.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/round-hash.h"
#include "ns3/schedule-file.h"
#include "ns3/schedule-verifier.h"
#include "ns3/topology-builder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <sstream>

namespace ns3::allreduce::python
{

namespace
{

/// A workload as numpy has it.
struct WorkloadRow
{
    int32_t round;    //!< counted from 0
    int32_t chunk;    //!< the chunk that moves
    int32_t kind;     //!< 0: reduce, 1: broadcast
    int32_t sender;   //!< the server that sends
    int32_t receiver; //!< the server that receives
};

constexpr int32_t NO_NODE = -1; //!< behind the end of a path

/// Calls a function with the number of each workload, its round and the workload itself.
template <typename Call>
void
ForEachWorkload(const AllReduceSchedule& schedule, Call call)
{
    py::ssize_t row = 0;
    for (std::size_t round = 0; round < schedule.rounds.size(); ++round)
    {
        for (std::size_t i = 0; i < schedule.rounds[round].GetSize(); ++i)
        {
            call(row++, round, schedule.rounds[round].Get(i));
        }
    }
}

py::array_t<WorkloadRow>
ListWorkloads(const ScheduleObject& object)
{
    py::array_t<WorkloadRow> rows(object.schedule.CountWorkloads());
    auto out = rows.mutable_unchecked<1>();
    ForEachWorkload(object.schedule, [&](py::ssize_t row, std::size_t round, const Workload& w) {
        out(row) = {static_cast<int32_t>(round),
                    static_cast<int32_t>(w.chunk),
                    static_cast<int32_t>(w.kind),
                    static_cast<int32_t>(w.GetSource()),
                    static_cast<int32_t>(w.GetTarget())};
    });
    return rows;
}

py::array_t<int32_t>
ListPaths(const ScheduleObject& object)
{
    std::size_t longest = 2;
    ForEachWorkload(object.schedule, [&](py::ssize_t, std::size_t, const Workload& w) {
        longest = std::max(longest, w.path.size());
    });
    py::array_t<int32_t> paths({object.schedule.CountWorkloads(), longest});
    std::fill_n(paths.mutable_data(), paths.size(), NO_NODE);
    ForEachWorkload(object.schedule, [&](py::ssize_t row, std::size_t, const Workload& w) {
        std::copy(w.path.begin(), w.path.end(), paths.mutable_data(row, 0));
    });
    return paths;
}

py::dict
ListContributors(const ScheduleObject& object)
{
    py::dict all;
    ForEachWorkload(object.schedule, [&](py::ssize_t row, std::size_t, const Workload& w) {
        if (!w.contributors.empty())
        {
            all[py::int_(row)] = std::vector<NodeId>(w.contributors.begin(), w.contributors.end());
        }
    });
    return all;
}

/// Reads numbers of nodes up to the first that is negative.
Path
ReadPath(const py::array_t<int64_t>& paths, py::ssize_t row)
{
    Path path;
    for (py::ssize_t i = 0; i < paths.shape(1) && paths.at(row, i) >= 0; ++i)
    {
        path.push_back(std::min<int64_t>(paths.at(row, i), std::numeric_limits<NodeId>::max()));
    }
    if (path.size() < 2 || path.size() > std::numeric_limits<uint16_t>::max())
    {
        FailInput("paths, row ", row, ": ", path.size(), " nodes, expected 2 to 65535");
    }
    return path;
}

/// @return a number of an array @param most the largest that is allowed
uint32_t
ReadNumber(const py::array_t<int64_t>& numbers, const char* name, py::ssize_t row, uint64_t most)
{
    const int64_t number = numbers.at(row);
    if (number < 0 || static_cast<uint64_t>(number) > most)
    {
        FailInput(name, ", row ", row, ": ", number, ", expected 0 to ", most);
    }
    return number;
}

using Numbers = py::array_t<int64_t, py::array::c_style>;

void
CheckShapes(const Numbers& rounds,
            const Numbers& chunks,
            const Numbers& kinds,
            const Numbers& paths)
{
    const bool areColumns = rounds.ndim() == 1 && chunks.ndim() == 1 && kinds.ndim() == 1;
    if (!areColumns || chunks.size() != rounds.size() || kinds.size() != rounds.size())
    {
        FailInput("rounds, chunks and kinds: expected three columns of the same length");
    }
    if (paths.ndim() != 2 || paths.shape(0) != rounds.size())
    {
        FailInput("paths: expected an array of ", rounds.size(), " rows");
    }
}

ScheduleObject
FromArrays(const TopologyPointer& topology,
           std::vector<NodeId> roots,
           const Numbers& rounds,
           const Numbers& chunks,
           const Numbers& kinds,
           const Numbers& paths)
{
    CheckShapes(rounds, chunks, kinds, paths);
    AllReduceState(*topology, roots); // refuses roots that are not servers
    ScheduleObject object{topology, {std::move(roots), {}}};
    std::vector<WorkloadList>& lists = object.schedule.rounds;
    for (py::ssize_t row = 0; row < rounds.size(); ++row)
    {
        const uint32_t round = ReadNumber(rounds, "rounds", row, TopologyBuilder::MAX_SIZE);
        lists.resize(std::max<std::size_t>(lists.size(), round + 1));
        lists[round].Add(ReadNumber(chunks, "chunks", row, std::numeric_limits<ChunkId>::max()),
                         ReadNumber(kinds, "kinds", row, 1) == 0 ? WorkloadKind::REDUCE
                                                                 : WorkloadKind::BROADCAST,
                         ReadPath(paths, row));
    }
    return object;
}

ScheduleObject
Load(const std::filesystem::path& path)
{
    InputFile in(path.string(), "schedule file");
    ScheduleFile file = ReadSchedule(in, NamePath(path.string()));
    return {std::make_shared<Topology>(std::move(file.topology)), std::move(file.schedule)};
}

void
Save(const ScheduleObject& object, const std::filesystem::path& path)
{
    std::ostringstream out;
    WriteSchedule(*object.topology, object.schedule, out);
    WriteFileAtomically(path.string(), out.str());
}

/// @return what is wrong with a plan; empty if it is correct
std::string
FindFlawOf(const ScheduleObject& object)
{
    const py::gil_scoped_release release;
    return Verify(*object.topology, object.schedule).reason;
}

void
CheckSchedule(const ScheduleObject& object)
{
    if (const std::string flaw = FindFlawOf(object); !flaw.empty())
    {
        FailInput("schedule on ", object.topology->GetName(), " is not correct: ", flaw);
    }
}

std::string
HashSchedule(const ScheduleObject& object)
{
    return FormatHash(HashRounds(MakeRoundRange(object.schedule.rounds)));
}

std::string
DescribeSchedule(const ScheduleObject& object)
{
    std::ostringstream text;
    text << "<Schedule on " << object.topology->GetName() << ": " << object.schedule.rounds.size()
         << " rounds, " << object.schedule.CountWorkloads() << " workloads>";
    return text.str();
}

LowerBounds
ComputeBounds(const Topology& topology, uint64_t chunksPerServer)
{
    const py::gil_scoped_release release;
    return ComputeLowerBounds(topology, MakeRootsOf(topology, chunksPerServer));
}

double
ComputeIdealSeconds(const Topology& topology, uint64_t bytes)
{
    const py::gil_scoped_release release;
    const std::vector<NodeId> roots = MakeRootsOf(topology, 0);
    ComputeLowerBounds(topology, roots); // refuses networks that are not connected
    return ComputeIdealTime(topology, roots, bytes).seconds;
}

void
BindBounds(py::module_& module)
{
    py::class_<LowerBound>(module, "Bound", "A number of rounds that no plan can beat, and why.")
        .def_readonly("name", &LowerBound::name, "prices, head-tail or hops.")
        .def_readonly("rounds", &LowerBound::rounds, "No plan has fewer rounds.")
        .def_readonly("bottleneck", &LowerBound::bottleneck, "What it is about, in words.")
        .def("__repr__", [](const LowerBound& bound) {
            return "<Bound " + bound.name + ": " + std::to_string(bound.rounds) + " rounds>";
        });
    module.def(
        "bounds",
        [](const Topology& topology, uint64_t chunksPerServer) {
            return ComputeBounds(topology, chunksPerServer).all;
        },
        py::arg("topology").none(false),
        py::arg("chunks_per_server") = 0,
        "All lower bounds on the rounds of a plan.");
    module.def(
        "bound",
        [](const Topology& topology, uint64_t chunksPerServer) {
            return ComputeBounds(topology, chunksPerServer).GetBest();
        },
        py::arg("topology").none(false),
        py::arg("chunks_per_server") = 0,
        "The best lower bound on the rounds of a plan.");
    module.def("ideal_seconds",
               &ComputeIdealSeconds,
               py::arg("topology").none(false),
               py::arg("bytes"),
               "The seconds that no AllReduce of so many bytes can beat, at line rate.");
}

} // namespace

void
BindSchedule(py::module_& module)
{
    PYBIND11_NUMPY_DTYPE(WorkloadRow, round, chunk, kind, sender, receiver);
    py::class_<ScheduleObject>(module, "Schedule", "A plan for an AllReduce on a network.")
        .def(py::init(&FromArrays),
             py::arg("topology").none(false),
             py::arg("roots"),
             py::arg("rounds"),
             py::arg("chunks"),
             py::arg("kinds"),
             py::arg("paths"),
             "A plan from arrays with a row for each workload, as workloads and paths have them.")
        .def_static("load", &Load, py::arg("path"), "Read a schedule file.")
        .def("save", &Save, py::arg("path"), "Write a schedule file.")
        .def_readonly("topology", &ScheduleObject::topology, "The network that it is for.")
        .def_property_readonly(
            "roots",
            [](const ScheduleObject& object) {
                return py::array_t<NodeId>(object.schedule.collective.GetNChunks(),
                                           object.schedule.collective.roots.data());
            },
            "By chunk: the server at which its sum becomes final.")
        .def_property_readonly(
            "rounds",
            [](const ScheduleObject& object) { return object.schedule.rounds.size(); },
            "The number of rounds.")
        .def_property_readonly("workloads",
                               &ListWorkloads,
                               "An array with a row for each workload: round, chunk, kind (0: "
                               "reduce, 1: broadcast), sender, receiver.")
        .def_property_readonly("paths",
                               &ListPaths,
                               "An array with a row for each workload: the nodes of its path, "
                               "then -1.")
        .def_property_readonly("contributors",
                               &ListContributors,
                               "By row of workloads: whose contributions a reduce carries, where "
                               "these are not all that its sender holds.")
        .def_property_readonly("hash",
                               &HashSchedule,
                               "16 digits that two plans share if they are the same: what "
                               "allreduce-plan prints as plan_hash.")
        .def("flaw",
             &FindFlawOf,
             "What is wrong with the plan, from a verifier that shares no rule with planning; '' "
             "if it is correct.")
        .def("verify", &CheckSchedule, "Raise InputError if the plan is not correct.")
        .def("__repr__", &DescribeSchedule);
    BindBounds(module);
}

} // namespace ns3::allreduce::python
