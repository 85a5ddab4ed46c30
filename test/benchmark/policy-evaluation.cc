/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How good the policies are, next to their controls: the tables of policies/README.md. Every plan
 * that is counted has been verified.
 */

#include "../evaluation-networks.h"
#include "allreduce-program-options.h"
#include "contenders.h"
#include "mpi-ranks.h"
#include "sweep-options.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/link-prices.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/server-graph.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What was asked for. Times come first: memory is that of all that was done before.
struct Options
{
    std::vector<std::string>
        parts{"time", "reference", "named", "changed", "many", "unseen", "rests", "online"};
    std::string checkpoint; //!< empty: the shipped one
    SweepOptions sweep;     //!< who does which of the cases
};

/// Rounds of all contenders on a case.
struct Result
{
    uint64_t bound;                  //!< of any plan
    std::vector<std::size_t> rounds; //!< by contender
};

/// Rounds of all contenders on some cases.
struct Results
{
    std::vector<std::string> names;               //!< by contender
    std::vector<EvaluationCase> cases;            //!< those that were done
    std::vector<uint64_t> bounds;                 //!< by case
    std::vector<std::vector<std::size_t>> rounds; //!< [case][contender]
};

bool g_hasFailed = false; //!< a case could not be done

/// Mean and worst of some ratios.
class Ratios
{
  public:
    void Add(double ratio)
    {
        m_sum += ratio;
        m_worst = std::max(m_worst, ratio);
        ++m_count;
    }

    void Print() const
    {
        std::cout << std::fixed << std::setprecision(3) << " " << m_sum / m_count << " (" << m_worst
                  << ") |";
    }

  private:
    double m_sum{0};     //!< of the ratios
    double m_worst{0};   //!< the largest
    uint32_t m_count{0}; //!< how many
};

std::vector<NodeId>
MakeRoots(const EvaluationCase& evaluated)
{
    return allreduce::MakeRoots(evaluated.topology.GetNServers(), evaluated.chunksPerServer);
}

uint64_t
FindBound(const EvaluationCase& evaluated)
{
    return ComputeLowerBounds(evaluated.topology, MakeRoots(evaluated)).GetBest().rounds;
}

/// @return rounds of a plan that has been verified
std::size_t
CountRounds(const Contender& contender, const EvaluationCase& evaluated)
{
    const AllReduceState state(evaluated.topology, MakeRoots(evaluated));
    const AllReduceSchedule plan{state.GetRoots(), contender.plan(state)};
    const Verdict verdict = Verify(evaluated.topology, plan);
    if (!verdict.isCorrect)
    {
        FailInput(contender.name, " on ", evaluated.topology.GetName(), ": ", verdict.reason);
    }
    return plan.rounds.size();
}

/// @return a result as text, for another process
std::string
Write(const Result& result)
{
    std::ostringstream text;
    text << result.bound;
    for (const std::size_t rounds : result.rounds)
    {
        text << ' ' << rounds;
    }
    return text.str();
}

/// Add what Write has written to some results.
void
Read(const std::string& text, Results& results)
{
    std::istringstream numbers(text);
    results.bounds.emplace_back();
    numbers >> results.bounds.back();
    results.rounds.emplace_back(results.names.size());
    for (std::size_t& rounds : results.rounds.back())
    {
        numbers >> rounds;
    }
}

/// @return what a task makes of each case; nothing in ranks that only help the first one
Results
Evaluate(const std::vector<EvaluationCase>& cases,
         const std::vector<Contender>& contenders,
         const SweepOptions& options,
         const std::function<Result(std::size_t)>& task)
{
    Results results;
    for (const Contender& contender : contenders)
    {
        results.names.push_back(contender.name);
    }
    Sweep sweep(options, cases.size(), [&](std::size_t i) { return Write(task(i)); });
    if (sweep.Serve())
    {
        return results;
    }
    sweep.Run([&](std::size_t i, const WorkerProcesses::Outcome& outcome) {
        if (outcome.failure.empty())
        {
            results.cases.push_back(cases[i]);
            Read(outcome.text, results);
        }
        else
        {
            std::cout << "- left out: " << cases[i].topology.GetName() << " " << outcome.failure
                      << std::endl;
            g_hasFailed = true;
        }
    });
    return results;
}

/// @return the rounds of whole plans
Results
Evaluate(const std::vector<EvaluationCase>& cases,
         const std::vector<Contender>& contenders,
         const SweepOptions& options)
{
    return Evaluate(cases, contenders, options, [&](std::size_t i) {
        Result result{FindBound(cases[i]), {}};
        for (const Contender& contender : contenders)
        {
            result.rounds.push_back(CountRounds(contender, cases[i]));
        }
        return result;
    });
}

void
PrintHeader(const std::vector<std::string>& columns)
{
    std::cout << "\n|";
    for (const std::string& column : columns)
    {
        std::cout << " " << column << " |";
    }
    std::cout << "\n|";
    for (std::size_t i = 0; i < columns.size(); ++i)
    {
        std::cout << "---|";
    }
    std::cout << std::endl;
}

std::vector<std::string>
Join(std::vector<std::string> first, const std::vector<std::string>& second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

std::vector<Contender>
Join(std::vector<Contender> first, const std::vector<Contender>& second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// @return hrl and all other schedulers of the module
std::vector<Contender>
MakeSchedulers(const std::string& checkpoint)
{
    return Join({MakeHrl(checkpoint)}, MakeOthers());
}

/// @return hrl, all other schedulers of the module, and controls
std::vector<Contender>
MakeAll(const std::string& checkpoint)
{
    return Join(MakeSchedulers(checkpoint), MakeControls(checkpoint));
}

/// A line for each case, with how many are at the bound.
void
PrintRounds(const Results& results)
{
    const std::vector<EvaluationCase>& cases = results.cases;
    PrintHeader(Join({"network", "m", "bound"}, results.names));
    for (std::size_t i = 0; i < cases.size(); ++i)
    {
        std::cout << "| " << cases[i].topology.GetName() << " | " << cases[i].chunksPerServer
                  << " | " << results.bounds[i] << " |";
        for (const std::size_t rounds : results.rounds[i])
        {
            std::cout << " " << rounds << " |";
        }
        std::cout << std::endl;
    }
    std::cout << "| at the bound | | " << cases.size() << " |";
    for (std::size_t k = 0; k < results.names.size(); ++k)
    {
        uint32_t nAtBound = 0;
        for (std::size_t i = 0; i < cases.size(); ++i)
        {
            nAtBound += results.rounds[i][k] <= results.bounds[i];
        }
        std::cout << " " << nAtBound << " |";
    }
    std::cout << std::endl;
}

/// Mean and worst ratio of each contender to the bound of any plan.
void
PrintRatios(const std::string& title, const Results& results)
{
    std::cout << "| " << title << " | " << results.bounds.size() << " |";
    for (std::size_t k = 0; k < results.names.size(); ++k)
    {
        Ratios ratios;
        for (std::size_t i = 0; i < results.bounds.size(); ++i)
        {
            ratios.Add(static_cast<double>(results.rounds[i][k]) / results.bounds[i]);
        }
        ratios.Print();
    }
    std::cout << std::endl;
}

/// Says where another scheduler of the module makes a shorter plan than hrl, the first contender.
void
PrintWhereLonger(const std::string& title, const Results& results)
{
    const std::vector<EvaluationCase>& cases = results.cases;
    const std::size_t nOthers = MakeOthers().size();
    std::vector<std::string> lines;
    double worst = 0;
    for (std::size_t i = 0; i < cases.size(); ++i)
    {
        const auto& rounds = results.rounds[i];
        const auto best = std::min_element(rounds.begin() + 1, rounds.begin() + 1 + nOthers);
        if (*best < rounds[0])
        {
            worst = std::max(worst, static_cast<double>(rounds[0]) / *best - 1);
            lines.push_back(cases[i].topology.GetName() +
                            ", m = " + std::to_string(cases[i].chunksPerServer) + ": hrl " +
                            std::to_string(rounds[0]) + ", " +
                            results.names[best - rounds.begin()] + " " + std::to_string(*best));
        }
    }
    std::cout << "\n"
              << title << ": another scheduler is shorter than hrl on " << lines.size() << " of "
              << cases.size() << " networks, by at most " << std::setprecision(1) << 100 * worst
              << " %" << std::endl;
    for (const std::string& line : lines)
    {
        std::cout << "- " << line << std::endl;
    }
}

void
PrintReference(const Options& options)
{
    std::cout << "\nRounds, m = auto; the bound holds for any schedule:" << std::endl;
    const Results results =
        Evaluate(MakeReferenceCases(), MakeAll(options.checkpoint), options.sweep);
    PrintRounds(results);
    PrintWhereLonger("Reference networks and fat-trees", results);
}

void
PrintNamed(const Options& options)
{
    std::cout << "\nRounds where much shorter plans are known to exist:" << std::endl;
    PrintRounds(Evaluate(MakeNamedCases(), MakeAll(options.checkpoint), options.sweep));
}

/// A set of networks under a title.
struct Group
{
    std::string title;                 //!< what they are
    std::vector<EvaluationCase> cases; //!< the networks
};

void
PrintGroups(const std::vector<Group>& groups,
            const std::vector<Contender>& contenders,
            const SweepOptions& options)
{
    std::vector<Results> results;
    for (const Group& group : groups)
    {
        results.push_back(Evaluate(group.cases, contenders, options));
    }
    PrintHeader(Join({"networks", "cases"}, results[0].names));
    for (std::size_t i = 0; i < groups.size(); ++i)
    {
        PrintRatios(groups[i].title, results[i]);
    }
    for (std::size_t i = 0; i < groups.size(); ++i)
    {
        PrintWhereLonger(groups[i].title, results[i]);
    }
}

void
PrintChanged(const Options& options)
{
    std::cout << "\nRounds over the bound of any plan on changed networks, mean (worst):"
              << std::endl;
    PrintGroups({{"5 or 10 % of the links lost, m = ports", MakeDegradedCases(1)},
                 {"30 % of the links twice as wide, m = ports", MakeMixedCases(1)}},
                MakeAll(options.checkpoint),
                options.sweep);
}

void
PrintManyChunks(const Options& options)
{
    std::cout << "\nThe same with many chunks, mean (worst):" << std::endl;
    PrintGroups({{"5 or 10 % of the links lost, 8 chunks per port", MakeDegradedCases(8)},
                 {"30 % of the links twice as wide, 8 chunks per port", MakeMixedCases(8)}},
                MakeSchedulers(options.checkpoint),
                options.sweep);
}

void
PrintUnseen(const Options& options)
{
    std::cout << "\nRounds over the bound of any plan on networks of random families, sizes and "
                 "changes, mean (worst):"
              << std::endl;
    PrintGroups({{"drawn by chance, 8 chunks per port", DrawUnseenCases(8)}},
                MakeSchedulers(options.checkpoint),
                options.sweep);
}

/// Take a link down that the servers can do without. @return whether there was one
bool
BreakLink(AllReduceState& state, std::mt19937_64& random)
{
    constexpr uint32_t MOST_TRIES = 1000;
    for (uint32_t i = 0; i < MOST_TRIES; ++i)
    {
        const LinkId link = random() % state.GetTopology().GetNLinks();
        state.SetLinkUp(link, false);
        if (MakeNetworkThatIsUp(state).AreServersConnected())
        {
            return true;
        }
        state.SetLinkUp(link, true);
    }
    return false;
}

/// Play rounds on a state.
void
Play(const std::vector<WorkloadList>& plan, std::size_t nRounds, AllReduceState& state)
{
    for (std::size_t round = 0; round < nRounds; ++round)
    {
        for (std::size_t i = 0; i < plan[round].GetSize(); ++i)
        {
            state.Start(plan[round].Get(i));
        }
        state.EndRound();
    }
}

/// @return a state after some rounds of a contender's plan, with a link that has just failed
AllReduceState
BreakInMidst(const EvaluationCase& evaluated, const Contender& contender, uint64_t seed)
{
    std::mt19937_64 random(seed);
    AllReduceState state(evaluated.topology, MakeRoots(evaluated));
    const std::vector<WorkloadList> plan = contender.plan(state);
    Play(plan, 1 + random() % (plan.size() - 1), state);
    if (!BreakLink(state, random))
    {
        FailInput(evaluated.topology.GetName(), ": no link can be lost");
    }
    return state;
}

/// @return rounds that a rest takes; played to its end
std::size_t
CountRestRounds(const Contender& contender, AllReduceState state)
{
    const std::vector<WorkloadList> plan = contender.plan(state);
    Play(plan, plan.size(), state);
    if (!state.IsDone())
    {
        FailInput(contender.name, ": a rest on ", state.GetTopology().GetName(), " is not all");
    }
    return plan.size();
}

/// @return rounds in which the neediest server can receive what it lacks, whatever the plan
uint64_t
BoundByNeediest(const AllReduceState& state)
{
    uint64_t bound = 1;
    for (NodeId server = 0; server < state.GetTopology().GetNServers(); ++server)
    {
        uint64_t nLacking = 0;
        for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
        {
            nLacking += !state.GetFinals().Test(server, chunk);
        }
        uint64_t capacity = 0;
        for (const Topology::Port& port : state.GetTopology().GetPorts(server))
        {
            capacity += state.GetCapacity(Reverse(port.out));
        }
        bound = std::max(bound, (nLacking + capacity - 1) / capacity);
    }
    return bound;
}

/// @return how many of the parts have a server with this chunk
uint64_t
CountParts(const BitMatrix& holders, ChunkId chunk, const std::vector<std::vector<NodeId>>& parts)
{
    return std::count_if(parts.begin(), parts.end(), [&](const std::vector<NodeId>& part) {
        return std::any_of(part.begin(), part.end(), [&](NodeId server) {
            return holders.Test(server, chunk);
        });
    });
}

/**
 * The bound by link prices (see FindLinkPrices) for what is left: a final sum must enter each part
 * that does not have it. Before it is final, a partial sum must leave all parts but one that have
 * one, and the final sum must then enter all parts but one. The cheapest tree has as many edges as
 * there are parts less one, all at the price of one crossing.
 */
uint64_t
BoundByPrices(const AllReduceState& state)
{
    const PriceBound prices = FindLinkPrices(MakeNetworkThatIsUp(state));
    const uint64_t nParts = prices.parts.size();
    uint64_t nCrossings = 0;
    for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
    {
        nCrossings += state.IsFinal(chunk)
                          ? nParts - CountParts(state.GetFinals(), chunk, prices.parts)
                          : CountParts(state.GetPartials(), chunk, prices.parts) - 1 + nParts - 1;
    }
    const uint64_t paid = nCrossings * prices.treePrice;
    const uint64_t offered = 2 * prices.widthPrice * (nParts - 1); // in a round, both directions
    return (paid + offered - 1) / offered;
}

void
PrintRests(const Options& options)
{
    std::cout
        << "\nRounds of the rest after a link was lost in the midst of hrl's plan, m = ports, "
           "mean (worst):"
        << std::endl;
    const std::vector<EvaluationCase> cases = MakeBreakableCases();
    const std::vector<Contender> contenders =
        Join({MakeHrl(options.checkpoint), MakeScheduled("greedy")},
             MakeControls(options.checkpoint));
    constexpr std::size_t GREEDY = 1;
    const Results toBound = Evaluate(cases, contenders, options.sweep, [&](std::size_t i) {
        const AllReduceState state = BreakInMidst(cases[i], contenders[0], i);
        Result result{std::max(BoundByNeediest(state), BoundByPrices(state)), {}};
        for (const Contender& contender : contenders)
        {
            result.rounds.push_back(CountRestRounds(contender, state));
        }
        return result;
    });
    Results toGreedy = toBound;
    for (std::size_t i = 0; i < toGreedy.bounds.size(); ++i)
    {
        toGreedy.bounds[i] = toBound.rounds[i][GREEDY];
    }
    PrintHeader(Join({"against", "cases"}, toBound.names));
    PrintRatios("bound of what is left", toBound);
    PrintRatios("greedy", toGreedy);
}

/// @return the most memory that the process had so far, in MB
long
GetPeakMemory()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

void
PrintTimes(const Options& options)
{
    if (MpiRanks::Get().GetRank() != 0)
    {
        return; // Who works beside it would disturb it.
    }
    std::cout
        << "\nPlanning time, one plan after another; the largest memory of the process so far:"
        << std::endl;
    std::vector<Contender> contenders = {MakeHrl(options.checkpoint)};
    for (const Contender& other : MakeOthers())
    {
        if (other.name == "forest" || other.name == "greedy")
        {
            contenders.push_back(other);
        }
    }
    PrintHeader({"network", "servers", "m", "scheduler", "rounds", "planning", "memory"});
    for (const EvaluationCase& evaluated : MakeLargeCases())
    {
        const AllReduceState state(evaluated.topology, MakeRoots(evaluated));
        for (const Contender& contender : contenders)
        {
            const auto begin = std::chrono::steady_clock::now();
            const AllReduceSchedule plan{state.GetRoots(), contender.plan(state)};
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
            const long memory = GetPeakMemory();
            const Verdict verdict = Verify(evaluated.topology, plan);
            if (!verdict.isCorrect)
            {
                FailInput(contender.name, ": ", verdict.reason);
            }
            std::cout << "| " << evaluated.topology.GetName() << " | "
                      << evaluated.topology.GetNServers() << " | " << evaluated.chunksPerServer
                      << " | " << contender.name << " | " << plan.rounds.size() << " | "
                      << std::fixed << std::setprecision(2) << time.count() << " s | " << memory
                      << " MB |" << std::endl;
        }
    }
}

void
PrintOnline(const Options& options)
{
    std::cout
        << "\nRounds over the bound of any plan, each chosen from the state that is there, next "
           "to a plan made beforehand, mean (worst):"
        << std::endl;
    std::vector<EvaluationCase> small = MakeReferenceCases();
    small.erase(small.begin() + 16, small.end()); // without the fat-trees
    const std::vector<Group> groups = {
        {"reference, m = auto", small},
        {"5 or 10 % of the links lost, m = ports", MakeDegradedCases(1)},
        {"30 % of the links twice as wide, m = ports", MakeMixedCases(1)}};
    const std::vector<Contender> contenders =
        Join({MakeHrl(options.checkpoint)}, MakeOnline(options.checkpoint));
    std::vector<std::string> columns{"networks", "cases"};
    for (const Contender& contender : contenders)
    {
        columns.push_back(contender.name);
    }
    PrintHeader(columns);
    for (const Group& group : groups)
    {
        PrintRatios(group.title, Evaluate(group.cases, contenders, options.sweep));
    }
}

void
PrintPart(const std::string& part, const Options& options)
{
    const std::map<std::string, void (*)(const Options&)> printers = {
        {"time", PrintTimes},
        {"reference", PrintReference},
        {"named", PrintNamed},
        {"changed", PrintChanged},
        {"many", PrintManyChunks},
        {"unseen", PrintUnseen},
        {"rests", PrintRests},
        {"online", PrintOnline},
    };
    const auto printer = printers.find(part);
    if (printer == printers.end())
    {
        FailInput("--parts \"",
                  part,
                  "\": expected time, reference, named, changed, many, unseen, rests or online");
    }
    printer->second(options);
}

int
Run(int argc, char* argv[])
{
    Options options;
    ProgramOptions parser("allreduce-evaluate-policies",
                          "tables of how good the policies are, next to their controls");
    parser.Add("parts",
               options.parts,
               ',',
               "time, reference, named, changed, many, unseen, rests, online");
    parser.Add("checkpoint", options.checkpoint, "the policies; default: the shipped ones");
    options.sweep.nJobs = std::max(1U, std::thread::hardware_concurrency());
    options.sweep.AddTo(parser);
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    options.sweep.Check(parser);
    if (options.checkpoint.empty())
    {
        options.checkpoint = FindShippedCheckpoint();
    }
    if (MpiRanks::Get().GetRank() != 0)
    {
        static std::stringbuf nowhere;
        std::cout.rdbuf(&nowhere); // The first rank has all results.
    }
    for (const std::string& part : options.parts)
    {
        PrintPart(part, options);
    }
    return g_hasFailed ? 1 : 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-evaluate-policies", [=] { return Run(argc, argv); });
}
