/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "round-steps.h"

#include "ns3/allreduce-error.h"

#include <utility>

namespace ns3::allreduce
{

RoundSteps::RoundSteps(PlanningEnvironment& environment)
    : m_environment(environment)
{
}

void
RoundSteps::Begin()
{
    m_environment.BeginRound();
    m_round = {};
    m_stage = Stage::TREES;
}

std::size_t
RoundSteps::CountChoices() const
{
    switch (m_stage)
    {
    case Stage::TREES:
        return m_environment.GetSelectableTrees().size();
    case Stage::PORT:
        return m_environment.GetOpenPorts().size();
    case Stage::SENDER:
        return m_environment.GetSenders(m_port).size();
    case Stage::ITEM:
        return m_items.size();
    case Stage::END:
        break;
    }
    return 0;
}

void
RoundSteps::SelectTrees(const std::vector<bool>& selected)
{
    m_environment.SelectTrees(selected);
}

void
RoundSteps::BeginPicks()
{
    Advance();
}

uint32_t
RoundSteps::Choose(uint32_t choice)
{
    if (m_stage == Stage::PORT)
    {
        ChoosePort(m_environment.GetOpenPorts()[choice]);
        return 0;
    }
    if (m_stage == Stage::SENDER)
    {
        ChooseSender(m_environment.GetSenders(m_port)[choice]);
        return 0;
    }
    const uint32_t nLost = m_environment.Pick(m_port, m_sender, m_items[choice], m_round);
    Advance();
    return nLost;
}

void
RoundSteps::ChoosePort(uint32_t port)
{
    if (m_environment.Renew(port))
    {
        Advance(); // it may not be the best one any more
        return;
    }
    m_port = port;
    m_stage = Stage::SENDER;
}

void
RoundSteps::ChooseSender(const PortSender& sender)
{
    m_sender = sender;
    m_environment.FindItems(m_port, m_sender, MOST_ITEMS, m_items);
    m_stage = Stage::ITEM;
}

void
RoundSteps::Advance()
{
    const bool isAnythingOpen = !m_environment.GetOpenPorts().empty() || m_environment.OfferMore();
    m_stage = isAnythingOpen ? Stage::PORT : Stage::END;
}

WorkloadList
RoundSteps::End(RoundOutcome& outcome)
{
    if (m_round.IsEmpty())
    {
        FailInput("round ",
                  m_environment.GetState().round,
                  ": nothing can be sent over the links that are up, though ",
                  m_environment.GetState().nTransfersLeft,
                  " transfers are left");
    }
    outcome = m_environment.EndRound();
    return std::move(m_round);
}

} // namespace ns3::allreduce
