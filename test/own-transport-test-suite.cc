/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "run-experiment.h"
#include "session-test-utils.h"

#include "ns3/allreduce-helper.h"
#include "ns3/allreduce-transport.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-spec.h"

#include <map>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// A transport as a user would write one: no packets, a transfer takes as long as its rate and its
/// path say.
class FluidTransport : public AllReduceTransport
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::FluidTransport")
                                .SetParent<AllReduceTransport>()
                                .AddConstructor<FluidTransport>();
        return tid;
    }

    void Send(const Transfer& transfer) override
    {
        const Topology& topology = GetNetwork().GetTopology();
        const PathTiming timing = ComputePathTiming(topology, transfer.path, 0);
        const Time sent = Seconds(8.0 * transfer.bytes / transfer.rateBps);
        m_sending[transfer.id] =
            Simulator::Schedule(sent, &FluidTransport::NoteSent, this, transfer.id);
        m_arriving[transfer.id] = Simulator::Schedule(sent + Seconds(timing.propagation),
                                                      &FluidTransport::Deliver,
                                                      this,
                                                      transfer);
    }

    void Cancel(TransferId id) override
    {
        m_sending[id].Cancel();
        m_arriving[id].Cancel();
    }

    void Close() override
    {
        for (auto* events : {&m_sending, &m_arriving})
        {
            for (auto& event : *events)
            {
                event.second.Cancel();
            }
        }
    }

    std::string DescribeProgress(TransferId) const override
    {
        return "under way";
    }

    FrameFormat GetFrameFormat(uint32_t, uint32_t mtu) const override
    {
        return {mtu, 0};
    }

    Time GetLongestSilence() const override
    {
        return MilliSeconds(1);
    }

    bool UsesIp() const override
    {
        return false;
    }

  private:
    void NoteSent(TransferId id)
    {
        m_sent(id);
    }

    void Deliver(const Transfer& transfer)
    {
        NotifyArrival();
        m_delivered(transfer.id, transfer.payload ? *transfer.payload : Bytes());
    }

    std::map<TransferId, EventId> m_sending;  //!< when a sender has sent everything
    std::map<TransferId, EventId> m_arriving; //!< when everything arrives
};

NS_OBJECT_ENSURE_REGISTERED(FluidTransport);

/// A transport of one's own is used by its TypeId name, with faults, too.
class OwnTransportTestCase : public TestCase
{
  public:
    OwnTransportTestCase()
        : TestCase("a transport of one's own")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& sync : SYNCS)
        {
            for (const std::string scheduler : {"ring", "greedy", "hrl"})
            {
                CheckRun(scheduler, sync, {});
                CheckRun(scheduler, sync, {"0-4@3us"});
            }
        }
    }

    void CheckRun(const std::string& scheduler,
                  const std::string& sync,
                  const std::vector<std::string>& faults)
    {
        const Experiment experiment =
            MakeExperiment(ParseTopology("bcube:2,1"), scheduler, 1'000'000);
        RunOptions options = MakeOptions("ns3::FluidTransport", sync);
        options.faults.fail = faults;
        const auto result = RunExperiment(experiment, options);
        const std::string name = scheduler + " " + sync;
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", name);
        NS_TEST_EXPECT_MSG_EQ(result.isVerified, true, name);
        NS_TEST_EXPECT_MSG_EQ((result.nReplans > 0), !faults.empty(), name);
        if (faults.empty())
        {
            // Full frames are stored and forwarded in the prediction, and not here.
            NS_TEST_EXPECT_MSG_EQ_TOL(result.measuredSeconds / result.predictedSeconds,
                                      1,
                                      0.25,
                                      name);
        }
    }
};

/// AllReduces of several sizes, each when the script says.
class SequenceTestCase : public TestCase
{
  public:
    SequenceTestCase()
        : TestCase("a sequence of sizes")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<uint64_t> sizes = {4'000'000, 1'000'000, 2'000'000};
        TopologyHelper topology(ParseTopology("bcube:2,1"));
        AllReduceHelper helper(topology.Install());
        helper.SetChunksPerServer(2);
        const auto session = helper.Install("greedy", "ns3::FluidTransport");
        std::vector<uint32_t> asked;
        session->SetSequence(sizes, [&](uint32_t index) {
            asked.push_back(index);
            return MilliSeconds(10 * (index + 1));
        });
        Simulator::Run();
        const std::vector<Time>& durations = session->GetDurations();
        NS_TEST_ASSERT_MSG_EQ(durations.size(), sizes.size(), session->GetFailure());
        NS_TEST_EXPECT_MSG_EQ((asked == std::vector<uint32_t>{0, 1, 2}), true, "one wait for each");
        Time sum = MilliSeconds(60);
        for (std::size_t i = 0; i < sizes.size(); ++i)
        {
            sum += durations[i];
            const double ratio = durations[i].GetSeconds() / durations[1].GetSeconds();
            NS_TEST_EXPECT_MSG_EQ_TOL(ratio, sizes[i] / 1e6, 0.1, "time follows size");
        }
        NS_TEST_EXPECT_MSG_EQ(session->GetBegin() + durations.back(), sum, "the waits, no more");
        Simulator::Destroy();
    }
};

/// @ingroup allreduce-tests
/// @brief What the manual says that scripts can add.
class OwnTransportTestSuite : public TestSuite
{
  public:
    OwnTransportTestSuite()
        : TestSuite("allreduce-own-transport", TestSuite::Type::UNIT)
    {
        AddTestCase(new OwnTransportTestCase);
        AddTestCase(new SequenceTestCase);
    }
};

OwnTransportTestSuite g_ownTransportTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
