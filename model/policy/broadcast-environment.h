/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BROADCAST_ENVIRONMENT_H
#define ALLREDUCE_BROADCAST_ENVIRONMENT_H

#include "port-neighborhoods.h"

#include "ns3/bit-matrix.h"
#include "ns3/broadcast-problem.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What the two policies see and may do while a broadcast is planned: their observations,
 * masks and actions.
 *
 * A round goes like this: BeginRound; the upper policy sees every incomplete flow-tree
 * (WriteTreeFeatures) and chooses some (SelectTrees); the lower policy picks one workload after
 * another (a port of GetOpenPorts, one of its senders, one of their chunks; Pick), until no port
 * is open; EndRound. Every choice that is offered is legal.
 */
class BroadcastEnvironment
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
        double meanRoundsNeeded; //!< the mean of what each server needs
        double idleShare;        //!< share of in-ports that idled though their server misses chunks
    };

    /**
     * @param problem who holds and wants what; must outlive the environment
     * @throws InputError if some server cannot be reached
     */
    explicit BroadcastEnvironment(const BroadcastProblem& problem);

    /// @return how many transfers are left
    uint64_t GetNTransfersLeft() const;
    /// @return the rounds begun
    uint32_t GetRound() const;
    /// @return how many rounds the plan takes at least, from what each server misses
    uint32_t GetRoundsNeeded() const;
    /// @return the number of in-ports
    uint32_t GetNPorts() const;

    /// Begin a round: what has arrived can be sent on; all trees are selected.
    void BeginRound();

    /// @return the chunks that some server misses
    const std::vector<ChunkId>& GetIncompleteTrees() const;

    /**
     * @param [out] rows a row for each incomplete tree
     */
    void WriteTreeFeatures(std::vector<float>& rows) const;

    /**
     * Work on some trees only. If none of them can be worked on, all stay selected.
     *
     * @param selected by index in GetIncompleteTrees
     */
    void SelectTrees(const std::vector<bool>& selected);

    /// @return the features of the state for the critic; call after SelectTrees
    std::vector<float> MakeValueFeatures() const;

    /// @return the ports that could receive something, ascending
    const std::vector<uint32_t>& GetOpenPorts() const;

    /**
     * @param port an open port
     * @return its features
     */
    const float* GetPortFeatures(uint32_t port) const;

    /// @return the ports whose features or openness the last step may have changed
    const std::vector<uint32_t>& GetChangedPorts() const;

    /**
     * @param port an open port
     * @return who could send to it
     */
    const std::vector<Sender>& GetSenders(uint32_t port) const;

    /**
     * @param port an open port
     * @param [out] rows a row for each of its senders
     */
    void WriteSenderFeatures(uint32_t port, std::vector<float>& rows) const;

    /**
     * @param port an open port
     * @param sender one of its senders
     * @param most if there are more chunks, only so many of the rarest
     * @param [out] chunks what the sender could send, ascending
     */
    void FindChunks(uint32_t port,
                    const Sender& sender,
                    uint32_t most,
                    std::vector<ChunkId>& chunks) const;

    /**
     * @param port an open port
     * @param sender one of its senders
     * @param chunks what FindChunks found
     * @param [out] rows a row for each of the chunks
     */
    void WriteChunkFeatures(uint32_t port,
                            const Sender& sender,
                            const std::vector<ChunkId>& chunks,
                            std::vector<float>& rows) const;

    /**
     * Send a chunk.
     *
     * @param port an open port
     * @param sender one of its senders
     * @param chunk one of the chunks
     * @param [out] path the path that was taken
     * @return how many ports lost their last option through this, though their server needs it
     */
    uint32_t Pick(uint32_t port, Sender sender, ChunkId chunk, Path& path);

    /**
     * By incomplete tree: how many idle ports the tree could have served, had it been selected.
     * A port that several could have served is shared among them. Call before EndRound.
     *
     * @return the shares
     */
    std::vector<float> FindMissedByTree() const;

    /// End the round. @return what became of it
    RoundOutcome EndRound();

  private:
    /// What a port could receive.
    struct PortOptions
    {
        std::vector<Sender> senders;             //!< nearest first
        std::vector<DirectedLinkId> towards;     //!< by switch: link towards the receiver
        std::vector<DirectedLinkId> switchLinks; //!< links between switches in the search tree
        uint32_t nChunks{0};                     //!< chunks that some sender has
        float rarest{0};                         //!< the rarest of them, against the mean
        uint32_t leastDistance{0};               //!< of a sender
    };

    void TakeStock();
    bool SearchAll();
    void SearchPort(uint32_t port);
    void SearchSwitches(uint32_t port);
    void ForgetOptions(uint32_t port);
    void AddSender(uint32_t port, NodeId server, uint32_t distance, DirectedLinkId out);
    void UpdateFeatures(uint32_t port);
    void TracePath(uint32_t port, const Sender& sender, Path& path);
    void UseLinks();
    void DropSender(uint32_t port, DirectedLinkId out);
    void MarkChanged(uint32_t port);
    void RebuildOpenPorts();
    bool NeedsMore(NodeId server) const;
    float GetSlack(NodeId server) const;
    uint32_t CountFreeOut(NodeId server) const;
    bool CanSendSomething(NodeId sender, NodeId receiver) const;
    uint32_t CountAndNot(const uint64_t* x, const uint64_t* y) const;
    void ExploreWay(uint32_t port, const Sender& sender, float* row) const;

    const BroadcastProblem& m_problem; //!< the network
    const Topology& m_topology;        //!< the network
    const PortNeighborhoods m_around;  //!< the network as ports see it
    const uint32_t m_nServers;         //!< number of servers
    const uint32_t m_nChunks;          //!< number of chunks

    BitMatrix m_held;                       //!< [server][chunk]: can be sent from the next round on
    BitMatrix m_heldBefore;                 //!< [server][chunk]: can be sent in this round
    BitMatrix m_satisfied;                  //!< [server][chunk]: held, coming or not wanted
    BitMatrix m_holders;                    //!< [chunk][server]: the same, the other way round
    BitMatrix m_covered;                    //!< [chunk][server]: near a holder
    BitMatrix m_initial;                    //!< [server][chunk]: held from the start
    std::vector<uint32_t> m_nHolders;       //!< by chunk
    std::vector<uint32_t> m_nHoldersBefore; //!< by chunk, at the beginning of the round
    std::vector<uint32_t> m_nMissing;       //!< by server
    uint64_t m_nTransfersLeft{0};           //!< sum of m_nMissing
    uint64_t m_nTransfers{0};               //!< the same at the start
    uint32_t m_totalInCapacity{0};          //!< of all servers

    uint32_t m_round{0};               //!< rounds begun
    uint32_t m_target{0};              //!< rounds that the plan should take
    uint32_t m_firstTarget{0};         //!< the same at the start
    double m_meanHolders{1};           //!< at the beginning of the round
    std::vector<ChunkId> m_incomplete; //!< chunks that some server misses
    std::vector<uint64_t> m_active;    //!< bits of the selected chunks
    std::vector<uint32_t> m_free;      //!< by directed link: workloads that it still takes
    std::vector<uint32_t> m_nOpen;     //!< by server: workloads that it can still receive

    std::vector<PortOptions> m_options;              //!< by port
    std::vector<std::vector<uint32_t>> m_portsOfOut; //!< by directed link: ports it is an option of
    std::vector<uint32_t> m_nCompeting; //!< by directed link: ports that could use it to be sent to
    std::vector<uint32_t> m_demand; //!< by directed link between switches: ports that count on it
    std::vector<float> m_portFeatures; //!< by port
    std::vector<bool> m_isOpen;        //!< by port
    std::vector<uint32_t> m_openPorts; //!< ascending
    std::vector<uint32_t> m_changed;   //!< ports
    std::vector<bool> m_isChanged;     //!< by port

    uint32_t m_search{0};                    //!< number of the present search
    std::vector<uint32_t> m_reachedIn;       //!< by node: the last search that reached it
    std::vector<NodeId> m_queue;             //!< nodes in the order they were reached
    std::vector<uint64_t> m_found;           //!< bits of the chunks that senders have
    std::vector<DirectedLinkId> m_pathLinks; //!< of the present pick
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BROADCAST_ENVIRONMENT_H */
