/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "session-test-utils.h"
#include "soak-run.h"

#include "ns3/test.h"

#include <string>

namespace ns3::allreduce
{

namespace
{

/// Whatever happens to a run, its sums are exact, or servers could not reach each other.
class SoakTestCase : public DataCentreTestCase
{
  public:
    /// @param first seed of the first run @param last seed of the last run
    SoakTestCase(uint64_t first, uint64_t last)
        : DataCentreTestCase("random runs " + std::to_string(first) + " to " +
                             std::to_string(last)),
          m_first(first),
          m_last(last)
    {
    }

  private:
    void DoRun() override
    {
        const uint32_t nRuns = m_last - m_first + 1;
        uint32_t nCutOff = 0;
        for (uint64_t seed = m_first; seed <= m_last; ++seed)
        {
            const SoakOutcome outcome = RunSoak(seed);
            nCutOff += outcome.kind == SoakOutcome::CUT_OFF;
            NS_TEST_EXPECT_MSG_EQ((outcome.kind == SoakOutcome::DEFECT),
                                  false,
                                  seed << ": " << outcome.reason << ": " << outcome.command);
        }
        NS_TEST_EXPECT_MSG_GT(nCutOff, nRuns / 50, "some are cut off");
        NS_TEST_EXPECT_MSG_LT(nCutOff, nRuns / 2, "most are not");
    }

    const uint64_t m_first; //!< seed of the first run
    const uint64_t m_last;  //!< seed of the last run
};

/// Runs that once were defects.
class KnownRunsTestCase : public DataCentreTestCase
{
  public:
    KnownRunsTestCase()
        : DataCentreTestCase("runs that once had no end")
    {
    }

  private:
    void DoRun() override
    {
        // Timeouts of no time: tiny frames that get lost on links of 8.5 Tb/s without delay.
        const SoakOutcome outcome = RunSoak(5882);
        NS_TEST_EXPECT_MSG_EQ((outcome.kind == SoakOutcome::EXACT), true, outcome.reason);
    }
};

class SoakTestSuite : public TestSuite
{
  public:
    SoakTestSuite()
        : TestSuite("allreduce-soak", TestSuite::Type::UNIT)
    {
        AddTestCase(new KnownRunsTestCase);
        AddTestCase(new SoakTestCase(1, 20));
        AddTestCase(new SoakTestCase(21, 200), EXTENSIVE);
    }
};

SoakTestSuite g_soakTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
