/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNING_ENVIRONMENT_H
#define ALLREDUCE_PLANNING_ENVIRONMENT_H

#include "policy-features.h"
#include "port-neighborhoods.h"

#include "ns3/allreduce-workload.h"
#include "ns3/bit-matrix.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A fixed rule for when trees of a staggered broadcast begin: some at once, the others evenly over
/// time; those of wide roots perhaps all together at some time.
struct Stagger
{
    float atOnce;      //!< share of the trees that begin in the first round
    float rate;        //!< share of the trees that begin until the target is reached, beyond these
    float wideFrom{0}; //!< if not 0: when trees of wide roots begin, against the target; the shares
                       //!< are then of the other trees
};

/**
 * @ingroup allreduce
 *
 * @brief What the two policies may do: their masks and actions. Subclasses add what they see and
 * what becomes of it.
 *
 * A round goes like this: BeginRound; the upper policy sees every selectable flow-tree
 * (WriteTreeFeatures) and chooses some (SelectTrees); the lower policy picks one workload after
 * another (a port of GetOpenPorts, one of its senders, one of the items that it could send; Pick),
 * until no port is open; EndRound. Every choice that is offered is legal.
 *
 * An *item* is something that a workload can carry: a final chunk, or in plans that go forwards
 * also the partial sum of a chunk. Items are bits; those of final chunks are the chunks' numbers,
 * those of partial sums begin with the next word.
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

    virtual ~PlanningEnvironment() = default;

    /// @return how many transfers are left
    virtual uint64_t GetNTransfersLeft() const = 0;
    /// @return how many rounds the plan takes at least, from what each server misses
    virtual uint32_t GetRoundsNeeded() const = 0;
    /// @return the rounds begun
    uint32_t GetRound() const;
    /// @return the number of in-ports
    uint32_t GetNPorts() const;

    /// Begin a round: what has arrived can be sent on; all trees are selected.
    void BeginRound();

    /// @return the trees that the upper policy may select or not
    const std::vector<ChunkId>& GetSelectableTrees() const;

    /**
     * @param [out] rows a row for each selectable tree
     */
    virtual void WriteTreeFeatures(std::vector<float>& rows) const = 0;

    /**
     * @param tree index in GetSelectableTrees
     * @param stagger a rule
     * @return whether the rule selects the tree now
     */
    virtual bool IsDue(uint32_t tree, const Stagger& stagger) const
    {
        return true;
    }

    /**
     * Work on some trees only.
     *
     * @param selected by index in GetSelectableTrees
     */
    void SelectTrees(const std::vector<bool>& selected);

    /**
     * Nothing is left to pick: offer what has been held back until now.
     *
     * @return whether there is anything to pick
     */
    virtual bool OfferMore() = 0;

    /// @return whether a round may pass in which nothing is sent, because more comes later
    virtual bool MayWait() const
    {
        return false;
    }

    /// @return the features of the state for the critic; call after SelectTrees
    virtual std::vector<float> MakeValueFeatures() const = 0;

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
    virtual void WriteSenderFeatures(uint32_t port, std::vector<float>& rows) const = 0;

    /**
     * @param port an open port
     * @param sender one of its senders
     * @param most if there are more items, only so many of the rarest
     * @param [out] items what the sender could send, ascending
     */
    void FindItems(uint32_t port,
                   const Sender& sender,
                   uint32_t most,
                   std::vector<uint32_t>& items) const;

    /**
     * @param port an open port
     * @param sender one of its senders
     * @param items what FindItems found
     * @param [out] rows a row for each of the items
     */
    virtual void WriteItemFeatures(uint32_t port,
                                   const Sender& sender,
                                   const std::vector<uint32_t>& items,
                                   std::vector<float>& rows) const = 0;

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

    /**
     * Send an item along a path of one's own choice.
     *
     * @param port an open port
     * @param item one of the items of the server that the path begins with
     * @param path over free links, ending at the port
     * @param [out] round the workload is added to it
     */
    void PickAlong(uint32_t port, uint32_t item, const Path& path, WorkloadList& round);

    /**
     * @param path a path to a server
     * @return the port that it ends at, or GetNPorts()
     */
    uint32_t FindPort(const Path& path) const;

    /**
     * @param workload a workload
     * @return the item that it carries
     */
    uint32_t GetItem(const Workload& workload) const;

    /**
     * By selectable tree: how many idle ports the tree could have served, had it been selected.
     * A port that several could have served is shared among them. Call before EndRound.
     *
     * @return the shares
     */
    std::vector<float> FindMissedByTree() const;

    /// End the round. @return what became of it
    virtual RoundOutcome EndRound() = 0;

  protected:
    /// What a port could receive.
    struct PortOptions
    {
        std::vector<Sender> senders;             //!< nearest first
        std::vector<DirectedLinkId> towards;     //!< by switch: link towards the receiver
        std::vector<DirectedLinkId> switchLinks; //!< links between switches in the search tree
        uint32_t nItems{0};                      //!< items that some sender has
        uint32_t rarest{0};                      //!< rarity of the rarest of them
        uint32_t leastDistance{0};               //!< of a sender
    };

    /// How hard it is to serve a port.
    struct PortCompetition
    {
        uint32_t fewest;     //!< ports that compete for a sender, at least
        float meanShare;     //!< mean of one over the ports that compete for a sender
        uint32_t nNearest;   //!< senders at the least distance
        uint32_t nElsewhere; //!< options at the server's other ports
    };

    /// How contended the way from a sender to a port is.
    struct WayPressure
    {
        float contention{0}; //!< sum of one over the free links at the switches on the way
        float largest{0};    //!< largest demand for a link on the way
        float sum{0};        //!< sum of the demands
    };

    /**
     * @param topology the network; must outlive the environment
     * @param capacity by directed link: unit flows a round; 0 is down
     * @param nChunks number of chunks
     * @param mode says what features there are and whether partial sums are items
     */
    PlanningEnvironment(const Topology& topology,
                        std::vector<uint32_t> capacity,
                        uint32_t nChunks,
                        PlanMode mode);

    /// Bring masks, counts and incomplete trees up to date at the beginning of a round.
    virtual void TakeStock() = 0;

    /**
     * Offer some items of some trees, and find out who could send them to whom.
     *
     * @param isLimited only those of the trees that were selected
     * @param firstItem only this item and those after it
     * @return whether there is anything to pick
     */
    bool Offer(bool isLimited, uint32_t firstItem);

    /// Offer what the round begins with. @return whether there is anything to pick
    virtual bool OfferFirst() = 0;

    /**
     * @param server a server
     * @return whether it can take anything at all
     */
    virtual bool IsReceiving(NodeId server) const = 0;

    /**
     * @param sender a server
     * @param receiver another
     * @return bits of the items that the one may send to the other if it has them
     */
    virtual const std::vector<uint64_t>& GetOffered(NodeId sender, NodeId receiver) const
    {
        return m_active;
    }

    /**
     * A workload was picked: change masks and counts.
     *
     * @param item what it carries
     * @param path its path
     * @param [out] round gets the workload
     */
    virtual void Apply(uint32_t item, const Path& path, WorkloadList& round) = 0;

    /**
     * @param port an open port
     * @param [out] row its features
     */
    virtual void WritePortFeatures(uint32_t port, float* row) const = 0;

    /// @return the item that is the partial sum of a chunk @param chunk the chunk
    uint32_t GetPartialItem(ChunkId chunk) const
    {
        return m_planeBits + chunk;
    }

    /// @return whether an item is a partial sum @param item the item
    bool IsPartialItem(uint32_t item) const
    {
        return item >= m_planeBits;
    }

    /// @return the chunk that an item is of @param item the item
    ChunkId GetChunk(uint32_t item) const
    {
        return item % m_planeBits;
    }

    /// @return whether a server wants anything more @param server the server
    bool NeedsMore(NodeId server) const;
    /// @return its slack, as a feature @param server a server
    float GetSlack(NodeId server) const;
    /// @return out-ports that are still free @param server a server
    uint32_t CountFreeOut(NodeId server) const;
    /// @return how hard it is to serve a port @param port the port
    PortCompetition FindCompetition(uint32_t port) const;
    /// @return how contended a way is @param port where it ends @param sender where it begins
    WayPressure ExploreWay(uint32_t port, const Sender& sender) const;

    const Topology& m_topology;             //!< the network
    const std::vector<uint32_t> m_capacity; //!< by directed link
    const PortNeighborhoods m_around;       //!< the network as ports see it
    const uint32_t m_nServers;              //!< number of servers
    const uint32_t m_nChunks;               //!< number of chunks
    const uint32_t m_planeBits;             //!< items of one kind, rounded up to words
    uint32_t m_totalInCapacity{0};          //!< of all servers

    BitMatrix m_sendable;               //!< [server][item]: what it can send
    BitMatrix m_refused;                //!< [server][item]: what it does not take
    std::vector<uint32_t> m_rarity;     //!< by item: the less the more it should be sent
    std::vector<NodeId> m_sendingLess;  //!< servers that the last pick left with less to send
    std::vector<uint32_t> m_inNeed;     //!< by server: workloads it must yet receive, at least
    std::vector<ChunkId> m_selectable;  //!< trees that the upper policy may select or not
    std::vector<bool> m_isSelected;     //!< by chunk: in the last round that asked
    std::vector<uint64_t> m_active;     //!< bits of the items that are offered
    std::vector<uint64_t> m_unique;     //!< of these, the items that only one server has
    std::vector<uint32_t> m_free;       //!< by directed link: workloads that it still takes
    std::vector<uint32_t> m_nOpen;      //!< by server: workloads that it can still receive
    std::vector<int64_t> m_lostLater;   //!< by server: what it cannot receive in later rounds
    uint32_t m_round{0};                //!< rounds begun
    uint32_t m_target{0};               //!< rounds that the plan should take
    std::vector<PortOptions> m_options; //!< by port
    std::vector<uint32_t> m_nCompeting; //!< by directed link: ports that could use it to be sent to
    std::vector<bool> m_isOpen;         //!< by port
    std::vector<uint32_t> m_openPorts;  //!< ascending

  private:
    void FindUnique();
    bool SearchAll();
    void SearchPort(uint32_t port);
    void SearchPortsOf(NodeId server);
    void SearchSwitches(uint32_t port);
    void ForgetOptions(uint32_t port);
    void AddSender(uint32_t port, NodeId server, uint32_t distance, DirectedLinkId out);
    void UpdateFeatures(uint32_t port);
    void TracePath(uint32_t port, const Sender& sender);
    uint32_t Commit(uint32_t port, uint32_t item, WorkloadList& round);
    void UseLinks();
    void DropSender(uint32_t port, DirectedLinkId out);
    void DropWhereUseless(NodeId sender);
    void MarkChanged(uint32_t port);
    void RebuildOpenPorts();
    bool CanSendSomething(NodeId sender, NodeId receiver) const;
    void FindReachableUnselected(const InPort& port, std::vector<uint64_t>& items) const;

    const std::size_t m_nPortFeatures;               //!< features of a port
    std::vector<std::vector<uint32_t>> m_portsOfOut; //!< by directed link: ports it is an option of
    std::vector<uint32_t> m_demand; //!< by directed link between switches: ports that count on it
    std::vector<float> m_portFeatures;       //!< by port
    std::vector<uint32_t> m_changed;         //!< ports
    std::vector<bool> m_isChanged;           //!< by port
    uint32_t m_search{0};                    //!< number of the present search
    std::vector<uint32_t> m_reachedIn;       //!< by node: the last search that reached it
    std::vector<NodeId> m_queue;             //!< nodes in the order they were reached
    std::vector<uint64_t> m_found;           //!< bits of the items that senders have
    std::vector<DirectedLinkId> m_pathLinks; //!< of the present pick
    Path m_path;                             //!< of the present pick
};

/**
 * Call with every bit that is set.
 *
 * @param words the bits
 * @param nWords how many words
 * @param call gets the number of each bit
 */
template <typename Call>
void
ForEachBit(const uint64_t* words, std::size_t nWords, Call call)
{
    for (std::size_t i = 0; i < nWords; ++i)
    {
        for (uint64_t bits = words[i]; bits != 0; bits &= bits - 1)
        {
            call(i * BitMatrix::WORD_BITS + __builtin_ctzll(bits));
        }
    }
}

/// @return how many bits of x are not in y @param x bits @param y bits @param nWords of both
inline uint32_t
CountAndNot(const uint64_t* x, const uint64_t* y, std::size_t nWords)
{
    uint32_t count = 0;
    for (std::size_t i = 0; i < nWords; ++i)
    {
        count += __builtin_popcountll(x[i] & ~y[i]);
    }
    return count;
}

/// @return slack as a feature @param slack workloads that can be done beyond those that must
inline float
ScaleSlack(int64_t slack)
{
    return std::clamp<int64_t>(slack, -4, 8) / 8.0F;
}

/// @return part / whole, or 0 if there is no whole @param part the part @param whole the whole
inline float
Share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNING_ENVIRONMENT_H */
