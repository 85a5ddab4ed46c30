/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RATE_BELIEFS_H
#define ALLREDUCE_RATE_BELIEFS_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-transport.h"
#include "ns3/rate-change.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// How quickly rates are believed and forgotten.
struct RateBeliefsSettings
{
    /// Seconds for which a slow link is believed to be so without being used; then its rate is
    /// believed to be twice as high, and so on. A few times what a chunk takes is good.
    double memorySeconds{5e-3};
    double changeShare{0.2}; //!< a relative change above this matters
};

/// @ingroup allreduce
/// What is known of a flow when it begins.
struct ObservedFlow
{
    TransferId id{0};                  //!< its name
    std::vector<DirectedLinkId> links; //!< of its path
    double paceBps{0};                 //!< at which its sender sends, headers included
    FrameFormat format;                //!< of its frames
    double tripSeconds{0};             //!< of a frame, without queues
    double setupSeconds{0};            //!< before it is fast, see GetSetupSeconds of a transport
};

/**
 * @ingroup allreduce
 *
 * @brief Estimates the rate of every directed link from how fast flows get on.
 *
 * Each link has a score: how many frames less than they should have the flows over it got, beyond a
 * share that noise may take. Flows that are as fast as their senders lower it. The links of a slow
 * flow's path with the highest score are blamed once it is high enough: they are believed to be as
 * fast as what they carry, all flows together. A link that carries more than believed is believed
 * to be faster at once. Knows nothing of the simulator: all times are seconds on any one clock.
 */
class RateBeliefs
{
  public:
    /**
     * @param topology the network as announced
     * @param settings how quickly to believe and to forget
     */
    explicit RateBeliefs(const Topology& topology, const RateBeliefsSettings& settings = {});

    /**
     * A sender begins.
     *
     * @param flow what it sends; a flow of this name must not be under way
     * @param seconds the time
     */
    void BeginFlow(const ObservedFlow& flow, double seconds);

    /**
     * A look at a flow. Looks should be several times as frequent as 16 frames take.
     *
     * @param id a flow; nothing happens if it is not under way
     * @param progress how far it has come
     */
    void Progress(TransferId id, const TransferProgress& progress);

    /**
     * Draw conclusions from what looks at all flows have shown, and believe less in what has not
     * been seen for long.
     *
     * @param seconds the time
     */
    void Update(double seconds);

    /**
     * @param id a flow
     * @return flows that share links with it, and itself, some several times. Before it ends they
     * are to be looked at, too.
     */
    std::vector<TransferId> ListBeside(TransferId id) const;

    /**
     * All of a flow has arrived.
     *
     * @param id a flow; nothing happens if it is not under way
     * @param bytes all of its bytes
     * @param seconds the time
     */
    void EndFlow(TransferId id, uint64_t bytes, double seconds);

    /**
     * A flow is given up; nothing follows from that.
     *
     * @param id a flow; nothing happens if it is not under way
     * @param seconds the time
     */
    void AbortFlow(TransferId id, double seconds);

    /// @return by directed link: the announced rate, or a lower one if there is evidence for it
    const std::vector<uint64_t>& GetBelievedBps() const;

    /// @return by directed link: the announced rate
    const std::vector<uint64_t>& GetAnnouncedBps() const;

    /// @return how many changes mattered so far
    uint64_t GetVersion() const;

    /// @return the changes that mattered since the last call, in order of time
    std::vector<BeliefChange> TakeChanges();

    /**
     * @param link a directed link
     * @return when flows last showed something about it; less than 0: never
     */
    double GetEvidenceSeconds(DirectedLinkId link) const;

    /**
     * @param link a directed link
     * @return whether it is believed slow, but another link could be to blame instead
     */
    bool IsDoubtful(DirectedLinkId link) const;

  private:
    /// A link or flow that has this share of its rate is not slow: the rest may be others' traffic.
    static constexpr double FULL_SHARE = 0.85;
    /// A good reputation of a link is no better than this score.
    static constexpr double LEAST_SCORE = -6;
    /// Most links that share blame by name; if there are more, doubt stays.
    static constexpr uint32_t MOST_PARTNERS = 7;

    /// What is known of a directed link.
    struct LinkState
    {
        double announced{0};   //!< bit/s
        double believed{0};    //!< bit/s
        double told{0};        //!< bit/s, in the last change that mattered
        double carried{0};     //!< bits that arrived after having gone over it
        double score{0};       //!< frames that flows over it lack
        double pending{0};     //!< to be added to that by windows that are not over
        double confirmed{0};   //!< when it was last seen to be as slow as believed
        double evidence{-1};   //!< when it was last used
        double aborted{-1};    //!< when a flow over it was last aborted
        double memory{0};      //!< half of the seconds for which it is next believed slow
        bool isRough{false};   //!< believed is a first guess, and too high rather than too low
        uint32_t nPartners{0}; //!< links that share the blame
        std::array<DirectedLinkId, MOST_PARTNERS> partners{}; //!< the first of them
        std::vector<TransferId> flows;                        //!< under way over it
    };

    /// A flow under way.
    struct Flow
    {
        std::vector<DirectedLinkId> links; //!< of its path
        std::vector<double> carriedBefore; //!< by link of its path: when the window began
        double pace{0};                    //!< bit/s
        double wireBits{0};                //!< for each byte of data
        double frameBits{0};               //!< of a full frame
        double trip{0};                    //!< seconds
        double begin{0};                   //!< of the window
        uint64_t firstArrived{0};          //!< bytes at the beginning of the window
        uint64_t arrived{0};               //!< bytes
        uint64_t sent{0};                  //!< bytes
        uint64_t seenSent{0};              //!< the same at the last look
        double lastSent{0};                //!< when a look last saw that more was sent
        double mostWaiting{0};             //!< bits sent that should have arrived, in the window
        double lack{0};                    //!< frames in the score of its links
        bool isOpen{false};                //!< the first window has begun
        bool isSeen{false};                //!< something has arrived from behind what was aborted
    };

    /// What a look at a flow shows of its window.
    struct Sight
    {
        double seconds{0};   //!< the time
        double elapsed{0};   //!< since the window began
        double bits{0};      //!< that arrived in the window, on the wire
        bool isEarly{false}; //!< too early to lack anything
        bool isEnd{false};   //!< all has arrived
    };

    void Look(Flow& flow, double seconds, bool isEnd);
    void CountWaiting(Flow& flow, double seconds);
    /// @return whether a flow shows nothing because of what was given up on its path
    bool IsBehindAborted(Flow& flow, double seconds);
    static Sight MakeSight(const Flow& flow, double seconds, bool isEnd);
    /// @return frames that a flow lacks in its window
    double FindLack(const Flow& flow, const Sight& sight) const;
    static bool IsWindowFull(const Flow& flow, const Sight& sight);
    /// @return bits that a link of a flow's path carried in its window, for all flows
    double FindCarried(const Flow& flow, std::size_t i) const;
    /// @return bit/s that it carried at most
    double FindMostCarried(const Flow& flow, std::size_t i, const Sight& sight) const;
    /// @return bit/s that the links of a flow leave for it, as they are believed to be
    double FindShare(const Flow& flow, const Sight& sight) const;
    void SetLack(Flow& flow, double lack);
    /// Begin anew with what has arrived by now.
    void BeginWindow(Flow& flow, double seconds);
    void CloseWindow(Flow& flow, const Sight& sight);
    /// Links that a flow keeps as busy as believed are as slow as believed.
    void Confirm(const Flow& flow, const Sight& sight);
    /// Links that carry more than believed are faster.
    void Refute(const Flow& flow, const Sight& sight);
    /// First guesses come down to what is seen.
    void Refine(const Flow& flow, const Sight& sight);
    /// Find links to blame for what a flow lacks. @return whether there were any
    bool Blame(const Flow& flow, const Sight& sight);
    /// The blame of a link was wrong.
    void Clear(DirectedLinkId id, double score, double seconds);
    void DropPartner(DirectedLinkId id, DirectedLinkId partner);
    void Believe(DirectedLinkId id, double bps, double seconds);
    void Remove(TransferId id);
    void Forget(double seconds);

    RateBeliefsSettings m_settings;       //!< how quickly to believe and to forget
    std::vector<LinkState> m_links;       //!< by directed link
    std::map<TransferId, Flow> m_flows;   //!< under way
    std::vector<uint64_t> m_announcedBps; //!< by directed link
    std::vector<uint64_t> m_believedBps;  //!< by directed link
    std::vector<BeliefChange> m_changes;  //!< not taken yet
    uint64_t m_version{0};                //!< see GetVersion
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RATE_BELIEFS_H */
