/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_EXPERIMENT_NETWORK_H
#define ALLREDUCE_EXPERIMENT_NETWORK_H

#include "allreduce-experiment.h"
#include "queue-watch.h"
#include "topology-helper.h"

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A network as the settings of an experiment ask for it, whose links are watched. There is
 * one at a time; with it goes all that the simulator has.
 */
class ExperimentNetwork
{
  public:
    /**
     * @param topology the network
     * @param settings how it is built
     * @param getRank which process simulates a node; empty: there is one
     */
    ExperimentNetwork(const Topology& topology,
                      const ExperimentSettings& settings,
                      const std::function<uint32_t(NodeId)>& getRank = {});

    /// Destroys the simulator.
    ~ExperimentNetwork();

    ExperimentNetwork(const ExperimentNetwork&) = delete;
    ExperimentNetwork& operator=(const ExperimentNetwork&) = delete;

    /// @return the network
    Ptr<AllReduceNetwork> Get() const;

    /// Let servers send what has nothing to do with AllReduces, if the settings ask for it.
    void AddBackground();

    /// Run the simulator.
    void Simulate();

    /// Note what simulating took, what went over the links and what was dropped.
    /// @param result gets it
    void Collect(ExperimentResult& result) const;

    /// Relate what went over the links to what they could have carried until the end.
    /// @param result has the one, and gets the other
    void ComputeUse(ExperimentResult& result) const;

  private:
    const ExperimentSettings& m_settings; //!< how it is built
    TopologyHelper m_builder;             //!< builds it
    Ptr<AllReduceNetwork> m_network;      //!< the network
    std::shared_ptr<void> m_watcher;      //!< what ExperimentSettings::prepare returned
    int64_t m_nStreams{0};                //!< random streams in use
    std::optional<QueueWatch> m_queues;   //!< its queues
    double m_wallSeconds{0};              //!< how long the simulation took
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_EXPERIMENT_NETWORK_H */
