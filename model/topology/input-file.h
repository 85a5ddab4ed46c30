/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_INPUT_FILE_H
#define ALLREDUCE_INPUT_FILE_H

#include <fstream>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Open a file of a user. Folders can be opened, too, but reading them fails without their name.
 *
 * @param path the file
 * @param what it is, for messages, as "job file"
 * @return the file, binary
 * @throws InputError that names it if it cannot be opened
 */
std::ifstream OpenInput(const std::string& path, const std::string& what);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_INPUT_FILE_H */
