/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "soak-case.h"

#include "allreduce-test-utils.h"
#include "random-network.h"
#include "session-test-utils.h"

#include "ns3/allreduce-transport.h"
#include "ns3/allreduce-units.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// Draws a run.
class SoakDraw
{
  public:
    explicit SoakDraw(uint64_t seed)
        : m_random(seed),
          m_seed(seed),
          m_case{DrawTopology(), {}, {}, 0, {}, {}, false, {}}
    {
    }

    SoakCase Make()
    {
        m_case.options = MakeOptions(Choose(GetTransportNames()), Choose(SYNCS));
        m_case.bytes = DrawBytes();
        m_case.options.control = Choose({"ideal", "packets"});
        m_case.options.queue = Choose<std::string>({"1", "2", "5", "20", "auto"});
        m_case.options.recordsFlows = true;
        m_case.options.showProgress = false;
        m_case.plan.chunksPerServer = std::to_string(1 + Draw(m_random, 2));
        DrawIterations();
        DrawWho();
        DrawSlow();
        DrawBackground();
        DrawOutages();
        m_case.hasTwin = Draw(m_random, 4) == 0;
        DrawSurprises();
        DrawAdaptation();
        return m_case;
    }

  private:
    void DrawAdaptation()
    {
        RunOptions& options = m_case.options;
        const std::string adapt = Choose(
            options.sync == "barrier" ? std::vector<std::string>{"none", "replan"}
                                      : std::vector<std::string>{"none", "replan", "live", "live"});
        options.adapt = options.control == "packets" ? "none" : adapt;
    }

    template <typename T>
    T Choose(const std::vector<T>& choices)
    {
        return choices[Draw(m_random, choices.size())];
    }

    std::string Choose(const std::vector<std::string>& choices)
    {
        return choices[Draw(m_random, choices.size())];
    }

    Topology DrawTopology()
    {
        const std::string number = std::to_string(1 + Draw(m_random, 100));
        const std::string spec = Choose({"bcube:2,1",
                                         "bcube:3,1",
                                         "dcell:2,1",
                                         "dcell:3,1",
                                         "torus:6",
                                         "torus:3x3",
                                         "fattree:4",
                                         "jellyfish:6,3,1," + number,
                                         "jellyfish:4,2,2," + number,
                                         "random"});
        const Topology plain = spec == "random" ? DrawNetwork(m_seed, 8) : ParseTopology(spec);
        std::vector<Link> links = plain.GetLinks();
        m_hasBackground = Draw(m_random, 5) == 0;
        const bool isNear = Draw(m_random, 8) == 0;
        const int64_t delay =
            isNear ? 0 : std::llround(std::pow(10, 3 + Draw(m_random, 501) / 100.0));
        const double loss = Draw(m_random, 3) == 0 ? 0.001 * (1 + Draw(m_random, 20)) : 0;
        const bool keepsDelays = spec == "random" && Draw(m_random, 2) == 0;
        const uint64_t factor = Draw(m_random, 4) == 0 ? 10 + Draw(m_random, 991) : 1;
        // Background traffic of fast links for the time of long delays would take minutes to
        // simulate: links get slower, so that about as many packets are sent.
        const uint64_t divisor = m_hasBackground ? 100 + delay / 10'000 : 1;
        for (Link& link : links)
        {
            link.delayNs = keepsDelays ? link.delayNs : delay;
            link.rateBps = m_hasBackground ? link.rateBps / divisor
                                           : std::min(link.rateBps * factor, MOST_RATE_BPS);
            link.errorRate = loss;
        }
        return plain.WithLinks(spec, links);
    }

    uint64_t DrawBytes()
    {
        return 1 + Draw(m_random, 1u << Draw(m_random, 19));
    }

    void DrawIterations()
    {
        m_case.options.iterations = 1 + Draw(m_random, 3);
        if (m_case.options.iterations > 1 && Draw(m_random, 2) == 0)
        {
            m_case.options.computeTime = FormatTime(1 + Draw(m_random, 200'000));
        }
    }

    /// Draw servers, collective and scheduler: all servers, groups, or jobs.
    void DrawWho()
    {
        const uint32_t kind = Draw(m_random, 3);
        if (kind == 0)
        {
            m_case.plan.schedulers = {Choose(GetNamesWithoutLearning())};
            if (Draw(m_random, 8) == 0)
            {
                m_case.plan.schedulers = {"hrl"};
                m_case.plan.online = true;
            }
            return;
        }
        const auto parts = DrawParts();
        if (kind == 1)
        {
            for (const std::string& part : parts)
            {
                m_case.plan.groups.groups += (m_case.plan.groups.groups.empty() ? "" : ";") + part;
            }
            m_case.plan.groups.collective = DrawCollective();
            m_case.plan.groups.relay = DrawRelay(parts);
            m_case.plan.schedulers = {DrawScheduler()};
            return;
        }
        m_case.plan.schedulers = {"greedy"};
        m_case.options.iterations = 1; // Each job has its own.
        m_case.options.computeTime = "0";
        for (const std::string& part : parts)
        {
            m_case.jobs.push_back(DrawJob(part));
        }
    }

    std::string DrawCollective()
    {
        return Choose({"allreduce", "reduce-scatter", "all-gather", "broadcast", "reduce"});
    }

    std::string DrawScheduler()
    {
        return Choose({"greedy", "greedy", "forest", "hrl"});
    }

    /// Where nobody could relay, --relay=none is refused.
    std::string DrawRelay(const std::vector<std::string>& parts)
    {
        const uint32_t nServers = m_case.topology.GetNServers();
        bool canRelay = false;
        for (const std::string& part : parts)
        {
            const auto inside = ParseServers(part, "servers", nServers);
            for (NodeId server = 0; server < nServers; ++server)
            {
                canRelay |= m_case.topology.GetPorts(server).size() > 1 &&
                            std::count(inside.begin(), inside.end(), server) == 0;
            }
        }
        return Draw(m_random, 3) == 0 && canRelay ? "none" : "all";
    }

    std::string DrawJob(const std::string& servers)
    {
        std::string job = "servers=" + servers + ";collective=" + DrawCollective() +
                          ";relay=" + DrawRelay({servers}) + ";scheduler=" + DrawScheduler() +
                          ";bytes=" + std::to_string(DrawBytes()) +
                          ";start=" + FormatTime(Draw(m_random, 3) * 1000);
        if (Draw(m_random, 2) == 0)
        {
            job += ";iterations=2;compute-time=" + FormatTime(1 + Draw(m_random, 100'000));
        }
        else
        {
            job += ";iterations=1";
        }
        return job;
    }

    /// @return one to three lists of two servers or more; nobody is in two
    std::vector<std::string> DrawParts()
    {
        std::vector<NodeId> servers(m_case.topology.GetNServers());
        std::iota(servers.begin(), servers.end(), 0);
        // Neighbors often have neighboring numbers; relays that are needed should not be the rule.
        if (Draw(m_random, 2) == 0)
        {
            for (std::size_t i = servers.size(); i > 1; --i)
            {
                std::swap(servers[i - 1], servers[Draw(m_random, i)]);
            }
        }
        const uint32_t most = std::min<uint32_t>(3, servers.size() / 2);
        const uint32_t nParts = 1 + Draw(m_random, most);
        std::vector<std::string> parts;
        std::size_t next = 0;
        for (uint32_t i = 0; i < nParts; ++i)
        {
            const std::size_t left = servers.size() - next - 2 * (nParts - i - 1);
            const std::size_t n = 2 + Draw(m_random, left - 1);
            std::string part;
            for (std::size_t j = 0; j < n; ++j)
            {
                part += (part.empty() ? "" : ",") + std::to_string(servers[next++]);
            }
            parts.push_back(part);
        }
        return parts;
    }

    void DrawSlow()
    {
        const uint32_t nSlow = Draw(m_random, 3);
        std::set<std::string> used;
        for (uint32_t i = 0; i < nSlow; ++i)
        {
            const std::string link = FormatEnds(DrawLink());
            const std::string factor = std::to_string(2 + Draw(m_random, 99));
            if (used.insert(link).second)
            {
                m_case.options.faults.slow.push_back(link + ":" + factor);
            }
        }
    }

    void DrawBackground()
    {
        if (!m_hasBackground)
        {
            return;
        }
        // Random traffic overflows a short queue so often that TCP does little but wait.
        const bool isTcp = m_case.options.transport == "tcp";
        std::string& queue = m_case.options.queue;
        queue = isTcp && (queue == "1" || queue == "2") ? "5" : queue;
        const bool isShort = queue != "auto";
        m_case.options.faults.background =
            isShort ? (isTcp ? "0.02" : "0.1") : Choose({"0.1", "0.3", "0.5"});
    }

    /// The time of a run, about: its share on the wires, and one delay for each of some rounds.
    double GetScale() const
    {
        const Link& link = m_case.topology.GetLink(0);
        const double wire = 16.0 * m_case.bytes / link.rateBps;
        return std::min(1e9 * wire + 20.0 * link.delayNs + 1000, 4e9);
    }

    Time DrawTime()
    {
        return NanoSeconds(1 + Draw(m_random, GetScale()));
    }

    /// Links that are slow for a time, bursts and late servers, in every third run. Where there is
    /// background traffic, links might have to carry more than they can.
    void DrawSurprises()
    {
        if (Draw(m_random, 3) > 0)
        {
            return;
        }
        if (!m_hasBackground)
        {
            DrawSlowForATime();
            DrawBursts();
        }
        const uint32_t nServers = m_case.topology.GetNServers();
        for (NodeId server = Draw(m_random, 2 * nServers); server < nServers; server += 3)
        {
            const Time ready = DrawTime();
            m_case.ready = Max(m_case.ready, ready);
            m_case.options.faults.late.push_back(std::to_string(server) + ":" +
                                                 FormatTime(ready.GetNanoSeconds()));
        }
    }

    void DrawSlowForATime()
    {
        std::vector<std::string>& slow = m_case.options.faults.slow;
        for (uint32_t i = Draw(m_random, 3); i > 0; --i)
        {
            const std::string link = FormatEnds(DrawLink()) + ":";
            const bool isNew = std::none_of(slow.begin(), slow.end(), [&](const auto& other) {
                return other.compare(0, link.size(), link) == 0;
            });
            if (isNew)
            {
                const Time begin = DrawTime();
                const Time end = begin + DrawTime();
                slow.push_back(
                    link + std::to_string(2 + Draw(m_random, 99)) + "@" +
                    FormatTime(begin.GetNanoSeconds()) +
                    (Draw(m_random, 2) == 0 ? "" : "," + FormatTime(end.GetNanoSeconds())));
            }
        }
    }

    void DrawBursts()
    {
        if (Draw(m_random, 2) == 0)
        {
            const auto drawLong = [this] {
                const int64_t least = GetScale() / 4;
                return FormatTime(least + DrawTime().GetNanoSeconds());
            };
            m_case.options.faults.bursts = Choose({"0.1", "0.3", "1"}) + "," +
                                           Choose({"0.2", "0.5", "0.95"}) + "," + drawLong() + "," +
                                           drawLong() + "," + std::to_string(m_seed);
        }
    }

    /// A link that is down already goes down again more often than chance would have it.
    void DrawOutages()
    {
        const uint32_t nOutages = Draw(m_random, 6);
        for (uint32_t i = 0; i < nOutages; ++i)
        {
            const bool isAgain = i > 0 && Draw(m_random, 3) == 0;
            const Link link = isAgain ? m_case.outages.back().link : DrawLink();
            const Time begin = Draw(m_random, 6) == 0 ? Time(0) : DrawTime();
            const Time end = Draw(m_random, 2) == 0 ? begin + DrawTime() : Time(0);
            m_case.outages.push_back({link, begin, end});
            m_case.options.faults.fail.push_back(
                FormatEnds(link) + "@" + FormatTime(begin.GetNanoSeconds()) +
                (end.IsZero() ? "" : "," + FormatTime(end.GetNanoSeconds())));
        }
    }

    const Link& DrawLink()
    {
        return m_case.topology.GetLink(Draw(m_random, m_case.topology.GetNLinks()));
    }

    static std::string FormatEnds(const Link& link)
    {
        return std::to_string(link.a) + "-" + std::to_string(link.b);
    }

    static constexpr uint64_t MOST_RATE_BPS = 10'000'000'000'000;

    TestRandom m_random;         //!< random numbers
    uint64_t m_seed;             //!< of the run
    bool m_hasBackground{false}; //!< there is other traffic
    SoakCase m_case;             //!< what has been drawn
};

} // namespace

SoakCase
SoakCase::Draw(uint64_t seed)
{
    return SoakDraw(seed).Make();
}

std::string
SoakCase::MakeCommand(const std::string& name) const
{
    std::ostringstream text;
    text << "allreduce-run --topology=file:" << name
         << " --chunks-per-server=" << plan.chunksPerServer << " --transport=" << options.transport
         << " --sync=" << options.sync << " --control=" << options.control
         << " --queue=" << options.queue << " --verify-data";
    const auto add = [&](const char* option, const std::string& value, const char* unless) {
        if (value != unless)
        {
            text << " --" << option << "='" << value << "'";
        }
    };
    if (jobs.empty())
    {
        text << " --scheduler=" << plan.schedulers.front() << " --bytes=" << bytes;
        add("iterations", std::to_string(options.iterations), "1");
        add("compute-time", options.computeTime, "0");
        add("groups", plan.groups.groups, "");
        add("collective", plan.groups.collective, "allreduce");
        add("relay", plan.groups.relay, "all");
        text << (plan.online ? " --online" : "");
    }
    for (const std::string& job : jobs)
    {
        add("job", job, "");
    }
    add("adapt", options.adapt, "none");
    add("background", options.faults.background, "0");
    for (const std::string& slow : options.faults.slow)
    {
        add("slow", slow, "");
    }
    for (const std::string& late : options.faults.late)
    {
        add("late", late, "");
    }
    add("bursts", options.faults.bursts, "");
    for (const std::string& fail : options.faults.fail)
    {
        add("fail", fail, "");
    }
    return text.str();
}

} // namespace ns3::allreduce
