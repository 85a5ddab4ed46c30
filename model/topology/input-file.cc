/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "input-file.h"

#include "allreduce-error.h"

#include <filesystem>
#include <system_error>

namespace ns3::allreduce
{

std::ifstream
OpenInput(const std::string& path, const std::string& what)
{
    std::ifstream in(path, std::ios::binary);
    std::error_code ignored;
    if (in && std::filesystem::is_directory(path, ignored))
    {
        FailInput(what, " ", NamePath(path), ": is a folder, expected a file");
    }
    if (!in)
    {
        FailInput(what, " ", NamePath(path), ": cannot be opened");
    }
    return in;
}

} // namespace ns3::allreduce
