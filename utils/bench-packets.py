#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How much processor time packet runs take, against a reference, in turns on the same machine.

The reference is the same program with ns-3's own devices, stacks and queue of events, or another build of
allreduce-run (--against). Both must come to the same simulated times. The ratio is that of the least times.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FULL_STACK = ["--full-stack", "--SchedulerType=ns3::MapScheduler"]
NOT_SIMULATED = {"wall_s"}


def make_fat_tree(pods=4, edges=4, servers=4):
    """The links of a fat tree with `pods` pods of `edges` edge switches with `servers` servers each."""
    n_servers = pods * edges * servers
    n_edges = pods * edges
    links = []
    for edge in range(n_edges):
        links += [[edge * servers + i, n_servers + edge] for i in range(servers)]
    for pod in range(pods):
        for i in range(edges):
            middle = n_servers + n_edges + pod * edges + i
            links += [[n_servers + pod * edges + edge, middle] for edge in range(edges)]
            links += [[middle, n_servers + 2 * n_edges + i * edges + core] for core in range(edges)]
    name = f"{pods}-pod fat tree"
    return {"name": name, "servers": n_servers, "switches": 2 * n_edges + edges * edges, "links": links}


def make_plan(program, topology, folder):
    """Plans a ring, so that planning is not measured; returns the file."""
    path = os.path.join(folder, "ring.json")
    plan = pathlib.Path(program).parent / "allreduce-plan"
    arguments = [f"--topology={topology}", "--scheduler=ring", "--chunks-per-server=1", f"--schedule-out={path}"]
    subprocess.run([plan, *arguments], stdout=subprocess.DEVNULL, check=True)
    return path


def run(command):
    """Returns processor seconds and what was simulated."""
    before = os.times()
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    rows = [{k: v for k, v in row.items() if k not in NOT_SIMULATED} for row in json.loads(result.stdout)]
    return seconds, rows


def compare(name, now, reference, repeat):
    """Prints a row; returns whether both simulate the same."""
    seconds = {"now": [], "reference": []}
    rows = {}
    for _ in range(repeat):
        for label, command in (("reference", reference), ("now", now)):
            taken, rows[label] = run(command)
            seconds[label].append(taken)
    is_same = rows["now"] == rows["reference"]
    least = {label: min(values) for label, values in seconds.items()}
    print(
        f"{name:24} {least['reference']:11.2f} {least['now']:8.2f} {least['reference'] / least['now']:6.2f}"
        f"  {'same' if is_same else 'OTHER'}",
        flush=True,
    )
    return is_same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--program", default=root / "build/bin/allreduce-run", help="what is measured")
    parser.add_argument("--against", help="another build of allreduce-run, as it is")
    parser.add_argument("--bytes", default="100MiB", help="size of the gradient")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the fastest counts")
    parser.add_argument("--transports", default="raw,udp,tcp", help="which transports")
    options = parser.parse_args()

    print(f"{'case':24} {'reference s':>11} {'now s':>8} {'ratio':>6}  simulated")
    all_same = True
    with tempfile.TemporaryDirectory() as folder:
        large = os.path.join(folder, "fat-tree-64.json")
        with open(large, "w", encoding="ascii") as file:
            json.dump(make_fat_tree(), file)
        for servers, topology in ((16, "fattree:4"), (64, "file:" + large)):
            plan = make_plan(options.program, topology, folder)
            for transport in options.transports.split(","):
                arguments = [f"--schedule-in={plan}", f"--bytes={options.bytes}", "--format=json"]
                arguments.append(f"--transport={transport}")
                now = [options.program, *arguments]
                reference = [options.against, *arguments] if options.against else now + FULL_STACK
                all_same &= compare(f"{servers} servers {transport}", now, reference, options.repeat)
    return 0 if all_same else 1


if __name__ == "__main__":
    sys.exit(main())
