/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "time-prediction.h"

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
    RoundPredictor(const AllReduceNetwork& network,
                   const AllReduceTransport& transport,
                   uint32_t nChunks,
                   uint64_t bytes)
        : m_network(network),
          m_transport(transport),
          m_nChunks(nChunks),
          m_bytes(bytes),
          m_loads(network.GetTopology().GetNDirectedLinks())
    {
        for (DirectedLinkId link = 0; link < m_loads.size(); ++link)
        {
            m_rates.push_back(network.GetRate(link));
            m_delays.push_back(network.GetDelay(link).GetSeconds());
        }
    }

    /// @return seconds that a round takes
    double Predict(const WorkloadList& round)
    {
        std::fill(m_loads.begin(), m_loads.end(), 0);
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            for (const DirectedLinkId link : GetLinks(workload))
            {
                m_loads[link] += GetWireBits(workload);
            }
        }
        double slowest = 0;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            slowest = std::max(slowest, PredictWorkload(round.Get(i)));
        }
        return slowest;
    }

  private:
    uint64_t GetChunkBytes(ChunkId chunk) const
    {
        return m_bytes / m_nChunks + (chunk < m_bytes % m_nChunks);
    }

    std::vector<DirectedLinkId> GetLinks(const Workload& workload) const
    {
        return m_network.GetLinks(Path(workload.path.begin(), workload.path.end()));
    }

    double GetWireBits(const Workload& workload) const
    {
        const FrameFormat format = m_transport.GetFrameFormat(workload.path.size() - 1);
        return 8.0 * format.GetWireBytes(GetChunkBytes(workload.chunk));
    }

    double PredictWorkload(const Workload& workload)
    {
        const FrameFormat format = m_transport.GetFrameFormat(workload.path.size() - 1);
        const uint64_t bytes = GetChunkBytes(workload.chunk);
        const double frameBits =
            8.0 * (std::min<uint64_t>(format.payload, bytes) + format.overhead);
        double longest = 0;
        double latency = 0;
        double longestFrame = 0;
        for (const DirectedLinkId link : GetLinks(workload))
        {
            const double frame = frameBits / m_rates[link];
            longest = std::max(longest, m_loads[link] / m_rates[link]);
            longestFrame = std::max(longestFrame, frame);
            latency += frame + m_delays[link];
        }
        return bytes == 0 ? 0 : GetSetupSeconds(workload) + longest + latency - longestFrame;
    }

    /// @return what the transport needs if this is the first workload on its path
    double GetSetupSeconds(const Workload& workload)
    {
        const Path path(workload.path.begin(), workload.path.end());
        return m_usedPaths.insert(path).second
                   ? m_transport.GetSetupTime(path, GetChunkBytes(workload.chunk)).GetSeconds()
                   : 0;
    }

    const AllReduceNetwork& m_network;     //!< the network
    const AllReduceTransport& m_transport; //!< how data is cut into frames
    uint32_t m_nChunks;                    //!< number of chunks
    uint64_t m_bytes;                      //!< size of the gradient
    std::vector<double> m_loads;           //!< by directed link: bits in this round
    std::vector<double> m_rates;           //!< by directed link: bit/s
    std::vector<double> m_delays;          //!< by directed link: seconds
    std::set<Path> m_usedPaths;            //!< those of earlier workloads
};

} // namespace

double
PredictSeconds(const AllReduceNetwork& network,
               const AllReduceTransport& transport,
               const AllReduceSchedule& schedule,
               uint64_t bytes)
{
    RoundPredictor predictor(network, transport, schedule.roots.size(), bytes);
    double seconds = 0;
    for (const WorkloadList& round : schedule.rounds)
    {
        seconds += predictor.Predict(round);
    }
    return seconds;
}

double
GetIdealSeconds(const Topology& topology, uint64_t boundRounds, uint32_t nChunks, uint64_t bytes)
{
    double unitRate = 0;
    for (const Link& link : topology.GetLinks())
    {
        unitRate = std::max(unitRate, static_cast<double>(link.rateBps) / link.capacity);
    }
    return boundRounds * (8.0 * bytes / nChunks) / unitRate;
}

} // namespace ns3::allreduce
