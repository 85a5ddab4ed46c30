/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CRAWLING_TRANSFER_H
#define ALLREDUCE_CRAWLING_TRANSFER_H

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A transfer under way that may be slower than whoever chose it had thought.
struct CrawlingTransfer
{
    double shareLeft{0};        //!< of the chunk; 1: nothing has arrived
    double expectedSeconds{0};  //!< what the chunk was to take when the transfer began
    double announcedSeconds{0}; //!< what it takes at the announced rate of the path
    double believedSeconds{0};  //!< what it takes at the rate that the path seems to have now
};

/**
 * @ingroup allreduce
 *
 * Whether a transfer is given up, so that its data can take another way: if more than half of it is
 * left, if that takes more than two chunks took as announced, and if nobody knew so before. A slow
 * path that was chosen knowingly is followed to its end.
 *
 * @param transfer the transfer
 * @return whether whoever runs transfers aborts it, and then calls BeginTransfers
 */
inline bool
IsToBeGivenUp(const CrawlingTransfer& transfer)
{
    constexpr double MOST_CHUNKS = 2;
    constexpr double SURPRISE = 1.5;
    return transfer.shareLeft > 0.5 &&
           transfer.shareLeft * transfer.believedSeconds >
               MOST_CHUNKS * transfer.announcedSeconds &&
           transfer.believedSeconds > SURPRISE * transfer.expectedSeconds;
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CRAWLING_TRANSFER_H */
