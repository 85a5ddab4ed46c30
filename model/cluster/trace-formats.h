/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRACE_FORMATS_H
#define ALLREDUCE_TRACE_FORMATS_H

#include "model-catalogue.h"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A job as far as public traces describe it.
struct TracedJob
{
    std::string name;                    //!< as the trace has it, or its line
    double submitSeconds{0};             //!< when it came
    uint32_t gpus{1};                    //!< how many it asked for
    const TrainingModel* model{nullptr}; //!< what it trains; nullptr: not said
    double stepSeconds{0};               //!< of a batch on one GPU; 0: not said
    uint64_t steps{0};                   //!< batches, over all GPUs; 0: not said
    uint64_t iterations{0};              //!< AllReduces; 0: not said
    double durationSeconds{0};           //!< with all its GPUs; 0: not said
};

/**
 * @ingroup allreduce
 *
 * @brief What a trace did not say and was assumed instead, and how many rows were left out.
 */
class TraceNotes
{
  public:
    /// @param assumption what was assumed; said once, however often it is
    void Say(const std::string& assumption);

    /// @param what is true of one more row
    void Count(const std::string& what);

    /// @return a line for each, in the order in which they came up
    std::vector<std::string> GetLines() const;

  private:
    std::vector<std::string> m_order;          //!< what came up
    std::map<std::string, uint64_t> m_nByNote; //!< how often, if rows are counted
};

/// @ingroup allreduce
/// A format of traces.
struct TraceFormat
{
    const char* name;      //!< before the colon in --jobs
    const char* extension; //!< of its files in a folder
    /// Reads a file; @throws InputError that names file and line
    std::vector<TracedJob> (*read)(std::istream& in, const std::string& name, TraceNotes& notes);
    /// @return whether a file that begins with this line is probably one
    bool (*isLikely)(const std::string& firstLine);
};

/// @ingroup allreduce
/// @return all formats
const std::vector<TraceFormat>& GetTraceFormats();

/// @ingroup allreduce
/// Philly's trace as Gavel publishes it: tab-separated, without header.
/// @copydetails TraceFormat::read
std::vector<TracedJob> ReadPhilly(std::istream& in, const std::string& name, TraceNotes& notes);

/// @ingroup allreduce
/// Tiresias' traces: CSV with a header.
/// @copydetails TraceFormat::read
std::vector<TracedJob> ReadTiresias(std::istream& in, const std::string& name, TraceNotes& notes);

/// @ingroup allreduce
/// SenseTime's Helios: cluster_log.csv.
/// @copydetails TraceFormat::read
std::vector<TracedJob> ReadHelios(std::istream& in, const std::string& name, TraceNotes& notes);

/// @ingroup allreduce
/// Alibaba's PAI of 2020: pai_task_table.csv, with or without its header.
/// @copydetails TraceFormat::read
std::vector<TracedJob> ReadPai(std::istream& in, const std::string& name, TraceNotes& notes);

/**
 * @ingroup allreduce
 *
 * @param text seconds
 * @param what they are, for messages
 * @return them
 * @throws InputError if they are more than a year
 */
double ParseDuration(std::string_view text, const std::string& what);

/**
 * @ingroup allreduce
 *
 * @param number GPUs of a job
 * @return the same
 * @throws InputError if no cluster has so many
 */
uint32_t CheckGpuCount(uint64_t number);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRACE_FORMATS_H */
