/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-program.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>
#include <sstream>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

using Tree = boost::property_tree::ptree;

const MscclType TYPES[] = {
    // name, receives, sends, readsSource, adds, writes
    {"s", false, true, true, false, false},
    {"r", true, false, false, false, true},
    {"rcs", true, true, false, false, true},
    {"rrs", true, true, true, true, false},
    {"rrc", true, false, true, true, true},
    {"rrcs", true, true, true, true, true},
    {"cpy", false, false, true, false, true},
    {"re", false, false, true, true, true},
    {"nop", false, false, false, false, false},
};

/// An element that is being written. (Trees are filled in place: to put one into another copies
/// it.)
class NewElement
{
  public:
    NewElement(Tree& parent, const char* name)
        : m_tree(parent.push_back({name, Tree()})->second),
          m_attributes(m_tree.push_back({"<xmlattr>", Tree()})->second)
    {
    }

    NewElement& Set(const char* key, const std::string& value)
    {
        m_attributes.push_back({key, Tree()})->second.data() = value;
        return *this;
    }

    NewElement& Set(const char* key, int64_t value)
    {
        return Set(key, std::to_string(value));
    }

    NewElement& Set(const char* key, MscclBuffer buffer)
    {
        return Set(key, std::string(1, static_cast<char>(buffer)));
    }

    Tree& GetTree()
    {
        return m_tree;
    }

  private:
    Tree& m_tree;       //!< the element
    Tree& m_attributes; //!< an element for each attribute
};

/// @return "16-20-17"
std::string
FormatVia(const std::vector<uint32_t>& via)
{
    std::string text;
    for (const uint32_t node : via)
    {
        text += (text.empty() ? "" : "-") + std::to_string(node);
    }
    return text;
}

void
AddStep(Tree& parent, const MscclStep& step, uint32_t index)
{
    const auto& dependency = step.dependency;
    NewElement element(parent, "step");
    element.Set("s", index)
        .Set("type", step.type->name)
        .Set("srcbuf", step.source.buffer)
        .Set("srcoff", step.source.offset)
        .Set("dstbuf", step.target.buffer)
        .Set("dstoff", step.target.offset)
        .Set("cnt", step.count)
        .Set("depid", dependency ? int64_t{dependency->tb} : -1)
        .Set("deps", dependency ? int64_t{dependency->step} : -1)
        .Set("hasdep", step.hasDependents ? 1 : 0);
    if (step.round)
    {
        element.Set("round", *step.round);
    }
    const std::string via = FormatVia(step.via);
    if (!via.empty() && via.size() <= MSCCL_MAX_TEXT)
    {
        element.Set("via", via);
    }
}

void
AddBlock(Tree& parent, const MscclThreadBlock& block, uint32_t id)
{
    NewElement element(parent, "tb");
    element.Set("id", id)
        .Set("send", block.sendPeer ? int64_t{*block.sendPeer} : -1)
        .Set("recv", block.receivePeer ? int64_t{*block.receivePeer} : -1)
        .Set("chan", block.channel);
    for (uint32_t i = 0; i < block.steps.size(); ++i)
    {
        AddStep(element.GetTree(), block.steps[i], i);
    }
}

void
AddGpu(Tree& parent, const MscclGpu& gpu, uint32_t id)
{
    NewElement element(parent, "gpu");
    element.Set("id", id)
        .Set("i_chunks", gpu.nInput)
        .Set("o_chunks", gpu.nOutput)
        .Set("s_chunks", gpu.nScratch);
    for (uint32_t i = 0; i < gpu.blocks.size(); ++i)
    {
        AddBlock(element.GetTree(), gpu.blocks[i], i);
    }
}

uint32_t
CountChannels(const MscclProgram& program)
{
    uint32_t nChannels = 1;
    for (const MscclGpu& gpu : program.gpus)
    {
        for (const MscclThreadBlock& block : gpu.blocks)
        {
            nChannels = std::max(nChannels, block.channel + 1);
        }
    }
    return nChannels;
}

/// @return how many elements of a file lie within each other; the parser would need a stack frame
/// for each
uint32_t
MeasureDepth(const std::string& text)
{
    constexpr std::pair<const char*, const char*> SKIPPED[] = {{"<!--", "-->"},
                                                               {"<![CDATA[", "]]>"},
                                                               {"<!", ">"},
                                                               {"<?", "?>"}};
    uint32_t depth = 0;
    uint32_t most = 0;
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    {
        const auto skipped = std::find_if(std::begin(SKIPPED), std::end(SKIPPED), [&](auto pair) {
            return text.compare(at, std::strlen(pair.first), pair.first) == 0;
        });
        if (skipped != std::end(SKIPPED))
        {
            at = text.find(skipped->second, at + std::strlen(skipped->first));
            continue;
        }
        const bool isEnd = text.compare(at, 2, "</") == 0;
        char quote = 0;
        while (++at < text.size() && (quote != 0 || text[at] != '>'))
        {
            const bool isQuote = text[at] == '"' || text[at] == '\'';
            quote = quote == 0 ? (isQuote ? text[at] : 0) : (text[at] == quote ? 0 : quote);
        }
        const bool isEmpty = at < text.size() && text[at - 1] == '/';
        depth = isEnd ? std::max(depth, 1u) - 1 : depth + 1;
        most = std::max(most, depth);
        depth -= !isEnd && isEmpty;
    }
    return most;
}

/// An element of the file, and where it is.
class Element
{
  public:
    Element(const Tree& tree, std::string where)
        : m_tree(tree),
          m_where(std::move(where))
    {
    }

    template <typename... Parts>
    [[noreturn]] void Fail(const Parts&... parts) const
    {
        FailInput(m_where, ": ", parts...);
    }

    bool HasAttribute(const std::string& key) const
    {
        return m_tree.get_child_optional("<xmlattr>." + key).has_value();
    }

    std::string GetText(const std::string& key) const
    {
        const auto value = m_tree.get_optional<std::string>("<xmlattr>." + key);
        if (!value)
        {
            Fail("no attribute \"", key, "\"");
        }
        if (std::any_of(value->begin(), value->end(), [](unsigned char c) { return c < ' '; }))
        {
            Fail("attribute \"", key, "\" has a control character");
        }
        return *value;
    }

    /// @return whole numbers with a separator between them
    std::vector<uint32_t> GetNumbers(const std::string& key, char separator) const
    {
        const std::string text = GetText(key);
        std::vector<uint32_t> numbers;
        const char* next = text.data();
        const char* const end = text.data() + text.size();
        while (true)
        {
            const auto [last, error] = std::from_chars(next, end, numbers.emplace_back());
            if (error != std::errc() || (last != end && *last != separator))
            {
                Fail(key, "=", Quote(text), ", expected numbers with ", separator, " between them");
            }
            if (last == end)
            {
                return numbers;
            }
            next = last + 1;
        }
    }

    int64_t GetNumber(const std::string& key, int64_t low, int64_t high) const
    {
        const std::string text = GetText(key);
        int64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [last, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc() || last != end || number < low || number > high)
        {
            Fail(key, "=", Quote(text), ", expected a number from ", low, " to ", high);
        }
        return number;
    }

    /// Call for each child, all of which must have that name.
    template <typename Call>
    void ForEach(const std::string& name, Call call) const
    {
        for (const auto& [childName, child] : m_tree)
        {
            if (childName == name)
            {
                call(child);
            }
            else if (childName != "<xmlattr>")
            {
                Fail("element <", Shorten(childName), ">, expected <", name, ">");
            }
        }
    }

    std::size_t CountChildren() const
    {
        return m_tree.size() - m_tree.count("<xmlattr>");
    }

  private:
    const Tree& m_tree;  //!< the element
    std::string m_where; //!< the file, and the place in it
};

/// Makes a program from the elements of a file.
class ProgramReader
{
  public:
    explicit ProgramReader(std::string source)
        : m_source(std::move(source))
    {
    }

    MscclProgram Read(const Tree& tree)
    {
        const Element algo(tree, m_source);
        if (algo.GetText("coll") != "allreduce")
        {
            algo.Fail("coll=", Quote(algo.GetText("coll")), ", expected \"allreduce\"");
        }
        const auto nGpus = algo.GetNumber("ngpus", 1, std::numeric_limits<int32_t>::max());
        if (static_cast<int64_t>(algo.CountChildren()) != nGpus)
        {
            algo.Fail("ngpus=\"", nGpus, "\", but there are ", algo.CountChildren(), " of them");
        }
        m_program.name = algo.GetText("name");
        m_program.nChunks = algo.GetNumber("nchunksperloop", 1, MSCCL_MAX_CHUNKS);
        m_program.isInPlace = algo.GetNumber("inplace", 0, 1);
        m_program.gpus.resize(nGpus);
        std::set<uint32_t> seen;
        algo.ForEach("gpu", [&](const Tree& gpu) {
            const uint32_t id = Element(gpu, m_source + ": a gpu").GetNumber("id", 0, nGpus - 1);
            if (!seen.insert(id).second)
            {
                algo.Fail("gpu ", id, " is there twice");
            }
            ReadGpu(gpu, id);
        });
        return std::move(m_program);
    }

  private:
    void ReadGpu(const Tree& tree, uint32_t id)
    {
        const std::string where = m_source + ": gpu " + std::to_string(id);
        const Element element(tree, where);
        MscclGpu& gpu = m_program.gpus[id];
        gpu.nInput = element.GetNumber("i_chunks", 0, m_program.nChunks);
        gpu.nOutput = element.GetNumber("o_chunks", 0, m_program.nChunks);
        gpu.nScratch = element.GetNumber("s_chunks", 0, MSCCL_MAX_CHUNKS);
        const std::size_t nBlocks = element.CountChildren();
        gpu.blocks.resize(nBlocks);
        std::set<uint32_t> seen;
        element.ForEach("tb", [&](const Tree& block) {
            const uint32_t tb = Element(block, where + ", a tb")
                                    .GetNumber("id", 0, std::max<int64_t>(0, int64_t(nBlocks) - 1));
            if (!seen.insert(tb).second)
            {
                element.Fail("tb ", tb, " is there twice");
            }
            ReadBlock(block, id, tb);
        });
        CheckConnections(gpu, element);
        CheckDependencies(gpu, id);
    }

    void ReadBlock(const Tree& tree, uint32_t gpu, uint32_t id)
    {
        const std::string where =
            m_source + ": gpu " + std::to_string(gpu) + ", tb " + std::to_string(id);
        const Element element(tree, where);
        MscclThreadBlock& block = m_program.gpus[gpu].blocks[id];
        block.sendPeer = ReadPeer(element, "send", gpu);
        block.receivePeer = ReadPeer(element, "recv", gpu);
        block.channel = element.GetNumber("chan", -1, std::numeric_limits<int16_t>::max());
        element.ForEach("step", [&](const Tree& step) {
            const std::string name = where + ", step " + std::to_string(block.steps.size());
            block.steps.push_back(ReadStep(Element(step, name), gpu, block));
        });
    }

    std::optional<uint32_t> ReadPeer(const Element& element, const char* key, uint32_t gpu) const
    {
        const int64_t peer = element.GetNumber(key, -1, m_program.gpus.size() - 1);
        if (peer == int64_t{gpu})
        {
            element.Fail(key, "=\"", peer, "\", which is the gpu itself");
        }
        return peer < 0 ? std::nullopt : std::optional<uint32_t>(peer);
    }

    MscclStep ReadStep(const Element& element, uint32_t gpu, const MscclThreadBlock& block) const
    {
        const int64_t index = block.steps.size();
        const int64_t s = element.GetNumber("s", 0, std::numeric_limits<int32_t>::max());
        if (s != index)
        {
            element.Fail("s=\"", s, "\", expected \"", index, "\"");
        }
        MscclStep step;
        step.type = FindMscclType(element.GetText("type"));
        if (!step.type)
        {
            element.Fail("type=",
                         Quote(element.GetText("type")),
                         ", expected s, r, rcs, rrs, rrc, rrcs, cpy, re or nop");
        }
        step.count = step.type->name == std::string("nop")
                         ? 0
                         : element.GetNumber("cnt", 1, MSCCL_MAX_CHUNKS);
        if (step.type->readsSource)
        {
            step.source = ReadSlot(element, "src", gpu, step.count);
        }
        if (step.type->writes)
        {
            step.target = ReadSlot(element, "dst", gpu, step.count);
        }
        if (step.type->sends && !block.sendPeer)
        {
            element.Fail("sends, but its tb has no peer to send to");
        }
        if (step.type->receives && !block.receivePeer)
        {
            element.Fail("receives, but its tb has no peer to receive from");
        }
        step.dependency = ReadDependency(element);
        step.hasDependents = element.GetNumber("hasdep", 0, 1);
        if (element.HasAttribute("round"))
        {
            step.round = element.GetNumber("round", 0, std::numeric_limits<int32_t>::max());
        }
        if (element.HasAttribute("via"))
        {
            step.via = element.GetNumbers("via", '-');
        }
        return step;
    }

    MscclSlot ReadSlot(const Element& element,
                       const std::string& prefix,
                       uint32_t gpu,
                       uint32_t count) const
    {
        const std::string name = element.GetText(prefix + "buf");
        if (name != "i" && name != "o" && name != "s")
        {
            element.Fail(prefix, "buf=", Quote(name), ", expected i, o or s");
        }
        const MscclGpu& sizes = m_program.gpus[gpu];
        const int64_t size =
            name == "i" ? sizes.nInput : (name == "o" ? sizes.nOutput : sizes.nScratch);
        if (size < count)
        {
            element.Fail(count, " chunks of buffer ", name, ", which has ", size);
        }
        MscclSlot slot;
        slot.buffer = static_cast<MscclBuffer>(name[0]);
        slot.offset = element.GetNumber(prefix + "off", 0, size - count);
        return slot;
    }

    static std::optional<MscclStep::Dependency> ReadDependency(const Element& element)
    {
        const int64_t tb = element.GetNumber("depid", -1, std::numeric_limits<int32_t>::max());
        const int64_t step = element.GetNumber("deps", -1, std::numeric_limits<int32_t>::max());
        if (tb < 0)
        {
            return std::nullopt;
        }
        if (step < 0)
        {
            element.Fail("depid=\"", tb, "\" without deps");
        }
        return MscclStep::Dependency{static_cast<uint32_t>(tb), static_cast<uint32_t>(step)};
    }

    /// No two threadblocks may share one end of a connection.
    static void CheckConnections(const MscclGpu& gpu, const Element& element)
    {
        std::set<std::tuple<bool, uint32_t, uint32_t>> seen;
        for (const MscclThreadBlock& block : gpu.blocks)
        {
            for (const bool isSend : {false, true})
            {
                const auto& peer = isSend ? block.sendPeer : block.receivePeer;
                if (peer && !seen.insert({isSend, *peer, block.channel}).second)
                {
                    element.Fail("two tbs ",
                                 isSend ? "send to gpu " : "receive from gpu ",
                                 *peer,
                                 " in channel ",
                                 block.channel);
                }
            }
        }
    }

    /// MSCCL hangs what a nop waits for on the next step, which must wait for something itself.
    void CheckNop(const std::vector<MscclStep>& steps, const MscclPlace& place) const
    {
        const MscclStep& nop = steps[place.step];
        const bool isChained =
            place.step + 1 < steps.size() && steps[place.step + 1].dependency.has_value();
        if (!nop.dependency || nop.hasDependents || !isChained)
        {
            FailInput(m_source,
                      ": ",
                      Describe(place),
                      ": a nop ",
                      !nop.dependency     ? "that waits for nothing"
                      : nop.hasDependents ? "with hasdep=\"1\""
                                          : "without a next step that waits for something, too",
                      ", which MSCCL cannot run");
        }
    }

    void CheckDependencies(const MscclGpu& gpu, uint32_t id) const
    {
        for (uint32_t tb = 0; tb < gpu.blocks.size(); ++tb)
        {
            const auto& steps = gpu.blocks[tb].steps;
            for (uint32_t i = 0; i < steps.size(); ++i)
            {
                if (steps[i].count == 0)
                {
                    CheckNop(steps, {id, tb, i});
                }
                if (steps[i].dependency)
                {
                    CheckDependency(gpu, *steps[i].dependency, {id, tb, i});
                }
            }
        }
    }

    void CheckDependency(const MscclGpu& gpu,
                         const MscclStep::Dependency& dependency,
                         const MscclPlace& place) const
    {
        if (dependency.tb >= gpu.blocks.size() ||
            dependency.step >= gpu.blocks[dependency.tb].steps.size())
        {
            FailInput(m_source,
                      ": ",
                      Describe(place),
                      ": depends on tb ",
                      dependency.tb,
                      ", step ",
                      dependency.step,
                      ", which is not there");
        }
        if (!gpu.blocks[dependency.tb].steps[dependency.step].hasDependents)
        {
            FailInput(m_source,
                      ": ",
                      Describe(place),
                      ": depends on tb ",
                      dependency.tb,
                      ", step ",
                      dependency.step,
                      ", which has hasdep=\"0\" and so tells nobody when it ends");
        }
    }

    std::string m_source;   //!< the file, for messages
    MscclProgram m_program; //!< what has been read
};

} // namespace

const MscclType*
FindMscclType(const std::string& name)
{
    const auto type = std::find_if(std::begin(TYPES), std::end(TYPES), [&](const MscclType& t) {
        return name == t.name;
    });
    return type == std::end(TYPES) ? nullptr : type;
}

std::string
Describe(const MscclPlace& place)
{
    return "gpu " + std::to_string(place.gpu) + ", tb " + std::to_string(place.tb) + ", step " +
           std::to_string(place.step);
}

void
WriteMscclProgram(const MscclProgram& program, std::ostream& out)
{
    Tree document;
    NewElement algo(document, "algo");
    algo.Set("name", program.name)
        .Set("proto", "Simple")
        .Set("nchannels", CountChannels(program))
        .Set("nchunksperloop", program.nChunks)
        .Set("ngpus", program.gpus.size())
        .Set("coll", "allreduce")
        .Set("inplace", program.isInPlace ? 1 : 0)
        .Set("outofplace", program.isInPlace ? 0 : 1)
        .Set("minBytes", 0)
        .Set("maxBytes", 0);
    for (uint32_t i = 0; i < program.gpus.size(); ++i)
    {
        AddGpu(algo.GetTree(), program.gpus[i], i);
    }
    std::ostringstream text;
    const boost::property_tree::xml_writer_settings<std::string> settings(' ', 2);
    boost::property_tree::write_xml(text, document, settings);
    // MSCCL's parser stops at the line "<?xml ...?>" that comes first.
    const std::string xml = text.str();
    out << xml.substr(xml.find('\n') + 1);
}

MscclProgram
ReadMscclProgram(std::istream& in, const std::string& source)
{
    constexpr uint32_t MOST_DEPTH = 8;
    std::istringstream text(std::string(std::istreambuf_iterator<char>(in), {}));
    if (MeasureDepth(text.str()) > MOST_DEPTH)
    {
        FailInput("MSCCL file ", source, ": nested more than ", MOST_DEPTH, " deep");
    }
    Tree document;
    try
    {
        namespace parser = boost::property_tree::xml_parser;
        parser::read_xml(text, document, parser::trim_whitespace | parser::no_comments);
    }
    catch (const boost::property_tree::xml_parser_error& error)
    {
        FailInput("MSCCL file ", source, ":", error.line(), ": ", Shorten(error.message()));
    }
    const auto algo = document.get_child_optional("algo");
    if (!algo)
    {
        FailInput("MSCCL file ", source, ": no element <algo>");
    }
    return ProgramReader("MSCCL file " + source).Read(*algo);
}

} // namespace ns3::allreduce
