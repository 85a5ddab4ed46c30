/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chakra-trace.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <array>
#include <istream>
#include <limits>
#include <ostream>
#include <unordered_set>

#ifdef ALLREDUCE_CHAKRA
#include "allreduce-chakra.pb.h"
#endif

namespace ns3::allreduce
{

const char*
ToString(ChakraType type)
{
    static constexpr std::array<const char*, 9> NAMES = {"INVALID_NODE",
                                                         "METADATA_NODE",
                                                         "MEM_LOAD_NODE",
                                                         "MEM_STORE_NODE",
                                                         "COMP_NODE",
                                                         "COMM_SEND_NODE",
                                                         "COMM_RECV_NODE",
                                                         "COMM_COLL_NODE",
                                                         "unknown"};
    return NAMES[std::min<std::size_t>(static_cast<std::size_t>(type), NAMES.size() - 1)];
}

std::string
NameChakraCollective(uint64_t number)
{
    static constexpr std::array<const char*, 10> NAMES = {"ALL_REDUCE",
                                                          "REDUCE",
                                                          "ALL_GATHER",
                                                          "GATHER",
                                                          "SCATTER",
                                                          "BROADCAST",
                                                          "ALL_TO_ALL",
                                                          "REDUCE_SCATTER",
                                                          "REDUCE_SCATTER_BLOCK",
                                                          "BARRIER"};
    return number < NAMES.size() ? NAMES[number] : "collective " + std::to_string(number);
}

#ifndef ALLREDUCE_CHAKRA

bool
HasChakraSupport()
{
    return false;
}

void
CheckChakraSupport(const std::string& option)
{
    FailInput(option,
              ": this build has no Chakra traces, for which CMake needs protobuf (Debian: apt-get "
              "install protobuf-compiler libprotobuf-dev)");
}

void
WriteChakraTrace(const std::vector<ChakraNode>&, std::ostream&)
{
    CheckChakraSupport("Chakra trace");
}

std::vector<ChakraNode>
ReadChakraTrace(std::istream&, const std::string& source)
{
    CheckChakraSupport("Chakra trace " + source);
    return {};
}

#else

namespace
{

/// No message of a trace is longer than this; a node has some hundred bytes.
constexpr uint64_t MOST_MESSAGE_BYTES = 1 << 26;
/// More nodes than anybody could play.
constexpr std::size_t MOST_NODES = 10'000'000;
/// What traces of this schema call it.
constexpr const char* SCHEMA = "1.0.2-chakra.0.0.4";

/// How Chakra's own reader expects a number to be encoded.
enum class Encoding
{
    INT32,
    INT64,
    UINT64
};

/// A number that a node has or not.
struct NumberAttribute
{
    const char* name;                                 //!< in the file
    std::optional<uint64_t> ChakraNode::*const value; //!< here
    Encoding encoding;                                //!< in files that are written
};

constexpr std::array<NumberAttribute, 8> NUMBERS = {
    {{"comm_type", &ChakraNode::collective, Encoding::INT64},
     {"comm_size", &ChakraNode::bytes, Encoding::INT64},
     {"comm_src", &ChakraNode::source, Encoding::INT32},
     {"comm_dst", &ChakraNode::target, Encoding::INT32},
     {"comm_tag", &ChakraNode::tag, Encoding::INT32},
     {"num_ops", &ChakraNode::nOperations, Encoding::INT64},
     {"tensor_size", &ChakraNode::tensorBytes, Encoding::UINT64},
     {"chunk", &ChakraNode::chunk, Encoding::INT32}}};

void
WriteMessage(const google::protobuf::MessageLite& message, std::ostream& out)
{
    std::string text = message.SerializeAsString();
    uint64_t size = text.size();
    for (; size > 0x7f; size >>= 7)
    {
        out.put(static_cast<char>((size & 0x7f) | 0x80));
    }
    out.put(static_cast<char>(size));
    out.write(text.data(), text.size());
}

void
AddNumber(chakra::Node& message, const NumberAttribute& number, uint64_t value)
{
    chakra::AttributeProto& attribute = *message.add_attr();
    attribute.set_name(number.name);
    switch (number.encoding)
    {
    case Encoding::INT32:
        attribute.set_int32_val(value);
        break;
    case Encoding::INT64:
        attribute.set_int64_val(value);
        break;
    case Encoding::UINT64:
        attribute.set_uint64_val(value);
        break;
    }
}

chakra::Node
MakeMessage(const ChakraNode& node)
{
    chakra::Node message;
    message.set_id(node.id);
    message.set_name(node.name);
    message.set_type(static_cast<uint32_t>(node.type));
    message.mutable_ctrl_deps()->Add(node.controlDeps.begin(), node.controlDeps.end());
    message.mutable_data_deps()->Add(node.dataDeps.begin(), node.dataDeps.end());
    message.set_duration_micros(node.durationMicros);
    chakra::AttributeProto& isCpuOp = *message.add_attr();
    isCpuOp.set_name("is_cpu_op");
    isCpuOp.set_bool_val(node.isCpuOp);
    for (const NumberAttribute& number : NUMBERS)
    {
        if (const auto& value = node.*number.value)
        {
            AddNumber(message, number, *value);
        }
    }
    if (!node.group.empty())
    {
        chakra::AttributeProto& group = *message.add_attr();
        group.set_name("pg_name");
        group.set_string_val(node.group);
    }
    return message;
}

/// Reads a trace, message by message.
class TraceReader
{
  public:
    TraceReader(std::istream& in, const std::string& source)
        : m_in(in),
          m_source("Chakra trace " + source)
    {
    }

    std::vector<ChakraNode> Read()
    {
        chakra::GlobalMetadata metadata;
        if (!ReadMessage(metadata))
        {
            FailInput(m_source, ": is empty, expected the metadata and the nodes of a trace");
        }
        std::vector<ChakraNode> nodes;
        chakra::Node message;
        while (ReadMessage(message))
        {
            nodes.push_back(ReadNode(message));
            if (!m_ids.insert(nodes.back().id).second)
            {
                FailInput(m_source, ": ", DescribeNode(nodes.back()), " is there twice");
            }
            if (nodes.size() > MOST_NODES)
            {
                FailInput(m_source, ": more than ", MOST_NODES, " nodes");
            }
        }
        CheckDependencies(nodes);
        return nodes;
    }

  private:
    static std::string DescribeNode(const ChakraNode& node)
    {
        return "node " + std::to_string(node.id) + " " + Quote(node.name);
    }

    /// As a length the first byte of what gzip makes is fine, but no metadata begins with the
    /// second.
    void CheckCompression(uint64_t length)
    {
        if (m_nMessages == 0 && length == 0x1f && m_in.peek() == 0x8b)
        {
            FailInput(m_source, ": is compressed; expected what gunzip makes of it");
        }
    }

    /// @return the next length; nothing at the end of the file
    std::optional<uint64_t> ReadLength()
    {
        uint64_t length = 0;
        for (uint32_t shift = 0; shift < 35; shift += 7)
        {
            const int byte = m_in.get();
            if (byte == std::char_traits<char>::eof())
            {
                if (shift > 0)
                {
                    FailInput(m_source, ": ends inside of the length of message ", m_nMessages);
                }
                return std::nullopt;
            }
            length |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80)
            {
                return length;
            }
        }
        return std::numeric_limits<uint64_t>::max();
    }

    /// @return whether there was one more
    bool ReadMessage(google::protobuf::MessageLite& message)
    {
        const auto length = ReadLength();
        if (!length)
        {
            return false;
        }
        if (*length > MOST_MESSAGE_BYTES)
        {
            FailInput(m_source,
                      ": length of message ",
                      m_nMessages,
                      " is more than ",
                      MOST_MESSAGE_BYTES,
                      " bytes: expected a Chakra trace");
        }
        CheckCompression(*length);
        ReadBytes(*length);
        if (!message.ParseFromString(m_bytes))
        {
            FailInput(m_source,
                      ": message ",
                      m_nMessages,
                      m_nMessages == 0 ? " is no metadata of Chakra" : " is no node of Chakra");
        }
        ++m_nMessages;
        return true;
    }

    /// A length that lies does not take memory that is not in the file.
    void ReadBytes(uint64_t length)
    {
        constexpr uint64_t PIECE = 1 << 16;
        m_bytes.clear();
        while (m_bytes.size() < length)
        {
            const std::size_t before = m_bytes.size();
            m_bytes.resize(std::min(length, before + PIECE));
            m_in.read(m_bytes.data() + before, m_bytes.size() - before);
            if (!m_in)
            {
                FailInput(m_source, ": ends inside of message ", m_nMessages);
            }
        }
    }

    ChakraNode ReadNode(const chakra::Node& message)
    {
        ChakraNode node;
        node.id = message.id();
        node.name = message.name();
        node.type = static_cast<ChakraType>(
            std::min(message.type(), static_cast<uint32_t>(ChakraType::UNKNOWN)));
        node.controlDeps.assign(message.ctrl_deps().begin(), message.ctrl_deps().end());
        node.dataDeps.assign(message.data_deps().begin(), message.data_deps().end());
        node.durationMicros = message.duration_micros();
        if (node.type == ChakraType::UNKNOWN)
        {
            FailInput(m_source,
                      ": ",
                      DescribeNode(node),
                      ": type ",
                      message.type(),
                      ", expected 0 to ",
                      static_cast<uint32_t>(ChakraType::COLLECTIVE));
        }
        for (const chakra::AttributeProto& attribute : message.attr())
        {
            ReadAttribute(attribute, node);
        }
        return node;
    }

    void ReadAttribute(const chakra::AttributeProto& attribute, ChakraNode& node) const
    {
        if (attribute.name() == "is_cpu_op")
        {
            node.isCpuOp = attribute.bool_val();
        }
        else if (attribute.name() == "pg_name")
        {
            node.group = attribute.string_val();
        }
        else if (attribute.name() == "involved_dim")
        {
            const auto& values = attribute.bool_list().values();
            node.involvesAll = std::find(values.begin(), values.end(), false) == values.end();
        }
        for (const NumberAttribute& number : NUMBERS)
        {
            if (attribute.name() == number.name)
            {
                node.*number.value = ReadNumber(attribute, node);
            }
        }
    }

    uint64_t ReadNumber(const chakra::AttributeProto& attribute, const ChakraNode& node) const
    {
        using Attribute = chakra::AttributeProto;
        switch (attribute.value_case())
        {
        case Attribute::kInt32Val:
            return CheckSign(attribute.int32_val(), attribute, node);
        case Attribute::kInt64Val:
            return CheckSign(attribute.int64_val(), attribute, node);
        case Attribute::kSint32Val:
            return CheckSign(attribute.sint32_val(), attribute, node);
        case Attribute::kSint64Val:
            return CheckSign(attribute.sint64_val(), attribute, node);
        case Attribute::kSfixed32Val:
            return CheckSign(attribute.sfixed32_val(), attribute, node);
        case Attribute::kSfixed64Val:
            return CheckSign(attribute.sfixed64_val(), attribute, node);
        case Attribute::kUint32Val:
            return attribute.uint32_val();
        case Attribute::kUint64Val:
            return attribute.uint64_val();
        case Attribute::kFixed32Val:
            return attribute.fixed32_val();
        case Attribute::kFixed64Val:
            return attribute.fixed64_val();
        default:
            FailInput(m_source,
                      ": ",
                      DescribeNode(node),
                      ": ",
                      attribute.name(),
                      " is no number, expected a whole one");
        }
    }

    uint64_t CheckSign(int64_t value,
                       const chakra::AttributeProto& attribute,
                       const ChakraNode& node) const
    {
        if (value < 0)
        {
            FailInput(m_source,
                      ": ",
                      DescribeNode(node),
                      ": ",
                      attribute.name(),
                      "=",
                      value,
                      ", expected 0 or more");
        }
        return value;
    }

    void CheckDependencies(const std::vector<ChakraNode>& nodes) const
    {
        for (const ChakraNode& node : nodes)
        {
            for (const auto* deps : {&node.controlDeps, &node.dataDeps})
            {
                for (const uint64_t id : *deps)
                {
                    if (m_ids.count(id) == 0)
                    {
                        FailInput(m_source,
                                  ": ",
                                  DescribeNode(node),
                                  " waits for node ",
                                  id,
                                  ", which is not there");
                    }
                }
            }
        }
    }

    std::istream& m_in;                 //!< the bytes
    std::string m_source;               //!< where they come from
    std::string m_bytes;                //!< of the present message
    uint64_t m_nMessages{0};            //!< that have been read
    std::unordered_set<uint64_t> m_ids; //!< of the nodes
};

} // namespace

bool
HasChakraSupport()
{
    return true;
}

void
CheckChakraSupport(const std::string&)
{
}

void
WriteChakraTrace(const std::vector<ChakraNode>& nodes, std::ostream& out)
{
    chakra::GlobalMetadata metadata;
    chakra::AttributeProto& schema = *metadata.add_attr();
    schema.set_name("schema");
    schema.set_string_val(SCHEMA);
    WriteMessage(metadata, out);
    for (const ChakraNode& node : nodes)
    {
        WriteMessage(MakeMessage(node), out);
    }
}

std::vector<ChakraNode>
ReadChakraTrace(std::istream& in, const std::string& source)
{
    return TraceReader(in, source).Read();
}

#endif

} // namespace ns3::allreduce
