/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-error.h"
#include "allreduce-units.h"
#include "link-capacities.h"
#include "topology-builder.h"
#include "topology-file.h"
#include "topology-racks.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// Reads the list word by word and knows the line it is in.
class LinkListReader
{
  public:
    /**
     * @param in the text
     * @param source where it comes from
     * @param nLinesBefore lines that have been read already
     */
    LinkListReader(std::istream& in, const std::string& source, uint32_t nLinesBefore)
        : m_in(in),
          m_source(source),
          m_line(nLinesBefore)
    {
    }

    /**
     * Go to the next line that is not blank.
     *
     * @param expected what should stand there
     */
    void NextLine(const std::string& expected)
    {
        std::string line;
        do
        {
            ++m_line;
            if (!std::getline(m_in, line))
            {
                FailInput(GetPlace(), ": the file ends, expected ", expected);
            }
        } while (IsBlank(line));
        m_words = std::istringstream(line);
        m_expected = expected;
    }

    /// Refuse what follows in the line.
    void EndLine()
    {
        std::string word;
        if (m_words >> word)
        {
            Fail(Quote(word) + " is too much");
        }
    }

    /// Refuse what follows the line.
    void EndFile()
    {
        m_expected = "no more lines";
        for (std::string line; std::getline(m_in, line);)
        {
            ++m_line;
            if (!IsBlank(line))
            {
                Fail(Quote(line));
            }
        }
    }

    /// @return the next word of the line
    std::string Word()
    {
        std::string word;
        if (!(m_words >> word))
        {
            Fail("the line ends");
        }
        return word;
    }

    /**
     * @param limit the number must be below it
     * @return the next word of the line as a number
     */
    uint32_t Number(uint64_t limit)
    {
        const std::string word = Word();
        const uint64_t number = Named([&] { return ParseNumber(word, "number"); });
        if (number >= limit)
        {
            Fail(Shorten(word) + " is too large");
        }
        return number;
    }

    /// @return the next two ends, rate, delay and error rate @param nNodes number of nodes
    Link ReadLink(uint32_t nNodes)
    {
        Link link;
        link.a = Number(nNodes);
        link.b = Number(nNodes);
        const std::string rate = Word();
        const std::string delay = Word();
        const std::string errors = Word();
        link.rateBps = Named([&] { return ParseRate(rate); });
        link.delayNs = Named([&] { return ParseTime(delay); });
        link.errorRate = Named([&] { return ParseFraction(errors, "error rate"); });
        EndLine();
        return link;
    }

    /// @return the file and the line
    std::string GetPlace() const
    {
        return m_source + ": line " + std::to_string(m_line);
    }

    /// Refuse the line. @param why what is wrong
    [[noreturn]] void Fail(const std::string& why) const
    {
        FailInput(GetPlace(), ": ", why, ", expected ", m_expected);
    }

  private:
    static bool IsBlank(const std::string& line)
    {
        return line.find_first_not_of(" \t\r") == std::string::npos;
    }

    /// @return what the call returns; its errors get the line's number @param call the call
    template <typename Call>
    auto Named(Call call) const -> decltype(call())
    {
        try
        {
            return call();
        }
        catch (const InputError& error)
        {
            FailInput(GetPlace(), ": ", error.what());
        }
    }

    std::istream& m_in;         //!< the text
    std::string m_source;       //!< where it comes from
    uint32_t m_line;            //!< number of the present line
    std::istringstream m_words; //!< what is left of the present line
    std::string m_expected;     //!< what the present line should hold
};

/// Lines that join the same pair become one link as fast as they are together; if that is too fast
/// it stays so, and Topology refuses it.
std::vector<Link>
MergeParallel(const std::vector<Link>& links, const std::string& source)
{
    std::vector<Link> merged;
    std::map<std::pair<NodeId, NodeId>, std::size_t> places;
    for (const Link& link : links)
    {
        const auto [place, isNew] = places.emplace(std::minmax(link.a, link.b), merged.size());
        if (isNew)
        {
            merged.push_back(link);
        }
        else
        {
            Link& first = merged[place->second];
            if (first.delayNs != link.delayNs || first.errorRate != link.errorRate)
            {
                FailInput(source,
                          ": lines that join ",
                          FormatPath({first.a, first.b}),
                          " differ in delay or error rate, expected one line");
            }
            first.rateBps = std::min(first.rateBps + link.rateBps, Link::MAX_RATE_BPS + 1);
        }
    }
    return merged;
}

} // namespace

Topology
ReadLinkList(std::istream& in, const std::string& source, uint32_t nLinesBefore)
{
    LinkListReader reader(in, source, nLinesBefore);
    reader.NextLine("the number of nodes, of switches and of links");
    const uint32_t nNodes = reader.Number(TopologyBuilder::MAX_SIZE + 1);
    const uint32_t nSwitches = reader.Number(uint64_t{nNodes} + 1);
    const uint32_t nLinks = reader.Number(TopologyBuilder::MAX_SIZE + 1);
    reader.EndLine();
    TopologyBuilder(reader.GetPlace()).CheckServers(nNodes - nSwitches, nLinks);

    std::vector<bool> isSwitch(nNodes, false);
    if (nSwitches > 0)
    {
        reader.NextLine("the ids of " + std::to_string(nSwitches) + " switches");
        for (uint32_t i = 0; i < nSwitches; ++i)
        {
            isSwitch[reader.Number(nNodes)] = true;
        }
        reader.EndLine();
        if (std::count(isSwitch.begin(), isSwitch.end(), true) != nSwitches)
        {
            reader.Fail("a switch is named twice");
        }
    }
    std::vector<NodeId> idOf(nNodes);
    NodeId nextServer = 0;
    NodeId nextSwitch = nNodes - nSwitches;
    for (uint32_t i = 0; i < nNodes; ++i)
    {
        idOf[i] = isSwitch[i] ? nextSwitch++ : nextServer++;
    }

    std::vector<Link> links;
    for (uint32_t i = 0; i < nLinks; ++i)
    {
        reader.NextLine("link " + std::to_string(i + 1) + " of " + std::to_string(nLinks) +
                        ": source, destination, rate, delay, error rate");
        Link link = reader.ReadLink(nNodes);
        link.a = idOf[link.a];
        link.b = idOf[link.b];
        links.push_back(link);
    }
    reader.EndFile();
    links = MergeParallel(links, source);
    DeriveCapacities(links);
    Topology topology(source, nNodes - nSwitches, nSwitches, std::move(links));
    topology.SetPositions(PlaceByRacks(topology));
    return topology;
}

void
WriteLinkList(const Topology& topology, std::ostream& out)
{
    out << topology.GetNNodes() << " " << topology.GetNSwitches() << " " << topology.GetNLinks()
        << "\n";
    for (NodeId node = topology.GetNServers(); node < topology.GetNNodes(); ++node)
    {
        out << node << (node + 1 < topology.GetNNodes() ? " " : "");
    }
    out << "\n";
    for (const Link& link : topology.GetLinks())
    {
        out << link.a << " " << link.b << " " << FormatRate(link.rateBps) << " "
            << FormatTime(link.delayNs) << " " << link.errorRate << "\n";
    }
}

} // namespace ns3::allreduce
