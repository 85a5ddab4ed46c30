/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PYTHON_SCHEDULE_OBJECT_H
#define ALLREDUCE_PYTHON_SCHEDULE_OBJECT_H

#include "bindings.h"

#include "ns3/allreduce-schedule.h"

namespace ns3::allreduce::python
{

/// What Python calls a Schedule: a plan and the network that it is for.
struct ScheduleObject
{
    TopologyPointer topology;   //!< the network
    AllReduceSchedule schedule; //!< the plan
};

} // namespace ns3::allreduce::python

#endif /* ALLREDUCE_PYTHON_SCHEDULE_OBJECT_H */
