/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ABORT_ON_INPUT_ERROR_H
#define ALLREDUCE_ABORT_ON_INPUT_ERROR_H

#include "ns3/abort.h"
#include "ns3/allreduce-error.h"

#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * The helpers' border: a wrong value stops the simulation script the way ns-3's own helpers do.
 *
 * @param action what may throw an InputError
 * @return what the action returns
 */
template <typename Action>
auto
AbortOnInputError(Action action)
{
    std::string message;
    try
    {
        return action();
    }
    catch (const InputError& error)
    {
        message = error.what();
    }
    NS_ABORT_MSG(message); // within the catch the C++ library would print it once more
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ABORT_ON_INPUT_ERROR_H */
