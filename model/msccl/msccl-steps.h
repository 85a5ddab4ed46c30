/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_STEPS_H
#define ALLREDUCE_MSCCL_STEPS_H

#include "msccl-memory.h"
#include "msccl-program.h"

#include "ns3/allreduce-error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// No step, or no message.
constexpr uint32_t MSCCL_NOTHING = UINT32_MAX;

/// @ingroup allreduce
/// A step of the program and how far it has come.
struct MscclRunStep
{
    MscclPlace place;                   //!< where it is in the program
    uint32_t block{0};                  //!< its threadblock, among those of all GPUs
    const MscclStep* what{nullptr};     //!< what it does
    uint32_t nAwaited{0};               //!< how many things it still waits for
    bool isDone{false};                 //!< it has run
    uint32_t dependency{MSCCL_NOTHING}; //!< the step that it depends on
    std::vector<uint32_t> dependents;   //!< steps that depend on it
    uint32_t nDependentsLeft{0};        //!< those of them that have not run
    MscclMemory::Past past;             //!< what was past when it had run, for these
    uint32_t messageOut{MSCCL_NOTHING}; //!< the message that it sends
    uint32_t messageIn{MSCCL_NOTHING};  //!< the message that it receives
    uint32_t nBefore{0};                //!< most messages one after another that it waits for
    uint32_t nFollowing{0};             //!< most messages one after another that wait for it
};

/// @ingroup allreduce
/// How far a chunk of a message has come.
enum class MscclCrossing
{
    WAITING, //!< it was sent by its step, but has not crossed the network
    CHOSEN,  //!< it crosses in this round
    CROSSED
};

/// @ingroup allreduce
/// What one send and one receive exchange.
struct MscclMessage
{
    uint32_t sender{MSCCL_NOTHING};   //!< the step that sends it
    uint32_t receiver{MSCCL_NOTHING}; //!< the step that receives it
    std::vector<MscclSum> sums;       //!< its chunks
    std::vector<MscclCrossing> state; //!< how far each of them is
    MscclMemory::Past past;           //!< what was past when it was sent
};

/**
 * @ingroup allreduce
 *
 * @brief The steps of a program, what each of them waits for, and the messages between them.
 */
class MscclSteps
{
  public:
    /**
     * @param program the program, which must outlive this
     * @param source where it comes from, for messages
     * @throws InputError if a message has one end only, or steps wait for each other
     */
    MscclSteps(const MscclProgram& program, std::string source);

    /// @param place a step @param parts what is wrong with it
    template <typename... Parts>
    [[noreturn]] void Fail(const MscclPlace& place, const Parts&... parts) const
    {
        FailInput(m_source, ": ", Describe(place), ": ", parts...);
    }

    /// @return its threadblock @param step a step
    const MscclThreadBlock& GetBlock(const MscclRunStep& step) const;

    /// @return whether the program says in which rounds it sends
    bool HasRounds() const;

    std::vector<MscclRunStep> steps;    //!< all steps, a threadblock after another
    std::vector<MscclMessage> messages; //!< all messages

  private:
    void ListSteps();
    void ListBlock(uint32_t gpu, uint32_t tb);

    /// The n-th send of a connection belongs to its n-th receive.
    void MatchMessages();
    void AddMessage(uint32_t sender, uint32_t receiver);

    /// Find an order in which all steps can run, and how long the chains are that each is in.
    void MeasureChains();
    bool IsMessage(uint32_t step, uint32_t follower) const;

    /// Say of the first step that could be next in its threadblock what it waits for in vain.
    [[noreturn]] void FailDeadlock(const std::vector<uint32_t>& nAwaited) const;

    /// Call for each step that waits for a step or for its message.
    template <typename Call>
    void ForEachFollower(uint32_t index, Call call) const
    {
        const MscclRunStep& step = steps[index];
        if (step.place.step + 1 < GetBlock(step).steps.size())
        {
            call(index + 1);
        }
        for (const uint32_t dependent : step.dependents)
        {
            call(dependent);
        }
        if (step.messageOut != MSCCL_NOTHING)
        {
            call(messages[step.messageOut].receiver);
        }
    }

    const MscclProgram& m_program; //!< the program
    std::string m_source;          //!< where it comes from
    uint32_t m_nBlocks{0};         //!< threadblocks that are listed
    bool m_hasRounds{false};       //!< see HasRounds
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_STEPS_H */
