/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FAULT_OPTIONS_H
#define ALLREDUCE_FAULT_OPTIONS_H

#include "allreduce-program-options.h"

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-topology.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// A link that breaks during a run, and perhaps is mended.
struct LinkFault
{
    LinkId link{0};         //!< the link
    Time down;              //!< when it breaks
    std::optional<Time> up; //!< when it is mended, if it is
};

/**
 * Let links break and be mended during the simulation.
 *
 * @param network the network
 * @param faults which links, and when
 */
void ScheduleFaults(Ptr<AllReduceNetwork> network, const std::vector<LinkFault>& faults);

/**
 * @param faults links that were to break
 * @return how many of them were to break after now
 */
uint32_t CountLateFaults(const std::vector<LinkFault>& faults);

/**
 * Draw links that break at times from 0 to a horizon. About every second one is mended after at
 * most half as long.
 *
 * @param topology the network
 * @param count how many links; at most all of them
 * @param seed where chance comes from
 * @param horizon before this time they break
 * @return the faults
 */
std::vector<LinkFault> DrawFaults(const Topology& topology,
                                  uint32_t count,
                                  uint64_t seed,
                                  Time horizon);

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
     * @param horizon about how long the run takes
     * @return the links that break
     * @throws InputError that names the option
     */
    std::vector<LinkFault> MakeFaults(const Topology& topology, Time horizon) const;

    /**
     * @return the share of the ports' rate that background traffic uses
     * @throws InputError that names the option
     */
    double GetBackground() const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FAULT_OPTIONS_H */
