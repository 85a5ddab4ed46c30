/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-transport.h"
#include "ns3/cluster-policy.h"
#include "ns3/log.h"
#include "ns3/model-catalogue.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"
#include "ns3/type-id.h"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// What a script can set, watch and log is in the manual's tables.
class TablesTestCase : public TestCase
{
  public:
    TablesTestCase()
        : TestCase("attributes, trace sources and log components are in the manual")
    {
    }

  private:
    void DoRun() override
    {
        std::string manual;
        const std::filesystem::path folder = NS_TEST_SOURCEDIR "/../doc";
        for (const auto& file : std::filesystem::directory_iterator(folder))
        {
            if (file.path().extension() != ".rst")
            {
                continue;
            }
            std::ifstream in(file.path());
            manual.append(std::istreambuf_iterator<char>(in), {});
        }
        const auto expect = [&](const std::string& name, const std::string& owner) {
            NS_TEST_EXPECT_MSG_EQ(Contains(manual, "``" + name + "``"),
                                  true,
                                  owner << ": " << name << " is not in the manual");
        };
        uint32_t nTypes = 0;
        for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
        {
            const TypeId type = TypeId::GetRegistered(i);
            const std::string& name = type.GetName();
            // Of LightLinkDevice the manual says that it has those of PointToPointNetDevice, and a
            // scheduler of a test is no part of the module.
            if (name.rfind("ns3::allreduce::", 0) != 0 || type.GetGroupName() != "AllReduce" ||
                Contains(name, "LightLink"))
            {
                continue;
            }
            ++nTypes;
            for (std::size_t j = 0; j < type.GetAttributeN(); ++j)
            {
                expect(type.GetAttribute(j).name, name);
            }
            for (std::size_t j = 0; j < type.GetTraceSourceN(); ++j)
            {
                expect(type.GetTraceSource(j).name, name);
            }
        }
        NS_TEST_EXPECT_MSG_GT(nTypes, 20, "types of the module");
        for (const auto& component : *LogComponent::GetComponentList())
        {
            if (component.first.rfind("AllReduce", 0) == 0 ||
                component.first == "PinnedPathRouting")
            {
                expect(component.first, "NS_LOG");
            }
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
        AddTestCase(new TablesTestCase);
    }
};

ManualTestSuite g_manualTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
