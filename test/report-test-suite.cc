/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "html-report.h"
#include "result-writer.h"
#include "session-test-utils.h"
#include "trace-events.h"

#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

/// Texts that end an element, a string or a line where they are not escaped.
const std::vector<std::string> NASTY_TEXTS = {"</script><script>alert(1)</script>",
                                              "<!-- <script>",
                                              "]]>",
                                              "\"quoted\" \\ back",
                                              "two\nlines\tand \x01",
                                              "\xc3\xa9 and \xe2\x80\xa8",
                                              "a,b;c"};

std::string
ReadFile(const std::string& path)
{
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// @return what is between two texts, the second being the next one after the first
std::string
FindBetween(const std::string& text, const std::string& begin, const std::string& end)
{
    const std::size_t from = text.find(begin);
    const std::size_t to = text.find(end, from);
    return to == std::string::npos ? ""
                                   : text.substr(from + begin.size(), to - from - begin.size());
}

uint32_t
Count(const std::string& text, const std::string& part)
{
    uint32_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    {
        ++count;
    }
    return count;
}

/// @return the data of a page, as a browser finds it
Json
ReadPageData(const std::string& path)
{
    return Json::parse(FindBetween(ReadFile(path), "id=\"data\">", "</script>"));
}

/// @brief The page has what it was given, whatever texts are in it.
class PageTestCase : public TestCase
{
  public:
    PageTestCase()
        : TestCase("a page has the data that it was given")
    {
    }

  private:
    void DoRun() override
    {
        m_path = CreateTempDirFilename("report.html");
        TestData();
        TestNoPage();
        TestManyViews();
        NS_TEST_EXPECT_MSG_EQ(GetError([] { Make("/nowhere/x"); }),
                              "--report: file /nowhere/x cannot be written",
                              "before any work is done");
    }

    static HtmlReport Make(const std::string& path, std::string option = "--report")
    {
        std::string program = "/some/where/allreduce-plan";
        char* arguments[] = {program.data(), option.data()};
        return HtmlReport(path, 2, arguments);
    }

    void TestData()
    {
        Json rows = Json::array();
        for (const std::string& text : NASTY_TEXTS)
        {
            rows.push_back({{"scheduler", text}, {text, 1.0 / 3}, {"none", nullptr}, {"n", -7}});
        }
        const Json line = {{"iteration", 1}, {"validation", nullptr}};
        const Json slot = {{"slot", 0}, {"policy", "gadget"}};
        const std::string& option = NASTY_TEXTS.front();
        HtmlReport report = Make(m_path, option);
        for (const Json& row : rows)
        {
            report.AddRow(row);
            report.AddView([&] { return row; });
        }
        report.AddTrainingLine(line);
        report.AddClusterSlot(slot);
        report.Write();
        report.Write(); // again: the same page, and not two of them

        const std::string page = ReadFile(m_path);
        const Json data = ReadPageData(m_path);
        NS_TEST_EXPECT_MSG_EQ((data["results"] == rows), true, "rows");
        NS_TEST_EXPECT_MSG_EQ((data["views"] == rows), true, "views");
        NS_TEST_EXPECT_MSG_EQ((data["training"] == Json::array({line})), true, "training");
        NS_TEST_EXPECT_MSG_EQ((data["cluster"] == Json::array({slot})), true, "cluster");
        NS_TEST_EXPECT_MSG_EQ(data["command"], "allreduce-plan " + option, "command");
        NS_TEST_EXPECT_MSG_EQ(data["views_left_out"], 0, "nothing left out");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "<!DOCTYPE html>"), 1, "one page");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "<script"), 2, "the data and the page's own");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "</script>"), 2, "both end once");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "://"), 1, "no address but that of SVG's names");
        const auto isAscii = [](unsigned char c) { return c < 128; };
        NS_TEST_EXPECT_MSG_EQ(std::all_of(page.begin(), page.end(), isAscii), true, "ASCII");
    }

    void TestNoPage()
    {
        HtmlReport report = Make("");
        report.AddRow({{"rounds", 1}});
        report.AddView([&]() -> Json {
            NS_TEST_EXPECT_MSG_EQ(true, false, "nobody will look at this view");
            return {};
        });
        report.Write();
        NS_TEST_EXPECT_MSG_EQ(report.IsWanted(), false, "no page");
    }

    void TestManyViews()
    {
        const std::string large(30 << 20, 'x');
        HtmlReport report = Make(m_path);
        for (const std::string& text : {large, large, std::string("small")})
        {
            report.AddView([&] { return Json(text); });
        }
        report.Write();
        const Json data = ReadPageData(m_path);
        NS_TEST_EXPECT_MSG_EQ(data["views"].size(), 2, "one large view, and what still fits");
        NS_TEST_EXPECT_MSG_EQ(data["views"][1], "small", "what still fits");
        NS_TEST_EXPECT_MSG_EQ(data["views_left_out"], 1, "the other is counted");
    }

    std::string m_path; //!< where the page goes
};

/// @brief Trace events are JSON that Perfetto can draw.
class TraceEventsTestCase : public TestCase
{
  public:
    TraceEventsTestCase()
        : TestCase("trace events")
    {
    }

  private:
    void DoRun() override
    {
        TestFlows();
        TestFaults();
        TestNothing();
        const Experiment experiment = MakeExperiment(ParseTopology("bcube:3,1"), "greedy", 1 << 20);
        TestSchedule(experiment.plan.GetSchedule());
    }

    void TestFlows()
    {
        // Not in order; two of server 3 at the same time, then one when the first has ended.
        ExperimentResult result;
        result.flows = {{7, BROADCAST, 3, 1, 100, MicroSeconds(30), MicroSeconds(10)},
                        {5, REDUCE, 3, 0, 200, MicroSeconds(10), MicroSeconds(20)},
                        {6, REDUCE, 3, 2, 300, NanoSeconds(15250), MicroSeconds(40)},
                        {6, REDUCE, 0, 2, 400, MicroSeconds(10), MicroSeconds(20)}};
        std::ostringstream out;
        result.roundSpans = {{0, MicroSeconds(10), MicroSeconds(46)}};
        WriteTraceEvents(result, out);
        const std::vector<Json> spans = CheckEvents(out.str());
        NS_TEST_ASSERT_MSG_EQ(spans.size(), 5, "a round and four flows");
        NS_TEST_EXPECT_MSG_EQ(spans[0]["name"], "round 0", "round");
        NS_TEST_EXPECT_MSG_EQ(spans[0]["dur"], 46, "in microseconds");
        const Json& second = spans[3];
        NS_TEST_EXPECT_MSG_EQ(second["name"], "reduce chunk 6", "name");
        NS_TEST_EXPECT_MSG_EQ(second["ts"], 15.25, "nanoseconds are not lost");
        NS_TEST_EXPECT_MSG_EQ(second["pid"], 4, "a process for each server, after the rounds'");
        NS_TEST_EXPECT_MSG_EQ(second["args"]["bytes"], 300, "bytes");
        NS_TEST_EXPECT_MSG_EQ(second["args"]["to"], 2, "receiver");
        NS_TEST_EXPECT_MSG_EQ(spans[4]["tid"], 0, "the first thread is free again");
    }

    void TestFaults()
    {
        ExperimentResult result;
        result.abortedFlows = {{7, BROADCAST, 3, 1, 100, MicroSeconds(30), MicroSeconds(10)}};
        result.unfinishedFlows = {{5, REDUCE, 3, 0, 200, MicroSeconds(20), MicroSeconds(25)}};
        result.marks = {{RunMark::LINK_BROKE, NanoSeconds(40250), 0, 1, 3, 16, 0, ""},
                        {RunMark::LINK_MENDED, MicroSeconds(42), 0, 1, 3, 16, 0, ""},
                        {RunMark::REPLANNED, MicroSeconds(45), 0, 2, 0, 0, 0, "greedy"}};
        std::ostringstream out;
        WriteTraceEvents(result, out);
        const std::vector<Json> spans = CheckEvents(out.str());
        NS_TEST_ASSERT_MSG_EQ(spans.size(), 2, "two flows");
        NS_TEST_EXPECT_MSG_EQ(spans[0]["name"], "unfinished reduce chunk 5", "name");
        NS_TEST_EXPECT_MSG_EQ(spans[1]["name"], "aborted broadcast chunk 7", "name");
        NS_TEST_EXPECT_MSG_EQ(spans[1]["dur"], 10, "until the link broke");
        std::vector<Json> instants;
        const Json json = Json::parse(out.str());
        for (const Json& event : json["traceEvents"])
        {
            if (event["ph"] == "i")
            {
                instants.push_back(event);
            }
        }
        NS_TEST_ASSERT_MSG_EQ(instants.size(), 3, "marks");
        NS_TEST_EXPECT_MSG_EQ(instants[0]["name"], "link 3-16 broke", "which link");
        NS_TEST_EXPECT_MSG_EQ(instants[0]["ts"], 40.25, "when");
        NS_TEST_EXPECT_MSG_EQ(instants[0]["s"], "g", "of all processes");
        NS_TEST_EXPECT_MSG_EQ(instants[1]["name"], "link 3-16 was mended", "which link");
        NS_TEST_EXPECT_MSG_EQ(instants[2]["name"], "greedy planned what was left", "by whom");
    }

    void TestNothing()
    {
        std::ostringstream out;
        WriteTraceEvents(ExperimentResult(), out);
        NS_TEST_EXPECT_MSG_EQ(CheckEvents(out.str()).size(), 0, "no spans");
    }

    void TestSchedule(const AllReduceSchedule& schedule)
    {
        std::ostringstream out;
        WriteTraceEvents(schedule, out);
        const std::vector<Json> spans = CheckEvents(out.str());
        const std::size_t nRounds = schedule.rounds.size();
        NS_TEST_ASSERT_MSG_EQ(spans.size(), nRounds + schedule.CountWorkloads(), "spans");
        std::vector<std::size_t> nFlows(nRounds, 0);
        for (const Json& span : spans)
        {
            const std::size_t round = span["ts"].get<double>() / 1000;
            nFlows.at(round) += span["cat"] != "round";
        }
        for (std::size_t round = 0; round < nRounds; ++round)
        {
            NS_TEST_EXPECT_MSG_EQ(nFlows[round], schedule.rounds[round].GetSize(), round);
        }
    }

    /// @return the spans, after checking that time goes on and none overlaps another of its row
    std::vector<Json> CheckEvents(const std::string& text)
    {
        std::vector<Json> spans;
        std::map<std::pair<int, int>, double> ends;
        std::set<int> named;
        const Json json = Json::parse(text);
        std::map<bool, double> last;
        for (const Json& event : json["traceEvents"])
        {
            if (event["ph"] == "M")
            {
                named.insert(event["pid"].get<int>());
                continue;
            }
            if (event["ph"] == "i")
            {
                continue;
            }
            spans.push_back(event);
            const double begin = event["ts"].get<double>();
            const std::pair<int, int> row{event["pid"].get<int>(), event["tid"].get<int>()};
            double& latest = last[event["cat"] == "round"];
            NS_TEST_EXPECT_MSG_EQ(event["ph"], "X", "a span");
            NS_TEST_EXPECT_MSG_EQ(named.count(row.first), 1, "its process has a name");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(begin, latest, "time goes on");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(begin, ends[row], "no overlap in a row");
            latest = begin;
            ends[row] = begin + event["dur"].get<double>();
        }
        return spans;
    }
};

/// @brief Every format of a table has its rows.
class ResultWriterTestCase : public TestCase
{
  public:
    ResultWriterTestCase()
        : TestCase("the rows of a table in every format")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& text : NASTY_TEXTS)
        {
            m_rows.push_back(
                {{"name", text}, {"ratio", 1.0 / 3}, {"none", nullptr}, {"good", true}});
        }
        NS_TEST_EXPECT_MSG_EQ((Json::parse(Write("json")) == m_rows), true, "JSON");
        NS_TEST_EXPECT_MSG_EQ(Json::parse(Write("json", 0)).size(), 0, "JSON without rows");
        TestCsv();
        TestGnuplot();
        TestTable();
        NS_TEST_EXPECT_MSG_EQ(GetError([] { ParseFormat("xml"); }),
                              "--format \"xml\": expected table, json, csv or gnuplot",
                              "names what there is");
    }

    std::string Write(const std::string& format, std::size_t nRows = 100) const
    {
        std::ostringstream out;
        {
            ResultWriter writer(out,
                                ParseFormat(format),
                                {{"name", "name", 6},
                                 {"ratio", "ratio", 7, 3},
                                 {"none", "none", 4},
                                 {"good", "good", 4}});
            for (std::size_t i = 0; i < std::min(nRows, m_rows.size()); ++i)
            {
                writer.Add(m_rows[i]);
            }
        }
        return out.str();
    }

    /// Reads CSV as RFC 4180 has it.
    static std::vector<std::vector<std::string>> ParseCsv(const std::string& text)
    {
        std::vector<std::vector<std::string>> lines(1, {""});
        bool isQuoted = false;
        for (std::size_t i = 0; i < text.size(); ++i)
        {
            const bool isQuote = text[i] == '"';
            if (isQuote && isQuoted && text[i + 1] == '"')
            {
                lines.back().back() += text[i++];
            }
            else if (isQuote)
            {
                isQuoted = !isQuoted;
            }
            else if (text[i] == ',' && !isQuoted)
            {
                lines.back().emplace_back();
            }
            else if (text[i] == '\n' && !isQuoted)
            {
                lines.push_back({""});
            }
            else
            {
                lines.back().back() += text[i];
            }
        }
        lines.pop_back();
        return lines;
    }

    void TestCsv()
    {
        const auto lines = ParseCsv(Write("csv"));
        NS_TEST_ASSERT_MSG_EQ(lines.size(), NASTY_TEXTS.size() + 1, "a line for each row");
        NS_TEST_EXPECT_MSG_EQ(
            (lines[0] == std::vector<std::string>{"name", "ratio", "none", "good"}),
            true,
            "titles");
        for (std::size_t i = 0; i < NASTY_TEXTS.size(); ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(lines[i + 1].size(), 4, "columns");
            NS_TEST_EXPECT_MSG_EQ(lines[i + 1][0], NASTY_TEXTS[i], "text");
            NS_TEST_EXPECT_MSG_EQ(std::stod(lines[i + 1][1]), 1.0 / 3, "all digits");
            NS_TEST_EXPECT_MSG_EQ(lines[i + 1][2], "", "nothing");
        }
    }

    void TestGnuplot()
    {
        const std::string script = Write("gnuplot", 1);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, "\nname ratio none good\n"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, " NaN 1\nEND\n"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, "what = \"ratio\"\n"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, "xtic(strcol(\"name\"))"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Write("gnuplot", 0), "", "nothing to draw");
        std::ostringstream out;
        ResultWriter(out, ParseFormat("gnuplot"), {{"n", "n", 1}}).Add({{"n", 1}});
        NS_TEST_EXPECT_MSG_EQ(Contains(out.str(), "xtic(strcol(1))"), true, "a row without names");
        {
            ResultWriter writer(out, ParseFormat("gnuplot"), {{"a", "a", 1}, {"b", "b", 1}});
            writer.Add({{"a", "same"}, {"b", "x"}});
            writer.Add({{"a", "same"}, {"b", "y"}});
        }
        NS_TEST_EXPECT_MSG_EQ(Contains(out.str(), "xtic(strcol(\"b\"))"), true, "what differs");
    }

    void TestTable()
    {
        m_rows = {{{"name", "a"}, {"ratio", 1.0 / 3}, {"none", nullptr}, {"good", true}}};
        NS_TEST_EXPECT_MSG_EQ(Write("table"),
                              "name      ratio  none  good\n"
                              "a         0.333     -   yes\n",
                              "names to the left, numbers to the right");
        std::ostringstream out;
        ResultWriter(out, ParseFormat("table"), {{"bps", "Gb/s", 4, -1, 1e-9}})
            .Add({{"bps", 2500000000}});
        ResultWriter(out, ParseFormat("csv"), {{"bps", "Gb/s", 4, -1, 1e-9}})
            .Add({{"bps", 2500000000}});
        NS_TEST_EXPECT_MSG_EQ(out.str(), "Gb/s\n 2.5\nbps\n2500000000\n", "scaled for people");
    }

    Json m_rows = Json::array(); //!< what is written
};

/// @ingroup allreduce-tests
/// @brief What programs write for people and other programs: pages, trace events and tables.
class ReportTestSuite : public TestSuite
{
  public:
    ReportTestSuite()
        : TestSuite("allreduce-report", TestSuite::Type::UNIT)
    {
        AddTestCase(new PageTestCase);
        AddTestCase(new TraceEventsTestCase);
        AddTestCase(new ResultWriterTestCase);
    }
};

ReportTestSuite g_reportTestSuite; //!< registers the suite

} // namespace
