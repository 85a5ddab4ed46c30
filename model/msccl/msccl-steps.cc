/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-steps.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ns3::allreduce
{

MscclSteps::MscclSteps(const MscclProgram& program, std::string source)
    : m_program(program),
      m_source(std::move(source))
{
    ListSteps();
    MatchMessages();
    MeasureChains();
}

const MscclThreadBlock&
MscclSteps::GetBlock(const MscclRunStep& step) const
{
    return m_program.gpus[step.place.gpu].blocks[step.place.tb];
}

bool
MscclSteps::HasRounds() const
{
    return m_hasRounds;
}

void
MscclSteps::ListSteps()
{
    for (uint32_t gpu = 0; gpu < m_program.gpus.size(); ++gpu)
    {
        std::vector<uint32_t> firstSteps;
        const uint32_t firstOfGpu = steps.size();
        for (uint32_t tb = 0; tb < m_program.gpus[gpu].blocks.size(); ++tb)
        {
            firstSteps.push_back(steps.size());
            ListBlock(gpu, tb);
        }
        for (uint32_t i = firstOfGpu; i < steps.size(); ++i)
        {
            if (const auto& dependency = steps[i].what->dependency)
            {
                steps[i].dependency = firstSteps[dependency->tb] + dependency->step;
                MscclRunStep& other = steps[steps[i].dependency];
                other.dependents.push_back(i);
                ++other.nDependentsLeft;
            }
        }
    }
}

void
MscclSteps::ListBlock(uint32_t gpu, uint32_t tb)
{
    const auto& listed = m_program.gpus[gpu].blocks[tb].steps;
    for (uint32_t i = 0; i < listed.size(); ++i)
    {
        MscclRunStep step;
        step.place = {gpu, tb, i};
        step.block = m_nBlocks;
        step.what = &listed[i];
        step.nAwaited = (i > 0) + listed[i].dependency.has_value();
        m_hasRounds |= listed[i].round.has_value();
        steps.push_back(std::move(step));
    }
    ++m_nBlocks;
}

void
MscclSteps::MatchMessages()
{
    using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Connection, std::pair<std::vector<uint32_t>, std::vector<uint32_t>>> ends;
    for (uint32_t i = 0; i < steps.size(); ++i)
    {
        const MscclThreadBlock& block = GetBlock(steps[i]);
        const uint32_t gpu = steps[i].place.gpu;
        if (steps[i].what->type->sends)
        {
            ends[{gpu, *block.sendPeer, block.channel}].first.push_back(i);
        }
        if (steps[i].what->type->receives)
        {
            ends[{*block.receivePeer, gpu, block.channel}].second.push_back(i);
        }
    }
    for (const auto& [connection, both] : ends)
    {
        const auto& [senders, receivers] = both;
        for (std::size_t n = 0; n < std::max(senders.size(), receivers.size()); ++n)
        {
            if (n >= receivers.size())
            {
                Fail(steps[senders[n]].place, "what it sends is never received");
            }
            if (n >= senders.size())
            {
                Fail(steps[receivers[n]].place, "what it receives is never sent");
            }
            AddMessage(senders[n], receivers[n]);
        }
    }
}

void
MscclSteps::AddMessage(uint32_t sender, uint32_t receiver)
{
    if (steps[sender].what->count != steps[receiver].what->count)
    {
        Fail(steps[receiver].place,
             "receives ",
             steps[receiver].what->count,
             " chunks, but ",
             Describe(steps[sender].place),
             " sends ",
             steps[sender].what->count);
    }
    MscclMessage message;
    message.sender = sender;
    message.receiver = receiver;
    steps[sender].messageOut = messages.size();
    steps[receiver].messageIn = messages.size();
    ++steps[receiver].nAwaited;
    messages.push_back(std::move(message));
}

void
MscclSteps::MeasureChains()
{
    std::vector<uint32_t> nAwaited;
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < steps.size(); ++i)
    {
        nAwaited.push_back(steps[i].nAwaited);
        if (steps[i].nAwaited == 0)
        {
            order.push_back(i);
        }
    }
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        ForEachFollower(order[i], [&](uint32_t follower) {
            uint32_t& nBefore = steps[follower].nBefore;
            nBefore = std::max(nBefore, steps[order[i]].nBefore + IsMessage(order[i], follower));
            if (--nAwaited[follower] == 0)
            {
                order.push_back(follower);
            }
        });
    }
    if (order.size() < steps.size())
    {
        FailDeadlock(nAwaited);
    }
    for (auto index = order.rbegin(); index != order.rend(); ++index)
    {
        uint32_t& nFollowing = steps[*index].nFollowing;
        ForEachFollower(*index, [&](uint32_t follower) {
            nFollowing =
                std::max(nFollowing, steps[follower].nFollowing + IsMessage(*index, follower));
        });
    }
}

bool
MscclSteps::IsMessage(uint32_t step, uint32_t follower) const
{
    return steps[step].place.gpu != steps[follower].place.gpu;
}

void
MscclSteps::FailDeadlock(const std::vector<uint32_t>& nAwaited) const
{
    uint32_t first = 0;
    while (nAwaited[first] == 0)
    {
        ++first;
    }
    const MscclRunStep& step = steps[first];
    if (step.dependency != MSCCL_NOTHING && nAwaited[step.dependency] > 0)
    {
        Fail(step.place,
             "deadlock: waits for ",
             Describe(steps[step.dependency].place),
             ", which never runs");
    }
    Fail(step.place,
         "deadlock: waits for what ",
         Describe(steps[messages[step.messageIn].sender].place),
         " sends, which never runs");
}

} // namespace ns3::allreduce
