/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "paced-tcp-socket.h"

#include "ns3/data-rate.h"
#include "ns3/object-factory.h"
#include "ns3/rtt-estimator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-tx-buffer.h"

#include <string>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(PacedTcpSocket);

namespace
{

/// @return an object of the type that an attribute of a node's TCP names
template <class T>
Ptr<T>
MakeOfType(Ptr<TcpL4Protocol> tcp, const std::string& attribute)
{
    TypeIdValue type;
    tcp->GetAttribute(attribute, type);
    ObjectFactory factory;
    factory.SetTypeId(type.Get());
    return factory.Create<T>();
}

} // namespace

TypeId
PacedTcpSocket::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::PacedTcpSocket")
                            .SetParent<TcpSocketBase>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<PacedTcpSocket>();
    return tid;
}

Ptr<PacedTcpSocket>
PacedTcpSocket::Make(Ptr<Node> node)
{
    const auto tcp = node->GetObject<TcpL4Protocol>();
    const auto socket = CreateObject<PacedTcpSocket>();
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(MakeOfType<RttEstimator>(tcp, "RttEstimatorType"));
    socket->SetCongestionControlAlgorithm(MakeOfType<TcpCongestionOps>(tcp, "SocketType"));
    socket->SetRecoveryAlgorithm(MakeOfType<TcpRecoveryOps>(tcp, "RecoveryType"));
    tcp->AddSocket(socket);
    return socket;
}

void
PacedTcpSocket::SetPacingRate(uint64_t rateBps)
{
    // Delayed acknowledgements make round trips look long; only the given rate shall count.
    constexpr uint16_t MANY_PERCENT = 60000;
    m_tcb->m_pacing = true;
    m_tcb->m_paceInitialWindow = true;
    m_tcb->m_pacingSsRatio = MANY_PERCENT;
    m_tcb->m_pacingCaRatio = MANY_PERCENT;
    m_tcb->m_maxPacingRate = DataRate(rateBps);
    m_tcb->m_pacingRate = DataRate(rateBps);
}

uint32_t
PacedTcpSocket::GetNUnsent() const
{
    return m_txBuffer->SizeFromSequence(m_tcb->m_nextTxSequence);
}

uint32_t
PacedTcpSocket::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck)
{
    // ns-3's own rate, a window in a round trip, becomes 0 if it does not fit into 64 bits, as with
    // round trips of 0 ns.
    if (m_tcb->m_pacing && m_tcb->m_pacingRate.Get().GetBitRate() == 0)
    {
        m_tcb->m_pacingRate = m_tcb->m_maxPacingRate;
    }
    return TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
}

uint32_t
PacedTcpSocket::GetNNeverSent() const
{
    return m_txBuffer->SizeFromSequence(m_tcb->m_highTxMark);
}

bool
PacedTcpSocket::IsPacing() const
{
    return m_pacingTimer.IsRunning();
}

bool
PacedTcpSocket::IsSending() const
{
    // ns-3 sends a tick after data was written.
    return m_pacingTimer.IsRunning() || m_sendPendingDataEvent.IsRunning();
}

Time
PacedTcpSocket::FindPacedTime(uint32_t bytes) const
{
    return m_pacingTimer.GetDelayLeft() + m_tcb->m_maxPacingRate.CalculateBytesTxTime(bytes);
}

} // namespace ns3::allreduce
