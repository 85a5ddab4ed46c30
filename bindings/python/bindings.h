/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PYTHON_BINDINGS_H
#define ALLREDUCE_PYTHON_BINDINGS_H

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-topology.h"
#include "ns3/policy-features.h"

#include <cstdint>
#include <memory>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

namespace ns3::allreduce::python
{

namespace py = pybind11;

/// Networks are shared: Python may drop its own while something on it is still in use. They do not
/// change once they are made.
using TopologyPointer = std::shared_ptr<Topology>;

/// Python's exception for InputError. @param module where it is defined
void BindErrors(py::module_& module);
/// Topology. @param module where it is defined
void BindTopology(py::module_& module);
/// Schedule, verification and bounds. @param module where they are defined
void BindSchedule(py::module_& module);
/// Policy: the weights of the two policies. @param module where it is defined
void BindPolicy(py::module_& module);
/// Planning with schedulers. @param module where it is defined
void BindPlanning(py::module_& module);
/// Task and Environments. @param module where they are defined
void BindEnvironments(py::module_& module);

/**
 * @param topology a network
 * @param chunksPerServer chunks that each server is the root of; 0: as many as a server has ports
 * @return the root of each chunk
 * @throws InputError if these are too many
 */
std::vector<NodeId> MakeRootsOf(const Topology& topology, uint64_t chunksPerServer);

/**
 * @param name "port", "sender", "item", "tree" or "value"
 * @return the network of this name
 * @throws InputError that says which names there are
 */
PolicyHead ParseHead(const std::string& name);

/**
 * Give Python an array whose memory belongs to a C++ object, which lives as long as the array.
 *
 * @tparam T what is in it
 * @param data the first element
 * @param shape its shape
 * @param owner the Python object of the owner
 * @return the array
 */
template <typename T>
py::array_t<T>
ShareArray(T* data, std::vector<py::ssize_t> shape, const py::object& owner)
{
    return py::array_t<T>(std::move(shape), data, owner);
}

} // namespace ns3::allreduce::python

#endif /* ALLREDUCE_PYTHON_BINDINGS_H */
