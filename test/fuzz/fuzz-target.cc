/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce-tests
 * What libFuzzer calls. ALLREDUCE_FUZZED, set by CMake, names the parser.
 */

#include "fuzzed-parsers.h"

#include <cstdio>
#include <cstdlib>

extern "C" int
LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size)
{
    using namespace ns3::allreduce;
    for (const FuzzedParser& parser : GetFuzzedParsers())
    {
        if (parser.name == std::string(ALLREDUCE_FUZZED))
        {
            const std::string message =
                Refuse(parser, std::string(reinterpret_cast<const char*>(data), size));
            const std::string wrong = FindBadManners(parser, message);
            if (!wrong.empty())
            {
                std::fprintf(stderr, "%s: %s\n", wrong.c_str(), message.c_str());
                std::abort();
            }
        }
    }
    return 0;
}
