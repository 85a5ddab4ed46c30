/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-program-options.h"

#include "mpi-ranks.h"
#include "worker-processes.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/random-variable-stream.h"
#include "ns3/string.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/program_options.hpp>
#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace ns3::allreduce
{

namespace options = boost::program_options;

/// What Boost.Program_options needs.
struct ProgramOptions::Impl
{
    std::string name;                               //!< the program
    std::string summary;                            //!< what it does
    options::options_description description{100};  //!< what can be given, in lines of 100
    std::string examples;                           //!< of what can be typed
    std::vector<std::function<void()>> conversions; //!< to be done after parsing
    std::set<std::string> given;                    //!< options that were given
    std::set<std::string> attributeClasses;         //!< classes of which an attribute was given
    std::map<std::string, std::string> aliases;     //!< other names of options
};

namespace
{

/// @return whether ns-3 has an attribute or a global value of that name
bool
IsKnownInNs3(const std::string& name)
{
    const std::size_t colons = name.rfind("::");
    TypeId type;
    TypeId::AttributeInformation attribute;
    if (colons != std::string::npos &&
        TypeId::LookupByNameFailSafe(name.substr(0, colons), &type) &&
        type.LookupAttributeByName(name.substr(colons + 2), &attribute))
    {
        return true;
    }
    return std::any_of(GlobalValue::Begin(), GlobalValue::End(), [&](const GlobalValue* global) {
        return global->GetName() == name;
    });
}

bool
SetInNs3(const std::string& name, const StringValue& value)
{
    return Config::SetDefaultFailSafe(name, value) || Config::SetGlobalFailSafe(name, value);
}

/// @return whether a global value names a type of which ns-3 can make an object
bool
NamesType(const std::string& global, const std::string& parent)
{
    StringValue name;
    TypeId type;
    return GlobalValue::GetValueByNameFailSafe(global, name) &&
           TypeId::LookupByNameFailSafe(name.Get(), &type) &&
           type.IsChildOf(TypeId::LookupByName(parent)) && type.HasConstructor();
}

/// Some values are looked at only when they are used.
/// @return whether a simulation can begin; aborts if not even that can be found out
bool
CanSimulate()
{
    CreateObject<UniformRandomVariable>()->GetValue(); // aborts if the seed is none
    return NamesType("SimulatorImplementationType", "ns3::SimulatorImpl") &&
           NamesType("SchedulerType", "ns3::Scheduler");
}

/// AttributeChecker::CreateValidValue, which SetDefaultFailSafe and BindFailSafe call, aborts at a
/// time, a number or a name that it cannot read, so that a child tries first.
/// @return whether ns-3 takes the value
bool
IsTakenByNs3(const std::string& name, const StringValue& value)
{
    const pid_t child = fork();
    if (child < 0)
    {
        return true;
    }
    if (child == 0)
    {
        close(STDERR_FILENO);
        std::signal(SIGABRT, SIG_DFL);
        std::set_terminate([] { _exit(1); });
        _exit(SetInNs3(name, value) && CanSimulate() ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/**
 * Set an attribute's default or a global value of ns-3.
 *
 * @param argument "--NAME=VALUE"
 * @throws InputError if ns-3 knows no such name, or cannot read the value
 */
void
SetInNs3(const std::string& argument)
{
    const std::size_t equals = argument.find('=');
    const std::string name =
        argument.substr(0, 2) == "--" ? argument.substr(2, equals - 2) : std::string();
    if (equals == std::string::npos || !IsKnownInNs3(name))
    {
        FailInput("unknown option ", Quote(argument), ", see --help");
    }
    const StringValue value(argument.substr(equals + 1));
    if (!IsTakenByNs3(name, value) || !SetInNs3(name, value))
    {
        FailInput("--", name, " ", Quote(value.Get()), ": ns-3 does not take this value");
    }
}

} // namespace

ProgramOptions::ProgramOptions(std::string name, std::string summary)
    : m_impl(std::make_unique<Impl>())
{
    m_impl->name = std::move(name);
    m_impl->summary = std::move(summary);
    m_impl->description.add_options()("help", "print this help")("version", "print the version");
}

ProgramOptions::~ProgramOptions() = default;

void
ProgramOptions::Add(const std::string& name, std::string& value, const std::string& help)
{
    auto semantic = options::value<std::string>(&value)->value_name("TEXT");
    if (!value.empty())
    {
        semantic->default_value(value);
    }
    m_impl->description.add_options()(name.c_str(), semantic, help.c_str());
}

void
ProgramOptions::Add(const std::string& name, uint64_t& value, const std::string& help)
{
    auto text = std::make_shared<std::string>(std::to_string(value));
    auto semantic = options::value<std::string>(text.get())->default_value(*text);
    m_impl->description.add_options()(name.c_str(), semantic->value_name("NUMBER"), help.c_str());
    m_impl->conversions.push_back(
        [text, name, &value] { value = ParseNumber(*text, "--" + name); });
}

void
ProgramOptions::Add(const std::string& name, uint32_t& value, const std::string& help)
{
    auto wide = std::make_shared<uint64_t>(value);
    Add(name, *wide, help);
    m_impl->conversions.push_back([wide, name, &value] {
        if (*wide > std::numeric_limits<uint32_t>::max())
        {
            FailInput("--", name, " \"", *wide, "\": expected a smaller number");
        }
        value = *wide;
    });
}

void
ProgramOptions::Add(const std::string& name, bool& value, const std::string& help)
{
    m_impl->description.add_options()(name.c_str(), options::bool_switch(&value), help.c_str());
}

void
ProgramOptions::Add(const std::string& name,
                    std::vector<std::string>& values,
                    char separator,
                    const std::string& help)
{
    auto lists = std::make_shared<std::vector<std::string>>();
    auto semantic = options::value<std::vector<std::string>>(lists.get())->value_name("LIST");
    if (!values.empty())
    {
        semantic->default_value(values, boost::algorithm::join(values, std::string(1, separator)));
    }
    m_impl->description.add_options()(name.c_str(), semantic, help.c_str());
    m_impl->conversions.push_back([lists, separator, name, &given = m_impl->given, &values] {
        if (given.count(name) == 0)
        {
            return;
        }
        values.clear();
        for (const std::string& list : *lists)
        {
            std::vector<std::string> parts;
            boost::split(parts, list, [separator](char c) { return c == separator; });
            values.insert(values.end(), parts.begin(), parts.end());
        }
    });
}

void
ProgramOptions::AddAlias(const std::string& alias, const std::string& name)
{
    m_impl->aliases[alias] = name;
}

void
ProgramOptions::AddExample(const std::string& arguments, const std::string& meaning)
{
    m_impl->examples += "  " + m_impl->name + " " + arguments + "\n      " + meaning + "\n";
}

std::vector<std::string>
ProgramOptions::ReplaceAliases(std::vector<std::string> arguments) const
{
    for (std::string& argument : arguments)
    {
        const std::size_t end = std::min(argument.find('='), argument.size());
        for (const auto& [alias, name] : m_impl->aliases)
        {
            if (argument.substr(0, end) == "--" + alias)
            {
                argument.replace(0, end, "--" + name);
                break;
            }
        }
    }
    return arguments;
}

bool
ProgramOptions::Parse(int argc, char* argv[])
{
    try
    {
        options::command_line_parser parser(ReplaceAliases({argv + 1, argv + argc}));
        parser.options(m_impl->description);
        parser.allow_unregistered();
        const auto style = options::command_line_style::allow_long |
                           options::command_line_style::long_allow_adjacent |
                           options::command_line_style::long_allow_next;
        parser.style(style);
        const options::parsed_options parsed = parser.run();
        for (const std::string& argument :
             options::collect_unrecognized(parsed.options, options::include_positional))
        {
            SetInNs3(argument);
            const std::string name = argument.substr(2, argument.find('=') - 2);
            const std::size_t colons = name.rfind("::");
            if (colons != std::string::npos)
            {
                m_impl->attributeClasses.insert(name.substr(0, colons));
            }
        }
        options::variables_map values;
        options::store(parsed, values);
        if (values.count("help"))
        {
            PrintHelp();
            return false;
        }
        if (values.count("version"))
        {
            std::cout << m_impl->name << " (allreduce for ns-3) " << ALLREDUCE_VERSION << "\n";
            return false;
        }
        options::notify(values);
        for (const auto& [name, value] : values)
        {
            if (!value.defaulted())
            {
                m_impl->given.insert(name);
            }
        }
    }
    catch (const options::error& error)
    {
        FailInput(Shorten(error.what()));
    }
    for (const auto& convert : m_impl->conversions)
    {
        convert();
    }
    return true;
}

void
ProgramOptions::PrintHelp() const
{
    std::cout << "Usage: " << m_impl->name << " [OPTION]...\n"
              << m_impl->summary << "\n\nOptions:\n";
    // help2man tells an option from its text by two spaces.
    const unsigned width = m_impl->description.get_option_column_width() + 1;
    m_impl->description.print(std::cout, width);
    std::cout << "  --ns3::Class::Attribute=VALUE and ns-3's global values (--RngRun=N) are taken, "
                 "too.\n";
    for (const auto& [alias, name] : m_impl->aliases)
    {
        std::cout << "  --" << alias << " is --" << name << ".\n";
    }
    std::cout << "\nExamples:\n" << m_impl->examples;
}

bool
ProgramOptions::IsGiven(const std::string& name) const
{
    return m_impl->given.count(name) > 0;
}

const std::set<std::string>&
ProgramOptions::GetAttributeClasses() const
{
    return m_impl->attributeClasses;
}

void
ProgramOptions::Exclude(const std::string& name, const std::vector<std::string>& others) const
{
    for (const std::string& other : others)
    {
        if (IsGiven(name) && IsGiven(other))
        {
            FailInput("--", other, ": has no effect beside --", name, ", expected one of them");
        }
    }
}

int
RunProgram(const std::string& name, const std::function<int()>& body)
{
    try
    {
        const int status = body();
        if (!std::cout.flush())
        {
            FailInput("standard output cannot be written");
        }
        MpiRanks::Leave();
        return status;
    }
    catch (const Interrupt& interrupt)
    {
        std::cerr << name << ": stopped by signal " << interrupt.signal << std::endl;
        return 128 + interrupt.signal;
    }
    catch (const InputError& error)
    {
        std::cerr << name << ": " << error.what() << std::endl;
        return 2;
    }
    catch (const std::exception& error)
    {
        std::cerr << name << ": failed: " << error.what() << std::endl;
        return 1;
    }
}

} // namespace ns3::allreduce
