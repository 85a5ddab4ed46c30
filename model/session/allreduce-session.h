/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SESSION_H
#define ALLREDUCE_SESSION_H

#include "allreduce-application.h"

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-transport.h"
#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"
#include "ns3/verified-plan.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

class CollectiveRun;

/**
 * @ingroup allreduce
 *
 * @brief AllReduces on an ns-3 network, one after another: follows a plan, emits its workloads as
 * flows, and goes on when their packets have arrived.
 *
 * With Sync BARRIER a round begins when the last one is over. With DEPENDENCY all rounds are there
 * at once, and each server sends its workloads in this order, each as soon as what it needs has
 * arrived and its port is free. Nothing is emitted that the verifier has not proven, from the
 * beginning or from wherever a failure left off.
 *
 * With Control IDEAL servers know at once when a round is over, or that a receiver is ready. With
 * PACKETS they send messages: in BARRIER mode tokens and releases along a tree (see TokenBarrier),
 * in DEPENDENCY mode a grant from the receiver of each workload to its sender. After a failure
 * servers come together by tokens before what is left begins. Plans are known everywhere for
 * nothing in either case.
 *
 * When a link breaks, the flows over it are aborted, the others run to their end, and the
 * scheduler is asked to go on from the state then reached. If servers cannot reach each other the
 * session waits for links that are due to be mended (see AllReduceNetwork::ScheduleOutage), and
 * fails if they would not help. Who needs whom is a question for each chunk (see ChunkNeeds); with
 * Control PACKETS all that have something left to do need each other. If nothing arrives for too
 * long, the scheduler does not know how to go on, or what it hands out is not correct, the session
 * fails; it then says why (GetFailure) and does nothing more.
 *
 * Where several ranks simulate the network, each has a session for the servers that it simulates.
 * All have the same plan, and servers act on what they know: their part of it, what has arrived,
 * and tokens. So Control is PACKETS there and Sync BARRIER, there is one AllReduce, and no link
 * breaks. A rank knows that a round is over everywhere when something of the next one comes in.
 */
class AllReduceSession : public Object
{
  public:
    /// What rounds mean on the network.
    enum Sync
    {
        BARRIER,   //!< a round begins when the one before is over
        DEPENDENCY //!< a workload begins when its data is there and its port free
    };

    /// How servers agree on when a workload may begin.
    enum Control
    {
        IDEAL,  //!< they know at once, for nothing
        PACKETS //!< grants and barrier tokens are messages over the same links
    };

    /// What the session does if the network is not what was announced.
    enum Adaptation
    {
        NO_ADAPTATION, //!< it follows its plan; only links that go down or come up are planned for
        REPLAN,        //!< it plans what is left for the rates that it has seen
        LIVE           //!< it has no rounds: a scheduler chooses whenever a port is free
    };

    /**
     * Signature of the trace source RoundStarted.
     *
     * @param round the round, from 0
     */
    typedef void (*RoundStartedTracedCallback)(uint32_t round);

    /**
     * Signature of the trace source RoundEnded.
     *
     * @param round the round, from 0
     * @param duration how long it took
     */
    typedef void (*RoundEndedTracedCallback)(uint32_t round, Time duration);

    /**
     * Signature of the trace source HandedOut.
     *
     * @param first number of the first of the rounds, from 0; those that were handed out before
     *        with this number or a higher one will not begin
     * @param rounds the rounds
     */
    typedef void (*HandedOutTracedCallback)(uint32_t first,
                                            const std::vector<WorkloadList>& rounds);

    /**
     * Signature of the trace source Replanned.
     *
     * @param first number of the first round of the new plan, from 0
     * @param planner who made it, by the name that users know
     */
    typedef void (*ReplannedTracedCallback)(uint32_t first, const std::string& planner);

    /**
     * Signature of the trace source RateBelieved.
     *
     * @param link one direction of a link
     * @param before the rate that it was believed to have, in bit/s
     * @param now the rate that it is believed to have now
     */
    typedef void (*RateBelievedTracedCallback)(DirectedLinkId link, uint64_t before, uint64_t now);

    /**
     * Signature of the trace source Failed.
     *
     * @param reason why
     */
    typedef void (*FailedTracedCallback)(const std::string& reason);

    /// When a round was, as far as this rank knows.
    struct RoundTimes
    {
        Time begin{Time::Max()}; //!< when the first workload began that a server here sends
        Time end;                //!< when the last one was complete that a server here receives
    };

    /// @return the type
    static TypeId GetTypeId();

    AllReduceSession();
    ~AllReduceSession() override;

    /**
     * Say what to do, before anything begins.
     *
     * @param network where
     * @param scheduler who chooses the workloads
     * @param transport what carries them
     * @param collective what is to be summed where; roots alone: an AllReduce of all servers
     */
    void Setup(Ptr<AllReduceNetwork> network,
               Ptr<AllReduceScheduler> scheduler,
               Ptr<AllReduceTransport> transport,
               Collective collective);

    /**
     * Run AllReduces of different sizes, as a training iteration has them, in the place of
     * Iterations of Bytes with ComputeTime between them; to be called before anything begins.
     *
     * @param bytes the size of each AllReduce, one or more
     * @param wait called with the number of an AllReduce, from 0, when the one before is over or
     *        all servers are ready; says how long it is until it begins
     */
    void SetSequence(std::vector<uint64_t> bytes, std::function<Time(uint32_t)> wait);

    /**
     * Say what planners are told of the network, before anything begins. Without this call it is
     * the actual network. Links are believed to be as announced until they are seen to be not.
     *
     * @param announced the same network with other rates
     */
    void SetAnnounced(Topology announced);

    /**
     * Give the session a plan to follow; its scheduler is asked only when something happens that
     * the plan does not foresee. Without this the scheduler makes the plan when the first AllReduce
     * begins. A scheduler that chooses by round is asked for each round all the same.
     *
     * @param plan a plan of the session's collective, before anything begins
     */
    void SetPlan(VerifiedPlan plan);

    /// @param application the part of the next server
    void AddApplication(AllReduceApplication* application);

    /// @param server a server that is ready; when all are, the first AllReduce begins, with Adapt
    /// LIVE when one is. The time of the AllReduce is counted from the first one on.
    void NotifyReady(NodeId server);

    /// @param server a server that takes part no longer
    void NotifyStopped(NodeId server);

    /// @return whether all AllReduces have come to their end
    bool IsFinished() const;

    /// @return why the session failed; "" if it has not
    const std::string& GetFailure() const;

    /// @return how long each AllReduce took, with the time for which it waited for links, without
    /// that for computing and, before the first, for connections that were opened ahead
    const std::vector<Time>& GetDurations() const;

    /// @return how long each round of the last AllReduce took
    const std::vector<Time>& GetRoundDurations() const;

    /// @return when each round of the last AllReduce was
    const std::vector<RoundTimes>& GetRoundTimes() const;

    /// @return when the last AllReduce began, as far as this rank knows; server 0 begins it
    Time GetBegin() const;

    /// @return how often what was left was planned anew, because links broke or were mended
    uint32_t GetNReplans() const;

    /// @return who planned that, by the names that users know, each once
    const std::vector<std::string>& GetReplanners() const;

    /// @return whether rounds were handed out, and all of them proven
    bool IsVerified() const;

    /// @return how often the verifier was asked: for plans, remainders and single rounds
    uint32_t GetNProofs() const;

    /// @return HashRounds of the last plan from the beginning; none if there was no such plan
    std::optional<uint64_t> GetPlanHash() const;

    /// @return what had arrived of flows that were given up because they crawled, in bytes
    uint64_t GetBytesGivenUp() const;

    /// @return how many flows were aborted
    uint32_t GetNAborted() const;

    /// @return how many grants, tokens and releases were sent
    uint64_t GetNMessages() const;

    /// @return how much of the present AllReduce is done, 0 to 1
    double GetProgress() const;

    /// @return the transport
    Ptr<AllReduceTransport> GetTransport() const;

    /**
     * @param chunk a chunk
     * @return its size; sizes differ by one byte at most
     */
    uint64_t GetChunkBytes(ChunkId chunk) const;

  protected:
    void DoDispose() override;

  private:
    static TypeId AddAttributes(TypeId tid);
    static TypeId AddTraceSources(TypeId tid);
    void BeginAfterWait();
    void BeginFirst();
    void NotifyLateReady(NodeId server);
    void BeginAllReduce();
    /// @return why this cannot be run; "" if it can
    std::string DescribeObstacle() const;
    /// @return why several ranks cannot run this; "" if they can
    std::string DescribeObstacleToRanks() const;
    void NotifyDone(Time duration);
    void End();
    void Fail(const std::string& reason);
    void NotifyFailed(const std::string& reason);
    CollectiveRun& GetRun() const;

    uint64_t m_bytes{0};                  //!< attribute Bytes
    Sync m_sync{BARRIER};                 //!< attribute Sync
    uint32_t m_iterations{1};             //!< attribute Iterations
    Time m_computeTime;                   //!< attribute ComputeTime
    Time m_watchdog;                      //!< attribute Watchdog
    bool m_verifyData{false};             //!< attribute VerifyData
    Control m_control{IDEAL};             //!< attribute Control
    Adaptation m_adapt{NO_ADAPTATION};    //!< attribute Adapt
    std::vector<uint64_t> m_sequence;     //!< by AllReduce: its bytes; empty: all have m_bytes
    std::function<Time(uint32_t)> m_wait; //!< see SetSequence

    Ptr<AllReduceNetwork> m_network;                   //!< where
    Ptr<AllReduceScheduler> m_scheduler;               //!< who plans
    Ptr<AllReduceTransport> m_transport;               //!< what carries the workloads
    Collective m_collective;                           //!< what is to be summed where
    std::vector<AllReduceApplication*> m_applications; //!< by server
    std::vector<bool> m_isReady;                       //!< by server
    uint32_t m_nReady{0};                              //!< servers that are
    Time m_firstReady;                                 //!< when the first one was
    std::unique_ptr<CollectiveRun> m_run;              //!< runs one AllReduce after another
    EventId m_next;                                    //!< begins the next AllReduce
    std::vector<Time> m_durations;                     //!< see GetDurations
    bool m_isFinished{false};                          //!< see IsFinished
    std::string m_failure;                             //!< see GetFailure

    TracedCallback<uint32_t> m_roundStarted;     //!< the first workload of a round begins
    TracedCallback<uint32_t, Time> m_roundEnded; //!< the last workload of a round has arrived
    TracedCallback<Time> m_done;                 //!< an AllReduce is done
    TracedCallback<> m_finished;                 //!< all AllReduces are done
    TracedCallback<const std::string&> m_failed; //!< the session has failed

    /// What is left has a new plan.
    TracedCallback<uint32_t, const std::string&> m_replanned;
    /// Trace source RateBelieved: a link seems to be slower or faster than before.
    TracedCallback<DirectedLinkId, uint64_t, uint64_t> m_rateBelieved;
    /// Rounds are about to begin.
    TracedCallback<uint32_t, const std::vector<WorkloadList>&> m_handedOut;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SESSION_H */
