/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNING_ENVIRONMENT_H
#define ALLREDUCE_PLANNING_ENVIRONMENT_H

#include "offered-items.h"
#include "planning-state.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A server that could send to a port.
struct PortSender
{
    NodeId server;      //!< has something that the receiver needs
    uint32_t distance;  //!< links between it and the receiver
    DirectedLinkId out; //!< the link that it would send on
};

/// @ingroup allreduce
/// What a port could receive.
struct PortOptions
{
    std::vector<PortSender> senders;         //!< nearest first
    std::vector<DirectedLinkId> towards;     //!< by switch: link towards the receiver
    std::vector<DirectedLinkId> switchLinks; //!< links between switches in the search tree
    uint32_t nFinals{0};                     //!< final sums that some sender has
    uint32_t nPartials{0};                   //!< partial sums that some sender has
    uint32_t rarest{0};                      //!< holders of the rarest final sum
    uint32_t leastDistance{0};               //!< of a sender
};

/**
 * @ingroup allreduce
 * @brief What the two policies act on: a state, the options that it leaves, and the steps of a
 * round.
 *
 * A round goes like this: BeginRound; the upper policy selects some of the flow-trees of
 * GetSelectableTrees (SelectTrees); the lower policy picks one workload after another (a port of
 * GetOpenPorts, one of its senders, one of the items that it could send; Pick), until no port is
 * open and OfferMore has nothing more to offer; EndRound. Every choice that is offered is legal.
 *
 * A port is *open* if some server could send to it over free links. A search from each port finds
 * these servers; after a pick only those ports are searched again whose options it changed.
 */
class PlanningEnvironment
{
  public:
    /// When a port is searched again, after a link between switches on its paths was used up.
    enum class Renewal : uint8_t
    {
        AT_ONCE,    //!< what is offered is all that there is
        WHEN_ASKED, //!< by Renew: other ports have fewer options than they seem to, which is quick
    };

    /// @param problem what to plan; must outlive the environment and its copies
    explicit PlanningEnvironment(const PlanningProblem& problem);

    /// @return how far the plan has come
    const PlanningState& GetState() const
    {
        return m_state;
    }

    /// @return what servers may send to each other
    const OfferedItems& GetOffered() const
    {
        return m_offered;
    }

    /// @return the trees that the upper policy may select or not
    const std::vector<ChunkId>& GetSelectableTrees() const
    {
        return m_offered.GetSelectableTrees();
    }

    /// @return the ports that could receive something, ascending
    const std::vector<uint32_t>& GetOpenPorts() const
    {
        return m_openPorts;
    }

    /// @return whether a port could receive something @param port the port
    bool IsOpen(uint32_t port) const
    {
        return m_isOpen[port];
    }

    /// @return the ports whose options or openness the last step may have changed
    const std::vector<uint32_t>& GetChangedPorts() const
    {
        return m_changed;
    }

    /// @return what a port could receive @param port the port
    const PortOptions& GetOptions(uint32_t port) const
    {
        return m_options[port];
    }

    /// @return who could send to a port @param port an open port
    const std::vector<PortSender>& GetSenders(uint32_t port) const
    {
        return m_options[port].senders;
    }

    /// @param port an open port @param sender one of its senders
    /// @param most if there are more items, only so many of the rarest
    /// @param [out] items what the sender could send, see OfferedItems
    void FindItems(uint32_t port,
                   const PortSender& sender,
                   uint32_t most,
                   std::vector<uint32_t>& items) const;

    /// @return how many ports have an option that begins with a link @param out a server's out-link
    uint32_t CountCompeting(DirectedLinkId out) const
    {
        return m_nCompeting[out];
    }

    /// @return how many ports have options over a link @param link between switches
    uint32_t CountDemand(DirectedLinkId link) const
    {
        return m_demand[link];
    }

    /// Begin a round: what has arrived can be sent on; all trees are selected.
    void BeginRound();

    /// Work on some trees before the others. @param selected by index in GetSelectableTrees
    void SelectTrees(const std::vector<bool>& selected);

    /// No port is open: offer what has been held back until now. @return whether a port is open
    bool OfferMore();

    /// @param renewal from now on; AT_ONCE if it was never set
    void SetRenewal(Renewal renewal)
    {
        m_renewal = renewal;
    }

    /// Search a port again, if its options are not what they seem to be.
    /// @param port an open port; afterwards it may not be open @return whether it was searched
    bool Renew(uint32_t port);

    /// Send an item.
    /// @param port an open port @param sender one of its senders @param item one of the items
    /// @param [out] workloads those of the round, to which this one is added
    /// @return how many ports lost their last option through this, though their server needs it
    uint32_t Pick(uint32_t port, PortSender sender, uint32_t item, WorkloadList& workloads);

    /// End the round. @return what it led to
    RoundOutcome EndRound()
    {
        return m_state.EndRound();
    }

  private:
    bool Offer(OfferPhase phase);
    void SearchPort(uint32_t port);
    void SearchSwitches(uint32_t port);
    void SearchPortsOf(NodeId server);
    void ClearPort(uint32_t port);
    void AddSender(uint32_t port, const PortSender& sender);
    void RemoveSender(uint32_t port, DirectedLinkId out);
    void RemoveLink(DirectedLinkId link);
    void RemoveUseless(NodeId sender);
    void MarkChanged(uint32_t port);
    void ForgetChanges();
    void UpdateOpen(uint32_t port);
    void UpdateList(uint32_t port);
    uint32_t UpdateOpenPorts();
    void FindPath(uint32_t port, const PortSender& sender);

    PlanningState m_state;
    OfferedItems m_offered;
    std::vector<PortOptions> m_options; //!< by port
    std::vector<bool> m_isOpen;         //!< by port
    std::vector<uint32_t> m_openPorts;  //!< ascending
    std::vector<uint32_t> m_changed;    //!< ports
    std::vector<bool> m_isChanged;      //!< by port
    Renewal m_renewal{Renewal::AT_ONCE};
    std::vector<bool> m_isOutdated; //!< by port: to be searched again

    std::vector<uint32_t> m_nCompeting; //!< by directed link, see CountCompeting
    std::vector<uint32_t> m_demand;
    std::vector<std::vector<uint32_t>> m_portsOfOut; //!< by directed link: ports it is an option of
    BitMatrix m_isPortOfOut; //!< [directed link][port]: is in m_portsOfOut, or was in this phase

    uint32_t m_search{0};                    //!< number of the present search
    std::vector<uint32_t> m_reachedIn;       //!< by node: the last search that reached it
    std::vector<NodeId> m_queue;             //!< nodes in the order they were reached
    std::vector<uint64_t> m_found;           //!< bits of the final sums that senders have
    std::vector<DirectedLinkId> m_pathLinks; //!< of the present pick
    Path m_path;                             //!< of the present pick
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNING_ENVIRONMENT_H */
