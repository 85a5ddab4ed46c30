/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_OPTIONS_H
#define ALLREDUCE_PLAN_OPTIONS_H

#include "allreduce-program-options.h"
#include "group-options.h"
#include "topology-options.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief The options that all programs share: which networks, which schedulers, how to write.
 */
struct PlanOptions
{
    TopologyOptions topologies;          //!< which networks
    GroupOptions groups;                 //!< which servers do what
    std::vector<std::string> schedulers; //!< as CreateScheduler takes them, or "all"
    std::string chunksPerServer{"auto"}; //!< a number, "ports", "auto" or "ports-or-auto"
    uint32_t samples{1};                 //!< plans to choose the best of
    bool online{false};                  //!< rounds are chosen one by one
    uint64_t seed{1};                    //!< random seed
    std::string format{"table"};         //!< table, json, csv or gnuplot

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);
};

/**
 * @param options what was asked for
 * @return the names of the schedulers, all that there are in the place of "all"
 */
std::vector<std::string> ExpandSchedulers(const PlanOptions& options);

/**
 * Refuse names of schedulers before anything is planned.
 *
 * @param options what was asked for
 * @throws InputError that names the first one that there is not
 */
void CheckSchedulers(const PlanOptions& options);

/**
 * Refuse options that say how to plan where nothing is planned.
 *
 * @param parser the program's options
 * @param name the option that brings a plan
 * @throws InputError that names both
 */
void ExcludePlanning(const ProgramOptions& parser, const std::string& name);

/**
 * @param topology a network
 * @param options what was asked for
 * @return whether a run has as many chunks as are predicted to be fastest for its bytes: with
 * "auto", and where links are of mixed speed with "ports-or-auto"
 */
bool ChoosesByBytes(const Topology& topology, const PlanOptions& options);

/**
 * @param topology a network
 * @param options what was asked for
 * @return what is to be summed where; "ports" and, where the bytes are not known, "auto" are as
 * many chunks per server as a server has ports in the mean, rounded
 */
Collective MakeCollective(const Topology& topology, const PlanOptions& options);

/**
 * @param name of the scheduler
 * @param options seed and samples, as far as the scheduler knows them
 * @return the scheduler
 * @throws InputError if there is none of this name
 */
Ptr<AllReduceScheduler> MakeScheduler(const std::string& name, const PlanOptions& options);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_OPTIONS_H */
