/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RUN_EXPERIMENT_H
#define ALLREDUCE_RUN_EXPERIMENT_H

#include "plan-options.h"
#include "run-options.h"

#include "ns3/allreduce-application.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-topology.h"
#include "ns3/chakra-workload.h"
#include "ns3/ideal-time.h"
#include "ns3/nstime.h"
#include "ns3/verified-plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// What is to be run.
struct Experiment
{
    Topology topology;                 //!< the actual network, which is simulated
    std::string schedulerName;         //!< who plans
    Ptr<AllReduceScheduler> scheduler; //!< the same, or who plans what is left after a failure
    VerifiedPlan plan;                 //!< what it planned
    uint64_t bytes;                    //!< size of the gradient of a group, or of the largest
    /// What servers do in a training iteration, one for each or one for all; nullptr: AllReduces
    /// one after another, as the options say.
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

/// How one direction of a link was used.
struct LinkUse
{
    DirectedLinkId link{0}; //!< the directed link
    uint64_t bytes{0};      //!< that went over it
    double utilization{0};  //!< their share of what it could have carried
    uint32_t queuePeak{0};  //!< most packets in its queue
    uint64_t nDropped{0};   //!< packets that found the queue full
};

/// When a round was.
struct RoundSpan
{
    uint32_t round; //!< from 0
    Time begin;     //!< when it began
    Time duration;  //!< how long it took
};

/// Something that no plan foresees, or its consequence.
struct RunMark
{
    /// What happened.
    enum Kind
    {
        LINK_BROKE,  //!< a link can no longer be used
        LINK_MENDED, //!< it can be used again
        REPLANNED    //!< what was left was planned anew
    };

    Kind kind;             //!< what happened
    Time time;             //!< when
    uint32_t iteration{0}; //!< during which AllReduce or before it, from 0
    uint32_t round{0};     //!< the last round that had begun, or the first of the plan; from 1
    NodeId a{0};           //!< one end of the link
    NodeId b{0};           //!< the other
    std::string planner;   //!< who planned

    /// @return "link 0-16 broke", "link 0-16 was mended", "greedy planned what was left" or, if
    /// that was all of it, "greedy planned anew"
    std::string Describe() const;
};

/// An AllReduce of a training iteration; times in seconds from its beginning.
struct CollectiveSpan
{
    double ready{0};     //!< when all servers had done what it waited for
    double begin{0};     //!< when it began
    double end{0};       //!< when it was over
    double ideal{0};     //!< how long it takes at least
    double predicted{0}; //!< how long the flow-level model says it takes
};

/// What came out of a run.
struct ExperimentResult
{
    std::string failure;               //!< why it failed; "" if it did not
    IdealTime ideal;                   //!< of the actual network at first, for one size of data
    double idealSeconds{0};            //!< the same, or the mean of all sizes
    double knownIdealSeconds{0};       //!< without the links that are down in the end; 0: unknown
    std::string downLinks;             //!< those links, as "0-16,1-17"
    double predictedSeconds{0};        //!< by the flow-level model, for the announced network
    double endSeconds{0};              //!< simulated time when it ended, well or not
    double measuredSeconds{0};         //!< mean of the AllReduces
    uint64_t boundRounds{0};           //!< no schedule takes fewer
    uint32_t rounds{0};                //!< of the last AllReduce
    std::vector<double> roundSeconds;  //!< how long they took
    bool isVerified{false};            //!< the plan and every rest after a failure were proven
    uint32_t nReplans{0};              //!< how often what was left was planned anew
    std::string replannedBy;           //!< who did that, several names joined with ","
    uint32_t nLateFaults{0};           //!< links that were to break after the end
    uint32_t nAborted{0};              //!< flows cut by a broken link
    uint64_t nMessages{0};             //!< grants, tokens and releases
    bool countsResent{false};          //!< whether the transport counts what it sends again
    uint64_t nResent{0};               //!< packets sent again
    uint64_t nDropped{0};              //!< packets that found a queue full
    std::vector<LinkUse> links;        //!< by directed link
    std::vector<AllReduceFlow> flows;  //!< those that arrived, if they were to be recorded
    std::vector<RoundSpan> roundSpans; //!< of all AllReduces, if they were to be recorded
    double wallSeconds{0};             //!< how long the simulation took
    uint64_t nEvents{0};               //!< events that it took
    uint32_t nRanks{1};                //!< processes that simulated it; rank 0 knows the result
    double waitShare{0};               //!< of their time in which they waited for each other
    double iterationSeconds{0};        //!< of a training iteration: all of it

    std::vector<CollectiveSpan> collectives; //!< of a training iteration, as far as it came

    // If flows were to be recorded:
    std::vector<AllReduceFlow> abortedFlows;          //!< flows cut by a broken link, and when
    std::vector<AllReduceFlow> unfinishedFlows;       //!< under way when the run ended
    std::vector<std::vector<WorkloadList>> handedOut; //!< by AllReduce: its rounds, see HandedOut
    std::vector<RunMark> marks;                       //!< what no plan foresees, in order
};

/**
 * Plan what options ask for.
 *
 * @param topology the network, before the rates and delays that the options ask for
 * @param schedulerName who plans
 * @param bytes size of the gradient of each group
 * @param plan how to plan
 * @param run how to run
 * @return what is to be run
 * @throws InputError if an option is not possible
 */
Experiment PlanExperiment(const Topology& topology,
                          const std::string& schedulerName,
                          uint64_t bytes,
                          const PlanOptions& plan,
                          const RunOptions& run);

/**
 * Refuse what is not possible on a network before anything is planned or run, so that one network
 * of several does not fail when others are done.
 *
 * @param topology the network, before the rates and delays that the options ask for
 * @param plan how to plan
 * @param run how to run
 * @throws InputError that names the option
 */
void CheckNetwork(const Topology& topology, const PlanOptions& plan, const RunOptions& run);

/**
 * Build a network, run AllReduces on it packet by packet, and measure. Uses and destroys the
 * simulator.
 *
 * @param experiment what is to be run
 * @param options how
 * @return what came out
 * @throws InputError if an option is not possible
 */
ExperimentResult RunExperiment(const Experiment& experiment, const RunOptions& options);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RUN_EXPERIMENT_H */
