/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "html-report.h"

#include "output-file.h"
#include "report-page.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <string_view>

namespace ns3::allreduce
{

namespace
{

/// Browsers stay quick with this much.
constexpr uint64_t MOST_VIEW_BYTES = 48 << 20;

/// @return JSON that can stand inside a script element
std::string
DumpForHtml(const nlohmann::ordered_json& json)
{
    const std::string text = json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text)
    {
        safe += c == '<' ? "\\u003c" : std::string(1, c);
    }
    return safe;
}

void
WriteArray(std::ostream& out, const char* name, const std::vector<std::string>& items)
{
    out << ",\n\"" << name << "\": [";
    for (const std::string& item : items)
    {
        out << (&item == &items.front() ? "\n" : ",\n") << item;
    }
    out << "]";
}

/// Writes what is before a mark. @return what is after it
std::string_view
WriteUpTo(std::ostream& out, std::string_view mark, std::string_view text)
{
    const std::size_t end = text.find(mark);
    out << text.substr(0, end);
    return text.substr(end + mark.size());
}

/// @return the command line with the program's bare name
std::string
JoinCommand(int argc, char* argv[])
{
    std::string command;
    for (int i = 0; i < argc; ++i)
    {
        const std::string argument = argv[i];
        command += i == 0 ? argument.substr(argument.rfind('/') + 1) : " " + argument;
    }
    return command;
}

/// Lets nobody end the program with Ctrl-C as long as it lives.
class InterruptsWait
{
  public:
    InterruptsWait()
    {
        sigset_t ends;
        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ends, &m_before);
    }

    ~InterruptsWait()
    {
        pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }

    InterruptsWait(const InterruptsWait&) = delete;
    InterruptsWait& operator=(const InterruptsWait&) = delete;

  private:
    sigset_t m_before; //!< what waited already
};

} // namespace

HtmlReport::HtmlReport(std::string path, int argc, char* argv[])
    : m_path(std::move(path)),
      m_command(JoinCommand(argc, argv))
{
    if (IsWanted())
    {
        // What cannot be written is better known before hours of work.
        OutputFile::Check("--report", m_path);
    }
}

bool
HtmlReport::IsWanted() const
{
    return !m_path.empty();
}

void
HtmlReport::AddRow(const nlohmann::ordered_json& row)
{
    if (IsWanted())
    {
        m_rows.push_back(DumpForHtml(row));
    }
}

void
HtmlReport::AddView(const std::function<nlohmann::ordered_json()>& make)
{
    if (!IsWanted())
    {
        return;
    }
    std::string view = m_viewBytes < MOST_VIEW_BYTES ? DumpForHtml(make()) : "";
    if (view.empty() || (!m_views.empty() && m_viewBytes + view.size() > MOST_VIEW_BYTES))
    {
        ++m_nViewsLeftOut;
        return;
    }
    m_viewBytes += view.size();
    m_views.push_back(std::move(view));
}

void
HtmlReport::AddTrainingLine(const nlohmann::ordered_json& line)
{
    if (IsWanted())
    {
        m_trainingLines.push_back(DumpForHtml(line));
    }
}

void
HtmlReport::AddClusterSlot(const nlohmann::ordered_json& slot)
{
    if (IsWanted())
    {
        m_clusterSlots.push_back(DumpForHtml(slot));
    }
}

void
HtmlReport::AddClusterJobs(const nlohmann::ordered_json& view)
{
    if (IsWanted())
    {
        m_clusterJobs.push_back(DumpForHtml(view));
    }
}

void
HtmlReport::Write() const
{
    if (!IsWanted())
    {
        return;
    }
    const InterruptsWait wait;
    OutputFile file("--report", m_path);
    std::ostream& out = file.Get();
    // The page's files become one.
    auto rest = WriteUpTo(out, "<!-- style -->", REPORT_HTML[0]);
    out << "<style>\n" << REPORT_CSS[0] << "</style>";
    rest = WriteUpTo(out, "{}", rest);
    WriteData(out);
    rest = WriteUpTo(out, "<!-- scripts -->", rest);
    out << "<script>\n";
    for (const char* script : REPORT_JS)
    {
        out << script;
    }
    out << "</script>" << rest;
    file.Finish();
}

void
HtmlReport::WriteData(std::ostream& out) const
{
    out << "{\"command\": " << DumpForHtml(m_command)
        << ",\n\"views_left_out\": " << m_nViewsLeftOut;
    WriteArray(out, "results", m_rows);
    WriteArray(out, "views", m_views);
    WriteArray(out, "training", m_trainingLines);
    WriteArray(out, "cluster", m_clusterSlots);
    WriteArray(out, "jobs", m_clusterJobs);
    out << "}";
}

} // namespace ns3::allreduce
