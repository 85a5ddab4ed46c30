/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "session-recorder.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

std::pair<uint32_t, uint32_t>
GetFlowPlace(const AllReduceFlow& flow)
{
    return {flow.round, flow.position};
}

} // namespace

std::string
RunMark::Describe() const
{
    if (kind == REPLANNED)
    {
        return planner + (round > 1 ? " planned what was left" : " planned anew");
    }
    const std::string link = std::to_string(a) + "-" + std::to_string(b);
    if (kind == SEEMS_SLOWER || kind == SEEMS_FASTER)
    {
        std::ostringstream text;
        text << link << " seems to carry " << std::setprecision(3) << 1e-9 * bps << " Gb/s";
        return text.str();
    }
    return "link " + link + (kind == LINK_BROKE ? " broke" : " was mended");
}

void
SessionRecorder::Watch(Ptr<AllReduceNetwork> network,
                       Ptr<AllReduceSession> session,
                       const ApplicationContainer& applications)
{
    m_network = network;
    m_session = session;
    for (uint32_t i = 0; i < applications.GetN(); ++i)
    {
        const Ptr<Application> application = applications.Get(i);
        application->TraceConnectWithoutContext("FlowStarted",
                                                MakeCallback(&SessionRecorder::NoteStarted, this));
        application->TraceConnectWithoutContext("FlowFinished",
                                                MakeCallback(&SessionRecorder::NoteFlow, this));
        application->TraceConnectWithoutContext("FlowAborted",
                                                MakeCallback(&SessionRecorder::NoteAborted, this));
    }
    session->TraceConnectWithoutContext("RoundStarted",
                                        MakeCallback(&SessionRecorder::NoteRoundStarted, this));
    session->TraceConnectWithoutContext("RoundEnded",
                                        MakeCallback(&SessionRecorder::NoteRound, this));
    session->TraceConnectWithoutContext("HandedOut",
                                        MakeCallback(&SessionRecorder::NoteHandedOut, this));
    session->TraceConnectWithoutContext("Replanned",
                                        MakeCallback(&SessionRecorder::NoteReplanned, this));
    session->TraceConnectWithoutContext("RateBelieved",
                                        MakeCallback(&SessionRecorder::NoteBelieved, this));
    network->TraceConnectWithoutContext("LinkChanged",
                                        MakeCallback(&SessionRecorder::NoteLinkChanged, this));
}

void
SessionRecorder::Finish()
{
    for (auto& [place, flow] : m_underWay)
    {
        flow.duration = Simulator::Now() - flow.begin;
        m_record.unfinishedFlows.push_back(flow);
    }
    m_underWay.clear();
}

const SessionRecord&
SessionRecorder::GetRecord() const
{
    return m_record;
}

const std::vector<AllReduceFlow>&
SessionRecorder::GetStarted() const
{
    return m_started;
}

void
SessionRecorder::NoteStarted(const AllReduceFlow& flow)
{
    m_started.push_back(flow);
    m_underWay[GetFlowPlace(flow)] = flow;
}

void
SessionRecorder::NoteFlow(const AllReduceFlow& flow)
{
    m_underWay.erase(GetFlowPlace(flow));
    m_record.flows.push_back(flow);
}

void
SessionRecorder::NoteAborted(const AllReduceFlow& flow)
{
    m_underWay.erase(GetFlowPlace(flow));
    m_record.abortedFlows.push_back(flow);
}

uint32_t
SessionRecorder::GetIteration() const
{
    return m_session->GetDurations().size();
}

void
SessionRecorder::NoteHandedOut(uint32_t first, const std::vector<WorkloadList>& rounds)
{
    m_record.handedOut.resize(GetIteration() + 1);
    auto& handedOut = m_record.handedOut.back();
    handedOut.resize(first);
    handedOut.insert(handedOut.end(), rounds.begin(), rounds.end());
}

void
SessionRecorder::NoteRoundStarted(uint32_t round)
{
    const bool isNext = m_record.handedOut.size() > m_nAllReducesBegun;
    m_nAllReducesBegun = m_record.handedOut.size();
    m_nRoundsBegun = std::max(isNext ? 0 : m_nRoundsBegun, round + 1);
}

void
SessionRecorder::NoteRound(uint32_t round, Time duration)
{
    m_record.roundSpans.push_back({round, Simulator::Now() - duration, duration});
}

RunMark
SessionRecorder::MakeMark(RunMark::Kind kind) const
{
    RunMark mark{};
    mark.kind = kind;
    mark.time = Simulator::Now();
    mark.iteration = GetIteration();
    mark.round = m_nAllReducesBegun > mark.iteration ? m_nRoundsBegun : 0;
    return mark;
}

void
SessionRecorder::NoteReplanned(uint32_t first, const std::string& planner)
{
    RunMark mark = MakeMark(RunMark::REPLANNED);
    mark.round = first + 1;
    mark.planner = planner;
    m_record.marks.push_back(std::move(mark));
}

void
SessionRecorder::NoteLinkChanged(LinkId link, bool isUp)
{
    RunMark mark = MakeMark(isUp ? RunMark::LINK_MENDED : RunMark::LINK_BROKE);
    mark.a = m_network->GetTopology().GetLink(link).a;
    mark.b = m_network->GetTopology().GetLink(link).b;
    m_record.marks.push_back(std::move(mark));
}

void
SessionRecorder::NoteBelieved(DirectedLinkId link, uint64_t before, uint64_t now)
{
    RunMark mark = MakeMark(now < before ? RunMark::SEEMS_SLOWER : RunMark::SEEMS_FASTER);
    mark.a = m_network->GetTopology().GetSource(link);
    mark.b = m_network->GetTopology().GetTarget(link);
    mark.bps = now;
    m_record.marks.push_back(std::move(mark));
}

} // namespace ns3::allreduce
