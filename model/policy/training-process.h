/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_PROCESS_H
#define ALLREDUCE_TRAINING_PROCESS_H

#include <cstdint>
#include <string>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// One of the processes that train together, and how it finds the others.
struct TrainingProcess
{
    /// The environment variable that names TrainingProcess::file.
    static constexpr const char* FILE_VARIABLE = "ALLREDUCE_TRAINING_FILE";

    uint32_t rank{0};      //!< of this process; rank 0 reads and writes files
    uint32_t size{1};      //!< processes in all
    uint32_t sizeHere{1};  //!< processes on this machine
    std::string address;   //!< of the machine of rank 0
    uint16_t port{0};      //!< where rank 0 listens
    std::string file;      //!< instead of address and port, if all processes are on this machine
    uint32_t threads{0};   //!< of this process; 0: its share of the cores
    uint32_t timeout{600}; //!< seconds that processes wait for each other
};

/// @ingroup allreduce
/// Read what torchrun and its like say: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and
/// LOCAL_WORLD_SIZE if it is there. Processes that LocalRanks started have FILE_VARIABLE instead of
/// an address and a port.
/// @return this process; one on its own if none of the variables is set
/// @throws InputError if one is missing or wrong
TrainingProcess ReadTrainingProcess();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_PROCESS_H */
