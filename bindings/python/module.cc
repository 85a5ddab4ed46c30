/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bindings.h"

PYBIND11_MODULE(_allreduce_env, module)
{
    using namespace ns3::allreduce::python;
    module.doc() = "The C++ part of allreduce_env.";
    BindErrors(module);
    BindTopology(module);
    BindSchedule(module);
    BindPolicy(module);
    BindPlanning(module);
    BindEnvironments(module);
}
