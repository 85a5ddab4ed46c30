/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-key.h"

#include "ns3/string.h"
#include "ns3/type-id.h"

namespace ns3::allreduce
{

namespace
{

/// @return "Name=value" of every attribute that can be read, also of the types it is derived from
std::vector<std::string>
ListAttributes(const ObjectBase& object)
{
    std::vector<std::string> attributes;
    for (TypeId tid = object.GetInstanceTypeId(); tid.HasParent(); tid = tid.GetParent())
    {
        for (std::size_t i = 0; i < tid.GetAttributeN(); ++i)
        {
            const TypeId::AttributeInformation info = tid.GetAttribute(i);
            StringValue value;
            if (object.GetAttributeFailSafe(info.name, value))
            {
                attributes.push_back(info.name + "=" + value.Get());
            }
        }
    }
    return attributes;
}

} // namespace

bool
operator==(const PlanKey& x, const PlanKey& y)
{
    return x.nServers == y.nServers && x.nSwitches == y.nSwitches && x.links == y.links &&
           x.collective == y.collective && x.attributes == y.attributes;
}

PlanKey
MakePlanKey(const ObjectBase& planner, const AllReduceState& state)
{
    const Topology& topology = state.GetTopology();
    return {topology.GetNServers(),
            topology.GetNSwitches(),
            topology.GetLinks(),
            state.GetCollective(),
            ListAttributes(planner)};
}

} // namespace ns3::allreduce
