/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MPI_RANKS_H
#define ALLREDUCE_MPI_RANKS_H

#include <cstdint>
#include <optional>
#include <string>

namespace ns3::allreduce
{

/**
 * @brief The processes that mpirun has started with the same command line, of which this is one.
 *
 * A program that was started without mpirun has one rank, number 0.
 */
class MpiRanks
{
  public:
    /**
     * @return the ranks; the first call joins them
     * @throws InputError if there are several and this build does not know MPI
     */
    static MpiRanks& Get();

    MpiRanks(const MpiRanks&) = delete;
    MpiRanks& operator=(const MpiRanks&) = delete;

    /// @return the number of this process
    uint32_t GetRank() const;

    /// @return how many there are
    uint32_t GetSize() const;

    /**
     * @param rank to whom
     * @param text what to say
     */
    void Send(uint32_t rank, const std::string& text);

    /// @return somebody who has said what was not received yet, if anybody has
    std::optional<uint32_t> FindSender();

    /**
     * Wait for a text.
     *
     * @param rank from whom
     * @return the text
     */
    std::string Receive(uint32_t rank);

    /// The program has done its work: once all ranks say so, all may end. RunProgram calls it.
    static void Leave();

  private:
    MpiRanks();

    /// Ends all ranks if this one has not left: what they wait for does not come.
    ~MpiRanks();

    static bool m_isJoined; //!< MPI is at work
    uint32_t m_rank{0};     //!< this process
    uint32_t m_size{1};     //!< number of processes
};

/**
 * Refuse to be one of several processes that would all do the same, and write the same files.
 *
 * @param instead what was expected
 * @throws InputError if mpirun has started several
 */
void RequireOneProcess(const std::string& instead = "a start without mpirun");

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MPI_RANKS_H */
