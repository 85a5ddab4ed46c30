/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "independent-verifier.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

using Numbers = std::vector<uint64_t>;

void
Demand(bool isTrue, const char* what)
{
    if (!isTrue)
    {
        throw std::runtime_error(what);
    }
}

/// Whose numbers are in a sum, and how often.
using Count = std::map<uint64_t, int>;

/// What a server has of a chunk.
struct Shelf
{
    Count own;                //!< what plain reduces are added to
    std::vector<Count> apart; //!< what came by name
    bool hasResult{false};    //!< whether it has the sum of all
};

/// What reaches a server at the end of a round.
struct Parcel
{
    uint64_t chunk;  //!< of which chunk
    uint64_t target; //!< which server
    Count count;     //!< whose numbers; empty: the sum of all
    bool isApart;    //!< kept apart from what is there
};

/// Plays a file.
class FilePlayer
{
  public:
    explicit FilePlayer(const nlohmann::json& file)
        : m_nServers(file["topology"]["servers"]),
          m_roots(file["chunk_roots"].get<Numbers>())
    {
        for (const nlohmann::json& link : file["topology"]["links"])
        {
            const uint64_t capacity =
                link.size() > 2 && link[2].is_number() ? link[2].get<uint64_t>() : 1;
            m_capacity[{link[0], link[1]}] = capacity;
            m_capacity[{link[1], link[0]}] = capacity;
        }
        ReadMembers(file);
        m_shelves.resize(m_roots.size(), std::vector<Shelf>(m_nServers));
        for (uint64_t chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            Demand(m_roots[chunk] < m_nServers, "a root is no server");
            Demand(m_givers[chunk].count(m_roots[chunk]) > 0, "a root gives nothing");
            for (const uint64_t server : m_givers[chunk])
            {
                Demand(server < m_nServers, "a giver is no server");
                m_shelves[chunk][server].own[server] = 1;
            }
            NoteResult(chunk);
        }
    }

    void PlayRound(const nlohmann::json& round)
    {
        std::map<std::pair<uint64_t, uint64_t>, uint64_t> load;
        std::vector<Parcel> parcels;
        for (const nlohmann::json& workload : round)
        {
            Travel(workload["path"].get<Numbers>(), load);
            parcels.push_back(Send(workload));
        }
        for (const Parcel& parcel : parcels)
        {
            Receive(parcel);
        }
        for (uint64_t chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            NoteResult(chunk);
        }
    }

    void CheckEnd() const
    {
        for (uint64_t chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            Demand(m_shelves[chunk][m_roots[chunk]].hasResult, "a sum is not whole");
            for (const uint64_t server : m_takers[chunk])
            {
                Demand(server < m_nServers && m_shelves[chunk][server].hasResult,
                       "a sum is missing");
            }
        }
    }

  private:
    static std::set<uint64_t> ReadSet(const nlohmann::json& groups, const char* key, uint64_t chunk)
    {
        const Numbers set = groups["sets"].at(groups[key][chunk].get<uint64_t>()).get<Numbers>();
        return {set.begin(), set.end()};
    }

    void ReadMembers(const nlohmann::json& file)
    {
        std::set<uint64_t> all;
        for (uint64_t server = 0; server < m_nServers; ++server)
        {
            all.insert(server);
        }
        m_givers.assign(m_roots.size(), all);
        m_takers = m_givers;
        Demand(!m_roots.empty(), "no chunks");
        if (!file.contains("groups"))
        {
            return;
        }
        const nlohmann::json& groups = file["groups"];
        m_mayRelay = groups["relay"] == "all";
        Demand(groups["contributors"].size() == m_roots.size() &&
                   groups["receivers"].size() == m_roots.size(),
               "not as many sets as chunks");
        for (uint64_t chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            m_givers[chunk] = ReadSet(groups, "contributors", chunk);
            m_takers[chunk] = ReadSet(groups, "receivers", chunk);
        }
    }

    /// The root has the sum when it has everybody's number once.
    void NoteResult(uint64_t chunk)
    {
        Shelf& shelf = m_shelves[chunk][m_roots[chunk]];
        Count whole;
        for (const uint64_t server : m_givers[chunk])
        {
            whole[server] = 1;
        }
        shelf.hasResult = shelf.hasResult || shelf.own == whole;
    }

    void Travel(const Numbers& path, std::map<std::pair<uint64_t, uint64_t>, uint64_t>& load) const
    {
        Demand(path.size() > 1 && path.front() < m_nServers && path.back() < m_nServers,
               "a way from or to no server");
        Demand(std::set<uint64_t>(path.begin(), path.end()).size() == path.size(), "a loop");
        for (std::size_t i = 1; i < path.size(); ++i)
        {
            Demand(i + 1 == path.size() || path[i] >= m_nServers, "a way over a server");
            const auto link = m_capacity.find({path[i - 1], path[i]});
            Demand(link != m_capacity.end(), "no such link");
            Demand(++load[link->first] <= link->second, "too much for a link");
        }
    }

    Parcel Send(const nlohmann::json& workload)
    {
        const uint64_t chunk = workload["chunk"];
        Demand(chunk < m_roots.size(), "no such chunk");
        const uint64_t source = workload["path"].front();
        const uint64_t target = workload["path"].back();
        Demand(m_mayRelay || m_givers[chunk].count(target) + m_takers[chunk].count(target) > 0,
               "a relay where none may be");
        Shelf& from = m_shelves[chunk][source];
        const bool isNamed = workload.contains("contributors") && !workload["contributors"].empty();
        if (workload["kind"] == "broadcast")
        {
            Demand(!isNamed && from.hasResult, "a sum that is not there");
            return {chunk, target, {}, false};
        }
        Demand(source != m_roots[chunk], "the root gives its sum away");
        Count sent =
            isNamed ? TakeNamed(from, workload["contributors"].get<Numbers>()) : TakeAll(from);
        Demand(!sent.empty(), "nothing to send");
        return {chunk, target, std::move(sent), isNamed && target != m_roots[chunk]};
    }

    static void Merge(Count& into, const Count& other)
    {
        for (const auto& [server, times] : other)
        {
            into[server] += times;
        }
    }

    static Count TakeAll(Shelf& from)
    {
        Count sent = std::exchange(from.own, {});
        for (const Count& part : std::exchange(from.apart, {}))
        {
            Merge(sent, part);
        }
        return sent;
    }

    static Count TakeNamed(Shelf& from, const Numbers& names)
    {
        const std::set<uint64_t> named(names.begin(), names.end());
        Demand(named.size() == names.size(), "a name twice");
        const auto isNamed = [&](const Count& part) {
            for (const auto& [server, times] : part)
            {
                if (named.count(server) == 0)
                {
                    return false;
                }
            }
            return true;
        };
        Count sent;
        if (isNamed(from.own))
        {
            Merge(sent, std::exchange(from.own, {}));
        }
        std::vector<Count> left;
        for (const Count& part : from.apart)
        {
            if (isNamed(part))
            {
                Merge(sent, part);
            }
            else
            {
                left.push_back(part);
            }
        }
        from.apart = std::move(left);
        for (const uint64_t server : named)
        {
            Demand(sent.count(server) > 0, "a name that is not there");
        }
        return sent;
    }

    void Receive(const Parcel& parcel)
    {
        Shelf& to = m_shelves[parcel.chunk][parcel.target];
        if (parcel.count.empty())
        {
            to.hasResult = true;
        }
        else if (parcel.isApart)
        {
            to.apart.push_back(parcel.count);
        }
        else
        {
            Merge(to.own, parcel.count);
        }
    }

    uint64_t m_nServers;                                          //!< how many servers there are
    Numbers m_roots;                                              //!< by chunk
    bool m_mayRelay{true};                                        //!< whether others may have parts
    std::vector<std::set<uint64_t>> m_givers;                     //!< by chunk: who contributes
    std::vector<std::set<uint64_t>> m_takers;                     //!< by chunk: who receives
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> m_capacity; //!< of directed links
    std::vector<std::vector<Shelf>> m_shelves;                    //!< by chunk and server
};

} // namespace

std::string
FindFaultOfFile(const std::string& text)
{
    try
    {
        const nlohmann::json file = nlohmann::json::parse(text);
        FilePlayer player(file);
        for (const nlohmann::json& round : file["rounds"])
        {
            player.PlayRound(round);
        }
        player.CheckEnd();
        return "";
    }
    catch (const std::exception& error)
    {
        return error.what();
    }
}

} // namespace ns3::allreduce
