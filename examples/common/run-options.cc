/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-transport.h"
#include "ns3/allreduce-units.h"
#include "ns3/distributed-run.h"
#include "ns3/input-file.h"
#include "ns3/network-partition.h"
#include "ns3/nstime.h"
#include "ns3/topology-modifiers.h"

#include <boost/algorithm/string/join.hpp>
#include <cmath>
#include <limits>

namespace ns3::allreduce
{

namespace
{

/// A unit of size.
struct Unit
{
    const char* name; //!< its name
    uint64_t bytes;   //!< how many bytes it is
};

constexpr Unit UNITS[] = {
    {"GiB", uint64_t{1} << 30},
    {"MiB", uint64_t{1} << 20},
    {"KiB", uint64_t{1} << 10},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"kB", 1'000},
    {"B", 1},
    {"", 1},
};

/// A larger frame with its tags does not fit into a message of ns-3's MPI interface if its bytes
/// matter, or TCP has put segments together; else ns-3 sends only their number.
constexpr uint32_t MOST_CARRIED_BYTES = 1500;

/// @return a size in a unit, with up to three decimals if it is a decimal one; "" if that is not
/// exact, or less than one
std::string
FormatIn(uint64_t bytes, const Unit& unit)
{
    const bool isDecimal = unit.bytes % 1000 == 0;
    const uint64_t step = isDecimal ? unit.bytes / 1000 : unit.bytes;
    if (bytes < unit.bytes || bytes % step != 0 || *unit.name == '\0')
    {
        return "";
    }
    std::string text = std::to_string(bytes / unit.bytes);
    if (const uint64_t thousandths = bytes % unit.bytes / step; thousandths > 0)
    {
        text += "." + std::to_string(1000 + thousandths).substr(1);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text + unit.name;
}

/// What an option's whole number may be.
void
CheckRange(const char* option, uint64_t value, uint64_t least, uint64_t most)
{
    if (value < least || value > most)
    {
        FailInput(option, " \"", value, "\": expected ", least, " to ", most);
    }
}

/// @return whether a type of transports has no use for TCP
bool
SendsDatagrams(TypeId transport)
{
    return transport.IsChildOf(TypeId::LookupByName("ns3::allreduce::DatagramTransport"));
}

} // namespace

uint64_t
ParseSize(const std::string& text, const std::string& what)
{
    const std::size_t end = text.find_first_not_of("0123456789.");
    const std::string number = text.substr(0, end);
    const std::string suffix = end == std::string::npos ? "" : text.substr(end);
    for (const Unit& unit : UNITS)
    {
        if (suffix == unit.name && !number.empty() && number != ".")
        {
            char* rest = nullptr;
            const double bytes = std::strtod(number.c_str(), &rest) * unit.bytes;
            constexpr double MOST = uint64_t{1} << 50;
            // 1.001GB is not exactly so much in binary.
            const bool isWhole = std::abs(bytes - std::round(bytes)) <= 1e-12 * bytes;
            if (*rest == '\0' && bytes >= 1 && bytes <= MOST && isWhole)
            {
                return std::llround(bytes);
            }
        }
    }
    FailInput(what, " ", Quote(text), ": expected a size of 1 byte or more, as 100MiB or 1KiB");
}

std::string
FormatSize(uint64_t bytes)
{
    std::string shortest = std::to_string(bytes) + "B";
    for (const Unit& unit : UNITS)
    {
        const std::string text = FormatIn(bytes, unit);
        shortest = !text.empty() && text.size() < shortest.size() ? text : shortest;
    }
    return shortest;
}

void
RunOptions::AddTo(ProgramOptions& options)
{
    options.Add("transport",
                transport,
                boost::algorithm::join(GetTransportNames(), ", ") + ", or a TypeId name");
    options.Add("sync", sync, "barrier (round by round) or dependency (as soon as possible)");
    options.Add("control", control, "ideal, or packets: grants and barriers are messages, too");
    options.Add("adapt",
                adapt,
                "if the network is not what was announced: none, replan (plan what is left for the "
                "rates that were seen) or live (choose whenever a port is free; for "
                "--sync=dependency)");
    options.Add("frame", frame, "largest packet on a link, in bytes");
    options.Add("queue",
                queue,
                "what a device's queue holds: packets, or bytes as 1MB; auto: as rates and delays "
                "of the links ask for");
    options.Add("rate",
                rate,
                "rate of a unit flow (a link of capacity 1), as 10Gbps; all links change by the "
                "same factor; default: as the topology says");
    options.Add("delay", delay, "delay of all links, as 1us; default: as the topology says");
    options.Add("iterations", iterations, "AllReduces one after another");
    options.Add("compute-time", computeTime, "time between them, as 5ms");
    options.Add("watchdog", watchdog, "fail if nothing arrives for so long; 0: choose");
    options.Add("verify-data", verifyData, "carry real numbers, add and compare them");
    options.Add("links",
                showLinks,
                "report bytes, use and queue peak of the ten busiest links (in JSON: of all)");
    options.Add("flow-monitor", flowMonitor, "write FlowMonitor's XML to this file");
    options.Add(
        "full-stack",
        fullStack,
        "packets pass ns-3's own devices and the IP stack of every node: slower, same times");
    faults.AddTo(options);
}

void
RunOptions::Check() const
{
    const bool usesIp = CreateTransport(transport)->UsesIp();
    GetSync();
    GetControl();
    CheckAdaptation();
    CheckRange("--frame", frame, 128, std::numeric_limits<uint16_t>::max());
    CheckQueue();
    CheckRange("--iterations", iterations, 1, 1'000'000);
    ParseTime(computeTime, "--compute-time");
    ParseTime(watchdog, "--watchdog");
    faults.Check();
    if (nRanks > 1)
    {
        CheckRanks();
    }
    else if (!partition.empty())
    {
        FailInput("--partition: has no effect in one process, expected mpirun -np K before the "
                  "command");
    }
    if (nRanks == 1 && IsSimulatorDistributed())
    {
        FailInput("--SimulatorImplementationType: needs several processes, expected mpirun -np K "
                  "before the command");
    }
    if (!flowMonitor.empty() && !usesIp)
    {
        FailInput("--flow-monitor: FlowMonitor sees IP packets only, and --transport=",
                  transport,
                  " sends none");
    }
}

void
RunOptions::CheckReport(const std::string& report) const
{
    if (!report.empty() && GetAdaptation() == AllReduceSession::LIVE)
    {
        FailInput(
            "--report: a page plays rounds, and --adapt=live has none; expected --trace-json");
    }
}

void
RunOptions::CheckAdaptation() const
{
    const AllReduceSession::Adaptation adaptation = GetAdaptation();
    if (adaptation == AllReduceSession::LIVE && GetSync() == AllReduceSession::BARRIER)
    {
        FailInput("--adapt=live: has no rounds, expected --sync=dependency");
    }
    if (adaptation != AllReduceSession::NO_ADAPTATION && GetControl() == AllReduceSession::PACKETS)
    {
        FailInput("--adapt=",
                  adapt,
                  ": what is believed does not travel as messages, expected --control=ideal");
    }
    if (adaptation != AllReduceSession::NO_ADAPTATION && nRanks > 1)
    {
        FailInput("--adapt=",
                  adapt,
                  ": not possible in ",
                  nRanks,
                  " processes, where none sees all flows; expected none");
    }
}

void
RunOptions::CheckIterations() const
{
    if (iterations == 1 && ParseTime(computeTime, "--compute-time") > 0)
    {
        FailInput(
            "--compute-time: has no effect on one AllReduce, expected 2 --iterations or more");
    }
}

void
RunOptions::CheckAttributes(const std::set<std::string>& classes) const
{
    const TypeId chosen = CreateTransport(transport)->GetInstanceTypeId();
    const TypeId any = TypeId::LookupByName("ns3::allreduce::AllReduceTransport");
    for (const std::string& name : classes)
    {
        const TypeId type = TypeId::LookupByName(name);
        const bool isOfOther = type.IsChildOf(any) && type != chosen && !chosen.IsChildOf(type);
        const bool isOfTcp = name.compare(0, 8, "ns3::Tcp") == 0;
        if (isOfOther || (isOfTcp && SendsDatagrams(chosen)))
        {
            FailInput("--", name, ": has no effect with --transport=", transport);
        }
    }
}

void
RunOptions::CheckRanks() const
{
    if (!HasMpi())
    {
        FailInput("started in ",
                  nRanks,
                  " processes, but ns-3 was built without MPI: expected one, or an ns-3 tree that "
                  "was configured with --enable-mpi");
    }
    const auto refuse = [this](bool isRefused, const std::string& what, const std::string& why) {
        if (isRefused)
        {
            FailInput(what, ": not possible in ", nRanks, " processes, ", why);
        }
    };
    refuse(GetControl() != AllReduceSession::PACKETS,
           "--control=ideal",
           "where no process sees all servers; expected --control=packets");
    refuse(GetSync() != AllReduceSession::BARRIER,
           "--sync=dependency",
           "where receivers do not see when senders are done; expected --sync=barrier");
    refuse(iterations > 1,
           "--iterations",
           "where servers do not know at once that an AllReduce is over; expected 1");
    refuse(!faults.fail.empty(), "--fail", "because what is left is planned with a view of all");
    refuse(!faults.failRandom.empty(),
           "--fail-random",
           "because what is left is planned with a view of all");
    const std::string end = "where the end is agreed on by rates that do not change";
    refuse(faults.ChangesRates(), "--slow=...@TIME", end);
    refuse(!faults.bursts.empty(), "--bursts", end);
    refuse(!faults.late.empty(), "--late", "where servers do not know who was ready first");
    refuse(faults.GetBackground() > 0, "--background", "where its ends would not know each other");
    refuse(!flowMonitor.empty(),
           "--flow-monitor",
           "where FlowMonitor sees only a part of each way");
    const std::string why = "because ns-3 passes at most 2000 bytes on; expected --frame=" +
                            std::to_string(MOST_CARRIED_BYTES) + " or less";
    const bool isDatagrams = SendsDatagrams(CreateTransport(transport)->GetInstanceTypeId());
    refuse(verifyData && frame > MOST_CARRIED_BYTES, "--verify-data", why);
    refuse(!isDatagrams && frame > MOST_CARRIED_BYTES, "--transport=" + transport, why);
}

void
RunOptions::CheckFor(const Topology& topology) const
{
    ExperimentSettings ignored;
    faults.SetFaults(MakeActual(topology), ignored);
}

void
RunOptions::CheckQueue() const
{
    const std::optional<QueueSize> size = GetQueue();
    // Links add two bytes of PPP to a packet.
    if (size && size->GetUnit() == QueueSizeUnit::BYTES && size->GetValue() < frame + 2U)
    {
        FailInput("--queue=",
                  queue,
                  ": does not hold a frame, expected ",
                  frame + 2U,
                  " bytes or more for --frame=",
                  frame);
    }
    const bool holdsOne =
        size && size->GetValue() < 2 * (size->GetUnit() == QueueSizeUnit::BYTES ? frame : 1);
    if (holdsOne && faults.GetBackground() > 0 && transport == "tcp")
    {
        FailInput("--queue=",
                  queue,
                  ": TCP loses nearly every window to --background, expected 2 packets or more, or "
                  "--transport=udp or raw");
    }
}

std::optional<QueueSize>
RunOptions::GetQueue() const
{
    if (queue == "auto")
    {
        return std::nullopt;
    }
    constexpr uint64_t MOST_PACKETS = 1'000'000;
    constexpr uint64_t MOST_BYTES = std::numeric_limits<uint32_t>::max();
    const bool isPackets = queue.find_first_not_of("0123456789") == std::string::npos;
    const bool isZero = queue.find_first_not_of('0') == std::string::npos;
    const uint64_t size = isZero ? 0 : ParseSize(queue, "--queue");
    if (size < 1 || size > (isPackets ? MOST_PACKETS : MOST_BYTES))
    {
        FailInput("--queue ",
                  Quote(queue),
                  ": expected 1 to ",
                  MOST_PACKETS,
                  " packets, less than 4GiB as 1MB, or auto");
    }
    return QueueSize(isPackets ? QueueSizeUnit::PACKETS : QueueSizeUnit::BYTES, size);
}

ExperimentSettings
RunOptions::MakeSettings(const Topology& topology) const
{
    ExperimentSettings settings;
    settings.transport = transport;
    settings.sync = GetSync();
    settings.control = GetControl();
    settings.adapt = GetAdaptation();
    settings.frame = frame;
    settings.iterations = iterations;
    settings.computeTime = NanoSeconds(ParseTime(computeTime));
    settings.watchdog = NanoSeconds(ParseTime(watchdog));
    settings.verifyData = verifyData;
    settings.recordsFlows = recordsFlows;
    settings.queue = GetQueue();
    settings.isLight = IsLight();
    // What is the same in several processes must not hang on the order of events.
    settings.isOrdered = settings.control == AllReduceSession::PACKETS && !isAnimated;
    settings.background = faults.GetBackground();
    faults.SetFaults(topology, settings);
    settings.nRanks = nRanks;
    if (!partition.empty())
    {
        InputFile file(partition, "--partition: file");
        settings.partition =
            ReadPartition(file, "--partition: file " + NamePath(partition), topology, nRanks);
    }
    settings.prepare = prepare;
    return settings;
}

bool
RunOptions::IsLight() const
{
    return !fullStack && flowMonitor.empty();
}

AllReduceSession::Sync
RunOptions::GetSync() const
{
    if (sync == "barrier")
    {
        return AllReduceSession::BARRIER;
    }
    if (sync == "dependency")
    {
        return AllReduceSession::DEPENDENCY;
    }
    FailInput("--sync ", Quote(sync), ": expected barrier or dependency");
}

AllReduceSession::Adaptation
RunOptions::GetAdaptation() const
{
    if (adapt == "none")
    {
        return AllReduceSession::NO_ADAPTATION;
    }
    if (adapt == "replan")
    {
        return AllReduceSession::REPLAN;
    }
    if (adapt == "live")
    {
        return AllReduceSession::LIVE;
    }
    FailInput("--adapt ", Quote(adapt), ": expected none, replan or live");
}

AllReduceSession::Control
RunOptions::GetControl() const
{
    if (control == "ideal")
    {
        return AllReduceSession::IDEAL;
    }
    if (control == "packets")
    {
        return AllReduceSession::PACKETS;
    }
    FailInput("--control ", Quote(control), ": expected ideal or packets");
}

Topology
RunOptions::MakeNominal(const Topology& topology) const
{
    Topology changed = topology;
    if (!rate.empty())
    {
        changed = WithUnitRate(changed, ParseRate(rate, "--rate"));
    }
    if (!delay.empty())
    {
        changed = WithDelay(changed, ParseTime(delay, "--delay"));
    }
    return changed;
}

Topology
RunOptions::MakeAnnounced(const Topology& topology) const
{
    const Topology nominal = MakeNominal(topology);
    return faults.known ? faults.ApplySlow(nominal) : nominal;
}

Topology
RunOptions::MakeActual(const Topology& topology) const
{
    return faults.ApplySlow(MakeNominal(topology));
}

} // namespace ns3::allreduce
