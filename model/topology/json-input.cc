/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "json-input.h"

#include "allreduce-error.h"
#include "input-file.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <nlohmann/json.hpp>
#include <set>

namespace ns3::allreduce
{

namespace
{

using Json = nlohmann::json;

/// Looks at a file while it is being parsed.
class Inspector
{
  public:
    explicit Inspector(const std::string& source)
        : m_source(source)
    {
    }

    /// @return true: keep what was parsed
    bool operator()(int depth, Json::parse_event_t event, Json& parsed)
    {
        constexpr int MOST_DEPTH = 32;
        if (depth >= MOST_DEPTH)
        {
            FailInput(m_source, ": nested more than ", MOST_DEPTH, " deep");
        }
        if (event == Json::parse_event_t::object_start)
        {
            m_keys.resize(depth + 1);
            m_keys.emplace_back();
        }
        else if (event == Json::parse_event_t::key &&
                 !m_keys[depth].insert(parsed.get<std::string>()).second)
        {
            FailInput(m_source, ": key ", Quote(parsed.get<std::string>()), " is there twice");
        }
        return true;
    }

  private:
    const std::string& m_source;               //!< names the file
    std::vector<std::set<std::string>> m_keys; //!< by depth: of the present object
};

/// @return the library's message without the name of its exception, and not longer than a line
std::string
Simplify(const std::string& message)
{
    const std::size_t end = message.find("] ");
    const std::string text = end == std::string::npos ? message : message.substr(end + 2);
    const std::size_t quoted = std::min(text.find('\''), text.size());
    return text.substr(0, quoted) + Shorten(text.substr(quoted));
}

} // namespace

Json
ReadJson(std::istream& in, const std::string& source)
{
    try
    {
        return Json::parse(in, Inspector(source));
    }
    catch (const Json::exception& error)
    {
        FailInput(source, ": ", Simplify(error.what()));
    }
}

Json
ReadJsonFile(const std::string& path, const std::string& what)
{
    InputFile in(path, what);
    return ReadJson(in, what + " " + NamePath(path));
}

void
CheckKeys(const Json& json, const std::vector<std::string>& known, const std::string& source)
{
    for (const auto& item : json.items())
    {
        if (std::find(known.begin(), known.end(), item.key()) == known.end())
        {
            FailInput(source,
                      ": unknown key ",
                      Quote(item.key()),
                      ", expected ",
                      boost::algorithm::join(known, ", "));
        }
    }
}

std::string
Shorten(const Json& json)
{
    return Shorten(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

} // namespace ns3::allreduce
