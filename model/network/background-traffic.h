/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BACKGROUND_TRAFFIC_H
#define ALLREDUCE_BACKGROUND_TRAFFIC_H

#include "allreduce-network.h"

#include "ns3/application.h"
#include "ns3/event-id.h"
#include "ns3/random-variable-stream.h"
#include "ns3/socket.h"

#include <memory>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief UDP datagrams from a server to random others, at random times.
 *
 * The times between datagrams are exponential, so that the server uses the share Load of the rate
 * of its ports on average. Datagrams take shortest paths; of equal ones, those to different servers
 * take different ones. Where a path has a link that is slower than the server's ports, as much less
 * is sent along it: else the traffic of fast ports would fill the slow link, and nothing else would
 * get through. For the same reason no link gets more than 0.9 of its rate on average, if the loads
 * of links are known. Every server that is sent to must run this application, too.
 */
class BackgroundTraffic : public Application
{
  public:
    /// Where the datagrams go.
    static constexpr uint16_t PORT = 9;

    /// @return the type
    static TypeId GetTypeId();

    BackgroundTraffic();

    /**
     * @param network the network
     * @param server which of its servers this is
     */
    void SetNetwork(Ptr<AllReduceNetwork> network, NodeId server);

    /// What links would carry if all servers had this application with a Load of 1: by directed
    /// link, as a share of its rate.
    using LinkLoads = std::vector<double>;

    /**
     * @param network a network
     * @return what its links would carry, for SetLinkLoads of all its servers
     */
    static std::shared_ptr<const LinkLoads> ComputeLinkLoads(const AllReduceNetwork& network);

    /// Send less along paths with links that would be full.
    /// @param loads what ComputeLinkLoads says
    void SetLinkLoads(std::shared_ptr<const LinkLoads> loads);

    /**
     * @param stream the first random stream to use
     * @return the number of streams used
     */
    int64_t AssignRandomStreams(int64_t stream);

    /// @return the number of bytes sent so far
    uint64_t GetBytesSent() const;

  protected:
    void DoDispose() override;

  private:
    void StartApplication() override;
    void StopApplication() override;

    void FindPaths();
    double GetShare(const Path& path) const;
    void SendOne();
    void Discard(Ptr<Socket> socket);

    double m_load{0.1};                         //!< attribute Load
    Ptr<AllReduceNetwork> m_network;            //!< the network
    NodeId m_server{0};                         //!< which server this is
    std::vector<PinnedPathTag> m_paths;         //!< by target
    std::vector<NodeId> m_targets;              //!< servers that can be reached
    std::vector<double> m_shares;               //!< by target: of its datagrams that are sent
    std::shared_ptr<const LinkLoads> m_loads;   //!< see SetLinkLoads; none: not known
    uint32_t m_packetSize{0};                   //!< bytes in a datagram
    double m_meanGap{0};                        //!< seconds between datagrams
    uint64_t m_bytesSent{0};                    //!< see GetBytesSent
    Ptr<Socket> m_socket;                       //!< sends and receives
    Ptr<ExponentialRandomVariable> m_gapRandom; //!< when the next one is sent
    Ptr<UniformRandomVariable> m_targetRandom;  //!< where it goes
    EventId m_next;                             //!< the next datagram
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BACKGROUND_TRAFFIC_H */
