/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "mpi-ranks.h"

#include "ns3/allreduce-error.h"
#include "ns3/distributed-run.h"

#ifdef ALLREDUCE_MPI
#include <mpi.h>
#endif

namespace ns3::allreduce
{

bool MpiRanks::m_isJoined = false;

MpiRanks&
MpiRanks::Get()
{
    static MpiRanks ranks;
    return ranks;
}

uint32_t
MpiRanks::GetRank() const
{
    return m_rank;
}

uint32_t
MpiRanks::GetSize() const
{
    return m_size;
}

#ifdef ALLREDUCE_MPI

MpiRanks::MpiRanks()
{
    if (GetNLaunched() == 1)
    {
        return; // MPI would start a process of its own for this one.
    }
    int rank = 0;
    int size = 1;
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    m_rank = rank;
    m_size = size;
    m_isJoined = true;
}

MpiRanks::~MpiRanks()
{
    if (m_isJoined)
    {
        MPI_Abort(MPI_COMM_WORLD, 2); // the status of programs that refuse their input
    }
}

void
MpiRanks::Send(uint32_t rank, const std::string& text)
{
    MPI_Send(text.data(), text.size(), MPI_CHAR, rank, 0, MPI_COMM_WORLD);
}

std::optional<uint32_t>
MpiRanks::FindSender()
{
    int isThere = 0;
    MPI_Status status;
    if (m_isJoined)
    {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &isThere, &status);
    }
    return isThere ? std::optional<uint32_t>(status.MPI_SOURCE) : std::nullopt;
}

std::string
MpiRanks::Receive(uint32_t rank)
{
    MPI_Status status;
    int size = 0;
    MPI_Probe(rank, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &size);
    std::string text(size, '\0');
    MPI_Recv(text.data(), size, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return text;
}

void
MpiRanks::Leave()
{
    if (m_isJoined)
    {
        MPI_Finalize();
    }
    m_isJoined = false;
}

#else

MpiRanks::MpiRanks()
{
    RequireOneProcess("a build with MPI (Debian: libopenmpi-dev) or --shard");
}

MpiRanks::~MpiRanks() = default;

void
MpiRanks::Send(uint32_t, const std::string&)
{
}

std::optional<uint32_t>
MpiRanks::FindSender()
{
    return std::nullopt;
}

std::string
MpiRanks::Receive(uint32_t)
{
    return "";
}

void
MpiRanks::Leave()
{
}

#endif

void
RequireOneProcess(const std::string& instead)
{
    if (GetNLaunched() > 1)
    {
        FailInput("started in ",
                  GetNLaunched(),
                  " processes, which would all do the same: expected ",
                  instead);
    }
}

} // namespace ns3::allreduce
