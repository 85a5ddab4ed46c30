/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-recorder.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

std::pair<uint32_t, uint32_t>
GetPlace(const AllReduceFlow& flow)
{
    return {flow.round, flow.position};
}

} // namespace

RunRecorder::RunRecorder(ExperimentResult& result)
    : m_result(result)
{
}

void
RunRecorder::Watch(Ptr<AllReduceNetwork> network,
                   Ptr<AllReduceSession> session,
                   const ApplicationContainer& applications)
{
    m_network = network;
    m_session = session;
    for (uint32_t i = 0; i < applications.GetN(); ++i)
    {
        const Ptr<Application> application = applications.Get(i);
        application->TraceConnectWithoutContext("FlowStarted",
                                                MakeCallback(&RunRecorder::NoteStarted, this));
        application->TraceConnectWithoutContext("FlowFinished",
                                                MakeCallback(&RunRecorder::NoteFlow, this));
        application->TraceConnectWithoutContext("FlowAborted",
                                                MakeCallback(&RunRecorder::NoteAborted, this));
    }
    session->TraceConnectWithoutContext("RoundStarted",
                                        MakeCallback(&RunRecorder::NoteRoundStarted, this));
    session->TraceConnectWithoutContext("RoundEnded", MakeCallback(&RunRecorder::NoteRound, this));
    session->TraceConnectWithoutContext("HandedOut",
                                        MakeCallback(&RunRecorder::NoteHandedOut, this));
    session->TraceConnectWithoutContext("Replanned",
                                        MakeCallback(&RunRecorder::NoteReplanned, this));
    network->TraceConnectWithoutContext("LinkChanged",
                                        MakeCallback(&RunRecorder::NoteLinkChanged, this));
}

void
RunRecorder::Finish()
{
    for (auto& [place, flow] : m_underWay)
    {
        flow.duration = Simulator::Now() - flow.begin;
        m_result.unfinishedFlows.push_back(flow);
    }
    m_underWay.clear();
}

const std::vector<AllReduceFlow>&
RunRecorder::GetStarted() const
{
    return m_started;
}

void
RunRecorder::NoteStarted(const AllReduceFlow& flow)
{
    m_started.push_back(flow);
    m_underWay[GetPlace(flow)] = flow;
}

void
RunRecorder::NoteFlow(const AllReduceFlow& flow)
{
    m_underWay.erase(GetPlace(flow));
    m_result.flows.push_back(flow);
}

void
RunRecorder::NoteAborted(const AllReduceFlow& flow)
{
    m_underWay.erase(GetPlace(flow));
    m_result.abortedFlows.push_back(flow);
}

uint32_t
RunRecorder::GetIteration() const
{
    return m_session->GetDurations().size();
}

void
RunRecorder::NoteHandedOut(uint32_t first, const std::vector<WorkloadList>& rounds)
{
    m_result.handedOut.resize(GetIteration() + 1);
    auto& handedOut = m_result.handedOut.back();
    handedOut.resize(first);
    handedOut.insert(handedOut.end(), rounds.begin(), rounds.end());
}

void
RunRecorder::NoteRoundStarted(uint32_t round)
{
    const bool isNext = m_result.handedOut.size() > m_nAllReducesBegun;
    m_nAllReducesBegun = m_result.handedOut.size();
    m_nRoundsBegun = std::max(isNext ? 0 : m_nRoundsBegun, round + 1);
}

void
RunRecorder::NoteRound(uint32_t round, Time duration)
{
    m_result.roundSpans.push_back({round, Simulator::Now() - duration, duration});
}

RunMark
RunRecorder::MakeMark(RunMark::Kind kind) const
{
    RunMark mark{};
    mark.kind = kind;
    mark.time = Simulator::Now();
    mark.iteration = GetIteration();
    mark.round = m_nAllReducesBegun > mark.iteration ? m_nRoundsBegun : 0;
    return mark;
}

void
RunRecorder::NoteReplanned(uint32_t first, const std::string& planner)
{
    RunMark mark = MakeMark(RunMark::REPLANNED);
    mark.round = first + 1;
    mark.planner = planner;
    m_result.marks.push_back(std::move(mark));
}

void
RunRecorder::NoteLinkChanged(LinkId link, bool isUp)
{
    RunMark mark = MakeMark(isUp ? RunMark::LINK_MENDED : RunMark::LINK_BROKE);
    mark.a = m_network->GetTopology().GetLink(link).a;
    mark.b = m_network->GetTopology().GetLink(link).b;
    m_result.marks.push_back(std::move(mark));
}

} // namespace ns3::allreduce
