/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_OPTIONS_H
#define ALLREDUCE_CLUSTER_OPTIONS_H

#include "allreduce-program-options.h"
#include "topology-options.h"

#include "ns3/gpu-cluster.h"
#include "ns3/trace-import.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief The options that say which cluster, which jobs, which policies and which objectives.
 */
struct ClusterOptions
{
    TopologyOptions topologies;                          //!< the network; one only
    std::vector<std::string> gpus{"4", "8", "16", "32"}; //!< numbers that servers can have
    std::string jobs;                                    //!< a trace; empty: jobs are generated
    uint32_t generate{160};                              //!< how many
    std::string arrivalRate{"1"};                        //!< of generated jobs, a slot
    std::string arrivalSpeed{"1"};                       //!< of jobs of a public trace
    std::string gang{"rigid"};                           //!< rigid or elastic
    std::string jobBandwidth{"5Gbps"};                   //!< what rings of a public trace reserve
    std::string traceModel{"resnet-50"};                 //!< for traces that name none
    std::vector<std::string> policies;   //!< as CreateClusterPolicy takes them, or all
    std::vector<std::string> objectives; //!< as ParseUtility takes them
    std::string slots{"1200"};           //!< number of slots, or auto
    std::string slotTime{"60s"};         //!< how long a slot is
    std::string collectiveTime{"ring"};  //!< ring, plan or plan:SCHEDULER
    std::string moveCost{"0s"};          //!< what a job that moves loses
    std::string reduceRate{"80Gbps"};    //!< how fast a worker adds up gradients
    std::string reservable{"1"};         //!< share of a link that can be reserved
    std::string contention{"0.1"};       //!< alpha of the contention model
    uint64_t seed{1};                    //!< random seed

    ClusterOptions();

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);

    /**
     * Refuse what is not possible, or has no effect.
     *
     * @param options the program's, parsed
     * @throws InputError that names the option
     */
    void Check(const ProgramOptions& options) const;

    /**
     * @param ownSeed the seed to use instead of the option's
     * @return the cluster
     * @throws InputError that names what is not possible
     */
    GpuCluster MakeCluster(uint64_t ownSeed) const;

    /**
     * @param ownSeed the seed to use instead of the option's
     * @return the jobs of the trace, or generated ones, and what was assumed of them
     * @throws InputError that names what is not possible
     */
    ImportedTrace MakeJobs(uint64_t ownSeed) const;

    /**
     * @param cluster by MakeCluster
     * @param trace by MakeJobs
     * @return the number of slots
     * @throws InputError that names what is not possible
     */
    uint32_t CountSlots(const GpuCluster& cluster, const ImportedTrace& trace) const;

    /// @return the names of the policies, all that there are in the place of "all"
    std::vector<std::string> ExpandPolicies() const;
};

/**
 * A cluster on which nobody fits and a slot in which nobody finishes an iteration are mistakes.
 *
 * @param cluster the cluster
 * @param jobs its jobs
 * @param slotTime --slot-time, for messages
 * @throws InputError if it is one
 */
void CheckJobsCanRun(const GpuCluster& cluster,
                     const std::vector<Job>& jobs,
                     const std::string& slotTime);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_OPTIONS_H */
