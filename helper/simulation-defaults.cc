/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "simulation-defaults.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/nstime.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

namespace ns3::allreduce
{

void
SetFastEventQueue()
{
    GlobalValue::Bind("SchedulerType", StringValue("ns3::allreduce::RadixEventScheduler"));
}

void
SetDataCentreTcpDefaults()
{
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(10)));
    // Shorter than the retransmission timeout, which would fire for data that has arrived.
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(100)));
    // Network cards join a few packets before TCP sees them, and acknowledge them as one.
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(4));
    // ns-3 makes two objects of every timestamp: a fifth of the time of a simulation.
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

} // namespace ns3::allreduce
