/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bindings.h"

#include "ns3/json-input.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-prior.h"
#include "ns3/policy-weights.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <sstream>

namespace ns3::allreduce::python
{

namespace
{

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

py::array_t<float>
GetWeights(const PolicyWeights& policy, const std::string& head)
{
    const std::vector<float>& values = policy.Get(ParseHead(head)).values;
    return py::array_t<float>(values.size(), values.data());
}

/// @return for each layer its weights, [input][output], and its biases
py::list
GetLayers(const PolicyWeights& policy, const std::string& head)
{
    const PerceptronWeights& weights = policy.Get(ParseHead(head));
    const float* values = weights.values.data();
    py::list layers;
    uint32_t nInputs = weights.nInputs;
    for (const uint32_t nOutputs : {HIDDEN, HIDDEN, 1U})
    {
        const std::size_t nWeights = std::size_t{nInputs} * nOutputs;
        layers.append(py::make_tuple(py::array_t<float>({nInputs, nOutputs}, values),
                                     py::array_t<float>(nOutputs, values + nWeights)));
        values += nWeights + nOutputs;
        nInputs = nOutputs;
    }
    return layers;
}

void
SetWeights(PolicyWeights& policy, const std::string& head, const Floats& values)
{
    PerceptronWeights& weights = policy.Get(ParseHead(head));
    if (values.ndim() != 1 || static_cast<std::size_t>(values.size()) != weights.values.size())
    {
        FailInput("weights of \"", head, "\": expected a column of ", weights.values.size());
    }
    PolicyWeights changed = policy;
    changed.Get(ParseHead(head)).values.assign(values.data(), values.data() + values.size());
    if (!changed.AreFinite())
    {
        FailInput("weights of \"", head, "\": expected finite numbers");
    }
    policy = std::move(changed);
}

py::array_t<float>
Score(const PolicyWeights& policy, const std::string& head, const Floats& rows)
{
    const PerceptronWeights& weights = policy.Get(ParseHead(head));
    if (rows.ndim() != 2 || rows.shape(1) != weights.nInputs)
    {
        FailInput("rows of \"", head, "\": expected an array with ", weights.nInputs, " columns");
    }
    py::array_t<float> scores(rows.shape(0));
    weights.Score(rows.data(), rows.shape(0), scores.mutable_data());
    return scores;
}

PolicyWeights
Load(const std::filesystem::path& path)
{
    return ReadCheckpoint(path.string());
}

void
Save(const PolicyWeights& policy, const std::filesystem::path& path, const py::dict& record)
{
    std::istringstream in(py::str(py::module_::import("json").attr("dumps")(record)));
    WriteCheckpoint(path.string(),
                    policy,
                    nlohmann::ordered_json::object(),
                    ReadJson(in, "record of policy " + NamePath(path.string())));
}

} // namespace

PolicyHead
ParseHead(const std::string& name)
{
    std::string names;
    for (const PolicyHead head : POLICY_HEADS)
    {
        if (name == GetPolicyHeadName(head))
        {
            return head;
        }
        names += (names.empty() ? "" : ", ") + std::string(GetPolicyHeadName(head));
    }
    FailInput("network ", Quote(name), ": expected one of ", names);
}

void
BindPolicy(py::module_& module)
{
    std::vector<std::string> heads;
    for (const PolicyHead head : POLICY_HEADS)
    {
        heads.emplace_back(GetPolicyHeadName(head));
    }
    module.attr("HEADS") = py::tuple(py::cast(heads));
    module.attr("HIDDEN") = HIDDEN;
    module.attr("LEAK") = PerceptronWeights::LEAK;
    module.def(
        "features",
        [](const std::string& head) { return GetPolicyFeatures(ParseHead(head)); },
        py::arg("head"),
        "The names of the features that a network of the policies sees, in order.");
    py::class_<PolicyWeights, std::shared_ptr<PolicyWeights>>(
        module,
        "Policy",
        "The weights of the two policies and their critic.")
        .def_static(
            "shipped",
            [] { return ReadCheckpoint(FindShippedCheckpoint()); },
            "The policies that --scheduler=hrl uses.")
        .def_static("load", &Load, py::arg("path"), "Read a checkpoint.")
        .def_static("untrained",
                    &PolicyWeights::MakeInitial,
                    py::arg("seed") = 1,
                    "Random weights, as training from nothing begins with.")
        .def_static("rule_of_thumb",
                    &MakePrior,
                    py::arg("seed") = 1,
                    "Weights that follow the rule of thumb that allreduce-train begins with.")
        .def("get_weights",
             &GetWeights,
             py::arg("head"),
             "A copy of a network's weights: layer after layer, weights by input, then biases.")
        .def("layers",
             &GetLayers,
             py::arg("head"),
             "Copies of a network's three layers: pairs of weights, by input and output, and "
             "biases. "
             "Between them is a leaky ReLU of slope LEAK.")
        .def("set_weights",
             &SetWeights,
             py::arg("head"),
             py::arg("values"),
             "Replace a network's weights by what get_weights would return.")
        .def("score",
             &Score,
             py::arg("head"),
             py::arg("rows"),
             "What a network makes of rows of features.")
        .def("save",
             &Save,
             py::arg("path"),
             py::arg("record") = py::dict(),
             "Write a checkpoint for --scheduler=hrl; record is what is to be known of its "
             "training.");
}

} // namespace ns3::allreduce::python
