/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COLLECTIVE_PROGRESS_H
#define ALLREDUCE_COLLECTIVE_PROGRESS_H

#include "allreduce-data.h"

#include "ns3/allreduce-state.h"
#include "ns3/contribution-ledger.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief How far a collective on the network has come: by the rules, for proofs and, if that is
 * asked for, in real numbers.
 *
 * The state says what is legal, the ledger what is proven, and the data what servers really hold.
 * All that happens to a workload happens to the three of them here, so that they agree.
 */
class CollectiveProgress
{
  public:
    /// A workload that has begun and not ended.
    struct Transfer
    {
        AllReduceState::FlightId id;      //!< its name at the state
        uint64_t entry;                   //!< its name at the ledger
        AllReduceData::Contents contents; //!< what it carries, if that matters
    };

    /// What the end of a workload brought about.
    struct Outcome
    {
        bool isReduced;    //!< its target, a root, has all contributions to the chunk
        bool isServerDone; //!< its target has all sums that it is to receive
    };

    /**
     * Begin.
     *
     * @param topology the network
     * @param collective what is to be summed where
     * @param areLinksShared whether more workloads may be on a link than it carries at once
     */
    CollectiveProgress(const Topology& topology, const Collective& collective, bool areLinksShared);

    /**
     * Let workloads carry real numbers; to be called before anything begins.
     *
     * @param chunkBytes by chunk: its size
     */
    void CarryData(std::vector<uint64_t> chunkBytes);

    /// @return how far it has come by the rules
    const AllReduceState& GetState() const;

    /// @return the same, for proofs
    const ContributionLedger& GetLedger() const;

    /// @param link a link that breaks or is mended @param isUp whether it can be used
    void SetLinkUp(LinkId link, bool isUp);

    /// @return what is under way with that @param workload a workload that begins
    Transfer Begin(const Workload& workload);

    /// @return what it carries, which its sender no longer has @param workload has begun
    AllReduceData::Contents TakeData(const Workload& workload);

    /**
     * A workload is complete.
     *
     * @param transfer what Begin returned
     * @param workload the workload
     * @param data what has arrived, if that matters
     * @return what that brought about
     */
    Outcome Complete(const Transfer& transfer, const Workload& workload, const Bytes& data);

    /**
     * A workload that another rank simulates is complete.
     *
     * @param transfer what Begin returned
     */
    void CompleteElsewhere(const Transfer& transfer);

    /**
     * A workload is lost; its sender has its data again.
     *
     * @param transfer what Begin returned
     * @param workload the workload
     */
    void Abort(Transfer transfer, const Workload& workload);

    /// A round has ended.
    void EndRound();

    /// @return the share of sums that receivers have, 0 to 1
    double GetShareDone() const;

    /// @return the first server that lacks a sum; the number of servers if there is none
    NodeId FindLacking() const;

    /**
     * @param isChecked says which servers to look at
     * @return what is wrong now that all is over; "" if nothing is
     */
    std::string FindWrong(const std::function<bool(NodeId)>& isChecked) const;

  private:
    void CountLacking();
    bool CountSum(NodeId server, ChunkId chunk);

    AllReduceState m_state;              //!< see GetState
    ContributionLedger m_ledger;         //!< see GetLedger
    std::optional<AllReduceData> m_data; //!< what servers really hold
    std::vector<uint32_t> m_nLacking;    //!< by server: sums that it is to receive
    uint64_t m_nSums;                    //!< sums that all were to receive
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_COLLECTIVE_PROGRESS_H */
