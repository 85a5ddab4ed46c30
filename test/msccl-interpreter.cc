/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-interpreter.h"

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <deque>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

using Tree = boost::property_tree::ptree;

/// Some numbers for each chunk.
using Values = std::vector<int64_t>;

constexpr uint32_t VALUES_PER_CHUNK = 3;
constexpr uint32_t MOST_STEPS = 256;

std::string
GetText(const Tree& element, const std::string& key)
{
    return element.get<std::string>("<xmlattr>." + key);
}

int64_t
GetNumber(const Tree& element, const std::string& key)
{
    return std::stoll(GetText(element, key));
}

Values
Sum(const Values& a, const Values& b)
{
    Values sum = a;
    for (std::size_t i = 0; i < sum.size(); ++i)
    {
        sum[i] += b[i];
    }
    return sum;
}

class Interpreter
{
  public:
    Interpreter(const std::string& xml, uint32_t nBuffers, TestRandom& random)
        : m_nBuffers(nBuffers),
          m_random(random)
    {
        std::istringstream text(xml);
        Tree document;
        boost::property_tree::read_xml(text,
                                       document,
                                       boost::property_tree::xml_parser::trim_whitespace);
        m_algo = document.get_child("algo");
        m_isInPlace = GetNumber(m_algo, "inplace");
        m_nChunks = GetNumber(m_algo, "nchunksperloop");
        Load();
    }

    std::string Run()
    {
        while (true)
        {
            bool isDone = true;
            Block* runnable = nullptr;
            const std::size_t first = Draw(m_random, m_blocks.size());
            for (std::size_t i = 0; i < m_blocks.size() && !runnable; ++i)
            {
                Block& block = m_blocks[(first + i) % m_blocks.size()];
                const bool isEnded = block.next == block.steps.size();
                isDone = isDone && isEnded;
                runnable = !isEnded && CanRun(block) ? &block : nullptr;
            }
            if (isDone)
            {
                return Check();
            }
            if (!runnable)
            {
                return "deadlock";
            }
            RunStep(*runnable);
        }
    }

  private:
    struct Slot
    {
        char buffer;
        int64_t offset;
    };

    struct Step
    {
        std::string type;
        Slot source;
        Slot target;
        int64_t count;
        int64_t dependsOnBlock;
        int64_t dependsOnStep;
        bool hasDependents;
    };

    struct Block
    {
        int64_t gpu;
        int64_t id;
        int64_t send;
        int64_t receive;
        int64_t channel;
        std::vector<Step> steps;
        std::size_t next{0};
        int64_t flag{-1};
    };

    void Load()
    {
        int64_t gpuId = 0;
        for (const auto& [name, gpu] : m_algo)
        {
            if (name == "<xmlattr>")
            {
                continue;
            }
            Require(GetNumber(gpu, "id") == gpuId, "gpus in order");
            m_firstBlock.push_back(m_blocks.size());
            int64_t tb = 0;
            std::set<std::tuple<bool, int64_t, int64_t>> connections;
            for (const auto& [childName, child] : gpu)
            {
                if (childName != "<xmlattr>")
                {
                    LoadBlock(child, gpuId, tb++, connections);
                }
            }
            MakeInput(gpuId++);
        }
        m_nGpus = gpuId;
    }

    void LoadBlock(const Tree& tree,
                   int64_t gpu,
                   int64_t id,
                   std::set<std::tuple<bool, int64_t, int64_t>>& connections)
    {
        Block block{gpu,
                    id,
                    GetNumber(tree, "send"),
                    GetNumber(tree, "recv"),
                    GetNumber(tree, "chan"),
                    {}};
        Require(GetNumber(tree, "id") == id, "threadblocks numbered without gaps");
        Require(block.channel < GetNumber(m_algo, "nchannels"), "channels below nchannels");
        Require(block.send < 0 || connections.insert({true, block.send, block.channel}).second,
                "one threadblock for each connection that sends");
        Require(block.receive < 0 ||
                    connections.insert({false, block.receive, block.channel}).second,
                "one threadblock for each connection that receives");
        bool hasNop = false;
        for (const auto& [name, step] : tree)
        {
            if (name == "step")
            {
                Require(GetNumber(step, "s") == int64_t(block.steps.size()), "steps in order");
                Require(!hasNop || GetNumber(step, "depid") >= 0, "a dependency after nops");
                hasNop = GetText(step, "type") == "nop";
                Require(!hasNop || GetNumber(step, "depid") >= 0, "nops to wait for something");
                block.steps.push_back({GetText(step, "type"),
                                       LoadSlot(step, "src"),
                                       LoadSlot(step, "dst"),
                                       hasNop ? 0 : GetNumber(step, "cnt"),
                                       GetNumber(step, "depid"),
                                       GetNumber(step, "deps"),
                                       GetNumber(step, "hasdep") == 1});
            }
        }
        Require(block.steps.size() <= MOST_STEPS, "no more than 256 steps");
        m_blocks.push_back(block);
    }

    void MakeInput(int64_t gpu)
    {
        for (uint32_t chunk = 0; chunk < m_nChunks; ++chunk)
        {
            Values values;
            for (uint32_t i = 0; i < VALUES_PER_CHUNK; ++i)
            {
                values.push_back(m_random() % 1000000007);
            }
            m_memory[{gpu, 'i', chunk}] = values;
            auto& sum = m_expected[chunk];
            sum = sum.empty() ? values : Sum(sum, values);
        }
    }

    static void Require(bool condition, const std::string& what)
    {
        if (!condition)
        {
            throw std::runtime_error("expected " + what);
        }
    }

    Slot LoadSlot(const Tree& step, const std::string& prefix) const
    {
        const char buffer = GetText(step, prefix + "buf")[0];
        return {buffer == 'o' && m_isInPlace ? 'i' : buffer, GetNumber(step, prefix + "off")};
    }

    Values& GetValues(int64_t gpu, const Slot& slot, int64_t i)
    {
        Values& values = m_memory[{gpu, slot.buffer, slot.offset + i}];
        values.resize(VALUES_PER_CHUNK, -1);
        return values;
    }

    static bool Receives(const std::string& type)
    {
        return type[0] == 'r' && type != "re";
    }

    static bool Sends(const std::string& type)
    {
        return type.back() == 's';
    }

    bool CanRun(const Block& block)
    {
        const Step& step = block.steps[block.next];
        if (step.dependsOnBlock >= 0)
        {
            const std::size_t other = m_firstBlock[block.gpu] + step.dependsOnBlock;
            if (m_blocks.at(other).flag < step.dependsOnStep)
            {
                return false;
            }
        }
        return (!Receives(step.type) ||
                !m_messages[{block.receive, block.gpu, block.channel}].empty()) &&
               (!Sends(step.type) ||
                m_messages[{block.gpu, block.send, block.channel}].size() < m_nBuffers);
    }

    void RunStep(Block& block)
    {
        const Step& step = block.steps[block.next];
        std::vector<Values> in;
        if (Receives(step.type))
        {
            auto& queue = m_messages[{block.receive, block.gpu, block.channel}];
            in = queue.front();
            queue.pop_front();
            Require(int64_t(in.size()) == step.count, "as many chunks as were sent");
        }
        std::vector<Values> out;
        for (int64_t i = 0; i < step.count; ++i)
        {
            Values& source = GetValues(block.gpu, step.source, i);
            Values& target = GetValues(block.gpu, step.target, i);
            Values result = Receives(step.type) ? in[i] : source;
            if (step.type.substr(0, 2) == "rr")
            {
                result = Sum(result, source);
            }
            if (step.type == "re")
            {
                result = Sum(source, target);
            }
            if (step.type != "s" && step.type != "rrs")
            {
                target = result;
            }
            out.push_back(result);
        }
        if (Sends(step.type))
        {
            m_messages[{block.gpu, block.send, block.channel}].push_back(out);
        }
        if (step.hasDependents)
        {
            block.flag = block.next;
        }
        ++block.next;
    }

    std::string Check()
    {
        for (const auto& [connection, queue] : m_messages)
        {
            Require(queue.empty(), "every message to be received");
        }
        for (int64_t gpu = 0; gpu < m_nGpus; ++gpu)
        {
            for (uint32_t chunk = 0; chunk < m_nChunks; ++chunk)
            {
                const char buffer = m_isInPlace ? 'i' : 'o';
                if (m_memory[{gpu, buffer, chunk}] != m_expected[chunk])
                {
                    return "gpu " + std::to_string(gpu) + " has a wrong sum of chunk " +
                           std::to_string(chunk);
                }
            }
        }
        return "";
    }

    uint32_t m_nBuffers;
    TestRandom& m_random;
    Tree m_algo;
    bool m_isInPlace{true};
    uint32_t m_nChunks{0};
    int64_t m_nGpus{0};
    std::vector<Block> m_blocks;
    std::vector<std::size_t> m_firstBlock;
    std::map<std::tuple<int64_t, char, int64_t>, Values> m_memory;
    std::map<uint32_t, Values> m_expected;
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<std::vector<Values>>> m_messages;
};

} // namespace

std::string
RunMscclFile(const std::string& xml, uint32_t nBuffers, TestRandom& random)
{
    try
    {
        if (xml.compare(0, 6, "<algo ") != 0)
        {
            return "expected <algo> at the very beginning";
        }
        return Interpreter(xml, nBuffers, random).Run();
    }
    catch (const std::exception& error)
    {
        return error.what();
    }
}

} // namespace ns3::allreduce
