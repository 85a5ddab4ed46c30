# SPDX-License-Identifier: GPL-2.0-only
"""AllReduces of data-centre networks: topologies, plans, proofs, bounds, and environments for learners.

    import allreduce_env as ar

    network = ar.Topology("dcell:4,1")
    plan = ar.plan(network, "greedy")
    print(plan.rounds, ar.bound(network).rounds)

    env = ar.LowerEnv(ar.Task(network))
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(0)

The rules are those of the C++ library. Input that is not usable raises InputError, a ValueError.
"""

import json as _json

import numpy as _np

from ._allreduce_env import (
    HEADS,
    HIDDEN,
    LEAK,
    Bound,
    InputError,
    Policy,
    Schedule,
    Task,
    Topology,
    bound,
    bounds,
    features,
    ideal_seconds,
    schedulers,
)
from ._allreduce_env import _plan
from .environments import DecisionEnv, JointEnv, LowerEnv, UpperEnv, VectorEnv

__all__ = [
    "HEADS",
    "HIDDEN",
    "LEAK",
    "Bound",
    "DecisionEnv",
    "InputError",
    "JointEnv",
    "LowerEnv",
    "Policy",
    "Schedule",
    "Task",
    "Topology",
    "UpperEnv",
    "VectorEnv",
    "bound",
    "bounds",
    "features",
    "ideal_seconds",
    "plan",
    "schedulers",
    "topology_from_links",
]


def topology_from_links(servers, switches, links, name="links"):
    """A network from its links: rows [a, b], [a, b, capacity] or [a, b, "25Gbps", "1us"], as in a topology file.

    Servers are the nodes 0 to servers - 1, switches follow. Rows may also be those of an array.
    """
    rows = links.tolist() if isinstance(links, _np.ndarray) else [list(link) for link in links]
    try:
        text = _json.dumps({"name": name, "servers": servers, "switches": switches, "links": rows}, default=int)
    except (TypeError, ValueError) as error:
        raise InputError(f"topology {name}: {error}") from None
    return Topology.from_json(text, name)


def plan(topology, scheduler="greedy", chunks_per_server=0, *, seed=None, attributes=None, scorer=None):
    """Plan an AllReduce and verify the plan.

    chunks_per_server: chunks that each server is the root of; 0: as many as a server has ports.
    seed: the attribute Seed. attributes: others of the scheduler, by name, for example
    {"Checkpoint": "mine.json", "Samples": 4, "Online": True} of hrl.
    scorer: decides in the place of hrl's networks: a function of the name of a network (see HEADS) and an array of
    rows of features that returns a score for each row. The row with the highest score is chosen; a tree is worked on
    first if its score is 0 or more.
    """
    values = dict(attributes or {})
    if seed is not None:
        values["Seed"] = seed
    return _plan(topology, scheduler, chunks_per_server, values, scorer)
