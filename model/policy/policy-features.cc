/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-features.h"

#include "feature-scale.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace ns3::allreduce
{

/// What the features of a port are made of.
struct PolicyView::PortFacts
{
    uint32_t nSenders;      //!< who could send to it
    uint32_t nFinals;       //!< final sums it could receive
    uint32_t nPartials;     //!< partial sums it could receive
    float slack;            //!< of its server
    float regionSlack;      //!< of its server's tightest region
    float missing;          //!< share of workloads that its server must yet receive
    float open;             //!< share of its server's ports
    uint32_t fewestRivals;  //!< ports that compete for a sender, at least
    float meanShare;        //!< mean of one over the ports that compete for a sender
    uint32_t leastDistance; //!< of a sender
    bool isDirect;          //!< between servers
    uint32_t nElsewhere;    //!< options at its server's other ports
    float rarest;           //!< final sum, against the mean
    float time;             //!< against the target
    float freeOut;          //!< share of its server's out-ports
    uint32_t nNearest;      //!< senders at the least distance
    float outSlack;         //!< of its server, in sending
    bool isLeaving;         //!< what is offered lets a server leave a core
    float capacity;         //!< of its server, against the widest
    float price;            //!< of its link, in the proof of the bound
};

/// What the features of a sender are made of.
struct PolicyView::SenderFacts
{
    uint32_t nRivals;     //!< ports that compete for it
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
    WayPressure way;      //!< to the port
    float openPorts;      //!< share of all ports
    float regionSlack;    //!< of the regions that it would send into
    float outSlack;       //!< of the sender, in sending
    float slack;          //!< of the sender, in receiving
    bool isLeaving;       //!< what is offered lets a server leave a core
};

/// What the features of an item are made of.
struct PolicyView::ItemFacts
{
    bool isPartial;         //!< to be merged
    bool isLeaving;         //!< a final sum that lets the receiver leave a core
    bool isNotBegun;        //!< the sender is the root and nobody else has it
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
    bool isLast;            //!< the chunk is final after it
    bool isRoot;            //!< the receiver is the root
    float logRarity;        //!< log of servers over holders
    bool isDetour;          //!< the receiver's part has it, the sender is in another one
    float urgency;          //!< of a partial sum, see PolicyView::GetUrgency
};

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

/// A feature: what it is called, and what it is.
template <typename Facts>
struct Feature
{
    const char* name;
    float (*get)(const Facts&);
};

using Port = PolicyView::PortFacts;
using Sender = PolicyView::SenderFacts;
using Item = PolicyView::ItemFacts;
using Tree = PolicyView::TreeFacts;
using State = PolicyView::StateFacts;

constexpr Feature<Port> PORT_FEATURES[] = {
    {"one over its possible senders", [](const Port& p) { return 1.0F / p.nSenders; }},
    {"possible senders, up to 8", [](const Port& p) { return Cap(p.nSenders, 8); }},
    {"log of the final sums it could receive", [](const Port& p) { return ScaleLog(p.nFinals); }},
    {"log of the partial sums it could receive",
     [](const Port& p) { return ScaleLog(p.nPartials); }},
    {"slack of its server", [](const Port& p) { return p.slack; }},
    {"whether its server has no slack left", [](const Port& p) { return p.slack <= 0 ? 1.0F : 0; }},
    {"slack of its server's tightest region", [](const Port& p) { return p.regionSlack; }},
    {"slack of its server in sending", [](const Port& p) { return p.outSlack; }},
    {"share of chunks its server misses", [](const Port& p) { return p.missing; }},
    {"share of its server's ports still open", [](const Port& p) { return p.open; }},
    {"share of its server's out-ports still free", [](const Port& p) { return p.freeOut; }},
    {"ports of its server, against the most", [](const Port& p) { return p.capacity; }},
    {"price of its link", [](const Port& p) { return p.price; }},
    {"one over the fewest ports that compete for a sender",
     [](const Port& p) { return 1.0F / p.fewestRivals; }},
    {"mean of one over the ports that compete for a sender",
     [](const Port& p) { return p.meanShare; }},
    {"distance of the nearest sender", [](const Port& p) { return p.leastDistance / 4.0F; }},
    {"senders at the least distance, up to 8", [](const Port& p) { return Cap(p.nNearest, 8); }},
    {"whether it is a direct link between servers",
     [](const Port& p) { return p.isDirect ? 1.0F : 0; }},
    {"options at its server's other ports, up to 16",
     [](const Port& p) { return Cap(p.nElsewhere, 16); }},
    {"rarest final sum it could receive, against the mean", [](const Port& p) { return p.rarest; }},
    {"time, against the target", [](const Port& p) { return p.time; }},
    {"whether what is offered lets a server leave a core",
     [](const Port& p) { return p.isLeaving ? 1.0F : 0; }},
};

constexpr Feature<Sender> SENDER_FEATURES[] = {
    {"one over the ports that compete for it", [](const Sender& s) { return 1.0F / s.nRivals; }},
    {"ports that compete for it, up to 8", [](const Sender& s) { return Cap(s.nRivals, 8); }},
    {"its distance", [](const Sender& s) { return s.distance / 4.0F; }},
    {"its distance, over the least one", [](const Sender& s) { return s.detour / 2.0F; }},
    {"whether it is a direct link between servers",
     [](const Sender& s) { return s.distance == 1 ? 1.0F : 0; }},
    {"log of the final sums it could send", [](const Sender& s) { return ScaleLog(s.nFinals); }},
    {"log of the partial sums it could send",
     [](const Sender& s) { return ScaleLog(s.nPartials); }},
    {"rarest final sum it could send, against the mean", [](const Sender& s) { return s.rarest; }},
    {"share of its final sums that are rarer than the mean",
     [](const Sender& s) { return s.rare; }},
    {"share of its out-ports still free", [](const Sender& s) { return s.freeOut; }},
    {"share of its in-ports still open", [](const Sender& s) { return s.openShare; }},
    {"share of chunks it misses itself", [](const Sender& s) { return s.missing; }},
    {"its slack in sending", [](const Sender& s) { return s.outSlack; }},
    {"its slack in receiving", [](const Sender& s) { return s.slack; }},
    {"price of the way", [](const Sender& s) { return s.way.price / 2; }},
    {"time, against the target", [](const Sender& s) { return s.time; }},
    {"one over the number of candidates", [](const Sender& s) { return 1.0F / s.nCandidates; }},
    {"sum of one over the free links at the switches on the way",
     [](const Sender& s) { return s.way.contention; }},
    {"largest demand for a link on the way", [](const Sender& s) { return s.way.largest; }},
    {"sum of demands for the links on the way", [](const Sender& s) { return s.way.sum; }},
    {"share of ports with options", [](const Sender& s) { return s.openPorts; }},
    {"least slack of the regions that it would send into",
     [](const Sender& s) { return s.regionSlack; }},
    {"whether what is offered lets a server leave a core",
     [](const Sender& s) { return s.isLeaving ? 1.0F : 0; }},
};

constexpr Feature<Item> ITEM_FEATURES[] = {
    {"whether it is a partial sum", [](const Item& i) { return i.isPartial ? 1.0F : 0; }},
    {"whether it lets the receiver leave a core",
     [](const Item& i) { return i.isLeaving ? 1.0F : 0; }},
    {"time, against the target", [](const Item& i) { return i.time; }},
    {"slack of the receiver", [](const Item& i) { return i.slack; }},
    {"slack of the sender in sending", [](const Item& i) { return i.outSlack; }},
    {"final: least slack of the regions that it would be new to",
     [](const Item& i) { return i.regionSlack; }},
    {"final: whether it enters a part of the network that has it",
     [](const Item& i) { return i.isDetour ? 1.0F : 0; }},
    {"final: share of servers that have it", [](const Item& i) { return i.holders; }},
    {"final: holders, against the mean", [](const Item& i) { return i.overMean; }},
    {"final: whether its broadcast has not begun",
     [](const Item& i) { return i.isNotBegun ? 1.0F : 0; }},
    {"final: log of servers over holders", [](const Item& i) { return i.logRarity; }},
    {"final: holders won in this round", [](const Item& i) { return i.gain; }},
    {"final: share of the receiver's neighbors that lack it",
     [](const Item& i) { return i.lack.nearest; }},
    {"final: share of the servers two hops away that lack it",
     [](const Item& i) { return i.lack.aroundTwo; }},
    {"final: the most lacking at one of the receiver's other ports",
     [](const Item& i) { return i.lack.mostElsewhere; }},
    {"final: share lacking it at this port", [](const Item& i) { return i.lack.atPort; }},
    {"final: share of the receiver's direct neighbors that lack it",
     [](const Item& i) { return i.lack.direct; }},
    {"final: share of the receiver's neighbors that it newly comes near to",
     [](const Item& i) { return i.lack.newlyCovered; }},
    {"final: share of those lacking it that it has come near to",
     [](const Item& i) { return i.frontier; }},
    {"partial: log of the partial sums that are left",
     [](const Item& i) { return i.isPartial ? ScaleLog(i.nLeft) : 0; }},
    {"partial: whether it is the last one", [](const Item& i) { return i.isLast ? 1.0F : 0; }},
    {"partial: whether the receiver is the root",
     [](const Item& i) { return i.isRoot ? 1.0F : 0; }},
    {"partial: its depth", [](const Item& i) { return i.depth / 4.0F; }},
    {"partial: whether it is the deepest one",
     [](const Item& i) { return i.isPartial && i.depth == i.height ? 1.0F : 0; }},
    {"partial: others that the receiver waits for, up to 4",
     [](const Item& i) { return i.isPartial ? Cap(i.nBlocked, 4) : 0; }},
    {"partial: how soon it must leave to be there when due",
     [](const Item& i) { return i.urgency; }},
};

constexpr Feature<Tree> TREE_FEATURES[] = {
    {"whether its sum is not final yet", [](const Tree& t) { return t.isOpen ? 1.0F : 0; }},
    {"log of the partial sums that are left", [](const Tree& t) { return ScaleLog(t.nLeft); }},
    {"share of servers with partial sums that are left", [](const Tree& t) { return t.left; }},
    {"partial sums that are left, over the fewest of an open tree",
     [](const Tree& t) { return t.isOpen ? Cap(t.nLeft - t.nFewest, 8) : 0; }},
    {"share of open trees with fewer left", [](const Tree& t) { return t.rank; }},
    {"depth of its deepest partial sum", [](const Tree& t) { return t.height / 4.0F; }},
    {"slack of its root", [](const Tree& t) { return t.rootSlack; }},
    {"slack of its root in sending", [](const Tree& t) { return t.rootOutSlack; }},
    {"ports of its root, against the most", [](const Tree& t) { return t.rootCapacity; }},
    {"share of trees that are open", [](const Tree& t) { return t.openTrees; }},
    {"share of trees that are final and not begun", [](const Tree& t) { return t.finalTrees; }},
    {"share of trees that are being broadcast", [](const Tree& t) { return t.busyTrees; }},
    {"time, against the target", [](const Tree& t) { return t.time; }},
    {"least slack", [](const Tree& t) { return t.leastSlack; }},
    {"mean slack", [](const Tree& t) { return t.meanSlack; }},
    {"rounds left, up to 20", [](const Tree& t) { return t.roundsLeft; }},
    {"log of the number of servers", [](const Tree& t) { return t.logServers; }},
    {"log of chunks over servers", [](const Tree& t) { return t.logChunks; }},
    {"how soon it must be worked on to be final when due", [](const Tree& t) { return t.urgency; }},
    {"share of open trees that are due earlier", [](const Tree& t) { return t.earlier; }},
};

constexpr Feature<State> VALUE_FEATURES[] = {
    {"time, against the target", [](const State& s) { return s.time; }},
    // Not a share: up to 2. Checkpoints have the name, so that another would not be read any more.
    {"share of all transfers left", [](const State& s) { return s.left; }},
    {"mean slack", [](const State& s) { return s.meanSlack; }},
    {"least slack", [](const State& s) { return s.leastSlack; }},
    {"share of servers without slack", [](const State& s) { return s.without; }},
    {"share of servers with negative slack", [](const State& s) { return s.negative; }},
    {"mean share of holders", [](const State& s) { return s.meanHolders; }},
    {"least share of holders", [](const State& s) { return s.leastHolders; }},
    {"share of trees that are open", [](const State& s) { return s.openTrees; }},
    {"share of transfers left that are partial sums", [](const State& s) { return s.partials; }},
    {"least slack in sending", [](const State& s) { return s.leastOutSlack; }},
    {"target, over the first one", [](const State& s) { return s.late; }},
    {"log of the number of servers", [](const State& s) { return s.logServers; }},
    {"ports of a server", [](const State& s) { return s.ports; }},
    {"log of chunks over servers", [](const State& s) { return s.logChunks; }},
    {"share of ports without options", [](const State& s) { return s.closed; }},
    {"rounds left", [](const State& s) { return s.roundsLeft; }},
    {"height of the highest open tree", [](const State& s) { return s.height; }},
};

/// Written out feature by feature, so that no function is called through a pointer.
template <const auto& FEATURES, typename Facts, std::size_t... I>
void
WriteRow(const Facts& facts, float* row, std::index_sequence<I...>)
{
    ((row[I] = FEATURES[I].get(facts)), ...);
}

template <const auto& FEATURES, typename Facts>
void
Append(const Facts& facts, std::vector<float>& rows)
{
    constexpr std::size_t N = std::size(FEATURES);
    rows.resize(rows.size() + N);
    WriteRow<FEATURES>(facts, rows.data() + rows.size() - N, std::make_index_sequence<N>());
}

template <typename Facts, std::size_t N>
std::vector<std::string>
ListNames(const Feature<Facts> (&features)[N])
{
    std::vector<std::string> names;
    for (const Feature<Facts>& feature : features)
    {
        names.emplace_back(feature.name);
    }
    return names;
}

/// @return the share of values below another @param sorted ascending @param value the other
float
CountBelow(const std::vector<uint32_t>& sorted, uint32_t value)
{
    return Share(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin(),
                 sorted.size());
}

} // namespace

const char*
GetPolicyHeadName(PolicyHead head)
{
    static const char* const names[N_POLICY_HEADS] = {"port", "sender", "item", "tree", "value"};
    return names[static_cast<std::size_t>(head)];
}

const std::vector<std::string>&
GetPolicyFeatures(PolicyHead head)
{
    static const std::array<std::vector<std::string>, N_POLICY_HEADS> names = {
        ListNames(PORT_FEATURES),
        ListNames(SENDER_FEATURES),
        ListNames(ITEM_FEATURES),
        ListNames(TREE_FEATURES),
        ListNames(VALUE_FEATURES)};
    return names[static_cast<std::size_t>(head)];
}

PolicyView::PolicyView(const PlanningEnvironment& environment)
    : m_env(environment)
{
}

float
PolicyView::GetTime() const
{
    return Share(m_env.m_round, m_env.m_target);
}

float
PolicyView::GetUrgency(ChunkId chunk, uint32_t nHops) const
{
    if (m_env.m_problem.due.empty())
    {
        return 0;
    }
    const uint32_t first = m_env.m_round + nHops;
    const uint32_t due = m_env.m_problem.due[chunk] + 1;
    return 1 - Cap(due - std::min(due, first), 20);
}

float
PolicyView::GetSlack(NodeId server) const
{
    return ScaleSlack(m_env.CountSlack(server));
}

float
PolicyView::GetOutSlack(NodeId server) const
{
    const int64_t roundsAfter = static_cast<int64_t>(m_env.m_target) - m_env.m_round;
    return ScaleSlack(roundsAfter * m_env.m_around.outCapacity[server] + CountFreeOut(server) -
                      m_env.m_trees.CountPending(server));
}

uint32_t
PolicyView::CountFreeOut(NodeId server) const
{
    uint32_t count = 0;
    for (const Topology::Port& port : m_env.m_topology.GetPorts(server))
    {
        count += m_env.m_free[port.out];
    }
    return count;
}

RegionSupply::RoomLeft
PolicyView::GetRoomLeft() const
{
    return {m_env.m_free, static_cast<int64_t>(m_env.m_target) - m_env.m_round};
}

PolicyView::PortFacts
PolicyView::FindPortFacts(uint32_t port) const
{
    const PlanningEnvironment::PortOptions& options = m_env.m_options[port];
    const InPort& here = m_env.m_around.ports[port];
    PortFacts facts{};
    facts.nSenders = options.senders.size();
    facts.nFinals = options.nFinals;
    facts.nPartials = options.nPartials;
    facts.slack = GetSlack(here.server);
    facts.regionSlack = ScaleSlack(m_env.m_regions.CountSlack(here.server, GetRoomLeft()));
    facts.missing = Share(m_env.m_inNeed[here.server], m_env.m_nChunks);
    facts.open = Share(m_env.m_nOpen[here.server], m_env.m_around.inCapacity[here.server]);
    facts.fewestRivals = std::numeric_limits<uint32_t>::max();
    for (const PlanningEnvironment::Sender& sender : options.senders)
    {
        const uint32_t nRivals = std::max(1U, m_env.m_nCompeting[sender.out]);
        facts.fewestRivals = std::min(facts.fewestRivals, nRivals);
        facts.meanShare += 1.0F / nRivals / options.senders.size();
        facts.nNearest += sender.distance == options.leastDistance;
    }
    facts.leastDistance = options.leastDistance;
    facts.isDirect = here.isDirect;
    for (uint32_t p = m_env.m_around.firstPort[here.server];
         p < m_env.m_around.firstPort[here.server + 1];
         ++p)
    {
        facts.nElsewhere += p != port ? m_env.m_options[p].senders.size() : 0;
    }
    facts.rarest = std::min(4.0F, Share(options.rarest, m_env.m_meanHolders));
    facts.time = GetTime();
    facts.freeOut = Share(CountFreeOut(here.server), m_env.m_around.outCapacity[here.server]);
    facts.outSlack = GetOutSlack(here.server);
    facts.isLeaving = m_env.m_turn == PlanningEnvironment::Turn::LEAVING;
    facts.capacity = Share(m_env.m_around.inCapacity[here.server], m_env.m_widest);
    facts.price = m_env.m_problem.prices[GetLinkId(here.link)];
    return facts;
}

void
PolicyView::AppendPort(uint32_t port, std::vector<float>& rows) const
{
    Append<PORT_FEATURES>(FindPortFacts(port), rows);
}

PolicyView::WayPressure
PolicyView::ExploreWay(uint32_t port, const PlanningEnvironment::Sender& sender) const
{
    const Topology& topology = m_env.m_topology;
    const PlanningEnvironment::PortOptions& options = m_env.m_options[port];
    WayPressure pressure;
    NodeId node = topology.GetTarget(sender.out);
    pressure.price = m_env.m_problem.prices[sender.out / 2];
    while (!topology.IsServer(node))
    {
        const DirectedLinkId link = options.towards[node - m_env.m_nServers];
        const NodeId next = topology.GetTarget(link);
        pressure.price += m_env.m_problem.prices[GetLinkId(link)];
        if (!topology.IsServer(next))
        {
            uint32_t nFree = 0;
            for (const Topology::Port& way : topology.GetPorts(node))
            {
                nFree += !topology.IsServer(way.neighbor) && m_env.m_free[way.out] > 0;
            }
            const float demand = Share(m_env.m_demand[link], m_env.GetNPorts());
            pressure.contention += 1.0F / std::max(1U, nFree);
            pressure.largest = std::max(pressure.largest, demand);
            pressure.sum += demand;
        }
        node = next;
    }
    return pressure;
}

PolicyView::SenderFacts
PolicyView::FindSenderFacts(uint32_t port, const PlanningEnvironment::Sender& sender) const
{
    const PlanningEnvironment::PortOptions& options = m_env.m_options[port];
    const NodeId receiver = m_env.m_around.ports[port].server;
    SenderFacts facts{};
    facts.nRivals = std::max(1U, m_env.m_nCompeting[sender.out]);
    facts.distance = sender.distance;
    facts.detour = sender.distance - options.leastDistance;
    uint32_t rarest = std::numeric_limits<uint32_t>::max();
    uint32_t nRare = 0;
    for (std::size_t i = 0; i < m_env.m_active.size(); ++i)
    {
        const uint64_t word = m_env.GetOfferedFinals(sender.server, receiver, i);
        ForEachBit(&word, 1, [&](uint32_t bit) {
            const uint32_t holders = m_env.m_spread.GetCounts()[i * BitMatrix::WORD_BITS + bit];
            ++facts.nFinals;
            rarest = std::min(rarest, holders);
            nRare += holders < m_env.m_meanHolders;
        });
    }
    facts.nPartials = m_env.CountOfferedPartials(sender.server, receiver);
    facts.rarest = facts.nFinals > 0 ? std::min(4.0F, Share(rarest, m_env.m_meanHolders)) : 0;
    facts.rare = Share(nRare, facts.nFinals);
    facts.freeOut = Share(CountFreeOut(sender.server), m_env.m_around.outCapacity[sender.server]);
    facts.openShare = Share(m_env.m_nOpen[sender.server], m_env.m_around.inCapacity[sender.server]);
    facts.missing = Share(m_env.m_inNeed[sender.server], m_env.m_nChunks);
    facts.time = GetTime();
    facts.nCandidates = options.senders.size();
    facts.way = ExploreWay(port, sender);
    facts.openPorts = Share(m_env.m_openPorts.size(), m_env.GetNPorts());
    facts.regionSlack =
        ScaleSlack(m_env.m_regions.CountSlack(sender.server, receiver, GetRoomLeft()));
    facts.outSlack = GetOutSlack(sender.server);
    facts.slack = GetSlack(sender.server);
    facts.isLeaving = m_env.m_turn == PlanningEnvironment::Turn::LEAVING;
    return facts;
}

void
PolicyView::WriteSenders(uint32_t port, std::vector<float>& rows) const
{
    rows.clear();
    for (const PlanningEnvironment::Sender& sender : m_env.GetSenders(port))
    {
        Append<SENDER_FEATURES>(FindSenderFacts(port, sender), rows);
    }
}

PolicyView::ItemFacts
PolicyView::FindItemFacts(uint32_t port,
                          const PlanningEnvironment::Sender& sender,
                          uint32_t item) const
{
    const NodeId receiver = m_env.m_around.ports[port].server;
    const float n = m_env.m_nServers;
    ItemFacts facts{};
    facts.isPartial = item >= m_env.m_nChunks;
    facts.isLeaving = m_env.m_turn == PlanningEnvironment::Turn::LEAVING;
    facts.time = GetTime();
    facts.slack = GetSlack(receiver);
    facts.outSlack = GetOutSlack(sender.server);
    if (facts.isPartial)
    {
        const ChunkId chunk = item - m_env.m_nChunks;
        facts.nLeft = m_env.m_trees.CountLeft(chunk);
        facts.isLast = facts.nLeft == 1;
        facts.height = m_env.m_trees.GetHeight(chunk);
        facts.depth = m_env.m_trees.GetDepth(sender.server, chunk);
        facts.nBlocked = m_env.m_trees.CountAwaited(receiver, chunk) - 1;
        facts.isRoot = receiver == m_env.m_problem.roots[chunk];
        facts.urgency = GetUrgency(chunk, facts.depth);
        return facts;
    }
    const uint32_t holders = m_env.m_spread.GetCounts()[item];
    facts.holders = holders / n;
    facts.overMean = 4 * (holders - static_cast<float>(m_env.m_meanHolders)) / n;
    facts.gain = (holders - m_env.m_nHoldersBefore[item]) / 4.0F;
    facts.isNotBegun = holders == 1;
    facts.logRarity = std::log2(n / holders) / 7;
    const std::vector<uint32_t>& partOf = m_env.m_problem.partOf;
    facts.isDetour =
        partOf[sender.server] != partOf[receiver] && m_env.m_isInPart.Test(partOf[receiver], item);
    facts.lack = m_env.m_spread.FindLack(port, item);
    facts.frontier = Share(m_env.m_spread.CountFrontier(item), n - holders);
    facts.regionSlack =
        ScaleSlack(m_env.m_regions.CountSlack(sender.server, receiver, item, GetRoomLeft()));
    return facts;
}

void
PolicyView::WriteItems(uint32_t port,
                       const PlanningEnvironment::Sender& sender,
                       const std::vector<uint32_t>& items,
                       std::vector<float>& rows) const
{
    rows.clear();
    for (const uint32_t item : items)
    {
        Append<ITEM_FEATURES>(FindItemFacts(port, sender, item), rows);
    }
}

void
PolicyView::WriteTrees(std::vector<float>& rows) const
{
    const float n = m_env.m_nServers;
    TreeFacts facts{};
    std::vector<uint32_t> lefts;
    std::vector<uint32_t> dues;
    uint32_t nWaiting = 0;
    uint32_t nBusy = 0;
    for (ChunkId chunk = 0; chunk < m_env.m_nChunks; ++chunk)
    {
        const uint32_t nLeft = m_env.m_trees.CountLeft(chunk);
        const uint32_t holders = m_env.m_spread.GetCounts()[chunk];
        if (nLeft > 0)
        {
            lefts.push_back(nLeft);
            if (!m_env.m_problem.due.empty())
            {
                dues.push_back(m_env.m_problem.due[chunk]);
            }
            continue;
        }
        nWaiting += holders == 1;
        nBusy += holders > 1 && holders < m_env.m_nServers;
    }
    std::sort(lefts.begin(), lefts.end());
    std::sort(dues.begin(), dues.end());
    facts.nFewest = lefts.empty() ? 0 : lefts.front();
    facts.openTrees = Share(lefts.size(), m_env.m_nChunks);
    facts.finalTrees = Share(nWaiting, m_env.m_nChunks);
    facts.busyTrees = Share(nBusy, m_env.m_nChunks);
    facts.time = GetTime();
    facts.leastSlack = 1;
    for (NodeId server = 0; server < m_env.m_nServers; ++server)
    {
        facts.leastSlack = std::min(facts.leastSlack, GetSlack(server));
        facts.meanSlack += GetSlack(server) / n;
    }
    facts.roundsLeft = Cap(m_env.m_target - std::min(m_env.m_target, m_env.m_round), 20);
    facts.logServers = std::log2(n) / 7;
    facts.logChunks = std::log2(1 + m_env.m_nChunks / n) / 2;
    rows.clear();
    for (const ChunkId chunk : m_env.m_selectable)
    {
        const NodeId root = m_env.m_problem.roots[chunk];
        facts.nLeft = m_env.m_trees.CountLeft(chunk);
        facts.isOpen = facts.nLeft > 0;
        facts.left = facts.nLeft / n;
        facts.rank = CountBelow(lefts, facts.nLeft);
        facts.height = m_env.m_trees.GetHeight(chunk);
        facts.rootSlack = GetSlack(root);
        facts.rootOutSlack = GetOutSlack(root);
        facts.rootCapacity = Share(m_env.m_around.inCapacity[root], m_env.m_widest);
        facts.urgency = GetUrgency(chunk, facts.height);
        facts.earlier = dues.empty() ? 0 : CountBelow(dues, m_env.m_problem.due[chunk]);
        Append<TREE_FEATURES>(facts, rows);
    }
}

void
PolicyView::AppendValue(std::vector<float>& rows) const
{
    const float n = m_env.m_nServers;
    StateFacts facts{};
    facts.time = GetTime();
    facts.left = Share(m_env.m_nTransfersLeft, double(n) * m_env.m_nChunks);
    facts.leastSlack = 1;
    facts.leastOutSlack = 1;
    uint64_t nPending = 0;
    for (NodeId server = 0; server < m_env.m_nServers; ++server)
    {
        const float slack = GetSlack(server);
        facts.meanSlack += slack / n;
        facts.leastSlack = std::min(facts.leastSlack, slack);
        facts.leastOutSlack = std::min(facts.leastOutSlack, GetOutSlack(server));
        facts.without += (slack <= 0) / n;
        facts.negative += (slack < 0) / n;
        nPending += m_env.m_trees.CountPending(server);
    }
    const std::vector<uint32_t>& holders = m_env.m_spread.GetCounts();
    facts.meanHolders = m_env.m_meanHolders / n;
    facts.leastHolders = *std::min_element(holders.begin(), holders.end()) / n;
    uint32_t nOpen = 0;
    for (ChunkId chunk = 0; chunk < m_env.m_nChunks; ++chunk)
    {
        nOpen += m_env.m_trees.CountLeft(chunk) > 0;
        facts.height = std::max(facts.height, m_env.m_trees.GetHeight(chunk) / 4.0F);
    }
    facts.openTrees = Share(nOpen, m_env.m_nChunks);
    facts.partials = Share(nPending, m_env.m_nTransfersLeft);
    facts.late = (static_cast<float>(m_env.m_target) - m_env.m_firstTarget) / 4;
    facts.logServers = std::log2(n) / 7;
    facts.ports = m_env.m_totalInCapacity / n / 4;
    facts.logChunks = std::log2(1 + m_env.m_nChunks / n) / 2;
    uint32_t nClosed = 0;
    for (uint32_t port = 0; port < m_env.GetNPorts(); ++port)
    {
        nClosed += !m_env.m_isOpen[port] && m_env.m_inNeed[m_env.m_around.ports[port].server] > 0;
    }
    facts.closed = Share(nClosed, m_env.GetNPorts());
    facts.roundsLeft = (static_cast<float>(m_env.m_target) - m_env.m_round) / 20;
    Append<VALUE_FEATURES>(facts, rows);
}

} // namespace ns3::allreduce
