/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HUGE_PAGE_ALLOCATOR_H
#define ALLREDUCE_HUGE_PAGE_ALLOCATOR_H

#include <cstddef>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Allocates large arrays in huge pages, where the system has them: those that are read here
 * and there are read faster.
 */
template <typename T>
struct HugePageAllocator
{
    using value_type = T; //!< what the standard asks for

    HugePageAllocator() = default;

    /// The same for another type, as the standard asks for.
    template <typename Other>
    HugePageAllocator(const HugePageAllocator<Other>&)
    {
    }

    /// @return room @param n for how many
    T* allocate(std::size_t n)
    {
        if (n * sizeof(T) < HUGE_PAGE)
        {
            return static_cast<T*>(::operator new(n * sizeof(T)));
        }
        void* memory = ::operator new (n * sizeof(T), std::align_val_t{HUGE_PAGE});
#ifdef MADV_HUGEPAGE
        madvise(memory, n * sizeof(T), MADV_HUGEPAGE); // A wish: all works without.
#endif
        return static_cast<T*>(memory);
    }

    /// Give room back. @param memory where it is @param n for how many
    void deallocate(T* memory, std::size_t n)
    {
        if (n * sizeof(T) < HUGE_PAGE)
        {
            ::operator delete(memory);
        }
        else
        {
            ::operator delete (memory, std::align_val_t{HUGE_PAGE});
        }
    }

  private:
    static constexpr std::size_t HUGE_PAGE = std::size_t{2} << 20; //!< on most machines
};

/// @return true: whoever allocated may be forgotten
template <typename T, typename Other>
bool
operator==(const HugePageAllocator<T>&, const HugePageAllocator<Other>&)
{
    return true;
}

/// @return false
template <typename T, typename Other>
bool
operator!=(const HugePageAllocator<T>&, const HugePageAllocator<Other>&)
{
    return false;
}

/// A vector that may become large and is read here and there.
template <typename T>
using HugePageVector = std::vector<T, HugePageAllocator<T>>;

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HUGE_PAGE_ALLOCATOR_H */
