/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "fuzz/fuzzed-parsers.h"
#include "output-file.h"

#include "ns3/allreduce-error.h"
#include "ns3/cluster-job.h"
#include "ns3/job-trace.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-weights.h"
#include "ns3/test.h"
#include "ns3/topology-file.h"
#include "ns3/topology-spec.h"
#include "ns3/training-config.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// @return the text, so many times
std::string
Repeat(const std::string& text, std::size_t times)
{
    std::string repeated;
    for (std::size_t i = 0; i < times; ++i)
    {
        repeated += text;
    }
    return repeated;
}

/// @return the parser of that name
const FuzzedParser&
Find(const std::string& name)
{
    const auto& parsers = GetFuzzedParsers();
    return *std::find_if(parsers.begin(), parsers.end(), [&](const FuzzedParser& parser) {
        return parser.name == name;
    });
}

/// @return the files of a parser's corpus
std::vector<std::string>
ReadCorpus(const FuzzedParser& parser)
{
    std::vector<std::string> texts;
    const auto folder = std::string(NS_TEST_SOURCEDIR) + "/fuzz/corpus/" + parser.name;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
    {
        std::ifstream in(entry.path());
        std::ostringstream text;
        text << in.rdbuf();
        texts.push_back(text.str());
    }
    return texts;
}

/// What ever was found by fuzzing, and files that the programs write.
class CorpusTestCase : public TestCase
{
  public:
    CorpusTestCase()
        : TestCase("the corpus")
    {
    }

  private:
    void DoRun() override
    {
        for (const FuzzedParser& parser : GetFuzzedParsers())
        {
            uint32_t nAccepted = 0;
            for (const std::string& text : ReadCorpus(parser))
            {
                const std::string message = Refuse(parser, text);
                nAccepted += message.empty();
                NS_TEST_EXPECT_MSG_EQ(FindBadManners(parser, message), "", message);
            }
            // A policy is too large to lie here twice; utils/fuzz.sh begins with the shipped one.
            NS_TEST_EXPECT_MSG_EQ((nAccepted > 0),
                                  (parser.name != std::string("policy")),
                                  parser.name << ": a file that is right");
        }
    }
};

/// Files that no one would write on purpose are refused in a line that says why.
class HostileInputTestCase : public TestCase
{
  public:
    HostileInputTestCase()
        : TestCase("hostile input")
    {
    }

  private:
    void Check(const std::string& name, const std::string& text, const std::string& part)
    {
        const FuzzedParser& parser = Find(name);
        const std::string message = Refuse(parser, text);
        NS_TEST_EXPECT_MSG_EQ(Contains(message, part), true, name << ": " << message);
        NS_TEST_EXPECT_MSG_EQ(FindBadManners(parser, message), "", name << ": " << message);
    }

    void CheckDepth()
    {
        const std::string deep = Repeat("[", 100000);
        for (const std::string name : {"topology", "schedule", "policy", "training-config"})
        {
            Check(name, R"({"x": )" + deep, "nested more than");
        }
        Check("msccl", Repeat("<a>", 100000), "Excessive depth");
        Check("msccl", Repeat(R"(<a b="/>">)", 100000), "Excessive depth");
        Check("msccl", Repeat("<!--</a>--><a>", 100000), "Excessive depth");
        CheckEntities();
    }

    /// An attribute that would be 10^11 characters long.
    void CheckEntities()
    {
        std::string entities = R"(<!ENTITY e0 "1234567890">)";
        for (uint32_t i = 1; i <= 10; ++i)
        {
            const std::string last = "&e" + std::to_string(i - 1) + ";";
            entities += "<!ENTITY e" + std::to_string(i) + " \"" + Repeat(last, 10) + "\">";
        }
        Check("msccl", "<!DOCTYPE algo [" + entities + R"(]><algo coll="&e10;"/>)", "entity");
    }

    void CheckLength()
    {
        const std::string wide = std::string(20000, '1');
        Check("link-list", "3 1 " + wide, "expected a whole number");
        Check("link-list", "3 1 2\n2\n0 2 " + wide, "the line ends");
        Check("jobs", wide, "column");
        Check("training-config", "{\"" + wide + "\": 1}", "unknown key");
        Check("training-config", "{\"a\\nb\": 1}", "unknown key \"a?b\"");
        Check("training-config", "{\"seed\": \"" + wide + "\"}", "expected a whole number");
        Check("topology", "{\"links\": " + wide + "\"", "number overflow");
        Check("option", "0" + wide, "expected");
    }

    void CheckLinks()
    {
        const std::string fast = "0 2 576460752303423488bps 1us 0\n";
        Check("link-list", "3 1 33\n2\n" + Repeat(fast, 32) + "1 2 1Gbps 1us 0\n", "rate");
        Check("link-list", "3 1 34\n2\n" + Repeat(fast, 33) + "1 2 1Gbps 1us 0\n", "rate");
        const std::string head = "3 1 2\n2\n";
        Check("link-list", head + "0 2 1Gbps 1us 0 7\n", "line 3: \"7\" is too much");
        Check("link-list", "\n\n" + head + "x", "line 5");
        Check("topology", "\n\n" + head + "x", "line 5");
        Check("link-list", "3 1 2 4\n", "\"4\" is too much");
        const std::string links = "0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n";
        Check("link-list", head + links + "1 2 1Gbps 1us 0\n", "expected no more lines");
        Check("link-list", "3 1 3\n2\n" + links + "1 2 1Gbps 2us 0\n", "differ in delay");
        Check("link-list", head + "0 2 1Gbps 2000s 0\n1 2 1Gbps 1us 0\n", "delay");
        Check("link-list", head + "0 2 10 1us 0\n", "rate \"10\"");
        Check("link-list", head + "0 2 1Gbps 1 0\n", "time \"1\"");
    }

    void CheckKeys()
    {
        const std::string body = R"("servers": 2, "switches": 0, "links": [[0, 1)";
        Check("topology", "{" + body + R"(]], "colour": 1})", "unknown key \"colour\"");
        Check("topology", "{" + body + R"(]], "servers": 3})", "is there twice");
        Check("topology", "{" + body + R"(]], "version": 1.5})", "version 1.5");
        Check("topology", "{" + body + R"(]], "name": 1})", "name is 1");
        Check("topology", "{" + body + R"(]], "positions": 1})", "positions");
        Check("topology", "{" + body + R"(, 1, 1000000000, 9000000000000000000]]})", "delay");
        Check("topology", "{" + body + R"(, 1, 9000000000000000000]]})", "rate");
        Check("topology", "{" + body + R"(, "1Gbps", "1"]]})", "delay \"1\"");
        Check("schedule",
              R"({"format": "allreduce-schedule", "version": 1, "topology": {)" + body +
                  R"(]]}, "chunk_roots": [0], "rounds": [], "x": 1})",
              "unknown key \"x\"");
        Check("training-config", R"({"rate": 1})", "unknown key \"rate\"");
        Check("training-config", R"({"problem": 1})", "unknown key \"problem\"");
        Check("training-config", R"({"": 1})", "unknown key \"\"");
        Check("policy", R"({"format": "allreduce-policy", "version": 2.5})", "version 2.5");
    }

    /// @return a policy, another number in the place of the first weight
    std::string MakePolicy(const std::string& weight)
    {
        const std::string path = CreateTempDirFilename("hostile-policy.json");
        WriteCheckpoint(path, PolicyWeights::MakeInitial(1), TrainingConfig().ToJson(), {});
        std::ifstream in(path);
        std::ostringstream text;
        text << in.rdbuf();
        std::string policy = text.str();
        const std::string key = "\"weights\":[";
        const std::size_t begin = policy.find(key) + key.size();
        return policy.replace(begin, policy.find(',', begin) - begin, weight);
    }

    void CheckWeights()
    {
        NS_TEST_EXPECT_MSG_EQ(Refuse(Find("policy"), MakePolicy("0.5")), "", "a finite weight");
        Check("policy", MakePolicy("1e39"), "weight 0 is 1e+39");
        Check("policy", MakePolicy("-1e300"), "weight 0 is -1e+300");
        Check("policy", MakePolicy("null"), "weight 0 is null");
        Check("policy", MakePolicy("1e999"), "number overflow");
        Check("policy", MakePolicy("NaN"), "the-file");
        Check("policy", MakePolicy("Infinity"), "the-file");
    }

    void DoRun() override
    {
        CheckWeights();
        CheckDepth();
        CheckLength();
        CheckLinks();
        CheckKeys();
    }
};

/// However long a word is that somebody wrote, messages stay short.
class LongWordTestCase : public TestCase
{
  public:
    LongWordTestCase()
        : TestCase("words of 20 kB")
    {
    }

  private:
    static constexpr std::size_t LENGTH = 20000; //!< of a word

    void Check(const FuzzedParser& parser, const std::string& text)
    {
        const std::string message = Refuse(parser, text);
        NS_TEST_EXPECT_MSG_EQ(FindBadManners(parser, message), "", message.substr(0, 400));
        // Some name all keys, columns, models or schedulers that there are.
        const bool isList = message.find("unknown key") != std::string::npos ||
                            message.find("column") != std::string::npos ||
                            message.find("one of the keys") != std::string::npos ||
                            message.find("or the TypeId name of") != std::string::npos ||
                            message.find(": model ") != std::string::npos;
        NS_TEST_EXPECT_MSG_EQ((message.size() <= 300 || isList),
                              true,
                              parser.name << ": " << message.size()
                                          << " characters: " << message.substr(0, 400));
    }

    /// Put long words into the place of each of the first words of a file, and beside it.
    void CheckWords(const FuzzedParser& parser, const std::string& text)
    {
        constexpr uint32_t MOST_WORDS = 40;
        const auto isOfWord = [](unsigned char c) { return std::isalnum(c) || c == '.'; };
        auto begin = text.begin();
        for (uint32_t i = 0; i < MOST_WORDS; ++i)
        {
            begin = std::find_if(begin, text.end(), isOfWord);
            const auto end = std::find_if_not(begin, text.end(), isOfWord);
            for (const char letter : {'1', 'x', '-', '\t'})
            {
                const std::string word(LENGTH, letter);
                Check(parser,
                      std::string(text.begin(), begin) + word + std::string(end, text.end()));
                Check(parser, std::string(text.begin(), end) + word + std::string(end, text.end()));
                Check(parser,
                      std::string(text.begin(), begin) + "\"" + word + "\"" +
                          std::string(end, text.end()));
            }
            begin = end;
            if (begin == text.end())
            {
                return;
            }
        }
    }

    void CheckPaths()
    {
        const std::string path(LENGTH, 'x');
        const std::string messages[] = {GetError([&] { ReadTopologyFile(path); }),
                                        GetError([&] { ReadJobFile(path); }),
                                        GetError([&] { ReadCheckpoint(path); }),
                                        GetError([&] { OutputFile("--log", path); }),
                                        GetError([&] { ParseTopology("file:" + path); })};
        for (const std::string& message : messages)
        {
            NS_TEST_EXPECT_MSG_EQ(Contains(message, "cannot be"), true, message.substr(0, 400));
            NS_TEST_EXPECT_MSG_LT(message.size(), 300, message.substr(0, 400));
        }
        NS_TEST_EXPECT_MSG_EQ(NamePath("a\nb"), "a?b", "one line");
        NS_TEST_EXPECT_MSG_EQ(NamePath(path + "/y.json").substr(195),
                              "x/y.json",
                              "the end of a path says most");
    }

    void CheckNames()
    {
        const std::string name(LENGTH, 'x');
        Job job;
        job.name = name;
        NS_TEST_EXPECT_MSG_LT(GetError([&] { CheckJob(job); }).size(), 300, "a job");
        for (const char* text :
             {"{\"name\": \"%\", \"servers\": 1, \"switches\": 0, \"links\": []}",
              "{\"name\": \"%\", \"servers\": 3, \"switches\": 0, "
              "\"links\": [[0, 1], [0, 7]]}"})
        {
            const std::string file = text;
            const std::size_t place = file.find('%');
            Check(Find("topology"), file.substr(0, place) + name + file.substr(place + 1));
        }
    }

    void DoRun() override
    {
        for (const FuzzedParser& parser : GetFuzzedParsers())
        {
            for (const std::string& text : ReadCorpus(parser))
            {
                CheckWords(parser, text);
            }
        }
        CheckPaths();
        CheckNames();
    }
};

class HostileInputTestSuite : public TestSuite
{
  public:
    HostileInputTestSuite()
        : TestSuite("allreduce-hostile-input", TestSuite::Type::UNIT)
    {
        AddTestCase(new HostileInputTestCase);
        AddTestCase(new CorpusTestCase);
        AddTestCase(new LongWordTestCase);
    }
};

HostileInputTestSuite g_hostileInputTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
