/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_ROWS_H
#define ALLREDUCE_CLUSTER_ROWS_H

#include "result-writer.h"
#include "ring-experiment.h"

#include "ns3/cluster-simulation.h"
#include "ns3/guarantee-check.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// One trace under one policy.
struct TraceRun
{
    std::string objective; //!< what progress is worth
    std::string policy;    //!< who allocates
    uint64_t seed;         //!< of cluster and jobs
    ClusterResult result;  //!< what came out
    double wallSeconds;    //!< how long it took
};

/**
 * @param cluster where it was played
 * @param run a run
 * @return its row
 */
nlohmann::ordered_json MakeTraceRow(const GpuCluster& cluster, const TraceRun& run);

/**
 * @param hasSeed whether seeds differ
 * @param playedSeconds all slots; tables have days if these are ten days or more
 * @return the columns of MakeTraceRow that people look at
 */
std::vector<ResultWriter::Column> GetTraceColumns(bool hasSeed, double playedSeconds);

/**
 * @param runs rows by MakeTraceRow: those of a policy with all seeds
 * @param gadget those of GADGET, to compare with; nullptr if there are none
 * @return one row for all
 */
nlohmann::ordered_json MakeSpreadRow(const std::vector<nlohmann::ordered_json>& runs,
                                     const std::vector<nlohmann::ordered_json>* gadget);

/// @return the columns of MakeSpreadRow that people look at
std::vector<ResultWriter::Column> GetSpreadColumns(double playedSeconds);

/**
 * @param row says whose slot it is
 * @param report what happened in it
 * @return a line of a time series
 */
nlohmann::ordered_json MakeSlotRow(nlohmann::ordered_json row, const SlotReport& report);

/// @return the columns of a time series
std::vector<ResultWriter::Column> GetSlotColumns();

/**
 * @param policy who placed the ring
 * @param ring what was measured in ns-3
 * @param name of its job
 * @return its row
 */
nlohmann::ordered_json MakeRingRow(const std::string& policy,
                                   const RingMeasurement& ring,
                                   const std::string& name);

/// @return the columns of MakeRingRow that people look at
std::vector<ResultWriter::Column> GetRingColumns();

/**
 * @param report how GADGET compares with the offline optimum
 * @return its row
 */
nlohmann::ordered_json MakeGuaranteeRow(const GuaranteeReport& report);

/// @return the columns of MakeGuaranteeRow
std::vector<ResultWriter::Column> GetGuaranteeColumns();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_ROWS_H */
