/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "errand-runner.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// How many errands ahead memory is fetched: where there are many, nearly every look is a miss.
constexpr int PREFETCH_DISTANCE = 8;

} // namespace

ErrandRunner::ErrandRunner(const AllReduceState& state,
                           const std::vector<FlowTree>& trees,
                           const PreferredPaths& preferred)
    : m_trees(trees),
      m_nServers(state.GetTopology().GetNServers()),
      m_errands(state, trees, preferred),
      m_state(state)
{
    CountPorts();
}

std::size_t
ErrandRunner::GetNErrands() const
{
    return m_errands.GetSize();
}

std::vector<WorkloadList>
ErrandRunner::Run(const AllReduceState& start, const ErrandOrder& order, std::size_t mostRounds)
{
    m_state = start;
    Begin(order);
    std::vector<WorkloadList> rounds;
    while (!m_state.IsDone())
    {
        if (mostRounds > 0 && rounds.size() + 1 >= mostRounds)
        {
            return {};
        }
        WorkloadList round = MakeRound();
        if (round.IsEmpty())
        {
            FailInput("flow-trees do not come to an end in ", m_state.GetTopology().GetName());
        }
        rounds.push_back(std::move(round));
    }
    return rounds;
}

ErrandRunner::Spot&
ErrandRunner::GetSpot(ChunkId chunk, NodeId server)
{
    return m_spots[std::size_t{chunk} * m_nServers + server];
}

const ErrandRunner::Spot&
ErrandRunner::GetSpot(ChunkId chunk, NodeId server) const
{
    return m_spots[std::size_t{chunk} * m_nServers + server];
}

uint32_t
ErrandRunner::GetRank(ErrandId errand) const
{
    if (!m_isBusiestFirst)
    {
        return 0;
    }
    const Progress& progress = m_progress[errand];
    return progress.nDone == 0 ? m_hopRanks[m_errands.GetHopId(progress.firstHop)]
                               : m_ownRanks[errand];
}

bool
ErrandRunner::IsBefore(const Ticket& x, const Ticket& y) const
{
    if (m_isBusiestFirst)
    {
        const uint32_t rankOfX = GetRank(x.errand);
        const uint32_t rankOfY = GetRank(y.errand);
        return rankOfX != rankOfY ? rankOfX < rankOfY : x.place < y.place;
    }
    return x.place < y.place;
}

ErrandRunner::Head
ErrandRunner::MakeHead(HopId hop) const
{
    const Ticket& first = m_queues[hop].front();
    return {{GetRank(first.errand), first.place, first.errand}, hop};
}

void
ErrandRunner::CountPorts()
{
    m_portsOut.assign(m_nServers, 0);
    m_portsIn.assign(m_nServers, 0);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (const Topology::Port& port : m_state.GetTopology().GetPorts(server))
        {
            m_portsOut[server] += m_state.GetCapacity(port.out);
            m_portsIn[server] += m_state.GetCapacity(Reverse(port.out));
        }
    }
}

void
ErrandRunner::Begin(const ErrandOrder& order)
{
    m_detour = order.detour;
    m_isBusiestFirst = order.isBusiestFirst;
    m_isReleased.assign(m_trees.size(), false);
    m_queues.assign(m_errands.GetHops().GetSize(), {});
    m_changedHops.clear();
    m_isChanged.assign(m_queues.size(), false);
    m_heads.clear();
    m_arrivals.clear();
    m_laterChecks.clear();
    m_underWay.clear();
    m_load.assign(m_isBusiestFirst ? m_state.GetTopology().GetNDirectedLinks() : 0, 0);
    m_hopRanks.assign(m_isBusiestFirst ? m_queues.size() : 0, 0);
    m_ownRanks.assign(m_isBusiestFirst ? m_errands.GetSize() : 0, 0);
    BeginProgress(m_errands.Sort(order));
    for (ErrandId id = 0; id < m_errands.GetSize(); ++id)
    {
        BeginErrand(id);
    }
    for (ChunkId chunk = 0; chunk < m_trees.size(); ++chunk)
    {
        ReleaseIfFinal(chunk);
    }
}

void
ErrandRunner::BeginProgress(const std::vector<ErrandId>& order)
{
    m_spots.assign(m_trees.size() * m_nServers, {0, NO_ERRAND, NO_ERRAND, NO_ERRAND});
    m_progress.resize(m_errands.GetSize());
    for (ErrandId id = 0; id < m_errands.GetSize(); ++id)
    {
        const Errand errand = m_errands.Get(id);
        Progress progress{};
        progress.chunk = errand.chunk;
        progress.hop = m_errands.GetHopId(errand.firstHop);
        progress.firstHop = errand.firstHop;
        progress.nHops = errand.nHops;
        progress.end = m_errands.GetEnd(errand);
        progress.nextInList = NO_ERRAND;
        if (errand.kind == WorkloadKind::REDUCE)
        {
            ++GetSpot(errand.chunk, progress.end).nPending;
        }
        else
        {
            ErrandId& first =
                GetSpot(errand.chunk, m_errands.GetHop(errand.firstHop).from).firstChild;
            progress.nextChild = std::exchange(first, id);
        }
        m_progress[id] = progress;
    }
    for (Place place = 0; place < order.size(); ++place)
    {
        m_progress[order[place]].place = place;
    }
}

void
ErrandRunner::BeginErrand(ErrandId id)
{
    Progress& progress = m_progress[id];
    if (ErrandList::GetKind(id) == WorkloadKind::BROADCAST)
    {
        ExpectCopy(id);
    }
    else if (m_state.IsFinal(progress.chunk))
    {
        progress.hop = NO_HOP;
        return;
    }
    else if (!m_trees[progress.chunk].isMerging ||
             GetSpot(progress.chunk, m_errands.GetHop(progress.firstHop).from).nPending == 0)
    {
        Enqueue(id);
    }
    if (m_isBusiestFirst)
    {
        for (uint32_t i = 0; i < progress.nHops; ++i)
        {
            AddLoad(m_errands.GetHopId(progress.firstHop + i), 1);
        }
    }
}

WorkloadList
ErrandRunner::MakeRound()
{
    WorkloadList round;
    m_freeOut = m_portsOut;
    m_freeIn = m_portsIn;
    if (m_isBusiestFirst)
    {
        RankByLoad();
        TidyQueues();
    }
    MoveAll(round);
    m_state.EndRound();
    NoteMoves();
    EndReduces();
    return round;
}

void
ErrandRunner::RankByLoad()
{
    struct Ranked
    {
        uint32_t load;  //!< what its ports have left to carry
        uint32_t* rank; //!< of the round before
    };

    std::vector<Ranked> all;
    const auto add = [&](HopId hop, uint32_t& rank) {
        const PathTable::Links links = m_errands.GetHops().GetUsualLinks(hop);
        all.push_back({m_load[links.front()] + m_load[links.back()], &rank});
    };
    for (HopId hop = 0; hop < m_hopRanks.size(); ++hop)
    {
        add(hop, m_hopRanks[hop]);
    }
    m_underWay.erase(std::remove_if(m_underWay.begin(),
                                    m_underWay.end(),
                                    [this](ErrandId id) { return m_progress[id].hop == NO_HOP; }),
                     m_underWay.end());
    for (const ErrandId id : m_underWay)
    {
        add(m_progress[id].hop, m_ownRanks[id]);
    }
    const auto isBefore = [](const Ranked& x, const Ranked& y) {
        return x.load != y.load ? x.load > y.load : *x.rank < *y.rank;
    };
    std::sort(all.begin(), all.end(), isBefore);
    std::vector<uint32_t> ranks(all.size(), 0);
    for (std::size_t i = 1; i < all.size(); ++i)
    {
        ranks[i] = ranks[i - 1] + isBefore(all[i - 1], all[i]);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
    {
        *all[i].rank = ranks[i];
    }
}

void
ErrandRunner::TidyQueues()
{
    for (HopId hop = 0; hop < m_queues.size(); ++hop)
    {
        std::vector<Ticket>& queue = m_queues[hop];
        const auto isElsewhere = [&](const Ticket& x) { return m_progress[x.errand].hop != hop; };
        queue.erase(std::remove_if(queue.begin(), queue.end(), isElsewhere), queue.end());
        std::make_heap(queue.begin(), queue.end(), [this](const Ticket& x, const Ticket& y) {
            return IsBefore(y, x);
        });
        NoteChange(hop);
    }
}

void
ErrandRunner::UpdateHeads()
{
    m_heads.erase(std::remove_if(m_heads.begin(),
                                 m_heads.end(),
                                 [this](const Head& head) { return m_isChanged[head.hop]; }),
                  m_heads.end());
    const std::size_t nUnchanged = m_heads.size();
    for (const HopId hop : m_changedHops)
    {
        m_isChanged[hop] = false;
        if (!m_queues[hop].empty())
        {
            m_heads.push_back(MakeHead(hop));
        }
    }
    m_changedHops.clear();
    const auto firstNew = m_heads.begin() + nUnchanged;
    std::sort(firstNew, m_heads.end());
    std::inplace_merge(m_heads.begin(), firstNew, m_heads.end());
}

void
ErrandRunner::MoveAll(WorkloadList& round)
{
    UpdateHeads();
    auto next = m_heads.cbegin();
    while (next != m_heads.cend() || !m_newHeads.empty())
    {
        HopId hop = NO_HOP;
        if (m_newHeads.empty() || (next != m_heads.cend() && *next < m_newHeads.front()))
        {
            if (m_heads.cend() - next > PREFETCH_DISTANCE)
            {
                __builtin_prefetch(&m_progress[next[PREFETCH_DISTANCE].errand]);
            }
            hop = next++->hop;
        }
        else
        {
            std::pop_heap(m_newHeads.begin(), m_newHeads.end(), std::greater<>());
            hop = m_newHeads.back().hop;
            m_newHeads.pop_back();
        }
        if (MoveFirst(hop, round) && !m_queues[hop].empty())
        {
            m_newHeads.push_back(MakeHead(hop));
            std::push_heap(m_newHeads.begin(), m_newHeads.end(), std::greater<>());
        }
    }
    for (const ErrandId id : m_setAside)
    {
        Enqueue(id);
    }
    m_setAside.clear();
}

bool
ErrandRunner::MoveFirst(HopId id, WorkloadList& round)
{
    const Hop& hop = m_errands.GetHops().Get(id);
    if (m_freeOut[hop.from] == 0 || m_freeIn[hop.to] == 0)
    {
        return false;
    }
    if (!m_errands.GetHops().FindPath(id, m_state, m_detour, m_path))
    {
        return false;
    }
    const ErrandId errand = m_queues[id].front().errand;
    if (m_progress[errand].hop != id)
    {
        Dequeue(id);
        return true;
    }
    if (!HasData(errand))
    {
        Dequeue(id);
        m_setAside.push_back(errand);
        return true;
    }
    Dequeue(id);
    Start(errand, round);
    --m_freeOut[hop.from];
    --m_freeIn[hop.to];
    return true;
}

bool
ErrandRunner::HasData(ErrandId id) const
{
    const ChunkId chunk = m_progress[id].chunk;
    const Hop& hop = m_errands.GetHops().Get(m_progress[id].hop);
    if (ErrandList::GetKind(id) == WorkloadKind::BROADCAST)
    {
        return m_state.GetFinals().Test(hop.from, chunk) &&
               !m_state.GetExpected().Test(hop.to, chunk);
    }
    return m_state.GetPartials().Test(hop.from, chunk);
}

void
ErrandRunner::Start(ErrandId id, WorkloadList& round)
{
    const Progress& progress = m_progress[id];
    NodeId contributor = 0;
    Workload workload;
    workload.chunk = progress.chunk;
    workload.kind = ErrandList::GetKind(id);
    workload.path = {m_path.data(), m_path.data() + m_path.size()};
    if (workload.kind == WorkloadKind::REDUCE && !m_trees[progress.chunk].isMerging)
    {
        contributor = m_errands.GetHop(progress.firstHop).from;
        workload.contributors = {&contributor, &contributor + 1};
    }
    m_state.Start(workload);
    round.Add(workload);
    m_moved.push_back(id);
}

void
ErrandRunner::Enqueue(ErrandId id)
{
    const Progress& progress = m_progress[id];
    std::vector<Ticket>& queue = m_queues[progress.hop];
    queue.push_back({progress.place, id});
    std::push_heap(queue.begin(), queue.end(), [this](const Ticket& x, const Ticket& y) {
        return IsBefore(y, x);
    });
    if (queue.front().errand == id)
    {
        NoteChange(progress.hop);
    }
}

void
ErrandRunner::Dequeue(HopId hop)
{
    std::vector<Ticket>& queue = m_queues[hop];
    std::pop_heap(queue.begin(), queue.end(), [this](const Ticket& x, const Ticket& y) {
        return IsBefore(y, x);
    });
    queue.pop_back();
    NoteChange(hop);
}

void
ErrandRunner::NoteChange(HopId hop)
{
    if (!m_isChanged[hop])
    {
        m_isChanged[hop] = true;
        m_changedHops.push_back(hop);
    }
}

void
ErrandRunner::NoteMoves()
{
    for (const ErrandId id : m_laterChecks)
    {
        Check(id);
    }
    m_laterChecks.clear();
    for (std::size_t i = 0; i < m_moved.size(); ++i)
    {
        PrefetchEffects(i + PREFETCH_DISTANCE);
        const ErrandId id = m_moved[i];
        const Progress& progress = m_progress[id];
        if (ErrandList::GetKind(id) == WorkloadKind::REDUCE)
        {
            NoteReduce(id);
            ReleaseIfFinal(progress.chunk);
        }
        else
        {
            const NodeId server = m_errands.GetHops().Get(progress.hop).to;
            m_arrivals.push_back({progress.chunk, server});
            EnqueueChildren(progress.chunk, server);
        }
    }
    m_moved.clear();
    for (const auto& [chunk, server] : m_arrivals)
    {
        SkipHopsTo(chunk, server);
    }
    m_arrivals.clear();
}

void
ErrandRunner::PrefetchEffects(std::size_t move) const
{
    // First where the data has come to, and somewhat later the errand that waits for it there.
    if (move + PREFETCH_DISTANCE < m_moved.size())
    {
        const Progress& later = m_progress[m_moved[move + PREFETCH_DISTANCE]];
        __builtin_prefetch(&GetSpot(later.chunk, later.end));
    }
    if (move < m_moved.size())
    {
        const Progress& progress = m_progress[m_moved[move]];
        const bool isReduce = ErrandList::GetKind(m_moved[move]) == WorkloadKind::REDUCE;
        const bool isAtRoot = progress.end == m_state.GetRoots()[progress.chunk];
        const ErrandId next = isReduce && !isAtRoot
                                  ? m_errands.GetReduce(progress.chunk, progress.end)
                                  : GetSpot(progress.chunk, progress.end).firstChild;
        __builtin_prefetch(&m_progress[next == NO_ERRAND ? 0 : next]);
    }
}

void
ErrandRunner::ReleaseIfFinal(ChunkId chunk)
{
    if (m_state.IsFinal(chunk) && !m_isReleased[chunk])
    {
        const NodeId root = m_state.GetRoots()[chunk];
        m_isReleased[chunk] = true;
        m_arrivals.push_back({chunk, root});
        EnqueueChildren(chunk, root);
    }
}

void
ErrandRunner::EnqueueChildren(ChunkId chunk, NodeId server)
{
    ErrandId next = NO_ERRAND;
    for (ErrandId id = GetSpot(chunk, server).firstChild; id != NO_ERRAND; id = next)
    {
        next = m_progress[id].nextChild;
        if (m_progress[id].nDone == 0)
        {
            Enqueue(id);
        }
    }
}

void
ErrandRunner::ExpectCopy(ErrandId id)
{
    Progress& progress = m_progress[id];
    const NodeId server = m_errands.GetHops().Get(progress.hop).to;
    progress.nextInList = std::exchange(GetSpot(progress.chunk, server).firstComing, id);
}

void
ErrandRunner::SkipHopsTo(ChunkId chunk, NodeId server)
{
    ErrandId id = std::exchange(GetSpot(chunk, server).firstComing, NO_ERRAND);
    while (id != NO_ERRAND)
    {
        const ErrandId next = m_progress[id].nextInList;
        SkipHops(id);
        id = next;
    }
}

void
ErrandRunner::SkipHops(ErrandId id)
{
    const ChunkId chunk = m_progress[id].chunk;
    const HopId& hop = m_progress[id].hop;
    while (hop != NO_HOP && m_state.GetFinals().Test(m_errands.GetHops().Get(hop).to, chunk))
    {
        Advance(id);
    }
    if (hop != NO_HOP)
    {
        ExpectCopy(id);
        Enqueue(id);
    }
}

void
ErrandRunner::Advance(ErrandId id)
{
    Progress& progress = m_progress[id];
    if (m_isBusiestFirst)
    {
        AddLoad(progress.hop, -1);
        if (progress.nDone == 0)
        {
            m_ownRanks[id] = m_hopRanks[progress.hop];
            m_underWay.push_back(id);
        }
    }
    ++progress.nDone;
    progress.hop = progress.nDone < progress.nHops
                       ? m_errands.GetHopId(progress.firstHop + progress.nDone)
                       : NO_HOP;
}

void
ErrandRunner::AddLoad(HopId hop, int32_t difference)
{
    const PathTable::Links links = m_errands.GetHops().GetUsualLinks(hop);
    m_load[links.front()] += difference;
    m_load[links.back()] += difference;
}

void
ErrandRunner::NoteReduce(ErrandId id)
{
    Progress& progress = m_progress[id];
    const ChunkId chunk = progress.chunk;
    const Hop& hop = m_errands.GetHops().Get(progress.hop);
    Advance(id);
    Check(id);
    if (progress.hop != NO_HOP)
    {
        Enqueue(id);
    }
    if (m_trees[chunk].isMerging)
    {
        CheckOthersAt(chunk, hop.from, id);
        NoteRelay(id, hop.to);
    }
}

void
ErrandRunner::NoteRelay(ErrandId id, NodeId server)
{
    Progress& progress = m_progress[id];
    if (progress.hop != NO_HOP)
    {
        progress.nextInList = std::exchange(GetSpot(progress.chunk, server).firstRelayed, id);
    }
}

void
ErrandRunner::CheckOthersAt(ChunkId chunk, NodeId server, ErrandId moved)
{
    const ErrandId own = m_errands.GetReduce(chunk, server);
    if (own != moved && m_progress[own].nDone == 0 && m_progress[own].hop != NO_HOP)
    {
        Check(own);
    }
    ErrandId* link = &GetSpot(chunk, server).firstRelayed;
    while (*link != NO_ERRAND)
    {
        Progress& progress = m_progress[*link];
        if (*link == moved || progress.hop == NO_HOP)
        {
            *link = progress.nextInList;
            continue;
        }
        Check(*link);
        link = &progress.nextInList;
    }
}

void
ErrandRunner::Check(ErrandId id)
{
    m_checks.push_back({GetRank(id), m_progress[id].place, id});
    std::push_heap(m_checks.begin(), m_checks.end(), std::greater<>());
}

void
ErrandRunner::EndReduces()
{
    ErrandId last = NO_ERRAND;
    while (!m_checks.empty())
    {
        std::pop_heap(m_checks.begin(), m_checks.end(), std::greater<>());
        const ErrandId id = m_checks.back().errand;
        m_checks.pop_back();
        if (id != last && IsReduceOver(id))
        {
            EndReduce(id);
        }
        last = id;
    }
}

bool
ErrandRunner::IsReduceOver(ErrandId id) const
{
    const Progress& progress = m_progress[id];
    if (progress.hop == NO_HOP)
    {
        return progress.nDone == progress.nHops;
    }
    // What a relay merged into its own partial sum may have gone on with that; and what passed the
    // root has been collected there.
    const ChunkId chunk = progress.chunk;
    const NodeId here = m_errands.GetHops().Get(progress.hop).from;
    const bool waitsForChildren = progress.nDone == 0 && GetSpot(chunk, here).nPending > 0;
    const bool wasTaken =
        m_trees[chunk].isMerging && !waitsForChildren && !m_state.GetPartials().Test(here, chunk);
    return wasTaken || here == m_state.GetRoots()[chunk];
}

void
ErrandRunner::EndReduce(ErrandId id)
{
    Progress& progress = m_progress[id];
    progress.hop = NO_HOP;
    for (uint32_t i = progress.nDone; m_isBusiestFirst && i < progress.nHops; ++i)
    {
        AddLoad(m_errands.GetHopId(progress.firstHop + i), -1);
    }
    const NodeId parent = progress.end;
    const uint32_t nPending = --GetSpot(progress.chunk, parent).nPending;
    if (nPending > 0 || !m_trees[progress.chunk].isMerging ||
        parent == m_state.GetRoots()[progress.chunk])
    {
        return;
    }
    const ErrandId next = m_errands.GetReduce(progress.chunk, parent);
    Enqueue(next);
    // Errands end in their order: one that had its turn ends in the next round.
    if (IsBefore({progress.place, id}, {m_progress[next].place, next}))
    {
        Check(next);
    }
    else
    {
        m_laterChecks.push_back(next);
    }
}

} // namespace ns3::allreduce
