/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RESULT_WRITER_H
#define ALLREDUCE_RESULT_WRITER_H

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @brief Writes results row by row, as they come, as a table for people, as JSON, as CSV or for
 * gnuplot.
 *
 * A row is a JSON object. The table shows the columns that were asked for, CSV and gnuplot have
 * these too, JSON has all that is in the row.
 */
class ResultWriter
{
  public:
    /// How results are written.
    enum class Format
    {
        TABLE,  //!< columns for people
        JSON,   //!< an array of objects
        CSV,    //!< a header line, then a line for each row
        GNUPLOT //!< the same as a script that draws one of the columns
    };

    /// One column of table and CSV.
    struct Column
    {
        std::string key;   //!< the member of the row
        std::string title; //!< over the column in the table
        std::size_t width; //!< of the column in the table, at least
        int decimals{-1};  //!< digits after the point in the table; -1: as many as needed
        double scale{1};   //!< the table shows the value times this
    };

    /**
     * @param out where to write
     * @param format how to write
     * @param columns the columns of table and CSV
     */
    ResultWriter(std::ostream& out, Format format, std::vector<Column> columns);

    /// Ends the JSON array or the script.
    ~ResultWriter();

    /**
     * Make a column of the table wide enough for texts that will come. Without this a column grows
     * with the first text that needs it.
     *
     * @param key the column
     * @param texts what it will show
     */
    void MakeRoom(const std::string& key, const std::vector<std::string>& texts);

    /**
     * Write a row.
     *
     * @param row the row
     */
    void Add(const nlohmann::ordered_json& row);

  private:
    /// A column with texts, of which gnuplot makes the names of rows.
    struct TextColumn
    {
        std::string key;   //!< the member of the row
        std::string first; //!< what the first row has
        bool isSame{true}; //!< all rows have the same
    };

    void AddTableRow(const nlohmann::ordered_json& row);
    void WriteLine(const nlohmann::ordered_json& texts, const nlohmann::ordered_json& row);
    void AddJsonRow(const nlohmann::ordered_json& row);
    void AddCsvRow(const nlohmann::ordered_json& row);
    void AddGnuplotRow(const nlohmann::ordered_json& row);
    void EndGnuplot();
    std::string ChooseGnuplotColumn() const;
    std::string MakeGnuplotLabel() const;

    std::ostream& m_out;             //!< where to write
    Format m_format;                 //!< how to write
    std::vector<Column> m_columns;   //!< the columns of table and CSV
    uint32_t m_nRows{0};             //!< rows so far
    std::vector<TextColumn> m_texts; //!< what can name a row
};

/**
 * @param text "table", "json", "csv" or "gnuplot"
 * @return the format
 * @throws InputError that names the text
 */
ResultWriter::Format ParseFormat(const std::string& text);

/**
 * Refuse an option whose results have no column.
 *
 * @param isWanted whether it was given
 * @param option its name
 * @param format what ParseFormat takes
 * @throws InputError that names option and format
 */
void CheckDetails(bool isWanted, const std::string& option, const std::string& format);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RESULT_WRITER_H */
