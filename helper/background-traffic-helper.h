/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BACKGROUND_TRAFFIC_HELPER_H
#define ALLREDUCE_BACKGROUND_TRAFFIC_HELPER_H

#include "ns3/allreduce-network.h"
#include "ns3/application-container.h"
#include "ns3/attribute.h"
#include "ns3/object-factory.h"

#include <cstdint>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Puts a BackgroundTraffic on every server of a network.
 */
class BackgroundTrafficHelper
{
  public:
    BackgroundTrafficHelper();

    /**
     * @param name an attribute of BackgroundTraffic, such as "Load"
     * @param value its value
     */
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /**
     * @param network the network
     * @return the applications, by server
     */
    ApplicationContainer Install(Ptr<AllReduceNetwork> network) const;

    /**
     * Give the applications random streams of their own, so that runs can be repeated.
     *
     * @param applications what Install returned
     * @param stream the first one
     * @return how many they use
     */
    static int64_t AssignStreams(const ApplicationContainer& applications, int64_t stream);

  private:
    ObjectFactory m_factory; //!< makes the applications
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BACKGROUND_TRAFFIC_HELPER_H */
