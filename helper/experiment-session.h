/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_EXPERIMENT_SESSION_H
#define ALLREDUCE_EXPERIMENT_SESSION_H

#include "allreduce-experiment.h"
#include "network-surprises.h"
#include "session-recorder.h"

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-session.h"
#include "ns3/chakra-iteration.h"
#include "ns3/ideal-time.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The AllReduces of one experiment on a network, on which others may be, too: installs,
 * predicts, watches and measures. Must live as long as the simulation.
 */
class ExperimentSession
{
  public:
    /**
     * @param experiment what is to be run
     * @param settings how
     */
    ExperimentSession(const Experiment& experiment, const ExperimentSettings& settings);

    ExperimentSession(const ExperimentSession&) = delete;
    ExperimentSession& operator=(const ExperimentSession&) = delete;

    /**
     * Put the session on a network, and predict how long it will take there.
     *
     * @param network the network
     * @throws InputError if that would be longer than ns-3's clock can say
     */
    void Install(Ptr<AllReduceNetwork> network);

    /// @return the session
    Ptr<AllReduceSession> GetSession() const;

    /// @return how far it has come, in words
    std::string DescribeProgress() const;

    /// @return how much of all AllReduces is done, 0 to 1
    double GetProgress() const;

    /// @return the flows that have begun, if flows were to be recorded
    const std::vector<AllReduceFlow>& GetStarted() const;

    /// @return what is known so far; those who know more about the network add it
    ExperimentResult& GetResult();

    /// @return about when it will be over
    Time GetPredictedEnd() const;

    /// @return until when it may take if the network is a good deal worse than predicted
    Time GetLatestEnd() const;

    /// It is over, well or not.
    void NoteEnd();

    /// The simulation is over: note what came out.
    /// @param surprises what the network did in it
    void Collect(const Surprises& surprises);

    /// Note as a failure what is faster than any schedule can be: it is an error somewhere.
    void CheckBound();

  private:
    void InstallTraining();
    Time FindWait(uint32_t index);
    void NoteBegin(Time duration);
    void NoteDone(Time duration);
    void NoteRoundEnded(uint32_t round, Time duration);
    void NoteBelieved(DirectedLinkId link, uint64_t before, uint64_t now);
    void Predict();
    void PredictTraining();
    IdealTime ComputeIdeal(const Topology& topology, uint64_t bytes) const;
    double PredictOn(const Topology& topology, uint64_t bytes) const;
    void CollectDownLinks();
    void FindKnownIdeal(Surprises surprises);
    void AddKnownIdeal(uint32_t number, const std::vector<RateChange>& changes);
    void CheckBound(double seconds, const std::string& what);
    void CheckDuration();
    Time GetAllReady() const;
    uint64_t GetTotalBytes(uint64_t bytes) const;
    uint32_t GetNAllReduces() const;
    double GetClockSaving(double seconds) const;
    uint64_t CountLastFrames() const;

    const Experiment& m_experiment;             //!< what is to be run
    const ExperimentSettings& m_settings;       //!< how
    ExperimentResult m_result;                  //!< what comes out
    SessionRecorder m_recorder;                 //!< watches, if flows are to be recorded
    Ptr<AllReduceNetwork> m_network;            //!< where
    Ptr<AllReduceSession> m_session;            //!< the AllReduces
    std::optional<ChakraIteration> m_iteration; //!< what is computed between them
    Time m_trainingBegin;                       //!< when that began
    double m_workSeconds{0};                    //!< of all AllReduces, if nothing changes
    std::vector<Time> m_begins;                 //!< of AllReduces that are over
    double m_leastSeconds{0};                   //!< what no run can beat on a network that changes
    Time m_end{Time::Max()};                    //!< when it was over
    uint32_t m_nCollectivesDone{0};             //!< AllReduces of it that are over
    uint32_t m_nRoundsEnded{0};                 //!< of the present AllReduce
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_EXPERIMENT_SESSION_H */
