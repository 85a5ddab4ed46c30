/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RUN_OPTIONS_H
#define ALLREDUCE_RUN_OPTIONS_H

#include "allreduce-program-options.h"
#include "fault-options.h"

#include "ns3/allreduce-experiment.h"
#include "ns3/allreduce-session.h"
#include "ns3/allreduce-topology.h"
#include "ns3/queue-size.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace ns3::allreduce
{

/**
 * @param text a size as "100MiB", "1KiB", "2GiB", "5MB" or a plain number of bytes
 * @param what what the size is, for the message
 * @return bytes, 1 or more
 * @throws InputError that names both
 */
uint64_t ParseSize(const std::string& text, const std::string& what);

/**
 * @param bytes a size
 * @return the shortest exact text, as "100MiB" or "1.2GB"
 */
std::string FormatSize(uint64_t bytes);

/**
 * @brief The options that say how AllReduces are run packet by packet.
 */
struct RunOptions
{
    std::string transport{"tcp"}; //!< as CreateTransport takes it
    std::string sync{"barrier"};  //!< barrier or dependency
    uint32_t frame{9000};         //!< MTU of the devices
    std::string queue{"auto"};    //!< what a device's queue holds: packets, or bytes with a unit
    std::string rate;             //!< rate of a unit flow; empty: as the topology says
    std::string delay;            //!< delay of all links; empty: as the topology says
    uint32_t iterations{1};       //!< AllReduces one after another
    std::string computeTime{"0"}; //!< between them
    std::string control{"ideal"}; //!< ideal or packets
    std::string adapt{"none"};    //!< none, replan or live
    std::string watchdog{"0"};    //!< see the attribute Watchdog
    bool verifyData{false};       //!< carry real numbers
    bool showLinks{false};        //!< report all links
    std::string flowMonitor;      //!< where FlowMonitor writes its XML
    bool fullStack{false};        //!< ns-3's devices, and every node's stack
    FaultOptions faults;          //!< what goes wrong
    std::string partition;        //!< file that says who simulates what; an option where ranks are
    uint32_t nRanks{1};           //!< processes that simulate together; for programs, not an option
    bool isAnimated{false};   //!< NetAnim listens to ns-3's channels; for programs, not an option
    bool showProgress{true};  //!< on a terminal; for programs, not an option
    bool recordsFlows{false}; //!< keep all flows and rounds; for programs, not an option
    /// Told of a network that has been built; what it returns lives as long as the simulation. For
    /// programs, not an option.
    std::function<std::shared_ptr<void>(TopologyHelper&)> prepare;

    /**
     * Add the options to a program's.
     *
     * @param options the program's
     */
    void AddTo(ProgramOptions& options);

    /**
     * Refuse what is not possible, before anything is built.
     *
     * @throws InputError that names the option
     */
    void Check() const;

    /**
     * Refuse what would have no effect on AllReduces one after another.
     *
     * @throws InputError that names the option
     */
    void CheckIterations() const;

    /**
     * Refuse attributes of ns-3 that would have no effect: those of TCP, and of transports, where
     * another one carries the data.
     *
     * @param classes of which attributes were given
     * @throws InputError that names the class
     */
    void CheckAttributes(const std::set<std::string>& classes) const;

    /**
     * Refuse what is not possible on a network, before anything is run.
     *
     * @param topology the network
     * @throws InputError that names the option
     */
    void CheckFor(const Topology& topology) const;

    /**
     * @param topology a network
     * @return what planners are told: the same with the rates and delays asked for, and with slow
     *         links if they are known
     * @throws InputError that names the option
     */
    Topology MakeAnnounced(const Topology& topology) const;

    /**
     * @param topology a network
     * @return what is simulated: the announced network with the links that are slow all the time
     * @throws InputError that names the option
     */
    Topology MakeActual(const Topology& topology) const;

    /**
     * @param topology a network
     * @return the same with the rates and delays asked for
     * @throws InputError that names the option
     */
    Topology MakeNominal(const Topology& topology) const;

    /**
     * @param topology the actual network
     * @return the same as settings of an experiment
     * @throws InputError that names the option
     */
    ExperimentSettings MakeSettings(const Topology& topology) const;

    /// @return whether TopologyHelper::SetLight shall be true
    bool IsLight() const;

    /// Refuse adaptation where it is not possible.
    /// @throws InputError that names the option
    void CheckAdaptation() const;

    /**
     * Refuse pages of what they cannot show.
     *
     * @param report where the page goes; empty: nowhere
     * @throws InputError that names the option
     */
    void CheckReport(const std::string& report) const;

    /**
     * Refuse what several ranks cannot do.
     *
     * @throws InputError that names the option
     */
    void CheckRanks() const;

    /// Refuse queues in which the transport would not get on.
    /// @throws InputError that names the option
    void CheckQueue() const;

    /// @return the value of the session's attribute Sync
    AllReduceSession::Sync GetSync() const;

    /// @return the value of the session's attribute Adapt
    /// @throws InputError that names the option
    AllReduceSession::Adaptation GetAdaptation() const;

    /// @return the value of the session's attribute Control
    AllReduceSession::Control GetControl() const;

    /**
     * @return what a device's queue holds; none: what follows from rates and delays
     * @throws InputError if the text is not possible
     */
    std::optional<QueueSize> GetQueue() const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RUN_OPTIONS_H */
