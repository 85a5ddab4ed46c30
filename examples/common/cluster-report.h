/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_REPORT_H
#define ALLREDUCE_CLUSTER_REPORT_H

#include "html-report.h"
#include "output-file.h"
#include "result-writer.h"

#include "ns3/gpu-cluster.h"
#include "ns3/trace-import.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// Writes rows of all runs into one file.
class RowFile
{
  public:
    /**
     * @param option who asked for it, as "--series"
     * @param path where it goes
     * @param format how it is written
     * @param columns what it has
     */
    RowFile(const std::string& option,
            const std::string& path,
            ResultWriter::Format format,
            const std::vector<ResultWriter::Column>& columns);

    /// Write a row. @param row the row
    void Add(const nlohmann::ordered_json& row);

    /// All has been written. @throws InputError if it has not
    void Finish();

  private:
    OutputFile m_file;                    //!< the file
    std::optional<ResultWriter> m_writer; //!< writes its rows
};

/// Where results go besides standard output.
struct ClusterOutputs
{
    HtmlReport page;                //!< the page
    std::optional<RowFile> series;  //!< the time series, if they are wanted
    std::optional<RowFile> jobRows; //!< a row for each job, if they are wanted
};

/// What rows are about.
struct ClusterReportOptions
{
    std::vector<std::string> objectives; //!< in the order of rows
    std::vector<std::string> policies;   //!< in the order of rows
    uint32_t nSeeds;                     //!< how many seeds there are
    bool hasMeans;                       //!< rows are means over the seeds
    double playedSeconds;                //!< all slots of a run
    ResultWriter::Format format;         //!< of standard output
};

/// Takes what cases return, in their order, to where it goes.
class ClusterReporter
{
  public:
    /**
     * @param options what rows are about
     * @param outputs where all goes, which must outlive this
     */
    ClusterReporter(const ClusterReportOptions& options, ClusterOutputs& outputs);

    /**
     * Take what a case returned.
     *
     * @param policy who allocated
     * @param played its row, slots, jobs and view
     */
    void Add(const std::string& policy, const nlohmann::ordered_json& played);

    /// @return whether any job of any run has finished
    bool HasFinished() const;

  private:
    void AddRow(const nlohmann::ordered_json& row);

    /// Every policy with all seeds: a row of means each.
    void AddMeans();

    ClusterOutputs& m_outputs;           //!< where slots go
    std::vector<std::string> m_policies; //!< in the order of rows
    uint32_t m_nSeeds;                   //!< how many seeds there are
    bool m_hasMeans;                     //!< rows are means over the seeds
    bool m_hasFinished{false};           //!< some job has
    ResultWriter m_writer;               //!< where rows go
    std::map<std::string, std::vector<nlohmann::ordered_json>> m_runs; //!< of this objective
};

/**
 * Say on standard error what is not in a trace and was assumed, and who can never run.
 *
 * @param trace the trace
 * @param cluster where it is played
 */
void SayAssumptions(const ImportedTrace& trace, const GpuCluster& cluster);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_REPORT_H */
