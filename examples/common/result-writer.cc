/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "result-writer.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// @return JSON, also of names that are not UTF-8
std::string
Dump(const nlohmann::ordered_json& json)
{
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/**
 * @param value a value of a row
 * @param column its column
 * @return the value for people
 */
std::string
FormatValue(const nlohmann::ordered_json& value, const ResultWriter::Column& column)
{
    if (value.is_null() || value == "")
    {
        return "-";
    }
    if (value.is_boolean())
    {
        return value.get<bool>() ? "yes" : "no";
    }
    const bool isRounded = value.is_number_float() && column.decimals >= 0;
    if (isRounded || (value.is_number() && column.scale != 1))
    {
        std::ostringstream text;
        if (column.decimals >= 0)
        {
            text << std::fixed << std::setprecision(column.decimals);
        }
        text << column.scale * value.get<double>();
        return text.str();
    }
    return value.is_string() ? value.get<std::string>() : Dump(value);
}

/// @return the value as a field of gnuplot's data
std::string
QuoteGnuplot(const nlohmann::ordered_json& value)
{
    return value.is_null()      ? "NaN"
           : value.is_boolean() ? (value.get<bool>() ? "1" : "0")
                                : Dump(value);
}

/// @return the value as a field of CSV
std::string
QuoteCsv(const nlohmann::ordered_json& value)
{
    const std::string text = value.is_null()     ? ""
                             : value.is_string() ? value.get<std::string>()
                                                 : Dump(value);
    if (text.find_first_of(",\"\n") == std::string::npos)
    {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text)
    {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

nlohmann::ordered_json
GetValue(const nlohmann::ordered_json& row, const std::string& key)
{
    const auto member = row.find(key);
    return member == row.end() ? nlohmann::ordered_json() : *member;
}

} // namespace

ResultWriter::ResultWriter(std::ostream& out, Format format, std::vector<Column> columns)
    : m_out(out),
      m_format(format),
      m_columns(std::move(columns))
{
}

ResultWriter::~ResultWriter()
{
    if (m_format == Format::JSON)
    {
        m_out << (m_nRows == 0 ? "[]" : "\n]") << std::endl;
    }
    if (m_format == Format::GNUPLOT && m_nRows > 0)
    {
        EndGnuplot();
    }
}

void
ResultWriter::MakeRoom(const std::string& key, const std::vector<std::string>& texts)
{
    for (Column& column : m_columns)
    {
        for (const std::string& text : texts)
        {
            column.width = std::max(column.width, column.key == key ? text.size() : 0);
        }
    }
}

void
ResultWriter::Add(const nlohmann::ordered_json& row)
{
    switch (m_format)
    {
    case Format::TABLE:
        AddTableRow(row);
        break;
    case Format::JSON:
        AddJsonRow(row);
        break;
    case Format::CSV:
        AddCsvRow(row);
        break;
    case Format::GNUPLOT:
        AddGnuplotRow(row);
        break;
    }
    m_out << std::flush;
    ++m_nRows;
}

void
ResultWriter::AddTableRow(const nlohmann::ordered_json& row)
{
    if (m_nRows == 0)
    {
        nlohmann::ordered_json titles;
        for (const Column& column : m_columns)
        {
            titles[column.key] = column.title;
        }
        for (const Column& column : m_columns)
        {
            MakeRoom(column.key, {FormatValue(GetValue(row, column.key), column)});
        }
        WriteLine(titles, row);
    }
    WriteLine(row, row);
}

void
ResultWriter::WriteLine(const nlohmann::ordered_json& texts, const nlohmann::ordered_json& row)
{
    // Names stand to the left of their column, numbers and their titles to the right.
    std::ostringstream line;
    for (Column& column : m_columns)
    {
        const std::string text = FormatValue(GetValue(texts, column.key), column);
        column.width = std::max(column.width, text.size());
        line << (GetValue(row, column.key).is_string() ? std::left : std::right)
             << std::setw(column.width) << text << "  ";
    }
    std::string text = line.str();
    text.erase(text.find_last_not_of(' ') + 1);
    m_out << text << "\n";
}

void
ResultWriter::AddJsonRow(const nlohmann::ordered_json& row)
{
    m_out << (m_nRows == 0 ? "[\n  " : ",\n  ") << Dump(row);
}

void
ResultWriter::AddCsvRow(const nlohmann::ordered_json& row)
{
    if (m_nRows == 0)
    {
        for (const Column& column : m_columns)
        {
            m_out << (&column == &m_columns.front() ? "" : ",") << column.key;
        }
        m_out << "\n";
    }
    for (const Column& column : m_columns)
    {
        m_out << (&column == &m_columns.front() ? "" : ",") << QuoteCsv(GetValue(row, column.key));
    }
    m_out << "\n";
}

void
ResultWriter::AddGnuplotRow(const nlohmann::ordered_json& row)
{
    if (m_nRows == 0)
    {
        m_out << "$results << END\n";
        for (const Column& column : m_columns)
        {
            m_out << (&column == &m_columns.front() ? "" : " ") << column.key;
            if (GetValue(row, column.key).is_string())
            {
                m_texts.push_back({column.key, Dump(GetValue(row, column.key))});
            }
        }
        m_out << "\n";
    }
    for (const Column& column : m_columns)
    {
        m_out << (&column == &m_columns.front() ? "" : " ")
              << QuoteGnuplot(GetValue(row, column.key));
    }
    m_out << "\n";
    for (TextColumn& text : m_texts)
    {
        text.isSame = text.isSame && Dump(GetValue(row, text.key)) == text.first;
    }
}

std::string
ResultWriter::MakeGnuplotLabel() const
{
    const auto isSame = [](const TextColumn& text) { return text.isSame; };
    const bool areAllSame = std::all_of(m_texts.begin(), m_texts.end(), isSame);
    std::string label;
    for (const TextColumn& text : m_texts)
    {
        const bool isName = text.key != "bottleneck"; // which follows from the network
        if (isName && (!text.isSame || areAllSame))
        {
            label += (label.empty() ? "" : ".\" \".") + ("strcol(\"" + text.key + "\")");
        }
    }
    return label.empty() ? "strcol(1)" : label;
}

std::string
ResultWriter::ChooseGnuplotColumn() const
{
    const auto isMerit = [](const Column& column) {
        return column.key == "ratio" || column.key == "mean_utility" || column.key == "slowdown";
    };
    const auto isMeasured = [](const Column& column) { return column.decimals > 0; };
    auto chosen = std::find_if(m_columns.begin(), m_columns.end(), isMerit);
    if (chosen == m_columns.end())
    {
        chosen = std::find_if(m_columns.begin(), m_columns.end(), isMeasured);
    }
    return chosen != m_columns.end() ? chosen->key : m_columns.back().key;
}

void
ResultWriter::EndGnuplot()
{
    m_out << "END\n"
          << "# gnuplot -p -e 'what=\"COLUMN COLUMN\"' FILE draws other columns.\n"
          << "if (!exists(\"what\")) what = \"" << ChooseGnuplotColumn() << "\"\n"
          << "set style data histograms\n"
          << "set style fill solid 0.8\n"
          << "set yrange [0:*]\n"
          << "set grid ytics\n"
          << "set xtics rotate by -45 noenhanced\n"
          << "set rmargin 10\n"
          << "set key noenhanced outside top center horizontal\n"
          << "plot for [name in what] $results using name:xtic(" << MakeGnuplotLabel()
          << ") title name\n"
          << std::flush;
}

void
CheckDetails(bool isWanted, const std::string& option, const std::string& format)
{
    const ResultWriter::Format parsed = ParseFormat(format);
    if (isWanted && parsed != ResultWriter::Format::TABLE && parsed != ResultWriter::Format::JSON)
    {
        FailInput(option,
                  ": has no place in --format=",
                  Shorten(format),
                  ", expected table or json");
    }
}

ResultWriter::Format
ParseFormat(const std::string& text)
{
    if (text == "table")
    {
        return ResultWriter::Format::TABLE;
    }
    if (text == "json")
    {
        return ResultWriter::Format::JSON;
    }
    if (text == "csv")
    {
        return ResultWriter::Format::CSV;
    }
    if (text == "gnuplot")
    {
        return ResultWriter::Format::GNUPLOT;
    }
    FailInput("--format ", Quote(text), ": expected table, json, csv or gnuplot");
}

} // namespace ns3::allreduce
