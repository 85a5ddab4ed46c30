/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "output-file.h"

#include "ns3/allreduce-error.h"

#include <filesystem>
#include <system_error>

namespace ns3::allreduce
{

namespace
{

void
CheckState(const std::ostream& out, const std::string& option, const std::string& path)
{
    if (!out)
    {
        FailInput(option, ": file ", NamePath(path), " cannot be written");
    }
}

} // namespace

OutputFile::OutputFile(std::string option, std::string path)
    : m_option(std::move(option)),
      m_path(std::move(path)),
      m_out(m_path)
{
    CheckState(m_out, m_option, m_path);
}

std::ostream&
OutputFile::Get()
{
    return m_out;
}

void
OutputFile::Flush()
{
    CheckState(m_out.flush(), m_option, m_path);
}

void
OutputFile::Finish()
{
    m_out.close();
    CheckState(m_out, m_option, m_path);
}

void
OutputFile::Check(const std::string& option, const std::string& path)
{
    std::error_code ignored;
    const bool isThere = std::filesystem::exists(path, ignored);
    CheckState(std::ofstream(path, std::ios::app), option, path);
    if (!isThere)
    {
        std::filesystem::remove(path, ignored);
    }
}

} // namespace ns3::allreduce
