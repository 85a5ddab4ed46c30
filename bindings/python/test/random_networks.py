# SPDX-License-Identifier: GPL-2.0-only
"""Random small networks, for the tests and the fuzzer."""

import allreduce_env as ar

FAMILIES = ("bcube:2,1", "bcube:3,1", "dcell:2,1", "dcell:3,1", "jellyfish:6,3,1,{}", "jellyfish:5,4,2,{}", "fattree:4")


def draw_topology(random):
    """A network of a family, as it is, without some links or with mixed speeds, or random links between few nodes."""
    kind = random.integers(4)
    if kind == 3:
        return draw_links(random)
    spec = FAMILIES[random.integers(len(FAMILIES))].format(random.integers(2, 1000))
    change = f"0.1,{random.integers(1000)}"
    try:
        return ar.Topology(spec, degrade=change if kind == 1 else "", mixed=change if kind == 2 else "")
    except ar.InputError:  # what is left would not be connected
        return ar.Topology(spec)


def draw_links(random):
    """A random tree over servers and switches, with a few links more, some of which are wider."""
    servers, switches = int(random.integers(2, 8)), int(random.integers(4))
    nodes = random.permutation(servers + switches)
    links = {tuple(sorted((nodes[i], nodes[random.integers(i)]))) for i in range(1, len(nodes))}
    for _ in range(random.integers(6)):
        a, b = random.integers(len(nodes), size=2)
        if a != b:
            links.add((min(a, b), max(a, b)))
    rows = [[int(a), int(b), int(random.integers(1, 4))] for a, b in sorted(links)]
    return ar.topology_from_links(servers, switches, rows)


def draw_task(random):
    """An AllReduce on a random network."""
    return ar.Task(
        draw_topology(random),
        int(random.integers(4)),
        kind=("forward", "mirrored")[random.integers(2)],
        seed=int(random.integers(1000)),
    )
