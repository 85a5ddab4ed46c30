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
    std::vector<std::string> slow; //!< A-B:FACTOR
    std::string background{"0"};   //!< share of the ports' rate

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);

    /**
     * @param topology a network as it is announced
     * @return the actual one: the same with slow links
     * @throws InputError that names the option
     */
    Topology ApplySlow(const Topology& topology) const;

    /**
     * @param topology a network
     * @param settings get the links that break there
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
