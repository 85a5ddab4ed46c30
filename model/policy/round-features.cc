/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "feature-table.h"
#include "policy-features.h"

#include <algorithm>
#include <cmath>

namespace ns3::allreduce
{

/// What the features of a flow-tree are made of.
struct PolicyView::TreeFacts
{
    bool isOpen;        //!< partial sums are left
    uint32_t nLeft;     //!< how many
    uint32_t nFewest;   //!< how many the other open trees have left, at least
    uint32_t height;    //!< depth of the deepest of them
    float left;         //!< share of servers
    float rank;         //!< share of open trees that have fewer left
    float rootSlack;    //!< of the root, in receiving
    float rootOutSlack; //!< of the root, in sending
    float rootCapacity; //!< of the root, against the widest
    float openTrees;    //!< share of trees
    float finalTrees;   //!< share of trees that are final and not begun
    float busyTrees;    //!< share of trees that are being broadcast
    float time;         //!< against the target
    float leastSlack;   //!< of all servers
    float meanSlack;    //!< of all servers
    float roundsLeft;   //!< until the target, up to 20
    float logServers;   //!< log of the number of servers
    float logChunks;    //!< log of chunks over servers
    float urgency;      //!< see PolicyView::GetUrgency
    float earlier;      //!< share of open trees that are due earlier
};

/// What the features of the state are made of.
struct PolicyView::StateFacts
{
    float time;          //!< against the target
    float left;          //!< transfers of partial and final sums, over chunks times servers
    float meanSlack;     //!< of the servers
    float leastSlack;    //!< of the servers
    float without;       //!< share of servers without slack
    float negative;      //!< share of servers with negative slack
    float meanHolders;   //!< share of servers
    float leastHolders;  //!< share of servers
    float openTrees;     //!< share of trees
    float partials;      //!< partial sums left, by transfers left
    float leastOutSlack; //!< of the servers, in sending
    float late;          //!< target, over the first one
    float logServers;    //!< log of the number of servers
    float ports;         //!< of a server
    float logChunks;     //!< log of chunks over servers
    float closed;        //!< share of ports without options
    float roundsLeft;    //!< until the target
    float height;        //!< of the highest open tree
};

namespace
{

using Tree = PolicyView::TreeFacts;
using State = PolicyView::StateFacts;

constexpr Feature<Tree> TREE_FEATURES[] = {
    {"whether its sum is not final yet", [](auto& t) { return t.isOpen ? 1.0F : 0; }},
    {"log of the partial sums that are left", [](auto& t) { return ScaleLog(t.nLeft); }},
    {"share of servers with partial sums that are left", [](auto& t) { return t.left; }},
    {"partial sums that are left, over the fewest of an open tree",
     [](auto& t) { return t.isOpen ? Cap(t.nLeft - t.nFewest, 8) : 0; }},
    {"share of open trees with fewer left", [](auto& t) { return t.rank; }},
    {"depth of its deepest partial sum", [](auto& t) { return t.height / 4.0F; }},
    {"slack of its root", [](auto& t) { return t.rootSlack; }},
    {"slack of its root in sending", [](auto& t) { return t.rootOutSlack; }},
    {"ports of its root, against the most", [](auto& t) { return t.rootCapacity; }},
    {"share of trees that are open", [](auto& t) { return t.openTrees; }},
    {"share of trees that are final and not begun", [](auto& t) { return t.finalTrees; }},
    {"share of trees that are being broadcast", [](auto& t) { return t.busyTrees; }},
    {"time, against the target", [](auto& t) { return t.time; }},
    {"least slack", [](auto& t) { return t.leastSlack; }},
    {"mean slack", [](auto& t) { return t.meanSlack; }},
    {"rounds left, up to 20", [](auto& t) { return t.roundsLeft; }},
    {"log of the number of servers", [](auto& t) { return t.logServers; }},
    {"log of chunks over servers", [](auto& t) { return t.logChunks; }},
    {"how soon it must be worked on to be final when due", [](auto& t) { return t.urgency; }},
    {"share of open trees that are due earlier", [](auto& t) { return t.earlier; }},
};

constexpr Feature<State> VALUE_FEATURES[] = {
    {"time, against the target", [](auto& s) { return s.time; }},
    // Not a share: up to 2. Checkpoints have the name, so that another would not be read any more.
    {"share of all transfers left", [](auto& s) { return s.left; }},
    {"mean slack", [](auto& s) { return s.meanSlack; }},
    {"least slack", [](auto& s) { return s.leastSlack; }},
    {"share of servers without slack", [](auto& s) { return s.without; }},
    {"share of servers with negative slack", [](auto& s) { return s.negative; }},
    {"mean share of holders", [](auto& s) { return s.meanHolders; }},
    {"least share of holders", [](auto& s) { return s.leastHolders; }},
    {"share of trees that are open", [](auto& s) { return s.openTrees; }},
    {"share of transfers left that are partial sums", [](auto& s) { return s.partials; }},
    {"least slack in sending", [](auto& s) { return s.leastOutSlack; }},
    {"target, over the first one", [](auto& s) { return s.late; }},
    {"log of the number of servers", [](auto& s) { return s.logServers; }},
    {"ports of a server", [](auto& s) { return s.ports; }},
    {"log of chunks over servers", [](auto& s) { return s.logChunks; }},
    {"share of ports without options", [](auto& s) { return s.closed; }},
    {"rounds left", [](auto& s) { return s.roundsLeft; }},
    {"height of the highest open tree", [](auto& s) { return s.height; }},
};

/// @return the share of values below another @param sorted ascending @param value the other
float
CountBelow(const std::vector<uint32_t>& sorted, uint32_t value)
{
    return Share(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin(),
                 sorted.size());
}

} // namespace

std::vector<std::vector<std::string>>
ListRoundFeatures()
{
    return {ListNames(TREE_FEATURES), ListNames(VALUE_FEATURES)};
}

/// Facts that are the same for all trees.
PolicyView::TreeFacts
PolicyView::FindForestFacts(std::vector<uint32_t>& lefts, std::vector<uint32_t>& dues) const
{
    const float n = m_state.nServers;
    TreeFacts facts{};
    uint32_t nWaiting = 0;
    uint32_t nBusy = 0;
    for (ChunkId chunk = 0; chunk < m_state.nChunks; ++chunk)
    {
        const uint32_t nLeft = m_state.trees.CountLeft(chunk);
        const uint32_t holders = m_state.spread.GetCounts()[chunk];
        if (nLeft > 0)
        {
            lefts.push_back(nLeft);
            if (!m_state.problem.due.empty())
            {
                dues.push_back(m_state.problem.due[chunk]);
            }
            continue;
        }
        nWaiting += holders == 1;
        nBusy += holders > 1 && holders < m_state.nServers;
    }
    std::sort(lefts.begin(), lefts.end());
    std::sort(dues.begin(), dues.end());
    facts.nFewest = lefts.empty() ? 0 : lefts.front();
    facts.openTrees = Share(lefts.size(), m_state.nChunks);
    facts.finalTrees = Share(nWaiting, m_state.nChunks);
    facts.busyTrees = Share(nBusy, m_state.nChunks);
    facts.time = GetTime();
    facts.leastSlack = 1;
    for (NodeId server = 0; server < m_state.nServers; ++server)
    {
        facts.leastSlack = std::min(facts.leastSlack, GetSlack(server));
        facts.meanSlack += GetSlack(server) / n;
    }
    facts.roundsLeft = Cap(m_state.target - std::min(m_state.target, m_state.round), 20);
    facts.logServers = std::log2(n) / 7;
    facts.logChunks = std::log2(1 + m_state.nChunks / n) / 2;
    return facts;
}

void
PolicyView::WriteTrees(std::vector<float>& rows) const
{
    std::vector<uint32_t> lefts;
    std::vector<uint32_t> dues;
    TreeFacts facts = FindForestFacts(lefts, dues);
    rows.clear();
    for (const ChunkId chunk : m_environment.GetSelectableTrees())
    {
        const NodeId root = m_state.problem.roots[chunk];
        facts.nLeft = m_state.trees.CountLeft(chunk);
        facts.isOpen = facts.nLeft > 0;
        facts.left = facts.nLeft / static_cast<float>(m_state.nServers);
        facts.rank = CountBelow(lefts, facts.nLeft);
        facts.height = m_state.trees.GetHeight(chunk);
        facts.rootSlack = GetSlack(root);
        facts.rootOutSlack = GetOutSlack(root);
        facts.rootCapacity = Share(m_state.network->inCapacity[root], m_state.largestInCapacity);
        facts.urgency = GetUrgency(chunk, facts.height);
        facts.earlier = dues.empty() ? 0 : CountBelow(dues, m_state.problem.due[chunk]);
        Append<TREE_FEATURES>(facts, rows);
    }
}

void
PolicyView::AppendValue(std::vector<float>& rows) const
{
    const float n = m_state.nServers;
    StateFacts facts{};
    facts.time = GetTime();
    facts.left = Share(m_state.nTransfersLeft, double(n) * m_state.nChunks);
    facts.leastSlack = 1;
    facts.leastOutSlack = 1;
    uint64_t nPending = 0;
    for (NodeId server = 0; server < m_state.nServers; ++server)
    {
        const float slack = GetSlack(server);
        facts.meanSlack += slack / n;
        facts.leastSlack = std::min(facts.leastSlack, slack);
        facts.leastOutSlack = std::min(facts.leastOutSlack, GetOutSlack(server));
        facts.without += (slack <= 0) / n;
        facts.negative += (slack < 0) / n;
        nPending += m_state.trees.CountPending(server);
    }
    const std::vector<uint32_t>& holders = m_state.spread.GetCounts();
    facts.meanHolders = m_state.meanHolders / n;
    facts.leastHolders = *std::min_element(holders.begin(), holders.end()) / n;
    uint32_t nOpen = 0;
    for (ChunkId chunk = 0; chunk < m_state.nChunks; ++chunk)
    {
        nOpen += m_state.trees.CountLeft(chunk) > 0;
        facts.height = std::max(facts.height, m_state.trees.GetHeight(chunk) / 4.0F);
    }
    facts.openTrees = Share(nOpen, m_state.nChunks);
    facts.partials = Share(nPending, m_state.nTransfersLeft);
    facts.late = (static_cast<float>(m_state.target) - m_state.firstTarget) / 4;
    facts.logServers = std::log2(n) / 7;
    facts.ports = m_state.totalInCapacity / n / 4;
    facts.logChunks = std::log2(1 + m_state.nChunks / n) / 2;
    uint32_t nClosed = 0;
    for (uint32_t port = 0; port < m_state.network->ports.size(); ++port)
    {
        nClosed += !m_environment.IsOpen(port) &&
                   m_state.nMissing[m_state.network->ports[port].server] > 0;
    }
    facts.closed = Share(nClosed, m_state.network->ports.size());
    facts.roundsLeft = (static_cast<float>(m_state.target) - m_state.round) / 20;
    Append<VALUE_FEATURES>(facts, rows);
}

} // namespace ns3::allreduce
