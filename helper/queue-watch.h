/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_QUEUE_WATCH_H
#define ALLREDUCE_QUEUE_WATCH_H

#include "ns3/allreduce-network.h"
#include "ns3/packet.h"
#include "ns3/queue.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Notes how long the queues of a network's devices become, and what finds one full.
 */
class QueueWatch
{
  public:
    /// @param network the network, before anything is sent; it must outlive this
    explicit QueueWatch(const AllReduceNetwork& network);

    QueueWatch(const QueueWatch&) = delete;
    QueueWatch& operator=(const QueueWatch&) = delete;

    /**
     * @param link a directed link
     * @return the queue of the device that sends there
     */
    Ptr<Queue<Packet>> GetQueue(DirectedLinkId link) const;

    /**
     * @param link a directed link
     * @return the most packets in its queue so far
     */
    uint32_t GetPeak(DirectedLinkId link) const;

    /// @return the most packets in any queue so far
    uint32_t GetLargestPeak() const;

    /// @return packets that found a queue full so far, those included that ns-3 dropped before
    /// they came to a device
    uint64_t GetNDropped() const;

  private:
    const AllReduceNetwork& m_network; //!< the network
    uint64_t m_nDropped{0};            //!< before they came to a device
    std::vector<uint32_t> m_peaks;     //!< by directed link, if its device does not remember it
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_QUEUE_WATCH_H */
