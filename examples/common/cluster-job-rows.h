/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_JOB_ROWS_H
#define ALLREDUCE_CLUSTER_JOB_ROWS_H

#include "result-writer.h"

#include "ns3/cluster-metrics.h"
#include "ns3/job-history.h"

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace ns3::allreduce
{

/**
 * @param head says whose trace it is
 * @param cluster where it was played
 * @param result what came out
 * @param history who ran when and where
 * @return a row for each job
 */
nlohmann::ordered_json MakeClusterJobRows(const nlohmann::ordered_json& head,
                                          const GpuCluster& cluster,
                                          const ClusterResult& result,
                                          const JobHistory& history);

/// @return the columns of MakeClusterJobRows
std::vector<ResultWriter::Column> GetClusterJobColumns();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_JOB_ROWS_H */
