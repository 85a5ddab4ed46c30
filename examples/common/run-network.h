/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RUN_NETWORK_H
#define ALLREDUCE_RUN_NETWORK_H

#include "queue-watch.h"
#include "run-experiment.h"
#include "run-options.h"

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-topology.h"
#include "ns3/topology-helper.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief A network as the options of a run ask for it, whose links are watched. There is one at a
 * time; with it goes all that the simulator has.
 */
class RunNetwork
{
  public:
    /**
     * @param topology the network, with the rates and delays that the options ask for
     * @param options how it is built
     * @param getRank which process simulates a node; empty: there is one
     */
    RunNetwork(const Topology& topology,
               const RunOptions& options,
               const std::function<uint32_t(NodeId)>& getRank = {});

    /// Destroys the simulator.
    ~RunNetwork();

    RunNetwork(const RunNetwork&) = delete;
    RunNetwork& operator=(const RunNetwork&) = delete;

    /// @return the network
    Ptr<AllReduceNetwork> Get() const;

    /// Let servers send what has nothing to do with AllReduces, if the options ask for it.
    void AddBackground();

    /**
     * Run the simulator, with FlowMonitor if the options ask for it.
     *
     * @param result gets how long that took
     * @throws InputError if FlowMonitor's file cannot be written
     */
    void Simulate(ExperimentResult& result) const;

    /// Note what went over the links and what was dropped. @param result gets it
    void CollectLinks(ExperimentResult& result) const;

    /// Relate what went over the links to what they could have carried until the end.
    /// @param result has the one, and gets the other
    void ComputeUse(ExperimentResult& result) const;

  private:
    const Topology& m_topology;         //!< as it was asked for
    const RunOptions& m_options;        //!< how it is built
    TopologyHelper m_builder;           //!< builds it
    Ptr<AllReduceNetwork> m_network;    //!< the network
    std::shared_ptr<void> m_watcher;    //!< what RunOptions::prepare returned
    int64_t m_nStreams{0};              //!< random streams in use
    std::optional<QueueWatch> m_queues; //!< its queues
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RUN_NETWORK_H */
