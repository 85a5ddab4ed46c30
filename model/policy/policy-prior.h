/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_PRIOR_H
#define ALLREDUCE_POLICY_PRIOR_H

#include "policy-weights.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 * Weights that follow a rule of thumb: serve the neediest servers first, send partial sums before
 * final ones, and what few have before what many have. Training begins with it, because from random
 * weights it takes hundreds of iterations to find it.
 *
 * @param seed random seed; all weights that the rule does not use are random
 * @return the weights
 */
PolicyWeights MakePrior(uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_PRIOR_H */
