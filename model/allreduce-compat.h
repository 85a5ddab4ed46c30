/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COMPAT_H
#define ALLREDUCE_COMPAT_H

/**
 * @file
 * @ingroup allreduce
 *
 * All that differs between the ns-3 releases that the module serves (ns-3.36 to ns-3-dev). ns-3 has
 * no version macro to rely on: detect the feature itself, with __has_include or decltype.
 */

namespace ns3::allreduce
{

} // namespace ns3::allreduce

#endif // ALLREDUCE_COMPAT_H
