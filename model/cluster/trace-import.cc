/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "trace-import.h"

#include "job-trace.h"
#include "trace-formats.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/input-file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace ns3::allreduce
{

const char* const JOBS_GRAMMAR =
    "FILE with our CSV, or a public trace: philly:FILE, tiresias:FILE, helios:FILE or pai:FILE, "
    "where a folder stands for its files .trace (philly) or .csv";

namespace
{

/// @return the files that a path stands for
std::vector<std::string>
FindFiles(const TraceFormat& format, const std::string& path)
{
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored))
    {
        return {path};
    }
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path))
    {
        if (entry.path().extension() == format.extension)
        {
            files.push_back(entry.path());
        }
    }
    if (files.empty())
    {
        FailInput("folder ", NamePath(path), ": no file ends in ", format.extension);
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<TracedJob>
ReadFiles(const TraceFormat& format, const std::vector<std::string>& files, TraceNotes& notes)
{
    std::vector<TracedJob> jobs;
    for (const std::string& file : files)
    {
        InputFile in(file, "job file");
        std::vector<TracedJob> more = format.read(in, NamePath(file), notes);
        const std::string stem = std::filesystem::path(file).stem();
        for (TracedJob& job : more)
        {
            job.name = files.size() > 1 ? stem + "-" + job.name : job.name;
        }
        std::move(more.begin(), more.end(), std::back_inserter(jobs));
    }
    if (jobs.empty())
    {
        FailInput("job file ", NamePath(files.front()), ": there are no jobs");
    }
    return jobs;
}

/// Turns what a trace says into what a job is made of.
class JobMaker
{
  public:
    JobMaker(const TraceSettings& settings, TraceNotes& notes)
        : m_settings(settings),
          m_notes(notes),
          m_model(FindModel(settings.model))
    {
        if (m_model.steps.empty())
        {
            FailInput("model ", m_model.name, ": the time of its steps is not known");
        }
    }

    Job Make(const TracedJob& traced, double firstSubmit)
    {
        Job job;
        job.name = traced.name;
        job.arrivalSlot = FindSlot(traced, firstSubmit);
        job.minWorkers = m_settings.isElastic ? 1 : traced.gpus;
        job.maxWorkers = traced.gpus;
        job.bandwidthBps = m_settings.bandwidthBps;
        job.gradientBytes = GetModel(traced).GetGradientBytes();
        job.targetIterations = 1;
        SetWork(traced, job);
        return job;
    }

    /// Says what holds for all jobs.
    void SayAll()
    {
        std::ostringstream text;
        text << "slots of " << m_settings.slotSeconds
             << " s: a job can run from the first that begins after its arrival on, and its "
                "completion time counts from there";
        m_notes.Say(text.str());
        m_notes.Say("a gradient has 4 bytes for each parameter; a forward pass takes a third of a "
                    "step, and there is no overhead besides");
        m_notes.Say("rings reserve " + FormatRate(m_settings.bandwidthBps) + " (--job-bandwidth)");
        m_notes.Say(m_settings.isElastic
                        ? "jobs run with any number of GPUs up to what they asked for (--gang)"
                        : "jobs run with as many GPUs as they asked for (--gang)");
    }

  private:
    uint32_t FindSlot(const TracedJob& traced, double firstSubmit) const
    {
        const double seconds = (traced.submitSeconds - firstSubmit) / m_settings.arrivalSpeed;
        const double slot = std::ceil(seconds / m_settings.slotSeconds);
        if (slot >= std::numeric_limits<uint32_t>::max())
        {
            FailInput("job ",
                      Quote(traced.name),
                      ": arrives ",
                      seconds,
                      " s after the first, expected less than 4294967295 slots");
        }
        return slot;
    }

    const TrainingModel& GetModel(const TracedJob& traced)
    {
        if (!traced.model)
        {
            m_notes.Say("the trace names no models: all jobs train " + m_model.name +
                        " with a batch of " + std::to_string(m_model.steps.back().batch) +
                        " on each GPU (--trace-model)");
        }
        return traced.model ? *traced.model : m_model;
    }

    /// Sets iterations and the time of a batch of all GPUs.
    void SetWork(const TracedJob& traced, Job& job)
    {
        const double communication =
            GetIterationTime(job, traced.gpus, job.bandwidthBps, m_settings.reduceBytesPerSecond)
                .GetTotal();
        double step = traced.stepSeconds > 0 ? traced.stepSeconds : m_model.steps.back().seconds;
        double iterations = traced.iterations;
        if (traced.steps > 0)
        {
            iterations = std::ceil(double(traced.steps) / traced.gpus);
        }
        else if (traced.iterations > 0)
        {
            const double tau = traced.durationSeconds / traced.iterations;
            if (tau < 2 * communication)
            {
                m_notes.Count("an iteration takes less than twice as long as the AllReduce of its "
                              "model: half of the trace's time is computing, and the job slower");
            }
            step = std::max(tau - communication, tau / 2);
        }
        else
        {
            iterations = std::round(traced.durationSeconds / (step + communication));
            m_notes.Say("durations become iterations by the time of a step, and of an AllReduce "
                        "of all GPUs");
        }
        job.targetIterations = std::max(1.0, iterations);
        job.forwardSeconds = step * traced.gpus / 3;
        job.backwardSeconds = step * traced.gpus - job.forwardSeconds;
    }

    const TraceSettings& m_settings; //!< what traces do not say
    TraceNotes& m_notes;             //!< what was assumed
    const TrainingModel& m_model;    //!< of jobs whose model is not said
};

void
CheckSettings(const TraceSettings& settings)
{
    if (!(settings.arrivalSpeed > 0 && std::isfinite(settings.arrivalSpeed)))
    {
        FailInput("arrival speed ", settings.arrivalSpeed, ": expected more than 0");
    }
}

ImportedTrace
ReadTrace(const TraceFormat& format, const std::string& path, const TraceSettings& settings)
{
    CheckSettings(settings);
    TraceNotes notes;
    JobMaker maker(settings, notes);
    const std::vector<TracedJob> traced = ReadFiles(format, FindFiles(format, path), notes);
    double first = std::numeric_limits<double>::infinity();
    for (const TracedJob& job : traced)
    {
        first = std::min(first, job.submitSeconds);
    }
    maker.SayAll();
    ImportedTrace trace;
    trace.jobs.reserve(traced.size());
    for (const TracedJob& job : traced)
    {
        trace.jobs.push_back(maker.Make(job, first));
    }
    std::stable_sort(trace.jobs.begin(), trace.jobs.end(), [](const Job& x, const Job& y) {
        return x.arrivalSlot < y.arrivalSlot;
    });
    trace.notes = notes.GetLines();
    return trace;
}

/// @return the format of a public trace; nullptr if it is a file of our own
const TraceFormat*
FindFormat(const std::string& spec)
{
    const std::string prefix = spec.substr(0, spec.find(':'));
    const auto& formats = GetTraceFormats();
    const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& candidate) {
        return prefix == candidate.name && prefix.size() < spec.size();
    });
    return format == formats.end() ? nullptr : &*format;
}

/// Refuse a public trace that is named like a file of our own, and say how to name it.
void
CheckOwnFile(const std::string& path)
{
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
    {
        FailInput("job file ", NamePath(path), " is a folder: expected ", JOBS_GRAMMAR);
    }
    if (!std::filesystem::is_regular_file(path, ignored))
    {
        return; // What comes from a pipe comes once.
    }
    InputFile in(path, "job file");
    std::string line(1024, '\0');
    in.read(line.data(), line.size());
    line.resize(in.gcount());
    line.resize(std::min(line.find('\n'), line.size()));
    for (const TraceFormat& format : GetTraceFormats())
    {
        if (format.isLikely(line))
        {
            FailInput("job file ",
                      NamePath(path),
                      " looks like a public trace, expected ",
                      format.name,
                      ": before its name");
        }
    }
}

} // namespace

bool
IsPublicTrace(const std::string& spec)
{
    return FindFormat(spec);
}

ImportedTrace
ImportJobs(const std::string& spec, const TraceSettings& settings)
{
    if (const TraceFormat* format = FindFormat(spec))
    {
        return ReadTrace(*format, spec.substr(spec.find(':') + 1), settings);
    }
    CheckOwnFile(spec);
    return {ReadJobFile(spec), {}};
}

} // namespace ns3::allreduce
