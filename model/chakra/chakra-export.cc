/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chakra-export.h"

#include "ns3/allreduce-error.h"
#include "ns3/partial-sums.h"
#include "ns3/schedule-verifier.h"

#include <limits>

namespace ns3::allreduce
{

namespace
{

/// In the place of a node's id: what the server itself contributes, which no node makes.
constexpr uint32_t OWN = UINT32_MAX;

/// A node in few bytes, because there are three for each workload.
struct Record
{
    ChakraType type;         //!< what it does
    ChunkId chunk;           //!< with which chunk
    NodeId peer{0};          //!< the other server
    uint32_t tag{0};         //!< the workload
    uint32_t firstDep{OWN};  //!< the node that made what is used
    uint32_t secondDep{OWN}; //!< the other one, for sums
};

/// Turns a schedule into nodes, round by round.
class ChakraExporter
{
  public:
    ChakraExporter(const Topology& topology, const AllReduceSchedule& schedule, uint64_t bytes)
        : m_schedule(schedule),
          m_bytes(bytes),
          m_records(topology.GetNServers()),
          m_makers(topology.GetNServers() * schedule.collective.GetNChunks(), OWN),
          m_sums(topology.GetNServers(), schedule.collective.roots)
    {
        for (const WorkloadList& round : schedule.rounds)
        {
            AddRound(round);
        }
    }

    std::vector<ChakraNode> MakeTrace(NodeId server) const
    {
        std::vector<ChakraNode> nodes;
        nodes.reserve(m_records[server].size());
        for (const Record& record : m_records[server])
        {
            nodes.push_back(MakeNode(nodes.size(), record));
        }
        return nodes;
    }

  private:
    /// What is sent in a round is what was there at its beginning: all sends come first.
    void AddRound(const WorkloadList& round)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            AddSend(round.Get(i), m_nWorkloads + i);
        }
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            AddReceive(round.Get(i), m_nWorkloads + i);
        }
        m_nWorkloads += round.GetSize();
    }

    uint32_t Add(NodeId server, const Record& record)
    {
        m_records[server].push_back(record);
        return m_records[server].size() - 1;
    }

    uint32_t AddSum(NodeId server, ChunkId chunk, uint32_t first, uint32_t second)
    {
        // Only one part can be the server's own contribution.
        return Add(server,
                   {ChakraType::COMPUTE,
                    chunk,
                    0,
                    0,
                    first == OWN ? second : first,
                    first == OWN ? OWN : second});
    }

    void AddSend(const Workload& workload, uint32_t tag)
    {
        const NodeId source = workload.GetSource();
        uint32_t maker = GetMaker(source, workload.chunk);
        if (workload.kind == WorkloadKind::REDUCE)
        {
            const PartialSums::Parts parts = m_sums.Take(workload);
            auto part = parts.apart.begin();
            maker = parts.hasOwn ? maker : *part++;
            for (; part != parts.apart.end(); ++part)
            {
                maker = AddSum(source, workload.chunk, maker, *part);
            }
        }
        Add(source, {ChakraType::SEND, workload.chunk, workload.GetTarget(), tag, maker});
    }

    void AddReceive(const Workload& workload, uint32_t tag)
    {
        const NodeId target = workload.GetTarget();
        const uint32_t receive =
            Add(target, {ChakraType::RECEIVE, workload.chunk, workload.GetSource(), tag});
        uint32_t& maker = GetMaker(target, workload.chunk);
        if (workload.kind == WorkloadKind::BROADCAST)
        {
            maker = receive;
        }
        else if (m_sums.IsKeptApart(workload))
        {
            m_sums.KeepApart(workload, receive);
        }
        else
        {
            maker =
                m_sums.Merge(workload) ? AddSum(target, workload.chunk, maker, receive) : receive;
        }
    }

    /// @return the node that made what a server has of a chunk, not counting what is kept apart
    uint32_t& GetMaker(NodeId server, ChunkId chunk)
    {
        return m_makers[server * m_schedule.collective.GetNChunks() + chunk];
    }

    ChakraNode MakeNode(uint64_t id, const Record& record) const
    {
        ChakraNode node;
        node.id = id;
        node.type = record.type;
        node.chunk = record.chunk;
        for (const uint32_t dep : {record.firstDep, record.secondDep})
        {
            if (dep != OWN)
            {
                node.dataDeps.push_back(dep);
            }
        }
        const uint64_t bytes =
            GetChunkBytes(m_bytes, m_schedule.collective.GetNChunks(), record.chunk);
        const std::string what = " chunk " + std::to_string(record.chunk);
        if (record.type == ChakraType::COMPUTE)
        {
            constexpr uint64_t FLOAT_BYTES = 4;
            node.name = "add" + what;
            node.nOperations = (bytes + FLOAT_BYTES - 1) / FLOAT_BYTES;
            node.tensorBytes = bytes;
            return node;
        }
        const bool isSend = record.type == ChakraType::SEND;
        node.name = (isSend ? "send" : "receive") + what + (isSend ? " to " : " from ") +
                    std::to_string(record.peer);
        (isSend ? node.target : node.source) = record.peer;
        node.bytes = bytes;
        node.tag = record.tag;
        return node;
    }

    const AllReduceSchedule& m_schedule;        //!< what is written
    uint64_t m_bytes;                           //!< size of the gradient
    uint32_t m_nWorkloads{0};                   //!< in the rounds before
    std::vector<std::vector<Record>> m_records; //!< by server: its nodes
    std::vector<uint32_t> m_makers;             //!< by server and chunk: see GetMaker
    PartialSums m_sums;                         //!< what the servers hold
};

} // namespace

void
ExportChakra(const Topology& topology,
             const AllReduceSchedule& schedule,
             uint64_t bytes,
             const std::function<void(NodeId, const std::vector<ChakraNode>&)>& write)
{
    const Verdict verdict = Verify(topology, schedule);
    if (!verdict.isCorrect)
    {
        FailInput("no Chakra traces for a schedule that is not correct: ", verdict.reason);
    }
    constexpr uint64_t MOST_WORKLOADS = std::numeric_limits<int32_t>::max();
    if (schedule.CountWorkloads() > MOST_WORKLOADS)
    {
        FailInput("schedule of ",
                  schedule.CountWorkloads(),
                  " workloads: Chakra traces have tags for at most ",
                  MOST_WORKLOADS);
    }
    if (!schedule.collective.IsOfAll())
    {
        FailInput("Chakra traces: a collective of groups, expected an AllReduce of all servers");
    }
    if (bytes < schedule.collective.GetNChunks())
    {
        FailInput("schedule of ",
                  schedule.collective.GetNChunks(),
                  " chunks: a Chakra trace of ",
                  bytes,
                  " bytes would have empty messages, expected at least one byte for each chunk");
    }
    const ChakraExporter exporter(topology, schedule, bytes);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        write(server, exporter.MakeTrace(server));
    }
}

} // namespace ns3::allreduce
