/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-transport.h"
#include "ns3/cluster-policy.h"
#include "ns3/model-catalogue.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// @brief What users can choose by name is explained.
class ManualTestCase : public TestCase
{
  public:
    ManualTestCase()
        : TestCase("schedulers, transports, policies and topologies are in the manual")
    {
    }

  private:
    void DoRun() override
    {
        CheckPage("schedulers", GetSchedulerNames());
        CheckPage("packets", GetTransportNames());
        CheckPage("cluster", GetClusterPolicyNames(false));
        std::vector<std::string> models;
        for (const TrainingModel& model : GetModelCatalogue())
        {
            models.push_back(model.name);
        }
        CheckPage("cluster", models);
        CheckPage("programs", SplitGrammar(GetTopologyGrammar()));
    }

    /// @return the forms of topologies, as "bcube:N,K"
    std::vector<std::string> SplitGrammar(const std::string& grammar)
    {
        std::vector<std::string> forms;
        boost::split(forms, grammar, boost::is_any_of("| "), boost::token_compress_on);
        return forms;
    }

    void CheckPage(const std::string& page, const std::vector<std::string>& names)
    {
        const std::string file = "/../doc/allreduce-" + page + ".rst";
        std::ifstream in(NS_TEST_SOURCEDIR + file);
        std::ostringstream text;
        text << in.rdbuf();
        NS_TEST_EXPECT_MSG_EQ(names.empty(), false, page);
        for (const std::string& name : names)
        {
            NS_TEST_EXPECT_MSG_EQ(Contains(text.str(), "``" + name + "``"),
                                  true,
                                  name << " is not in doc/allreduce-" << page << ".rst");
        }
    }
};

/// @ingroup allreduce-tests
/// @brief The manual has what the module has.
class ManualTestSuite : public TestSuite
{
  public:
    ManualTestSuite()
        : TestSuite("allreduce-manual", TestSuite::Type::UNIT)
    {
        AddTestCase(new ManualTestCase);
    }
};

ManualTestSuite g_manualTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
