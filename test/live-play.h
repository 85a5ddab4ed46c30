/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LIVE_PLAY_H
#define ALLREDUCE_LIVE_PLAY_H

#include "allreduce-test-utils.h"
#include "fluid-network.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/collective-progress.h"
#include "ns3/live-dispatcher.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// What happens while transfers are chosen one by one.
struct LiveTroubles
{
    uint32_t nSurprises{0}; //!< links that change, estimates that change, transfers that are lost
    bool hasOutages{false}; //!< links go down; they come up again when nothing else goes on
    bool areLate{false};    //!< some servers are ready later
    bool isFluid{false};    //!< transfers take their time; else they arrive in any order
};

/**
 * @ingroup allreduce-tests
 *
 * @brief Does what a session does with a LiveDispatcher, without packets: transfers that a
 * scheduler chooses begin, arrive, and are lost, while links and servers do what they like.
 *
 * What is chosen must be legal for AllReduceState; in the end the ContributionLedger and real
 * numbers prove the sums.
 */
class LivePlay
{
  public:
    /**
     * @param topology the network as announced
     * @param collective what is to be summed where
     * @param scheduler who chooses
     * @param plan what somebody has planned; one empty round: nobody has
     * @param troubles what happens
     * @param random random numbers
     */
    LivePlay(const Topology& topology,
             const Collective& collective,
             Ptr<AllReduceScheduler> scheduler,
             std::vector<WorkloadList> plan,
             const LiveTroubles& troubles,
             TestRandom& random);

    /// Some links are down when it begins.
    void BreakFirst();

    /// @return what went wrong; "" if all sums are right in the end
    std::string Play();

    /// @return how many transfers have begun
    uint32_t GetNBegun() const;

    /// @return when the last one arrived, if they take their time
    double GetSeconds() const;

  private:
    static constexpr uint64_t CHUNK_BYTES = 24; //!< three numbers
    static constexpr double CHUNK_BITS = 1e6;   //!< as far as time is concerned

    struct Flow
    {
        CollectiveProgress::Transfer transfer; //!< what is under way with it
        std::vector<DirectedLinkId> links;     //!< of its path
        FluidNetwork::FlowId flow{0};          //!< where it takes its time
        bool isSent{false};                    //!< its sender has sent everything
    };

    void BeginAll();
    void BeginOne(uint32_t index);
    void CheckPath(const Workload& workload) const;
    void CompleteArrived();
    void GoOn();
    bool CanGoOn() const;
    void Step();
    void StepFluid();
    void AdvanceClock(double until);
    void Deliver(uint32_t index);
    void Drop(uint32_t index);
    void Surprise();
    void ChangeRates();
    void SetLinkUp(LinkId link, bool isUp);
    void MendAll();
    uint32_t DrawFlow();

    const Topology& m_topology;
    Ptr<AllReduceScheduler> m_scheduler;
    std::vector<WorkloadList> m_plan;
    LiveTroubles m_troubles;
    TestRandom& m_random;
    CollectiveProgress m_progress;
    LiveDispatcher m_dispatcher;
    FluidNetwork m_fluid;
    std::map<uint32_t, Flow> m_flows;   //!< by index: under way
    std::map<uint32_t, Flow> m_arrived; //!< by index: not complete
    std::vector<bool> m_isReady;        //!< by server
    double m_meanGap;                   //!< between surprises, in seconds
    double m_nextSurprise{0};           //!< when, in seconds
    uint32_t m_nBegun{0};
    uint32_t m_nLost{0};
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LIVE_PLAY_H */
