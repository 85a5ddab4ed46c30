/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-file.h"
#include "msccl-program.h"
#include "msccl-run.h"

#include "ns3/allreduce-error.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// To find races each threadblock keeps a number for every other one.
constexpr std::size_t MOST_BLOCKS = 16384;

template <typename Call>
void
ForEachStep(MscclProgram& program, Call call)
{
    for (MscclGpu& gpu : program.gpus)
    {
        for (MscclThreadBlock& block : gpu.blocks)
        {
            std::for_each(block.steps.begin(), block.steps.end(), call);
        }
    }
}

bool
HasRounds(MscclProgram& program)
{
    bool hasRounds = false;
    ForEachStep(program, [&](const MscclStep& step) { hasRounds |= step.round.has_value(); });
    return hasRounds;
}

void
ForgetRounds(MscclProgram& program)
{
    ForEachStep(program, [](MscclStep& step) { step.round.reset(); });
}

} // namespace

ScheduleFile
ReadMsccl(std::istream& in, const Topology& topology, const std::string& source)
{
    MscclProgram program = ReadMscclProgram(in, source);
    if (program.gpus.size() != topology.GetNServers())
    {
        FailInput("MSCCL file ",
                  source,
                  ": ",
                  program.gpus.size(),
                  " gpus, but ",
                  topology.GetName(),
                  " has ",
                  topology.GetNServers(),
                  " servers");
    }
    std::size_t nBlocks = 0;
    for (const MscclGpu& gpu : program.gpus)
    {
        nBlocks += gpu.blocks.size();
    }
    if (nBlocks > MOST_BLOCKS)
    {
        FailInput("MSCCL file ", source, ": ", nBlocks, " tbs, expected at most ", MOST_BLOCKS);
    }
    const std::string name = "MSCCL file " + source;
    if (HasRounds(program))
    {
        try
        {
            return {topology, RunMscclProgram(program, topology, name)};
        }
        catch (const InputError&)
        {
            ForgetRounds(program); // They may be wrong for this network, and the rest is not.
        }
    }
    return {topology, RunMscclProgram(program, topology, name)};
}

} // namespace ns3::allreduce
