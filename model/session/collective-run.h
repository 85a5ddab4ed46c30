/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COLLECTIVE_RUN_H
#define ALLREDUCE_COLLECTIVE_RUN_H

#include "allreduce-application.h"
#include "allreduce-session.h"
#include "believed-network.h"
#include "collective-progress.h"
#include "control-plane.h"
#include "cut-off-watch.h"
#include "live-dispatcher.h"
#include "rank-coordinator.h"
#include "rate-beliefs.h"
#include "round-clock.h"
#include "workload-dispatcher.h"

#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/round-prover.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Runs the collectives of a session on the network, one at a time: gets rounds from the
 * prover, emits their workloads as flows, and goes on when they have arrived.
 *
 * The dispatcher says which workloads may begin, the control plane carries what servers tell each
 * other, the progress says how far the collective has come, the coordinator of ranks what happens
 * in other processes. This class moves flows between them, and decides what happens when rounds are
 * over, links change, or nothing arrives any more.
 */
class CollectiveRun
{
  public:
    /// How a collective is to be run.
    struct Settings
    {
        uint32_t number{0};       //!< of the collective in the session, from 0
        uint64_t bytes{0};        //!< size of all chunks
        bool hasBarriers{true};   //!< a round begins when the one before is over
        bool usesMessages{false}; //!< servers agree by messages
        bool verifiesData{false}; //!< flows carry real numbers
        Time watchdog{Time(0)};   //!< fail if nothing arrives for so long; 0: the transport knows
        /// What happens if the network is not what was announced.
        AllReduceSession::Adaptation adapt{AllReduceSession::NO_ADAPTATION};
        std::vector<bool> isReady; //!< by server: takes part already; empty: all do
        Time waited;               //!< for how long the first server has waited for others
    };

    /// Who is told what happens.
    struct Owner
    {
        std::function<void(uint32_t)> roundStarted;     //!< a round's number
        std::function<void(uint32_t, Time)> roundEnded; //!< the same and how long it took
        std::function<void(uint32_t, const std::vector<WorkloadList>&)>
            handedOut; //!< rounds are about to begin: the number of the first, and the rounds
        std::function<void(uint32_t, const std::string&)>
            replanned;                                     //!< from which round on, and by whom
        std::function<void(const BeliefChange&)> believed; //!< what is believed of a link
        std::function<void(Time)> done; //!< the collective is over; how long it took
        std::function<void(const std::string&)> failed; //!< and why
        std::function<void()> stopped;                  //!< see Stop
    };

    /**
     * @param network where
     * @param scheduler who plans
     * @param transport what carries the workloads
     * @param collective what is to be summed where
     * @param applications by server: its part; must outlive this
     * @param owner who is told what happens
     */
    CollectiveRun(Ptr<AllReduceNetwork> network,
                  Ptr<AllReduceScheduler> scheduler,
                  Ptr<AllReduceTransport> transport,
                  Collective collective,
                  const std::vector<AllReduceApplication*>& applications,
                  Owner owner);

    CollectiveRun(const CollectiveRun&) = delete;
    CollectiveRun& operator=(const CollectiveRun&) = delete;

    /// @param announced the network as planners are told of it; without this it is the actual one
    void SetAnnounced(Topology announced);

    /// @param settings how to run the collective that begins now
    void Begin(const Settings& settings);

    /// @param server a server that takes part from now on; the present collective has begun
    void NotifyServerReady(NodeId server);

    /// Give up; nothing happens any more.
    void Close();

    /// The simulation is over: let go of the network.
    void Dispose();

    /// All collectives are over here: stop when all ranks do.
    void Stop();

    /// @return what gives the rounds
    RoundProver& GetProver();

    /// @return when each round of the last collective was
    const std::vector<AllReduceSession::RoundTimes>& GetRoundTimes() const;

    /// @return how long they took
    const std::vector<Time>& GetRoundDurations() const;

    /// @return when the last collective began
    Time GetBegin() const;

    /// @return how many flows were aborted
    uint32_t GetNAborted() const;

    /// @return what had arrived of flows that were given up because they crawled, in bytes
    uint64_t GetBytesGivenUp() const;

    /// @return how many grants, tokens and releases were sent
    uint64_t GetNMessages() const;

    /// @return whether what was handed out is proven, and all that was chosen was legal
    bool IsProven() const;

    /// @return how much of the present collective is done, 0 to 1; none if there is none
    std::optional<double> GetShareDone() const;

  private:
    /// How far the collective is.
    enum class Phase
    {
        IDLE,     //!< none is under way
        RUNNING,  //!< it is under way
        STOPPING, //!< it was the last, and all ranks are to stop
        CLOSED    //!< nothing happens any more
    };

    /// How far the transport is with what it does before the first transfer.
    enum class Preparation
    {
        NONE,      //!< it has not been asked
        GATHERING, //!< servers say when they are prepared
        GATHERED,  //!< all have said so by messages: server 0 begins the first round
        DONE       //!< nobody is waited for
    };

    /// A workload that has begun and is not complete.
    struct Flow
    {
        uint32_t index;                        //!< its index at the dispatcher
        CollectiveProgress::Transfer transfer; //!< what is under way with it
        AllReduceFlow watched;                 //!< what can be watched
        std::vector<DirectedLinkId> links;     //!< those it crosses
        Bytes arrived;                         //!< what has arrived, if that matters
        bool isProbe{false};                   //!< sent faster than it may arrive, see FindPace
    };

    // Rounds: collective-run.cc
    void GoOn();
    void EndRounds();
    std::vector<WorkloadList> GetNextRounds();
    void MakeDispatcher();
    void Prepare();
    void NotifyPrepared(NodeId server);
    std::vector<TransferPlan> FindFirstTransfers() const;
    void AddFirstMessages(std::vector<TransferPlan>& transfers) const;
    void BeginRounds();
    void NotifyBarrierOver();
    void NotifyNothingUnderWay();
    void ComeTogether();
    void PlanBarrier();
    void NotifyRoundBegun(uint32_t round);
    void NotifyRoundEnded(uint32_t round);
    void NotifyLinkChanged(LinkId link, bool isUp);
    void GoOnSoon();
    void End();
    void NotifyStopped();

    // Flows: collective-run-flows.cc
    void BeginWorkloads();
    void BeginWorkload(uint32_t index);
    void GiveGrants();
    void NotifyGranted(const std::vector<uint32_t>& indices);
    Flow MakeFlow(uint32_t index);
    Flow TakeFlow(TransferId transfer);
    void Emit(TransferId transfer, const Workload& workload, Flow& flow);
    void DeliverEmpty(TransferId transfer);
    void NotifySent(TransferId transfer);
    void NotifyDelivered(TransferId transfer, const Bytes& data);
    void NotifyMessage(TransferId transfer, const Bytes& data);
    void CompleteArrived();
    void Complete(const Flow& flow);
    void AbortFlowsOver(LinkId link);
    void Abort(std::map<TransferId, Flow>::iterator present);
    uint64_t GetBytesOf(ChunkId chunk) const;
    bool IsHere(NodeId server) const;
    bool IsRunning() const;

    // Networks that are not what was announced: collective-run-adapt.cc
    bool IsAdapting() const;
    const Topology& GetAnnounced() const;
    const Topology& GetPlanned() const;
    void BeginLive();
    void NotifyLinkChangedLive(LinkId link, bool isUp);
    std::vector<WorkloadList> GetRoundsToFollow();
    std::vector<WorkloadList> GetRoundsForBelieved();
    void FailIfStuck();
    uint64_t FindPace(const Flow& flow) const;
    void BeginBeliefs();
    void WatchFlow(TransferId transfer, const Flow& flow, uint64_t paceBps);
    void LookAtFlows();
    void UseBeliefs();
    void BeginReplan();
    bool DoesReplanPay() const;
    std::vector<uint64_t> CountBitsAhead() const;
    void GiveUpCrawling();

    // Silence and failure: collective-run-watch.cc
    void Fail(const std::string& reason);
    void CheckProgress();
    Time GetPatience() const;
    std::string DescribeStuck() const;

    // What the session gives
    Ptr<AllReduceNetwork> m_network;                          //!< where
    Ptr<AllReduceTransport> m_transport;                      //!< what carries the workloads
    Collective m_collective;                                  //!< what is to be summed where
    Owner m_owner;                                            //!< who is told what happens
    const std::vector<AllReduceApplication*>& m_applications; //!< by server
    Settings m_settings;                                      //!< of the present collective

    // Who decides what happens next
    RoundProver m_prover;                         //!< gives the rounds
    std::unique_ptr<RankCoordinator> m_ranks;     //!< knows of other processes, if there are any
    ControlPlane m_control;                       //!< grants, tokens and releases
    std::unique_ptr<WorkloadDispatcher> m_rounds; //!< the rounds under way
    std::unique_ptr<LiveDispatcher> m_live;       //!< if transfers are chosen one by one
    Dispatcher* m_dispatcher{nullptr};            //!< the one of the two that is used

    // How far the collective has come
    Phase m_phase{Phase::IDLE};                     //!< as a whole
    Preparation m_preparation{Preparation::NONE};   //!< before its first round
    uint32_t m_nPrepared{0};                        //!< servers that are
    std::unique_ptr<CollectiveProgress> m_progress; //!< by its rules, and in data
    RoundClock m_clock;                             //!< when its rounds were
    uint32_t m_firstRound{0};                       //!< number of the dispatcher's first round
    std::vector<WorkloadList> m_nextRounds;         //!< they begin when the transport is ready
    bool m_isHalted{false};                         //!< the rounds were cut short
    EventId m_next;                                 //!< goes on after a change of links

    // What is under way
    std::map<TransferId, Flow> m_flows;  //!< the workloads
    std::map<uint32_t, Flow> m_arrivals; //!< by index: those that have arrived, not yet complete
    uint32_t m_nAborted{0};              //!< see GetNAborted
    uint64_t m_bytesGivenUp{0};          //!< see GetBytesGivenUp

    // What is believed of the network
    std::optional<Topology> m_announced; //!< see SetAnnounced
    std::shared_ptr<const BelievedNetwork>
        m_believed;                         //!< that the plan is for; none: the announced one
    bool m_isReplanDue{false};              //!< the plan is for rates that are not believed
    std::unique_ptr<RateBeliefs> m_beliefs; //!< rates as flows show them
    uint64_t m_usedVersion{0};              //!< of the beliefs that are acted on
    Time m_lastUse;                         //!< when they were last acted on
    Time m_lastChange;                      //!< when they last changed
    Time m_settling;                        //!< what is believed for so long is planned for
    Time m_pause;                           //!< between acting on them
    Time m_chunkTime;                       //!< of a chunk on the slowest link, as announced
    Time m_lookInterval;                    //!< between looks at flows
    EventId m_look;                         //!< looks at flows
    uint64_t m_bytesArrived{0};             //!< of the flows at the last look
    Time m_lastProgress;                    //!< when that changed, or a flow began
    bool m_hasFollowed{false};              //!< live: the plan is not to be begun any more
    uint32_t m_nLate{0};                    //!< servers that are not ready

    // Whether it goes on at all
    CutOffWatch m_cutOff; //!< whether servers can
    Time m_lastArrival;   //!< when there last was progress
    EventId m_watch;      //!< looks for progress
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_COLLECTIVE_RUN_H */
