/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULE_PLAYER_H
#define ALLREDUCE_SCHEDULE_PLAYER_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace ns3::allreduce
{

/// What became of a workload.
enum Fate : uint8_t
{
    UNBEGUN,
    ARRIVED,
    ABORTED,
    UNFINISHED
};

/// @return the name of a fate in a view
const char* NameFate(Fate fate);

/// By round and position in it; empty: all have arrived.
using Fates = std::vector<std::vector<Fate>>;

/**
 * Play rounds and note what is seen of them, step by step. What did not arrive is listed and
 * counted, but uses no links and changes nothing at the servers.
 *
 * @param topology the network
 * @param collective what is to be summed where
 * @param rounds what is played
 * @param fates what became of it
 * @return the view, without who made the schedule
 */
nlohmann::ordered_json PlayRounds(const Topology& topology,
                                  const Collective& collective,
                                  RoundRange rounds,
                                  Fates fates = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULE_PLAYER_H */
