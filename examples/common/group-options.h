/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GROUP_OPTIONS_H
#define ALLREDUCE_GROUP_OPTIONS_H

#include "allreduce-program-options.h"

#include "ns3/allreduce-topology.h"
#include "ns3/collective.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @brief The options that say which servers do what.
struct GroupOptions
{
    std::string collective{"allreduce"}; //!< what each group does
    std::string servers;                 //!< one group, as "0-7,12"; empty: all servers
    std::string groups;                  //!< several groups, as "0-7;8-15"
    std::string root;                    //!< of a broadcast or a reduce; empty: a group's first
    std::string relay{"all"};            //!< "all" or "none"

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);

    /**
     * @param topology a network
     * @return the groups; one of all servers if nothing else was asked for
     * @throws InputError that names the option that is not possible
     */
    std::vector<Group> MakeGroups(const Topology& topology) const;

    /**
     * @param topology a network
     * @param chunksPerServer chunks for each server of the largest group
     * @return what is to be summed where
     * @throws InputError that names the option that is not possible
     */
    Collective Make(const Topology& topology, uint32_t chunksPerServer) const;

    /// @return whether something else than an AllReduce of all servers was asked for
    bool AreGiven() const;
};

/**
 * @param text servers, as "0-7,12"
 * @param what names the text in messages
 * @param nServers how many servers there are
 * @return the servers, in the order of the text
 * @throws InputError if it is not understood
 */
std::vector<NodeId> ParseServers(const std::string& text,
                                 const std::string& what,
                                 uint32_t nServers);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GROUP_OPTIONS_H */
