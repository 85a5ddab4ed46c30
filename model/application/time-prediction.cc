/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "time-prediction.h"

#include "ns3/workload-rates.h"

#include <algorithm>
#include <set>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// Predicts round by round.
class RoundPredictor
{
  public:
    RoundPredictor(const Topology& topology,
                   const AllReduceTransport& transport,
                   uint32_t mtu,
                   uint32_t nChunks,
                   uint64_t bytes)
        : m_topology(topology),
          m_transport(transport),
          m_mtu(mtu),
          m_nChunks(nChunks),
          m_bytes(bytes),
          m_loads(topology.GetNDirectedLinks())
    {
    }

    /// @return seconds that a round takes
    double Predict(const WorkloadList& round)
    {
        std::fill(m_loads.begin(), m_loads.end(), 0);
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            const double bits = 8.0 * GetFormat(workload).GetWireBytes(GetBytes(workload));
            ForEachLink(workload, [&](DirectedLinkId link) { m_loads[link] += bits; });
        }
        const std::vector<uint64_t> rates = ComputeWorkloadRates(m_topology, round);
        double slowest = 0;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            slowest = std::max(slowest, PredictWorkload(round.Get(i), rates[i]));
        }
        return slowest;
    }

  private:
    uint64_t GetBytes(const Workload& workload) const
    {
        return GetChunkBytes(m_bytes, m_nChunks, workload.chunk);
    }

    FrameFormat GetFormat(const Workload& workload) const
    {
        return m_transport.GetFrameFormat(workload.path.size() - 1, m_mtu);
    }

    template <typename Call>
    void ForEachLink(const Workload& workload, Call call) const
    {
        for (std::size_t i = 0; i + 1 < workload.path.size(); ++i)
        {
            call(*m_topology.FindDirectedLink(workload.path[i], workload.path[i + 1]));
        }
    }

    double PredictWorkload(const Workload& workload, uint64_t rateBps)
    {
        const FrameFormat format = GetFormat(workload);
        const uint64_t bytes = GetBytes(workload);
        const double frameBits =
            8.0 * (std::min<uint64_t>(format.payload, bytes) + format.overhead);
        double longest = 0;
        double latency = 0;
        double longestFrame = 0;
        ForEachLink(workload, [&](DirectedLinkId id) {
            const Link& link = m_topology.GetLink(id / 2);
            const double frame = frameBits / link.rateBps;
            longest = std::max(longest, m_loads[id] / link.rateBps);
            longestFrame = std::max(longestFrame, frame);
            latency += frame + 1e-9 * link.delayNs;
        });
        return bytes == 0 ? 0
                          : GetSetupSeconds(workload, rateBps) + longest + latency - longestFrame;
    }

    /// @return what the transport needs if this is the first workload on its path
    double GetSetupSeconds(const Workload& workload, uint64_t rateBps)
    {
        const Path path(workload.path.begin(), workload.path.end());
        const bool isFirst = m_usedPaths.insert(path).second;
        return isFirst ? m_transport.GetSetupSeconds(m_topology,
                                                     m_mtu,
                                                     {path, GetBytes(workload), rateBps})
                       : 0;
    }

    const Topology& m_topology;            //!< the network
    const AllReduceTransport& m_transport; //!< how data is cut into frames
    uint32_t m_mtu;                        //!< largest packet
    uint32_t m_nChunks;                    //!< number of chunks
    uint64_t m_bytes;                      //!< size of the gradient
    std::vector<double> m_loads;           //!< by directed link: bits in this round
    std::set<Path> m_usedPaths;            //!< those of earlier workloads
};

} // namespace

double
PredictSeconds(const Topology& topology,
               const AllReduceTransport& transport,
               uint32_t mtu,
               const AllReduceSchedule& schedule,
               uint64_t bytes)
{
    RoundPredictor predictor(topology, transport, mtu, schedule.roots.size(), bytes);
    double seconds = 0;
    for (const WorkloadList& round : schedule.rounds)
    {
        seconds += predictor.Predict(round);
    }
    return seconds;
}

} // namespace ns3::allreduce
