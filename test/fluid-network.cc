/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "fluid-network.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

FluidNetwork::FluidNetwork(const Topology& topology)
{
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        m_rates.push_back(topology.GetLinkOf(link).rateBps);
    }
}

void
FluidNetwork::SetRate(DirectedLinkId link, double bps)
{
    m_rates[link] = bps;
    Share();
}

FluidNetwork::FlowId
FluidNetwork::Begin(const std::vector<DirectedLinkId>& links, double paceBps, double bits)
{
    m_flows[m_next] = {links, paceBps, bits, 0, 0};
    Share();
    return m_next++;
}

void
FluidNetwork::Abort(FlowId flow)
{
    m_flows.erase(flow);
    Share();
}

double
FluidNetwork::GetBits(FlowId flow) const
{
    return m_flows.at(flow).done;
}

double
FluidNetwork::GetBps(FlowId flow) const
{
    return m_flows.at(flow).rate;
}

double
FluidNetwork::GetSeconds() const
{
    return m_seconds;
}

double
FluidNetwork::GetEnd(const Flow& flow) const
{
    return flow.rate > 0 ? m_seconds + (flow.size - flow.done) / flow.rate
                         : std::numeric_limits<double>::infinity();
}

double
FluidNetwork::GetNextEnd() const
{
    double next = std::numeric_limits<double>::infinity();
    for (const auto& [id, flow] : m_flows)
    {
        next = std::min(next, GetEnd(flow));
    }
    return next;
}

std::vector<FluidNetwork::FlowId>
FluidNetwork::Advance(double until)
{
    std::vector<FlowId> ended;
    for (auto& [id, flow] : m_flows)
    {
        if (GetEnd(flow) <= until)
        {
            ended.push_back(id);
        }
        flow.done = std::min(flow.size, flow.done + flow.rate * (until - m_seconds));
    }
    m_seconds = until;
    for (const FlowId id : ended)
    {
        m_flows.erase(id);
    }
    if (!ended.empty())
    {
        Share();
    }
    return ended;
}

/// Give all flows the same, and more and more of it, until a link is full or a sender's pace is
/// reached; then go on with the others.
void
FluidNetwork::Share()
{
    std::vector<double> left = m_rates;
    std::vector<uint32_t> nFlows(m_rates.size(), 0);
    std::vector<Flow*> open;
    for (auto& [id, flow] : m_flows)
    {
        open.push_back(&flow);
        for (const DirectedLinkId link : flow.links)
        {
            ++nFlows[link];
        }
    }
    const auto getLevel = [&](const Flow& flow) {
        double level = flow.pace;
        for (const DirectedLinkId link : flow.links)
        {
            level = std::min(level, left[link] / nFlows[link]);
        }
        return level;
    };
    while (!open.empty())
    {
        const auto least = std::min_element(open.begin(), open.end(), [&](Flow* x, Flow* y) {
            return getLevel(*x) < getLevel(*y);
        });
        Flow& flow = **least;
        flow.rate = getLevel(flow);
        for (const DirectedLinkId link : flow.links)
        {
            left[link] = std::max(0.0, left[link] - flow.rate);
            --nFlows[link];
        }
        open.erase(least);
    }
}

} // namespace ns3::allreduce
