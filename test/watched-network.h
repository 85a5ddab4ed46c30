/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_WATCHED_NETWORK_H
#define ALLREDUCE_WATCHED_NETWORK_H

#include "fluid-network.h"

#include "ns3/allreduce-topology.h"
#include "ns3/rate-beliefs.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// How flows are watched.
struct WatchSettings
{
    RateBeliefsSettings beliefs;                      //!< what is tested
    double lookSeconds{0};                            //!< between looks
    double tripSeconds{0};                            //!< until a frame arrives
    std::function<double()> jitter{[] { return 0; }}; //!< frames that arrive later than others
};

/**
 * @ingroup allreduce-tests
 *
 * @brief Flows in a FluidNetwork, and RateBeliefs that are told of them as a session tells of its
 * transfers: when they begin and end, and what has been acknowledged at regular looks.
 */
class WatchedNetwork
{
  public:
    /// Of all flows: 9,038 bytes on the wire.
    static constexpr FrameFormat FORMAT{8960, 78};

    /// @param topology the network as announced, and as it is at first @param settings how to watch
    WatchedNetwork(const Topology& topology, WatchSettings settings);

    /// @return the network as it is
    FluidNetwork& GetActual();

    /// @return what flows show
    RateBeliefs& GetBeliefs();

    /// @param from a node @param to a neighbor @return bit/s that the link is believed to have
    double GetBelieved(NodeId from, NodeId to) const;

    /// @return bit/s that it was announced to have @param from a node @param to a neighbor
    double GetAnnounced(NodeId from, NodeId to) const;

    /// @param from a node @param to a neighbor @param bps the rate that the link has from now on
    void SetRate(NodeId from, NodeId to, double bps);

    /// @param path nodes @param frames how much @param paceBps at which it is sent; 0: as fast as
    /// announced @return its name
    TransferId Begin(const Path& path, double frames, double paceBps = 0);

    /// One transfer after another from now on. @param path nodes @param frames of each
    /// @param paceBps see Begin
    void Stream(const Path& path, double frames, double paceBps = 0);

    /// No stream goes on. What is under way comes to its end.
    void EndStreams();

    /// @param transfer one that is given up
    void Abort(TransferId transfer);

    /// @return transfers that have begun and are not over
    std::vector<TransferId> ListTransfers() const;

    /// Let time pass. @param seconds how much
    void Run(double seconds);

    /// Let time pass until something is so. @param what that @param seconds the longest time
    /// @return how long it took; infinity: longer
    double RunUntil(const std::function<bool()>& what, double seconds);

    /// @return by transfer that has come to its end: when
    const std::map<TransferId, double>& GetEnds() const;

  private:
    struct Sent
    {
        Path path;                         //!< its nodes
        std::vector<DirectedLinkId> links; //!< of its path
        double frames{0};                  //!< how much
        double pace{0};                    //!< bit/s
        uint64_t bytes{0};                 //!< of data
        double begin{0};                   //!< when its first bits get through
        FluidNetwork::FlowId flow{0};      //!< in the network, if it has begun there
        bool isThere{false};               //!< it has begun there
        bool isStream{false};              //!< another one follows
    };

    void Step(double until);
    void BeginFlows();
    void Look();

    const Topology& m_topology;
    WatchSettings m_settings;
    FluidNetwork m_actual;
    RateBeliefs m_beliefs;
    std::map<TransferId, Sent> m_sent; //!< under way
    std::map<TransferId, double> m_ends;
    TransferId m_next{0};
    double m_nextLook;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_WATCHED_NETWORK_H */
