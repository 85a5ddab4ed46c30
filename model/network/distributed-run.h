/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DISTRIBUTED_RUN_H
#define ALLREDUCE_DISTRIBUTED_RUN_H

#include "ns3/callback.h"
#include "ns3/net-device.h"
#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <string>
#include <vector>

/**
 * @file
 * @ingroup allreduce
 * Several processes that simulate one network together with ns-3's MPI simulators. All that knows
 * MPI is behind these functions; where ns-3 was built without it, there is one rank.
 */

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @return whether ns-3 was built with MPI
 */
bool HasMpi();

/**
 * @ingroup allreduce
 *
 * @return how many processes mpirun has started, as its environment variables say; 1 without it
 */
uint32_t GetNLaunched();

/**
 * @ingroup allreduce
 *
 * @return which of them this is, from 0
 */
uint32_t GetLaunchedRank();

/**
 * @ingroup allreduce
 *
 * @return how many ranks simulate the network together; 1 unless ns-3's MpiInterface is enabled
 */
uint32_t GetNRanks();

/**
 * @ingroup allreduce
 *
 * @return which of them this is, from 0
 */
uint32_t GetRank();

/**
 * @ingroup allreduce
 *
 * @return whether ns-3's simulator is one that needs several ranks
 */
bool IsSimulatorDistributed();

/**
 * @ingroup allreduce
 *
 * @return whether it is the one in which ranks tell each other by null messages how far they are
 */
bool UsesNullMessages();

/**
 * @ingroup allreduce
 *
 * @brief Joins the processes that mpirun has started; to be made once by a program, before it uses
 * the simulator. Does nothing where there is only one.
 */
class LaunchedRanks
{
  public:
    LaunchedRanks();
    ~LaunchedRanks();
    LaunchedRanks(const LaunchedRanks&) = delete;
    LaunchedRanks& operator=(const LaunchedRanks&) = delete;
};

/**
 * @ingroup allreduce
 *
 * @brief One simulation of all ranks; there can be several, one after another.
 */
class DistributedRun
{
  public:
    /**
     * Enables ns-3's MpiInterface with the simulator that SimulatorImplementationType names, the
     * granted time window if it names none that is distributed.
     *
     * @param nRanks number of ranks; 1: nothing is done
     */
    explicit DistributedRun(uint32_t nRanks);
    /// To be called after Simulator::Destroy.
    ~DistributedRun();
    DistributedRun(const DistributedRun&) = delete;
    DistributedRun& operator=(const DistributedRun&) = delete;

    /// @return seconds that this rank has waited for others since this run began
    double GetWaitSeconds() const;

  private:
    double m_waitedBefore; //!< seconds of earlier runs
};

/**
 * @ingroup allreduce
 *
 * All ranks call it.
 *
 * @param value a number
 * @return whether it is the same on all ranks
 */
bool IsSameOnAllRanks(uint64_t value);

/**
 * @ingroup allreduce
 *
 * All ranks call it.
 *
 * @param text what this rank has to say
 * @return at rank 0: what each rank said; elsewhere nothing
 */
std::vector<std::string> GatherAtFirstRank(const std::string& text);

/**
 * @ingroup allreduce
 *
 * Send a packet to the rank of the device that it is for.
 *
 * @param packet the packet
 * @param time when it arrives
 * @param device where, with the same numbers on both ranks
 */
void SendToRank(Ptr<Packet> packet, Time time, Ptr<NetDevice> device);

/**
 * @ingroup allreduce
 *
 * @param device a device at a link between two ranks
 * @param receive told of packets that come from the other rank from now on, instead of anyone else
 */
void SetRemoteReceiver(Ptr<NetDevice> device, Callback<void, Ptr<Packet>> receive);

/**
 * @ingroup allreduce
 *
 * To be called before a packet goes to another rank. With null messages ns-3 promises along with
 * the packet that the other rank gets nothing before a delay after the next event here; but the
 * present event may send more. This makes the present time that of the next event.
 */
void HoldPromises();

/**
 * @ingroup allreduce
 *
 * End all ranks at once, because this one cannot go on.
 */
[[noreturn]] void AbortAllRanks();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DISTRIBUTED_RUN_H */
