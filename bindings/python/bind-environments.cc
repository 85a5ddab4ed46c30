/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bindings.h"
#include "vector-game.h"

#include "ns3/policy-weights.h"

#include <pybind11/stl.h>

namespace ns3::allreduce::python
{

namespace
{

using Actions = py::array_t<int64_t, py::array::c_style>;

Level
ParseLevel(const std::string& level)
{
    if (level == "lower")
    {
        return Level::LOWER;
    }
    if (level == "upper")
    {
        return Level::UPPER;
    }
    if (level != "joint")
    {
        FailInput("level ", Quote(level), ": expected lower, upper or joint");
    }
    return Level::JOINT;
}

/// @param policy whose weights decide; null if none do @param kind "best", "random", "rule", "all"
Partner
MakePartner(const PolicyWeights* policy, const std::string& kind)
{
    Partner partner;
    partner.weights = std::make_shared<const PolicyWeights>(policy ? *policy : PolicyWeights());
    partner.options.mode = kind == "random" ? RolloutMode::RANDOM : RolloutMode::BEST;
    partner.options.upper = kind == "rule"  ? UpperMode::RULE
                            : kind == "all" ? UpperMode::ALL
                                            : UpperMode::POLICY;
    return partner;
}

std::shared_ptr<PlanningTask>
MakeTask(const TopologyPointer& topology,
         uint64_t chunksPerServer,
         const std::string& kind,
         uint64_t seed)
{
    const py::gil_scoped_release release;
    return std::make_shared<PlanningTask>(topology, chunksPerServer, kind, seed);
}

std::unique_ptr<VectorGame>
MakeGames(const std::vector<std::shared_ptr<PlanningTask>>& tasks,
          const std::string& level,
          const PolicyWeights* policy,
          const std::string& kind,
          uint32_t nThreads,
          bool isResetAgain)
{
    for (const auto& task : tasks)
    {
        if (!task)
        {
            FailInput("tasks: None, expected a Task");
        }
    }
    return std::make_unique<VectorGame>(
        std::vector<std::shared_ptr<const PlanningTask>>(tasks.begin(), tasks.end()),
        ParseLevel(level),
        MakePartner(policy, kind),
        nThreads,
        isResetAgain);
}

/// @return the arrays, which are the same at each step
py::dict
GetArraysOf(const py::object& self)
{
    auto& games = self.cast<VectorGame&>();
    VectorGame::Arrays& arrays = games.GetArrays();
    const py::ssize_t n = games.GetSize();
    const py::ssize_t choices = games.GetMostChoices();
    py::dict all;
    all["rows"] = ShareArray(arrays.rows.data(), {n, choices, games.GetNFeatures()}, self);
    all["mask"] = ShareArray(arrays.mask.get(), {n, choices}, self);
    all["choices"] = ShareArray(arrays.choices.data(), {n, choices}, self);
    all["head"] = ShareArray(arrays.heads.data(), {n}, self);
    all["state"] = ShareArray(arrays.states.data(), {n, games.GetNStateFeatures()}, self);
    all["rewards"] = ShareArray(arrays.rewards.data(), {n}, self);
    all["terminated"] = ShareArray(arrays.terminated.get(), {n}, self);
    all["rounds"] = ShareArray(arrays.rounds.data(), {n}, self);
    return all;
}

void
ResetGames(VectorGame& games, const std::vector<uint64_t>& seeds)
{
    const py::gil_scoped_release release;
    games.Reset(seeds);
}

/// The actions are copied, because other threads of Python may change them meanwhile.
void
StepGames(VectorGame& games, const Actions& actions)
{
    const std::vector<int64_t> copy(actions.data(), actions.data() + actions.size());
    const py::gil_scoped_release release;
    games.Step(copy);
}

ScheduleObject
GetPlanOf(const VectorGame& games, int64_t index)
{
    games.CheckUsable();
    const auto& plan = games.GetGame(index).GetPlan();
    if (!plan)
    {
        FailInput("environment ", index, ": no plan is complete yet");
    }
    return *plan;
}

} // namespace

void
BindEnvironments(py::module_& module)
{
    py::class_<PlanningTask, std::shared_ptr<PlanningTask>>(
        module,
        "Task",
        "An AllReduce to be planned decision by decision, again and again.")
        .def(py::init(&MakeTask),
             py::arg("topology").none(false),
             py::arg("chunks_per_server") = 0,
             py::kw_only(),
             py::arg("kind") = "forward",
             py::arg("seed") = 1,
             "kind forward: reduces and "
             "broadcasts together, on flow-trees that a forest of this seed gives; mirrored: the "
             "broadcasts, and the reduces are their mirror image.")
        .def_property_readonly("topology", &PlanningTask::GetTopology, "The network.")
        .def_property_readonly("n_chunks", &PlanningTask::GetNChunks, "The number of chunks.")
        .def_property_readonly("bound", &PlanningTask::GetBound, "No plan has fewer rounds.");
    py::class_<VectorGame>(module, "_Games")
        .def(py::init(&MakeGames),
             py::arg("tasks"),
             py::arg("level"),
             py::arg("policy"),
             py::arg("kind"),
             py::arg("threads"),
             py::arg("auto_reset"))
        .def_property_readonly("arrays", &GetArraysOf)
        .def_property_readonly("n_choices", &VectorGame::GetMostChoices)
        .def_property_readonly("n_features", &VectorGame::GetNFeatures)
        .def_property_readonly("n_state_features", &VectorGame::GetNStateFeatures)
        .def("reset", &ResetGames, py::arg("seeds"))
        .def("step", &StepGames, py::arg("actions"))
        .def("plan", &GetPlanOf, py::arg("index"))
        .def("check", &VectorGame::CheckUsable)
        .def("close", &VectorGame::Close);
}

} // namespace ns3::allreduce::python
