/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"
#include "allreduce-test-utils.h"

#include "ns3/allreduce-helper.h"
#include "ns3/node.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace ns3::allreduce
{

namespace
{

/// @return what is in a file
std::string
ReadWholeFile(const std::string& path)
{
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

/// Runs an AllReduce on a network of which one or all devices are traced.
void
RunTraced(bool isLight,
          const std::string& transport,
          const std::function<void(TopologyHelper&)>& trace)
{
    TopologyHelper network(ParseTopology("bcube:2,1"));
    network.SetLight(isLight);
    network.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("3p")); // some are dropped
    AllReduceHelper allReduce(network.Install());
    network.AssignStreams(0);
    allReduce.SetAttribute("Bytes", UintegerValue(30000));
    trace(network);
    allReduce.Install("greedy", transport);
    Simulator::Run();
    Simulator::Destroy();
}

/// @brief Packets are traced on light links as on those of ns-3, and as PointToPointHelper does it.
class LinkTraceTestCase : public TestCase
{
  public:
    LinkTraceTestCase()
        : TestCase("packet and text traces, a file for each device")
    {
    }

  private:
    void DoRun() override
    {
        const std::string light = CreateTempDirFilename("light");
        const std::string full = CreateTempDirFilename("full");
        const std::string ns3 = CreateTempDirFilename("ns3");
        // Not raw or udp: their headers number the sessions of a process.
        RunTraced(true, "tcp", [&](TopologyHelper& network) {
            network.EnablePcapAll(light);
            network.EnableAsciiAll(light);
            NS_TEST_EXPECT_MSG_EQ(network.GetPcapFiles().size(), 16, "a file for each device");
        });
        RunTraced(false, "tcp", [&](TopologyHelper& network) {
            network.EnablePcapAll(full);
            network.EnableAsciiAll(full);
            PointToPointHelper helper;
            helper.EnablePcapAll(ns3);
            helper.EnableAsciiAll(ns3);
        });
        for (const std::string device : {"-server-0-0", "-server-3-1", "-switch-4-0"})
        {
            for (const std::string ending : {".pcap", ".tr"})
            {
                const std::string expected = ReadWholeFile(ns3 + device + ending);
                NS_TEST_EXPECT_MSG_GT(expected.size(), 1000, device << ending << " has packets");
                NS_TEST_EXPECT_MSG_EQ((ReadWholeFile(full + device + ending) == expected),
                                      true,
                                      device << ending << " is what ns-3 writes");
                NS_TEST_EXPECT_MSG_EQ((ReadWholeFile(light + device + ending) == expected),
                                      true,
                                      device << ending << " of a light link, too");
            }
        }
    }
};

/// @brief One stream for all devices says of each line which device it is of.
class OneStreamTestCase : public TestCase
{
  public:
    OneStreamTestCase()
        : TestCase("all devices in one stream")
    {
    }

  private:
    void DoRun() override
    {
        const std::string path = CreateTempDirFilename("all.tr");
        RunTraced(true, "raw", [&](TopologyHelper& network) {
            network.EnableAsciiAll(AsciiTraceHelper().CreateFileStream(path));
        });
        const std::string text = ReadWholeFile(path);
        const std::string device = "/NodeList/0/DeviceList/0/$ns3::allreduce::LightLinkDevice/";
        for (const std::string source : {"TxQueue/Enqueue", "TxQueue/Dequeue", "MacRx"})
        {
            NS_TEST_EXPECT_MSG_EQ(Contains(text, device + source), true, source);
        }
    }
};

/// @brief What is none of the network's devices is refused by name.
class UntraceableTestCase : public TestCase
{
  public:
    UntraceableTestCase()
        : TestCase("devices that cannot be traced")
    {
    }

  private:
    void DoRun() override
    {
        const std::string path = CreateTempDirFilename("refused");
        TopologyHelper network(ParseTopology("bcube:2,0"));
        TopologyHelper other(ParseTopology("dcell:2,0"));
        other.SetNamePrefix("other-");
        const Ptr<NetDevice> foreign = other.Install()->GetDevice(0);
        const auto trace = [&] { network.EnablePcap(path, foreign); };
        CheckRefusal(trace, "EnablePcap() comes after Install()");
        const Ptr<AllReduceNetwork> built = network.Install();
        const std::string reason = ": device 0 of node 0, a ns3::PointToPointNetDevice, expected a "
                                   "device of bcube:2,0";
        CheckRefusal(trace, "EnablePcap" + reason);
        CheckRefusal([&] { network.EnableAscii(path, foreign); }, "EnableAscii" + reason);
        network.EnablePcap(path, built->GetServers());
        NS_TEST_EXPECT_MSG_EQ(network.GetPcapFiles().size(), 2, "loopback devices have no link");
        Simulator::Destroy();
    }

    void CheckRefusal(const std::function<void()>& trace, const std::string& expected)
    {
        NS_TEST_EXPECT_MSG_EQ(Contains(GetAbortMessage(trace), expected), true, expected);
    }
};

class LinkTraceTestSuite : public TestSuite
{
  public:
    LinkTraceTestSuite()
        : TestSuite("allreduce-link-trace", TestSuite::Type::UNIT)
    {
        // ns-3 prints packets only if it is told so before the first one of a process.
        AddTestCase(new LinkTraceTestCase);
        AddTestCase(new OneStreamTestCase);
        AddTestCase(new UntraceableTestCase);
    }
};

/// The suite.
const LinkTraceTestSuite g_linkTraceTestSuite;

} // namespace

} // namespace ns3::allreduce
