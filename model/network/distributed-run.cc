/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "distributed-run.h"

#include "ns3/global-value.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <cstdlib>

#ifdef NS3_MPI
#include "ns3/mpi-interface.h"
#include "ns3/mpi-receiver.h"
#include "ns3/node.h"

#include <chrono>
#include <mpi.h>
#endif

namespace ns3::allreduce
{

namespace
{

/// @return the first of some environment variables that is a number; otherwise a default
uint32_t
ReadEnvironment(std::initializer_list<const char*> names, uint32_t otherwise)
{
    for (const char* name : names)
    {
        const char* text = std::getenv(name);
        char* end = nullptr;
        const unsigned long number = text ? std::strtoul(text, &end, 10) : 0;
        if (text && end != text && *end == '\0')
        {
            return number;
        }
    }
    return otherwise;
}

/// @return the type of ns-3's simulator
std::string
GetSimulatorType()
{
    StringValue type;
    GlobalValue::GetValueByName("SimulatorImplementationType", type);
    return type.Get();
}

bool g_isHolding = false; //!< an event of HoldPromises is still to come

} // namespace

uint32_t
GetNLaunched()
{
    // Open MPI; MPICH and what derives from it
    return ReadEnvironment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1);
}

uint32_t
GetLaunchedRank()
{
    return ReadEnvironment({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0);
}

bool
IsSimulatorDistributed()
{
    return UsesNullMessages() || GetSimulatorType() == "ns3::DistributedSimulatorImpl";
}

bool
UsesNullMessages()
{
    return GetSimulatorType() == "ns3::NullMessageSimulatorImpl";
}

void
HoldPromises()
{
    if (!g_isHolding)
    {
        g_isHolding = true;
        Simulator::ScheduleNow([] { g_isHolding = false; });
    }
}

#ifdef NS3_MPI

namespace
{

double g_waitSeconds = 0; //!< that this rank has waited for others

/// Adds the time that it lives to g_waitSeconds.
class WaitClock
{
  public:
    WaitClock()
        : m_begin(std::chrono::steady_clock::now())
    {
    }

    ~WaitClock()
    {
        g_waitSeconds +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
    }

  private:
    std::chrono::steady_clock::time_point m_begin; //!< when it was made
};

} // namespace

bool
HasMpi()
{
    return true;
}

uint32_t
GetNRanks()
{
    return MpiInterface::IsEnabled() ? MpiInterface::GetSize() : 1;
}

uint32_t
GetRank()
{
    return MpiInterface::IsEnabled() ? MpiInterface::GetSystemId() : 0;
}

LaunchedRanks::LaunchedRanks()
{
    if (GetNLaunched() > 1)
    {
        MPI_Init(nullptr, nullptr);
    }
}

LaunchedRanks::~LaunchedRanks()
{
    if (GetNLaunched() > 1)
    {
        MPI_Finalize();
    }
}

DistributedRun::DistributedRun(uint32_t nRanks)
    : m_waitedBefore(g_waitSeconds)
{
    g_isHolding = false;
    if (nRanks > 1)
    {
        MpiInterface::Enable(MPI_COMM_WORLD);
    }
}

DistributedRun::~DistributedRun()
{
    if (MpiInterface::IsEnabled())
    {
        MpiInterface::Disable();
    }
}

double
DistributedRun::GetWaitSeconds() const
{
    return g_waitSeconds - m_waitedBefore;
}

bool
IsSameOnAllRanks(uint64_t value)
{
    if (GetNRanks() == 1)
    {
        return true;
    }
    uint64_t least = 0;
    uint64_t most = 0;
    MPI_Allreduce(&value, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&value, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

std::vector<std::string>
GatherAtFirstRank(const std::string& text)
{
    if (GetNRanks() == 1)
    {
        return {text};
    }
    const int size = text.size();
    std::vector<int> sizes(GetNRanks());
    MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> places(sizes.size());
    int all = 0;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    {
        places[rank] = all;
        all += sizes[rank];
    }
    std::string joined(all, ' ');
    MPI_Gatherv(text.data(),
                size,
                MPI_CHAR,
                joined.data(),
                sizes.data(),
                places.data(),
                MPI_CHAR,
                0,
                MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; GetRank() == 0 && rank < sizes.size(); ++rank)
    {
        texts.push_back(joined.substr(places[rank], sizes[rank]));
    }
    return texts;
}

void
SendToRank(Ptr<Packet> packet, Time time, Ptr<NetDevice> device)
{
    MpiInterface::SendPacket(packet, time, device->GetNode()->GetId(), device->GetIfIndex());
}

void
SetRemoteReceiver(Ptr<NetDevice> device, Callback<void, Ptr<Packet>> receive)
{
    if (!device->GetObject<MpiReceiver>())
    {
        device->AggregateObject(CreateObject<MpiReceiver>());
    }
    device->GetObject<MpiReceiver>()->SetReceiveCallback(receive);
}

void
AbortAllRanks()
{
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

#else

bool
HasMpi()
{
    return false;
}

uint32_t
GetNRanks()
{
    return 1;
}

uint32_t
GetRank()
{
    return 0;
}

LaunchedRanks::LaunchedRanks() = default;
LaunchedRanks::~LaunchedRanks() = default;

DistributedRun::DistributedRun(uint32_t)
    : m_waitedBefore(0)
{
}

DistributedRun::~DistributedRun() = default;

double
DistributedRun::GetWaitSeconds() const
{
    return m_waitedBefore;
}

bool
IsSameOnAllRanks(uint64_t)
{
    return true;
}

std::vector<std::string>
GatherAtFirstRank(const std::string& text)
{
    return {text};
}

void
SendToRank(Ptr<Packet>, Time, Ptr<NetDevice>)
{
}

void
SetRemoteReceiver(Ptr<NetDevice>, Callback<void, Ptr<Packet>>)
{
}

void
AbortAllRanks()
{
    std::abort();
}

#endif

} // namespace ns3::allreduce

#ifdef NS3_MPI

// MPI lets tools take the place of its functions and call them by another name. ns-3's simulators
// wait for other ranks in these two: the granted time window in the first, null messages in the
// second.

int
MPI_Allgather(const void* sent,
              int nSent,
              MPI_Datatype sentType,
              void* received,
              int nReceived,
              MPI_Datatype receivedType,
              MPI_Comm communicator)
{
    const ns3::allreduce::WaitClock clock;
    return PMPI_Allgather(sent, nSent, sentType, received, nReceived, receivedType, communicator);
}

int
MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status)
{
    const ns3::allreduce::WaitClock clock;
    return PMPI_Waitany(count, requests, index, status);
}

#endif
