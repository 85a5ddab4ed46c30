/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "other-ranks-quiet.h"

#include "ns3/distributed-run.h"

#include <iostream>
#include <utility>

namespace ns3::allreduce
{

OtherRanksQuiet::OtherRanksQuiet()
{
    if (GetLaunchedRank() > 0)
    {
        m_out = std::cout.rdbuf(&m_nothing);
        m_error = std::cerr.rdbuf(&m_nothing);
    }
}

OtherRanksQuiet::~OtherRanksQuiet()
{
    LetErrorsPass();
    if (m_out)
    {
        std::cout.rdbuf(m_out);
    }
}

void
OtherRanksQuiet::LetErrorsPass()
{
    if (m_error)
    {
        std::cerr.rdbuf(std::exchange(m_error, nullptr));
    }
}

int
OtherRanksQuiet::ChooseStatus(int status) const
{
    return m_error ? 0 : status;
}

} // namespace ns3::allreduce
