/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "slot-optimum-policy.h"

#include "offline-optimum.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#ifdef ALLREDUCE_GLPK
#include <glpk.h>
#endif

namespace ns3::allreduce
{

namespace
{

/// Rings of all jobs that a solver can still choose from.
constexpr std::size_t MOST_OFFERS = 100'000;
/// Servers whose rings can still be enumerated.
constexpr std::size_t MOST_SERVERS = 8;

#ifdef ALLREDUCE_GLPK

/// A matrix of GLPK, whose indices begin with 1.
class Matrix
{
  public:
    void Add(int row, int column, double value)
    {
        m_rows.push_back(row);
        m_columns.push_back(column);
        m_values.push_back(value);
    }

    void LoadInto(glp_prob* problem) const
    {
        glp_load_matrix(problem,
                        m_values.size() - 1,
                        m_rows.data(),
                        m_columns.data(),
                        m_values.data());
    }

  private:
    std::vector<int> m_rows{0};      //!< from 1 on
    std::vector<int> m_columns{0};   //!< from 1 on
    std::vector<double> m_values{0}; //!< from 1 on
};

using Problem = std::unique_ptr<glp_prob, decltype(&glp_delete_prob)>;

/// Rows: what there is of GPUs and Gb/s, and one ring for each job.
Problem
MakeProblem(const GpuCluster& cluster, const std::vector<RingOffer>& offers)
{
    constexpr double GIGABIT = 1e9;
    Problem problem(glp_create_prob(), glp_delete_prob);
    glp_set_obj_dir(problem.get(), GLP_MAX);
    const auto addRow = [&](double most) {
        const int row = glp_add_rows(problem.get(), 1);
        glp_set_row_bnds(problem.get(), row, GLP_UP, 0, most);
        return row;
    };
    for (const uint32_t gpus : cluster.gpus)
    {
        addRow(gpus);
    }
    const int firstLink = cluster.gpus.size() + 1;
    for (DirectedLinkId link = 0; link < cluster.topology.GetNDirectedLinks(); ++link)
    {
        addRow(cluster.GetReservable(link) / GIGABIT);
    }
    std::map<JobId, int> rowOfJob;
    Matrix matrix;
    for (const RingOffer& offer : offers)
    {
        const RingEmbedding& ring = offer.ring;
        const int column = glp_add_cols(problem.get(), 1);
        glp_set_col_kind(problem.get(), column, GLP_BV);
        glp_set_obj_coef(problem.get(), column, offer.gain);
        if (rowOfJob.count(ring.job) == 0)
        {
            rowOfJob[ring.job] = addRow(1);
        }
        matrix.Add(rowOfJob[ring.job], column, 1);
        for (std::size_t i = 0; i < ring.servers.size(); ++i)
        {
            matrix.Add(1 + ring.servers[i], column, ring.workers[i]);
        }
        std::map<DirectedLinkId, double> crossings;
        for (const DirectedLinkId link : GetLinks(cluster.topology, ring))
        {
            crossings[link] += ring.bandwidthBps / GIGABIT;
        }
        for (const auto& [link, rate] : crossings)
        {
            matrix.Add(firstLink + link, column, rate);
        }
    }
    matrix.LoadInto(problem.get());
    return problem;
}

#endif

} // namespace

std::vector<std::size_t>
ChooseRings(const GpuCluster& cluster, const std::vector<RingOffer>& offers)
{
    std::vector<std::size_t> chosen;
#ifdef ALLREDUCE_GLPK
    if (offers.empty())
    {
        return chosen;
    }
    const Problem problem = MakeProblem(cluster, offers);
    glp_iocp options;
    glp_init_iocp(&options);
    options.presolve = GLP_ON;
    options.msg_lev = GLP_MSG_OFF;
    if (glp_intopt(problem.get(), &options) != 0 || glp_mip_status(problem.get()) != GLP_OPT)
    {
        throw std::runtime_error("GLPK found no optimum of a slot");
    }
    for (std::size_t i = 0; i < offers.size(); ++i)
    {
        if (glp_mip_col_val(problem.get(), i + 1) > 0.5)
        {
            chosen.push_back(i);
        }
    }
#else
    throw std::runtime_error("this build has no GLPK");
#endif
    return chosen;
}

void
SlotOptimumPolicy::Allocate(uint32_t slot)
{
    std::vector<RingOffer> offers = MakeOffers();
    m_world.placement->Clear();
    for (const std::size_t index : ChooseRings(*m_world.cluster, offers))
    {
        m_world.placement->Restore(std::move(offers[index].ring));
    }
}

const std::vector<RingEmbedding>&
SlotOptimumPolicy::GetRings(uint32_t maxWorkers)
{
    const auto found = m_rings.find(maxWorkers);
    if (found != m_rings.end())
    {
        return found->second;
    }
    const std::size_t nServers = m_world.cluster->gpus.size();
    if (nServers > MOST_SERVERS)
    {
        FailInput("policy slot-optimum: ", nServers, " servers, expected at most ", MOST_SERVERS);
    }
    return m_rings[maxWorkers] = EnumerateRings(*m_world.cluster, maxWorkers);
}

/// @return every ring of every job that gains something
std::vector<RingOffer>
SlotOptimumPolicy::MakeOffers()
{
    std::vector<RingOffer> offers;
    for (const JobId job : m_active)
    {
        const JobState& state = GetState(job);
        const double before = state.iterations;
        const double cost = m_world.utility->GetWorkerSlotCost(state);
        for (const RingEmbedding& ring :
             GetRings(std::min(state.job->maxWorkers, m_world.placement->GetNGpus())))
        {
            const uint32_t workers = ring.GetNWorkers();
            const uint32_t rate = state.rates[workers];
            const double progress = std::min(rate, state.GetRemaining());
            const double gain = m_world.utility->GetGain(state, before, before + progress) -
                                cost * workers * state.GetBusyPart(rate);
            if (gain > 0)
            {
                offers.push_back({ring, gain});
                offers.back().ring.job = job;
                offers.back().ring.bandwidthBps = state.job->bandwidthBps;
            }
        }
    }
    if (offers.size() > MOST_OFFERS)
    {
        FailInput("policy slot-optimum: ",
                  offers.size(),
                  " rings to choose from, expected at most ",
                  MOST_OFFERS);
    }
    return offers;
}

} // namespace ns3::allreduce
