/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COMPAT_H
#define ALLREDUCE_COMPAT_H

/**
 * @file
 * @ingroup allreduce
 *
 * All that differs between the ns-3 releases that the module serves (ns-3.35 to ns-3-dev). ns-3 has
 * no version macro to rely on: detect the feature itself, with __has_include or decltype.
 */

#include "ns3/enum.h"
#include "ns3/ipv4-routing-protocol.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 * The types of the callbacks that RouteInput takes: by value before ns-3.39, by reference since.
 *
 * @tparam F type of Ipv4RoutingProtocol::RouteInput
 */
template <typename F>
struct RouteInputCallbacks;

/// @copydoc RouteInputCallbacks
template <typename R,
          typename C,
          typename Packet,
          typename Header,
          typename Device,
          typename U,
          typename M,
          typename L,
          typename E>
struct RouteInputCallbacks<R (C::*)(Packet, Header, Device, U, M, L, E)>
{
    using Unicast = U;   //!< forward to one
    using Multicast = M; //!< forward to many
    using Local = L;     //!< deliver here
    using Error = E;     //!< give up
};

/// @ingroup allreduce
/// The callback types of the ns-3 at hand.
using RouteInputTypes = RouteInputCallbacks<decltype(&Ipv4RoutingProtocol::RouteInput)>;

/**
 * @ingroup allreduce
 * MakeEnumAccessor, which from ns-3.41 on wants to be told the type of the enum.
 *
 * @tparam E type of the enum
 * @param member the member variable
 * @return the accessor
 */
template <typename E, typename Member>
auto
MakeAccessorOfEnum(Member member) -> decltype(MakeEnumAccessor<E>(member))
{
    return MakeEnumAccessor<E>(member);
}

// The same before ns-3.41.
template <typename E, typename Member>
auto
MakeAccessorOfEnum(Member member) -> decltype(MakeEnumAccessor(member))
{
    return MakeEnumAccessor(member);
}

} // namespace ns3::allreduce

#endif // ALLREDUCE_COMPAT_H
