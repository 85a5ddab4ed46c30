/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TEST_UTILS_H
#define ALLREDUCE_TEST_UTILS_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"
#include "ns3/collective.h"
#include "ns3/test.h"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace ns3::allreduce
{

class AllReduceState;

/**
 * @ingroup allreduce-tests
 * Finds the name of a duration: a member of TestCase before ns-3.42, of TestCase::Duration since.
 *
 * @tparam T TestCase
 */
template <typename T, typename = void>
struct Durations
{
    static constexpr auto LONG = T::EXTENSIVE; //!< see EXTENSIVE
};

/// @copydoc Durations
template <typename T>
struct Durations<T, std::void_t<typename T::Duration>>
{
    static constexpr auto LONG = T::Duration::EXTENSIVE; //!< see EXTENSIVE
};

/// @ingroup allreduce-tests
/// For test cases of more than about two seconds: test.py runs them with --fullness=EXTENSIVE.
inline constexpr auto EXTENSIVE = Durations<TestCase>::LONG;

/// @ingroup allreduce-tests
/// The kinds of workloads, in short.
///@{
inline constexpr WorkloadKind REDUCE = WorkloadKind::REDUCE;
inline constexpr WorkloadKind BROADCAST = WorkloadKind::BROADCAST;
///@}

/// Random numbers of the tests: the same numbers on every machine.
using TestRandom = std::mt19937_64;

/**
 * @ingroup allreduce-tests
 *
 * @param random random numbers
 * @param limit 1 or more
 * @return a number below limit
 */
uint32_t Draw(TestRandom& random, uint32_t limit);

/**
 * @ingroup allreduce-tests
 *
 * @param call what to run
 * @return the message of the InputError that the call ends with, or "" if there is none
 */
std::string GetError(const std::function<void()>& call);

/**
 * @ingroup allreduce-tests
 *
 * @param text a text
 * @param part what may be in it
 * @return whether it is
 */
bool Contains(const std::string& text, const std::string& part);

/**
 * @ingroup allreduce-tests
 *
 * @param nServers number of servers
 * @param capacity of every link
 * @return servers around one switch
 */
Topology MakeTestStar(uint32_t nServers, uint32_t capacity = 1);

/**
 * @ingroup allreduce-tests
 *
 * @param nServers number of servers
 * @return servers in a row, each joined to the next by a link
 */
Topology MakeTestLine(uint32_t nServers);

/// @ingroup allreduce-tests
/// How large a random network may be.
struct RandomNetworkSize
{
    uint32_t mostServers{6};  //!< 2 to so many servers
    uint32_t mostSwitches{4}; //!< 0 to so many switches
    uint32_t mostCapacity{3}; //!< capacities from 1 to this
};

/**
 * @ingroup allreduce-tests
 *
 * @param random random numbers
 * @param size its limits
 * @return a connected network: a random tree of all nodes, and some links more
 */
Topology MakeRandomNetwork(TestRandom& random, const RandomNetworkSize& size = {});

/**
 * @ingroup allreduce-tests
 *
 * @return networks of all families: whole, with links lost and with links of two widths
 */
std::vector<Topology> MakeFamilies();

/**
 * @ingroup allreduce-tests
 *
 * @param random random numbers
 * @param nRandom how many random networks
 * @param size their limits
 * @return networks of all families, and such as nobody would build
 */
std::vector<Topology> MakeFamiliesAndRandom(TestRandom& random,
                                            uint32_t nRandom,
                                            const RandomNetworkSize& size = {});

/**
 * @ingroup allreduce-tests
 *
 * @param state how far an AllReduce has come
 * @return whether the links that are up join all servers
 */
bool AreServersConnected(const AllReduceState& state);

/**
 * @ingroup allreduce-tests
 *
 * @param topology a small network
 * @return all paths between two servers that visit no node twice and only switches inside
 */
std::vector<Path> FindAllPaths(const Topology& topology);

/// @ingroup allreduce-tests
/// A workload that owns its nodes, so that a test can change it at will.
struct OwnWorkload
{
    ChunkId chunk{0};                        //!< the chunk that moves
    WorkloadKind kind{WorkloadKind::REDUCE}; //!< merged or copied
    Path path;                               //!< from sender to receiver
    std::vector<NodeId> contributors;        //!< a reduce of only these; empty: of all held

    /// @return a view of this, valid as long as this is not changed
    Workload Get() const;
};

/// A round that can be changed.
using OwnRound = std::vector<OwnWorkload>;

/// @ingroup allreduce-tests
/// A schedule that can be changed.
struct OwnSchedule
{
    Collective collective;        //!< what is to be summed where
    std::vector<OwnRound> rounds; //!< the workloads of each round

    OwnSchedule() = default;
    /// A copy. @param schedule what to copy
    explicit OwnSchedule(const AllReduceSchedule& schedule);

    /// @return the same as the module's schedule
    AllReduceSchedule Get() const;
};

/**
 * @ingroup allreduce-tests
 *
 * @return names of all schedulers that plan without learning
 */
std::vector<std::string> GetNamesWithoutLearning();

/**
 * @ingroup allreduce-tests
 *
 * @param name the scheduler's name
 * @param topology the network
 * @param chunksPerServer number of chunks for each server
 * @param seed random seed of the scheduler
 * @return its plan for a whole AllReduce
 */
AllReduceSchedule PlanFromStart(const std::string& name,
                                const Topology& topology,
                                uint32_t chunksPerServer,
                                uint64_t seed = 1);

/**
 * @ingroup allreduce-tests
 *
 * @param x rounds
 * @param y other rounds
 * @return whether they are equal in every workload
 */
bool AreEqual(const std::vector<WorkloadList>& x, const std::vector<WorkloadList>& y);

/**
 * @ingroup allreduce-tests
 *
 * Carry out a schedule with numbers. Every server begins with a random number for every chunk;
 * workloads move and add these as they say, whether that makes sense or not. Knows nothing of the
 * rules of AllReduceState and of the verifier but for paths and capacities.
 *
 * @param topology the network
 * @param schedule any schedule, however corrupted
 * @return what went wrong: a path that is not possible, a link over capacity, or a server that
 * does not end with the exact sum; "" if nothing did
 */
std::string ExecuteWithNumbers(const Topology& topology, const OwnSchedule& schedule);

/**
 * @ingroup allreduce-tests
 *
 * Carry out a schedule on an AllReduceState.
 *
 * @param topology the network
 * @param schedule any schedule
 * @return why a workload was not legal, or what is missing in the end; "" if all went well
 */
std::string ExecuteOnState(const Topology& topology, const OwnSchedule& schedule);

/**
 * @ingroup allreduce-tests
 *
 * @param topology the network
 * @param schedule a schedule on it
 * @return the bytes of its file
 */
std::string FormatSchedule(const Topology& topology, const AllReduceSchedule& schedule);

/**
 * @ingroup allreduce-tests
 *
 * Draw a correct schedule in which anything legal happens: partial sums that go round in circles,
 * swaps, several workloads between the same servers in a round.
 *
 * @param topology a small network
 * @param hasParts whether reduces name contributors, which are kept apart then
 * @param random random numbers
 * @return the schedule
 */
AllReduceSchedule MakeRandomSchedule(const Topology& topology, bool hasParts, TestRandom& random);

/**
 * @ingroup allreduce-tests
 *
 * @param topology a network
 * @param random random numbers
 * @return what is to be summed where: an AllReduce of all servers, or groups that do any
 * collective, on some of the servers; it may need relays that it may not have
 */
Collective DrawCollective(const Topology& topology, TestRandom& random);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TEST_UTILS_H */
