/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_EJECTION_SEARCH_H
#define ALLREDUCE_EJECTION_SEARCH_H

#include "delivery-plan.h"
#include "search-random.h"

#include "ns3/allreduce-topology.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Takes a round out of a plan, and finds other places for what was sent in it.
 *
 * Deliveries that have no place are *open*. One after another is put where the fewest others are in
 * the way, and these are open then, if they find no free place at once. Open deliveries leave the
 * trees below them where they are: whoever gets the sum later has to send it on in time. Deliveries
 * that are in nobody's way move about meanwhile. The plan is a round shorter when none is open.
 *
 * Here the time of a delivery counts from its half's beginning: down from the first round, up from
 * the last one back. So both halves are trees in which children come later than their parents, and
 * the last reduce comes before the first broadcast of a chunk if the times of any two deliveries
 * from the root, up and down, add up to the number of rounds or more.
 */
class EjectionSearch
{
  public:
    /**
     * @param topology the network
     * @param roots the root of each chunk, which must outlive this
     * @param paths the paths to choose from, which must outlive this
     * @param seed where chance comes from
     */
    EjectionSearch(const Topology& topology,
                   const std::vector<NodeId>& roots,
                   const DeliveryPaths& paths,
                   uint64_t seed);

    /**
     * Take rounds out of a plan, one after another.
     *
     * @param [in,out] plan becomes shorter or stays as it is
     * @param enough no fewer rounds are needed
     * @param effort how many places to look at
     */
    void Shorten(DeliveryPlan& plan, uint32_t enough, uint64_t effort);

  private:
    /// A delivery: its index, plus the number of all indices if it is one down.
    using Delivery = uint32_t;

    /// What was done to a delivery, to be undone.
    struct Change
    {
        Delivery delivery; //!< the delivery
        PathId path;       //!< that it had, or NO_PATH if it was open
        uint32_t time;     //!< that it had
    };

    /// Begin with a plan without its emptiest round. @param plan the plan
    void TakeOutRound(const DeliveryPlan& plan);
    /// Give all links room in all rounds. @param nRounds rounds
    void ClearSlots(uint32_t nRounds);
    /// @return the plan, when no delivery is open
    DeliveryPlan MakePlan() const;

    /// Serve one open delivery, or leave all as it was.
    void Step();
    /// Find another free place for any delivery.
    void MoveAbout();
    /// Place a delivery where nobody is in its way. @return whether there was such a place
    bool PlaceFreely(Delivery delivery);
    /// Place a delivery where the fewest are in its way, and eject these.
    /// @return whether there was any place
    bool PlaceByForce(Delivery delivery);
    /// Eject whoever is in the way. @param delivery that is open @param path its @param time its
    void ClearWay(Delivery delivery, PathId path, uint32_t time);
    /// @return how many links of a path are full at a time
    uint32_t CountFullLinks(PathId path, uint32_t half, uint32_t time) const;
    /// For each time, count the deliveries from a sender until then. @param [out] counts by time
    void CountChildren(Delivery sender, std::vector<uint32_t>& counts) const;

    /// @return the links over which a delivery is really sent
    PathTable::Links GetUsedLinks(PathId path, uint32_t half) const
    {
        return m_paths.GetLinks(half == DOWN ? path : Reverse(path));
    }

    /// Place an open delivery.
    void Place(Delivery delivery, PathId path, uint32_t time);
    /// Take a delivery away; it is open now.
    void Remove(Delivery delivery);
    /// Take back what was done since m_changes was empty.
    void Undo();
    /// Note whether a link has room in a round.
    void SetRoom(DirectedLinkId link, uint32_t round, bool hasRoom);
    /// @return the first time at which a path is free @param end none before this
    uint32_t FindTime(PathId path, uint32_t half, uint32_t earliest, uint32_t end) const;
    /// @return the time of the first delivery from this server, the number of rounds if none
    uint32_t GetFirstChild(Delivery sender) const;

    /// @return the half of a delivery
    uint32_t GetHalf(Delivery delivery) const
    {
        return delivery < m_nIndices ? UP : DOWN;
    }

    /// @return the same chunk's and server's delivery in the other half
    Delivery GetOther(Delivery delivery) const
    {
        return delivery < m_nIndices ? delivery + m_nIndices : delivery - m_nIndices;
    }

    /// @return the root's number in the tree of a delivery
    Delivery GetRoot(Delivery delivery) const
    {
        return delivery - delivery % m_nServers + m_roots[delivery % m_nIndices / m_nServers];
    }

    /// @return the number of who sends it @param path to it
    Delivery GetSender(Delivery delivery, PathId path) const
    {
        return delivery - delivery % m_nServers + m_paths.GetSource(path);
    }

    /// @return the round of a time, or the time of a round
    uint32_t GetRound(uint32_t half, uint32_t time) const
    {
        return half == DOWN ? time : m_nRounds - 1 - time;
    }

    const std::vector<NodeId>& m_roots; //!< by chunk
    const DeliveryPaths& m_paths;       //!< the paths to choose from
    const uint32_t m_nServers;          //!< number of servers
    const uint32_t m_nIndices;          //!< chunks times servers
    std::vector<uint32_t> m_capacities; //!< by directed link
    SearchRandom m_random;              //!< where chance comes from
    uint64_t m_effort{0};               //!< places looked at
    uint32_t m_nRounds{0};              //!< rounds hoped for

    std::vector<PathId> m_path;              //!< by delivery: NO_PATH if it is open
    std::vector<uint32_t> m_time;            //!< by delivery
    std::vector<Delivery> m_firstChild;      //!< by sender: one of those it sends
    std::vector<Delivery> m_nextSibling;     //!< by delivery: another one of its sender
    std::vector<Delivery> m_previousSibling; //!< by delivery: the one before
    std::vector<Delivery> m_open;            //!< those without a place
    std::vector<uint32_t> m_openAt;          //!< by delivery: where it is in m_open
    std::vector<Change> m_changes;           //!< to be undone

    uint32_t m_nWords{0};                        //!< words of bits for all rounds
    std::array<std::vector<uint64_t>, 2> m_room; //!< by half: by link and word: bits by time
    std::vector<uint32_t> m_firstSlot;           //!< by directed link: in m_slots
    std::vector<Delivery> m_slots;               //!< by directed link, round and lane
    std::vector<uint32_t> m_used;                //!< by directed link and round: lanes

    std::vector<uint32_t> m_nChildren;     //!< see CountChildren: of the delivery being placed
    std::vector<uint32_t> m_nRootChildren; //!< of the root in the other half
    std::vector<Delivery> m_ejected;       //!< by the last force
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_EJECTION_SEARCH_H */
