/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chakra-player.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// Throws what went wrong.
[[noreturn]] void
Fail(uint32_t server, const ChakraNode& node, const std::string& what)
{
    throw std::runtime_error("server " + std::to_string(server) + ", node " +
                             std::to_string(node.id) + " " + node.name + ": " + what);
}

class Player
{
  public:
    Player(const std::vector<std::vector<ChakraNode>>& traces,
           uint32_t nChunks,
           uint64_t bytes,
           TestRandom& random)
        : m_nChunks(nChunks),
          m_bytes(bytes),
          m_random(random)
    {
        for (uint32_t server = 0; server < traces.size(); ++server)
        {
            m_own.emplace_back();
            for (uint32_t chunk = 0; chunk < nChunks; ++chunk)
            {
                m_own.back().push_back(random());
            }
            Load(server, traces[server]);
        }
        MatchMessages();
    }

    uint32_t Play()
    {
        while (!m_ready.empty())
        {
            std::swap(m_ready[Draw(m_random, m_ready.size())], m_ready.back());
            const std::size_t index = m_ready.back();
            m_ready.pop_back();
            End(m_steps[index]);
        }
        for (const Step& step : m_steps)
        {
            if (step.nAwaited > 0)
            {
                Fail(step.server, *step.node, "waits for ever");
            }
        }
        CheckSums();
        uint32_t longest = 0;
        for (const Step& step : m_steps)
        {
            longest = std::max(longest, step.nMessages);
        }
        return longest;
    }

  private:
    /// A node and what became of it.
    struct Step
    {
        uint32_t server{0};                 //!< whose it is
        const ChakraNode* node{nullptr};    //!< what it does
        uint32_t nAwaited{0};               //!< how many things it still waits for
        std::vector<std::size_t> inputs;    //!< whose values it uses
        std::vector<std::size_t> followers; //!< who waits for it
        uint64_t value{0};                  //!< what it makes, moves or brings
        uint32_t nMessages{0};              //!< most messages one after another up to its end
    };

    void Load(uint32_t server, const std::vector<ChakraNode>& nodes)
    {
        std::map<uint64_t, std::size_t> byId;
        for (const ChakraNode& node : nodes)
        {
            const std::size_t index = m_steps.size();
            Step step;
            step.server = server;
            step.node = &node;
            if (!node.chunk || *node.chunk >= m_nChunks || !node.controlDeps.empty())
            {
                Fail(server, node, "no chunk, or it waits for control");
            }
            for (const uint64_t id : node.dataDeps)
            {
                const auto input = byId.find(id);
                if (input == byId.end())
                {
                    Fail(server, node, "stands before what it waits for");
                }
                step.inputs.push_back(input->second);
                m_steps[input->second].followers.push_back(index);
            }
            CheckInputs(step);
            step.nAwaited = step.inputs.size();
            if (!byId.emplace(node.id, index).second)
            {
                Fail(server, node, "is there twice");
            }
            m_steps.push_back(std::move(step));
        }
    }

    void CheckInputs(const Step& step) const
    {
        const ChakraNode& node = *step.node;
        const std::size_t n = step.inputs.size();
        const bool isGood = node.type == ChakraType::SEND      ? n <= 1
                            : node.type == ChakraType::RECEIVE ? n == 0
                            : node.type == ChakraType::COMPUTE ? n == 1 || n == 2
                                                               : false;
        if (!isGood)
        {
            Fail(step.server, node, "waits for " + std::to_string(n) + " nodes");
        }
        for (const std::size_t input : step.inputs)
        {
            const ChakraNode& other = *m_steps[input].node;
            if (other.type == ChakraType::SEND || other.chunk != node.chunk)
            {
                Fail(step.server, node, "waits for what it does not use");
            }
        }
    }

    void MatchMessages()
    {
        std::map<std::tuple<uint64_t, uint64_t, uint64_t>, std::size_t> sends;
        for (std::size_t i = 0; i < m_steps.size(); ++i)
        {
            const Step& step = m_steps[i];
            if (step.node->type == ChakraType::SEND &&
                !sends.emplace(std::tuple(step.server, *step.node->target, *step.node->tag), i)
                     .second)
            {
                Fail(step.server, *step.node, "has the tag of another send");
            }
            const uint64_t size = m_bytes / m_nChunks + (*step.node->chunk < m_bytes % m_nChunks);
            if (step.node->type != ChakraType::COMPUTE && *step.node->bytes != size)
            {
                Fail(step.server, *step.node, "is not of its chunk's size");
            }
        }
        for (std::size_t i = 0; i < m_steps.size(); ++i)
        {
            Step& step = m_steps[i];
            if (step.node->type == ChakraType::RECEIVE)
            {
                const auto send =
                    sends.find(std::tuple(*step.node->source, step.server, *step.node->tag));
                if (send == sends.end() || m_steps[send->second].node->chunk != step.node->chunk)
                {
                    Fail(step.server, *step.node, "nobody sends it");
                }
                step.inputs.push_back(send->second);
                m_steps[send->second].followers.push_back(i);
                ++step.nAwaited;
                sends.erase(send);
            }
            if (step.nAwaited == 0)
            {
                m_ready.push_back(i);
            }
        }
        if (!sends.empty())
        {
            const Step& step = m_steps[sends.begin()->second];
            Fail(step.server, *step.node, "nobody receives it");
        }
    }

    void End(Step& step)
    {
        const bool isSum = step.node->type == ChakraType::COMPUTE;
        if (step.inputs.size() < (isSum ? 2U : 1U))
        {
            step.value = m_own[step.server][*step.node->chunk];
        }
        for (const std::size_t input : step.inputs)
        {
            step.value += m_steps[input].value;
            step.nMessages = std::max(step.nMessages, m_steps[input].nMessages);
        }
        step.nMessages += step.node->type == ChakraType::RECEIVE;
        for (const std::size_t follower : step.followers)
        {
            if (--m_steps[follower].nAwaited == 0)
            {
                m_ready.push_back(follower);
            }
        }
    }

    /// What a server has of a chunk in the end is what the last node of its file made of it.
    void CheckSums() const
    {
        std::vector<std::vector<uint64_t>> sums = m_own;
        for (const Step& step : m_steps)
        {
            if (step.node->type != ChakraType::SEND)
            {
                sums[step.server][*step.node->chunk] = step.value;
            }
        }
        for (uint32_t chunk = 0; chunk < m_nChunks; ++chunk)
        {
            uint64_t sum = 0;
            for (const auto& own : m_own)
            {
                sum += own[chunk];
            }
            for (uint32_t server = 0; server < sums.size(); ++server)
            {
                if (sums[server][chunk] != sum)
                {
                    throw std::runtime_error("server " + std::to_string(server) +
                                             " does not have the sum of chunk " +
                                             std::to_string(chunk));
                }
            }
        }
    }

    uint32_t m_nChunks;                       //!< chunks of the gradient
    uint64_t m_bytes;                         //!< its size
    TestRandom& m_random;                     //!< chooses
    std::vector<std::vector<uint64_t>> m_own; //!< [server][chunk]: what the server contributes
    std::vector<Step> m_steps;                //!< all nodes of all servers
    std::vector<std::size_t> m_ready;         //!< those that wait for nothing
};

} // namespace

ChakraPlay
PlayChakra(const std::vector<std::vector<ChakraNode>>& traces,
           uint32_t nChunks,
           uint64_t bytes,
           TestRandom& random)
{
    ChakraPlay play;
    try
    {
        play.longestChain = Player(traces, nChunks, bytes, random).Play();
    }
    catch (const std::runtime_error& error)
    {
        play.failure = error.what();
    }
    return play;
}

} // namespace ns3::allreduce
