/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HTML_REPORT_H
#define ALLREDUCE_HTML_REPORT_H

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief Writes what a program found as one HTML page that needs nothing else.
 *
 * The page's own script draws what it finds in the data: rows of results as bars and a table,
 * views of schedules (see MakeScheduleView), a training log, time series of a cluster.
 */
class HtmlReport
{
  public:
    /**
     * @param path where the page goes; empty: nowhere, and nothing is kept
     * @param argc number of arguments of the program
     * @param argv its arguments, which the page shows
     * @throws InputError if the file cannot be written
     */
    HtmlReport(std::string path, int argc, char* argv[]);

    /// @return whether there will be a page
    bool IsWanted() const;

    /**
     * Add a row of results.
     *
     * @param row what a ResultWriter writes, too
     */
    void AddRow(const nlohmann::ordered_json& row);

    /**
     * Add the view of a schedule; called only if there will be a page. Views that would make the
     * page too large are counted and left out.
     *
     * @param make returns the view
     */
    void AddView(const std::function<nlohmann::ordered_json()>& make);

    /**
     * Add a line of the training log.
     *
     * @param line a number or null by name of a column
     */
    void AddTrainingLine(const nlohmann::ordered_json& line);

    /**
     * Add a slot of a cluster's time series.
     *
     * @param slot its numbers, and whose they are
     */
    void AddClusterSlot(const nlohmann::ordered_json& slot);

    /**
     * Add what became of a trace's jobs.
     *
     * @param view by MakeClusterView
     */
    void AddClusterJobs(const nlohmann::ordered_json& view);

    /**
     * Write the page, or write it again. SIGINT and SIGTERM wait until the page is whole.
     *
     * @throws InputError if the file cannot be written
     */
    void Write() const;

  private:
    void WriteData(std::ostream& out) const;

    std::string m_path;                       //!< where the page goes
    std::string m_command;                    //!< how the program was called
    std::vector<std::string> m_rows;          //!< as JSON
    std::vector<std::string> m_views;         //!< as JSON
    std::vector<std::string> m_trainingLines; //!< as JSON
    std::vector<std::string> m_clusterSlots;  //!< as JSON
    std::vector<std::string> m_clusterJobs;   //!< as JSON
    uint64_t m_viewBytes{0};                  //!< size of the views
    uint32_t m_nViewsLeftOut{0};              //!< views for which there was no room
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HTML_REPORT_H */
