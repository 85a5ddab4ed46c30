/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_EXPERIMENT_H
#define ALLREDUCE_EXPERIMENT_H

#include "link-faults.h"
#include "session-recorder.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-session.h"
#include "ns3/allreduce-topology.h"
#include "ns3/collective.h"
#include "ns3/nstime.h"
#include "ns3/queue-size.h"
#include "ns3/rate-change.h"
#include "ns3/verified-plan.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

class TopologyHelper;
struct ChakraWorkload;

/// @ingroup allreduce
/// What a result is about: which collective, of how many groups of how many servers.
struct GroupShape
{
    std::string collective{"allreduce"}; //!< its name; "other" if it is none of the known ones
    uint32_t nGroups{1};                 //!< how many do it at once
    uint32_t nServers{0};                //!< of the largest group

    /// @return bus bandwidth for each algorithm bandwidth, as NCCL's tests define it; 0: not known
    double GetBusFactor() const;
};

/**
 * @ingroup allreduce
 *
 * @param groups the groups
 * @return their shape
 */
GroupShape GetShape(const std::vector<Group>& groups);

/**
 * @ingroup allreduce
 *
 * @param collective of a schedule file
 * @param topology its network
 * @return its shape, as far as it can be told
 */
GroupShape GetShape(const Collective& collective, const Topology& topology);

/// @ingroup allreduce
/// What is to be run.
struct Experiment
{
    Topology topology;                 //!< the actual network, which is simulated
    std::string schedulerName;         //!< who plans
    Ptr<AllReduceScheduler> scheduler; //!< the same, or who plans what is left after a failure
    VerifiedPlan plan;                 //!< what it planned
    uint64_t bytes;                    //!< size of the gradient of a group, or of the largest
    /// What servers do in a training iteration, one for each or one for all; nullptr: AllReduces
    /// one after another, as the settings say.
    std::shared_ptr<const std::vector<ChakraWorkload>> training{};
    GroupShape shape{}; //!< which collective of how many groups
    /// The announced network, for which is planned and predicted; none: it is the actual one.
    std::optional<Topology> announced{};
    /// By the flow-level model, for the announced network; none: nobody has asked for it yet.
    std::optional<double> predictedSeconds{};

    /// @return the network that the planner was told of
    const Topology& GetAnnounced() const
    {
        return announced ? *announced : topology;
    }
};

/// @ingroup allreduce
/// How an experiment is run packet by packet. Of experiments that share a network the first one's
/// settings say how that is built, what goes wrong there, and who is told of it.
struct ExperimentSettings
{
    std::string transport{"tcp"};                               //!< as CreateTransport takes it
    AllReduceSession::Sync sync{AllReduceSession::BARRIER};     //!< what rounds mean
    AllReduceSession::Control control{AllReduceSession::IDEAL}; //!< how servers agree
    /// What the session does if the network is not what was announced.
    AllReduceSession::Adaptation adapt{AllReduceSession::NO_ADAPTATION};
    uint32_t frame{9000};     //!< MTU of the devices
    Time start;               //!< when the first AllReduce begins
    uint32_t iterations{1};   //!< AllReduces one after another
    Time computeTime;         //!< between them
    Time watchdog;            //!< see the session's attribute Watchdog
    bool verifyData{false};   //!< carry real numbers, add and compare them
    bool recordsFlows{false}; //!< fill in the SessionRecord of the result

    std::optional<QueueSize> queue;      //!< of a device; none: what follows from rates and delays
    bool isLight{true};                  //!< see TopologyHelper::SetLight
    bool isOrdered{false};               //!< see TopologyHelper::SetArrivalOrder
    double background{0};                //!< share of the ports' rate that other traffic uses
    std::vector<LinkFault> faults;       //!< links that break
    uint32_t nRandomFaults{0};           //!< links that break at random until the predicted end
    uint64_t faultSeed{1};               //!< the random seed of these
    std::vector<RateChange> rateChanges; //!< links that become slower, and recover
    std::optional<BurstModel> bursts;    //!< other traffic that comes and goes
    /// Servers that are ready later than the others; of each experiment its own. Without
    /// adaptation Live all wait for them.
    std::vector<LateServer> lateServers;
    uint32_t nRanks{1};              //!< processes that simulate together
    std::vector<uint32_t> partition; //!< by node: its process; empty: so that they wait little

    /// Told of the network when it has been built, for traces; what it returns lives as long as the
    /// simulation.
    std::function<std::shared_ptr<void>(TopologyHelper&)> prepare;
    std::function<void()> simulate; //!< runs the simulator; empty: Simulator::Run
    /// Told what is being done and how much of it is, 0 to 1.
    std::function<void(const std::string&, double)> progress;
};

/// @ingroup allreduce
/// How one direction of a link was used.
struct LinkUse
{
    DirectedLinkId link{0}; //!< the directed link
    uint64_t bytes{0};      //!< that went over it
    double utilization{0};  //!< their share of what it could have carried
    uint32_t queuePeak{0};  //!< most packets in its queue
    uint64_t nDropped{0};   //!< packets that found the queue full
};

/// @ingroup allreduce
/// An AllReduce of a training iteration; times in seconds from its beginning.
struct CollectiveSpan
{
    double ready{0};     //!< when all servers had done what it waited for
    double begin{0};     //!< when it began
    double end{0};       //!< when it was over
    double ideal{0};     //!< how long it takes at least
    double predicted{0}; //!< how long the flow-level model says it takes
};

/// @ingroup allreduce
/// What came out of an experiment; SessionRecord is filled in if flows were to be recorded.
struct ExperimentResult : SessionRecord
{
    std::string failure;    //!< why it failed; "" if it did not
    double idealSeconds{0}; //!< of the actual network at first; the mean if there are several sizes
    double idealBandwidthSeconds{0};  //!< what links need to carry the data; of one size of data
    double idealLatencySeconds{0};    //!< what one server's data needs; the larger one is the ideal
    std::string bottleneck;           //!< what decides that
    double knownIdealSeconds{0};      //!< if all that the network does is known; 0: it does nothing
    std::string knownBottleneck;      //!< what decides that, or why it would take for ever
    std::string downLinks;            //!< links that are down in the end, as "0-16,1-17"
    double predictedSeconds{0};       //!< by the flow-level model, for the announced network
    double endSeconds{0};             //!< simulated time when the simulation ended, well or not
    double doneSeconds{0};            //!< when these AllReduces were over, others perhaps not
    double measuredSeconds{0};        //!< mean of the AllReduces
    uint64_t boundRounds{0};          //!< no schedule takes fewer
    uint32_t rounds{0};               //!< of the last AllReduce
    std::vector<double> roundSeconds; //!< how long they took
    bool isVerified{false};           //!< the plan and every remainder were proven
    uint32_t nReplans{0};             //!< how often what was left was planned anew
    std::string replannedBy;          //!< who did that, several names joined with ","
    uint32_t nLateFaults{0};          //!< links that were to break, or slow down, after the end
    uint32_t nAborted{0};             //!< flows cut by a broken link, or given up
    uint64_t bytesGivenUp{0};         //!< that had arrived of flows that were given up
    std::vector<BeliefChange> beliefs; //!< how what was believed of links changed
    uint64_t nMessages{0};             //!< grants, tokens and releases
    bool countsResent{false};          //!< whether the transport counts what it sends again
    uint64_t nResent{0};               //!< packets sent again
    uint64_t nDropped{0};              //!< packets that found a queue full
    std::vector<LinkUse> links;        //!< by directed link
    double wallSeconds{0};             //!< how long the simulation took
    uint64_t nEvents{0};               //!< events that it took
    uint32_t nRanks{1};                //!< processes that simulated it; rank 0 knows the result
    double waitShare{0};               //!< of their time in which they waited for each other
    double iterationSeconds{0};        //!< of a training iteration: all of it

    std::vector<CollectiveSpan> collectives; //!< of a training iteration, as far as it came
};

/// @ingroup allreduce
/// One of several experiments that share a network.
struct SharedExperiment
{
    Experiment experiment;       //!< what is to be run
    ExperimentSettings settings; //!< how
};

/**
 * @ingroup allreduce
 *
 * Plan an AllReduce of all servers, with the number of chunks that is predicted to be fastest.
 *
 * @param topology the network
 * @param scheduler name of the scheduler, as CreateScheduler takes it
 * @param bytes size of the gradient
 * @param settings how it will be run
 * @return what is to be run
 * @throws InputError if that is not possible
 */
Experiment PlanExperiment(const Topology& topology,
                          const std::string& scheduler,
                          uint64_t bytes,
                          const ExperimentSettings& settings);

/**
 * @ingroup allreduce
 *
 * Build a network, run AllReduces on it packet by packet, and measure. Uses and destroys the
 * simulator.
 *
 * @param experiment what is to be run
 * @param settings how
 * @return what came out
 * @throws InputError if that is not possible
 */
ExperimentResult RunExperiment(const Experiment& experiment, const ExperimentSettings& settings);

/**
 * @ingroup allreduce
 *
 * Run several experiments at once on one network.
 *
 * @param experiments one or more on the same network, in one process
 * @return what came out of each; late faults are told once
 * @throws InputError if that is not possible
 */
std::vector<ExperimentResult> RunExperiments(const std::vector<SharedExperiment>& experiments);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_EXPERIMENT_H */
