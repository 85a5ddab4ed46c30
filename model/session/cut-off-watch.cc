/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cut-off-watch.h"

#include "ns3/chunk-needs.h"
#include "ns3/simulator.h"

#include <sstream>

namespace ns3::allreduce
{

std::string
DescribeCutOff(const AllReduceState& state, bool needsAll)
{
    std::ostringstream text;
    for (const NodeId server : FindCutOff(state, needsAll))
    {
        text << (text.tellp() > 0 ? ", " : "") << server;
    }
    const char* rule = state.GetCollective().mayRelay ? "" : " and servers that may not relay";
    return text.str().empty()
               ? ""
               : std::string("cut off by links that are down") + rule + ": server " + text.str();
}

bool
IsMendingDue(const AllReduceState& state, const AllReduceNetwork& network, bool needsAll)
{
    AllReduceState mended = state;
    for (LinkId link = 0; link < network.GetTopology().GetNLinks(); ++link)
    {
        mended.SetLinkUp(link, network.IsLinkUpOrDue(link));
    }
    return FindCutOff(mended, needsAll).empty();
}

void
CutOffWatch::Restart()
{
    m_connectedAt.reset();
    m_waited = Time(0);
}

std::string
CutOffWatch::Find(const CollectiveProgress& progress, bool needsAll)
{
    const uint64_t nUpsets = progress.GetLedger().GetNUpsets();
    if (m_connectedAt == nUpsets)
    {
        return ""; // No link has changed since.
    }
    std::string cutOff = DescribeCutOff(progress.GetState(), needsAll);
    m_connectedAt.reset();
    if (cutOff.empty())
    {
        m_connectedAt = nUpsets;
    }
    return cutOff;
}

void
CutOffWatch::Update(bool isCutOff, bool isBefore)
{
    if (isCutOff && !m_isCutOff)
    {
        m_since = Simulator::Now();
    }
    if (!isCutOff && m_isCutOff && isBefore)
    {
        m_waited += Simulator::Now() - m_since;
    }
    m_isCutOff = isCutOff;
}

bool
CutOffWatch::IsCutOff() const
{
    return m_isCutOff;
}

Time
CutOffWatch::GetWaited() const
{
    return m_waited;
}

} // namespace ns3::allreduce
