/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SESSION_TEST_UTILS_H
#define ALLREDUCE_SESSION_TEST_UTILS_H

#include "run-experiment.h"

#include "ns3/test.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// Both ways to keep rounds.
extern const std::vector<std::string> SYNCS;

/**
 * @ingroup allreduce-tests
 *
 * @brief A test with the TCP of a data centre, as the programs have it; ns-3's own before and
 * after.
 */
class DataCentreTestCase : public TestCase
{
  public:
    using TestCase::TestCase;

  private:
    void DoSetup() override;
    void DoTeardown() override;
};

/**
 * @ingroup allreduce-tests
 *
 * @param topology the network
 * @param scheduler the scheduler's name
 * @param bytes size of the gradient
 * @param chunksPerServer number of chunks for each server
 * @return what a run of this needs
 */
Experiment MakeExperiment(const Topology& topology,
                          const std::string& scheduler,
                          uint64_t bytes,
                          uint32_t chunksPerServer = 2);

/**
 * @ingroup allreduce-tests
 *
 * @param transport the transport's name
 * @param sync barrier or dependency
 * @return options of a run that checks its sums
 */
RunOptions MakeOptions(const std::string& transport, const std::string& sync);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SESSION_TEST_UTILS_H */
