/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "experiment-session.h"

#include "allreduce-helper.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/boolean.h"
#include "ns3/chakra-workload.h"
#include "ns3/datagram-transport.h"
#include "ns3/enum.h"
#include "ns3/ideal-time.h"
#include "ns3/known-ideal.h"
#include "ns3/simulator.h"
#include "ns3/time-prediction.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

namespace ns3::allreduce
{

ExperimentSession::ExperimentSession(const Experiment& experiment,
                                     const ExperimentSettings& settings)
    : m_experiment(experiment),
      m_settings(settings)
{
}

void
ExperimentSession::Install(Ptr<AllReduceNetwork> network)
{
    m_network = network;
    AllReduceHelper helper(network);
    helper.SetPlan(m_experiment.plan);
    helper.SetAttribute("Bytes", UintegerValue(GetTotalBytes(m_experiment.bytes)));
    helper.SetAttribute("Sync", EnumValue(m_settings.sync));
    helper.SetAttribute("Control", EnumValue(m_settings.control));
    helper.SetAttribute("Adapt", EnumValue(m_settings.adapt));
    helper.SetAttribute("Iterations", UintegerValue(m_settings.iterations));
    helper.SetAttribute("ComputeTime", TimeValue(m_settings.computeTime));
    helper.SetAttribute("Watchdog", TimeValue(m_settings.watchdog));
    helper.SetAttribute("VerifyData", BooleanValue(m_settings.verifyData));
    m_session = helper.Install(m_experiment.scheduler, CreateTransport(m_settings.transport));
    m_session->SetAnnounced(m_experiment.GetAnnounced());
    m_session->TraceConnectWithoutContext("RoundEnded",
                                          MakeCallback(&ExperimentSession::NoteRoundEnded, this));
    m_session->TraceConnectWithoutContext("Done",
                                          MakeCallback(&ExperimentSession::NoteBegin, this));
    m_session->TraceConnectWithoutContext("RateBelieved",
                                          MakeCallback(&ExperimentSession::NoteBelieved, this));
    helper.GetApplications().Start(m_settings.start);
    for (const LateServer& late : m_settings.lateServers)
    {
        const Time ready = Max(m_settings.start, NanoSeconds(late.readyNs));
        helper.GetApplications().Get(late.server)->SetStartTime(ready);
    }
    InstallTraining();
    if (m_settings.recordsFlows)
    {
        m_recorder.Watch(network, m_session, helper.GetApplications());
    }
    Predict();
    CheckDuration();
}

Ptr<AllReduceSession>
ExperimentSession::GetSession() const
{
    return m_session;
}

uint64_t
ExperimentSession::GetTotalBytes(uint64_t bytes) const
{
    return bytes * m_experiment.shape.nGroups;
}

uint32_t
ExperimentSession::GetNAllReduces() const
{
    return m_experiment.training ? m_experiment.training->front().collectives.size()
                                 : m_settings.iterations;
}

const std::vector<AllReduceFlow>&
ExperimentSession::GetStarted() const
{
    return m_recorder.GetStarted();
}

ExperimentResult&
ExperimentSession::GetResult()
{
    return m_result;
}

void
ExperimentSession::InstallTraining()
{
    if (m_experiment.training)
    {
        m_iteration.emplace(*m_experiment.training);
        std::vector<uint64_t> sizes;
        for (const ChakraCollective& collective : m_experiment.training->front().collectives)
        {
            sizes.push_back(collective.bytes);
        }
        m_session->SetSequence(sizes, [this](uint32_t index) { return FindWait(index); });
        m_session->TraceConnectWithoutContext("Done",
                                              MakeCallback(&ExperimentSession::NoteDone, this));
    }
}

/// @return how long it is until an AllReduce of the training iteration begins
Time
ExperimentSession::FindWait(uint32_t index)
{
    if (index == 0)
    {
        m_trainingBegin = Simulator::Now();
    }
    const Time ready = NanoSeconds(m_iteration->FindReady(index));
    m_result.collectives[index].ready = ready.GetSeconds();
    return Max(Time(0), m_trainingBegin + ready - Simulator::Now());
}

void
ExperimentSession::NoteBegin(Time)
{
    m_begins.push_back(m_session->GetBegin());
}

void
ExperimentSession::NoteDone(Time duration)
{
    const uint32_t index = m_session->GetDurations().size() - 1;
    const Time now = Simulator::Now() - m_trainingBegin;
    m_iteration->NoteEnd(index, now.GetNanoSeconds());
    m_result.collectives[index].begin = (now - duration).GetSeconds();
    m_result.collectives[index].end = now.GetSeconds();
    m_nCollectivesDone = index + 1;
    if (m_nCollectivesDone == m_result.collectives.size())
    {
        m_result.iterationSeconds = 1e-9 * m_iteration->FindEnd();
    }
}

void
ExperimentSession::NoteRoundEnded(uint32_t round, Time)
{
    m_nRoundsEnded = round + 1;
}

void
ExperimentSession::NoteBelieved(DirectedLinkId link, uint64_t before, uint64_t now)
{
    m_result.beliefs.push_back({Simulator::Now().GetSeconds(), link, before, now});
}

std::string
ExperimentSession::DescribeProgress() const
{
    return "round " + std::to_string(m_nRoundsEnded) + " of " +
           std::to_string(m_experiment.plan.GetRounds().size());
}

double
ExperimentSession::GetProgress() const
{
    // What is planned anew on the way can be longer; the share then waits for it.
    const double share =
        std::min(1.0, m_nRoundsEnded / double(m_experiment.plan.GetRounds().size()));
    return std::min(1.0, (m_session->GetDurations().size() + share) / GetNAllReduces());
}

void
ExperimentSession::Predict()
{
    m_result.boundRounds =
        ComputeLowerBounds(m_experiment.topology, m_experiment.plan.GetCollective())
            .GetBest()
            .rounds;
    if (m_experiment.training)
    {
        PredictTraining();
        return;
    }
    // Nothing on the actual network is faster than its ideal; planners know the announced one only.
    const IdealTime ideal = ComputeIdeal(m_network->GetTopology(), m_experiment.bytes);
    m_result.idealSeconds = ideal.seconds;
    m_result.idealBandwidthSeconds = ideal.bandwidth;
    m_result.idealLatencySeconds = ideal.latency;
    m_result.bottleneck = ideal.GetReason();
    m_result.predictedSeconds = m_experiment.predictedSeconds
                                    ? *m_experiment.predictedSeconds
                                    : PredictOn(m_experiment.GetAnnounced(), m_experiment.bytes);
}

void
ExperimentSession::PredictTraining()
{
    std::map<uint64_t, CollectiveSpan> spans;
    const auto& collectives = m_experiment.training->front().collectives;
    for (const ChakraCollective& collective : collectives)
    {
        const auto [entry, isNew] = spans.try_emplace(collective.bytes);
        if (isNew)
        {
            entry->second.ideal = ComputeIdeal(m_network->GetTopology(), collective.bytes).seconds;
            entry->second.predicted = PredictOn(m_experiment.GetAnnounced(), collective.bytes);
        }
        m_result.idealSeconds += entry->second.ideal / collectives.size();
        m_result.predictedSeconds += entry->second.predicted / collectives.size();
        m_result.collectives.push_back(entry->second);
    }
}

IdealTime
ExperimentSession::ComputeIdeal(const Topology& topology, uint64_t bytes) const
{
    return ComputeIdealTime(topology, m_experiment.plan.GetCollective(), GetTotalBytes(bytes));
}

void
ExperimentSession::CollectDownLinks()
{
    for (LinkId id = 0; id < m_network->GetTopology().GetNLinks(); ++id)
    {
        if (!m_network->IsLinkUp(id))
        {
            const Link& link = m_network->GetTopology().GetLink(id);
            m_result.downLinks +=
                (m_result.downLinks.empty() ? "" : ",") + FormatPath({link.a, link.b});
        }
    }
}

/// Add the known ideal of one of the AllReduces to their mean, which of equal ones is the same.
/// @param number of the AllReduce, from 1 @param changes of rates since it began
void
ExperimentSession::AddKnownIdeal(uint32_t number, const std::vector<RateChange>& changes)
{
    const auto addToMean = [number](double& mean, double value) {
        mean += (value - mean) / number;
    };
    const Topology& topology = m_network->GetTopology();
    const Collective& collective = m_experiment.plan.GetCollective();
    const uint64_t bytes = GetTotalBytes(m_experiment.bytes);
    const IdealTime ideal = ComputeKnownIdealTime(topology, collective, bytes, changes);
    m_result.knownBottleneck = ideal.GetReason();
    addToMean(m_result.knownIdealSeconds, ideal.seconds);
    // When a rate changes, the packet that is being sent keeps the rate with which it began.
    const uint64_t gained = m_settings.frame * changes.size();
    if (collective.IsOfAll() && gained < bytes)
    {
        addToMean(m_leastSeconds,
                  ComputeKnownIdealTime(topology, collective, bytes - gained, changes).seconds);
    }
}

/// What a planner could have reached that had known what the network would do.
void
ExperimentSession::FindKnownIdeal(Surprises surprises)
{
    const Topology& topology = m_network->GetTopology();
    surprises.lateServers = m_settings.lateServers; // those of this session
    const bool isAsAnnounced =
        !m_experiment.announced && ListCapacityChanges(topology, surprises).empty();
    if (m_experiment.training || isAsAnnounced)
    {
        return;
    }
    if (m_begins.empty())
    {
        m_begins.push_back(m_session->GetBegin());
    }
    try
    {
        for (uint32_t i = 0; i < m_begins.size(); ++i)
        {
            AddKnownIdeal(i + 1, ListCapacityChanges(topology, surprises, m_begins[i]));
        }
    }
    catch (const InputError& error)
    {
        m_result.knownBottleneck = error.what(); // the run has failed for the same reason
        m_result.knownIdealSeconds = 0;
    }
}

double
ExperimentSession::PredictOn(const Topology& topology, uint64_t bytes) const
{
    return PredictSeconds(topology,
                          *m_session->GetTransport(),
                          m_settings.frame,
                          m_experiment.plan.GetSchedule(),
                          GetTotalBytes(bytes),
                          m_settings.sync == AllReduceSession::BARRIER);
}

/// ns-3's clock holds 292 years; faults and retries need some of them.
void
ExperimentSession::CheckDuration()
{
    constexpr double MOST_SECONDS = 1e8;
    double seconds = m_result.predictedSeconds;
    if (m_experiment.announced)
    {
        seconds = std::max(seconds, PredictOn(m_experiment.topology, m_experiment.bytes));
    }
    m_workSeconds = seconds * GetNAllReduces();
    seconds = m_settings.start.GetSeconds() + m_workSeconds;
    if (!(seconds <= MOST_SECONDS))
    {
        FailInput(m_experiment.topology.GetName(),
                  " ",
                  m_experiment.schedulerName,
                  ": would take ",
                  seconds,
                  " s of simulated time, expected at most ",
                  MOST_SECONDS);
    }
}

/// @return when the last server is ready
Time
ExperimentSession::GetAllReady() const
{
    Time ready = m_settings.start;
    for (const LateServer& late : m_settings.lateServers)
    {
        ready = Max(ready, NanoSeconds(late.readyNs));
    }
    return ready;
}

Time
ExperimentSession::GetPredictedEnd() const
{
    return GetAllReady() + Seconds(m_result.predictedSeconds);
}

Time
ExperimentSession::GetLatestEnd() const
{
    constexpr double MUCH_LONGER = 10;
    constexpr double MOST_SECONDS = 1e9;
    const double seconds = GetAllReady().GetSeconds() + MUCH_LONGER * m_workSeconds +
                           m_settings.computeTime.GetSeconds() * m_settings.iterations;
    return Seconds(std::min(seconds, MOST_SECONDS));
}

void
ExperimentSession::NoteEnd()
{
    m_end = Simulator::Now();
}

void
ExperimentSession::Collect(const Surprises& surprises)
{
    m_result.doneSeconds = Min(m_end, Simulator::Now()).GetSeconds();
    m_result.endSeconds = Simulator::Now().GetSeconds();
    m_result.failure = m_session->GetFailure();
    if (m_result.failure.empty() && !m_session->IsFinished())
    {
        m_result.failure = "the simulation ended before the AllReduce did";
    }
    Time sum;
    for (const Time& duration : m_session->GetDurations())
    {
        sum += duration;
    }
    m_result.measuredSeconds =
        sum.GetSeconds() / std::max<std::size_t>(1, m_session->GetDurations().size());
    for (const Time& duration : m_session->GetRoundDurations())
    {
        m_result.roundSeconds.push_back(duration.GetSeconds());
    }
    m_result.rounds = m_result.roundSeconds.size();
    m_result.collectives.resize(m_nCollectivesDone);
    m_result.isVerified = m_session->IsVerified();
    m_result.nReplans = m_session->GetNReplans();
    for (const std::string& name : m_session->GetReplanners())
    {
        m_result.replannedBy += (m_result.replannedBy.empty() ? "" : ",") + name;
    }
    m_result.nAborted = m_session->GetNAborted();
    m_result.bytesGivenUp = m_session->GetBytesGivenUp();
    m_result.nMessages = m_session->GetNMessages();
    if (const auto datagrams = DynamicCast<DatagramTransport>(m_session->GetTransport()))
    {
        m_result.countsResent = true;
        m_result.nResent = datagrams->GetNResent();
    }
    CollectDownLinks();
    FindKnownIdeal(surprises);
    m_recorder.Finish();
    static_cast<SessionRecord&>(m_result) = m_recorder.GetRecord();
}

void
ExperimentSession::CheckBound()
{
    CheckBound(m_result.idealSeconds, "the ideal");
    CheckBound(m_leastSeconds, "the known ideal, with a packet more for each change,");
}

/// @param seconds nothing can be faster @param what says what that is
void
ExperimentSession::CheckBound(double seconds, const std::string& what)
{
    constexpr double ROUNDING = 1e-9; // of sums of floating-point numbers
    const double least = seconds * (1 - ROUNDING) - GetClockSaving(seconds);
    if (m_result.failure.empty() && m_result.measuredSeconds < least)
    {
        std::ostringstream text;
        text << std::setprecision(9) << "measured " << m_result.measuredSeconds << " s, less than "
             << what << " of " << seconds << " s less what the clock may round off: " << least
             << " s";
        m_result.failure = text.str();
    }
}

/// The clock has ticks, to which the time of a frame on a link is rounded. Where a frame's
/// headers take less than half a tick, data can be faster than the rate of the link.
/// @return the seconds that this can save of so many seconds
double
ExperimentSession::GetClockSaving(double seconds) const
{
    const FrameFormat format = m_session->GetTransport()->GetFrameFormat(1, m_settings.frame);
    double ofFrame = 0; // what one frame saves at most
    double share = 0;   // what full frames save of the time that their data takes
    for (const Link& link : m_network->GetTopology().GetLinks())
    {
        const double saved = TimeStep(1).GetSeconds() / 2 - 8.0 * format.overhead / link.rateBps;
        ofFrame = std::max(ofFrame, saved);
        share = std::max(share, saved * link.rateBps / (8.0 * format.payload));
    }
    return ofFrame > 0 ? share * seconds + ofFrame * CountLastFrames() : 0;
}

/// The last frame of a workload need not be full.
/// @return how many of them can stand one behind another: all on the link with the most workloads,
/// and those of the longest way of each round
uint64_t
ExperimentSession::CountLastFrames() const
{
    const Topology& topology = m_network->GetTopology();
    std::vector<uint64_t> nOnLink(topology.GetNDirectedLinks(), 0);
    uint64_t nHops = 0;
    for (const WorkloadList& round : m_experiment.plan.GetRounds())
    {
        std::size_t longest = 1;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const auto path = round.Get(i).path;
            longest = std::max<std::size_t>(longest, path.size());
            for (std::size_t j = 1; j < path.size(); ++j)
            {
                ++nOnLink[*topology.FindDirectedLink(path[j - 1], path[j])];
            }
        }
        nHops += longest - 1;
    }
    return *std::max_element(nOnLink.begin(), nOnLink.end()) + nHops;
}

} // namespace ns3::allreduce
