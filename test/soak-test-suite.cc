/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "session-test-utils.h"
#include "soak-run.h"

#include "ns3/test.h"

namespace ns3::allreduce
{

namespace
{

/// Whatever happens to a run, its sums are exact, or servers could not reach each other.
class SoakTestCase : public DataCentreTestCase
{
  public:
    SoakTestCase()
        : DataCentreTestCase("random runs")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t N_RUNS = 200;
        uint32_t nCutOff = 0;
        for (uint64_t seed = 1; seed <= N_RUNS; ++seed)
        {
            const SoakOutcome outcome = RunSoak(seed);
            nCutOff += outcome.kind == SoakOutcome::CUT_OFF;
            NS_TEST_EXPECT_MSG_EQ((outcome.kind == SoakOutcome::DEFECT),
                                  false,
                                  seed << ": " << outcome.reason << ": " << outcome.command);
        }
        NS_TEST_EXPECT_MSG_GT(nCutOff, N_RUNS / 50, "some are cut off");
        NS_TEST_EXPECT_MSG_LT(nCutOff, N_RUNS / 2, "most are not");
    }
};

class SoakTestSuite : public TestSuite
{
  public:
    SoakTestSuite()
        : TestSuite("allreduce-soak", TestSuite::Type::UNIT)
    {
        AddTestCase(new SoakTestCase);
    }
};

SoakTestSuite g_soakTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
