/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_NETWORK_H
#define ALLREDUCE_RING_NETWORK_H

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-schedule.h"
#include "ns3/ring-embedding.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The part of a network that a ring uses, as an AllReduce on it sees it.
 *
 * The ring's servers are 0, 1, ... in its order; every other node on its paths, servers that only
 * relay too, counts as a switch. Several of these can share one network.
 */
class RingNetwork : public AllReduceNetwork
{
  public:
    /**
     * @param network the whole network
     * @param ring a ring of two servers or more
     * @param reservedBps what each hop of the ring may use of a link, in bit/s; 0: all there is
     */
    RingNetwork(Ptr<AllReduceNetwork> network, const RingEmbedding& ring, uint64_t reservedBps);

    const Topology& GetTopology() const override;
    Ptr<Node> GetNode(NodeId node) const override;
    Ptr<NetDevice> GetDevice(DirectedLinkId link) const override;
    Ipv4Address GetServerAddress(NodeId server) const override;
    PinnedPathTag MakePathTag(const Path& path) const override;
    void PinFlow(const Path& path,
                 uint8_t protocol,
                 uint16_t sourcePort,
                 uint16_t destinationPort) override;

    /// @return the ring's AllReduce: each chunk goes round once to be summed and once to be copied
    AllReduceSchedule MakeSchedule() const;

  private:
    void DoSetLinkUp(LinkId link, bool isUp) override;
    Path ToWhole(const Path& path) const;

    Ptr<AllReduceNetwork> m_network;    //!< the whole network
    std::vector<NodeId> m_nodes;        //!< by node: which it is in the whole network
    std::vector<LinkId> m_links;        //!< by link: which it is in the whole network
    std::vector<Path> m_paths;          //!< from each server to the next
    std::optional<Topology> m_topology; //!< the part that the ring uses
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RING_NETWORK_H */
