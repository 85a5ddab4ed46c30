/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HELPER_H
#define ALLREDUCE_HELPER_H

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-session.h"
#include "ns3/application-container.h"
#include "ns3/object-factory.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Puts AllReduces on a network.
 *
 *     Ptr<AllReduceNetwork> network = TopologyHelper(MakeBCube(4, 1)).Install();
 *     AllReduceHelper allReduce(network);
 *     allReduce.SetAttribute("Bytes", UintegerValue(16 << 20));
 *     Ptr<AllReduceSession> session = allReduce.Install("greedy", "tcp");
 *     allReduce.GetApplications().Start(Seconds(1));
 *
 * Several sessions can share a network: call Install() for each. A value that is not possible ends
 * the program with a message that names it.
 */
class AllReduceHelper
{
  public:
    /// @param network the network
    explicit AllReduceHelper(Ptr<AllReduceNetwork> network);

    /**
     * Set an attribute of the sessions that are installed from now on.
     *
     * @param name the attribute's name
     * @param value its value
     */
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /**
     * Choose how many chunks the gradient is cut into, for each server (of the largest group).
     *
     * @param chunksPerServer their number; 0, as without this call, stands for what ChooseChunks
     * chooses for the bytes of a session
     */
    void SetChunksPerServer(uint32_t chunksPerServer);

    /**
     * Let groups of servers do something instead of an AllReduce of all: for instance one job's
     * servers. Applications are on all servers all the same, since others may relay. Bytes are
     * those of all groups together; each has as many.
     *
     * @param groups the groups
     * @param mayRelay whether servers of other groups and of none may pass chunks on
     */
    void SetGroups(std::vector<Group> groups, bool mayRelay = true);

    /**
     * Choose all chunks one by one.
     *
     * @param collective what is to be summed where; roots alone: an AllReduce of all servers
     */
    void SetCollective(Collective collective);

    /**
     * Let sessions follow a plan; their schedulers are asked only when something happens that it
     * does not foresee. It says what is summed where, too.
     *
     * @param plan the plan
     */
    void SetPlan(VerifiedPlan plan);

    /**
     * Put an application on every server. When they start is when the job does:
     * GetApplications().Start(time).
     *
     * @param scheduler short name or TypeId name of the scheduler
     * @param transport short name or TypeId name of the transport
     * @return the session, which begins when all applications have started
     */
    Ptr<AllReduceSession> Install(const std::string& scheduler, const std::string& transport);

    /**
     * Put an application on every server.
     *
     * @param scheduler the scheduler
     * @param transport the transport, for this session only
     * @return the session, which begins when all applications have started
     */
    Ptr<AllReduceSession> Install(Ptr<AllReduceScheduler> scheduler,
                                  Ptr<AllReduceTransport> transport);

    /// @return the applications of the session that was installed last, by server
    ApplicationContainer& GetApplications();

  private:
    /// Makes the scheduler of a session, once or, to try out numbers of chunks, several times.
    using SchedulerMaker = std::function<Ptr<AllReduceScheduler>()>;

    /// @return a session whose applications are installed @param makeScheduler makes its scheduler
    /// @param transport its transport
    Ptr<AllReduceSession> DoInstall(const SchedulerMaker& makeScheduler,
                                    Ptr<AllReduceTransport> transport);

    Ptr<AllReduceNetwork> m_network; //!< where
    ObjectFactory m_factory;         //!< makes sessions
    /// @return what is to be summed where @param chunksPerServer how many chunks
    Collective MakeCollective(uint32_t chunksPerServer) const;

    std::vector<Group> m_groups;         //!< who takes part; none: all servers
    bool m_mayRelay{true};               //!< whether others may relay
    uint32_t m_chunksPerServer{0};       //!< 0: to be chosen
    Collective m_collective;             //!< if it was set; else without chunks
    std::optional<VerifiedPlan> m_plan;  //!< if it was set
    ApplicationContainer m_applications; //!< of the last session
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HELPER_H */
