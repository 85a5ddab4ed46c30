/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SOAK_JUDGE_H
#define ALLREDUCE_SOAK_JUDGE_H

#include "run-experiment.h"
#include "soak-case.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce-tests
 *
 * @brief Judges how a run of a SoakCase, or one of its jobs, ended; knows nothing of sessions.
 *
 * What servers hold is found out from the flows that arrived, what they could reach from the
 * outages that were drawn, and how long they had to wait from both.
 */
class SoakJudge
{
  public:
    /**
     * @param drawn what was drawn
     * @param experiment what was run
     * @param result what came out
     * @param run its iterations and the time between them
     * @param start when it began
     * @param end when it was over, well or not
     */
    SoakJudge(const SoakCase& drawn,
              const Experiment& experiment,
              const ExperimentResult& result,
              const RunOptions& run,
              Time start,
              Time end);

    /// @return what is wrong; "" if nothing is
    std::string FindWrong() const;

    /**
     * @param topology a network, all links up
     * @param collective what is to be summed where
     * @return whether somebody needs a server that it cannot reach
     */
    static bool IsImpossible(const Topology& topology, const Collective& collective);

  private:
    /// What a server has of a chunk.
    struct Holding
    {
        std::set<NodeId> parts; //!< whose numbers are in what it is to send on
        bool hasSum{false};     //!< it has the sum
    };

    /// By chunk and server.
    using Holdings = std::vector<std::vector<Holding>>;
    /// Says whether a link is up.
    using IsUp = std::function<bool(const Link&)>;
    /// Two servers that need each other and cannot reach each other.
    using Pair = std::pair<NodeId, NodeId>;

    static Holdings MakeHoldings(const Topology& topology, const Collective& collective);
    static void NoteSum(const Topology& topology,
                        const Collective& collective,
                        ChunkId chunk,
                        Holdings& holdings);
    static std::vector<uint32_t> FindIslands(const Topology& topology,
                                             const IsUp& isUp,
                                             const std::function<bool(NodeId)>& mayPass);
    /// @return who wants something of a chunk, and who has its sum
    static std::pair<std::set<NodeId>, std::set<NodeId>> FindSides(
        const Topology& topology,
        const Collective& collective,
        const std::vector<Holding>& holdings,
        ChunkId chunk);
    static std::vector<Pair> FindUnmet(const Topology& topology,
                                       const Collective& collective,
                                       const Holdings& holdings,
                                       const IsUp& isUp,
                                       bool hasTokens);

    /// @return what servers hold when the flows of an iteration that ended until then have arrived
    Holdings Replay(uint32_t iteration, Time until) const;
    /// @return the same of transfers that were chosen one by one, as they began and ended
    /// @param wrong gets what none of them may do, if one did it
    Holdings ReplayLive(uint32_t iteration, Time until, std::string& wrong) const;
    /// @return what servers hold in the end, in the iteration that was under way or to begin
    Holdings ReplayLast() const;
    bool IsUpAt(const Link& link, Time time) const;
    bool IsUpAtOrAfter(const Link& link, Time time) const;
    std::vector<Pair> FindUnmetAt(const Holdings& holdings, Time time) const;
    /// @return the first time from this on at which nobody waits for a link
    Time FindEndOfWait(const Holdings& holdings, Time time) const;
    /// @return when outages begin or end after one time and before another, ascending
    std::vector<Time> FindChanges(Time after, Time before) const;
    bool IsLive() const;
    std::string FindWrongSums() const;
    std::string FindWrongSumsLive() const;
    std::string FindWrongRelay() const;
    std::string FindWrongCutOff(Time time) const;
    std::string FindWrongGap() const;
    std::string FindWrongTimes() const;

    const SoakCase& m_drawn;          //!< what was drawn
    const Experiment& m_experiment;   //!< what was run
    const Collective& m_collective;   //!< of that
    const ExperimentResult& m_result; //!< what came out
    uint32_t m_nIterations;           //!< AllReduces one after another
    Time m_computeTime;               //!< between them
    Time m_start;                     //!< when it began
    Time m_end;                       //!< when it was over
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SOAK_JUDGE_H */
