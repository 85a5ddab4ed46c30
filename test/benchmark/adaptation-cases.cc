/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "adaptation-cases.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-schedule.h"
#include "ns3/ideal-time.h"
#include "ns3/link-capacities.h"
#include "ns3/topology-builder.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>

namespace ns3::allreduce
{

const std::vector<std::string> ADAPTATION_KINDS =
    {"link", "links", "server", "middle", "recover", "bursts", "late", "job", "noise", "none"};

namespace
{

/// A network of one switch; topology specifications have none.
Topology
MakeStar(uint32_t nServers)
{
    TopologyBuilder builder("star:" + std::to_string(nServers));
    const NodeId first = builder.AddServers(nServers);
    const NodeId middle = builder.AddSwitches(1);
    for (uint32_t i = 0; i < nServers; ++i)
    {
        builder.AddLink(first + i, middle);
    }
    return builder.Build();
}

/// Families, each with some sizes.
const std::vector<std::vector<std::string>> FAMILIES = {
    {"star:8", "star:16", "star:32", "star:64"},
    {"bcube:3,1", "bcube:4,1", "bcube:5,1", "bcube:3,2", "bcube:4,2"},
    {"dcell:3,1", "dcell:4,1", "dcell:5,1", "dcell:6,1"},
    {"torus:3x3", "torus:4x4", "torus:5x5", "torus:6x6"},
    {"jellyfish:8,3,1", "jellyfish:10,3,2", "jellyfish:12,4,3"},
    {"fattree:4", "fattree:6"}};

Topology
MakeNetwork(const std::string& spec)
{
    constexpr const char* STAR = "star:";
    return spec.rfind(STAR, 0) == 0 ? MakeStar(std::stoul(spec.substr(std::string(STAR).size())))
                                    : ParseTopology(spec);
}

/// Draws what is wrong; the standard fixes the numbers of its generator.
class CaseMaker
{
  public:
    CaseMaker(uint32_t mostServers, uint64_t bytes, uint64_t seed)
        : m_random(seed),
          m_case(MakeCase(DrawNetwork(mostServers)))
    {
        const Topology& topology = m_case.announced;
        m_idealNs =
            1e9 * ComputeIdealTime(topology, MakeRoots(topology.GetNServers(), 1), bytes).seconds;
        m_links = topology.GetLinks();
    }

    AdaptationCase Make(const std::string& kind)
    {
        m_case.kind = kind;
        Draw(kind);
        m_case.text = m_text.str();
        DeriveCapacities(m_links);
        m_case.actual = m_case.announced.WithLinks(m_case.announced.GetName(), std::move(m_links));
        return std::move(m_case);
    }

  private:
    static AdaptationCase MakeCase(const Topology& topology)
    {
        return {"", "", topology, topology, {}, {}, {}, {}, 0, {}};
    }

    uint64_t DrawBelow(uint64_t limit)
    {
        return m_random() % limit;
    }

    double DrawBetween(double least, double most)
    {
        constexpr uint64_t STEPS = 1000;
        return least + (most - least) * DrawBelow(STEPS + 1) / STEPS;
    }

    Topology DrawNetwork(uint32_t mostServers)
    {
        while (true)
        {
            const auto& family = FAMILIES[DrawBelow(FAMILIES.size())];
            Topology topology = MakeNetwork(family[DrawBelow(family.size())]);
            if (topology.GetNServers() <= mostServers)
            {
                return topology;
            }
        }
    }

    void Draw(const std::string& kind)
    {
        if (kind == "link" || kind == "links")
        {
            SlowLinks(kind == "link" ? 1 : 3);
        }
        else if (kind == "server")
        {
            SlowServer();
        }
        else if (kind == "middle" || kind == "recover")
        {
            ChangeLink(kind == "recover");
        }
        else if (kind == "bursts")
        {
            AddBursts();
        }
        else if (kind == "late")
        {
            DelayServer();
        }
        else if (kind == "job")
        {
            AddJob();
        }
        else if (kind == "noise")
        {
            AddNoise();
        }
        else if (kind != "none")
        {
            FailInput("no kind of surprise is called ", Quote(kind));
        }
    }

    uint32_t DrawFactor()
    {
        constexpr uint32_t FACTORS[] = {2, 4, 10, 20};
        return FACTORS[DrawBelow(std::size(FACTORS))];
    }

    void TellLink(LinkId link, uint32_t factor)
    {
        m_text << (m_text.tellp() > 0 ? ";" : "") << FormatPath({m_links[link].a, m_links[link].b})
               << ":" << factor;
    }

    void SlowDown(LinkId link, uint32_t factor)
    {
        TellLink(link, factor);
        m_links[link].rateBps /= factor;
    }

    void SlowLinks(uint32_t count)
    {
        std::vector<LinkId> links(m_links.size());
        std::iota(links.begin(), links.end(), 0);
        for (uint32_t i = 0; i < count; ++i)
        {
            std::swap(links[i], links[i + DrawBelow(links.size() - i)]);
            SlowDown(links[i], DrawFactor());
        }
    }

    void SlowServer()
    {
        const NodeId server = DrawBelow(m_case.announced.GetNServers());
        for (const Topology::Port& port : m_case.announced.GetPorts(server))
        {
            SlowDown(GetLinkId(port.out), 2);
        }
    }

    void ChangeLink(bool recovers)
    {
        const LinkId link = DrawBelow(m_links.size());
        const uint32_t factor = DrawFactor();
        const uint64_t rate = m_links[link].rateBps;
        const int64_t begin = m_idealNs * (recovers ? DrawBetween(0, 0.3) : 0.5);
        const int64_t end = m_idealNs * DrawBetween(0.5, 0.9);
        TellLink(link, factor);
        m_text << "@" << begin << "ns";
        for (const DirectedLinkId side : {2 * link, 2 * link + 1})
        {
            m_case.rateChanges.push_back({side, begin, rate / factor});
            if (recovers)
            {
                m_case.rateChanges.push_back({side, end, rate});
            }
        }
        if (recovers)
        {
            m_text << "," << end << "ns";
        }
    }

    void AddBursts()
    {
        const double share = DrawBetween(0.1, 0.3);
        const double load = DrawBetween(0.3, 0.8);
        const Time on = NanoSeconds(m_idealNs * DrawBetween(0.02, 0.1));
        const Time off = NanoSeconds(m_idealNs * DrawBetween(0.02, 0.2));
        const uint64_t seed = 1 + DrawBelow(1000);
        m_case.bursts = {share, load, on, off, seed};
        m_text << share << "," << load << "," << on.GetNanoSeconds() << "ns,"
               << off.GetNanoSeconds() << "ns," << seed;
    }

    void DelayServer()
    {
        const NodeId server = DrawBelow(m_case.announced.GetNServers());
        const int64_t ready = m_idealNs * DrawBetween(0.2, 1);
        m_case.lateServers = {{server, ready}};
        m_text << server << ":" << ready << "ns";
    }

    void AddJob()
    {
        OtherJob job;
        for (NodeId server = 0; server < m_case.announced.GetNServers(); server += 2)
        {
            job.servers.push_back(server);
        }
        job.start = NanoSeconds(m_idealNs * DrawBetween(0, 0.5));
        m_text << job.servers.size() << " servers from " << job.start.GetNanoSeconds() << "ns";
        m_case.otherJob = std::move(job);
    }

    void AddNoise()
    {
        constexpr uint32_t LEAST_PACKETS = 20;
        constexpr uint32_t MOST_PACKETS = 200;
        m_case.background = DrawBetween(0, 0.1);
        const uint32_t packets = LEAST_PACKETS + DrawBelow(MOST_PACKETS - LEAST_PACKETS + 1);
        m_case.queue = QueueSize(QueueSizeUnit::PACKETS, packets);
        m_text << "background " << m_case.background << ", queues of " << packets << " packets";
    }

    std::mt19937_64 m_random;  //!< draws
    AdaptationCase m_case;     //!< what is made
    double m_idealNs{0};       //!< of the announced network
    std::vector<Link> m_links; //!< of the actual network
    std::ostringstream m_text; //!< what is wrong
};

} // namespace

bool
AdaptationCase::IsConstant() const
{
    return rateChanges.empty() && !bursts && lateServers.empty() && !otherJob;
}

AdaptationCase
DrawAdaptationCase(const std::string& kind, uint32_t mostServers, uint64_t bytes, uint64_t seed)
{
    return CaseMaker(mostServers, bytes, seed).Make(kind);
}

} // namespace ns3::allreduce
