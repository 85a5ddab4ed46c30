/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_UNITS_H
#define ALLREDUCE_UNITS_H

#include <cstdint>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @param text a rate as "10Gbps" or "400Mbps"
 * @param what what the rate is, for the message
 * @return bit/s, more than 0
 * @throws InputError that names both
 */
uint64_t ParseRate(const std::string& text, const std::string& what = "rate");

/**
 * @ingroup allreduce
 *
 * @param text a time as "1us" or "0.0005ms", or "0"
 * @param what what the time is, for the message
 * @return nanoseconds, 0 or more
 * @throws InputError that names both
 */
int64_t ParseTime(const std::string& text, const std::string& what = "time");

/**
 * @ingroup allreduce
 *
 * @param text a whole number without sign
 * @param what what the number is, for the message
 * @return the number
 * @throws InputError that names both
 */
uint64_t ParseNumber(const std::string& text, const std::string& what);

/**
 * @ingroup allreduce
 *
 * @param text a number from 0 to 1
 * @param what what the number is, for the message
 * @return the number
 * @throws InputError that names both
 */
double ParseFraction(const std::string& text, const std::string& what);

/**
 * @ingroup allreduce
 *
 * @param bps bit/s
 * @return the shortest exact text, as "10Gbps"
 */
std::string FormatRate(uint64_t bps);

/**
 * @ingroup allreduce
 *
 * @param bps bit/s, not necessarily a whole number
 * @return a text for people, rounded to six digits, as "3.33333Gbps"
 */
std::string FormatRoughRate(double bps);

/**
 * @ingroup allreduce
 *
 * @param ns nanoseconds
 * @return the shortest exact text, as "1us"
 */
std::string FormatTime(int64_t ns);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_UNITS_H */
