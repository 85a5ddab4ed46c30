/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-file.h"
#include "msccl-program.h"

#include "ns3/allreduce-error.h"
#include "ns3/partial-sums.h"
#include "ns3/schedule-verifier.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// Steps that a threadblock keeps free for what has to be merged before a send.
constexpr uint32_t SPARE_STEPS = 16;

/// Appends steps to one GPU's threadblocks, with the dependencies that their slots call for.
class GpuWriter
{
  public:
    explicit GpuWriter(uint32_t nChunks)
        : m_nChunks(nChunks),
          m_uses(nChunks)
    {
        m_gpu.nInput = nChunks;
        m_gpu.nOutput = nChunks;
    }

    /// @return the threadblock at this end of a connection
    uint32_t GetBlock(bool isSend, NodeId peer, uint32_t channel)
    {
        const auto [entry, isNew] =
            m_blocks.try_emplace({isSend, peer, channel}, m_gpu.blocks.size());
        if (isNew)
        {
            MscclThreadBlock& block = m_gpu.blocks.emplace_back();
            block.channel = channel;
            (isSend ? block.sendPeer : block.receivePeer) = peer;
            m_awaited.emplace_back();
        }
        return entry->second;
    }

    bool IsFull(uint32_t tb) const
    {
        return m_gpu.blocks[tb].steps.size() + SPARE_STEPS > MSCCL_MAX_STEPS;
    }

    void Add(uint32_t tb,
             const char* type,
             MscclSlot source,
             MscclSlot target,
             std::optional<uint32_t> round = std::nullopt,
             std::vector<uint32_t> via = {})
    {
        MscclStep step;
        step.round = round;
        step.via = std::move(via);
        step.type = FindMscclType(type);
        step.source = source;
        step.target = target;
        AddSteps(tb, step, FindDependencies(tb, step));
        const Access access{tb, static_cast<uint32_t>(m_gpu.blocks[tb].steps.size() - 1)};
        if (step.type->readsSource)
        {
            GetUse(source).readers.push_back(access);
        }
        if (step.type->writes)
        {
            GetUse(target) = {access, {}};
        }
    }

    MscclSlot TakeScratch()
    {
        if (m_freeScratch.empty())
        {
            m_freeScratch.push_back(m_gpu.nScratch++);
            m_uses.emplace_back();
        }
        const MscclSlot slot{MscclBuffer::SCRATCH, m_freeScratch.front()};
        m_freeScratch.pop_front();
        return slot;
    }

    void FreeScratch(uint32_t offset)
    {
        m_freeScratch.push_back(offset);
    }

    /// @return the GPU, its threadblocks ordered by peers and channel as in msccl-tools
    MscclGpu Finish()
    {
        std::vector<uint32_t> newIds(m_gpu.blocks.size());
        std::vector<MscclThreadBlock> sorted;
        for (const auto& [connection, id] : m_blocks)
        {
            newIds[id] = sorted.size();
            sorted.push_back(std::move(m_gpu.blocks[id]));
        }
        for (MscclThreadBlock& block : sorted)
        {
            for (MscclStep& step : block.steps)
            {
                if (step.dependency)
                {
                    step.dependency->tb = newIds[step.dependency->tb];
                }
            }
        }
        m_gpu.blocks = std::move(sorted);
        return std::move(m_gpu);
    }

  private:
    using Access = MscclStep::Dependency;

    /// Who used a slot: its last writer, and all who have read it since.
    struct Use
    {
        std::optional<Access> writer; //!< nobody if it still holds the GPU's own contribution
        std::vector<Access> readers;  //!< each of them has waited for the writer
    };

    Use& GetUse(MscclSlot slot)
    {
        return m_uses[slot.buffer == MscclBuffer::SCRATCH ? m_nChunks + slot.offset : slot.offset];
    }

    /// @return by threadblock: the step that has to be waited for
    std::map<uint32_t, uint32_t> FindDependencies(uint32_t tb, const MscclStep& step)
    {
        std::vector<Access> before;
        if (step.type->readsSource && GetUse(step.source).writer)
        {
            before.push_back(*GetUse(step.source).writer);
        }
        if (step.type->writes)
        {
            const Use& use = GetUse(step.target);
            before.insert(before.end(), use.readers.begin(), use.readers.end());
            if (use.readers.empty() && use.writer)
            {
                before.push_back(*use.writer);
            }
        }
        std::map<uint32_t, uint32_t> dependencies;
        for (const Access& access : before)
        {
            const auto awaited = m_awaited[tb].find(access.tb);
            if (access.tb != tb &&
                (awaited == m_awaited[tb].end() || awaited->second < access.step))
            {
                uint32_t& last = dependencies[access.tb];
                last = std::max(last, access.step);
            }
        }
        return dependencies;
    }

    /// A step waits for one other only; nops before it wait for the rest.
    void AddSteps(uint32_t tb, MscclStep step, const std::map<uint32_t, uint32_t>& dependencies)
    {
        std::size_t nLeft = dependencies.size();
        for (const auto& [otherTb, otherStep] : dependencies)
        {
            m_awaited[tb][otherTb] = otherStep;
            m_gpu.blocks[otherTb].steps[otherStep].hasDependents = true;
            MscclStep nop;
            nop.type = FindMscclType("nop");
            nop.count = 0;
            MscclStep& waiting = --nLeft == 0 ? step : nop;
            waiting.dependency = {otherTb, otherStep};
            if (nLeft > 0)
            {
                m_gpu.blocks[tb].steps.push_back(nop);
            }
        }
        m_gpu.blocks[tb].steps.push_back(step);
    }

    uint32_t m_nChunks;                                              //!< slots that are not scratch
    MscclGpu m_gpu;                                                  //!< what is written
    std::map<std::tuple<bool, NodeId, uint32_t>, uint32_t> m_blocks; //!< by connection
    std::vector<std::map<uint32_t, uint32_t>> m_awaited; //!< by tb: the last it waited for, by tb
    std::vector<Use> m_uses;                             //!< by slot, scratch after the others
    std::deque<uint32_t> m_freeScratch;                  //!< scratch slots that can be used anew
};

/// Turns a schedule into a program, round by round.
class MscclExporter
{
  public:
    MscclExporter(const Topology& topology, const AllReduceSchedule& schedule)
        : m_schedule(schedule),
          m_gpus(topology.GetNServers(), GpuWriter(schedule.collective.GetNChunks())),
          m_sums(topology.GetNServers(), schedule.collective.roots)
    {
    }

    std::vector<MscclGpu> Run()
    {
        for (const WorkloadList& round : m_schedule.rounds)
        {
            AddRound(round);
        }
        std::vector<MscclGpu> gpus;
        for (GpuWriter& gpu : m_gpus)
        {
            gpus.push_back(gpu.Finish());
        }
        return gpus;
    }

  private:
    static MscclSlot GetHome(ChunkId chunk)
    {
        return {MscclBuffer::INPUT, chunk};
    }

    /// What is sent in a round is what was there at its beginning: all sends come first.
    void AddRound(const WorkloadList& round)
    {
        m_nextChannel.clear();
        std::vector<uint32_t> channels;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            channels.push_back(ChooseChannel(round.Get(i)));
            AddSend(round.Get(i), channels.back());
        }
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            AddReceive(round.Get(i), channels[i]);
        }
        ++m_round;
    }

    /// @return a channel of the two servers that is not used in this round and has room
    uint32_t ChooseChannel(const Workload& workload)
    {
        const NodeId source = workload.GetSource();
        const NodeId target = workload.GetTarget();
        uint32_t& next = m_nextChannel[{source, target}];
        while (m_gpus[source].IsFull(m_gpus[source].GetBlock(true, target, next)) ||
               m_gpus[target].IsFull(m_gpus[target].GetBlock(false, source, next)))
        {
            ++next;
        }
        return next++;
    }

    void AddSend(const Workload& workload, uint32_t channel)
    {
        GpuWriter& gpu = m_gpus[workload.GetSource()];
        const uint32_t tb = gpu.GetBlock(true, workload.GetTarget(), channel);
        const std::vector<uint32_t> via(workload.path.begin() + 1, workload.path.end() - 1);
        const MscclSlot home = GetHome(workload.chunk);
        if (workload.kind == WorkloadKind::BROADCAST)
        {
            gpu.Add(tb, "s", home, home, m_round, via);
            return;
        }
        const PartialSums::Parts taken = m_sums.Take(workload);
        std::vector<MscclSlot> parts;
        if (taken.hasOwn)
        {
            parts.push_back(home);
        }
        for (const PartialSums::Place place : taken.apart)
        {
            parts.push_back({MscclBuffer::SCRATCH, static_cast<uint32_t>(place)});
        }
        for (std::size_t i = 1; i < parts.size(); ++i)
        {
            gpu.Add(tb, "re", parts[i], parts[0]);
        }
        gpu.Add(tb, "s", parts[0], home, m_round, via);
        for (const PartialSums::Place place : taken.apart)
        {
            gpu.FreeScratch(place);
        }
    }

    void AddReceive(const Workload& workload, uint32_t channel)
    {
        GpuWriter& gpu = m_gpus[workload.GetTarget()];
        const uint32_t tb = gpu.GetBlock(false, workload.GetSource(), channel);
        const MscclSlot home = GetHome(workload.chunk);
        if (workload.kind == WorkloadKind::BROADCAST)
        {
            gpu.Add(tb, "r", home, home);
            return;
        }
        if (m_sums.IsKeptApart(workload))
        {
            const MscclSlot slot = gpu.TakeScratch();
            gpu.Add(tb, "r", home, slot);
            m_sums.KeepApart(workload, slot.offset);
            return;
        }
        gpu.Add(tb, m_sums.Merge(workload) ? "rrc" : "r", home, home);
    }

    const AllReduceSchedule& m_schedule;                         //!< what is written
    std::vector<GpuWriter> m_gpus;                               //!< by server
    PartialSums m_sums;                                          //!< what the servers hold
    uint32_t m_round{0};                                         //!< the present round
    std::map<std::pair<NodeId, NodeId>, uint32_t> m_nextChannel; //!< of this round
};

} // namespace

uint32_t
WriteMsccl(const Topology& topology, const AllReduceSchedule& schedule, std::ostream& out)
{
    const Verdict verdict = Verify(topology, schedule);
    if (!verdict.isCorrect)
    {
        FailInput("no MSCCL program for a schedule that is not correct: ", verdict.reason);
    }
    if (!schedule.collective.IsOfAll())
    {
        FailInput("MSCCL XML: a collective of groups, expected an AllReduce of all servers");
    }
    if (schedule.collective.GetNChunks() > MSCCL_MAX_CHUNKS)
    {
        FailInput("schedule of ",
                  schedule.collective.GetNChunks(),
                  " chunks: an MSCCL program has at most ",
                  MSCCL_MAX_CHUNKS);
    }
    MscclProgram program;
    program.name = "allreduce on " + topology.GetName();
    program.nChunks = schedule.collective.GetNChunks();
    program.gpus = MscclExporter(topology, schedule).Run();
    WriteMscclProgram(program, out);
    std::size_t mostBlocks = 0;
    for (const MscclGpu& gpu : program.gpus)
    {
        mostBlocks = std::max(mostBlocks, gpu.blocks.size());
    }
    return mostBlocks;
}

} // namespace ns3::allreduce
