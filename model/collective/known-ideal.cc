/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "known-ideal.h"

#include "allreduce-schedule.h"
#include "bottleneck-text.h"
#include "cut-bound.h"
#include "link-prices.h"
#include "link-supply.h"
#include "server-obligations.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Refuse what would take for ever. @param who has too little
[[noreturn]] void
FailForEver(const Topology& topology, uint64_t bytes, const std::string& who)
{
    FailInput(topology.GetName(),
              ": ",
              who,
              ": after all changes of rates too little gets through, for ever, for ",
              bytes,
              " bytes; expected links that last longer or come back");
}

/// Finds sides of the network that prove how long a collective takes at least.
class SideSearch
{
  public:
    SideSearch(const Topology& topology,
               const Collective& collective,
               uint64_t bytes,
               const LinkSupply& supply)
        : m_topology(topology),
          m_collective(collective),
          m_bytes(bytes),
          m_supply(supply),
          m_mayHold(collective.IsOfAll() ? std::vector<bool>(topology.GetNServers(), true)
                                         : FindHolders(topology, collective))
    {
    }

    /// Look for the sides that prove most. @param ideal gets what they prove, and what they are
    void Run(IdealTime& ideal)
    {
        std::vector<uint64_t> rates = m_supply.ComputeMeanRates(0);
        Sides best;
        for (bool isNew = true; isNew;)
        {
            Sides sides = FindSides(rates);
            const double seconds = ComputeSeconds(sides);
            if (std::isinf(seconds))
            {
                FailForEver(m_topology, m_bytes, Describe(m_topology, sides));
            }
            isNew = seconds > ideal.bandwidth * (1 + LEAST_GAIN);
            if (isNew)
            {
                ideal.bandwidth = seconds;
                best = std::move(sides);
                const std::vector<uint64_t> last =
                    std::exchange(rates, m_supply.ComputeMeanRates(seconds));
                isNew = rates != last; // the same rates have the same sides
            }
        }
        ideal.bottleneck = Describe(MakeMean(ideal.bandwidth), best);
    }

  private:
    /// Less is due to rounding.
    static constexpr double LEAST_GAIN = 1e-12;

    /// Sides with no node in common. One of the two says more about them.
    struct Sides
    {
        PriceBound prices; //!< for AllReduces of all servers
        CutBound cut;      //!< for collectives of groups
    };

    /// @return the best sides at constant rates
    Sides FindSides(const std::vector<uint64_t>& rates) const
    {
        if (m_collective.IsOfAll())
        {
            return {FindLinkPrices(m_topology, rates), {}};
        }
        std::vector<uint64_t> chunkBytes;
        for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
        {
            chunkBytes.push_back(GetChunkBytes(m_bytes, m_collective.GetNChunks(), chunk));
        }
        return {{}, FindBestCut(m_topology, m_collective, rates, chunkBytes)};
    }

    double ComputeSeconds(const Sides& sides) const
    {
        return m_collective.IsOfAll() ? ComputeSecondsOfAll(sides.prices)
                                      : ComputeSecondsOfGroups(sides.cut);
    }

    double ComputeSecondsOfAll(const PriceBound& bound) const
    {
        const uint32_t nSides = bound.parts.size();
        const Crossing all = FindCrossing(bound.side, 0, nSides);
        if (nSides > 2)
        {
            const double bits = 16.0 * m_bytes * (nSides - 1);
            return std::max(m_supply.FindSeconds(all.out, bits),
                            m_supply.FindSeconds(all.in, bits));
        }
        double seconds = 0;
        for (uint32_t side = 0; side < nSides; ++side)
        {
            const Crossing one = FindCrossing(bound.side, side, side + 1);
            seconds = std::max({seconds,
                                m_supply.FindSeconds(one.out, 8.0 * m_bytes),
                                m_supply.FindSeconds(one.in, 8.0 * m_bytes)});
        }
        return seconds;
    }

    double ComputeSecondsOfGroups(const CutBound& bound) const
    {
        const Crossing crossing = FindCrossing(bound.side, 0, bound.nSides);
        const double out = m_supply.FindSeconds(crossing.out, 8.0 * bound.crossings);
        const double in = m_supply.FindSeconds(crossing.in, 8.0 * bound.crossings);
        // So much crosses the border of a single side in one of the directions.
        return bound.nSides == 1 ? std::min(out, in) : std::max(out, in);
    }

    /// Links over the borders of sides.
    struct Crossing
    {
        std::vector<LinkSupply::Part> out; //!< that leave a side
        std::vector<LinkSupply::Part> in;  //!< that enter one
    };

    /// @return the links over borders of the sides from first to before end
    Crossing FindCrossing(const std::vector<uint32_t>& side, uint32_t first, uint32_t end) const
    {
        const auto isOneOf = [&](uint32_t s) { return s >= first && s < end; };
        Crossing crossing;
        for (DirectedLinkId link = 0; link < m_topology.GetNDirectedLinks(); ++link)
        {
            const NodeId from = m_topology.GetSource(link);
            const NodeId to = m_topology.GetTarget(link);
            if (side[from] == side[to] || !MayUse(from) || !MayUse(to))
            {
                continue;
            }
            if (isOneOf(side[from]))
            {
                crossing.out.push_back({link, 0});
            }
            if (isOneOf(side[to]))
            {
                crossing.in.push_back({link, 0});
            }
        }
        return crossing;
    }

    bool MayUse(NodeId node) const
    {
        return !m_topology.IsServer(node) || m_mayHold[node];
    }

    /// @param network this one, perhaps with other rates
    std::string Describe(const Topology& network, const Sides& sides) const
    {
        return m_collective.IsOfAll() ? DescribeBottleneck(network, sides.prices)
                                      : DescribeBottleneck(network, sides.cut);
    }

    /// @return the network with the mean rates that it has until then
    Topology MakeMean(double seconds) const
    {
        const std::vector<uint64_t> rates = m_supply.ComputeMeanRates(seconds);
        std::vector<Link> links = m_topology.GetLinks();
        for (LinkId id = 0; id < links.size(); ++id)
        {
            links[id].rateBps = rates[id];
        }
        return m_topology.WithLinks(m_topology.GetName(), std::move(links));
    }

    const Topology& m_topology;
    const Collective& m_collective;    //!< what is to be summed where
    const uint64_t m_bytes;            //!< size of all chunks
    const LinkSupply& m_supply;        //!< what links can carry
    const std::vector<bool> m_mayHold; //!< by server: whether it may hold something of a chunk
};

/// Finds what servers' ports and the distances between servers cost.
class PortSearch
{
  public:
    PortSearch(const Topology& topology, uint64_t bytes, const LinkSupply& supply)
        : m_topology(topology),
          m_bytes(bytes),
          m_supply(supply)
    {
    }

    /// Look at all servers. @param ideal gets the latency and what it is about
    void Run(const ObligationList& obligations, IdealTime& ideal) const
    {
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            std::vector<LinkSupply::Part> out;
            std::vector<LinkSupply::Part> in;
            const auto& [toSend, toReceive] = obligations.servers[server];
            for (const Topology::Port& port : m_topology.GetPorts(server))
            {
                const int64_t delayNs = m_topology.GetLinkOf(port.out).delayNs;
                const int64_t fromNs = std::max<int64_t>(0, toReceive.delayNs - delayNs);
                out.push_back({port.out, 0});
                in.push_back({Reverse(port.out), fromNs});
            }
            Note(server, toSend, out, ideal);
            Note(server, toReceive, in, ideal);
        }
    }

  private:
    void Note(NodeId server,
              const Obligation& obligation,
              const std::vector<LinkSupply::Part>& ports,
              IdealTime& ideal) const
    {
        if (obligation.bytes > 0)
        {
            const double seconds = m_supply.FindSeconds(ports, 8.0 * obligation.bytes);
            if (std::isinf(seconds))
            {
                FailForEver(m_topology, m_bytes, m_topology.Describe(server));
            }
            NoteLatency(server, obligation, seconds, ideal);
        }
    }

    const Topology& m_topology;
    const uint64_t m_bytes;     //!< size of all chunks
    const LinkSupply& m_supply; //!< what links can carry
};

} // namespace

IdealTime
ComputeKnownIdealTime(const Topology& topology,
                      const Collective& collective,
                      uint64_t bytes,
                      const std::vector<RateChange>& changes)
{
    IdealTime ideal;
    if (topology.GetNServers() < 2 || bytes == 0)
    {
        return ideal;
    }
    const ObligationList obligations = ListObligations(topology, collective, bytes);
    const LinkSupply hastened(topology, changes, obligations.leastDelayNs);
    SideSearch(topology, collective, bytes, hastened).Run(ideal);
    PortSearch(topology, bytes, LinkSupply(topology, changes)).Run(obligations, ideal);
    ideal.bandwidth += 1e-9 * obligations.leastDelayNs;
    ideal.seconds = std::max(ideal.bandwidth, ideal.latency);
    return ideal;
}

} // namespace ns3::allreduce
