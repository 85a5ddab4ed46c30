/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "live-forest.h"

#include "ns3/forest-scheduler.h"
#include "ns3/planned-scheduler.h"

#include <algorithm>
#include <memory>

namespace ns3::allreduce
{

namespace
{

/// A transfer begins if its path has this share of the rate that it would have alone.
constexpr double LEAST_FREE_SHARE = 0.45;
/// So many candidates of a port are looked at.
constexpr std::size_t MOST_CANDIDATES = 64;

} // namespace

/**
 * @ingroup allreduce
 *
 * @brief Chooses one transfer after another: the most urgent one whose path is free.
 *
 * It plans as ForestScheduler does. A session follows that plan, or another scheduler's, as long as
 * the network is what was announced; see LiveForest for what follows.
 */
class LiveScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::LiveScheduler")
                                .SetParent<PlannedScheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<LiveScheduler>();
        return tid;
    }

    bool ChoosesByTransfer() const override
    {
        return true;
    }

    void BeginTransfers(const LiveView& view) override
    {
        m_forest = std::make_unique<LiveForest>(view);
    }

    void NotifySurprise(const LiveView& view) override
    {
        m_forest->Update(view);
    }

    std::optional<ChosenTransfer> NextTransfer(const LiveView& view, DirectedLinkId port) override
    {
        std::optional<DirectedLinkId> woken = port;
        do
        {
            for (; woken; woken = m_forest->TakeWoken())
            {
                if (const auto id = FindFree(view, *woken))
                {
                    m_forest->Begin(*id);
                    return MakeTransfer(*id);
                }
            }
            woken = port;
        } while (m_forest->BeginChunk(view));
        return std::nullopt;
    }

    void NotifyArrived(const LiveView& view, const Workload& transfer) override
    {
        m_forest->NotifyArrived(view, transfer);
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        HandOver("forest");
        return PlanForest(state.GetTopology(), state.GetCollective(), GetSeed(), 1, GetProgress());
    }

    bool PlansGroups() const override
    {
        return true;
    }

    /// @return the most urgent task over a port whose path is free
    std::optional<LiveTasks::Id> FindFree(const LiveView& view, DirectedLinkId port) const
    {
        std::size_t nLooked = 0;
        for (const auto& [urgency, id] : m_forest->GetTasks().GetReady(port))
        {
            if (IsFree(view, m_forest->GetTasks().GetPath(id)))
            {
                return id;
            }
            if (++nLooked == MOST_CANDIDATES)
            {
                break;
            }
        }
        return std::nullopt;
    }

    bool IsFree(const LiveView& view, PathId path) const
    {
        uint64_t free = UINT64_MAX;
        uint64_t alone = UINT64_MAX;
        for (const DirectedLinkId link : m_forest->GetPaths().GetLinks(path))
        {
            free = std::min(free, view.freeBps[link]);
            alone = std::min(alone, view.believedBps[link]);
        }
        return free > 0 && free >= LEAST_FREE_SHARE * alone;
    }

    ChosenTransfer MakeTransfer(LiveTasks::Id id) const
    {
        const LiveTasks& tasks = m_forest->GetTasks();
        ChosenTransfer transfer;
        transfer.chunk = tasks.GetChunk(id);
        transfer.kind = tasks.GetHalf(id) == UP ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST;
        m_forest->GetPaths().GetNodes(tasks.GetPath(id), transfer.path);
        return transfer;
    }

    std::unique_ptr<LiveForest> m_forest; //!< of the present collective
};

NS_OBJECT_ENSURE_REGISTERED(LiveScheduler);

} // namespace ns3::allreduce
