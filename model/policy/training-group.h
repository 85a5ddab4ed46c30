/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_GROUP_H
#define ALLREDUCE_TRAINING_GROUP_H

#include "training-process.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// The connection to another process of the training was lost, or could not be made.
class TrainingGroupError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/**
 * @ingroup allreduce
 * @brief The processes that train together, and what they tell each other: LibTorch's c10d with
 * Gloo. All of them make the same calls in the same order. A process on its own has nobody to tell.
 */
class TrainingGroup
{
  public:
    /// A process on its own. @param threads that it may use; 0: one for each core
    explicit TrainingGroup(uint32_t threads = 0);

    /// Wait until all are there. @param process this process
    /// @param whileWaiting called again and again until all are there; may throw to give up
    /// @throws InputError if the address or the port cannot be used
    /// @throws TrainingGroupError if some do not come
    explicit TrainingGroup(
        const TrainingProcess& process,
        const std::function<void()>& whileWaiting = [] {});
    ~TrainingGroup();

    TrainingGroup(const TrainingGroup&) = delete;
    TrainingGroup& operator=(const TrainingGroup&) = delete;

    /// @return the number of this process
    uint32_t GetRank() const
    {
        return m_process.rank;
    }

    /// @return how many processes there are
    uint32_t GetSize() const
    {
        return m_process.size;
    }

    /// @return how many threads this process may use
    uint32_t GetNThreads() const;

    /// @return whether this process has the row of that index @param row the index
    bool IsOwn(uint32_t row) const
    {
        return row % m_process.size == m_process.rank;
    }

    /// Tell all processes the rows that each of them has.
    /// @param [in,out] values row after row; those of others are filled in
    /// @param nRows how many rows
    /// @throws TrainingGroupError if somebody is gone, or does not answer in time
    void Gather(std::vector<double>& values, uint32_t nRows) const;

    /// Tell all processes the texts that each of them has.
    /// @param [in,out] texts those of others are filled in
    /// @throws TrainingGroupError if somebody is gone, or does not answer in time
    void Gather(std::vector<std::string>& texts) const;

    /// Tell all processes what rank 0 has. @param [in,out] text replaced by that of rank 0
    /// @throws TrainingGroupError if somebody is gone, or does not answer in time
    void Broadcast(std::string& text) const;

  private:
    struct Impl; //!< keeps LibTorch out of this header
    TrainingProcess m_process;
    std::shared_ptr<Impl> m_impl; //!< the connections; none if the process is on its own
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_GROUP_H */
