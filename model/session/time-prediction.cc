/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "time-prediction.h"

#include "workload-dispatcher.h"

#include "ns3/workload-rates.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// What workloads put on the links, and what they wait for besides links.
class WorkloadTimes
{
  public:
    WorkloadTimes(const Topology& topology,
                  const AllReduceTransport& transport,
                  uint32_t mtu,
                  uint32_t nChunks,
                  uint64_t bytes)
        : m_topology(topology),
          m_transport(transport),
          m_mtu(mtu),
          m_nChunks(nChunks),
          m_bytes(bytes)
    {
    }

    /// @return the network
    const Topology& GetTopology() const
    {
        return m_topology;
    }

    /// @return bits of a workload on the wire; 0 if it is empty
    double GetBits(const Workload& workload) const
    {
        return 8.0 * GetFormat(workload).GetWireBytes(GetBytes(workload));
    }

    /// @return bits of a workload's first frame
    double GetFrameBits(const Workload& workload) const
    {
        const FrameFormat format = GetFormat(workload);
        return 8.0 * (std::min<uint64_t>(format.payload, GetBytes(workload)) + format.overhead);
    }

    /// @return frames of a workload; 0 if it is empty
    uint32_t GetNFrames(const Workload& workload) const
    {
        const uint64_t payload = GetFormat(workload).payload;
        return (GetBytes(workload) + payload - 1) / payload;
    }

    /// @return seconds that the transport needs if this is the first workload on its path
    double TakeSetupSeconds(const Workload& workload, uint64_t rateBps)
    {
        const Path path(workload.path.begin(), workload.path.end());
        const bool isFirst = m_usedPaths.insert(path).second;
        return isFirst ? m_transport.GetSetupSeconds(m_topology,
                                                     m_mtu,
                                                     {path, GetBytes(workload), rateBps})
                       : 0;
    }

  private:
    uint64_t GetBytes(const Workload& workload) const
    {
        return GetChunkBytes(m_bytes, m_nChunks, workload.chunk);
    }

    /// @return how a workload is cut into frames; a transport looks up attributes to tell, so that
    /// it is asked once for each length of paths
    const FrameFormat& GetFormat(const Workload& workload) const
    {
        const std::size_t hops = workload.path.size() - 1;
        for (std::size_t i = m_formats.size(); i <= hops; ++i)
        {
            m_formats.push_back(m_transport.GetFrameFormat(i, m_mtu));
        }
        return m_formats[hops];
    }

    const Topology& m_topology;            //!< the network
    const AllReduceTransport& m_transport; //!< how data is cut into frames
    uint32_t m_mtu;                        //!< largest packet
    uint32_t m_nChunks;                    //!< number of chunks
    uint64_t m_bytes;                      //!< size of the gradient
    std::set<Path> m_usedPaths;            //!< those of earlier workloads
    /// By number of hops: see GetFormat.
    mutable std::vector<FrameFormat> m_formats;
};

/// Predicts rounds with barriers between them by a formula, for plans that are large.
class RoundPredictor
{
  public:
    explicit RoundPredictor(WorkloadTimes& times)
        : m_times(times),
          m_loads(times.GetTopology().GetNDirectedLinks())
    {
    }

    /// @return seconds that a round takes
    double Predict(const WorkloadList& round)
    {
        std::fill(m_loads.begin(), m_loads.end(), 0);
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const double bits = m_times.GetBits(round.Get(i));
            ForEachLink(m_times.GetTopology(), round.Get(i).path, [&](DirectedLinkId id) {
                m_loads[id] += bits;
            });
        }
        const auto rates = ComputeWorkloadRates(m_times.GetTopology(), round);
        double slowest = 0;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            slowest = std::max(slowest, PredictWorkload(round.Get(i), rates[i]));
        }
        return slowest;
    }

  private:
    double PredictWorkload(const Workload& workload, uint64_t rateBps)
    {
        if (m_times.GetBits(workload) == 0)
        {
            return 0;
        }
        double longest = 0;
        double latency = 0;
        double longestFrame = 0;
        ForEachLink(m_times.GetTopology(), workload.path, [&](DirectedLinkId id) {
            const Link& link = m_times.GetTopology().GetLinkOf(id);
            const double frame = m_times.GetFrameBits(workload) / link.rateBps;
            longest = std::max(longest, m_loads[id] / link.rateBps);
            longestFrame = std::max(longestFrame, frame);
            latency += frame + 1e-9 * link.delayNs;
        });
        return m_times.TakeSetupSeconds(workload, rateBps) + longest + latency - longestFrame;
    }

    WorkloadTimes& m_times;      //!< what workloads put on the links
    std::vector<double> m_loads; //!< by directed link: bits in this round
};

/**
 * Predicts workloads that begin as WorkloadDispatcher lets them. Workloads go in parts, of a frame
 * each if they are not too many. A sender keeps to the rate of its workload, and each link sends
 * part after part as they come.
 */
class DispatchPredictor
{
  public:
    /// @param times what workloads put on the links @param schedule all of them
    DispatchPredictor(WorkloadTimes& times, const AllReduceSchedule& schedule)
        : m_times(times),
          m_mostParts(MOST_PARTS),
          m_dispatcher(times.GetTopology(), true),
          m_freeFrom(times.GetTopology().GetNDirectedLinks(), 0),
          m_nextStarts(times.GetTopology().GetNDirectedLinks(), 0)
    {
        while (m_mostParts > LEAST_PARTS && CountEvents(schedule) > MOST_EVENTS)
        {
            m_mostParts /= 2;
        }
        m_takesLong = m_mostParts == LEAST_PARTS && CountEvents(schedule) > MOST_EVENTS;
    }

    /// @return whether there is so much to send that it would take long
    bool TakesLong() const
    {
        return m_takesLong;
    }

    /// @return when the last workload arrives @param rounds the workloads @param begin when they
    /// can begin
    double Predict(const std::vector<WorkloadList>& rounds, double begin)
    {
        m_dispatcher.Load(rounds);
        BeginReady(begin);
        double last = begin;
        uint32_t nArrived = 0;
        while (nArrived < m_dispatcher.GetSize())
        {
            const Event event = m_events.top();
            m_events.pop();
            if (event.kind == PART)
            {
                PassLink(event);
                continue;
            }
            if (event.kind == ARRIVED)
            {
                last = event.seconds;
                ++nArrived;
                m_dispatcher.NotifyArrived(event.index);
            }
            else
            {
                m_dispatcher.FreePorts(event.index);
            }
            BeginReady(event.seconds);
        }
        m_events = {};
        return last;
    }

  private:
    /// What can happen to a workload.
    enum Kind
    {
        SENT,    //!< its sender has sent everything
        ARRIVED, //!< all of it has arrived
        PART     //!< the first frame of a part has come to a link
    };

    /// Something that is to happen to a workload.
    struct Event
    {
        double seconds;     //!< when
        uint32_t index;     //!< the workload
        Kind kind;          //!< what
        uint32_t hop{0};    //!< PART: the link, counted along the path
        double last{0};     //!< PART: when its last frame comes to the link
        double bits{0};     //!< PART: its size
        bool isFinal{true}; //!< PART: the last one of its workload

        bool operator<(const Event& other) const
        {
            return std::tie(other.seconds, other.index) < std::tie(seconds, index);
        }
    };

    /// About so many events are worth a prediction.
    static constexpr uint64_t MOST_EVENTS = 1'500'000;
    /// Parts of a workload, if it has as many frames.
    static constexpr uint32_t LEAST_PARTS = 16;
    static constexpr uint32_t MOST_PARTS = 64;

    /// @return what it takes to predict workloads in as many parts as they may have
    uint64_t CountEvents(const AllReduceSchedule& schedule) const
    {
        uint64_t nEvents = 0;
        for (const WorkloadList& round : schedule.rounds)
        {
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                nEvents += GetNParts(round.Get(i)) * (round.Get(i).path.size() - 1);
            }
        }
        return nEvents;
    }

    uint32_t GetNParts(const Workload& workload) const
    {
        // A direct link is shared with none but those that have begun beside it.
        return workload.path.size() > 2 ? std::min(m_times.GetNFrames(workload), m_mostParts) : 1;
    }

    void BeginReady(double now)
    {
        bool hasChanged = true;
        while (hasChanged)
        {
            hasChanged = false;
            while (m_dispatcher.CompleteNext())
            {
            }
            while (const auto index = m_dispatcher.BeginNext())
            {
                Begin(*index, now);
                hasChanged = true;
            }
        }
    }

    void Begin(uint32_t index, double now)
    {
        const Workload workload = m_dispatcher.Get(index);
        const double bits = m_times.GetBits(workload);
        if (bits == 0)
        {
            m_events.push({now, index, ARRIVED});
            return;
        }
        const double rate = m_dispatcher.GetRate(index);
        const double frame = m_times.GetFrameBits(workload);
        const double begin = ReserveStart(workload, now + m_times.TakeSetupSeconds(workload, rate));
        const uint32_t nParts = GetNParts(workload);
        const double full = std::ceil(double(m_times.GetNFrames(workload)) / nParts) * frame;
        for (double sent = 0; sent < bits; sent += full)
        {
            const double size = nParts > 1 ? std::min(full, bits - sent) : bits;
            const double lastFrame = std::min(frame, size);
            m_events.push({begin + sent / rate,
                           index,
                           PART,
                           0,
                           begin + (sent + size - lastFrame) / rate,
                           size,
                           sent + size >= bits});
        }
        m_events.push({begin + bits / rate, index, SENT});
    }

    /// @return when a workload's first frame is sent: those that begin together follow each other
    double ReserveStart(const Workload& workload, double now)
    {
        const DirectedLinkId port =
            *m_times.GetTopology().FindDirectedLink(workload.path[0], workload.path[1]);
        const double start = std::max(now, m_nextStarts[port]);
        m_nextStarts[port] =
            start + m_times.GetFrameBits(workload) / m_times.GetTopology().GetLinkOf(port).rateBps;
        return start;
    }

    void PassLink(const Event& event)
    {
        const Workload workload = m_dispatcher.Get(event.index);
        const DirectedLinkId id =
            *m_times.GetTopology().FindDirectedLink(workload.path[event.hop],
                                                    workload.path[event.hop + 1]);
        const Link& link = m_times.GetTopology().GetLinkOf(id);
        const double frame = std::min(m_times.GetFrameBits(workload), event.bits) / link.rateBps;
        const double delay = 1e-9 * link.delayNs;
        const double begin = std::max(event.seconds, m_freeFrom[id]);
        m_freeFrom[id] = begin + event.bits / link.rateBps;
        const double last = std::max(event.last + frame, m_freeFrom[id]) + delay;
        if (event.hop + 2 < workload.path.size())
        {
            m_events.push({begin + frame + delay,
                           event.index,
                           PART,
                           event.hop + 1,
                           last,
                           event.bits,
                           event.isFinal});
        }
        else if (event.isFinal)
        {
            m_events.push({last, event.index, ARRIVED});
        }
    }

    WorkloadTimes& m_times;              //!< what workloads put on the links
    uint32_t m_mostParts;                //!< of a workload
    bool m_takesLong{false};             //!< see TakesLong
    WorkloadDispatcher m_dispatcher;     //!< says what begins when
    std::vector<double> m_freeFrom;      //!< by directed link: when it has sent what has come
    std::vector<double> m_nextStarts;    //!< by directed link: see ReserveStart
    std::priority_queue<Event> m_events; //!< what is to happen, the next one first
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
    WorkloadTimes times(topology, transport, mtu, schedule.collective.GetNChunks(), bytes);
    DispatchPredictor predictor(times, schedule);
    if (!hasBarriers)
    {
        return predictor.Predict(schedule.rounds, 0);
    }
    RoundPredictor quickPredictor(times);
    double seconds = 0;
    for (const WorkloadList& round : schedule.rounds)
    {
        seconds = predictor.TakesLong() ? seconds + quickPredictor.Predict(round)
                                        : predictor.Predict({round}, seconds);
    }
    return seconds;
}

} // namespace ns3::allreduce
