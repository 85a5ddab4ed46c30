/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PROGRAM_OPTIONS_H
#define ALLREDUCE_PROGRAM_OPTIONS_H

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief The options of a program: --name=VALUE, a help text, and ns-3's own.
 *
 * Besides what is added, `--ns3::Class::Attribute=VALUE` sets an attribute's default and
 * `--RngRun=VALUE` or any other ns-3 global value is set, as with ns3::CommandLine. Unlike
 * there, what is not understood is an InputError that names it, and so ends with status 2.
 */
class ProgramOptions
{
  public:
    /**
     * @param name the program
     * @param summary what it does, in a line or two
     */
    ProgramOptions(std::string name, std::string summary);
    ~ProgramOptions();

    /**
     * Add an option that takes a text; what the variable holds is the default.
     *
     * @param name without the dashes
     * @param value where the text goes
     * @param help a line
     */
    void Add(const std::string& name, std::string& value, const std::string& help);

    /**
     * Add an option that takes a whole number, 0 or more.
     *
     * @param name without the dashes
     * @param value where the number goes
     * @param help a line
     */
    void Add(const std::string& name, uint64_t& value, const std::string& help);

    /// @copydoc Add(const std::string&, uint64_t&, const std::string&)
    void Add(const std::string& name, uint32_t& value, const std::string& help);

    /**
     * Add an option without a value.
     *
     * @param name without the dashes
     * @param value set if the option is there
     * @param help a line
     */
    void Add(const std::string& name, bool& value, const std::string& help);

    /**
     * Add an option that can be given several times, or once with the values in one list.
     *
     * @param name without the dashes
     * @param values where the values go; what it holds is the default
     * @param separator what stands between values in a list
     * @param help a line
     */
    void Add(const std::string& name,
             std::vector<std::string>& values,
             char separator,
             const std::string& help);

    /**
     * Let an option be called otherwise, too.
     *
     * @param alias the other name, without the dashes
     * @param name the option's
     */
    void AddAlias(const std::string& alias, const std::string& name);

    /**
     * Add an example to the help.
     *
     * @param arguments what to type after the name of the program
     * @param meaning what it does, in a line
     */
    void AddExample(const std::string& arguments, const std::string& meaning);

    /**
     * Read the command line.
     *
     * @param argc number of arguments
     * @param argv arguments
     * @return false if the help or the version was asked for, and printed
     * @throws InputError that names what is not understood
     */
    bool Parse(int argc, char* argv[]);

    /**
     * @param name an option
     * @return whether it was given; to be called after Parse
     */
    bool IsGiven(const std::string& name) const;

    /// @return the classes of ns-3 of which an attribute was given; to be called after Parse
    const std::set<std::string>& GetAttributeClasses() const;

    /**
     * Refuse options that would be ignored; to be called after Parse.
     *
     * @param name an option
     * @param others those that have no effect beside it
     * @throws InputError that names both, if both were given
     */
    void Exclude(const std::string& name, const std::vector<std::string>& others) const;

  private:
    void PrintHelp() const;
    std::vector<std::string> ReplaceAliases(std::vector<std::string> arguments) const;

    struct Impl;                  //!< keeps Boost.Program_options out of this header
    std::unique_ptr<Impl> m_impl; //!< the options
};

/**
 * Run the body of a program; an InputError becomes a line on standard error and status 2, as does
 * standard output that cannot be written, an Interrupt 128 and the number of the signal, any other
 * exception status 1.
 *
 * @param name the program
 * @param body what it does; returns its exit status
 * @return the exit status
 */
int RunProgram(const std::string& name, const std::function<int()>& body);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PROGRAM_OPTIONS_H */
