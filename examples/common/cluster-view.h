/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_VIEW_H
#define ALLREDUCE_CLUSTER_VIEW_H

#include "ns3/cluster-metrics.h"
#include "ns3/job-history.h"

#include <nlohmann/json_fwd.hpp>

namespace ns3::allreduce
{

/**
 * What the page of --report draws of a trace's jobs: how many were completed after how long, and
 * who ran when on which server. Of large traces the first servers and the first that ran there.
 *
 * @param view says whose trace it is
 * @param cluster where it was played
 * @param result what came out
 * @param history who ran when and where
 * @return the same with what is drawn
 */
nlohmann::ordered_json MakeClusterView(nlohmann::ordered_json view,
                                       const GpuCluster& cluster,
                                       const ClusterResult& result,
                                       const JobHistory& history);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_VIEW_H */
