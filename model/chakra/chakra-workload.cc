/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chakra-workload.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <unordered_map>

namespace ns3::allreduce
{

namespace
{

/// All that is computed in an iteration, in microseconds: more than three years.
constexpr uint64_t MOST_MICROS = 100'000'000'000'000;
/// As many AllReduces as programs run one after another.
constexpr std::size_t MOST_COLLECTIVES = 1'000'000;

/// Turns nodes into steps.
class WorkloadMaker
{
  public:
    WorkloadMaker(const std::vector<ChakraNode>& nodes, const std::string& source)
        : m_nodes(nodes)
    {
        m_workload.source = "Chakra trace " + source;
    }

    ChakraWorkload Make()
    {
        for (const ChakraNode& node : m_nodes)
        {
            m_index.emplace(node.id, m_workload.steps.size());
            AddStep(node);
        }
        if (m_workload.collectives.empty())
        {
            FailInput(m_workload.source, ": no COMM_COLL_NODE, expected one or more");
        }
        for (uint32_t i = 0; i < m_nodes.size(); ++i)
        {
            AddDependencies(i);
        }
        CheckOrder();
        return std::move(m_workload);
    }

  private:
    template <typename... Parts>
    [[noreturn]] void Fail(const ChakraNode& node, const Parts&... parts) const
    {
        FailInput(m_workload.source, ": node ", node.id, " ", Quote(node.name), parts...);
    }

    void AddStep(const ChakraNode& node)
    {
        ChakraWorkload::Step step;
        switch (node.type)
        {
        case ChakraType::COMPUTE:
            step.unit = node.isCpuOp ? ChakraWorkload::CPU : ChakraWorkload::GPU;
            step.nanos = GetNanos(node);
            break;
        case ChakraType::COLLECTIVE:
            CheckCollective(node);
            step.unit = ChakraWorkload::NETWORK;
            step.collective = m_workload.collectives.size();
            m_workload.collectives.push_back({node.id, node.name, *node.bytes});
            break;
        case ChakraType::SEND:
        case ChakraType::RECEIVE:
            Fail(node, ": ", ToString(node.type), ", expected computing and ALL_REDUCE only");
        default:
            break;
        }
        m_workload.steps.push_back(std::move(step));
    }

    uint64_t GetNanos(const ChakraNode& node)
    {
        if (node.durationMicros > MOST_MICROS - m_micros)
        {
            Fail(node, ": all nodes take more than ", MOST_MICROS, " us");
        }
        m_micros += node.durationMicros;
        return 1000 * node.durationMicros;
    }

    void CheckCollective(const ChakraNode& node)
    {
        if (!node.collective)
        {
            Fail(node, ": no comm_type, expected that of ALL_REDUCE, ", CHAKRA_ALL_REDUCE);
        }
        if (*node.collective != CHAKRA_ALL_REDUCE)
        {
            Fail(node, ": ", NameChakraCollective(*node.collective), ", expected ALL_REDUCE");
        }
        if (node.bytes.value_or(0) == 0)
        {
            Fail(node, node.bytes ? ": comm_size=0" : ": no comm_size", ", expected 1 or more");
        }
        if (!node.involvesAll)
        {
            Fail(node, ": involved_dim has a false, expected an ALL_REDUCE of all servers");
        }
        if (!m_workload.collectives.empty() && node.group != m_group)
        {
            Fail(node,
                 ": process group ",
                 Quote(node.group),
                 " beside ",
                 Quote(m_group),
                 ", expected one group, that of all servers");
        }
        if (m_workload.collectives.size() == MOST_COLLECTIVES)
        {
            Fail(node, ": more than ", MOST_COLLECTIVES, " collectives");
        }
        m_group = node.group;
    }

    void AddDependencies(uint32_t index)
    {
        const ChakraNode& node = m_nodes[index];
        for (const auto* deps : {&node.controlDeps, &node.dataDeps})
        {
            for (const uint64_t id : *deps)
            {
                AddDependency(index, m_index.at(id));
            }
        }
    }

    void AddDependency(uint32_t index, uint32_t before)
    {
        m_workload.steps[before].followers.push_back(index);
        ++m_workload.steps[index].nAwaited;
    }

    /// All steps can run if AllReduces come in the order of the file.
    void CheckOrder() const
    {
        std::vector<uint32_t> collectives;
        std::vector<uint32_t> nAwaited;
        std::vector<uint32_t> order;
        for (uint32_t i = 0; i < m_workload.steps.size(); ++i)
        {
            const ChakraWorkload::Step& step = m_workload.steps[i];
            const bool isLater = step.unit == ChakraWorkload::NETWORK && step.collective > 0;
            nAwaited.push_back(step.nAwaited + isLater);
            if (step.unit == ChakraWorkload::NETWORK)
            {
                collectives.push_back(i);
            }
            if (nAwaited.back() == 0)
            {
                order.push_back(i);
            }
        }
        const auto release = [&](uint32_t index) {
            if (--nAwaited[index] == 0)
            {
                order.push_back(index);
            }
        };
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            const ChakraWorkload::Step& step = m_workload.steps[order[i]];
            std::for_each(step.followers.begin(), step.followers.end(), release);
            if (step.unit == ChakraWorkload::NETWORK && step.collective + 1 < collectives.size())
            {
                release(collectives[step.collective + 1]);
            }
        }
        if (order.size() < m_nodes.size())
        {
            FailCircle(nAwaited);
        }
    }

    /// Name a step that waits for itself: who goes back from one that waits comes to it.
    [[noreturn]] void FailCircle(const std::vector<uint32_t>& nAwaited) const
    {
        std::vector<uint32_t> before(m_nodes.size(), UINT32_MAX);
        uint32_t lastCollective = UINT32_MAX;
        for (uint32_t i = 0; i < m_nodes.size(); ++i)
        {
            if (nAwaited[i] == 0)
            {
                continue;
            }
            for (const uint32_t follower : m_workload.steps[i].followers)
            {
                before[follower] = i;
            }
            if (m_workload.steps[i].unit == ChakraWorkload::NETWORK)
            {
                before[i] = lastCollective == UINT32_MAX ? before[i] : lastCollective;
                lastCollective = i;
            }
        }
        std::vector<bool> isSeen(m_nodes.size(), false);
        uint32_t index =
            std::find_if(nAwaited.begin(), nAwaited.end(), [](uint32_t n) { return n > 0; }) -
            nAwaited.begin();
        while (!isSeen[index])
        {
            isSeen[index] = true;
            index = before[index];
        }
        Fail(m_nodes[index],
             " waits for itself, through others or through a collective that comes later in the "
             "file");
    }

    const std::vector<ChakraNode>& m_nodes;         //!< what is read
    ChakraWorkload m_workload;                      //!< what comes of it
    std::unordered_map<uint64_t, uint32_t> m_index; //!< by id: the node
    std::string m_group;                            //!< the process group
    uint64_t m_micros{0};                           //!< all that is computed
};

} // namespace

ChakraWorkload
MakeChakraWorkload(const std::vector<ChakraNode>& nodes, const std::string& source)
{
    return WorkloadMaker(nodes, source).Make();
}

void
CheckSameCollectives(const std::vector<ChakraWorkload>& workloads)
{
    const ChakraWorkload& first = workloads.front();
    for (const ChakraWorkload& other : workloads)
    {
        for (std::size_t i = 0; i < other.collectives.size(); ++i)
        {
            const ChakraCollective& collective = other.collectives[i];
            if (i >= first.collectives.size() || collective.bytes != first.collectives[i].bytes)
            {
                FailInput(other.source,
                          ": node ",
                          collective.id,
                          " ",
                          Quote(collective.name),
                          " is ALL_REDUCE ",
                          i + 1,
                          " of ",
                          collective.bytes,
                          " bytes, expected the same as in ",
                          first.source,
                          i < first.collectives.size()
                              ? ": " + std::to_string(first.collectives[i].bytes) + " bytes"
                              : ", which has " + std::to_string(first.collectives.size()));
            }
        }
        if (other.collectives.size() < first.collectives.size())
        {
            FailInput(other.source,
                      ": ",
                      other.collectives.size(),
                      " collectives, but ",
                      first.source,
                      " has ",
                      first.collectives.size());
        }
    }
}

} // namespace ns3::allreduce
