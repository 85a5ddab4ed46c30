/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "live-play.h"

#include "ns3/allreduce-error.h"
#include "ns3/chunk-needs.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ns3::allreduce
{

LivePlay::LivePlay(const Topology& topology,
                   const Collective& collective,
                   Ptr<AllReduceScheduler> scheduler,
                   std::vector<WorkloadList> plan,
                   const LiveTroubles& troubles,
                   TestRandom& random)
    : m_topology(topology),
      m_scheduler(scheduler),
      m_plan(std::move(plan)),
      m_troubles(troubles),
      m_random(random),
      m_progress(topology, collective, true),
      m_dispatcher(topology, scheduler, m_progress.GetState(), CHUNK_BITS / 8),
      m_fluid(topology),
      m_isReady(topology.GetNServers(), true)
{
    m_progress.CarryData(std::vector<uint64_t>(collective.GetNChunks(), CHUNK_BYTES));
    for (NodeId server = 1; server < topology.GetNServers() && troubles.areLate; ++server)
    {
        m_isReady[server] = Draw(random, 4) != 0;
        m_dispatcher.SetReady(server, m_isReady[server]);
    }
    double rates = 0;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            rates += topology.GetLinkOf(port.out).rateBps;
        }
    }
    const double bits = 2 * CHUNK_BITS * collective.GetNChunks() * topology.GetNServers();
    m_meanGap = bits / rates / (troubles.nSurprises + 1);
}

void
LivePlay::BreakFirst()
{
    for (LinkId link = 0; link < m_topology.GetNLinks(); ++link)
    {
        SetLinkUp(link, Draw(m_random, 4) != 0);
    }
}

std::string
LivePlay::Play()
{
    return GetError([this] {
        m_dispatcher.Begin(m_plan);
        while (!m_progress.GetState().IsDone())
        {
            BeginAll();
            if (m_flows.empty() && CanGoOn())
            {
                GoOn();
            }
            Step();
        }
        const std::string wrong = m_progress.FindWrong([](NodeId) { return true; });
        if (!wrong.empty())
        {
            FailInput(wrong);
        }
    });
}

uint32_t
LivePlay::GetNBegun() const
{
    return m_nBegun;
}

double
LivePlay::GetSeconds() const
{
    return m_fluid.GetSeconds();
}

void
LivePlay::BeginAll()
{
    CompleteArrived();
    while (const auto index = m_dispatcher.BeginNext())
    {
        BeginOne(*index);
        CompleteArrived();
    }
}

void
LivePlay::BeginOne(uint32_t index)
{
    const uint32_t nServers = m_topology.GetNServers();
    const uint32_t nChunks = m_progress.GetState().GetNChunks();
    // Trees that are changed can make a chunk go a longer way, but each change only a bit.
    if (++m_nBegun > 4 * nServers * nChunks * (2 + m_troubles.nSurprises) + m_nLost)
    {
        FailInput("does not come to an end: ", m_nBegun, " transfers have begun");
    }
    const Workload workload = m_dispatcher.Get(index);
    CheckPath(workload);
    Flow flow;
    flow.transfer = m_progress.Begin(workload);
    flow.transfer.contents = m_progress.TakeData(workload);
    flow.links = FindLinks(m_topology, workload.path);
    if (m_troubles.isFluid)
    {
        flow.flow = m_fluid.Begin(flow.links, m_dispatcher.GetRate(index), CHUNK_BITS);
    }
    m_flows.emplace(index, std::move(flow));
}

void
LivePlay::CheckPath(const Workload& workload) const
{
    for (const NodeId server : {workload.GetSource(), workload.GetTarget()})
    {
        if (!m_isReady[server])
        {
            FailInput(Describe(workload), ": server ", server, " is not ready");
        }
    }
    for (const DirectedLinkId link : FindLinks(m_topology, workload.path))
    {
        if (!m_progress.GetState().IsLinkUp(GetLinkId(link)))
        {
            FailInput(Describe(workload), ": a link is down");
        }
    }
}

void
LivePlay::CompleteArrived()
{
    while (const auto index = m_dispatcher.CompleteNext())
    {
        const auto arrival = m_arrived.extract(*index);
        const CollectiveProgress::Transfer& transfer = arrival.mapped().transfer;
        m_progress.Complete(transfer, m_dispatcher.Get(*index), *transfer.contents.payload);
    }
}

/// Nothing is under way: a session asks once more, as if all began anew.
void
LivePlay::GoOn()
{
    std::size_t nListed = 0;
    for (const WorkloadList& round : m_dispatcher.ListRounds())
    {
        nListed += round.GetSize();
    }
    if (nListed != m_dispatcher.GetSize())
    {
        FailInput("rounds have ", nListed, " transfers, expected ", m_dispatcher.GetSize());
    }
    m_dispatcher.Begin({WorkloadList()});
    BeginAll();
    if (m_flows.empty())
    {
        FailInput("chooses nothing, although ",
                  m_progress.GetState().GetNMissing(),
                  " sums are missing");
    }
}

/// @return whether something is left to be done by servers that are ready, over links that are up
bool
LivePlay::CanGoOn() const
{
    AllReduceState state = m_progress.GetState();
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        for (const Topology::Port& port : m_topology.GetPorts(server))
        {
            if (!m_isReady[server])
            {
                state.SetLinkUp(GetLinkId(port.out), false);
            }
        }
    }
    return !state.IsDone() && FindCutOff(state, false).empty();
}

void
LivePlay::Step()
{
    if (m_flows.empty() && !m_progress.GetState().IsDone())
    {
        m_troubles.nSurprises > 0 ? Surprise() : MendAll();
    }
    else if (m_troubles.isFluid)
    {
        StepFluid();
    }
    else if (m_troubles.nSurprises > 0 && Draw(m_random, 4) == 0)
    {
        Surprise();
    }
    else if (!m_flows.empty())
    {
        const uint32_t index = DrawFlow();
        if (!m_flows.at(index).isSent && Draw(m_random, 2) == 0)
        {
            m_flows.at(index).isSent = true;
            m_dispatcher.FreePorts(index);
        }
        else
        {
            Deliver(index);
        }
    }
}

void
LivePlay::StepFluid()
{
    const double end = m_fluid.GetNextEnd();
    if (m_troubles.nSurprises > 0 && m_nextSurprise <= end)
    {
        AdvanceClock(std::max(m_nextSurprise, m_fluid.GetSeconds()));
        m_nextSurprise = m_fluid.GetSeconds() + m_meanGap * 0.01 * Draw(m_random, 200);
        Surprise();
        return;
    }
    AdvanceClock(end);
}

void
LivePlay::AdvanceClock(double until)
{
    const Time wait = Seconds(until) - Simulator::Now();
    if (wait.IsStrictlyPositive())
    {
        Simulator::Stop(wait);
        Simulator::Run();
    }
    for (const FluidNetwork::FlowId ended : m_fluid.Advance(until))
    {
        const auto flow = std::find_if(m_flows.begin(), m_flows.end(), [&](const auto& entry) {
            return entry.second.flow == ended;
        });
        Deliver(flow->first);
    }
}

void
LivePlay::Deliver(uint32_t index)
{
    m_arrived.insert(m_flows.extract(index));
    m_dispatcher.NotifyArrived(index);
    CompleteArrived();
}

void
LivePlay::Drop(uint32_t index)
{
    Flow flow = std::move(m_flows.extract(index).mapped());
    if (m_troubles.isFluid)
    {
        m_fluid.Abort(flow.flow);
    }
    m_progress.Abort(std::move(flow.transfer), m_dispatcher.Get(index));
    m_dispatcher.Drop(index);
    ++m_nLost;
}

void
LivePlay::Surprise()
{
    --m_troubles.nSurprises;
    const LinkId link = Draw(m_random, m_topology.GetNLinks());
    const NodeId server = Draw(m_random, m_topology.GetNServers());
    switch (Draw(m_random, 6))
    {
    case 0:
        SetLinkUp(link, !m_troubles.hasOutages);
        break;
    case 1:
        SetLinkUp(link, true);
        break;
    case 2:
        ChangeRates();
        break;
    case 3:
        m_isReady[server] = true;
        m_dispatcher.SetReady(server, true);
        break;
    case 4:
        if (!m_flows.empty())
        {
            Drop(DrawFlow());
        }
        break;
    default:
        m_dispatcher.NotifySurprise();
    }
}

/// Links have other rates, and something is believed of them that may be true.
void
LivePlay::ChangeRates()
{
    const std::vector<double> factors = {1, 1, 1, 2, 3, 10, 100, 1e4, 1e7};
    std::vector<uint64_t> believed;
    for (DirectedLinkId link = 0; link < m_topology.GetNDirectedLinks(); ++link)
    {
        const uint64_t announced = m_topology.GetLinkOf(link).rateBps;
        const double factor = factors[Draw(m_random, factors.size())];
        const bool isKnown = Draw(m_random, 4) != 0;
        m_fluid.SetRate(link, announced / factor);
        believed.push_back(announced /
                           (isKnown ? factor : factors[Draw(m_random, factors.size())]));
    }
    m_dispatcher.SetBelieved(believed);
}

void
LivePlay::SetLinkUp(LinkId link, bool isUp)
{
    if (m_progress.GetState().IsLinkUp(link) == isUp)
    {
        return;
    }
    m_progress.SetLinkUp(link, isUp);
    std::vector<uint32_t> lost;
    for (const auto& [index, flow] : m_flows)
    {
        const bool isOver = std::any_of(flow.links.begin(), flow.links.end(), [&](auto directed) {
            return GetLinkId(directed) == link;
        });
        if (isOver && !isUp)
        {
            lost.push_back(index);
        }
    }
    for (const uint32_t index : lost)
    {
        Drop(index);
    }
    m_dispatcher.NotifySurprise();
}

void
LivePlay::MendAll()
{
    for (LinkId link = 0; link < m_topology.GetNLinks(); ++link)
    {
        SetLinkUp(link, true);
    }
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        m_isReady[server] = true;
        m_dispatcher.SetReady(server, true);
    }
}

uint32_t
LivePlay::DrawFlow()
{
    return std::next(m_flows.begin(), Draw(m_random, m_flows.size()))->first;
}

} // namespace ns3::allreduce
