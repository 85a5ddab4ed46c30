/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FLUID_NETWORK_H
#define ALLREDUCE_FLUID_NETWORK_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <map>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce-tests
 *
 * @brief Flows as water in pipes: no packets and no queues. Links are shared fairly (max-min), and
 * no flow is faster than its sender sends.
 *
 * Knows nothing of the module but the topology. Time is seconds, and begins at 0.
 */
class FluidNetwork
{
  public:
    /// Names a flow.
    using FlowId = uint32_t;

    /// @param topology the network; its rates are those of the beginning
    explicit FluidNetwork(const Topology& topology);

    /// @param link a directed link @param bps its rate from now on; 0: nothing moves
    void SetRate(DirectedLinkId link, double bps);

    /// @return its name @param links of its path @param paceBps at which its sender sends
    /// @param bits how much
    FlowId Begin(const std::vector<DirectedLinkId>& links, double paceBps, double bits);

    /// @param flow one that is given up
    void Abort(FlowId flow);

    /// @param flow one under way @return bits that have come through
    double GetBits(FlowId flow) const;

    /// @param flow one under way @return bit/s that it has now
    double GetBps(FlowId flow) const;

    /// @return the present time
    double GetSeconds() const;

    /// @return when the next flow ends, if nothing changes; infinity: none does
    double GetNextEnd() const;

    /// Let time pass. @param until the time, not after the next end
    /// @return flows that have ended with that
    std::vector<FlowId> Advance(double until);

  private:
    struct Flow
    {
        std::vector<DirectedLinkId> links; //!< of its path
        double pace{0};                    //!< bit/s
        double size{0};                    //!< bits
        double done{0};                    //!< bits
        double rate{0};                    //!< bit/s
    };

    /// @return when a flow ends, if nothing changes
    double GetEnd(const Flow& flow) const;
    void Share();

    std::vector<double> m_rates;    //!< by directed link: bit/s
    std::map<FlowId, Flow> m_flows; //!< under way
    FlowId m_next{0};               //!< the next name
    double m_seconds{0};            //!< the present time
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FLUID_NETWORK_H */
