/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JSON_INPUT_H
#define ALLREDUCE_JSON_INPUT_H

#include <istream>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Read a file of JSON. What nobody would write on purpose is refused: lists and objects within each
 * other more than 32 deep, a key that an object has twice, and anything after the end.
 *
 * @param in the file
 * @param source names it in messages
 * @return what it says
 * @throws InputError that names the file and the place
 */
nlohmann::json ReadJson(std::istream& in, const std::string& source);

/**
 * @ingroup allreduce
 *
 * ReadJson of a file that has not been opened.
 *
 * @param path where it is
 * @param what it is, for messages; its name follows
 * @return what it says
 * @throws InputError that names the file, also if it cannot be opened
 */
nlohmann::json ReadJsonFile(const std::string& path, const std::string& what);

/**
 * @ingroup allreduce
 *
 * Refuse keys that nothing is known of, which are mistakes more often than not.
 *
 * @param json an object
 * @param known the keys that it may have
 * @param source names it in the message
 * @throws InputError that names the key and those that are known
 */
void CheckKeys(const nlohmann::json& json,
               const std::vector<std::string>& known,
               const std::string& source);

/**
 * @ingroup allreduce
 *
 * @param json any value that ReadJson returned
 * @return it for messages, as Shorten does
 */
std::string Shorten(const nlohmann::json& json);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JSON_INPUT_H */
