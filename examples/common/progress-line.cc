/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "progress-line.h"

#include <cstdio>
#include <unistd.h>

namespace ns3::allreduce
{

namespace
{

constexpr auto FIRST_AFTER = std::chrono::milliseconds(500);
constexpr auto EVERY = std::chrono::milliseconds(200);

} // namespace

ProgressLine::ProgressLine(std::string task, bool isShown, Clock::time_point begin)
    : m_task(std::move(task)),
      m_begin(begin)
{
    if (isShown && isatty(STDERR_FILENO))
    {
        m_writer = std::thread(&ProgressLine::Run, this);
    }
}

ProgressLine::~ProgressLine()
{
    if (m_writer.joinable())
    {
        {
            const std::lock_guard lock(m_mutex);
            m_isOver = true;
        }
        m_changed.notify_one();
        m_writer.join();
    }
}

void
ProgressLine::Show(std::string what, double share)
{
    if (m_writer.joinable())
    {
        const std::lock_guard lock(m_mutex);
        m_what = std::move(what);
        m_share = share;
        m_isHidden = false;
    }
}

void
ProgressLine::Clear()
{
    const std::lock_guard lock(m_mutex);
    m_isHidden = true;
    Wipe();
}

void
ProgressLine::Run()
{
    std::unique_lock lock(m_mutex);
    if (m_changed.wait_for(lock, FIRST_AFTER, [this] { return m_isOver; }))
    {
        return;
    }
    do
    {
        if (!m_isHidden)
        {
            Write();
        }
    } while (!m_changed.wait_for(lock, EVERY, [this] { return m_isOver; }));
    Wipe();
}

void
ProgressLine::Wipe()
{
    if (m_isVisible)
    {
        std::fputs("\r\033[K", stderr);
        std::fflush(stderr);
        m_isVisible = false;
    }
}

void
ProgressLine::Write()
{
    m_isVisible = true;
    const double elapsed = std::chrono::duration<double>(Clock::now() - m_begin).count();
    std::fprintf(stderr,
                 "\r\033[K%s: %s%s%.0f s",
                 m_task.c_str(),
                 m_what.c_str(),
                 m_what.empty() ? "" : ", ",
                 elapsed);
    if (m_share > 0)
    {
        std::fprintf(stderr,
                     ", %.0f %%, %.0f s left",
                     100 * m_share,
                     elapsed / m_share * (1 - m_share));
    }
    std::fflush(stderr);
}

} // namespace ns3::allreduce
