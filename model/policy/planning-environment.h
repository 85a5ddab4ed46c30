/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNING_ENVIRONMENT_H
#define ALLREDUCE_PLANNING_ENVIRONMENT_H

#include "chunk-spread.h"
#include "planning-problem.h"
#include "port-neighborhoods.h"
#include "reduce-trees.h"
#include "region-supply.h"

#include "ns3/allreduce-workload.h"
#include "ns3/bit-matrix.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The world of the two policies: the state, what may be done in it, and what became of it.
 *
 * A round goes like this: BeginRound; the upper policy selects some of the flow-trees of
 * GetSelectableTrees (SelectTrees); the lower policy picks one workload after another (a port of
 * GetOpenPorts, one of its senders, one of the items that it could send; Pick), until no port is
 * open and OfferMore has nothing more to offer; EndRound. Every choice that is offered is legal.
 *
 * An *item* is something that a workload can carry: a final chunk, or the partial sum of an open
 * one. The item of a final sum is the chunk's number, that of a partial sum is GetNChunks() more.
 *
 * What is offered comes in three turns, so that no port idles for the sake of a choice: the trees
 * that were selected, then all trees, then what partners allow (see PlanningProblem).
 */
class PlanningEnvironment
{
  public:
    /// A server that could send to a port.
    struct Sender
    {
        NodeId server;      //!< the server
        uint32_t distance;  //!< links between it and the receiver
        DirectedLinkId out; //!< the link that it would send on
    };

    /// What became of a round.
    struct RoundOutcome
    {
        uint32_t roundsNeeded;   //!< rounds in all, at least, after this one
        double meanRoundsNeeded; //!< the same, if all servers could share the work
        double idleShare;        //!< share of in-ports that idled though there was work for them
    };

    /// @param problem what to plan; must outlive the environment
    explicit PlanningEnvironment(const PlanningProblem& problem);

    /// @return how many transfers are left
    uint64_t GetNTransfersLeft() const;
    /// @return how many rounds the plan takes at least, from what each server misses
    uint32_t GetRoundsNeeded() const;
    /// @return the rounds begun
    uint32_t GetRound() const;

    /// @return the number of in-ports
    uint32_t GetNPorts() const
    {
        return m_around.ports.size();
    }

    /// @return a port @param port its index
    const InPort& GetPort(uint32_t port) const
    {
        return m_around.ports[port];
    }

    /// @return the number of chunks
    uint32_t GetNChunks() const;

    /// Begin a round: what has arrived can be sent on; all trees are selected.
    void BeginRound();

    /// @return the trees that the upper policy may select or not: those whose broadcast has not
    /// begun
    const std::vector<ChunkId>& GetSelectableTrees() const;

    /**
     * Work on some trees before the others.
     *
     * @param selected by index in GetSelectableTrees
     */
    void SelectTrees(const std::vector<bool>& selected);

    /**
     * A fixed rule in place of the upper policy: trees whose sums are due soon; if that is not
     * known, final trees and the open ones with the fewest partial sums left.
     *
     * @param [out] selected by index in GetSelectableTrees
     */
    void SelectByRule(std::vector<bool>& selected) const;

    /**
     * Nothing is left to pick: offer what has been held back until now.
     *
     * @return whether there is anything to pick
     */
    bool OfferMore();

    /// @return the ports that could receive something, ascending
    const std::vector<uint32_t>& GetOpenPorts() const;

    /// @return whether a port could receive something @param port the port
    bool IsOpen(uint32_t port) const;

    /// @return the ports whose options or openness the last step may have changed
    const std::vector<uint32_t>& GetChangedPorts() const;

    /**
     * @param port an open port
     * @return who could send to it
     */
    const std::vector<Sender>& GetSenders(uint32_t port) const;

    /**
     * @param port an open port
     * @param sender one of its senders
     * @param most if there are more items, only so many of the rarest
     * @param [out] items what the sender could send
     */
    void FindItems(uint32_t port,
                   const Sender& sender,
                   uint32_t most,
                   std::vector<uint32_t>& items) const;

    /**
     * Send an item.
     *
     * @param port an open port
     * @param sender one of its senders
     * @param item one of the items
     * @param [out] round the workload is added to it
     * @return how many ports lost their last option through this, though their server needs it
     */
    uint32_t Pick(uint32_t port, Sender sender, uint32_t item, WorkloadList& round);

    /// When the ways to a port are searched anew, after a link between switches on them was taken.
    enum class Renewal : uint8_t
    {
        AT_ONCE,    //!< what is offered is all that there is
        WHEN_ASKED, //!< by Renew: other ports have fewer options than they seem to, which is quick
    };

    /// @param renewal from now on; AT_ONCE if it was never set
    void SetRenewal(Renewal renewal);

    /**
     * Search a port anew, if its options are not what they seem to be.
     *
     * @param port an open port; afterwards it may be closed
     * @return whether it was searched
     */
    bool Renew(uint32_t port);

    /// End the round. @return what became of it
    RoundOutcome EndRound();

    /// A server that left the core of a chunk.
    using Departure = std::pair<NodeId, ChunkId>;

    /// @return who left the cores of final chunks that have no partner
    const std::vector<Departure>& GetDepartures() const;

  private:
    friend class PolicyView;

    /// What is offered at present.
    enum class Turn : uint8_t
    {
        SELECTED, //!< workloads of the trees that were selected
        ALL,      //!< all workloads
        LEAVING   //!< final sums for servers that then leave the core of the chunk's partner
    };

    /// What a port could receive.
    struct PortOptions
    {
        std::vector<Sender> senders;             //!< nearest first
        std::vector<DirectedLinkId> towards;     //!< by switch: link towards the receiver
        std::vector<DirectedLinkId> switchLinks; //!< links between switches in the search tree
        uint32_t nFinals{0};                     //!< final sums that some sender has
        uint32_t nPartials{0};                   //!< partial sums that some sender has
        uint32_t rarest{0};                      //!< holders of the rarest final sum
        uint32_t leastDistance{0};               //!< of a sender
    };

    void AddHolder(NodeId server, ChunkId chunk);
    void CountCoreChildren();
    void TakeChunk(ChunkId chunk);
    void UpdateMayLeave(NodeId server, ChunkId chunk);
    bool IsLoose(NodeId server, ChunkId chunk) const;
    void LeaveCore(NodeId server, ChunkId chunk);
    void FindSelectable();
    bool Offer(Turn turn);
    bool SearchAll();
    void SearchPort(uint32_t port);
    void SearchPortsOf(NodeId server);
    void SearchSwitches(uint32_t port);
    void ForgetOptions(uint32_t port);
    void AddSender(uint32_t port, NodeId server, uint32_t distance, DirectedLinkId out);
    bool CanSendSomething(NodeId sender, NodeId receiver) const;

    uint64_t GetOfferedFinals(NodeId sender, NodeId receiver, std::size_t word) const
    {
        return m_sendable.GetRow(sender)[word] & GetAcceptedFinals(receiver, word);
    }

    uint64_t GetAcceptedFinals(NodeId receiver, std::size_t word) const
    {
        return m_active[word] & (m_turn == Turn::LEAVING ? m_mayLeave.GetRow(receiver)[word]
                                                         : ~m_refused.GetRow(receiver)[word]);
    }

    uint32_t CountOfferedPartials(NodeId sender, NodeId receiver) const;
    bool IsReceiving(NodeId server) const;
    void KeepRarest(uint32_t port, uint32_t most, std::vector<uint32_t>& items) const;
    void UpdateOpen(uint32_t port);
    void TracePath(uint32_t port, const Sender& sender);
    void UseLinks();
    void DropSender(uint32_t port, DirectedLinkId out);
    void DropWhereUseless(NodeId sender);
    void MarkChanged(uint32_t port);
    void ForgetChanges();
    void RebuildOpenPorts();
    void ListOpenPort(uint32_t port);
    void SendPartial(NodeId sender, NodeId receiver, ChunkId chunk);
    void SendFinal(NodeId sender, NodeId receiver, ChunkId chunk);
    uint32_t CountRoundsToReceive(NodeId server) const;
    int64_t CountSlack(NodeId server) const;

    const PlanningProblem& m_problem; //!< what is planned
    const Topology& m_topology;       //!< the network
    const PortNeighborhoods m_around; //!< the network as ports see it
    const uint32_t m_nServers;        //!< number of servers
    const uint32_t m_nChunks;         //!< number of chunks
    uint32_t m_totalInCapacity{0};    //!< of all servers
    uint32_t m_widest{0};             //!< the largest in-capacity of a server

    ReduceTrees m_trees;            //!< what is left of the trees of open chunks
    ChunkSpread m_spread;           //!< who has, or is sent, which final sum
    RegionSupply m_regions;         //!< what comes into regions
    BitMatrix m_isInPart;           //!< [part][chunk]: somebody there has, or is sent, the sum
    BitMatrix m_held;               //!< [server][chunk]: can send the final sum from next round on
    BitMatrix m_sendable;           //!< [server][chunk]: can send the final sum now
    BitMatrix m_refused;            //!< [server][chunk]: has the final sum, or is sent it
    BitMatrix m_mayLeave;           //!< [server][chunk]: may yet leave the core of its partner
    BitMatrix m_isBound;            //!< [server][chunk]: has sent the sum, so it is in the core
    std::vector<uint32_t> m_inNeed; //!< by server: workloads it must yet receive
    uint64_t m_nTransfersLeft{0};   //!< sum of m_inNeed
    std::vector<bool> m_isSelected; //!< by chunk: in this round
    std::vector<uint64_t> m_active; //!< by chunk: bits of the chunks that are offered
    std::vector<ChunkId> m_selectable; //!< see GetSelectableTrees
    bool m_isAnyLeftOut{false};        //!< some tree is not selected
    bool m_canLeave{false};            //!< some servers may leave cores
    std::vector<uint16_t> m_nInCore;   //!< by chunk without partner and server: its children there
    std::vector<Departure> m_departures; //!< see GetDepartures
    Turn m_turn{Turn::SELECTED};         //!< what is offered

    std::vector<uint32_t> m_free;           //!< by directed link: workloads that it still takes
    std::vector<uint32_t> m_nOpen;          //!< by server: workloads that it can still receive
    uint32_t m_round{0};                    //!< rounds begun
    uint32_t m_target{0};                   //!< rounds that the plan should take
    uint32_t m_firstTarget{0};              //!< m_target at the start
    double m_meanHolders{1};                //!< at the beginning of the round
    std::vector<uint32_t> m_nHoldersBefore; //!< by chunk, at the beginning of the round
    std::vector<std::pair<NodeId, ChunkId>>
        m_arriving;                     //!< partial sums sent in this round, and by whom
    std::vector<ChunkId> m_isCompleted; //!< chunks that this round makes final

    std::vector<PortOptions> m_options; //!< by port
    std::vector<uint32_t> m_nCompeting; //!< by directed link: ports that could use it to be sent to
    std::vector<uint32_t> m_demand; //!< by directed link between switches: ports that count on it
    std::vector<std::vector<uint32_t>> m_portsOfOut; //!< by directed link: ports it is an option of
    BitMatrix m_isPortOfOut;    //!< [directed link][port]: is in m_portsOfOut, or was in this turn
    std::vector<bool> m_isOpen; //!< by port
    std::vector<uint32_t> m_openPorts;       //!< ascending
    Renewal m_renewal{Renewal::AT_ONCE};     //!< see SetRenewal
    std::vector<bool> m_isOutdated;          //!< by port: to be searched anew
    std::vector<uint32_t> m_changed;         //!< ports
    std::vector<bool> m_isChanged;           //!< by port
    uint32_t m_search{0};                    //!< number of the present search
    std::vector<uint32_t> m_reachedIn;       //!< by node: the last search that reached it
    std::vector<NodeId> m_queue;             //!< nodes in the order they were reached
    std::vector<uint64_t> m_found;           //!< bits of the final sums that senders have
    std::vector<DirectedLinkId> m_pathLinks; //!< of the present pick
    Path m_path;                             //!< of the present pick
    mutable std::vector<std::pair<uint64_t, uint32_t>> m_keys; //!< items by rarity
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNING_ENVIRONMENT_H */
