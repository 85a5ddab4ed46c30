/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_EXPERIMENT_H
#define ALLREDUCE_RING_EXPERIMENT_H

#include "allreduce-program-options.h"

#include "ns3/gpu-cluster.h"
#include "ns3/ring-embedding.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief The options that say how the rings of a slot are run packet by packet.
 */
struct RingRunOptions
{
    std::string transport{"raw"};   //!< as CreateTransport takes it
    std::string share{"reserved"};  //!< reserved or best-effort
    std::string mostBytes{"16MiB"}; //!< larger gradients are scaled down to this, time with them
    uint32_t frame{9000};           //!< MTU of the devices
    uint32_t iterations{3};         //!< of every ring

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);

    /**
     * Refuse what is not possible.
     *
     * @throws InputError that names the option
     */
    void Check() const;
};

/// How long a ring takes, in seconds.
struct RingMeasurement
{
    RingEmbedding ring;            //!< the ring
    uint64_t gradientBytes{0};     //!< what its AllReduces sum up, scaled down if it is too much
    double bandwidthBps{0};        //!< what the analytical model takes the ring's hops to have
    uint32_t nRingsOnLink{0};      //!< most rings on a directed link that it crosses
    double analyticalTransfer{0};  //!< 2 M (w-1) / (w B)
    double analyticalIteration{0}; //!< tau
    double aloneTransfer{0};       //!< mean time of an AllReduce with no other ring there
    double togetherTransfer{0};    //!< mean time of an AllReduce among the rings of the slot
    double aloneIteration{0};      //!< the same with the rest of an iteration
    double togetherIteration{0};   //!< the same with the rest of an iteration
    uint32_t queuePeak{0};         //!< most packets in a queue of the network, all together
    uint64_t nDropped{0};          //!< packets that found one full, all together
};

/**
 * Run the rings of a slot in ns-3, each by itself and all together. Rings within one server have
 * nothing to send and are left out. Uses and destroys the simulator.
 *
 * A ring's flows keep to the bandwidth that it has reserved, or, best-effort, to the rate of
 * their links. Workers on one server are one server of the AllReduce, which moves over each hop as
 * many bytes as the ring of workers does.
 *
 * @param cluster the cluster
 * @param jobs the jobs
 * @param rings the rings of a slot
 * @param options how
 * @return one for each ring of several servers
 * @throws InputError if an option is not possible
 * @throws std::runtime_error if an AllReduce does not come to its end
 */
std::vector<RingMeasurement> MeasureRings(const GpuCluster& cluster,
                                          const std::vector<Job>& jobs,
                                          const std::vector<RingEmbedding>& rings,
                                          const RingRunOptions& options);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RING_EXPERIMENT_H */
