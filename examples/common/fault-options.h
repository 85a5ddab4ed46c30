/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FAULT_OPTIONS_H
#define ALLREDUCE_FAULT_OPTIONS_H

#include "allreduce-program-options.h"

#include "ns3/allreduce-experiment.h"
#include "ns3/allreduce-topology.h"

#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief The options that make a network worse than it looks.
 */
struct FaultOptions
{
    std::vector<std::string> fail; //!< A-B\@TIME[,UP_TIME]
    std::string failRandom;        //!< COUNT,SEED or empty
    std::vector<std::string> slow; //!< A-B:FACTOR[\@TIME[,UP_TIME]]
    bool known{false};             //!< planners are told of links that are slow all the time
    std::vector<std::string> late; //!< SERVER:TIME
    std::string bursts;            //!< SHARE,LOAD,ON,OFF,SEED or empty
    std::string background{"0"};   //!< share of the ports' rate

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);

    /**
     * @param topology a network as it is announced
     * @return the actual one: the same with links that are slow all the time; if planners know,
     * with the capacities of these rates, too
     * @throws InputError that names the option
     */
    Topology ApplySlow(const Topology& topology) const;

    /// @return whether links are slow all the time, and planners do not know
    bool HidesRates() const;

    /// @return whether links are slow for a time
    bool ChangesRates() const;

    /// @return of the links that are slow those of which planners do not know
    std::vector<std::string> GetUnknownSlow() const;

    /**
     * Refuse what has no effect on any network.
     *
     * @throws InputError that names the option
     */
    void Check() const;

    /**
     * @param topology the actual network
     * @param settings get what happens there: links that break or are slow for a time, bursts and
     *        late servers
     * @throws InputError that names the option
     */
    void SetFaults(const Topology& topology, ExperimentSettings& settings) const;

    /**
     * @return the share of the ports' rate that background traffic uses
     * @throws InputError that names the option
     */
    double GetBackground() const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FAULT_OPTIONS_H */
