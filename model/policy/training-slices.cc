/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-slices.h"

#include "ns3/allreduce-error.h"
#include "ns3/parallel-for.h"

#include <algorithm>
#include <string>

namespace ns3::allreduce
{

void
CheckTrainingSize(const TrainingConfig& config, uint32_t nProcesses)
{
    const uint64_t nRollouts = uint64_t{config.problems} * config.rollouts;
    if (nProcesses > std::min<uint64_t>(config.slices, nRollouts))
    {
        FailInput("training in ",
                  nProcesses,
                  " processes: the configuration has ",
                  config.slices,
                  " slices and ",
                  nRollouts,
                  " rollouts in an iteration, expected as many processes at most");
    }
}

TrainingSlices::TrainingSlices(const TrainingConfig& config,
                               std::shared_ptr<const TrainingGroup> group)
    : m_group(group ? std::move(group) : std::make_shared<TrainingGroup>()),
      m_count(std::min(config.slices, config.problems * config.rollouts))
{
    CheckTrainingSize(config, m_group->GetSize());
}

std::vector<TrainingProblem>
TrainingSlices::DrawProblems(const TrainingConfig& config, uint32_t iteration) const
{
    std::vector<TrainingProblem> problems(config.problems);
    std::vector<std::string> texts(config.problems);
    const auto draw = [&](uint32_t i) {
        if (m_group->IsOwn(i))
        {
            problems[i] = DrawTrainingProblem(config, MakeTrainingSeed(config.seed, iteration, i));
            texts[i] = m_group->GetSize() > 1 ? WriteTrainingProblem(problems[i]) : "";
        }
    };
    RunParallel(config.problems, draw, m_group->GetNThreads());
    m_group->Gather(texts);
    const auto read = [&](uint32_t i) {
        if (!m_group->IsOwn(i))
        {
            const uint64_t seed = MakeTrainingSeed(config.seed, iteration, i);
            problems[i] = ReadTrainingProblem(config, seed, texts[i]);
        }
    };
    RunParallel(config.problems, read, m_group->GetNThreads());
    return problems;
}

void
TrainingSlices::ForOwn(const std::function<void(uint32_t slice)>& task) const
{
    const auto doOwn = [&](uint32_t slice) {
        if (m_group->IsOwn(slice))
        {
            task(slice);
        }
    };
    RunParallel(m_count, doOwn, m_group->GetNThreads());
}

std::vector<double>
TrainingSlices::Sum(std::size_t width, const RowTask& task) const
{
    std::vector<double> rows(m_count * width, 0);
    ForOwn([&](uint32_t slice) { task(slice, rows.data() + slice * width); });
    m_group->Gather(rows, m_count);
    std::vector<double> sums(width, 0);
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
        sums[i % width] += rows[i];
    }
    return sums;
}

} // namespace ns3::allreduce
