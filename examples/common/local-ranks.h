/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LOCAL_RANKS_H
#define ALLREDUCE_LOCAL_RANKS_H

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief The other processes of a training on this machine: this program, started again with the
 * same arguments and a rank of its own. None outlives this process, however that ends.
 */
class LocalRanks
{
  public:
    /**
     * Start ranks 1, 2, ..., size - 1.
     *
     * @param size how many ranks there are, with this process, which is rank 0
     * @param argv the arguments of this program
     */
    LocalRanks(uint32_t size, char* argv[]);

    /// Ends those that are still at work.
    ~LocalRanks();

    LocalRanks(const LocalRanks&) = delete;
    LocalRanks& operator=(const LocalRanks&) = delete;

    /// @return the file by which the ranks find each other; it is not there before they do
    std::string GetFile() const;

    /// All have found each other: remove the file.
    void RemoveFile();

    /**
     * @param seconds how long to wait for one to end
     * @return which one has ended before it should, and how; "" if none has
     */
    std::string DescribeEnded(double seconds = 0);

  private:
    /// A process.
    struct Process
    {
        pid_t pid;     //!< 0: has ended
        uint32_t rank; //!< its rank
        int status{0}; //!< as waitpid gives it, when it has ended
    };

    void Start(uint32_t rank, char* argv[]);

    uint32_t m_size;                  //!< how many ranks there are
    std::string m_folder;             //!< has the file
    std::vector<Process> m_processes; //!< the other ranks
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LOCAL_RANKS_H */
