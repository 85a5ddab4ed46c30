/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "fuzzed-parsers.h"

#include "../independent-verifier.h"
#include "fault-options.h"
#include "job-options.h"
#include "plan-options.h"
#include "result-writer.h"
#include "run-options.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/chakra-trace.h"
#include "ns3/chakra-workload.h"
#include "ns3/job-trace.h"
#include "ns3/job-utility.h"
#include "ns3/json-input.h"
#include "ns3/msccl-file.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-weights.h"
#include "ns3/schedule-file.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/topology-file.h"
#include "ns3/topology-spec.h"
#include "ns3/trace-formats.h"
#include "ns3/training-config.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace ns3::allreduce
{

namespace
{

const std::string SOURCE = "the-file"; //!< what messages must name

const Topology&
GetNetwork()
{
    static const Topology topology = ParseTopology("bcube:2,1");
    return topology;
}

void
ReadConfig(const std::string& text)
{
    std::istringstream in(text);
    TrainingConfig::FromJson(ReadJson(in, SOURCE), SOURCE);
}

/// Large networks are not refused and take long to build: those with a number above 3 are left out.
bool
IsSmallSpec(const std::string& text)
{
    const bool isSmall = std::none_of(text.begin(), text.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c)) && c > '3';
    });
    bool hasTwoDigits = false;
    for (std::size_t i = 1; i < text.size(); ++i)
    {
        hasTwoDigits |= std::isdigit(static_cast<unsigned char>(text[i - 1])) &&
                        std::isdigit(static_cast<unsigned char>(text[i]));
    }
    return isSmall && !hasTwoDigits && text.compare(0, 5, "file:") != 0;
}

void
ReadTopologySpec(const std::string& text)
{
    if (IsSmallSpec(text))
    {
        ParseTopology(text);
    }
}

/// @return whether all links are plain: [A, B] or [A, B, CAPACITY]
bool
HasPlainLinks(const std::string& text)
{
    const auto links = nlohmann::json::parse(text).at("topology").at("links");
    return std::all_of(links.begin(), links.end(), [](const nlohmann::json& link) {
        return link.is_array() && link.size() <= 3 &&
               std::all_of(link.begin(), link.end(), [](const auto& n) { return n.is_number(); });
    });
}

/// Reads a schedule of a small network and judges it. What an independent verifier refuses must not
/// pass.
void
JudgeSchedule(const std::string& text)
{
    constexpr uint32_t MOST_NODES = 64;
    constexpr uint32_t MOST_CHUNKS = 64;
    std::istringstream in(text);
    const ScheduleFile file = ReadSchedule(in, SOURCE);
    const Collective& collective = file.schedule.collective;
    if (file.topology.GetNNodes() > MOST_NODES || collective.GetNChunks() > MOST_CHUNKS)
    {
        return;
    }
    const Verdict verdict = Verify(file.topology, file.schedule);
    if (!verdict.isCorrect)
    {
        FailInput("schedule file ", SOURCE, " is not correct: ", verdict.reason);
    }
    const std::string fault = HasPlainLinks(text) ? FindFaultOfFile(text) : "";
    if (!fault.empty())
    {
        throw std::logic_error("passed, but: " + fault);
    }
    if (!file.topology.AreServersConnected())
    {
        return; // Groups can do without the others, but bounds are of whole networks.
    }
    const LowerBounds bounds = ComputeLowerBounds(file.topology, collective);
    if (bounds.GetBest().rounds > file.schedule.rounds.size())
    {
        throw std::logic_error("fewer rounds than the bound");
    }
}

/// @return the arguments of a list with one in each line; none if one would print, read a file or
/// change ns-3 for all lists that follow
std::vector<std::string>
SplitArguments(const std::string& text)
{
    std::vector<std::string> arguments;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
    {
        const std::string name = line.substr(0, line.find('='));
        const bool isOfNs3 = name.size() > 2 && std::isupper(static_cast<unsigned char>(name[2]));
        if (isOfNs3 || name.find("ns3::") != std::string::npos || name == "--help" ||
            name == "--version")
        {
            return {};
        }
        arguments.push_back(line);
    }
    return arguments;
}

/// Reads what allreduce-run takes, one argument in each line, up to where it would plan.
void
ReadOptionList(const std::string& text)
{
    std::vector<std::string> arguments = SplitArguments(text);
    std::string name = "allreduce-run";
    std::vector<char*> argv = {name.data()};
    for (std::string& argument : arguments)
    {
        argv.push_back(argument.data());
    }
    PlanOptions plan;
    RunOptions run;
    std::string bytes = "16MiB";
    std::vector<std::string> texts;
    ProgramOptions parser(name, "");
    plan.schedulers = {"greedy"};
    plan.AddTo(parser);
    run.AddTo(parser);
    parser.Add("bytes", bytes, "");
    parser.Add("job", texts, '\n', GetJobGrammar());
    parser.Parse(argv.size(), argv.data());
    ExcludeBesideJobs(parser, 1);
    ParseFormat(plan.format);
    run.Check();
    const auto jobs = ParseJobs(texts, plan, run, ParseSize(bytes, "--bytes"));
    CheckBesideJobs(parser, jobs);
    if (jobs.empty())
    {
        CheckSchedulers(plan);
        run.CheckIterations();
    }
    const auto& specs = plan.topologies.specs;
    if (!std::all_of(specs.begin(), specs.end(), IsSmallSpec))
    {
        return;
    }
    for (const Topology& topology : plan.topologies.Make())
    {
        run.CheckFor(topology);
        if (jobs.empty())
        {
            MakeCollective(topology, plan);
        }
        for (const JobOptions& job : jobs)
        {
            MakeCollective(topology, job.plan);
        }
    }
}

void
ReadFaults(void (*set)(FaultOptions&, const std::string&), const std::string& text)
{
    FaultOptions options;
    set(options, text);
    ExperimentSettings settings;
    options.SetFaults(GetNetwork(), settings);
    options.ApplySlow(GetNetwork());
    options.GetBackground();
}

/// The first character chooses the option, the rest is its value.
void
ReadOption(const std::string& text)
{
    using Set = void (*)(const std::string&);
    static const Set sets[] = {
        [](const std::string& value) { ParseRate(value); },
        [](const std::string& value) { ParseTime(value); },
        [](const std::string& value) { ParseNumber(value, "number"); },
        [](const std::string& value) { ParseFraction(value, "fraction"); },
        [](const std::string& value) { ParseSize(value, "size"); },
        [](const std::string& value) { ParseFormat(value); },
        [](const std::string& value) { ParseUtility(value); },
        [](const std::string& value) { ParseDegrade(GetNetwork(), value); },
        [](const std::string& value) { ParseMixed(GetNetwork(), value); },
        [](const std::string& value) {
            ReadFaults([](FaultOptions& o, const std::string& v) { o.fail = {v}; }, value);
        },
        [](const std::string& value) {
            ReadFaults([](FaultOptions& o, const std::string& v) { o.failRandom = v; }, value);
        },
        [](const std::string& value) {
            ReadFaults([](FaultOptions& o, const std::string& v) { o.slow = {v}; }, value);
        },
        [](const std::string& value) {
            ReadFaults([](FaultOptions& o, const std::string& v) { o.background = v; }, value);
        },
        [](const std::string& value) { CreateScheduler(value); },
        [](const std::string& value) { CreateTransport(value); },
        ReadTopologySpec,
        [](const std::string& value) {
            ReadFaults([](FaultOptions& o, const std::string& v) { o.late = {v}; }, value);
        },
        [](const std::string& value) {
            ReadFaults([](FaultOptions& o, const std::string& v) { o.bursts = v; }, value);
        },
    };
    if (!text.empty())
    {
        sets[static_cast<unsigned char>(text[0] - '0') % std::size(sets)](text.substr(1));
    }
}

/// The first character chooses the format, the rest is the file.
void
ReadPublicTrace(const std::string& text)
{
    if (!text.empty())
    {
        const auto& formats = GetTraceFormats();
        std::istringstream in(text.substr(1));
        TraceNotes notes;
        formats[static_cast<unsigned char>(text[0]) % formats.size()].read(in, SOURCE, notes);
        notes.GetLines();
    }
}

template <typename Read>
void
ReadStream(const std::string& text, Read read)
{
    std::istringstream in(text);
    read(in);
}

} // namespace

const std::vector<FuzzedParser>&
GetFuzzedParsers()
{
    static const std::vector<FuzzedParser> parsers = {
        {"topology",
         true,
         [](const std::string& text) {
             ReadStream(text, [](std::istream& in) { ReadTopology(in, SOURCE); });
         }},
        {"link-list",
         true,
         [](const std::string& text) {
             ReadStream(text, [](std::istream& in) { ReadLinkList(in, SOURCE); });
         }},
        {"schedule",
         true,
         [](const std::string& text) {
             ReadStream(text, [](std::istream& in) { ReadSchedule(in, SOURCE); });
         }},
        {"msccl",
         true,
         [](const std::string& text) {
             ReadStream(text, [](std::istream& in) { ReadMsccl(in, GetNetwork(), SOURCE); });
         }},
#ifdef ALLREDUCE_CHAKRA
        {"chakra",
         true,
         [](const std::string& text) {
             ReadStream(text, [](std::istream& in) {
                 MakeChakraWorkload(ReadChakraTrace(in, SOURCE), SOURCE);
             });
         }},
#endif
        {"policy",
         true,
         [](const std::string& text) {
             ReadStream(text, [](std::istream& in) { ReadCheckpoint(in, SOURCE); });
         }},
        {"jobs",
         true,
         [](const std::string& text) {
             ReadStream(text, [](std::istream& in) { ReadJobs(in, SOURCE); });
         }},
        {"trace", true, ReadPublicTrace},
        {"training-config", true, ReadConfig},
        {"option", false, ReadOption},
        {"schedule-groups", true, JudgeSchedule},
        {"option-list", false, ReadOptionList},
    };
    return parsers;
}

std::string
Refuse(const FuzzedParser& parser, const std::string& text)
{
    try
    {
        parser.read(text);
        return "";
    }
    catch (const InputError& error)
    {
        return error.what();
    }
}

std::string
FindBadManners(const FuzzedParser& parser, const std::string& message)
{
    constexpr std::size_t MOST = 1500; // the list of all training keys
    const bool isOneLine =
        std::none_of(message.begin(), message.end(), [](char c) { return c == '\n' || c == '\r'; });
    const bool isNamed = !parser.isFile || message.find(SOURCE) != std::string::npos;
    return message.empty()         ? ""
           : message.size() > MOST ? "it is too long"
           : !isOneLine            ? "it is more than one line"
           : !isNamed              ? "it does not name the file"
                                   : "";
}

} // namespace ns3::allreduce
