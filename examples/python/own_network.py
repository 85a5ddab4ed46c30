#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A network of your own decides in planning: own_network.py [TOPOLOGY].

hrl asks a Python function for scores in the place of its own networks. Here the function is a small attention network
over the rows that are scored together, which no checkpoint can hold: it compares them with each other. It is not
trained, so its plans show only how it is done. That is slower than C++, but free of limits.
"""
import sys

import numpy as np

import allreduce_env as ar

WIDTH = 16
random = np.random.default_rng(1)
weights = {
    head: [random.normal(0, len(ar.features(head)) ** -0.5, (len(ar.features(head)), WIDTH)) for _ in range(3)]
    for head in ar.HEADS
}


def score(head, rows):
    """A score for each row: how it differs from what the rows attend to."""
    queries, keys, values = (rows @ matrix for matrix in weights[head])
    attention = np.exp(queries @ keys.T / WIDTH**0.5)
    attention /= attention.sum(axis=1, keepdims=True)
    return (queries * (values - attention @ values)).sum(axis=1)


network = ar.Topology(sys.argv[1] if len(sys.argv) > 1 else "bcube:3,1")
# One try, and no search that would shorten the plan: what is left is mostly the decisions.
alone = {"Middles": 1, "SearchEffort": 0}
print("bound:", ar.bound(network).rounds)
print("shipped policies:", ar.plan(network, "hrl", attributes=alone))
print("own network:     ", ar.plan(network, "hrl", attributes=alone, scorer=score))
