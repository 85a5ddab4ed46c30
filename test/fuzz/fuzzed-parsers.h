/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FUZZED_PARSERS_H
#define ALLREDUCE_FUZZED_PARSERS_H

#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// Reads what somebody else wrote.
struct FuzzedParser
{
    const char* name;                 //!< also that of its folder of the corpus
    bool isFile;                      //!< messages must name the file
    void (*read)(const std::string&); //!< fails with an InputError, or not at all
};

/// @ingroup allreduce-tests
/// @return one for each format of files, and one for the grammars of options
const std::vector<FuzzedParser>& GetFuzzedParsers();

/**
 * @ingroup allreduce-tests
 *
 * @param parser a parser
 * @param text anything
 * @return why it was refused; "" if it was not
 */
std::string Refuse(const FuzzedParser& parser, const std::string& text);

/**
 * @ingroup allreduce-tests
 *
 * @param parser a parser
 * @param message what Refuse returned
 * @return what is wrong with a message that is not one line of a sensible length which names the
 * file; "" if nothing is
 */
std::string FindBadManners(const FuzzedParser& parser, const std::string& message);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FUZZED_PARSERS_H */
