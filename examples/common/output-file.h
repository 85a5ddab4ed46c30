/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_OUTPUT_FILE_H
#define ALLREDUCE_OUTPUT_FILE_H

#include <fstream>
#include <string>

namespace ns3::allreduce
{

/**
 * @brief A file that an option asks for and that must be written to its end.
 */
class OutputFile
{
  public:
    /**
     * @param option who asked for it, as "--series"
     * @param path where it goes
     * @throws InputError if it cannot be written
     */
    OutputFile(std::string option, std::string path);

    /// @return where to write
    std::ostream& Get();

    /**
     * Something has been written that should not be lost.
     *
     * @throws InputError if it is
     */
    void Flush();

    /**
     * All has been written.
     *
     * @throws InputError if it has not
     */
    void Finish();

    /**
     * Find out early whether a file can be written; what is in it stays, and one that is not there
     * is not there afterwards.
     *
     * @param option who asked for it
     * @param path where it will go
     * @throws InputError if it cannot be written
     */
    static void Check(const std::string& option, const std::string& path);

  private:
    std::string m_option; //!< who asked for it
    std::string m_path;   //!< where it is
    std::ofstream m_out;  //!< the file
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_OUTPUT_FILE_H */
