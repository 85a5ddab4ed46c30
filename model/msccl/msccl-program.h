/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_PROGRAM_H
#define ALLREDUCE_MSCCL_PROGRAM_H

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// MSCCL keeps offsets into buffers in 16 bits, signed.
constexpr uint32_t MSCCL_MAX_CHUNKS = 32768;
/// MSCCL takes no more steps than this in a threadblock.
constexpr uint32_t MSCCL_MAX_STEPS = 256;
/// MSCCL takes no longer text as an attribute.
constexpr std::size_t MSCCL_MAX_TEXT = 255;

/// @ingroup allreduce
/// A buffer of a GPU.
enum class MscclBuffer : char
{
    INPUT = 'i',
    OUTPUT = 'o',
    SCRATCH = 's'
};

/// @ingroup allreduce
/// Room for one chunk in a buffer of a GPU.
struct MscclSlot
{
    MscclBuffer buffer{MscclBuffer::INPUT}; //!< the buffer
    uint32_t offset{0};                     //!< the place in it, in chunks
};

/// @ingroup allreduce
/// What a step does.
struct MscclType
{
    const char* name; //!< as it is written, for example "rrc"
    bool receives;    //!< takes the next message of its threadblock's receive peer
    bool sends;       //!< sends a message to its threadblock's send peer
    bool readsSource; //!< uses what is in the source slots
    bool adds;        //!< sums what it receives (or holds at the target) and the source
    bool writes;      //!< puts the result into the target slots
};

/**
 * @ingroup allreduce
 *
 * @param name a type's name, for example "rrc"
 * @return the type, or nullptr if MSCCL has none of that name
 */
const MscclType* FindMscclType(const std::string& name);

/// @ingroup allreduce
/// Names a step of a program.
struct MscclPlace
{
    uint32_t gpu{0};  //!< the GPU
    uint32_t tb{0};   //!< its threadblock
    uint32_t step{0}; //!< and the step in it
};

/// @return "gpu 3, tb 0, step 7" @param place the step
std::string Describe(const MscclPlace& place);

/// @ingroup allreduce
/// One instruction of a threadblock.
struct MscclStep
{
    /// A step of the same GPU that must have ended before.
    struct Dependency
    {
        uint32_t tb{0};   //!< its threadblock
        uint32_t step{0}; //!< the step
    };

    const MscclType* type{nullptr};       //!< what it does
    MscclSlot source;                     //!< the first slot that is read
    MscclSlot target;                     //!< the first slot that is written
    uint32_t count{1};                    //!< how many chunks, one after another; a nop has 0
    std::optional<Dependency> dependency; //!< what it waits for
    bool hasDependents{false};            //!< whether others wait for it
    std::optional<uint32_t> round;        //!< of a schedule, in which it sends; MSCCL skips this
    std::vector<uint32_t> via;            //!< the switches that its message passes there; also this
};

/// @ingroup allreduce
/// A sequence of steps, with at most one peer to send to and one to receive from.
struct MscclThreadBlock
{
    std::optional<uint32_t> sendPeer;    //!< the GPU it sends to
    std::optional<uint32_t> receivePeer; //!< the GPU it receives from
    uint32_t channel{0};                 //!< messages are in order in each channel of two peers
    std::vector<MscclStep> steps;        //!< the steps, in order
};

/// @ingroup allreduce
/// What one GPU does.
struct MscclGpu
{
    uint32_t nInput{0};                   //!< slots of its input buffer
    uint32_t nOutput{0};                  //!< slots of its output buffer
    uint32_t nScratch{0};                 //!< slots of its scratch buffer
    std::vector<MscclThreadBlock> blocks; //!< by id
};

/// @ingroup allreduce
/// An AllReduce as MSCCL's interpreter runs it.
struct MscclProgram
{
    std::string name;           //!< what it calls itself
    uint32_t nChunks{0};        //!< chunks of the gradient
    bool isInPlace{true};       //!< input and output are the same memory
    std::vector<MscclGpu> gpus; //!< by id
};

/**
 * @ingroup allreduce
 *
 * Write a program as MSCCL reads it.
 *
 * @param program the program
 * @param out where to write
 */
void WriteMscclProgram(const MscclProgram& program, std::ostream& out);

/**
 * @ingroup allreduce
 *
 * Read a program and check that all that it names is there.
 *
 * @param in the text
 * @param source where it comes from, for messages
 * @return the program
 * @throws InputError that names source, the place in it and what was expected
 */
MscclProgram ReadMscclProgram(std::istream& in, const std::string& source);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_PROGRAM_H */
