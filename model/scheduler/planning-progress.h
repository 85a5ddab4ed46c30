/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNING_PROGRESS_H
#define ALLREDUCE_PLANNING_PROGRESS_H

#include <cstddef>
#include <functional>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Where a planner says how far it has come, for users who wait.
 *
 * A planner hands on parts of it to whoever does parts of its work. Nobody need listen.
 */
class PlanningProgress
{
  public:
    /// Is told what is being done, and how much of all work is done, 0 to 1. Planners call it from
    /// all of their threads.
    using Listener = std::function<void(const std::string& what, double share)>;

    PlanningProgress() = default;

    /// @param listener whom to tell
    explicit PlanningProgress(Listener listener);

    /**
     * @param from how much of this work is done when the part begins
     * @param to likewise when it ends
     * @param name what the part is, if users should see that
     * @return the progress of the part
     */
    PlanningProgress GetPart(double from, double to, const std::string& name = "") const;

    /**
     * @param name what the parts are
     * @param i which one, from 0 on
     * @param n how many equal ones there are
     * @return its progress, named "try 3 of 48"
     */
    PlanningProgress GetPart(const std::string& name, std::size_t i, std::size_t n) const;

    /// @param what is being done @param share how much of this work is done
    void Show(const std::string& what, double share) const;

    /// @param nRounds rounds that are planned @param share how much of this work is done
    void ShowRound(std::size_t nRounds, double share) const;

  private:
    Listener m_listener; //!< whom to tell
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNING_PROGRESS_H */
