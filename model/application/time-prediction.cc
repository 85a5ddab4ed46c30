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

/// Predicts how long workloads take that begin together.
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

    /// @return seconds that each workload of a round takes, from where it can begin
    std::vector<double> Predict(const WorkloadList& round)
    {
        std::fill(m_loads.begin(), m_loads.end(), 0);
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            const double bits = 8.0 * GetFormat(workload).GetWireBytes(GetBytes(workload));
            ForEachLink(workload, [&](DirectedLinkId link) { m_loads[link] += bits; });
        }
        const std::vector<uint64_t> rates = ComputeWorkloadRates(m_topology, round);
        std::vector<double> seconds(round.GetSize());
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            seconds[i] = PredictWorkload(round.Get(i), rates[i]);
        }
        return seconds;
    }

    /// @return seconds for which the workloads of the last round keep a link busy
    double GetBusySeconds(DirectedLinkId link) const
    {
        return m_loads[link] / m_topology.GetLink(link / 2).rateBps;
    }

    template <typename Call>
    void ForEachLink(const Workload& workload, Call call) const
    {
        for (std::size_t i = 0; i + 1 < workload.path.size(); ++i)
        {
            call(*m_topology.FindDirectedLink(workload.path[i], workload.path[i + 1]));
        }
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
            longest = std::max(longest, GetBusySeconds(id));
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

/// Says when workloads arrive that begin as soon as their data is there and their links are free.
class ArrivalPredictor
{
  public:
    ArrivalPredictor(const Topology& topology, RoundPredictor& rounds, uint32_t nChunks)
        : m_rounds(rounds),
          m_nChunks(nChunks),
          m_freeFrom(topology.GetNDirectedLinks(), 0),
          m_thereFrom(std::size_t{nChunks} * topology.GetNServers(), 0)
    {
    }

    /// @return when the last workload of a round arrives
    double Predict(const WorkloadList& round)
    {
        const std::vector<double> seconds = m_rounds.Predict(round);
        std::vector<double> begins(round.GetSize());
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            begins[i] = FindBegin(round.Get(i));
        }
        double last = 0;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            NoteSent(round.Get(i), begins[i], begins[i] + seconds[i]);
            last = std::max(last, begins[i] + seconds[i]);
        }
        return last;
    }

    /// Nothing begins earlier from now on.
    void WaitUntil(double seconds)
    {
        m_now = seconds;
    }

  private:
    double& GetThereFrom(NodeId server, ChunkId chunk)
    {
        return m_thereFrom[std::size_t{server} * m_nChunks + chunk];
    }

    double FindBegin(const Workload& workload)
    {
        double begin = GetThereFrom(workload.GetSource(), workload.chunk);
        m_rounds.ForEachLink(workload, [&](DirectedLinkId link) {
            begin = std::max(begin, m_freeFrom[link]);
        });
        return std::max(begin, m_now);
    }

    void NoteSent(const Workload& workload, double begin, double arrival)
    {
        m_rounds.ForEachLink(workload, [&](DirectedLinkId link) {
            m_freeFrom[link] = std::max(m_freeFrom[link], begin + m_rounds.GetBusySeconds(link));
        });
        double& thereFrom = GetThereFrom(workload.GetTarget(), workload.chunk);
        thereFrom = std::max(thereFrom, arrival);
    }

    double m_now{0};                 //!< see WaitUntil
    RoundPredictor& m_rounds;        //!< how long workloads take
    uint32_t m_nChunks;              //!< number of chunks
    std::vector<double> m_freeFrom;  //!< by directed link
    std::vector<double> m_thereFrom; //!< [server][chunk]: when all that was sent has arrived
};

} // namespace

double
PredictSeconds(const Topology& topology,
               const AllReduceTransport& transport,
               uint32_t mtu,
               const AllReduceSchedule& schedule,
               uint64_t bytes,
               bool hasBarriers)
{
    RoundPredictor rounds(topology, transport, mtu, schedule.roots.size(), bytes);
    ArrivalPredictor arrivals(topology, rounds, schedule.roots.size());
    double seconds = 0;
    for (const WorkloadList& round : schedule.rounds)
    {
        seconds = std::max(seconds, arrivals.Predict(round));
        if (hasBarriers)
        {
            arrivals.WaitUntil(seconds);
        }
    }
    return seconds;
}

} // namespace ns3::allreduce
