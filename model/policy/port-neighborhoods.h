/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PORT_NEIGHBORHOODS_H
#define ALLREDUCE_PORT_NEIGHBORHOODS_H

#include "ns3/allreduce-topology.h"
#include "ns3/bit-matrix.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// An in-port of a server: one direction of a link that is up.
struct InPort
{
    DirectedLinkId link; //!< leads to the server
    NodeId server;       //!< the server
    bool isDirect;       //!< the other end is a server, too
};

/**
 * @ingroup allreduce
 * @brief The in-ports of a network and which servers lie behind and around them.
 *
 * It depends on the links only and stays the same during a plan.
 */
struct PortNeighborhoods
{
    /// @param topology the network @param capacity by directed link: unit flows a round; 0 is down
    PortNeighborhoods(const Topology& topology, const std::vector<uint32_t>& capacity);

    std::vector<InPort> ports;            //!< of server 0, then of server 1, ...
    std::vector<uint32_t> firstPort;      //!< by server: its first port; one entry more at the end
    std::vector<uint32_t> inCapacity;     //!< by server: workloads that it can receive in a round
    std::vector<uint32_t> outCapacity;    //!< by server: workloads that it can send in a round
    BitMatrix nearestAtPort;              //!< [port][server]: nearest behind this port
    BitMatrix nearest;                    //!< [server][server]: nearest behind any of its ports
    BitMatrix direct;                     //!< [server][server]: joined by a link
    BitMatrix aroundTwo;                  //!< [server][server]: a little farther, or their nearest
    std::vector<uint32_t> nNearestAtPort; //!< by port: how many
    std::vector<uint32_t> nNearest;       //!< by server: how many
    std::vector<uint32_t> nDirect;        //!< by server: how many
    std::vector<uint32_t> nAroundTwo;     //!< by server: how many

  private:
    void FindPorts(const Topology& topology, const std::vector<uint32_t>& capacity);
    void FindBehindPort(const Topology& topology,
                        const std::vector<uint32_t>& capacity,
                        uint32_t port,
                        BitMatrix& near);
    void FindAroundTwo(BitMatrix near);
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PORT_NEIGHBORHOODS_H */
