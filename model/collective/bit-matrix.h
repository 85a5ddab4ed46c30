/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BIT_MATRIX_H
#define ALLREDUCE_BIT_MATRIX_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A matrix of bits whose rows are whole 64-bit words, for set operations a word at a time.
 *
 * Bits past the last column are always zero.
 */
class BitMatrix
{
  public:
    /// Bits in a word.
    static constexpr std::size_t WORD_BITS = 64;

    BitMatrix() = default;

    /**
     * A matrix of zeros.
     *
     * @param nRows number of rows
     * @param nColumns number of columns
     */
    BitMatrix(std::size_t nRows, std::size_t nColumns)
        : m_nColumns(nColumns),
          m_rowWords((nColumns + WORD_BITS - 1) / WORD_BITS),
          m_words(nRows * m_rowWords, 0)
    {
    }

    /// @return the number of columns
    std::size_t GetNColumns() const
    {
        return m_nColumns;
    }

    /// @return the number of words in a row
    std::size_t GetRowWords() const
    {
        return m_rowWords;
    }

    /// @return the words of a row @param row the row
    const uint64_t* GetRow(std::size_t row) const
    {
        return m_words.data() + row * m_rowWords;
    }

    /// @return the words of a row, to be changed @param row the row
    uint64_t* GetRow(std::size_t row)
    {
        return m_words.data() + row * m_rowWords;
    }

    /// @return the bit @param row its row @param column its column
    bool Test(std::size_t row, std::size_t column) const
    {
        return GetRow(row)[column / WORD_BITS] >> (column % WORD_BITS) & 1;
    }

    /// Make the bit one. @param row its row @param column its column
    void Set(std::size_t row, std::size_t column)
    {
        GetRow(row)[column / WORD_BITS] |= uint64_t{1} << (column % WORD_BITS);
    }

    /// Make the bit zero. @param row its row @param column its column
    void Clear(std::size_t row, std::size_t column)
    {
        GetRow(row)[column / WORD_BITS] &= ~(uint64_t{1} << (column % WORD_BITS));
    }

    /// @return the number of ones in a row @param row the row
    std::size_t CountRow(std::size_t row) const
    {
        std::size_t count = 0;
        for (std::size_t i = 0; i < m_rowWords; ++i)
        {
            count += __builtin_popcountll(GetRow(row)[i]);
        }
        return count;
    }

  private:
    std::size_t m_nColumns{0};     //!< number of columns
    std::size_t m_rowWords{0};     //!< words in a row
    std::vector<uint64_t> m_words; //!< the rows, one after another
};

/**
 * @ingroup allreduce
 *
 * Call with every bit that is set.
 *
 * @param words the bits
 * @param nWords how many words
 * @param call gets the number of each bit
 */
template <typename Call>
void
ForEachBit(const uint64_t* words, std::size_t nWords, Call call)
{
    for (std::size_t i = 0; i < nWords; ++i)
    {
        for (uint64_t bits = words[i]; bits != 0; bits &= bits - 1)
        {
            call(i * BitMatrix::WORD_BITS + __builtin_ctzll(bits));
        }
    }
}

/// @ingroup allreduce
/// @return how many bits of x are not in y @param x bits @param y bits @param nWords of both
inline uint32_t
CountAndNot(const uint64_t* x, const uint64_t* y, std::size_t nWords)
{
    uint32_t count = 0;
    for (std::size_t i = 0; i < nWords; ++i)
    {
        count += __builtin_popcountll(x[i] & ~y[i]);
    }
    return count;
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BIT_MATRIX_H */
