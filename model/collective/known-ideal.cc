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
        Claim best;
        for (bool isNew = true; isNew;)
        {
            Claim claim = FindClaim(rates);
            if (std::isinf(claim.seconds))
            {
                FailForEver(m_topology, m_bytes, Describe(m_topology, claim));
            }
            isNew = claim.seconds > best.seconds * (1 + LEAST_GAIN);
            if (isNew)
            {
                best = std::move(claim);
                const std::vector<uint64_t> last =
                    std::exchange(rates, m_supply.ComputeMeanRates(best.seconds));
                isNew = rates != last; // the same rates have the same sides
            }
        }
        ideal.bandwidth = best.seconds;
        ideal.bottleneck = Describe(MakeMean(rates), best);
    }

  private:
    /// Less is due to rounding.
    static constexpr double LEAST_GAIN = 1e-12;

    /// What some sides prove. One of the two says more about them.
    struct Claim
    {
        PriceBound prices; //!< for AllReduces of all servers
        CutBound cut;      //!< for collectives of groups
        double seconds{0}; //!< for so long their links are busy at least
    };

    /// @return what the best sides at constant rates prove @param rates by directed link
    Claim FindClaim(const std::vector<uint64_t>& rates) const
    {
        const std::vector<uint64_t> means = AverageDirections(rates);
        Claim claim;
        if (!m_collective.IsOfAll())
        {
            std::vector<uint64_t> chunkBytes;
            for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
            {
                chunkBytes.push_back(GetChunkBytes(m_bytes, m_collective.GetNChunks(), chunk));
            }
            claim.cut = FindBestCut(m_topology, m_collective, means, chunkBytes);
            claim.seconds = ComputeSecondsOfGroups(claim.cut);
            return claim;
        }
        claim.prices = FindLinkPrices(m_topology, means);
        claim.seconds = ComputeSecondsOfAll(claim.prices);
        const std::vector<uint64_t> reversed = SwapDirections(rates);
        if (rates != reversed)
        {
            Replace(claim, ClaimByDirection(FindSidesToLeave(m_topology, rates), true));
            Replace(claim, ClaimByDirection(FindSidesToLeave(m_topology, reversed), false));
            Replace(claim, ClaimByDirection({FindNarrowestSide(m_topology, rates)}, true));
        }
        return claim;
    }

    /// @return by link: the mean of both directions, rounded up
    static std::vector<uint64_t> AverageDirections(const std::vector<uint64_t>& rates)
    {
        std::vector<uint64_t> means;
        for (DirectedLinkId link = 0; link < rates.size(); link += 2)
        {
            means.push_back((rates[link] + rates[Reverse(link)] + 1) / 2);
        }
        return means;
    }

    /// @return by directed link: the rate of the other direction
    static std::vector<uint64_t> SwapDirections(std::vector<uint64_t> rates)
    {
        for (DirectedLinkId link = 0; link < rates.size(); link += 2)
        {
            std::swap(rates[link], rates[Reverse(link)]);
        }
        return rates;
    }

    /// Keep the one that proves more.
    static void Replace(Claim& claim, Claim other)
    {
        if (other.seconds > claim.seconds)
        {
            claim = std::move(other);
        }
    }

    /// @return what sides prove, on which all servers are, or one side alone
    /// @param isLeaving whether it is about what leaves them, else about what enters them
    Claim ClaimByDirection(const std::vector<std::vector<bool>>& sides, bool isLeaving) const
    {
        Claim claim;
        claim.prices.prices.assign(m_topology.GetNLinks(), 0);
        std::vector<LinkSupply::Part> links;
        for (const std::vector<bool>& isInside : sides)
        {
            claim.prices.parts.push_back(ListServers(isInside, true));
            for (DirectedLinkId link = 0; link < m_topology.GetNDirectedLinks(); ++link)
            {
                const bool isFrom = isInside[m_topology.GetSource(link)];
                const bool isTo = isInside[m_topology.GetTarget(link)];
                if (isFrom != isTo && isFrom == isLeaving)
                {
                    links.push_back({link, 0});
                    claim.prices.prices[GetLinkId(link)] = 1;
                }
            }
        }
        double bits = 16.0 * m_bytes * (sides.size() - 1);
        if (sides.size() == 1)
        {
            claim.prices.parts.push_back(ListServers(sides.front(), false));
            bits = 8.0 * m_bytes;
        }
        claim.seconds = m_supply.FindSeconds(links, bits);
        return claim;
    }

    std::vector<NodeId> ListServers(const std::vector<bool>& isInside, bool isWanted) const
    {
        std::vector<NodeId> servers;
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            if (isInside[server] == isWanted)
            {
                servers.push_back(server);
            }
        }
        return servers;
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
    std::string Describe(const Topology& network, const Claim& claim) const
    {
        return m_collective.IsOfAll() ? DescribeBottleneck(network, claim.prices)
                                      : DescribeBottleneck(network, claim.cut);
    }

    /// @return the network with the means of rates by direction
    Topology MakeMean(const std::vector<uint64_t>& rates) const
    {
        const std::vector<uint64_t> means = AverageDirections(rates);
        std::vector<Link> links = m_topology.GetLinks();
        for (LinkId id = 0; id < links.size(); ++id)
        {
            links[id].rateBps = means[id];
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
