/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-report.h"

#include "cluster-rows.h"

#include <algorithm>
#include <iostream>
#include <utility>

namespace ns3::allreduce
{

RowFile::RowFile(const std::string& option,
                 const std::string& path,
                 ResultWriter::Format format,
                 const std::vector<ResultWriter::Column>& columns)
    : m_file(option, path),
      m_writer(std::in_place, m_file.Get(), format, columns)
{
}

void
RowFile::Add(const nlohmann::ordered_json& row)
{
    m_writer->Add(row);
}

void
RowFile::Finish()
{
    m_writer.reset(); // JSON ends there.
    m_file.Finish();
}

ClusterReporter::ClusterReporter(const ClusterReportOptions& options, ClusterOutputs& outputs)
    : m_outputs(outputs),
      m_policies(options.policies),
      m_nSeeds(options.nSeeds),
      m_hasMeans(options.hasMeans),
      m_writer(std::cout,
               options.format,
               m_hasMeans ? GetSpreadColumns(options.playedSeconds)
                          : GetTraceColumns(options.nSeeds > 1, options.playedSeconds))
{
    m_writer.MakeRoom("objective", options.objectives);
}

void
ClusterReporter::Add(const std::string& policy, const nlohmann::ordered_json& played)
{
    constexpr std::size_t MOST_ON_PAGE = 1000;
    const auto& slots = played.at("slots");
    const std::size_t stride = slots.size() / MOST_ON_PAGE + 1;
    for (std::size_t i = 0; i < slots.size(); ++i)
    {
        if (m_outputs.series)
        {
            m_outputs.series->Add(slots[i]);
        }
        if (i % stride == 0)
        {
            m_outputs.page.AddClusterSlot(slots[i]);
        }
    }
    m_outputs.page.AddClusterJobs(played.at("view"));
    for (const nlohmann::ordered_json& job : played.at("jobs"))
    {
        m_outputs.jobRows->Add(job);
    }
    m_hasFinished = m_hasFinished || played.at("row").at("finished") > 0;
    if (!m_hasMeans)
    {
        AddRow(played.at("row"));
        return;
    }
    m_runs[policy].push_back(played.at("row"));
    if (policy == m_policies.back() && m_runs[policy].size() == m_nSeeds)
    {
        AddMeans();
    }
}

bool
ClusterReporter::HasFinished() const
{
    return m_hasFinished;
}

void
ClusterReporter::AddRow(const nlohmann::ordered_json& row)
{
    m_writer.Add(row);
    m_outputs.page.AddRow(row);
}

void
ClusterReporter::AddMeans()
{
    const auto gadget = m_runs.find("gadget");
    for (const std::string& policy : m_policies)
    {
        AddRow(MakeSpreadRow(m_runs[policy], gadget == m_runs.end() ? nullptr : &gadget->second));
    }
    m_runs.clear();
}

void
SayAssumptions(const ImportedTrace& trace, const GpuCluster& cluster)
{
    for (const std::string& note : trace.notes)
    {
        std::cerr << "allreduce-cluster: assumed: " << note << std::endl;
    }
    const uint32_t nGpus = cluster.GetNGpus();
    const auto nTooLarge = std::count_if(trace.jobs.begin(), trace.jobs.end(), [&](const Job& job) {
        return job.minWorkers > nGpus;
    });
    if (nTooLarge > 0)
    {
        std::cerr << "allreduce-cluster: " << nTooLarge << " jobs need more than the " << nGpus
                  << " GPUs of the cluster and never run" << std::endl;
    }
}

} // namespace ns3::allreduce
