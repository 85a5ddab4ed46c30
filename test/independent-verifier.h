/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_INDEPENDENT_VERIFIER_H
#define ALLREDUCE_INDEPENDENT_VERIFIER_H

#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce-tests
 *
 * Judge a schedule file from its text alone. Shares no code with the module, not even its reader:
 * it counts how often every server's number is in every sum.
 *
 * @param text a schedule file, which is JSON
 * @return why it does not bring the sums to where it says; "" if it does
 */
std::string FindFaultOfFile(const std::string& text);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_INDEPENDENT_VERIFIER_H */
