/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GADGET_POLICY_H
#define ALLREDUCE_GADGET_POLICY_H

#include "cluster-policy.h"

#include <optional>
#include <queue>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What a job gains in a slot by the number of its workers, made concave.
 *
 * Iterations a slot are rounded down, so that the gain need not be concave; only the corners of
 * its concave hull are options. Between them the gain for each further worker falls.
 */
struct GainCurve
{
    /// A corner of the hull.
    struct Corner
    {
        uint32_t workers{0}; //!< how many
        double gain{0};      //!< utility that they add, compared with none
    };

    std::vector<Corner> corners; //!< in ascending order, gains ascending, without (0, 0)

    /**
     * @param i a corner
     * @return workers between the corner before and this one
     */
    uint32_t GetWidth(std::size_t i) const;

    /**
     * @param i a corner
     * @return gain of this corner over the one before, for each worker
     */
    double GetDensity(std::size_t i) const;
};

/// @ingroup allreduce
/// What it costs a job to run otherwise than in the last slot.
struct MoveCharge
{
    /// How often what a job would lose by a move is added to the gain of staying.
    static constexpr double HYSTERESIS = 1;

    bool isCharged{false};   //!< it has run before: with other workers it loses time
    uint32_t nWorkersNow{0}; //!< with so many it stays as it is; 0: it does not run now
};

/**
 * @ingroup allreduce
 *
 * @param state a job
 * @param utility what progress is worth
 * @param limit so many workers at most
 * @param charge what a move costs
 * @return its gains in the next slot
 */
GainCurve MakeGainCurve(const JobState& state,
                        const JobUtility& utility,
                        uint32_t limit,
                        const MoveCharge& charge = {});

/**
 * @ingroup allreduce
 *
 * @brief GADGET, reconstructed: in each slot rings grow step by step, always the one whose next
 * step brings most utility for each GPU, and are then embedded into the network.
 *
 * Steps wait in a heap and are looked at lazily. A job's gains only fall while it progresses,
 * because its utility is concave: what is known of it from an earlier slot is a bound that is
 * computed anew only if it comes to the top. Rings are embedded once their sizes are known; what
 * the network refuses shrinks, and the GPUs that this frees go on being given away.
 *
 * The manual page has the theorem on how much of the best possible utility this reaches.
 */
class GadgetPolicy : public ClusterPolicy
{
  public:
    void AddJob(JobId job) override;
    void Allocate(uint32_t slot) override;
    std::optional<double> GetSlotBound() const override;

  private:
    /// What is known of a job.
    struct Candidate
    {
        GainCurve curve;         //!< its gains, as of some progress
        uint32_t iterations{0};  //!< that progress
        bool isKnown{false};     //!< whether there is a curve
        bool isRefused{false};   //!< whether the network refused its ring in this slot
        double firstDensity{0};  //!< no step of it is better, now or later, if moves are free
        std::size_t nTaken{0};   //!< corners taken in this slot
        uint32_t nWorkersNow{0}; //!< workers that it had in the last slot
    };

    /// A step in a heap.
    struct Step
    {
        double density; //!< gain for each GPU
        JobId job;      //!< whose

        /// @return whether another one comes first
        bool operator<(const Step& other) const
        {
            return density < other.density || (density == other.density && job > other.job);
        }
    };

    /// A step that did not fit.
    struct Refusal
    {
        JobId job;        //!< whose
        uint32_t workers; //!< what it would have had
        double gain;      //!< what this would have gained
    };

    void FindBound();
    GainCurve MakeCurve(JobId job, uint32_t limit) const;
    void OfferCharged(JobId job);
    std::optional<JobId> PopBest();
    void TakeSteps(uint32_t budget);
    void NoteRefusal(JobId job, uint32_t budget);
    void OfferLess(JobId job, uint32_t budget);
    void OfferNext(JobId job);
    void PreferSingleRing();
    void ReturnAll();
    void EmbedRings();
    void ShrinkRing(const RingSize& refused);
    void OfferAgain();
    void FillGaps();
    bool Enlarge(JobId job);
    double GetGain() const;

    std::vector<Candidate> m_candidates; //!< by job
    /// First steps; their densities may be out of date. That of a job that has finished is dropped
    /// when it comes to the top: nothing is left to gain.
    std::priority_queue<Step> m_waiting;
    std::priority_queue<Step> m_next; //!< further steps of jobs that have taken some
    std::vector<JobId> m_touched;     //!< jobs that left m_waiting in this slot
    std::optional<Refusal> m_refusal; //!< the first one
    double m_bound{0};                //!< see GetSlotBound
    bool m_hasRefused{false};         //!< the network refused a ring in this slot
    bool m_isCharged{false};          //!< moves cost what they do; not when the bound is found
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GADGET_POLICY_H */
