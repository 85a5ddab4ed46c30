/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "feature-table.h"
#include "policy-features.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3::allreduce
{

/// What the features of a port are made of.
struct PolicyView::PortFacts
{
    uint32_t nSenders;        //!< who could send to it
    uint32_t nFinals;         //!< final sums it could receive
    uint32_t nPartials;       //!< partial sums it could receive
    float slack;              //!< of its server
    float regionSlack;        //!< of its server's tightest region
    float missing;            //!< share of workloads that its server must yet receive
    float open;               //!< share of its server's ports
    uint32_t fewestCompeting; //!< ports that compete for a sender, at least
    float meanShare;          //!< mean of one over the ports that compete for a sender
    uint32_t leastDistance;   //!< of a sender
    float isDirect;           //!< between servers
    uint32_t nElsewhere;      //!< options at its server's other ports
    float rarest;             //!< final sum, against the mean
    float time;               //!< against the target
    float freeOut;            //!< share of its server's out-ports
    uint32_t nNearest;        //!< senders at the least distance
    float outSlack;           //!< of its server, in sending
    float isLeaving;          //!< what is offered lets a server leave a core
    float capacity;           //!< of its server, against the widest
    float price;              //!< of its link, in the proof of the bound
};

/// What the features of a sender are made of.
struct PolicyView::SenderFacts
{
    uint32_t nCompeting;  //!< ports that compete for it
    uint32_t distance;    //!< from the port
    uint32_t detour;      //!< distance over the least one
    uint32_t nFinals;     //!< final sums it could send
    uint32_t nPartials;   //!< partial sums it could send
    float rarest;         //!< final sum, against the mean
    float rare;           //!< share of its final sums that are rarer than the mean
    float freeOut;        //!< share of its out-ports
    float openShare;      //!< share of its in-ports
    float missing;        //!< share of workloads that it must yet receive
    float time;           //!< against the target
    uint32_t nCandidates; //!< senders
    PathPressure path;    //!< to the port
    float openPorts;      //!< share of all ports
    float regionSlack;    //!< of the regions that it would send into
    float outSlack;       //!< of the sender, in sending
    float slack;          //!< of the sender, in receiving
    float isLeaving;      //!< what is offered lets a server leave a core
};

/// What the features of an item are made of.
struct PolicyView::ItemFacts
{
    bool isPartial;         //!< to be merged
    float isLeaving;        //!< a final sum that lets the receiver leave a core
    float isNotBegun;       //!< the sender is the root and nobody else has it
    float holders;          //!< share of servers that have the final sum
    float overMean;         //!< holders, against the mean
    float gain;             //!< holders won in this round
    ChunkSpread::Lack lack; //!< of the final sum around the receiver
    float frontier;         //!< share of those lacking it that it has come near to
    float time;             //!< against the target
    float slack;            //!< of the receiver
    float outSlack;         //!< of the sender
    float regionSlack;      //!< of the regions that it would be new to
    uint32_t nLeft;         //!< partial sums of the chunk that are left
    uint32_t height;        //!< depth of the deepest of them
    uint32_t depth;         //!< of the sender in the tree
    uint32_t nBlocked;      //!< partial sums that the receiver still waits for
    float isLast;           //!< the chunk is final after it
    float isRoot;           //!< the receiver is the root
    float logRarity;        //!< log of servers over holders
    float isDetour;         //!< the receiver's part has it, the sender is in another one
    float urgency;          //!< of a partial sum, see PolicyView::GetUrgency
};

namespace
{

using Port = PolicyView::PortFacts;
using Sender = PolicyView::SenderFacts;
using Item = PolicyView::ItemFacts;

// Checkpoints contain these names, so they stay as they are: "way" means path.
constexpr Feature<Port> PORT_FEATURES[] = {
    {"one over its possible senders", [](auto& p) { return 1.0F / p.nSenders; }},
    {"possible senders, up to 8", [](auto& p) { return Cap(p.nSenders, 8); }},
    {"log of the final sums it could receive", [](auto& p) { return ScaleLog(p.nFinals); }},
    {"log of the partial sums it could receive", [](auto& p) { return ScaleLog(p.nPartials); }},
    {"slack of its server", [](auto& p) { return p.slack; }},
    {"whether its server has no slack left", [](auto& p) { return p.slack <= 0 ? 1.0F : 0; }},
    {"slack of its server's tightest region", [](auto& p) { return p.regionSlack; }},
    {"slack of its server in sending", [](auto& p) { return p.outSlack; }},
    {"share of chunks its server misses", [](auto& p) { return p.missing; }},
    {"share of its server's ports still open", [](auto& p) { return p.open; }},
    {"share of its server's out-ports still free", [](auto& p) { return p.freeOut; }},
    {"ports of its server, against the most", [](auto& p) { return p.capacity; }},
    {"price of its link", [](auto& p) { return p.price; }},
    {"one over the fewest ports that compete for a sender",
     [](auto& p) { return 1.0F / p.fewestCompeting; }},
    {"mean of one over the ports that compete for a sender", [](auto& p) { return p.meanShare; }},
    {"distance of the nearest sender", [](auto& p) { return p.leastDistance / 4.0F; }},
    {"senders at the least distance, up to 8", [](auto& p) { return Cap(p.nNearest, 8); }},
    {"whether it is a direct link between servers", [](auto& p) { return p.isDirect; }},
    {"options at its server's other ports, up to 16",
     [](auto& p) { return Cap(p.nElsewhere, 16); }},
    {"rarest final sum it could receive, against the mean", [](auto& p) { return p.rarest; }},
    {"time, against the target", [](auto& p) { return p.time; }},
    {"whether what is offered lets a server leave a core", [](auto& p) { return p.isLeaving; }},
};

constexpr Feature<Sender> SENDER_FEATURES[] = {
    {"one over the ports that compete for it", [](auto& s) { return 1.0F / s.nCompeting; }},
    {"ports that compete for it, up to 8", [](auto& s) { return Cap(s.nCompeting, 8); }},
    {"its distance", [](auto& s) { return s.distance / 4.0F; }},
    {"its distance, over the least one", [](auto& s) { return s.detour / 2.0F; }},
    {"whether it is a direct link between servers",
     [](auto& s) { return s.distance == 1 ? 1.0F : 0; }},
    {"log of the final sums it could send", [](auto& s) { return ScaleLog(s.nFinals); }},
    {"log of the partial sums it could send", [](auto& s) { return ScaleLog(s.nPartials); }},
    {"rarest final sum it could send, against the mean", [](auto& s) { return s.rarest; }},
    {"share of its final sums that are rarer than the mean", [](auto& s) { return s.rare; }},
    {"share of its out-ports still free", [](auto& s) { return s.freeOut; }},
    {"share of its in-ports still open", [](auto& s) { return s.openShare; }},
    {"share of chunks it misses itself", [](auto& s) { return s.missing; }},
    {"its slack in sending", [](auto& s) { return s.outSlack; }},
    {"its slack in receiving", [](auto& s) { return s.slack; }},
    {"price of the way", [](auto& s) { return s.path.price / 2; }},
    {"time, against the target", [](auto& s) { return s.time; }},
    {"one over the number of candidates", [](auto& s) { return 1.0F / s.nCandidates; }},
    {"sum of one over the free links at the switches on the way",
     [](auto& s) { return s.path.contention; }},
    {"largest demand for a link on the way", [](auto& s) { return s.path.largest; }},
    {"sum of demands for the links on the way", [](auto& s) { return s.path.sum; }},
    {"share of ports with options", [](auto& s) { return s.openPorts; }},
    {"least slack of the regions that it would send into", [](auto& s) { return s.regionSlack; }},
    {"whether what is offered lets a server leave a core", [](auto& s) { return s.isLeaving; }},
};

constexpr Feature<Item> ITEM_FEATURES[] = {
    {"whether it is a partial sum", [](auto& i) { return i.isPartial ? 1.0F : 0; }},
    {"whether it lets the receiver leave a core", [](auto& i) { return i.isLeaving; }},
    {"time, against the target", [](auto& i) { return i.time; }},
    {"slack of the receiver", [](auto& i) { return i.slack; }},
    {"slack of the sender in sending", [](auto& i) { return i.outSlack; }},
    {"final: least slack of the regions that it would be new to",
     [](auto& i) { return i.regionSlack; }},
    {"final: whether it enters a part of the network that has it",
     [](auto& i) { return i.isDetour; }},
    {"final: share of servers that have it", [](auto& i) { return i.holders; }},
    {"final: holders, against the mean", [](auto& i) { return i.overMean; }},
    {"final: whether its broadcast has not begun", [](auto& i) { return i.isNotBegun; }},
    {"final: log of servers over holders", [](auto& i) { return i.logRarity; }},
    {"final: holders won in this round", [](auto& i) { return i.gain; }},
    {"final: share of the receiver's neighbors that lack it",
     [](auto& i) { return i.lack.nearest; }},
    {"final: share of the servers two hops away that lack it",
     [](auto& i) { return i.lack.aroundTwo; }},
    {"final: the most lacking at one of the receiver's other ports",
     [](auto& i) { return i.lack.mostElsewhere; }},
    {"final: share lacking it at this port", [](auto& i) { return i.lack.atPort; }},
    {"final: share of the receiver's direct neighbors that lack it",
     [](auto& i) { return i.lack.direct; }},
    {"final: share of the receiver's neighbors that it newly comes near to",
     [](auto& i) { return i.lack.newlyCovered; }},
    {"final: share of those lacking it that it has come near to",
     [](auto& i) { return i.frontier; }},
    {"partial: log of the partial sums that are left",
     [](auto& i) { return i.isPartial ? ScaleLog(i.nLeft) : 0; }},
    {"partial: whether it is the last one", [](auto& i) { return i.isLast; }},
    {"partial: whether the receiver is the root", [](auto& i) { return i.isRoot; }},
    {"partial: its depth", [](auto& i) { return i.depth / 4.0F; }},
    {"partial: whether it is the deepest one",
     [](auto& i) { return i.isPartial && i.depth == i.height ? 1.0F : 0; }},
    {"partial: others that the receiver waits for, up to 4",
     [](auto& i) { return i.isPartial ? Cap(i.nBlocked, 4) : 0; }},
    {"partial: how soon it must leave to be there when due", [](auto& i) { return i.urgency; }},
};

} // namespace

std::vector<std::vector<std::string>>
ListPickFeatures()
{
    return {ListNames(PORT_FEATURES), ListNames(SENDER_FEATURES), ListNames(ITEM_FEATURES)};
}

PolicyView::PortFacts
PolicyView::FindPortFacts(uint32_t port) const
{
    const PortOptions& options = m_environment.GetOptions(port);
    const InPort& here = m_state.network->ports[port];
    PortFacts facts{};
    facts.nSenders = options.senders.size();
    facts.nFinals = options.nFinals;
    facts.nPartials = options.nPartials;
    facts.slack = GetSlack(here.server);
    facts.regionSlack = ScaleSlack(m_state.regions.CountSlack(here.server, GetRoomLeft()));
    facts.missing = Share(m_state.nMissing[here.server], m_state.nChunks);
    facts.open = Share(m_state.nFreeIn[here.server], m_state.network->inCapacity[here.server]);
    facts.fewestCompeting = std::numeric_limits<uint32_t>::max();
    for (const PortSender& sender : options.senders)
    {
        const uint32_t nCompeting = std::max(1U, m_environment.CountCompeting(sender.out));
        facts.fewestCompeting = std::min(facts.fewestCompeting, nCompeting);
        facts.meanShare += 1.0F / nCompeting / options.senders.size();
        facts.nNearest += sender.distance == options.leastDistance;
    }
    facts.leastDistance = options.leastDistance;
    facts.isDirect = here.isDirect;
    for (uint32_t p = m_state.network->firstPort[here.server];
         p < m_state.network->firstPort[here.server + 1];
         ++p)
    {
        facts.nElsewhere += p != port ? m_environment.GetOptions(p).senders.size() : 0;
    }
    facts.rarest = std::min(4.0F, Share(options.rarest, m_state.meanHolders));
    facts.time = GetTime();
    facts.freeOut = Share(CountFreeOut(here.server), m_state.network->outCapacity[here.server]);
    facts.outSlack = GetOutSlack(here.server);
    facts.isLeaving = IsLeaving();
    facts.capacity = Share(m_state.network->inCapacity[here.server], m_state.largestInCapacity);
    facts.price = m_state.problem.prices[GetLinkId(here.link)];
    return facts;
}

void
PolicyView::AppendPort(uint32_t port, std::vector<float>& rows) const
{
    Append<PORT_FEATURES>(FindPortFacts(port), rows);
}

PolicyView::PathPressure
PolicyView::FindPressure(uint32_t port, const PortSender& sender) const
{
    const Topology& topology = m_state.topology;
    const PortOptions& options = m_environment.GetOptions(port);
    PathPressure pressure;
    NodeId node = topology.GetTarget(sender.out);
    pressure.price = m_state.problem.prices[sender.out / 2];
    while (!topology.IsServer(node))
    {
        const DirectedLinkId link = options.towards[node - m_state.nServers];
        const NodeId next = topology.GetTarget(link);
        pressure.price += m_state.problem.prices[GetLinkId(link)];
        if (!topology.IsServer(next))
        {
            uint32_t nFree = 0;
            for (const Topology::Port& other : topology.GetPorts(node))
            {
                nFree += !topology.IsServer(other.neighbor) && m_state.free[other.out] > 0;
            }
            const float demand =
                Share(m_environment.CountDemand(link), m_state.network->ports.size());
            pressure.contention += 1.0F / std::max(1U, nFree);
            pressure.largest = std::max(pressure.largest, demand);
            pressure.sum += demand;
        }
        node = next;
    }
    return pressure;
}

PolicyView::SenderFacts
PolicyView::FindSenderFacts(uint32_t port, const PortSender& sender) const
{
    const PortOptions& options = m_environment.GetOptions(port);
    const NodeId receiver = m_state.network->ports[port].server;
    SenderFacts facts{};
    facts.nCompeting = std::max(1U, m_environment.CountCompeting(sender.out));
    facts.distance = sender.distance;
    facts.detour = sender.distance - options.leastDistance;
    uint32_t rarest = std::numeric_limits<uint32_t>::max();
    uint32_t nRare = 0;
    for (std::size_t i = 0; i < m_state.sendable.GetRowWords(); ++i)
    {
        const uint64_t word =
            m_environment.GetOffered().GetFinals(m_state, sender.server, receiver, i);
        ForEachBit(&word, 1, [&](uint32_t bit) {
            const uint32_t holders = m_state.spread.GetCounts()[i * BitMatrix::WORD_BITS + bit];
            ++facts.nFinals;
            rarest = std::min(rarest, holders);
            nRare += holders < m_state.meanHolders;
        });
    }
    facts.nPartials = m_environment.GetOffered().CountPartials(m_state, sender.server, receiver);
    facts.rarest = facts.nFinals > 0 ? std::min(4.0F, Share(rarest, m_state.meanHolders)) : 0;
    facts.rare = Share(nRare, facts.nFinals);
    facts.freeOut = Share(CountFreeOut(sender.server), m_state.network->outCapacity[sender.server]);
    facts.openShare =
        Share(m_state.nFreeIn[sender.server], m_state.network->inCapacity[sender.server]);
    facts.missing = Share(m_state.nMissing[sender.server], m_state.nChunks);
    facts.time = GetTime();
    facts.nCandidates = options.senders.size();
    facts.path = FindPressure(port, sender);
    facts.openPorts = Share(m_environment.GetOpenPorts().size(), m_state.network->ports.size());
    facts.regionSlack =
        ScaleSlack(m_state.regions.CountSlack(sender.server, receiver, GetRoomLeft()));
    facts.outSlack = GetOutSlack(sender.server);
    facts.slack = GetSlack(sender.server);
    facts.isLeaving = IsLeaving();
    return facts;
}

void
PolicyView::WriteSenders(uint32_t port, std::vector<float>& rows) const
{
    rows.clear();
    for (const PortSender& sender : m_environment.GetOptions(port).senders)
    {
        Append<SENDER_FEATURES>(FindSenderFacts(port, sender), rows);
    }
}

PolicyView::ItemFacts
PolicyView::FindItemFacts(uint32_t port, const PortSender& sender, uint32_t item) const
{
    const NodeId receiver = m_state.network->ports[port].server;
    const float n = m_state.nServers;
    ItemFacts facts{};
    facts.isPartial = item >= m_state.nChunks;
    facts.isLeaving = IsLeaving();
    facts.time = GetTime();
    facts.slack = GetSlack(receiver);
    facts.outSlack = GetOutSlack(sender.server);
    if (facts.isPartial)
    {
        const ChunkId chunk = item - m_state.nChunks;
        facts.nLeft = m_state.trees.CountLeft(chunk);
        facts.isLast = facts.nLeft == 1;
        facts.height = m_state.trees.GetHeight(chunk);
        facts.depth = m_state.trees.GetDepth(sender.server, chunk);
        facts.nBlocked = m_state.trees.CountAwaited(receiver, chunk) - 1;
        facts.isRoot = receiver == m_state.problem.roots[chunk];
        facts.urgency = GetUrgency(chunk, facts.depth);
        return facts;
    }
    const uint32_t holders = m_state.spread.GetCounts()[item];
    facts.holders = holders / n;
    facts.overMean = 4 * (holders - static_cast<float>(m_state.meanHolders)) / n;
    facts.gain = (holders - m_state.nHoldersBefore[item]) / 4.0F;
    facts.isNotBegun = holders == 1;
    facts.logRarity = std::log2(n / holders) / 7;
    const std::vector<uint32_t>& partOf = m_state.problem.partOf;
    facts.isDetour =
        partOf[sender.server] != partOf[receiver] && m_state.isInPart.Test(partOf[receiver], item);
    facts.lack = m_state.spread.FindLack(port, item);
    facts.frontier = Share(m_state.spread.CountFrontier(item), n - holders);
    facts.regionSlack =
        ScaleSlack(m_state.regions.CountSlack(sender.server, receiver, item, GetRoomLeft()));
    return facts;
}

void
PolicyView::WriteItems(uint32_t port,
                       const PortSender& sender,
                       const std::vector<uint32_t>& items,
                       std::vector<float>& rows) const
{
    rows.clear();
    for (const uint32_t item : items)
    {
        Append<ITEM_FEATURES>(FindItemFacts(port, sender, item), rows);
    }
}

} // namespace ns3::allreduce
