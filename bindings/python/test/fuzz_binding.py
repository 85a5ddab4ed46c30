#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Calls functions of allreduce_env in random order with arguments that are good or junk: fuzz_binding.py SECONDS [SEED].

Whatever is called, the interpreter survives and refusals are exceptions of the kinds below. utils/fuzz-python.sh runs
this with the address sanitizer. The same seed makes the same calls.
"""

import collections
import os
import pathlib
import sys
import tempfile
import time
import warnings

import numpy as np

import allreduce_env as ar
from random_networks import draw_task, draw_topology

REFUSALS = (ar.InputError, TypeError, ValueError, OverflowError, IndexError, KeyError, UnicodeError, ZeroDivisionError)
warnings.simplefilter("ignore")  # of NumPy, about junk
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else None)
scratch = tempfile.TemporaryDirectory()
folder = pathlib.Path(scratch.name)
os.chdir(folder)  # Junk is a file name, too.
pool = collections.defaultdict(list)
SPECS = ("bcube:2,1", "bcube:3", "dcell:2,1", "fattree:2", "torus:2,2", "jellyfish:4,2,1", "file:", "", ":", "bcube:-1,1")


def draw(*choices):
    return choices[random.integers(len(choices))]


def draw_array():
    shape = tuple(random.integers(0, 7, random.integers(0, 4)))
    values = random.normal(0, draw(1, 3, 1e9, 1e30), shape)
    if values.size and random.random() < 0.2:
        values.flat[0] = draw(np.nan, np.inf, -1)
    return values.astype(draw(np.float32, np.float64, np.int64, np.int8, np.uint64, bool, object))


def junk():
    """Anything at all."""
    kind = random.integers(9)
    if kind == 0:
        return draw(None, True, object(), {}, [], (), b"\xff", ..., print, 1j)
    if kind == 1:
        return draw(-1, 0, 1, 2, 7, -(2**31), 2**31, 2**63, 2**64, -(2**63), 10**30)
    if kind == 2:
        return draw(0.5, -0.0, 1e308, float("nan"), float("inf"))
    if kind == 3:
        return "".join(chr(c) for c in random.integers(1, 0x2FF, random.integers(0, 9))) + draw("", "\udcff", "\0")
    if kind < 6:
        return draw_array()
    if kind == 6:
        return [junk() for _ in range(random.integers(0, 4))]
    if kind == 7:
        return draw(*SPECS, *ar.HEADS, *ar.schedulers())
    return any_of(draw("topology", "schedule", "policy", "task", "env", "vector"))


def any_of(kind):
    """An object that was made before."""
    return pool[kind][random.integers(len(pool[kind]))] if pool[kind] else None


def maybe(good):
    """Mostly what is right."""
    return good if random.random() < 0.85 else junk()


def keep(kind, made):
    pool[kind] = pool[kind][-7:] + [made]


def small():
    return int(random.integers(0, 4))


def make_topology():
    if random.random() < 0.5:
        return keep("topology", draw_topology(random))
    keep("topology", ar.Topology(maybe(draw(*SPECS)), degrade=maybe(draw("", "0.1", "2")), mixed=maybe(draw("", "0.3,1"))))


def make_links():
    rows = [[maybe(small()), maybe(small() + 1)] + [maybe(draw(1, "10Gbps", "1us"))] * small() for _ in range(small() + 1)]
    keep("topology", ar.topology_from_links(maybe(small() + 1), maybe(small()), maybe(rows)))


def read_json():
    text = list(any_of("topology").to_json())
    for _ in range(small()):
        text[random.integers(len(text))] = chr(random.integers(32, 127))
    keep("topology", ar.Topology.from_json("".join(text), maybe("mine")))


def make_plan():
    name = maybe(draw(*ar.schedulers()))
    attributes = {"Middles": 2, "SearchEffort": 0} if isinstance(name, str) and name == "hrl" else {}
    for _ in range(small() // 2):
        attributes[draw("Samples", "Online", "Checkpoint", "Upper", "Seed", "Nothing")] = draw(
            1, 2, True, "none.json", "x", 0.5, -1, None
        )
    scorer = draw(None, None, lambda head, rows: rows[:, 0], lambda head, rows: junk(), any_of("policy").score)
    seed = draw(None, 1, maybe(small()))
    keep("schedule", ar.plan(maybe(any_of("topology")), name, maybe(small()), seed=seed, attributes=attributes, scorer=scorer))


def make_schedule():
    plan = any_of("schedule")
    columns = [maybe(plan.workloads[key]) for key in ("round", "chunk", "kind")]
    keep("schedule", ar.Schedule(maybe(any_of("topology")), maybe(plan.roots), *columns, maybe(plan.paths)))


def use_schedule():
    plan = any_of("schedule")
    plan.flaw(), plan.hash, repr(plan), plan.contributors, plan.rounds, plan.topology.links
    path = folder / "plan.json"
    plan.save(maybe(path))
    if not path.exists():
        return  # Junk can be a name, too.
    data = bytearray(path.read_bytes())
    for _ in range(small()):
        data[random.integers(len(data))] = random.integers(256)
    path.write_bytes(data[: draw(len(data), random.integers(len(data)))])
    keep("schedule", ar.Schedule.load(maybe(path)))


def use_bounds():
    network = maybe(any_of("topology"))
    ar.bounds(network, maybe(small())), ar.bound(network), ar.ideal_seconds(network, maybe(1000))


def use_policy():
    policy = draw(ar.Policy.untrained, ar.Policy.rule_of_thumb)(maybe(small()))
    head = maybe(draw(*ar.HEADS))
    path = folder / "policy.json"
    policy.save(maybe(path), maybe({"a": 1}))
    keep("policy", ar.Policy.load(maybe(path)))
    policy.set_weights(head, maybe(policy.get_weights(head) * 2))
    policy.score(head, maybe(random.random((small(), len(ar.features(head))))))
    policy.layers(head)


def make_env():
    task = maybe(any_of("task"))
    partner = maybe(draw("rule", "all", "random", "shipped", any_of("policy")))
    make = draw(lambda: ar.LowerEnv(task, partner), lambda: ar.UpperEnv(task, partner), lambda: ar.JointEnv(task))
    keep("env", make())
    any_of("env").reset(seed=small())


def make_vector():
    tasks = [any_of("task") for _ in range(small() + 1)]
    keep("vector", ar.VectorEnv(maybe(tasks), draw("lower", "upper", "joint"), threads=maybe(small())))
    any_of("vector").reset(seed=small())


def use_env():
    env = any_of(draw("env", "vector"))
    call = random.integers(12)
    if call == 0:
        env.reset(seed=maybe(small()), options=maybe(None))
    elif call == 1 and random.random() < 0.1:
        env.close()
    elif call == 2:
        env.plan(*[maybe(0)] * (env in pool["vector"]))
    else:
        for _ in range(30):
            masks = env.action_masks()
            actions = random.integers(0, 2, masks.shape) * masks if masks.shape == env.action_space.shape else (
                (random.random(masks.shape[:-1]) * masks.sum(axis=-1)).astype(int)
            )
            env.step(actions if random.random() < 0.99 else junk())


def make_task():
    if random.random() < 0.5:
        return keep("task", draw_task(random))
    keep("task", ar.Task(maybe(any_of("topology")), maybe(small()), kind=maybe("forward"), seed=maybe(small())))


CALLS = (make_topology, make_links, read_json, make_plan, make_schedule, use_schedule, use_bounds, use_policy)
CALLS += (make_env, make_vector, make_task) + (use_env,) * 6

keep("topology", ar.Topology("bcube:2,1"))
keep("policy", ar.Policy.untrained())
keep("schedule", ar.plan(any_of("topology")))
keep("task", ar.Task(any_of("topology")))
keep("env", ar.LowerEnv(any_of("task")))
keep("vector", ar.VectorEnv([any_of("task")] * 2))
counts = collections.Counter()
end = time.monotonic() + seconds
while time.monotonic() < end:
    call = CALLS[random.integers(len(CALLS))]
    try:
        call()
        counts[call.__name__, "done"] += 1
    except REFUSALS as error:
        assert str(error), "a refusal without a message"
        counts[call.__name__, type(error).__name__] += 1
for (name, outcome), count in sorted(counts.items()):
    print(f"{name:14} {outcome:20} {count}")
print(sum(counts.values()), "calls, the interpreter has survived")
