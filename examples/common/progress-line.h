/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PROGRESS_LINE_H
#define ALLREDUCE_PROGRESS_LINE_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ns3::allreduce
{

/**
 * @brief A line on standard error that says how far a long task has come, if that is a terminal.
 *
 * It appears after half a second, is written anew a few times a second by a thread of its own (so
 * that it lives while the task is busy), and is gone at the end.
 */
class ProgressLine
{
  public:
    /// What tells how long the task will take.
    using Clock = std::chrono::steady_clock;

    /**
     * @param task what the line begins with
     * @param isShown whether there is a line at all
     * @param begin when the task began
     */
    explicit ProgressLine(std::string task,
                          bool isShown = true,
                          Clock::time_point begin = Clock::now());

    /// Clears the line.
    ~ProgressLine();

    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /**
     * @param what what is being done
     * @param share how much of the task is done, 0 to 1
     */
    void Show(std::string what, double share);

    /// Clears the line, so that others can write; it comes back after the next Show().
    void Clear();

  private:
    /// Writes the line until the task is over.
    void Run();
    /// Writes the line once.
    void Write();
    /// Wipes the line out, if there is one.
    void Wipe();

    std::string m_task;                //!< what the line begins with
    const Clock::time_point m_begin;   //!< when the task began
    std::mutex m_mutex;                //!< guards what follows
    std::condition_variable m_changed; //!< the task is over
    bool m_isOver{false};              //!< whether it is
    std::string m_what;                //!< what is being done
    double m_share{0};                 //!< how much of the task is done
    bool m_isVisible{false};           //!< the line is on the terminal
    bool m_isHidden{false};            //!< it is not to be
    std::thread m_writer;              //!< writes the line, on a terminal
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PROGRESS_LINE_H */
