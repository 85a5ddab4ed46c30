/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bindings.h"
#include "schedule-object.h"

#include "ns3/allreduce-state.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/hrl-scheduler.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"
#include "ns3/verified-plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <pybind11/stl.h>
#include <variant>

namespace ns3::allreduce::python
{

namespace
{

/// Attributes by name.
using Attributes = std::map<std::string, std::variant<bool, uint64_t, double, std::string>>;

/// ns-3 counts references to types and attributes without locks, so one thread plans at a time.
std::mutex g_planning;
/// Whether this thread is in Python because planning asked for scores: it must not wait for itself.
thread_local bool t_isScoring = false;

/// Thrown through planning after a scorer has raised an exception, which ScorerOf keeps.
struct ScorerFailed : std::exception
{
};

/// A Python function that scores rows. Planning calls it without holding the interpreter's lock.
class PythonScorer
{
  public:
    explicit PythonScorer(py::function function)
        : m_function(std::move(function))
    {
    }

    /// See RowScorer.
    void Score(PolicyHead head, const float* rows, uint32_t nRows, float* scores)
    {
        const py::gil_scoped_acquire lock;
        t_isScoring = true;
        try
        {
            Ask(head, rows, nRows, scores);
        }
        catch (py::error_already_set& error)
        {
            Keep(error);
        }
        catch (const InputError&)
        {
            t_isScoring = false;
            throw;
        }
        t_isScoring = false;
        if (m_error)
        {
            throw ScorerFailed();
        }
    }

    /// Raise what the function raised.
    [[noreturn]] void Raise()
    {
        throw std::move(*m_error);
    }

  private:
    void Keep(py::error_already_set& error)
    {
        if (!m_error)
        {
            m_error.emplace(std::move(error));
        }
    }

    void Ask(PolicyHead head, const float* rows, uint32_t nRows, float* scores)
    {
        const std::size_t nFeatures = GetPolicyFeatures(head).size();
        const py::array_t<float> seen({std::size_t{nRows}, nFeatures}, rows); // a copy
        const py::object answer = m_function(GetPolicyHeadName(head), seen);
        const auto given =
            py::array_t<float, py::array::c_style | py::array::forcecast>::ensure(answer);
        if (!given || given.ndim() != 1 || given.size() != nRows)
        {
            FailInput("scorer, network \"",
                      GetPolicyHeadName(head),
                      "\": expected a column of ",
                      nRows,
                      " scores");
        }
        if (!std::all_of(given.data(), given.data() + nRows, [](float x) {
                return std::isfinite(x);
            }))
        {
            FailInput("scorer, network \"", GetPolicyHeadName(head), "\": expected finite scores");
        }
        std::copy_n(given.data(), nRows, scores);
    }

    py::function m_function;                      //!< what to call
    std::optional<py::error_already_set> m_error; //!< what it raised first
};

/// ns-3 parses texts for attributes of other types, and aborts if it cannot.
bool
TakesText(const AllReduceScheduler& scheduler, const std::string& attribute)
{
    TypeId::AttributeInformation info;
    return scheduler.GetInstanceTypeId().LookupAttributeByName(attribute, &info) &&
           DynamicCast<const StringValue>(info.initialValue);
}

/// Sets an attribute. @return whether the scheduler has one that takes such a value
bool
SetAttribute(AllReduceScheduler& scheduler,
             const std::string& attribute,
             const Attributes::mapped_type& value)
{
    if (const auto* text = std::get_if<std::string>(&value))
    {
        return TakesText(scheduler, attribute) &&
               scheduler.SetAttributeFailSafe(attribute, StringValue(*text));
    }
    if (const auto* flag = std::get_if<bool>(&value))
    {
        return scheduler.SetAttributeFailSafe(attribute, BooleanValue(*flag));
    }
    if (const auto* number = std::get_if<uint64_t>(&value))
    {
        return scheduler.SetAttributeFailSafe(attribute, UintegerValue(*number));
    }
    return scheduler.SetAttributeFailSafe(attribute, DoubleValue(std::get<double>(value)));
}

Ptr<AllReduceScheduler>
MakeSchedulerOf(const std::string& name, const Attributes& attributes)
{
    const Ptr<AllReduceScheduler> scheduler = CreateScheduler(name);
    for (const auto& [attribute, value] : attributes)
    {
        if (!SetAttribute(*scheduler, attribute, value))
        {
            FailInput("scheduler ",
                      Quote(name),
                      ": it has no attribute ",
                      Quote(attribute),
                      " that takes such a value");
        }
    }
    return scheduler;
}

void
SetScorer(AllReduceScheduler& scheduler, const std::string& name, PythonScorer& scorer)
{
    auto* hrl = dynamic_cast<HrlScheduler*>(&scheduler);
    if (!hrl)
    {
        FailInput("scorer: scheduler ", Quote(name), " asks no policy; expected hrl");
    }
    hrl->SetScorer([&scorer](PolicyHead head, const float* rows, uint32_t nRows, float* scores) {
        scorer.Score(head, rows, nRows, scores);
    });
}

/// @return a plan that has been verified; made and taken apart under the lock
AllReduceSchedule
MakePlan(const Topology& topology,
         const std::string& name,
         const std::vector<NodeId>& roots,
         const Attributes& attributes,
         PythonScorer* scorer)
{
    const py::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(g_planning);
    const Ptr<AllReduceScheduler> scheduler = MakeSchedulerOf(name, attributes);
    if (scorer)
    {
        SetScorer(*scheduler, name, *scorer);
    }
    return PlanVerified(topology, roots, *scheduler).GetSchedule();
}

ScheduleObject
PlanOn(const TopologyPointer& topology,
       const std::string& name,
       uint64_t chunksPerServer,
       const Attributes& attributes,
       const std::optional<py::function>& function)
{
    if (t_isScoring)
    {
        FailInput("plan: called by a scorer, expected scores from it");
    }
    const std::vector<NodeId> roots = MakeRootsOf(*topology, chunksPerServer);
    if (!function)
    {
        return {topology, MakePlan(*topology, name, roots, attributes, nullptr)};
    }
    PythonScorer scorer(*function);
    try
    {
        return {topology, MakePlan(*topology, name, roots, attributes, &scorer)};
    }
    catch (const ScorerFailed&)
    {
        scorer.Raise();
    }
}

} // namespace

void
BindPlanning(py::module_& module)
{
    module.def("schedulers", &GetSchedulerNames, "The names of the schedulers.");
    module.def("_plan",
               &PlanOn,
               py::arg("topology").none(false),
               py::arg("scheduler"),
               py::arg("chunks_per_server"),
               py::arg("attributes"),
               py::arg("scorer"));
}

} // namespace ns3::allreduce::python
