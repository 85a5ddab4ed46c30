/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "input-file.h"

#include "allreduce-error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace ns3::allreduce
{

InputBuffer::InputBuffer(const std::string& path, const std::string& what)
    : m_name(what + " " + NamePath(path)),
      m_file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY))
{
    if (m_file < 0)
    {
        FailInput(m_name, ": cannot be opened");
    }
    try
    {
        CheckKind();
    }
    catch (...)
    {
        close(m_file);
        throw;
    }
}

InputBuffer::~InputBuffer()
{
    close(m_file);
}

/// Folders can be opened, but not read; devices as /dev/zero have no end.
void
InputBuffer::CheckKind() const
{
    struct stat state = {};
    if (fstat(m_file, &state) == 0)
    {
        const char* kind = S_ISDIR(state.st_mode)                             ? "a folder"
                           : S_ISCHR(state.st_mode) || S_ISBLK(state.st_mode) ? "a device"
                                                                              : nullptr;
        if (kind)
        {
            FailInput(m_name, ": is ", kind, ", expected a file");
        }
        CheckSize(S_ISREG(state.st_mode) ? state.st_size : 0);
    }
}

void
InputBuffer::CheckSize(uint64_t bytes) const
{
    if (bytes > InputFile::MOST_BYTES)
    {
        FailInput(m_name, ": is too large, expected at most ", InputFile::MOST_BYTES, " bytes");
    }
}

InputBuffer::int_type
InputBuffer::underflow()
{
    ssize_t count = 0;
    do
    {
        count = read(m_file, m_data.data(), m_data.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0)
    {
        FailInput(m_name, ": cannot be read: ", std::generic_category().message(errno));
    }
    m_nRead += count;
    CheckSize(m_nRead);
    setg(m_data.data(), m_data.data(), m_data.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(m_data.front());
}

InputFile::InputFile(const std::string& path, const std::string& what)
    : std::istream(nullptr),
      m_buffer(path, what)
{
    rdbuf(&m_buffer);
    exceptions(std::ios::badbit); // Those of the buffer are passed on.
}

} // namespace ns3::allreduce
