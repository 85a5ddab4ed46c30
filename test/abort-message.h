/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ABORT_MESSAGE_H
#define ALLREDUCE_ABORT_MESSAGE_H

#include <functional>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce-tests
 *
 * Run something that should end the program with NS_ABORT_MSG, in a child process.
 *
 * @param action what to run
 * @return what it wrote to the error output before it aborted; empty if it did not abort
 */
std::string GetAbortMessage(const std::function<void()>& action);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ABORT_MESSAGE_H */
