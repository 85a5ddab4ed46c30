/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_APPLICATION_H
#define ALLREDUCE_APPLICATION_H

#include "ns3/allreduce-workload.h"
#include "ns3/application.h"
#include "ns3/nstime.h"
#include "ns3/traced-callback.h"

#include <cstdint>

namespace ns3::allreduce
{

class AllReduceSession;

/// @ingroup allreduce
/// A workload on the network.
struct AllReduceFlow
{
    ChunkId chunk{0};                        //!< the chunk that moves
    WorkloadKind kind{WorkloadKind::REDUCE}; //!< merged or copied at the target
    NodeId source{0};                        //!< the sender
    NodeId target{0};                        //!< the receiver
    uint64_t bytes{0};                       //!< how much it carries
    Time begin;                              //!< when it began
    Time duration;                           //!< how long it took; 0 while it has not finished
    uint32_t iteration{0};                   //!< the AllReduce that it is part of, from 0
    uint32_t round{0};                       //!< the round that it was planned for, from 0
    uint32_t position{0};                    //!< its place in that round
};

/**
 * @ingroup allreduce
 *
 * @brief A server's part in an AllReduce.
 *
 * The session begins when the applications of all servers have started, and fails if one stops
 * before the end. What a server does can be watched here, what happens between servers at the
 * session.
 */
class AllReduceApplication : public Application
{
  public:
    /**
     * Signature of the trace sources FlowStarted, FlowFinished and FlowAborted.
     *
     * @param flow the flow
     */
    typedef void (*FlowTracedCallback)(const AllReduceFlow& flow);

    /**
     * Signature of the trace source ChunkReduced.
     *
     * @param chunk the chunk
     */
    typedef void (*ChunkTracedCallback)(ChunkId chunk);

    /// @return the type
    static TypeId GetTypeId();

    AllReduceApplication();
    ~AllReduceApplication() override;

    /**
     * Make the application part of a session.
     *
     * @param session the session
     * @param server which server of its network this is
     */
    void SetSession(Ptr<AllReduceSession> session, NodeId server);

    /// @return the session
    Ptr<AllReduceSession> GetSession() const;

    /// @return which server of the network this is
    NodeId GetServer() const;

    /// @return bytes that this server has sent in flows that have finished
    uint64_t GetBytesSent() const;

    /// @param flow a flow that begins here
    void NotifyStarted(const AllReduceFlow& flow);

    /// @param flow a flow from here that has finished
    void NotifySent(const AllReduceFlow& flow);

    /// @param flow a flow that has finished here
    void NotifyReceived(const AllReduceFlow& flow);

    /// @param flow a flow from here that was aborted, and how long it had lasted
    void NotifyAborted(const AllReduceFlow& flow);

    /// @param chunk a chunk of which all contributions have been merged at this server, its root
    void NotifyReduced(ChunkId chunk);

    /// @param duration how long it took until this server had all sums
    void NotifyDone(Time duration);

  protected:
    void DoDispose() override;

  private:
    void StartApplication() override;
    void StopApplication() override;

    Ptr<AllReduceSession> m_session;                     //!< what this is part of
    NodeId m_server{0};                                  //!< which server this is
    uint64_t m_bytesSent{0};                             //!< see GetBytesSent
    TracedCallback<const AllReduceFlow&> m_flowStarted;  //!< a flow begins here
    TracedCallback<const AllReduceFlow&> m_flowFinished; //!< a flow has arrived here
    TracedCallback<const AllReduceFlow&> m_flowAborted;  //!< a flow from here was aborted
    TracedCallback<ChunkId> m_chunkReduced;              //!< a chunk's sum is final here
    TracedCallback<Time> m_done;                         //!< this server has all sums
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_APPLICATION_H */
