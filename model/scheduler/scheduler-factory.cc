/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "scheduler-factory.h"

#include "ns3/abort.h"
#include "ns3/allreduce-error.h"
#include "ns3/boolean.h"
#include "ns3/object-factory.h"
#include "ns3/string.h"

#include <algorithm>
#include <set>

namespace ns3::allreduce
{

namespace
{

/// What a short name stands for.
struct ShortName
{
    const char* name;      //!< the short name
    const char* typeId;    //!< the scheduler
    const char* attribute; //!< an attribute that is set, or ""
};

const ShortName SHORT_NAMES[] = {
    {"ps", "ns3::allreduce::ParameterServerScheduler", ""},
    {"ps-merge", "ns3::allreduce::ParameterServerScheduler", "Merge"},
    {"ring", "ns3::allreduce::RingScheduler", ""},
    {"ring-aware", "ns3::allreduce::RingScheduler", "TopologyAware"},
    {"multi-ring", "ns3::allreduce::MultiRingScheduler", ""},
    {"hierarchical", "ns3::allreduce::HierarchicalScheduler", ""},
    {"halving-doubling", "ns3::allreduce::HalvingDoublingScheduler", ""},
    {"double-tree", "ns3::allreduce::DoubleTreeScheduler", ""},
    {"forest", "ns3::allreduce::ForestScheduler", ""},
    {"greedy", "ns3::allreduce::GreedyScheduler", ""},
    {"hrl", "ns3::allreduce::HrlScheduler", ""},
    {"live", "ns3::allreduce::LiveScheduler", ""},
};

/// @return the short names given by RegisterScheduler; a function, as they are given before main
std::set<std::string>&
GetRegisteredNames()
{
    static std::set<std::string> names;
    return names;
}

/// @return whether there is a scheduler type of this name
bool
FindType(const std::string& name, TypeId& tid)
{
    return TypeId::LookupByNameFailSafe(name, &tid) &&
           tid.IsChildOf(AllReduceScheduler::GetTypeId()) && tid.HasConstructor();
}

std::string
JoinNames()
{
    std::string text;
    for (const std::string& name : GetSchedulerNames())
    {
        text += name + ", ";
    }
    return text;
}

} // namespace

std::vector<std::string>
GetSchedulerNames()
{
    std::vector<std::string> names;
    TypeId tid;
    for (const ShortName& entry : SHORT_NAMES)
    {
        if (FindType(entry.typeId, tid))
        {
            names.emplace_back(entry.name);
        }
    }
    const std::set<std::string>& registered = GetRegisteredNames();
    names.insert(names.end(), registered.begin(), registered.end());
    return names;
}

Ptr<AllReduceScheduler>
CreateScheduler(const std::string& name)
{
    const auto entry = std::find_if(std::begin(SHORT_NAMES),
                                    std::end(SHORT_NAMES),
                                    [&](const ShortName& e) { return name == e.name; });
    const bool isShort = entry != std::end(SHORT_NAMES);
    TypeId tid;
    if (!FindType(isShort ? entry->typeId : name, tid))
    {
        FailInput("scheduler ",
                  Quote(name),
                  ": expected ",
                  JoinNames(),
                  "or the TypeId name of an AllReduceScheduler");
    }
    ObjectFactory factory;
    factory.SetTypeId(tid);
    if (isShort && *entry->attribute != '\0')
    {
        factory.Set(entry->attribute, StringValue("true"));
    }
    return factory.Create<AllReduceScheduler>();
}

std::string
GetSchedulerName(const AllReduceScheduler& scheduler)
{
    std::string name = scheduler.GetInstanceTypeId().GetName();
    const std::string typeId = name;
    for (const ShortName& entry : SHORT_NAMES)
    {
        BooleanValue isSet(true);
        const bool isMeant =
            *entry.attribute == '\0' ||
            (scheduler.GetAttributeFailSafe(entry.attribute, isSet) && isSet.Get());
        if (typeId == entry.typeId && isMeant)
        {
            name = entry.name; // One with an attribute comes after the one without.
        }
    }
    return name;
}

TypeId
MakeSchedulerType(const std::string& name, TypeId parent)
{
    const auto hasName = [&](const ShortName& entry) { return name == entry.name; };
    TypeId other;
    NS_ABORT_MSG_IF(std::any_of(std::begin(SHORT_NAMES), std::end(SHORT_NAMES), hasName) ||
                        TypeId::LookupByNameFailSafe(name, &other),
                    "RegisterScheduler: the name \"" << name << "\" is taken");
    if (name.find("::") == std::string::npos)
    {
        GetRegisteredNames().insert(name);
    }
    return TypeId(name.c_str()).SetParent(parent).SetGroupName("AllReduce");
}

} // namespace ns3::allreduce
