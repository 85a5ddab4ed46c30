/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "schedule-player.h"

#include "drawn-network.h"
#include "network-view.h"

#include "ns3/allreduce-state.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace ns3::allreduce
{

namespace
{

using Json = nlohmann::ordered_json;

/// Numbers in all steps of a view; rounds are put together if there would be more.
constexpr uint64_t MOST_NUMBERS = 4'000'000;
/// Letters in all steps of a view, one for each server; with more, some steps have none.
constexpr uint64_t MOST_LETTERS = 3'000'000;

/// What a server holds of a chunk.
enum Cell : uint8_t
{
    NOTHING,
    PARTIAL,
    FINAL
};

/// @return 0 for none, 7 for all, and something between
uint32_t
RoundShare(uint64_t held, uint64_t all)
{
    return held == 0 ? 0 : held == all ? 7 : 1 + 6 * held / all;
}

/// @return a letter for what a server holds: an eighth of the letters for each share of partial
/// sums
char
EncodeShares(uint32_t partial, uint32_t final)
{
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[8 * partial + final];
}

/// Plays rounds and notes what is seen of them. What did not arrive is listed and counted, but
/// uses no links and changes nothing at the servers.
class Player
{
  public:
    Player(const Topology& topology,
           const Collective& collective,
           RoundRange rounds,
           Fates fates = {})
        : m_topology(topology),
          m_rounds(rounds),
          m_fates(std::move(fates)),
          m_drawn(DrawNetwork(topology)),
          m_state(topology, collective),
          m_loads(2 * m_drawn.links.size()),
          m_totals(m_loads.size(), 0),
          m_linkTotals(m_drawn.isAggregated ? topology.GetNDirectedLinks() : 0, 0),
          m_milestones(collective.GetNChunks()),
          m_cells(m_drawn.isAggregated ? 0 : topology.GetNServers() * collective.GetNChunks(),
                  NOTHING)
    {
    }

    Json Play()
    {
        const uint64_t perRound = 3 * m_loads.size() + 2 * m_drawn.nodes.size();
        const uint64_t nRounds = m_rounds.size();
        const uint64_t roundsPerStep = 1 + perRound * nRounds / MOST_NUMBERS;
        const uint64_t nLetters = m_topology.GetNServers() * (nRounds / roundsPerStep);
        m_stepsPerLetters = 1 + nLetters / MOST_LETTERS;
        Json steps = Json::array({TakeStep(0)});
        for (uint64_t first = 0; first < nRounds; first += roundsPerStep)
        {
            const uint64_t end = std::min(first + roundsPerStep, nRounds);
            for (uint64_t round = first; round < end; ++round)
            {
                PlayRound(round);
            }
            steps.push_back(TakeStep(end));
        }
        Json view = MakeNetworkView(m_topology, m_drawn);
        if (!m_state.GetCollective().IsOfAll())
        {
            view.erase("bottleneck"); // is that of an AllReduce of all servers
        }
        view["chunks"] = m_state.GetNChunks();
        view["sums"] = CountSums();
        view["chunk_rounds"] = MakeChunksJson();
        view["use"] = MakeUseJson(nRounds);
        if (m_drawn.isAggregated)
        {
            view["member_links"] = MakeMembersJson(nRounds);
        }
        view["steps"] = std::move(steps);
        return view;
    }

  private:
    /// What crosses a drawn line in one direction.
    struct Load
    {
        uint32_t nReduces{0};    //!< reduces
        uint32_t nBroadcasts{0}; //!< broadcasts
    };

    /// After which rounds a chunk's sum is final at its root, and at all servers.
    struct Milestones
    {
        std::optional<uint64_t> final;      //!< at its root
        std::optional<uint64_t> everywhere; //!< at all servers
    };

    void PlayRound(uint64_t number)
    {
        const WorkloadList& round = m_rounds[number];
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            const Fate fate = m_fates.empty() ? ARRIVED : m_fates[number][i];
            ++m_nFlows[fate];
            if (fate == ARRIVED)
            {
                m_state.Start(workload);
                NoteLoad(workload);
            }
            if (fate != UNBEGUN && !m_drawn.isAggregated)
            {
                ListFlow(workload, fate);
            }
        }
        m_state.EndRound();
        NoteMilestones(number + 1);
    }

    void NoteMilestones(uint64_t nRounds)
    {
        for (ChunkId chunk = 0; chunk < m_state.GetNChunks(); ++chunk)
        {
            Milestones& milestones = m_milestones[chunk];
            if (!milestones.final && m_state.IsFinal(chunk))
            {
                milestones.final = nRounds;
            }
            if (!milestones.everywhere && m_state.IsEverywhere(chunk))
            {
                milestones.everywhere = nRounds;
            }
        }
    }

    void ListFlow(const Workload& workload, Fate fate)
    {
        Json flow = {workload.chunk,
                     workload.kind == WorkloadKind::BROADCAST,
                     Path(workload.path.begin(), workload.path.end())};
        if (fate != ARRIVED)
        {
            flow.push_back(NameFate(fate));
        }
        m_flows.push_back(std::move(flow));
    }

    void NoteLoad(const Workload& workload)
    {
        for (std::size_t i = 0; i + 1 < workload.path.size(); ++i)
        {
            const auto link = *m_topology.FindDirectedLink(workload.path[i], workload.path[i + 1]);
            const uint32_t line = m_drawn.directedOf[link];
            if (m_drawn.isAggregated)
            {
                ++m_linkTotals[link];
            }
            if (line == DrawnNetwork::INSIDE)
            {
                continue;
            }
            const bool isReduce = workload.kind == WorkloadKind::REDUCE;
            ++(isReduce ? m_loads[line].nReduces : m_loads[line].nBroadcasts);
            ++m_totals[line];
        }
    }

    /// @return what has happened since the last step
    Json TakeStep(uint64_t round)
    {
        Json step = {{"round", round}, {"flow_count", m_nFlows[ARRIVED]}};
        for (const Fate fate : {UNBEGUN, ABORTED, UNFINISHED})
        {
            if (m_nFlows[fate] > 0)
            {
                step[NameFate(fate)] = m_nFlows[fate];
            }
        }
        step["load"] = TakeLoads();
        step["missing"] = m_state.GetNMissing();
        step["final"] = CountHeld(m_state.GetFinals());
        step["partial"] = CountHeld(m_state.GetPartials());
        if (!m_drawn.isAggregated)
        {
            step["flows"] = std::move(m_flows);
            step["cells"] = TakeCells();
        }
        else if (m_nSteps++ % m_stepsPerLetters == 0 || m_state.IsDone())
        {
            step["servers"] = SpellServers();
        }
        m_flows = Json::array();
        m_nFlows.fill(0);
        return step;
    }

    /// @return line, reduces, broadcasts; line, ...
    Json TakeLoads()
    {
        Json json = Json::array();
        for (std::size_t line = 0; line < m_loads.size(); ++line)
        {
            const Load load = m_loads[line];
            if (load.nReduces + load.nBroadcasts > 0)
            {
                json.push_back(line);
                json.push_back(load.nReduces);
                json.push_back(load.nBroadcasts);
            }
            m_loads[line] = {};
        }
        return json;
    }

    /// @return by drawn node: chunks that its servers hold, all servers together
    Json CountHeld(const BitMatrix& held) const
    {
        std::vector<uint64_t> counts(m_drawn.nodes.size(), 0);
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            counts[m_drawn.nodeOf[server]] += held.CountRow(server);
        }
        return counts;
    }

    /// @return how many sums there will be at servers that are to have them
    uint64_t CountSums() const
    {
        uint64_t count = 0;
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            for (ChunkId chunk = 0; chunk < m_state.GetNChunks(); ++chunk)
            {
                count += m_state.IsReceiver(server, chunk);
            }
        }
        return count;
    }

    /// @return by server: a letter for the shares of chunks of which it has partial and final sums
    std::string SpellServers() const
    {
        std::string letters;
        const uint64_t all = m_state.GetNChunks();
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            letters += EncodeShares(RoundShare(m_state.GetPartials().CountRow(server), all),
                                    RoundShare(m_state.GetFinals().CountRow(server), all));
        }
        return letters;
    }

    /// @return cell, what it now is; cell, ...: those that have changed
    Json TakeCells()
    {
        Json json = Json::array();
        const uint32_t nChunks = m_state.GetNChunks();
        for (std::size_t i = 0; i < m_cells.size(); ++i)
        {
            const NodeId server = i / nChunks;
            const ChunkId chunk = i % nChunks;
            const Cell cell = m_state.GetFinals().Test(server, chunk)     ? FINAL
                              : m_state.GetPartials().Test(server, chunk) ? PARTIAL
                                                                          : NOTHING;
            if (cell != m_cells[i])
            {
                m_cells[i] = cell;
                json.push_back(i);
                json.push_back(cell);
            }
        }
        return json;
    }

    /// @return root, final after round, everywhere after round; root, ...: by chunk
    Json MakeChunksJson() const
    {
        const auto toJson = [](const std::optional<uint64_t>& round) {
            return round ? Json(*round) : Json();
        };
        Json json = Json::array();
        for (ChunkId chunk = 0; chunk < m_state.GetNChunks(); ++chunk)
        {
            json.push_back(m_state.GetRoots()[chunk]);
            json.push_back(toJson(m_milestones[chunk].final));
            json.push_back(toJson(m_milestones[chunk].everywhere));
        }
        return json;
    }

    /// @return a, b, thousandths of the use from a to b, from b to a; a, ...: every link
    Json MakeMembersJson(uint64_t nRounds) const
    {
        Json json = Json::array();
        for (LinkId id = 0; id < m_topology.GetNLinks(); ++id)
        {
            const Link& link = m_topology.GetLink(id);
            json.push_back(link.a);
            json.push_back(link.b);
            for (const DirectedLinkId directed : {2 * id, 2 * id + 1})
            {
                const uint64_t most = std::max<uint64_t>(1, link.capacity * nRounds);
                json.push_back((1000 * m_linkTotals[directed] + most / 2) / most);
            }
        }
        return json;
    }

    /// @return by line and direction: the share of what it could carry in all rounds
    Json MakeUseJson(uint64_t nRounds) const
    {
        Json json = Json::array();
        for (std::size_t line = 0; line < m_totals.size(); ++line)
        {
            const double most = static_cast<double>(m_drawn.links[line / 2].capacity) * nRounds;
            json.push_back(most > 0 ? m_totals[line] / most : 0);
        }
        return json;
    }

    const Topology& m_topology;           //!< the network
    RoundRange m_rounds;                  //!< what is played
    Fates m_fates;                        //!< what became of it
    DrawnNetwork m_drawn;                 //!< how the network is drawn
    AllReduceState m_state;               //!< how far it has come
    std::vector<Load> m_loads;            //!< by line and direction, since the last step
    std::vector<uint64_t> m_totals;       //!< by line and direction, in all
    std::vector<uint64_t> m_linkTotals;   //!< by directed link, in all; empty if each is a line
    std::vector<Milestones> m_milestones; //!< by chunk
    uint64_t m_nSteps{0};                 //!< taken so far, if nodes are drawn as one
    uint64_t m_stepsPerLetters{1};        //!< every so many have letters
    std::vector<Cell> m_cells;            //!< [server][chunk] at the last step
    Json m_flows = Json::array();         //!< since the last step
    std::array<uint64_t, 4> m_nFlows{};   //!< by fate, since the last step
};

} // namespace

const char*
NameFate(Fate fate)
{
    constexpr const char* NAMES[] = {"unbegun", "arrived", "aborted", "unfinished"};
    return NAMES[fate];
}

Json
PlayRounds(const Topology& topology, const Collective& collective, RoundRange rounds, Fates fates)
{
    return Player(topology, collective, rounds, std::move(fates)).Play();
}

} // namespace ns3::allreduce
