/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-program.h"
#include "msccl-xml.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

std::string
FormatBuffer(MscclBuffer buffer)
{
    return {static_cast<char>(buffer)};
}

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
AddStep(XmlWriter& xml, const MscclStep& step, uint32_t index)
{
    const auto& dependency = step.dependency;
    xml.Begin("step")
        .Set("s", index)
        .Set("type", step.type->name)
        .Set("srcbuf", FormatBuffer(step.source.buffer))
        .Set("srcoff", step.source.offset)
        .Set("dstbuf", FormatBuffer(step.target.buffer))
        .Set("dstoff", step.target.offset)
        .Set("cnt", step.count)
        .Set("depid", dependency ? int64_t{dependency->tb} : -1)
        .Set("deps", dependency ? int64_t{dependency->step} : -1)
        .Set("hasdep", step.hasDependents ? 1 : 0);
    if (step.round)
    {
        xml.Set("round", *step.round);
    }
    const std::string via = FormatVia(step.via);
    if (!via.empty() && via.size() <= MSCCL_MAX_TEXT)
    {
        xml.Set("via", via);
    }
    xml.End();
}

void
AddBlock(XmlWriter& xml, const MscclThreadBlock& block, uint32_t id)
{
    xml.Begin("tb")
        .Set("id", id)
        .Set("send", block.sendPeer ? int64_t{*block.sendPeer} : -1)
        .Set("recv", block.receivePeer ? int64_t{*block.receivePeer} : -1)
        .Set("chan", block.channel);
    for (uint32_t i = 0; i < block.steps.size(); ++i)
    {
        AddStep(xml, block.steps[i], i);
    }
    xml.End();
}

void
AddGpu(XmlWriter& xml, const MscclGpu& gpu, uint32_t id)
{
    xml.Begin("gpu")
        .Set("id", id)
        .Set("i_chunks", gpu.nInput)
        .Set("o_chunks", gpu.nOutput)
        .Set("s_chunks", gpu.nScratch);
    for (uint32_t i = 0; i < gpu.blocks.size(); ++i)
    {
        AddBlock(xml, gpu.blocks[i], i);
    }
    xml.End();
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

} // namespace

void
WriteMscclProgram(const MscclProgram& program, std::ostream& out)
{
    // Without a line "<?xml ...?>", at which MSCCL's parser would stop.
    XmlWriter xml(out);
    xml.Begin("algo")
        .Set("name", program.name)
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
        AddGpu(xml, program.gpus[i], i);
    }
    xml.End();
}

} // namespace ns3::allreduce
