/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-experiment.h"

#include "output-file.h"
#include "progress-line.h"

#include "ns3/chunk-choice.h"
#include "ns3/flow-monitor-helper.h"
#include "ns3/simulator.h"

#include <optional>

namespace ns3::allreduce
{

namespace
{

/// Run the simulator with FlowMonitor, which writes its XML to a file.
void
SimulateWithFlowMonitor(OutputFile& file)
{
    FlowMonitorHelper flowMonitor;
    flowMonitor.InstallAll();
    Simulator::Run();
    flowMonitor.SerializeToXmlStream(file.Get(), 0, false, false);
    file.Finish();
}

} // namespace

void
CheckNetwork(const Topology& topology, const PlanOptions& plan, const RunOptions& run)
{
    run.CheckFor(topology);
    MakeCollective(topology, plan);
}

Experiment
PlanExperiment(const Topology& topology,
               const std::string& schedulerName,
               uint64_t bytes,
               const PlanOptions& plan,
               const RunOptions& run)
{
    const Topology announced = run.MakeAnnounced(topology);
    std::optional<ProgressLine> line; // one for each plan, as nobody knows how many there will be
    const auto makeScheduler = [&] {
        line.emplace("planning " + announced.GetName() + " " + schedulerName, run.showProgress);
        return MakeScheduler(schedulerName, plan);
    };
    const PlanningProgress progress(
        [&](const std::string& what, double share) { line->Show(what, share); });
    const GroupShape shape = GetShape(plan.groups.MakeGroups(announced));
    const auto makeExperiment = [&](Ptr<AllReduceScheduler> scheduler, VerifiedPlan made) {
        Experiment experiment{run.MakeActual(topology), schedulerName, scheduler, made, bytes};
        experiment.shape = shape;
        if (run.faults.HidesRates())
        {
            experiment.announced = announced;
        }
        return experiment;
    };
    if (ChoosesByBytes(announced, plan))
    {
        const auto makeCollective = [&](uint32_t m) { return plan.groups.Make(announced, m); };
        const ChunkChoice choice =
            ChooseChunks(announced,
                         makeCollective,
                         makeScheduler,
                         *CreateTransport(run.transport),
                         run.frame,
                         bytes * shape.nGroups,
                         {run.GetSync() == AllReduceSession::BARRIER,
                          run.GetAdaptation() != AllReduceSession::NO_ADAPTATION},
                         progress);
        Experiment experiment = makeExperiment(choice.scheduler, choice.plan);
        experiment.predictedSeconds = choice.predictedSeconds;
        return experiment;
    }
    const Ptr<AllReduceScheduler> scheduler = makeScheduler();
    return makeExperiment(
        scheduler,
        PlanVerified(announced, MakeCollective(announced, plan), *scheduler, progress));
}

ExperimentResult
RunExperiment(const Experiment& experiment, const RunOptions& options)
{
    options.Check();
    const std::string task = experiment.topology.GetName() + " " + experiment.schedulerName;
    return RunExperiments({{experiment, options.MakeSettings(experiment.topology)}}, options, task)
        .front();
}

std::vector<ExperimentResult>
RunExperiments(std::vector<SharedExperiment> experiments,
               const RunOptions& options,
               const std::string& task)
{
    ProgressLine line(task, options.showProgress);
    ExperimentSettings& settings = experiments.front().settings;
    settings.progress = [&](const std::string& what, double share) { line.Show(what, share); };
    std::optional<OutputFile> flows;
    if (!options.flowMonitor.empty())
    {
        flows.emplace("--flow-monitor", options.flowMonitor);
        settings.simulate = [&] { SimulateWithFlowMonitor(*flows); };
    }
    return RunExperiments(experiments);
}

} // namespace ns3::allreduce
