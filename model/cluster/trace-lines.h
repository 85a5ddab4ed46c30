/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRACE_LINES_H
#define ALLREDUCE_TRACE_LINES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace ns3::allreduce
{

/// Fields of a line, valid as long as the line is.
using Fields = std::vector<std::string_view>;

/**
 * @ingroup allreduce
 *
 * Read a file line by line. Lines that are empty or begin with # are skipped.
 *
 * @param in where to read
 * @param name what the file is called, for messages
 * @param take told of every line, without space at its ends, and its number
 * @throws InputError that names file and line, if take throws one
 */
void ForEachLine(std::istream& in,
                 const std::string& name,
                 const std::function<void(std::string_view line, std::size_t number)>& take);

/**
 * @ingroup allreduce
 *
 * @param line a line
 * @param separator what is between fields
 * @param fields gets them, without space at their ends
 */
void SplitLine(std::string_view line, char separator, Fields& fields);

/**
 * @ingroup allreduce
 *
 * @brief The columns of a file by the names in its first line.
 */
class TraceHeader
{
  public:
    /// @param fields the first line
    explicit TraceHeader(const Fields& fields);

    /**
     * @param name of a column
     * @return where it is
     * @throws InputError that names a column that is not there, or there twice
     */
    std::size_t Find(const std::string& name) const;

    /**
     * @param fields a further line
     * @throws InputError if it has not one field for each column
     */
    void CheckRow(const Fields& fields) const;

  private:
    std::vector<std::string> m_names; //!< in the order of the file
};

/**
 * @ingroup allreduce
 *
 * @param text a number
 * @param what it is, for messages
 * @return it, 0 or more and finite
 * @throws InputError that names both
 */
double ParseReal(std::string_view text, const std::string& what);

/**
 * @ingroup allreduce
 *
 * @param text a whole number
 * @param what it is, for messages
 * @return it
 * @throws InputError that names both
 */
uint32_t ParseSmallNumber(std::string_view text, const std::string& what);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRACE_LINES_H */
