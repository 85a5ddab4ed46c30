/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHAKRA_TRACE_H
#define ALLREDUCE_CHAKRA_TRACE_H

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a node of a Chakra trace does, with Chakra's numbers.
enum class ChakraType : uint32_t
{
    INVALID = 0,
    METADATA = 1,
    LOAD = 2,       //!< from memory
    STORE = 3,      //!< to memory
    COMPUTE = 4,    //!< in an exported schedule: the sum of two parts of a chunk
    SEND = 5,       //!< to another server
    RECEIVE = 6,    //!< from another server
    COLLECTIVE = 7, //!< of all servers
    UNKNOWN = 8     //!< the first number that Chakra does not have
};

/// @return Chakra's name of a type, as "COMM_SEND_NODE" @param type the type
const char* ToString(ChakraType type);

/// Chakra's number of an AllReduce among its collectives.
constexpr uint64_t CHAKRA_ALL_REDUCE = 0;

/// @return Chakra's name of a collective, as "ALL_GATHER" @param number its number
std::string NameChakraCollective(uint64_t number);

/// @ingroup allreduce
/// A node of a Chakra execution trace, as far as this module knows it.
struct ChakraNode
{
    uint64_t id{0};                       //!< different for all nodes of a trace
    std::string name;                     //!< for people
    ChakraType type{ChakraType::INVALID}; //!< what it does
    std::vector<uint64_t> controlDeps;    //!< nodes that must have ended before
    std::vector<uint64_t> dataDeps;       //!< the same: what they make is used here
    uint64_t durationMicros{0};           //!< how long it takes
    bool isCpuOp{false};                  //!< attribute is_cpu_op: it does not need the GPU
    std::string group;                    //!< attribute pg_name: the process group
    bool involvesAll{true};               //!< attribute involved_dim has no false

    // Attributes that a node has or not.
    std::optional<uint64_t> collective;  //!< comm_type: which collective
    std::optional<uint64_t> bytes;       //!< comm_size
    std::optional<uint64_t> source;      //!< comm_src: who sends what is received
    std::optional<uint64_t> target;      //!< comm_dst: who receives what is sent
    std::optional<uint64_t> tag;         //!< comm_tag: sends and receives of the same tag match
    std::optional<uint64_t> nOperations; //!< num_ops
    std::optional<uint64_t> tensorBytes; //!< tensor_size
    std::optional<uint64_t> chunk;       //!< chunk: only this module's; other readers skip it
};

/**
 * @ingroup allreduce
 *
 * Refuse to do anything with traces if this build cannot.
 *
 * @param option who asked for it
 * @throws InputError that names the option and what is missing
 */
void CheckChakraSupport(const std::string& option);

/// @return whether this build reads and writes traces: protobuf was found
bool HasChakraSupport();

/**
 * @ingroup allreduce
 *
 * Write a trace: Chakra's metadata, then the nodes in order, each message after its length.
 *
 * @param nodes the nodes
 * @param out where to write, binary
 * @throws InputError if this build cannot
 */
void WriteChakraTrace(const std::vector<ChakraNode>& nodes, std::ostream& out);

/**
 * @ingroup allreduce
 *
 * Read a trace. Ids are different for all nodes, and every node that another one waits for is
 * there. Whether nodes wait for each other in a circle is for others to say.
 *
 * @param in the bytes
 * @param source where they come from, for messages
 * @return the nodes, in the file's order
 * @throws InputError that names source, the node and what was expected
 */
std::vector<ChakraNode> ReadChakraTrace(std::istream& in, const std::string& source);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHAKRA_TRACE_H */
