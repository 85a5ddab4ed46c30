/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/event-impl.h"
#include "ns3/map-scheduler.h"
#include "ns3/object-factory.h"
#include "ns3/scheduler.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// The module's queue of events hands them out in the order of ns-3's.
class SameOrderTestCase : public TestCase
{
  public:
    SameOrderTestCase()
        : TestCase("events in the order of MapScheduler")
    {
    }

  private:
    void DoRun() override
    {
        for (uint64_t seed = 1; seed <= 20; ++seed)
        {
            m_random.seed(seed);
            // Times that are often equal, usual ones, and such as use all bits.
            for (const uint32_t bits : {1, 13, 60})
            {
                CheckSequence(bits);
            }
        }
    }

    void CheckSequence(uint32_t bits)
    {
        ObjectFactory factory;
        factory.SetTypeId("ns3::allreduce::RadixEventScheduler");
        m_ours = factory.Create<Scheduler>();
        m_theirs = CreateObject<MapScheduler>();
        m_waiting.clear();
        m_now = 0;
        constexpr uint32_t N_STEPS = 2000;
        for (uint32_t step = 0; step < N_STEPS; ++step)
        {
            const uint32_t what = Draw(m_random, 10);
            if (what < 6)
            {
                Insert(m_now + (m_random() >> (64 - bits)), step);
            }
            else if (what < 7)
            {
                RemoveAny();
            }
            else
            {
                RemoveNext();
            }
        }
        while (!m_theirs->IsEmpty())
        {
            RemoveNext();
        }
        NS_TEST_EXPECT_MSG_EQ(m_ours->IsEmpty(), true, "nothing is left");
    }

    void Insert(uint64_t time, uint32_t uid)
    {
        constexpr uint64_t LAST = uint64_t{1} << 62;
        const Scheduler::Event event{nullptr, {std::min(time, LAST), uid, 0}};
        m_ours->Insert(event);
        m_theirs->Insert(event);
        m_waiting.push_back(event);
    }

    void RemoveAny()
    {
        if (m_waiting.empty())
        {
            return;
        }
        const auto event = m_waiting.begin() + Draw(m_random, m_waiting.size());
        m_ours->Remove(*event);
        m_theirs->Remove(*event);
        m_waiting.erase(event);
    }

    void RemoveNext()
    {
        NS_TEST_ASSERT_MSG_EQ(m_ours->IsEmpty(), m_theirs->IsEmpty(), "empty");
        if (m_theirs->IsEmpty())
        {
            return;
        }
        const uint32_t seen = m_ours->PeekNext().key.m_uid;
        const Scheduler::Event ours = m_ours->RemoveNext();
        const Scheduler::Event theirs = m_theirs->RemoveNext();
        NS_TEST_ASSERT_MSG_EQ(seen, theirs.key.m_uid, "which is seen first");
        NS_TEST_ASSERT_MSG_EQ(ours.key.m_uid, theirs.key.m_uid, "which is first");
        NS_TEST_ASSERT_MSG_EQ(ours.key.m_ts, theirs.key.m_ts, "when");
        m_now = theirs.key.m_ts;
        m_waiting.erase(
            std::find_if(m_waiting.begin(), m_waiting.end(), [&](const Scheduler::Event& event) {
                return event.key.m_uid == theirs.key.m_uid;
            }));
    }

    TestRandom m_random;                     //!< random numbers
    Ptr<Scheduler> m_ours;                   //!< the module's
    Ptr<Scheduler> m_theirs;                 //!< ns-3's
    std::vector<Scheduler::Event> m_waiting; //!< what is in both
    uint64_t m_now{0};                       //!< time of the event removed last
};

class RadixEventSchedulerTestSuite : public TestSuite
{
  public:
    RadixEventSchedulerTestSuite()
        : TestSuite("allreduce-event-scheduler", TestSuite::Type::UNIT)
    {
        AddTestCase(new SameOrderTestCase);
    }
};

RadixEventSchedulerTestSuite g_radixEventSchedulerTestSuite;

} // namespace

} // namespace ns3::allreduce
