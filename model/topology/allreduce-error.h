/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ERROR_H
#define ALLREDUCE_ERROR_H

#include <sstream>
#include <stdexcept>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What a user gave (an option, a file, a parameter) is not usable.
 *
 * The message is one line that names the thing and what was expected. Programs print it and end
 * with status 2; helpers turn it into NS_ABORT_MSG.
 */
class InputError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/**
 * @ingroup allreduce
 *
 * Cut a text that somebody else wrote down to what a message can hold: 80 characters, none of
 * which ends the line.
 *
 * @param text the text
 * @return its beginning, with "..." if there is more
 */
std::string Shorten(const std::string& text);

/**
 * @ingroup allreduce
 *
 * @param text what a user wrote
 * @return it for messages: Shorten, in quotation marks
 */
std::string Quote(const std::string& text);

/**
 * @ingroup allreduce
 *
 * @param path of a file
 * @return it for messages: if it is longer than 200 characters "..." and its end, which says more
 * than its beginning, and nothing that ends the line
 */
std::string NamePath(const std::string& path);

/**
 * @ingroup allreduce
 *
 * Throw an InputError whose message is the arguments, streamed one after another.
 *
 * @param parts the pieces of the message
 */
template <typename... Parts>
[[noreturn]] void
FailInput(const Parts&... parts)
{
    std::ostringstream message;
    (message << ... << parts);
    throw InputError(message.str());
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ERROR_H */
