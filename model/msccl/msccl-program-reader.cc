/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-program.h"
#include "msccl-xml.h"

#include <istream>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// Makes a program from the elements of a file.
class ProgramReader
{
  public:
    explicit ProgramReader(std::string source)
        : m_source(std::move(source))
    {
    }

    MscclProgram Read(_xmlNode* node)
    {
        const XmlElement algo(node, m_source);
        if (algo.GetText("coll") != "allreduce")
        {
            algo.Fail("coll=", Quote(algo.GetText("coll")), ", expected \"allreduce\"");
        }
        const auto nGpus = algo.GetNumber("ngpus", 1, std::numeric_limits<int32_t>::max());
        const std::vector<_xmlNode*> gpus = algo.GetChildren("gpu");
        if (static_cast<int64_t>(gpus.size()) != nGpus)
        {
            algo.Fail("ngpus=\"", nGpus, "\", but there are ", gpus.size(), " of them");
        }
        m_program.name = algo.GetText("name");
        m_program.nChunks = algo.GetNumber("nchunksperloop", 1, MSCCL_MAX_CHUNKS);
        m_program.isInPlace = algo.GetNumber("inplace", 0, 1);
        m_program.gpus.resize(nGpus);
        std::set<uint32_t> seen;
        for (_xmlNode* gpu : gpus)
        {
            const uint32_t id = XmlElement(gpu, m_source + ": a gpu").GetNumber("id", 0, nGpus - 1);
            if (!seen.insert(id).second)
            {
                algo.Fail("gpu ", id, " is there twice");
            }
            ReadGpu(gpu, id);
        }
        return std::move(m_program);
    }

  private:
    void ReadGpu(_xmlNode* node, uint32_t id)
    {
        const std::string where = m_source + ": gpu " + std::to_string(id);
        const XmlElement element(node, where);
        MscclGpu& gpu = m_program.gpus[id];
        gpu.nInput = element.GetNumber("i_chunks", 0, m_program.nChunks);
        gpu.nOutput = element.GetNumber("o_chunks", 0, m_program.nChunks);
        gpu.nScratch = element.GetNumber("s_chunks", 0, MSCCL_MAX_CHUNKS);
        const std::vector<_xmlNode*> blocks = element.GetChildren("tb");
        gpu.blocks.resize(blocks.size());
        std::set<uint32_t> seen;
        for (_xmlNode* block : blocks)
        {
            const uint32_t tb =
                XmlElement(block, where + ", a tb").GetNumber("id", 0, int64_t(blocks.size()) - 1);
            if (!seen.insert(tb).second)
            {
                element.Fail("tb ", tb, " is there twice");
            }
            ReadBlock(block, id, tb);
        }
        CheckConnections(gpu, element);
        CheckDependencies(gpu, id);
    }

    void ReadBlock(_xmlNode* node, uint32_t gpu, uint32_t id)
    {
        const std::string where =
            m_source + ": gpu " + std::to_string(gpu) + ", tb " + std::to_string(id);
        const XmlElement element(node, where);
        MscclThreadBlock& block = m_program.gpus[gpu].blocks[id];
        block.sendPeer = ReadPeer(element, "send", gpu);
        block.receivePeer = ReadPeer(element, "recv", gpu);
        block.channel = element.GetNumber("chan", -1, std::numeric_limits<int16_t>::max());
        for (_xmlNode* step : element.GetChildren("step"))
        {
            const std::string name = where + ", step " + std::to_string(block.steps.size());
            block.steps.push_back(ReadStep(XmlElement(step, name), gpu, block));
        }
    }

    std::optional<uint32_t> ReadPeer(const XmlElement& element, const char* key, uint32_t gpu) const
    {
        const int64_t peer = element.GetNumber(key, -1, m_program.gpus.size() - 1);
        if (peer == int64_t{gpu})
        {
            element.Fail(key, "=\"", peer, "\", which is the gpu itself");
        }
        return peer < 0 ? std::nullopt : std::optional<uint32_t>(peer);
    }

    MscclStep ReadStep(const XmlElement& element, uint32_t gpu, const MscclThreadBlock& block) const
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

    MscclSlot ReadSlot(const XmlElement& element,
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

    static std::optional<MscclStep::Dependency> ReadDependency(const XmlElement& element)
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
    static void CheckConnections(const MscclGpu& gpu, const XmlElement& element)
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
        const bool isThere = dependency.tb < gpu.blocks.size() &&
                             dependency.step < gpu.blocks[dependency.tb].steps.size();
        if (!isThere || !gpu.blocks[dependency.tb].steps[dependency.step].hasDependents)
        {
            FailInput(m_source,
                      ": ",
                      Describe(place),
                      ": depends on tb ",
                      dependency.tb,
                      ", step ",
                      dependency.step,
                      isThere ? ", which has hasdep=\"0\" and so tells nobody when it ends"
                              : ", which is not there");
        }
    }

    std::string m_source;   //!< the file, for messages
    MscclProgram m_program; //!< what has been read
};

} // namespace

MscclProgram
ReadMscclProgram(std::istream& in, const std::string& source)
{
    const std::string where = "MSCCL file " + source;
    const XmlDocument document({std::istreambuf_iterator<char>(in), {}}, where);
    return ProgramReader(where).Read(document.GetRoot("algo"));
}

} // namespace ns3::allreduce
