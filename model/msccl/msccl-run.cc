/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-run.h"

#include "msccl-memory.h"
#include "msccl-router.h"
#include "msccl-steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/**
 * Runs a program and puts its messages into rounds.
 *
 * A send runs as soon as the program allows and takes its data then. The chunks of its message
 * cross the network in a later round, when links have room, when the receive that takes them can
 * run at the round's end, and when no older data of the receiving slot still waits to be sent:
 * in a schedule what arrives is merged at once.
 */
class MscclRun
{
  public:
    MscclRun(const MscclProgram& program, const Topology& topology, const std::string& source)
        : m_topology(topology),
          m_steps(program, source),
          m_memory(program, source),
          m_router(topology),
          m_pasts(m_memory.GetNBlocks(), MscclMemory::Past(m_memory.GetNBlocks(), 0))
    {
        CheckPaths();
    }

    AllReduceSchedule Run()
    {
        for (uint32_t i = 0; i < m_steps.steps.size(); ++i)
        {
            if (m_steps.steps[i].nAwaited == 0)
            {
                m_ready.push_back(i);
            }
        }
        RunReadySteps();
        while (!m_waiting.empty())
        {
            RunRound();
        }
        m_memory.CheckEnd();
        return MakeSchedule();
    }

  private:
    /// A chunk of a message.
    struct Piece
    {
        uint32_t message; //!< the message
        uint32_t index;   //!< and the chunk of it
    };

    /// A piece and the way it takes.
    struct RoutedPiece
    {
        Piece piece; //!< the piece
        Path path;   //!< its way
    };

    void CheckPaths()
    {
        std::set<std::pair<NodeId, NodeId>> seen;
        for (const MscclMessage& message : m_steps.messages)
        {
            const MscclPlace& place = m_steps.steps[message.sender].place;
            const NodeId target = m_steps.steps[message.receiver].place.gpu;
            m_router.BeginRound();
            if (seen.insert({place.gpu, target}).second &&
                m_router.Occupy(place.gpu, target).empty())
            {
                m_steps.Fail(place,
                             "sends to gpu ",
                             target,
                             ", but in ",
                             m_topology.GetName(),
                             " no path of switches leads there");
            }
        }
    }

    void RunReadySteps()
    {
        while (!m_ready.empty())
        {
            const uint32_t step = m_ready.back();
            m_ready.pop_back();
            CollectPast(step);
            RunStep(m_steps.steps[step]);
            EndStep(step);
        }
    }

    /// Past for a step is what its threadblock saw, and what all saw that it waited for.
    void CollectPast(uint32_t index)
    {
        MscclRunStep& step = m_steps.steps[index];
        MscclMemory::Past& past = m_pasts[step.block];
        const auto join = [&past](const MscclMemory::Past& other) {
            for (std::size_t i = 0; i < past.size(); ++i)
            {
                past[i] = std::max(past[i], other[i]);
            }
        };
        if (step.dependency != MSCCL_NOTHING)
        {
            MscclRunStep& other = m_steps.steps[step.dependency];
            join(other.past);
            if (--other.nDependentsLeft == 0)
            {
                other.past = {};
            }
        }
        if (step.messageIn != MSCCL_NOTHING)
        {
            join(m_steps.messages[step.messageIn].past);
            m_steps.messages[step.messageIn].past = {};
        }
        m_memory.Begin(step.place, past);
    }

    void RunStep(const MscclRunStep& step)
    {
        const MscclStep& what = *step.what;
        for (uint32_t i = 0; i < what.count; ++i)
        {
            const MscclSlot source{what.source.buffer, what.source.offset + i};
            const MscclSlot target{what.target.buffer, what.target.offset + i};
            if (!what.type->receives && !what.type->sends && !what.type->adds)
            {
                m_memory.Copy(source, target);
                continue;
            }
            MscclSum sum = what.type->receives ? m_steps.messages[step.messageIn].sums[i]
                                               : m_memory.Take(source);
            if (what.type->adds)
            {
                sum = m_memory.Add(what.type->receives ? source : target, sum);
            }
            if (what.type->writes)
            {
                m_memory.Store(target, sum);
            }
            if (what.type->sends)
            {
                Send(step, what.type->writes ? m_memory.Take(target) : std::move(sum), i);
            }
        }
    }

    void Send(const MscclRunStep& step, MscclSum sum, uint32_t index)
    {
        MscclMessage& message = m_steps.messages[step.messageOut];
        message.sums.push_back(std::move(sum));
        message.state.push_back(MscclCrossing::WAITING);
        message.past = m_pasts[step.block];
        m_waiting.push_back({step.messageOut, index});
        m_unsent[GetSlot(step, index)].push_back({step.messageOut, index});
    }

    /// @return the slot that a send empties or a receive fills
    std::size_t GetSlot(const MscclRunStep& step, uint32_t index) const
    {
        MscclSlot slot = step.what->type->writes ? step.what->target : step.what->source;
        slot.offset += index;
        return m_memory.GetIndex(step.place.gpu, slot);
    }

    void EndStep(uint32_t index)
    {
        MscclRunStep& step = m_steps.steps[index];
        step.isDone = true;
        if (step.nDependentsLeft > 0)
        {
            step.past = m_pasts[step.block];
        }
        if (step.place.step + 1 < m_steps.GetBlock(step).steps.size())
        {
            Release(index + 1);
        }
        for (const uint32_t dependent : step.dependents)
        {
            Release(dependent);
        }
    }

    void Release(uint32_t step)
    {
        if (--m_steps.steps[step].nAwaited == 0)
        {
            m_ready.push_back(step);
        }
    }

    /// Messages of the earliest round cross first, then those with the longest chain behind them.
    void RunRound()
    {
        std::stable_sort(m_waiting.begin(), m_waiting.end(), [&](const Piece& x, const Piece& y) {
            const MscclRunStep& a = m_steps.steps[m_steps.messages[x.message].sender];
            const MscclRunStep& b = m_steps.steps[m_steps.messages[y.message].sender];
            return std::make_tuple(GetRound(x), b.nFollowing, a.nBefore) <
                   std::make_tuple(GetRound(y), a.nFollowing, b.nBefore);
        });
        // What has come late does not hold up the rounds that the program names.
        m_dueRound = std::max(m_dueRound, GetRound(m_waiting.front()));
        if (!m_steps.HasRounds() || !ChooseTogether(m_dueRound))
        {
            ChooseOneByOne();
            if (m_chosen.empty() && !ChooseTogether(std::numeric_limits<uint32_t>::max()))
            {
                FailNoRoom();
            }
        }
        ++m_dueRound;
        EndRound();
    }

    /// @return the round in which the program sends it; 0 if it does not say
    uint32_t GetRound(const Piece& piece) const
    {
        return m_steps.steps[m_steps.messages[piece.message].sender].what->round.value_or(0);
    }

    void ChooseOneByOne()
    {
        m_router.BeginRound();
        m_chosen.clear();
        std::size_t nBefore = 0;
        do
        {
            nBefore = m_chosen.size();
            for (const Piece& piece : m_waiting)
            {
                if (GetState(piece) == MscclCrossing::WAITING && CanArrive(piece))
                {
                    Choose(piece);
                }
            }
        } while (m_chosen.size() > nBefore);
    }

    void Choose(const Piece& piece)
    {
        const MscclMessage& message = m_steps.messages[piece.message];
        const MscclRunStep& sender = m_steps.steps[message.sender];
        const NodeId target = m_steps.steps[message.receiver].place.gpu;
        Path path{sender.place.gpu};
        path.insert(path.end(), sender.what->via.begin(), sender.what->via.end());
        path.push_back(target);
        if (!sender.what->round || !m_router.Occupy(path))
        {
            path = m_router.Occupy(sender.place.gpu, target);
        }
        if (!path.empty())
        {
            GetState(piece) = MscclCrossing::CHOSEN;
            m_chosen.push_back({piece, std::move(path)});
        }
    }

    /**
     * What waits for each other can still cross in the same round: servers that swap partial sums.
     *
     * @param lastRound no message of a later round
     * @return whether anything was chosen
     */
    bool ChooseTogether(uint32_t lastRound)
    {
        m_chosen.clear();
        for (const Piece& piece : m_waiting)
        {
            if (GetRound(piece) <= lastRound)
            {
                GetState(piece) = MscclCrossing::CHOSEN;
            }
        }
        while (DropWhatCannotArrive() || m_chosen.empty())
        {
            m_router.BeginRound();
            m_chosen.clear();
            for (const Piece& piece : m_waiting)
            {
                if (GetState(piece) == MscclCrossing::CHOSEN)
                {
                    GetState(piece) = MscclCrossing::WAITING;
                    Choose(piece);
                }
            }
            if (m_chosen.empty())
            {
                return false;
            }
        }
        return true;
    }

    /// @return whether there was any
    bool DropWhatCannotArrive()
    {
        bool hasDropped = false;
        bool isStable = false;
        while (!isStable)
        {
            isStable = true;
            for (const Piece& piece : m_waiting)
            {
                if (GetState(piece) == MscclCrossing::CHOSEN && !CanArrive(piece))
                {
                    GetState(piece) = MscclCrossing::WAITING;
                    isStable = false;
                    hasDropped = true;
                }
            }
        }
        return hasDropped;
    }

    MscclCrossing& GetState(const Piece& piece)
    {
        return m_steps.messages[piece.message].state[piece.index];
    }

    /// @return whether the receive can run at the end of this round, as far as is chosen yet
    bool CanArrive(const Piece& piece)
    {
        const uint32_t receiver = m_steps.messages[piece.message].receiver;
        const MscclRunStep& step = m_steps.steps[receiver];
        if ((step.place.step > 0 && !IsDoneAfterRound(m_steps.steps[receiver - 1])) ||
            (step.dependency != MSCCL_NOTHING && !IsDoneAfterRound(m_steps.steps[step.dependency])))
        {
            return false;
        }
        if (step.what->type->writes && step.what->target.buffer == MscclBuffer::SCRATCH)
        {
            return true; // Where there is scratch, workloads name what they move.
        }
        auto& unsent = m_unsent[GetSlot(step, piece.index)];
        unsent.erase(std::remove_if(unsent.begin(),
                                    unsent.end(),
                                    [&](const Piece& other) {
                                        return GetState(other) == MscclCrossing::CROSSED;
                                    }),
                     unsent.end());
        return std::all_of(unsent.begin(), unsent.end(), [&](const Piece& other) {
            return GetState(other) == MscclCrossing::CHOSEN;
        });
    }

    bool IsDoneAfterRound(const MscclRunStep& step) const
    {
        if (step.isDone || step.messageIn == MSCCL_NOTHING)
        {
            return step.isDone;
        }
        const auto& state = m_steps.messages[step.messageIn].state;
        return state.size() == step.what->count &&
               std::none_of(state.begin(), state.end(), [](MscclCrossing crossing) {
                   return crossing == MscclCrossing::WAITING;
               });
    }

    void EndRound()
    {
        for (const RoutedPiece& routed : m_chosen)
        {
            GetState(routed.piece) = MscclCrossing::CROSSED;
        }
        m_waiting.erase(std::remove_if(m_waiting.begin(),
                                       m_waiting.end(),
                                       [&](const Piece& piece) {
                                           return GetState(piece) == MscclCrossing::CROSSED;
                                       }),
                        m_waiting.end());
        std::set<uint32_t> arrived;
        for (const RoutedPiece& routed : m_chosen)
        {
            const auto& state = m_steps.messages[routed.piece.message].state;
            const uint32_t receiver = m_steps.messages[routed.piece.message].receiver;
            if (state.size() == m_steps.steps[receiver].what->count &&
                std::all_of(
                    state.begin(),
                    state.end(),
                    [](MscclCrossing crossing) { return crossing == MscclCrossing::CROSSED; }) &&
                arrived.insert(receiver).second)
            {
                Release(receiver);
            }
        }
        m_rounds.push_back(std::move(m_chosen));
        RunReadySteps();
    }

    [[noreturn]] void FailNoRoom() const
    {
        const MscclMessage& message = m_steps.messages[m_waiting.front().message];
        m_steps.Fail(
            m_steps.steps[message.sender].place,
            "what it sends has to cross the network together with other messages, for which ",
            m_topology.GetName(),
            " has no room");
    }

    AllReduceSchedule MakeSchedule() const
    {
        AllReduceSchedule schedule;
        schedule.collective.roots = m_memory.GetRoots();
        for (const auto& pieces : m_rounds)
        {
            WorkloadList round;
            for (const RoutedPiece& routed : pieces)
            {
                const MscclSum& sum =
                    m_steps.messages[routed.piece.message].sums[routed.piece.index];
                // Where sums lie in several slots of a server, only some of them move.
                const bool isPart = !sum.isFinal && !m_memory.IsInPlace();
                round.Add(sum.chunk,
                          sum.isFinal ? WorkloadKind::BROADCAST : WorkloadKind::REDUCE,
                          routed.path,
                          isPart ? sum.ListMembers() : std::vector<NodeId>());
            }
            schedule.rounds.push_back(std::move(round));
        }
        return schedule;
    }

    const Topology& m_topology;                         //!< the network
    MscclSteps m_steps;                                 //!< steps and messages
    MscclMemory m_memory;                               //!< what the GPUs hold
    MscclRouter m_router;                               //!< finds ways
    std::vector<MscclMemory::Past> m_pasts;             //!< by threadblock: what it has seen
    std::vector<uint32_t> m_ready;                      //!< steps that can run now
    std::vector<Piece> m_waiting;                       //!< what has been sent and not crossed
    std::map<std::size_t, std::vector<Piece>> m_unsent; //!< by slot: what waits and came from there
    uint32_t m_dueRound{0};                             //!< the round of the program to run next
    std::vector<RoutedPiece> m_chosen;                  //!< what crosses in this round
    std::vector<std::vector<RoutedPiece>> m_rounds;     //!< what crossed in each round
};

} // namespace

AllReduceSchedule
RunMscclProgram(const MscclProgram& program, const Topology& topology, const std::string& source)
{
    return MscclRun(program, topology, source).Run();
}

} // namespace ns3::allreduce
