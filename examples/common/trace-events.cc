/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "trace-events.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

namespace ns3::allreduce
{

namespace
{

using Json = nlohmann::ordered_json;

/// Writes events one after another; process 0 has the rounds, process s + 1 is server s.
class EventWriter
{
  public:
    explicit EventWriter(std::ostream& out)
        : m_out(out)
    {
        m_out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
        NameProcess(0, "rounds");
    }

    ~EventWriter()
    {
        m_out << "\n]}\n";
    }

    EventWriter(const EventWriter&) = delete;
    EventWriter& operator=(const EventWriter&) = delete;

    void AddRound(const RoundSpan& span)
    {
        Json event = MakeSpan("round " + std::to_string(span.round), span.begin, span.duration);
        event["cat"] = "round";
        event["pid"] = 0;
        event["tid"] = 0;
        Write(event);
    }

    /// @param flow a flow
    /// @param fate "", or what became of it if it did not arrive
    void AddFlow(const AllReduceFlow& flow, const std::string& fate)
    {
        const std::string kind = ToString(flow.kind);
        const uint32_t thread = FindThread(flow);
        const std::string name = kind + " chunk " + std::to_string(flow.chunk);
        Json event = MakeSpan(fate.empty() ? name : fate + " " + name, flow.begin, flow.duration);
        event["cat"] = fate.empty() ? kind : fate;
        event["pid"] = flow.source + 1;
        event["tid"] = thread;
        event["args"] = {{"to", flow.target}, {"bytes", flow.bytes}};
        Write(event);
    }

    /// An instant that concerns all rows.
    void AddMark(const RunMark& mark)
    {
        Write({{"name", mark.Describe()},
               {"ph", "i"},
               {"s", "g"},
               {"ts", GetMicroSeconds(mark.time)},
               {"cat", mark.kind == RunMark::REPLANNED ? "plan" : "link"},
               {"pid", 0},
               {"tid", 0}});
    }

  private:
    static double GetMicroSeconds(Time time)
    {
        constexpr double NS_PER_US = 1000;
        return time.GetNanoSeconds() / NS_PER_US;
    }

    static Json MakeSpan(const std::string& name, Time begin, Time duration)
    {
        return {{"name", name},
                {"ph", "X"},
                {"ts", GetMicroSeconds(begin)},
                {"dur", GetMicroSeconds(duration)}};
    }

    /// @return a thread of the sender that is free when the flow begins
    uint32_t FindThread(const AllReduceFlow& flow)
    {
        std::vector<Time>& ends = m_threadEnds[flow.source];
        if (ends.empty())
        {
            NameProcess(flow.source + 1, "server " + std::to_string(flow.source));
        }
        const auto isFree = [&](const Time& end) { return end <= flow.begin; };
        const auto thread = std::find_if(ends.begin(), ends.end(), isFree);
        const uint32_t index = thread - ends.begin();
        ends.resize(std::max<std::size_t>(ends.size(), index + 1));
        ends[index] = flow.begin + flow.duration;
        return index;
    }

    void NameProcess(uint32_t process, const std::string& name)
    {
        Write({{"name", "process_name"},
               {"ph", "M"},
               {"pid", process},
               {"tid", 0},
               {"args", {{"name", name}}}});
        Write({{"name", "process_sort_index"},
               {"ph", "M"},
               {"pid", process},
               {"tid", 0},
               {"args", {{"sort_index", process}}}});
    }

    void Write(const Json& event)
    {
        m_out << (m_isFirst ? "" : ",\n")
              << event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
        m_isFirst = false;
    }

    std::ostream& m_out;                              //!< where to write
    bool m_isFirst{true};                             //!< no event yet
    std::map<NodeId, std::vector<Time>> m_threadEnds; //!< when the threads of a sender are free
};

/// A flow, and "" or what became of it if it did not arrive.
using FlowAndFate = std::pair<const AllReduceFlow*, const char*>;

void
AddFlows(std::vector<FlowAndFate>& all, const std::vector<AllReduceFlow>& flows, const char* fate)
{
    for (const AllReduceFlow& flow : flows)
    {
        all.emplace_back(&flow, fate);
    }
}

} // namespace

void
WriteTraceEvents(const ExperimentResult& result, std::ostream& out)
{
    std::vector<FlowAndFate> flows;
    AddFlows(flows, result.flows, "");
    AddFlows(flows, result.abortedFlows, "aborted");
    AddFlows(flows, result.unfinishedFlows, "unfinished");
    std::stable_sort(flows.begin(), flows.end(), [](const auto& x, const auto& y) {
        return x.first->begin < y.first->begin;
    });
    EventWriter writer(out);
    for (const RoundSpan& span : result.roundSpans)
    {
        writer.AddRound(span);
    }
    for (const RunMark& mark : result.marks)
    {
        writer.AddMark(mark);
    }
    for (const auto& [flow, fate] : flows)
    {
        writer.AddFlow(*flow, fate);
    }
}

void
WriteTraceEvents(const AllReduceSchedule& schedule, std::ostream& out)
{
    const Time length = MilliSeconds(1);
    ExperimentResult result;
    for (uint32_t round = 0; round < schedule.rounds.size(); ++round)
    {
        const Time begin = length * int64_t{round};
        const WorkloadList& workloads = schedule.rounds[round];
        for (std::size_t i = 0; i < workloads.GetSize(); ++i)
        {
            const Workload workload = workloads.Get(i);
            result.flows.push_back({workload.chunk,
                                    workload.kind,
                                    workload.GetSource(),
                                    workload.GetTarget(),
                                    0,
                                    begin,
                                    length});
        }
        result.roundSpans.push_back({round, begin, length});
    }
    WriteTraceEvents(result, out);
}

} // namespace ns3::allreduce
