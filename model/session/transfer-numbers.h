/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRANSFER_NUMBERS_H
#define ALLREDUCE_TRANSFER_NUMBERS_H

#include "token-barrier.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-transport.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Names the transfers of a plan and the messages of its barriers, the same on all ranks.
 */
class TransferNumbers
{
  public:
    /// Where a workload is in the plan.
    struct PlanIndex
    {
        uint32_t round;    //!< from 0
        uint32_t position; //!< in the round
    };

    /// @param plan all rounds, which must outlive this @param nServers number of servers
    TransferNumbers(RoundRange plan, uint32_t nServers)
        : m_plan(plan),
          m_nServers(nServers)
    {
        for (const WorkloadList& round : plan)
        {
            m_firsts.push_back(m_nWorkloads);
            m_nWorkloads += round.GetSize();
        }
    }

    /// @return the name of a workload's transfer @param index the workload
    TransferId NameWorkload(PlanIndex index) const
    {
        return m_firsts[index.round] + index.position;
    }

    /// @return the name of a message @param message the message
    TransferId NameMessage(const TokenBarrier::Message& message) const
    {
        return m_nWorkloads + 2 * (message.phase * m_nServers + message.child) + message.isRelease;
    }

    /// @return the workload of that name; none if it is a message @param id the name
    std::optional<PlanIndex> FindWorkload(TransferId id) const
    {
        if (id >= m_nWorkloads)
        {
            return std::nullopt;
        }
        const auto next = std::upper_bound(m_firsts.begin(), m_firsts.end(), id);
        const uint32_t round = next - m_firsts.begin() - 1;
        return PlanIndex{round, id - m_firsts[round]};
    }

    /// @return the message of that name @param id the name, which is not that of a workload
    TokenBarrier::Message FindMessage(TransferId id) const
    {
        const uint32_t number = (id - m_nWorkloads) / 2;
        return {number / m_nServers, number % m_nServers, (id - m_nWorkloads) % 2 == 1};
    }

    /// @return a workload @param index where it is
    Workload Get(PlanIndex index) const
    {
        return m_plan[index.round].Get(index.position);
    }

  private:
    RoundRange m_plan;                //!< all rounds
    uint32_t m_nServers;              //!< number of servers
    uint32_t m_nWorkloads{0};         //!< of all rounds
    std::vector<TransferId> m_firsts; //!< by round: name of its first workload
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRANSFER_NUMBERS_H */
