/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RUN_RECORDER_H
#define ALLREDUCE_RUN_RECORDER_H

#include "run-experiment.h"

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-session.h"
#include "ns3/allreduce-topology.h"
#include "ns3/application-container.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief Notes the flows, rounds and plans of a session, and what happens to links meanwhile.
 */
class RunRecorder
{
  public:
    /// @param result gets all of it
    explicit RunRecorder(ExperimentResult& result);

    RunRecorder(const RunRecorder&) = delete;
    RunRecorder& operator=(const RunRecorder&) = delete;

    /**
     * Watch from now on.
     *
     * @param network where
     * @param session whom
     * @param applications of the session
     */
    void Watch(Ptr<AllReduceNetwork> network,
               Ptr<AllReduceSession> session,
               const ApplicationContainer& applications);

    /// The run is over: what is under way will not arrive.
    void Finish();

    /// @return the flows that have begun
    const std::vector<AllReduceFlow>& GetStarted() const;

  private:
    void NoteStarted(const AllReduceFlow& flow);
    void NoteFlow(const AllReduceFlow& flow);
    void NoteAborted(const AllReduceFlow& flow);
    void NoteHandedOut(uint32_t first, const std::vector<WorkloadList>& rounds);
    void NoteRoundStarted(uint32_t round);
    void NoteRound(uint32_t round, Time duration);
    void NoteReplanned(uint32_t first, const std::string& planner);
    void NoteLinkChanged(LinkId link, bool isUp);
    RunMark MakeMark(RunMark::Kind kind) const;
    uint32_t GetIteration() const;

    ExperimentResult& m_result;           //!< where it goes
    Ptr<AllReduceNetwork> m_network;      //!< where the session is
    Ptr<AllReduceSession> m_session;      //!< who is watched; nullptr: nobody
    std::vector<AllReduceFlow> m_started; //!< flows that have begun
    uint32_t m_nAllReducesBegun{0};       //!< AllReduces of which a round has begun
    uint32_t m_nRoundsBegun{0};           //!< rounds of the last of them that have begun
    /// by round and position: the flows that are under way
    std::map<std::pair<uint32_t, uint32_t>, AllReduceFlow> m_underWay;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RUN_RECORDER_H */
