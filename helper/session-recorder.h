/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SESSION_RECORDER_H
#define ALLREDUCE_SESSION_RECORDER_H

#include "ns3/allreduce-application.h"
#include "ns3/allreduce-network.h"
#include "ns3/allreduce-session.h"
#include "ns3/allreduce-topology.h"
#include "ns3/application-container.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// When a round was.
struct RoundSpan
{
    uint32_t round; //!< from 0
    Time begin;     //!< when it began
    Time duration;  //!< how long it took
};

/// @ingroup allreduce
/// Something that no plan foresees, or its consequence.
struct RunMark
{
    /// What happened.
    enum Kind
    {
        LINK_BROKE,   //!< a link can no longer be used
        LINK_MENDED,  //!< it can be used again
        REPLANNED,    //!< what was left was planned anew
        SEEMS_SLOWER, //!< one direction of a link is believed to be slower than before
        SEEMS_FASTER  //!< it is believed to be faster than before
    };

    Kind kind;             //!< what happened
    Time time;             //!< when
    uint32_t iteration{0}; //!< during which AllReduce or before it, from 0
    uint32_t round{0};     //!< the last round that had begun, or the first of the plan; from 1
    NodeId a{0};           //!< one end of the link; of a direction, where it begins
    NodeId b{0};           //!< the other
    uint64_t bps{0};       //!< what the direction is believed to carry from now on
    std::string planner;   //!< who planned

    /// @return "link 0-16 broke", "link 0-16 was mended", "0-16 seems to carry 1.02 Gb/s", "greedy
    /// planned what was left" or, if that was all of it, "greedy planned anew"
    std::string Describe() const;
};

/// @ingroup allreduce
/// The flows, rounds and plans of a session, and what happened to links meanwhile, in order.
struct SessionRecord
{
    std::vector<AllReduceFlow> flows;                 //!< those that arrived
    std::vector<AllReduceFlow> abortedFlows;          //!< flows cut by a broken link, and when
    std::vector<AllReduceFlow> unfinishedFlows;       //!< under way when the run ended
    std::vector<RoundSpan> roundSpans;                //!< of all AllReduces
    std::vector<std::vector<WorkloadList>> handedOut; //!< by AllReduce: its rounds, see HandedOut
    std::vector<RunMark> marks;                       //!< what no plan foresees
};

/**
 * @ingroup allreduce
 *
 * @brief Fills in a SessionRecord: connects to the trace sources of a session, its applications and
 * its network. Must live as long as the simulation.
 */
class SessionRecorder
{
  public:
    SessionRecorder() = default;
    SessionRecorder(const SessionRecorder&) = delete;
    SessionRecorder& operator=(const SessionRecorder&) = delete;

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

    /// @return what has happened so far
    const SessionRecord& GetRecord() const;

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
    void NoteBelieved(DirectedLinkId link, uint64_t before, uint64_t now);
    RunMark MakeMark(RunMark::Kind kind) const;
    uint32_t GetIteration() const;

    SessionRecord m_record;               //!< see GetRecord
    Ptr<AllReduceNetwork> m_network;      //!< where the session is
    Ptr<AllReduceSession> m_session;      //!< who is watched; nullptr: nobody
    std::vector<AllReduceFlow> m_started; //!< flows that have begun
    uint32_t m_nAllReducesBegun{0};       //!< AllReduces of which a round has begun
    uint32_t m_nRoundsBegun{0};           //!< rounds of the last of them that have begun
    /// by round and position: the flows that are under way
    std::map<std::pair<uint32_t, uint32_t>, AllReduceFlow> m_underWay;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SESSION_RECORDER_H */
