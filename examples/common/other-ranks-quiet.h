/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_OTHER_RANKS_QUIET_H
#define ALLREDUCE_OTHER_RANKS_QUIET_H

#include <iosfwd>
#include <streambuf>

namespace ns3::allreduce
{

/// Of several processes that say the same, only the first is heard. Until a simulation begins they
/// do the same, and go wrong together.
class OtherRanksQuiet
{
  public:
    OtherRanksQuiet();

    ~OtherRanksQuiet();

    OtherRanksQuiet(const OtherRanksQuiet&) = delete;
    OtherRanksQuiet& operator=(const OtherRanksQuiet&) = delete;

    /// What goes wrong from now on may go wrong in one process only.
    void LetErrorsPass();

    /// @return the exit status: mpirun ends all processes at the first that fails, also the one
    /// that is about to say why @param status what it would be
    int ChooseStatus(int status) const;

  private:
    /// Takes everything.
    struct Nothing : std::streambuf
    {
        int overflow(int c) override
        {
            return c;
        }
    };

    Nothing m_nothing;                //!< where it goes
    std::streambuf* m_out{nullptr};   //!< where std::cout went; nullptr: it still does
    std::streambuf* m_error{nullptr}; //!< where std::cerr went; nullptr: it still does
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_OTHER_RANKS_QUIET_H */
