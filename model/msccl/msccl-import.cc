/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-file.h"
#include "msccl-memory.h"
#include "msccl-program.h"

#include "ns3/allreduce-error.h"
#include "ns3/switch-path-search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t NONE = UINT32_MAX;

/// To find races each threadblock keeps a number for every other one.
constexpr std::size_t MOST_BLOCKS = 16384;

/// Finds paths over links with room in the present round.
class RoundRouter
{
  public:
    explicit RoundRouter(const Topology& topology)
        : m_topology(topology),
          m_load(topology.GetNDirectedLinks(), 0),
          m_search(topology)
    {
    }

    void BeginRound()
    {
        std::fill(m_load.begin(), m_load.end(), 0);
    }

    /// Find a path and occupy it. @return the path, empty if there is none
    Path Occupy(NodeId from, NodeId to)
    {
        Path path;
        const auto hasRoom = [&](DirectedLinkId link) { return HasRoom(link); };
        if (m_search.Find(from, to, SwitchPathSearch::ANY_LENGTH, hasRoom, path))
        {
            AddLoad(path);
        }
        return path;
    }

    /// Occupy this path of switches. @return whether that is one of this network, and has room
    bool Occupy(const Path& path)
    {
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            const bool isEnd = i + 2 == path.size();
            if (path[i + 1] >= m_topology.GetNNodes() || m_topology.IsServer(path[i + 1]) != isEnd)
            {
                return false;
            }
            const auto link = m_topology.FindDirectedLink(path[i], path[i + 1]);
            if (!link || !HasRoom(*link))
            {
                return false;
            }
        }
        if (std::set<NodeId>(path.begin(), path.end()).size() < path.size())
        {
            return false;
        }
        AddLoad(path);
        return true;
    }

  private:
    bool HasRoom(DirectedLinkId link) const
    {
        return m_load[link] < m_topology.GetCapacity(link);
    }

    void AddLoad(const Path& path)
    {
        ForEachLink(m_topology, path, [&](DirectedLinkId link) { ++m_load[link]; });
    }

    const Topology& m_topology;
    std::vector<uint32_t> m_load; //!< by directed link: workloads of this round
    SwitchPathSearch m_search;    //!< finds them
};

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
        : m_program(program),
          m_topology(topology),
          m_source(source),
          m_memory(program, source),
          m_router(topology)
    {
        ListSteps();
        MatchMessages();
        CheckPaths();
        MeasureChains();
    }

    AllReduceSchedule Run()
    {
        for (uint32_t i = 0; i < m_steps.size(); ++i)
        {
            if (m_steps[i].nAwaited == 0)
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
    /// A step of the program and how far it has come.
    struct Step
    {
        MscclPlace place;                 //!< where it is in the program
        uint32_t block{0};                //!< its threadblock, among those of all GPUs
        const MscclStep* what{nullptr};   //!< what it does
        uint32_t nAwaited{0};             //!< how many things it still waits for
        bool isDone{false};               //!< it has run
        uint32_t dependency{NONE};        //!< the step that it depends on
        std::vector<uint32_t> dependents; //!< steps that depend on it
        uint32_t nDependentsLeft{0};      //!< those of them that have not run
        MscclMemory::Past past;           //!< what was past when it had run, for these
        uint32_t messageOut{NONE};        //!< the message that it sends
        uint32_t messageIn{NONE};         //!< the message that it receives
        uint32_t nBefore{0};              //!< most messages one after another that it waits for
        uint32_t nFollowing{0};           //!< most messages one after another that wait for it
    };

    /// How far a chunk of a message has come.
    enum class Crossing
    {
        WAITING, //!< it was sent by its step, but has not crossed the network
        CHOSEN,  //!< it crosses in this round
        CROSSED
    };

    /// What one send and one receive exchange.
    struct Message
    {
        uint32_t sender{NONE};       //!< the step that sends it
        uint32_t receiver{NONE};     //!< the step that receives it
        std::vector<MscclSum> sums;  //!< its chunks
        std::vector<Crossing> state; //!< how far each of them is
        MscclMemory::Past past;      //!< what was past when it was sent
    };

    /// A chunk of a message.
    struct Piece
    {
        uint32_t message;
        uint32_t index; //!< and the chunk of it
    };

    /// A piece and the path it takes.
    struct RoutedPiece
    {
        Piece piece;
        Path path; //!< by which it goes
    };

    template <typename... Parts>
    [[noreturn]] void Fail(const MscclPlace& place, const Parts&... parts) const
    {
        FailInput(m_source, ": ", Describe(place), ": ", parts...);
    }

    const MscclThreadBlock& GetBlock(const Step& step) const
    {
        return m_program.gpus[step.place.gpu].blocks[step.place.tb];
    }

    void ListSteps()
    {
        for (uint32_t gpu = 0; gpu < m_program.gpus.size(); ++gpu)
        {
            std::vector<uint32_t> firstSteps;
            const uint32_t firstOfGpu = m_steps.size();
            for (uint32_t tb = 0; tb < m_program.gpus[gpu].blocks.size(); ++tb)
            {
                firstSteps.push_back(m_steps.size());
                ListBlock(gpu, tb);
            }
            for (uint32_t i = firstOfGpu; i < m_steps.size(); ++i)
            {
                if (const auto& dependency = m_steps[i].what->dependency)
                {
                    m_steps[i].dependency = firstSteps[dependency->tb] + dependency->step;
                    Step& other = m_steps[m_steps[i].dependency];
                    other.dependents.push_back(i);
                    ++other.nDependentsLeft;
                }
            }
        }
    }

    void ListBlock(uint32_t gpu, uint32_t tb)
    {
        const auto& steps = m_program.gpus[gpu].blocks[tb].steps;
        for (uint32_t i = 0; i < steps.size(); ++i)
        {
            Step step;
            step.place = {gpu, tb, i};
            step.block = m_pasts.size();
            step.what = &steps[i];
            step.nAwaited = (i > 0) + steps[i].dependency.has_value();
            m_hasRounds |= steps[i].round.has_value();
            m_steps.push_back(std::move(step));
        }
        m_pasts.emplace_back(m_memory.GetNBlocks(), 0);
    }

    /// The n-th send of a connection belongs to its n-th receive.
    void MatchMessages()
    {
        using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;
        std::map<Connection, std::pair<std::vector<uint32_t>, std::vector<uint32_t>>> ends;
        for (uint32_t i = 0; i < m_steps.size(); ++i)
        {
            const MscclThreadBlock& block = GetBlock(m_steps[i]);
            const uint32_t gpu = m_steps[i].place.gpu;
            if (m_steps[i].what->type->sends)
            {
                ends[{gpu, *block.sendPeer, block.channel}].first.push_back(i);
            }
            if (m_steps[i].what->type->receives)
            {
                ends[{*block.receivePeer, gpu, block.channel}].second.push_back(i);
            }
        }
        for (const auto& [connection, steps] : ends)
        {
            const auto& [senders, receivers] = steps;
            for (std::size_t n = 0; n < std::max(senders.size(), receivers.size()); ++n)
            {
                if (n >= receivers.size())
                {
                    Fail(m_steps[senders[n]].place, "what it sends is never received");
                }
                if (n >= senders.size())
                {
                    Fail(m_steps[receivers[n]].place, "what it receives is never sent");
                }
                AddMessage(senders[n], receivers[n]);
            }
        }
    }

    void AddMessage(uint32_t sender, uint32_t receiver)
    {
        if (m_steps[sender].what->count != m_steps[receiver].what->count)
        {
            Fail(m_steps[receiver].place,
                 "receives ",
                 m_steps[receiver].what->count,
                 " chunks, but ",
                 Describe(m_steps[sender].place),
                 " sends ",
                 m_steps[sender].what->count);
        }
        Message message;
        message.sender = sender;
        message.receiver = receiver;
        m_steps[sender].messageOut = m_messages.size();
        m_steps[receiver].messageIn = m_messages.size();
        ++m_steps[receiver].nAwaited;
        m_messages.push_back(std::move(message));
    }

    void CheckPaths()
    {
        std::set<std::pair<NodeId, NodeId>> seen;
        for (const Message& message : m_messages)
        {
            const MscclPlace& place = m_steps[message.sender].place;
            const NodeId target = m_steps[message.receiver].place.gpu;
            m_router.BeginRound();
            if (seen.insert({place.gpu, target}).second &&
                m_router.Occupy(place.gpu, target).empty())
            {
                Fail(place,
                     "sends to gpu ",
                     target,
                     ", but in ",
                     m_topology.GetName(),
                     " no path of switches leads there");
            }
        }
    }

    /// Find an order in which all steps can run, and how long the chains are that each is in.
    void MeasureChains()
    {
        std::vector<uint32_t> nAwaited;
        std::vector<uint32_t> order;
        for (uint32_t i = 0; i < m_steps.size(); ++i)
        {
            nAwaited.push_back(m_steps[i].nAwaited);
            if (m_steps[i].nAwaited == 0)
            {
                order.push_back(i);
            }
        }
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            ForEachFollower(order[i], [&](uint32_t follower) {
                uint32_t& nBefore = m_steps[follower].nBefore;
                nBefore =
                    std::max(nBefore, m_steps[order[i]].nBefore + IsMessage(order[i], follower));
                if (--nAwaited[follower] == 0)
                {
                    order.push_back(follower);
                }
            });
        }
        if (order.size() < m_steps.size())
        {
            FailDeadlock(nAwaited);
        }
        for (auto index = order.rbegin(); index != order.rend(); ++index)
        {
            uint32_t& nFollowing = m_steps[*index].nFollowing;
            ForEachFollower(*index, [&](uint32_t follower) {
                nFollowing = std::max(nFollowing,
                                      m_steps[follower].nFollowing + IsMessage(*index, follower));
            });
        }
    }

    bool IsMessage(uint32_t step, uint32_t follower) const
    {
        return m_steps[step].place.gpu != m_steps[follower].place.gpu;
    }

    /// Say of the first step that could be next in its threadblock what it waits for in vain.
    [[noreturn]] void FailDeadlock(const std::vector<uint32_t>& nAwaited) const
    {
        uint32_t first = 0;
        while (nAwaited[first] == 0)
        {
            ++first;
        }
        const Step& step = m_steps[first];
        if (step.dependency != NONE && nAwaited[step.dependency] > 0)
        {
            Fail(step.place,
                 "deadlock: waits for ",
                 Describe(m_steps[step.dependency].place),
                 ", which never runs");
        }
        Fail(step.place,
             "deadlock: waits for what ",
             Describe(m_steps[m_messages[step.messageIn].sender].place),
             " sends, which never runs");
    }

    /// Call for each step that waits for a step or for its message.
    template <typename Call>
    void ForEachFollower(uint32_t index, Call call) const
    {
        const Step& step = m_steps[index];
        if (step.place.step + 1 < GetBlock(step).steps.size())
        {
            call(index + 1);
        }
        for (const uint32_t dependent : step.dependents)
        {
            call(dependent);
        }
        if (step.messageOut != NONE)
        {
            call(m_messages[step.messageOut].receiver);
        }
    }

    void RunReadySteps()
    {
        while (!m_ready.empty())
        {
            const uint32_t step = m_ready.back();
            m_ready.pop_back();
            CollectPast(step);
            RunStep(m_steps[step]);
            EndStep(step);
        }
    }

    /// Past for a step is what its threadblock saw, and what all saw that it waited for.
    void CollectPast(uint32_t index)
    {
        Step& step = m_steps[index];
        MscclMemory::Past& past = m_pasts[step.block];
        const auto join = [&past](const MscclMemory::Past& other) {
            for (std::size_t i = 0; i < past.size(); ++i)
            {
                past[i] = std::max(past[i], other[i]);
            }
        };
        if (step.dependency != NONE)
        {
            Step& other = m_steps[step.dependency];
            join(other.past);
            if (--other.nDependentsLeft == 0)
            {
                other.past = {};
            }
        }
        if (step.messageIn != NONE)
        {
            join(m_messages[step.messageIn].past);
            m_messages[step.messageIn].past = {};
        }
        m_memory.Begin(step.place, past);
    }

    void RunStep(const Step& step)
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
            MscclSum sum =
                what.type->receives ? m_messages[step.messageIn].sums[i] : m_memory.Take(source);
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

    void Send(const Step& step, MscclSum sum, uint32_t index)
    {
        Message& message = m_messages[step.messageOut];
        message.sums.push_back(std::move(sum));
        message.state.push_back(Crossing::WAITING);
        message.past = m_pasts[step.block];
        m_waiting.push_back({step.messageOut, index});
        m_unsent[GetSlot(step, index)].push_back({step.messageOut, index});
    }

    /// @return the slot that a send empties or a receive fills
    std::size_t GetSlot(const Step& step, uint32_t index) const
    {
        MscclSlot slot = step.what->type->writes ? step.what->target : step.what->source;
        slot.offset += index;
        return m_memory.GetIndex(step.place.gpu, slot);
    }

    void EndStep(uint32_t index)
    {
        Step& step = m_steps[index];
        step.isDone = true;
        if (step.nDependentsLeft > 0)
        {
            step.past = m_pasts[step.block];
        }
        if (step.place.step + 1 < GetBlock(step).steps.size())
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
        if (--m_steps[step].nAwaited == 0)
        {
            m_ready.push_back(step);
        }
    }

    /// Messages of the earliest round cross first, then those with the longest chain behind them.
    void RunRound()
    {
        std::stable_sort(m_waiting.begin(), m_waiting.end(), [&](const Piece& x, const Piece& y) {
            const Step& a = m_steps[m_messages[x.message].sender];
            const Step& b = m_steps[m_messages[y.message].sender];
            return std::make_tuple(GetRound(x), b.nFollowing, a.nBefore) <
                   std::make_tuple(GetRound(y), a.nFollowing, b.nBefore);
        });
        // What has come late does not hold up the rounds that the program names.
        m_dueRound = std::max(m_dueRound, GetRound(m_waiting.front()));
        if (!m_hasRounds || !ChooseTogether(m_dueRound))
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
        return m_steps[m_messages[piece.message].sender].what->round.value_or(0);
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
                if (GetState(piece) == Crossing::WAITING && CanArrive(piece))
                {
                    Choose(piece);
                }
            }
        } while (m_chosen.size() > nBefore);
    }

    void Choose(const Piece& piece)
    {
        const Message& message = m_messages[piece.message];
        const Step& sender = m_steps[message.sender];
        const NodeId target = m_steps[message.receiver].place.gpu;
        Path path{sender.place.gpu};
        path.insert(path.end(), sender.what->via.begin(), sender.what->via.end());
        path.push_back(target);
        if (!sender.what->round || !m_router.Occupy(path))
        {
            path = m_router.Occupy(sender.place.gpu, target);
        }
        if (!path.empty())
        {
            GetState(piece) = Crossing::CHOSEN;
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
                GetState(piece) = Crossing::CHOSEN;
            }
        }
        while (DropWhatCannotArrive() || m_chosen.empty())
        {
            m_router.BeginRound();
            m_chosen.clear();
            for (const Piece& piece : m_waiting)
            {
                if (GetState(piece) == Crossing::CHOSEN)
                {
                    GetState(piece) = Crossing::WAITING;
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
                if (GetState(piece) == Crossing::CHOSEN && !CanArrive(piece))
                {
                    GetState(piece) = Crossing::WAITING;
                    isStable = false;
                    hasDropped = true;
                }
            }
        }
        return hasDropped;
    }

    Crossing& GetState(const Piece& piece)
    {
        return m_messages[piece.message].state[piece.index];
    }

    /// @return whether the receive can run at the end of this round, as far as is chosen yet
    bool CanArrive(const Piece& piece)
    {
        const uint32_t receiver = m_messages[piece.message].receiver;
        const Step& step = m_steps[receiver];
        if ((step.place.step > 0 && !IsDoneAfterRound(m_steps[receiver - 1])) ||
            (step.dependency != NONE && !IsDoneAfterRound(m_steps[step.dependency])))
        {
            return false;
        }
        if (step.what->type->writes && step.what->target.buffer == MscclBuffer::SCRATCH)
        {
            return true; // Where there is scratch, workloads name what they move.
        }
        auto& unsent = m_unsent[GetSlot(step, piece.index)];
        unsent.erase(std::remove_if(
                         unsent.begin(),
                         unsent.end(),
                         [&](const Piece& other) { return GetState(other) == Crossing::CROSSED; }),
                     unsent.end());
        return std::all_of(unsent.begin(), unsent.end(), [&](const Piece& other) {
            return GetState(other) == Crossing::CHOSEN;
        });
    }

    bool IsDoneAfterRound(const Step& step) const
    {
        if (step.isDone || step.messageIn == NONE)
        {
            return step.isDone;
        }
        const auto& state = m_messages[step.messageIn].state;
        return state.size() == step.what->count &&
               std::none_of(state.begin(), state.end(), [](Crossing crossing) {
                   return crossing == Crossing::WAITING;
               });
    }

    void EndRound()
    {
        for (const RoutedPiece& routed : m_chosen)
        {
            GetState(routed.piece) = Crossing::CROSSED;
        }
        m_waiting.erase(std::remove_if(m_waiting.begin(),
                                       m_waiting.end(),
                                       [&](const Piece& piece) {
                                           return GetState(piece) == Crossing::CROSSED;
                                       }),
                        m_waiting.end());
        std::set<uint32_t> arrived;
        for (const RoutedPiece& routed : m_chosen)
        {
            const auto& state = m_messages[routed.piece.message].state;
            const uint32_t receiver = m_messages[routed.piece.message].receiver;
            if (state.size() == m_steps[receiver].what->count &&
                std::all_of(state.begin(),
                            state.end(),
                            [](Crossing crossing) { return crossing == Crossing::CROSSED; }) &&
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
        const Message& message = m_messages[m_waiting.front().message];
        Fail(m_steps[message.sender].place,
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
                const MscclSum& sum = m_messages[routed.piece.message].sums[routed.piece.index];
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

    const MscclProgram& m_program;
    const Topology& m_topology;
    std::string m_source;                               //!< where the program comes from
    MscclMemory m_memory;                               //!< what the GPUs hold
    RoundRouter m_router;                               //!< finds paths
    std::vector<Step> m_steps;                          //!< all steps, a threadblock after another
    std::vector<MscclMemory::Past> m_pasts;             //!< by threadblock: what it has seen
    std::vector<Message> m_messages;                    //!< all messages
    std::vector<uint32_t> m_ready;                      //!< steps that can run now
    std::vector<Piece> m_waiting;                       //!< what has been sent and not crossed
    std::map<std::size_t, std::vector<Piece>> m_unsent; //!< by slot: what waits and came from there
    bool m_hasRounds{false};                            //!< the program says when it sends
    uint32_t m_dueRound{0};                             //!< the round of the program to run next
    std::vector<RoutedPiece> m_chosen;                  //!< what crosses in this round
    std::vector<std::vector<RoutedPiece>> m_rounds;     //!< what crossed in each round
};

template <typename Call>
void
ForEachStep(MscclProgram& program, Call call)
{
    for (MscclGpu& gpu : program.gpus)
    {
        for (MscclThreadBlock& block : gpu.blocks)
        {
            std::for_each(block.steps.begin(), block.steps.end(), call);
        }
    }
}

bool
HasRounds(MscclProgram& program)
{
    bool hasRounds = false;
    ForEachStep(program, [&](const MscclStep& step) { hasRounds |= step.round.has_value(); });
    return hasRounds;
}

void
ForgetRounds(MscclProgram& program)
{
    ForEachStep(program, [](MscclStep& step) { step.round.reset(); });
}

} // namespace

ScheduleFile
ReadMsccl(std::istream& in, const Topology& topology, const std::string& source)
{
    MscclProgram program = ReadMscclProgram(in, source);
    if (program.gpus.size() != topology.GetNServers())
    {
        FailInput("MSCCL file ",
                  source,
                  ": ",
                  program.gpus.size(),
                  " gpus, but ",
                  topology.GetName(),
                  " has ",
                  topology.GetNServers(),
                  " servers");
    }
    std::size_t nBlocks = 0;
    for (const MscclGpu& gpu : program.gpus)
    {
        nBlocks += gpu.blocks.size();
    }
    if (nBlocks > MOST_BLOCKS)
    {
        FailInput("MSCCL file ", source, ": ", nBlocks, " tbs, expected at most ", MOST_BLOCKS);
    }
    const std::string name = "MSCCL file " + source;
    if (HasRounds(program))
    {
        try
        {
            return {topology, MscclRun(program, topology, name).Run()};
        }
        catch (const InputError&)
        {
            ForgetRounds(program); // They may be wrong for this network, and the rest is not.
        }
    }
    return {topology, MscclRun(program, topology, name).Run()};
}

} // namespace ns3::allreduce
