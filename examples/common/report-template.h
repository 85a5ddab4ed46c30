/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_REPORT_TEMPLATE_H
#define ALLREDUCE_REPORT_TEMPLATE_H

namespace ns3::allreduce
{

// The parts of the page that HtmlReport writes, in this order; its data comes after the body.

extern const char* const REPORT_HEAD;            //!< up to the style
extern const char* const REPORT_STYLE;           //!< CSS
extern const char* const REPORT_BODY;            //!< from the style to the data
extern const char* const REPORT_BEFORE_SCRIPT;   //!< from the data to the script
extern const char* const REPORT_TOOLS_SCRIPT;    //!< JavaScript: elements, numbers, colours
extern const char* const REPORT_CHARTS_SCRIPT;   //!< JavaScript: bars, tables and curves
extern const char* const REPORT_SCHEDULE_SCRIPT; //!< JavaScript: network, rounds, links, flows
extern const char* const REPORT_MAIN_SCRIPT;     //!< JavaScript: puts the page together
extern const char* const REPORT_END;             //!< what is left

} // namespace ns3::allreduce

#endif /* ALLREDUCE_REPORT_TEMPLATE_H */
