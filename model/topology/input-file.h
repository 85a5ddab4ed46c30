/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_INPUT_FILE_H
#define ALLREDUCE_INPUT_FILE_H

#include <array>
#include <cstdint>
#include <istream>
#include <streambuf>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The bytes of a file. Unlike std::filebuf it tells an error from the end, and stops at a
 * limit.
 */
class InputBuffer : public std::streambuf
{
  public:
    /**
     * @param path the file; folders and devices are refused, pipes are not
     * @param what it is, for messages, as "job file"
     * @throws InputError that names it if it cannot be opened
     */
    InputBuffer(const std::string& path, const std::string& what);
    ~InputBuffer() override;

    InputBuffer(const InputBuffer&) = delete;
    InputBuffer& operator=(const InputBuffer&) = delete;

  protected:
    /// @return the next byte, or the end @throws InputError if the file cannot be read or is too
    /// large
    int_type underflow() override;

  private:
    void CheckKind() const;
    void CheckSize(uint64_t bytes) const;

    std::string m_name;             //!< names the file in messages
    int m_file;                     //!< the file's descriptor
    uint64_t m_nRead{0};            //!< bytes so far
    std::array<char, 65536> m_data; //!< the last of them
};

/**
 * @ingroup allreduce
 *
 * @brief A file of a user, binary. What goes wrong while it is read is an InputError, so that no
 * reader takes it for the end.
 */
class InputFile : public std::istream
{
  public:
    /// A larger file is refused: to read one would take many times its size in memory.
    static constexpr uint64_t MOST_BYTES = 1 << 30;

    /// @copydoc InputBuffer::InputBuffer
    InputFile(const std::string& path, const std::string& what);

  private:
    InputBuffer m_buffer;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_INPUT_FILE_H */
