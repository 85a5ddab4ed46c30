/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ns3/abort.h"
#include "ns3/event-impl.h"
#include "ns3/scheduler.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A queue of events for ns-3's global value SchedulerType: a radix heap.
 *
 * It relies on what all simulators of ns-3 promise: an event is never inserted before the one that
 * was removed last, and of those at the same time the one inserted last has the largest uid. Events
 * lie in the bucket of the highest bit in which their time differs from that of the last one
 * removed, in the order of their insertion. Buckets are emptied into lower ones in that order, too,
 * so that no uids are compared, and an event is moved once for a bit at most.
 */
class RadixEventScheduler : public Scheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::RadixEventScheduler")
                                .SetParent<Scheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<RadixEventScheduler>();
        return tid;
    }

    void Insert(const Event& event) override
    {
        NS_ABORT_MSG_IF(event.key.m_ts < m_last,
                        "RadixEventScheduler: an event at " << event.key.m_ts
                                                            << ", expected none before " << m_last
                                                            << ", the time of the last event");
        Put(event);
        ++m_size;
    }

    bool IsEmpty() const override
    {
        return m_size == 0;
    }

    Event PeekNext() const override
    {
        return m_head < m_buckets[0].size() ? m_buckets[0][m_head]
                                            : *FindFirst(m_buckets[FindLowest()]);
    }

    Event RemoveNext() override
    {
        if (m_head == m_buckets[0].size())
        {
            Refill();
        }
        --m_size;
        return m_buckets[0][m_head++];
    }

    void Remove(const Event& event) override
    {
        auto& bucket = m_buckets[GetBucket(event.key.m_ts)];
        const auto place = std::find_if(bucket.begin(), bucket.end(), [&](const Event& other) {
            return other.key.m_uid == event.key.m_uid && other.impl == event.impl;
        });
        NS_ABORT_MSG_IF(place == bucket.end(),
                        "RadixEventScheduler: event " << event.key.m_uid
                                                      << " is not here, expected it to wait");
        bucket.erase(place);
        --m_size;
        MarkIfEmpty(GetBucket(event.key.m_ts));
    }

  private:
    using Bucket = std::vector<Event>;

    /// Times have 64 bits, and those that are equal need a bucket, too.
    static constexpr uint32_t N_BUCKETS = 65;

    uint32_t GetBucket(uint64_t time) const
    {
        const uint64_t difference = time ^ m_last;
        return difference == 0 ? 0 : 64 - __builtin_clzll(difference);
    }

    void Put(const Event& event)
    {
        const uint32_t bucket = GetBucket(event.key.m_ts);
        m_buckets[bucket].push_back(event);
        m_filled |= GetBit(bucket);
    }

    /// @return the bit of a bucket in m_filled; the first bucket has none
    static uint64_t GetBit(uint32_t bucket)
    {
        return bucket == 0 ? 0 : uint64_t{1} << (bucket - 1);
    }

    void MarkIfEmpty(uint32_t bucket)
    {
        if (m_buckets[bucket].empty())
        {
            m_filled &= ~GetBit(bucket);
        }
    }

    /// @return the lowest bucket above the first one that is not empty
    uint32_t FindLowest() const
    {
        return 1 + __builtin_ctzll(m_filled);
    }

    /// @return the first event of those that are due first
    static Bucket::const_iterator FindFirst(const Bucket& bucket)
    {
        return std::min_element(bucket.begin(), bucket.end(), [](const Event& x, const Event& y) {
            return x.key.m_ts < y.key.m_ts;
        });
    }

    /// Fill the first bucket with the events that are due next.
    void Refill()
    {
        m_buckets[0].clear();
        m_head = 0;
        const uint32_t bucket = FindLowest();
        Bucket& lowest = m_buckets[bucket];
        m_last = FindFirst(lowest)->key.m_ts;
        for (const Event& event : lowest)
        {
            Put(event);
        }
        lowest.clear();
        MarkIfEmpty(bucket);
    }

    std::array<Bucket, N_BUCKETS> m_buckets; //!< see above
    uint64_t m_filled{0};                    //!< a bit for each bucket with events but the first
    std::size_t m_head{0};                   //!< events of the first bucket that were removed
    std::size_t m_size{0};                   //!< events that wait
    uint64_t m_last{0};                      //!< time of the event that was removed last
};

NS_OBJECT_ENSURE_REGISTERED(RadixEventScheduler);

} // namespace ns3::allreduce
