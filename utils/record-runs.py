#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only

"""Records what some 1,000 runs of the programs result in, so that two builds can be compared.

Usage: record-runs.py --bin=build/bin --out=FILE [--jobs=2] [--only=REGEX]
       record-runs.py --compare A B

A change that must not change any result (a refactoring, another compiler, another version of ns-3) is checked with a
record from before and one from after it. The first form runs the programs in --bin on a fixed list of cases, or on those
whose commands match REGEX, and writes a line for each, in the order of the list: a JSON object with
- run: the command, without the folder of the program; the words of several commands in a row are joined by " && ";
- status: how the (last) program ended, and stderr: the last lines that it wrote there, if it wrote any;
- rows: what it printed as JSON, that is plan hash, rounds, bounds, simulated times, ... or text: what else it printed;
- files: the SHA-256 of each file that it wrote.
What depends on the clock, the machine or folders is left out, see TIMES, clean_text() and clean_file(). A run of more than
120 s is an error of the record: it has the field error instead, is said, and the script ends with 1.

The second form prints the runs that differ, field by field (the first 20), then "N runs, M differ", and ends with 1 if
any differs.

Programs load the libraries of the folder lib beside --bin, if it has any, and the policies of this module; so a record
does not depend on what else is built or installed. Python is run if the package is beside --bin (python/allreduce_env).
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

MODULE = pathlib.Path(__file__).resolve().parent.parent
RUN_SECONDS = 120
ERROR_LINES = 3  # a note may follow what went wrong
MOST_SHOWN = 20
MOST_FIELDS = 8
TIMES = ("wall_s", "plan_ms", "seconds")  # what programs call the time that they took, in rows and files

SCHEDULERS = ("ps", "ps-merge", "ring", "ring-aware", "multi-ring", "hierarchical", "halving-doubling", "double-tree",
              "forest", "greedy", "hrl")
GENERAL = ("greedy", "forest", "hrl")  # plan any collective of any groups
COLLECTIVES = ("allreduce", "reduce-scatter", "all-gather", "broadcast", "reduce")
TRANSPORTS = ("raw", "udp", "tcp")
SYNCS = ("barrier", "dependency")
POLICIES = ("gadget", "fifo", "srf", "las", "tiresias", "drf", "random", "sjf-bco", "slot-optimum")
SMALL = ("bcube:2,1", "bcube:3,1", "bcube:2,2", "bcube:6,0", "dcell:2,1", "dcell:3,1", "jellyfish:6,3,1", "jellyfish:5,4,2,7",
         "fattree:2", "fattree:4", "torus:5", "torus:3x3", "torus:2x3x2", "file:mine.json", "file:rails.json",
         "file:direct.json")
MEDIUM = ("bcube:4,1", "dcell:4,1", "jellyfish:10,3,2", "torus:4x4", "torus:2x4x4")
LESS_SEARCH = "--ns3::allreduce::HrlScheduler::SearchEffort=0"

# Files that commands name are written to their folder first.
INPUTS = {
    "mine.json": b"""{"name": "mine", "servers": 6, "switches": 2,
 "links": [[0, 6], [1, 6], [2, 6], [3, 7], [4, 7], [5, 7], [6, 7, "30Gbps"], [0, 3], [1, 4], [2, 5]]}\n""",
    "rails.json": b"""{"name": "rails", "servers": 8, "switches": 4,
 "links": [[0, 8, "100Gbps"], [1, 8, "100Gbps"], [2, 8, "100Gbps"], [3, 8, "100Gbps"], [4, 9, "100Gbps"], [5, 9, "100Gbps"],
           [6, 9, "100Gbps"], [7, 9, "100Gbps"], [0, 10, "25Gbps", "2us"], [2, 10, "25Gbps", "2us"],
           [4, 10, "25Gbps", "2us"], [6, 10, "25Gbps", "2us"], [1, 11, "25Gbps", "3us"], [3, 11, "25Gbps", "3us"],
           [5, 11, "25Gbps", "3us"], [7, 11, "25Gbps", "3us"]]}\n""",
    "direct.json": b"""{"name": "direct", "servers": 7, "switches": 0,
 "links": [[0, 1, "40Gbps"], [1, 2], [2, 3, "15Gbps"], [3, 4], [4, 5, "25Gbps", "5us"], [5, 6], [6, 0, "10Gbps", "0.3us"],
           [1, 4, "20Gbps"], [2, 6]]}\n""",
    "train.json": b"""{"topologies": ["bcube:2,1"], "validation": ["bcube:2,1"], "problems": 2, "rollouts": 4,
 "validation_from": 1, "validation_every": 1, "validation_drawn": 1}\n""",
    "small.trace": b"A3C\tx\ty\t1\t900\t0\t2\nA3C\tx\ty\t1\t1900\t61\t1\nA3C\tx\ty\t1\t700\t90\t4\n",
}


class Run:
    """Commands in a row, each a list of words, in a folder of their own. With shows_command, what they print is run, too."""

    def __init__(self, *commands, shows_command=False, name=None):
        self.commands = commands
        self.shows_command = shows_command
        self.name = name or " && ".join(map(shlex.join, commands)) + (" | sh" if shows_command else "")

    def program(self):
        return self.commands[0][0]


def options(**values):
    """Options from names and values: those of None are left out, those of True have no value."""
    given = [(name.replace("_", "-"), value) for name, value in values.items() if value is not None]
    return [f"--{name}" if value is True else f"--{name}={value}" for name, value in given]


def plan(topology, scheduler, *words, **values):
    given = options(topology=topology, scheduler=scheduler, **values)
    return Run(["allreduce-plan", *given, "--format=json", "--bounds", *words])


def run(topology, scheduler, size, *words, **values):
    given = options(topology=topology, scheduler=scheduler, bytes=size, **values)
    return Run(["allreduce-run", *given, "--format=json", *words])


# Plans.


def list_plans():
    for topology, scheduler in itertools.product(SMALL, SCHEDULERS):
        yield plan(topology, scheduler, "--links")
    for topology, scheduler in itertools.product(MEDIUM, SCHEDULERS):
        yield plan(topology, scheduler)
    yield from list_changed_plans()
    yield from list_group_plans()
    yield from list_chunk_plans()
    for topology, scheduler in itertools.product(("bcube:8,1", "torus:4x4x4", "jellyfish:16,4,4"), SCHEDULERS):
        if scheduler not in ("forest", "hrl", "ps"):
            yield plan(topology, scheduler, chunks_per_server=1)
    yield plan("bcube:4,2", "forest", chunks_per_server=1)
    yield plan("bcube:4,2", "hrl", LESS_SEARCH, chunks_per_server=1)


def list_changed_plans():
    """Links are lost, or twice as fast."""
    networks = ("bcube:3,1", "dcell:3,1", "torus:3x3", "fattree:4")
    for topology, scheduler in itertools.product(networks, SCHEDULERS):
        words = [LESS_SEARCH] if scheduler == "hrl" else []
        yield plan(topology, scheduler, *words, degrade="0.1,3")
        yield plan(topology, scheduler, *words, mixed="0.3,2")
    for seed, scheduler in itertools.product(range(1, 6), ("ring-aware", "multi-ring", "greedy", "forest")):
        yield plan("jellyfish:6,3,2", scheduler, degrade=f"0.15,{seed}", mixed=f"0.25,{seed}")
    for scheduler in ("ring-aware", "greedy", "forest"):
        yield plan("bcube:4,1", scheduler, degrade="0.05,3")
        yield plan("dcell:4,1", scheduler, mixed="0.3,1")
    for topology in ("bcube:2,1", "dcell:2,1", "file:mine.json"):
        yield plan(topology, "hrl", mixed="0.3,1")
        yield plan(topology, "hrl", degrade="0.1,2")


def list_group_plans():
    networks = ("bcube:2,1", "dcell:2,1", "file:mine.json")
    for topology, collective, scheduler in itertools.product(networks, COLLECTIVES, GENERAL):
        yield plan(topology, scheduler, collective=collective)
    for groups, collective, scheduler in itertools.product(("0-2;3-5", "0,5;1,4;2,3"), COLLECTIVES, GENERAL):
        yield plan("dcell:2,1", scheduler, collective=collective, groups=groups)
    for scheduler in GENERAL:
        yield plan("bcube:3,1", scheduler, "--apart", groups="0-2;3-8")
        yield plan("bcube:3,1", scheduler, collective="broadcast", root=4)
        yield plan("bcube:3,1", scheduler, collective="reduce", root=2, servers="2-7")
        for relay in ("all", "none"):
            yield plan("torus:3x3", scheduler, servers="0-5", relay=relay)
            yield plan("bcube:3,1", scheduler, servers="0,1,3,4", relay=relay)
            yield plan("dcell:3,1", scheduler, servers="0,7", relay=relay)  # which cannot do without


def list_chunk_plans():
    for topology, scheduler, chunks in itertools.product(("bcube:2,1", "file:rails.json"), SCHEDULERS, (1, 5)):
        yield plan(topology, scheduler, chunks_per_server=chunks)
    for topology, scheduler in itertools.product(("dcell:3,1", "file:direct.json"), ("multi-ring", "greedy", "forest")):
        yield plan(topology, scheduler, chunks_per_server=16)
        yield plan(topology, scheduler, chunks_per_server="ports-or-auto")
    for scheduler, seed in itertools.product(GENERAL, (2, 3)):
        yield plan("jellyfish:6,3,1", scheduler, samples=4, seed=seed)
        yield plan("bcube:3,1", scheduler, LESS_SEARCH, seed=seed, degrade="0.1,1")
    for topology in ("bcube:3,1", "dcell:3,1", "file:mine.json"):
        yield plan(topology, "hrl", "--online", LESS_SEARCH)
        yield plan(topology, "hrl", "--online", LESS_SEARCH, degrade="0.1,1")
    for attribute in ("Middles=1", "Upper=false", "Samples=2"):
        yield plan("dcell:3,1", "hrl", f"--ns3::allreduce::HrlScheduler::{attribute}", LESS_SEARCH, degrade="0.1,1")
    yield plan("dcell:3,1", "forest", "--ns3::allreduce::ForestScheduler::SearchEffort=0")
    yield plan("bcube:3,1", "ns3::allreduce::RingScheduler", "--ns3::allreduce::RingScheduler::TopologyAware=true")


# Packets.


def list_packets():
    networks = ("bcube:2,1", "dcell:2,1", "torus:3x3", "file:rails.json")
    cases = itertools.product(networks, ("ring", "greedy", "forest"), TRANSPORTS, SYNCS, ("ideal", "packets"))
    for topology, scheduler, transport, sync, control in cases:
        yield run(topology, scheduler, "64KiB", transport=transport, sync=sync, control=control)
    for scheduler, transport in itertools.product(SCHEDULERS, TRANSPORTS):
        sync = SYNCS[len(scheduler) % 2]
        yield run("jellyfish:5,4,2,7", scheduler, "100kB", "--verify-data", transport=transport, sync=sync)
    yield from list_faults()
    yield from list_disturbed()
    yield from list_settings()
    yield from list_groups()
    yield from list_jobs()
    yield from list_chunks()


def list_faults():
    fail = ("--fail=0-4@20us", "--fail=0-4@20us,90us", "--fail=0-4@10us,60us;1-7@30us", "--fail=0-4@1us;0-6@1us")
    for words, transport, sync in itertools.product(fail, TRANSPORTS, SYNCS):
        yield run("bcube:2,1", "greedy", "256KiB", words, "--verify-data", transport=transport, sync=sync)
    for seed, scheduler in itertools.product((1, 2, 3, 6), ("ring", "greedy", "forest", "hrl")):
        transport, sync = TRANSPORTS[seed % 3], SYNCS[seed % 2]
        control = "packets" if scheduler == "forest" else None
        yield run("dcell:3,1", scheduler, "128KiB", "--verify-data", transport=transport, sync=sync, control=control,
                  fail_random=f"{1 + seed % 2},{seed}")
    for transport in TRANSPORTS:
        yield run("bcube:2,1", "hrl", "128KiB", "--online", transport=transport, fail="0-4@20us")
        yield run("torus:3x3", "multi-ring", "128KiB", transport=transport, fail_random="3,9", iterations=3)
    yield run("bcube:2,0", "greedy", "1000", fail="0-2@1s")  # too late
    yield run("bcube:2,1", "greedy", "64KiB", watchdog="1ns")


def list_disturbed():
    """Slow links, other traffic, other queues."""
    for transport, sync in itertools.product(TRANSPORTS, SYNCS):
        given = {"transport": transport, "sync": sync}
        yield run("bcube:2,1", "greedy", "256KiB", slow="0-4:3", **given)
        yield run("file:rails.json", "forest", "256KiB", slow="0-10:2.5;7-11:4", **given)
        yield run("dcell:2,1", "greedy", "128KiB", background=0.2, **given)
        yield run("bcube:2,1", "ring", "128KiB", background=0.5, queue=20, RngRun=3, **given)
        yield run("bcube:2,1", "ps", "256KiB", queue="40kB", chunks_per_server=2, **given)
        yield run("bcube:3,1", "double-tree", "128KiB", "--links", queue=5, frame=1500, **given)
        yield run("bcube:2,1", "greedy", "128KiB", "--verify-data", slow="0-4:3", background=0.1, fail="1-4@30us,200us",
                  **given)


def list_settings():
    for transport, sync in itertools.product(TRANSPORTS, SYNCS):
        given = {"transport": transport, "sync": sync}
        yield run("bcube:2,1", "greedy", "64KiB", rate="1Gbps", delay="20us", frame=1500, **given)
        yield run("dcell:2,1", "multi-ring", "64KiB", rate="400Gbps", delay="0ns", **given)
        yield run("bcube:2,1", "greedy", "32KiB", "--verify-data", iterations=3, compute_time="50us", **given)
        yield run("torus:5", "ring-aware", "64KiB", "--full-stack", **given)
    for size in ("1", "7", "1000", "1MiB"):
        yield run("bcube:2,1", "greedy", size, "--verify-data", transport="raw")
    for kind in ("TcpNewReno", "TcpDctcp", "TcpBic"):
        yield run("bcube:2,1", "ps", "256KiB", f"--ns3::TcpL4Protocol::SocketType=ns3::{kind}", queue=20, chunks_per_server=1)
    yield run("bcube:2,1", "greedy", "64KiB", "--ns3::allreduce::TcpTransport::Pacing=false", transport="tcp")
    yield run("bcube:2,1", "greedy", "64KiB", "--ns3::allreduce::DatagramTransport::AckEvery=1", transport="udp")
    yield run("bcube:2,1", "greedy", "64KiB", transport="ns3::allreduce::RawTransport")
    yield run("bcube:2,1", "greedy", "64KiB", transport="ip")


def list_groups():
    for collective, scheduler, transport in itertools.product(COLLECTIVES, GENERAL, ("raw", "tcp")):
        sync = SYNCS[len(collective) % 2]
        yield run("bcube:3,1", scheduler, "64KiB", "--verify-data", LESS_SEARCH, collective=collective, groups="0,3-5;1,2,6-8",
                  transport=transport, sync=sync, chunks_per_server=2)
    for relay, transport in itertools.product(("all", "none"), TRANSPORTS):
        yield run("torus:3x3", "greedy", "64KiB", servers="0-5", relay=relay, transport=transport)
    for root, collective in itertools.product((0, 5), ("broadcast", "reduce")):
        yield run("dcell:2,1", "forest", "64KiB", "--verify-data", root=root, collective=collective, transport="udp")
    for transport, sync in itertools.product(TRANSPORTS, SYNCS):
        yield run("dcell:2,1", "hrl", "64KiB", "--online", transport=transport, sync=sync, chunks_per_server=1)


def list_jobs():
    pairs = (("servers=0-3", "servers=2-5;start=20us"), ("name=a;scheduler=ring", "name=b;bytes=32KiB;iterations=2"),
             ("servers=0,1;relay=none", "servers=4-8;collective=broadcast;root=5;scheduler=forest"),
             ("name=a;iterations=2;compute-time=30us", "name=b;start=10us;chunks-per-server=1", "name=c;servers=1,3,5"))
    for pair, transport, sync in itertools.product(pairs, TRANSPORTS, SYNCS):
        words = [f"--job={job}" for job in pair]
        yield run("bcube:3,1", None, "64KiB", *words, transport=transport, sync=sync)
    for transport in TRANSPORTS:
        yield run("bcube:2,1", None, "128KiB", "--job=name=a", "--job=name=b;scheduler=ring", "--verify-data", fail="0-4@40us",
                  slow="1-4:2", background=0.1, transport=transport)


def list_chunks():
    """The number of chunks that is predicted to be fastest."""
    networks = ("file:rails.json", "file:direct.json", "file:mine.json")
    for topology, scheduler in itertools.product(networks, ("greedy", "forest")):
        for size in ("10kB", "300kB"):
            yield run(topology, scheduler, size, transport="raw", chunks_per_server="auto")
    for mixed, transport in itertools.product(("0.3,1", "0.6,2"), TRANSPORTS):
        yield run("dcell:2,1", "greedy", "200kB", mixed=mixed, transport=transport, sync="dependency")
        yield run("bcube:3,1", "multi-ring", "100kB", degrade="0.1,2", transport=transport, chunks_per_server=3)


# Clusters.


def cluster(*words, **values):
    return Run(["allreduce-cluster", *options(**values), "--format=json", *words])


def list_clusters():
    for policy, objective in itertools.product(POLICIES, ("progress", "energy:0.5", "fair:2", "max-min")):
        topology, jobs = ("bcube:2,1", 5) if policy == "slot-optimum" else (None, 12)  # which takes few of both
        yield cluster(topology=topology, generate=jobs, slots=60, gpus="2,4", policy=policy, objective=objective)
    for policy, seed in itertools.product(POLICIES, (2, 3)):
        topology, jobs = ("bcube:2,1", 5) if policy == "slot-optimum" else (None, 15)
        yield cluster(topology=topology, generate=jobs, slots=50, gpus=2, policy=policy, seed=seed, move_cost="5s",
                      arrival_rate=2)
    for topology in ("bcube:3,1", "dcell:3,1", "fattree:4", "torus:4x4", "file:rails.json"):
        yield cluster(topology=topology, generate=10, slots=60, gpus="2,4")
        yield cluster(topology=topology, generate=10, slots=60, gpus="1,2", mixed="0.3,2", contention=0.3, reservable=0.5)
    for collective_time in ("ring", "plan", "plan:greedy"):
        yield cluster(topology="bcube:3,1", generate=8, slots=40, gpus=2, policy="gadget,fifo",
                      collective_time=collective_time)
    for transport, share in itertools.product(TRANSPORTS, ("reserved", "best-effort")):
        yield cluster(run_slot=5, gpus=2, policy="fifo,gadget", generate=10, slots=10, most_bytes="32KiB", transport=transport,
                      share=share)
    for count in (10, 40):
        yield cluster(check_guarantee=count)
    yield cluster(jobs="cluster-jobs.csv", slots="auto", policy="gadget,las")
    yield cluster(jobs="cluster-jobs.csv", slots=50, objective="0.5*progress+0.5*fair:1", slot_time="30s")
    yield cluster(generate=10, slots=40, seeds=3, processes=1)
    yield cluster(generate=10, slots=30, series="series.csv", job_rows="rows.csv", report="page.html")
    yield cluster(generate=10, slots=30, job_rows="rows.json", policy="gadget", reduce_rate="20Gbps")
    for gang in ("rigid", "elastic"):
        yield cluster(jobs="philly:small.trace", slots=60, gang=gang, arrival_speed=2)
    yield Run(["allreduce-cluster", "--generate=30", "--seed=5", "--write-jobs=jobs.csv"])
    yield cluster(policy="best")


# The other programs, and what programs write.


def list_sweeps():
    def compare(*words):
        return Run(["allreduce-compare", "--jobs=1", "--format=json", *words])

    for topology in ("bcube:2,1;dcell:2,1", "torus:3x3", "file:rails.json"):
        yield compare(f"--topology={topology}", "--sizes=4KiB,64KiB", LESS_SEARCH)
        yield compare(f"--topology={topology}", "--sizes=64KiB", "--scheduler=greedy,forest", "--transport=raw",
                      "--mixed=0.3,1")
    yield compare("--topology=bcube:2,1", "--sizes=64KiB", "--scheduler=ring,greedy", "--fail=0-4@20us", "--report=page.html")
    yield compare("--topology=bcube:2,1", "--sizes=64KiB", "--scheduler=ring", "--fail=0-4@1us", "--fail=0-6@1us")
    yield compare("--topology=bcube:2,1;bcube:3,1", "--sizes=1KiB,8KiB", "--scheduler=ring,ps", "--shard=2/3")
    for topology in SMALL:
        yield Run(["allreduce-topology", f"--topology={topology}", "--format=json", "--bytes=100000", "--write-json=a.json",
                   "--write-list=a.txt"])
    for words in (["--degrade=0.1,3"], ["--mixed=0.3,4"], ["--degrade=1"]):
        yield Run(["allreduce-topology", "--topology=bcube:4,1;fattree:4", "--no-flow", "--format=json", *words])
    yield Run(["allreduce-topology", "--topology=jellyfish:5,3,1"])


def list_formats():
    for style in ("table", "csv", "gnuplot"):
        last = f"--format={style}"
        yield Run(["allreduce-plan", "--topology=bcube:3,1;dcell:2,1", "--scheduler=ring,greedy", last])
        yield Run(["allreduce-run", "--topology=bcube:2,1", "--scheduler=ring,greedy", "--bytes=64KiB", last])
        yield Run(["allreduce-run", "--topology=bcube:2,1", "--bytes=64KiB", "--job=servers=0,1", "--job=servers=1-3", last])
        yield Run(["allreduce-compare", "--topology=bcube:2,1", "--scheduler=ring,greedy", "--sizes=8KiB", "--jobs=1", last])
        yield Run(["allreduce-cluster", "--generate=10", "--slots=40", last])
        yield Run(["allreduce-topology", "--topology=bcube:2,1", "--bytes=10000", last])
    yield Run(["allreduce-plan", "--topology=dcell:2,1", "--scheduler=greedy,ring", "--links", "--bounds"])
    yield Run(["allreduce-run", "--topology=bcube:2,1", "--bytes=64KiB", "--links"])
    for program in ("plan", "run", "compare", "cluster", "topology", "train"):
        yield Run([f"allreduce-{program}", "--help"])


def list_exports():
    plans = (("bcube:2,1", "ring"), ("dcell:2,1", "greedy"), ("torus:3x3", "forest"), ("file:mine.json", "hrl"))
    for topology, scheduler in plans:
        begin = ["allreduce-plan", f"--topology={topology}", "--format=json"]
        write = [*begin, f"--scheduler={scheduler}", "--schedule-out=a.schedule"]
        read = ["allreduce-plan", "--schedule-in=a.schedule", "--schedule-out=b.schedule", "--format=json"]
        yield Run([*write, "--report=page.html", "--trace-json=trace.json"])
        yield Run([*write, "--msccl-out=a.xml"], [*begin, "--msccl-in=a.xml"], read)
        yield Run([*write, "--chakra-out=c", "--bytes=1MiB"])
        yield Run(write, ["allreduce-run", "--schedule-in=a.schedule", "--bytes=64KiB", "--verify-data", "--format=json"])
    groups = ["allreduce-plan", "--topology=bcube:3,1", "--scheduler=greedy", "--groups=0-3;4-8", "--schedule-out=a.schedule"]
    yield Run(groups, ["allreduce-run", "--schedule-in=a.schedule", "--bytes=64KiB", "--transport=raw", "--format=json"])
    for transport, sync in itertools.product(TRANSPORTS, SYNCS):
        yield run("bcube:2,1", "greedy", "32KiB", "--report=page.html", "--trace-json=trace.json", "--schedule-out=a.schedule",
                  transport=transport, sync=sync, fail="0-4@20us")
        yield Run(["allreduce-run", "--topology=bcube:2,1", "--chakra-in=layers.et", f"--transport={transport}",
                   f"--sync={sync}", "--format=json"])
    yield run("bcube:2,1", "greedy", "32KiB", "--flow-monitor=flows.xml", "--anim=anim.xml", "--pcap=packets")


def list_scripts():
    """The scripts to start from; the larger ones take seconds, and cannot be made smaller."""
    for words in ("", "--scheduler=ring --bytes=100000", "--scheduler=hrl --bytes=100000"):
        yield Run(["allreduce-first", *(words or "--bytes=1000000").split()])
    yield Run(["allreduce-broken-link"])
    yield Run(["allreduce-dctcp"])
    yield Run(["allreduce-flow-times"])
    yield Run(["allreduce-in-a-study", "--jobs=1"])
    yield Run(["allreduce-own-scheduler"])
    yield Run(["allreduce-own-topology"])
    yield Run(["allreduce-two-jobs", "--iterations=1"])


def list_benchmarks():
    def evaluate(part, shard):
        return Run(["allreduce-evaluate-policies", f"--parts={part}", f"--shard={shard}", "--jobs=1", LESS_SEARCH])

    yield evaluate("rests", "1/40")
    yield evaluate("rests", "2/40")
    yield evaluate("reference", "1/60")
    yield evaluate("online", "1/60")
    for seed in (1, 4, 9):
        yield Run(["allreduce-validate-times", "--networks=1", f"--first-seed={seed}", "--servers=6", "--most-bytes=64KiB",
                   "--scheduler=ring,greedy,forest", "--sync=barrier,dependency", "--jobs=1", "--output=rows.json"])
    for first in range(1001, 1041, 10):
        yield Run(["allreduce-soak", f"--first={first}", "--runs=10", "--jobs=1"])
    for seed in range(1, 61):
        yield Run(["allreduce-soak", f"--first={seed}", "--show"], shows_command=True)
    train = ["allreduce-train", "--config=train.json", "--threads=1", "--out=a.json", "--log=a.csv"]
    yield Run([*train, "--iterations=2", "--report=page.html"])
    yield Run([*train, "--iterations=2", "--seed=7"], [*train, "--iterations=2", "--seed=7", "--resume"])
    yield Run([*train, "--iterations=2", "--workers=2"])


PYTHON_BEGIN = "import numpy as np, allreduce_env as ar, json; show = lambda *a: print(json.dumps(a, default=float))\n"
PYTHON_PLAN = """for name in ("bcube:3,1", "dcell:2,1", "torus:3x3"):
    p = ar.plan(ar.Topology(name{change}), "{scheduler}")
    show(name, str(p), str(p.hash), p.flaw())"""
PYTHON_BOUNDS = """for name in ("bcube:3,1", "dcell:3,1", "fattree:4"):
    t = ar.Topology(name, mixed="0.3,1")
    show(str(ar.bounds(t)), str(ar.bound(t)), ar.ideal_seconds(t, 1000000), t.to_json())"""
PYTHON_EPISODE = """policy, rng = ar.Policy.shipped(), np.random.default_rng(1)
env = ar.{env}
for episode in range(3):
    seen, info = env.reset(seed=episode)
    over, rewards = False, []
    while not over:
        head = ar.HEADS[seen["head"]]
        rows = seen["rows"][seen["mask"], : len(ar.features(head))]
        scores = policy.score(head, rows) if episode else rng.normal(size=len(rows))
        choice = int(scores.argmax())
        if env.action_space.shape:  # all trees at once
            choice = np.zeros(env.action_space.shape, int)
            choice[: len(scores)] = scores >= 0
        seen, reward, over, truncated, info = env.step(choice)
        rewards.append(reward)
    show(sum(rewards), len(rewards), info["rounds"], str(env.plan().hash))"""
PYTHON_VECTOR = """tasks = [ar.Task(ar.Topology(n)) for n in ("bcube:2,1", "dcell:2,1", "fattree:2")]
many = ar.VectorEnv(4 * tasks, threads={threads})
rng, total = np.random.default_rng(1), 0.0
seen, info = many.reset(seed=1)
for _ in range(500):
    actions = (rng.random(12) * seen["mask"].sum(axis=1)).astype(int)
    seen, rewards, terminated, truncated, info = many.step(actions)
    total += float(seen["rows"].sum(dtype=float)) + float(rewards.sum())
show(total, [int(r) for r in info["rounds"]], [int(b) for b in info["bound"]])"""


def list_python():
    """Scripts of some lines, which a record names by what they do."""
    def script(name, text):
        return Run(["python3", "-c", PYTHON_BEGIN + text], name="python3 " + name)

    for scheduler in SCHEDULERS:
        yield script(f"plan {scheduler}", PYTHON_PLAN.format(scheduler=scheduler, change=""))
    yield script("plan forest degraded", PYTHON_PLAN.format(scheduler="forest", change=', degrade="0.1,2"'))
    yield script("bounds", PYTHON_BOUNDS)
    environments = ('LowerEnv({}, upper="rule")', "UpperEnv({})", "JointEnv({})")
    for kind, env in itertools.product(("forward", "mirrored"), environments):
        env = env.format(f'ar.Task(ar.Topology("dcell:2,1"), kind="{kind}")')
        yield script(f"episodes {env}", PYTHON_EPISODE.format(env=env))
    for threads in (1, 2):
        yield script(f"VectorEnv of {threads} threads", PYTHON_VECTOR.format(threads=threads))
    yield script("own_network.py", (MODULE / "examples/python/own_network.py").read_text(encoding="ascii"))


def list_runs():
    """All of them, each once."""
    parts = (list_plans, list_packets, list_clusters, list_sweeps, list_formats, list_exports, list_scripts, list_benchmarks,
             list_python)
    return list({case.name: case for part in parts for case in part()}.values())


# A Chakra workload trace, as protobuf writes it.


def encode_varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + encode_varint(number >> 7)


def encode_number(field, number):
    return encode_varint(field << 3) + encode_varint(number)


def encode_data(field, content):
    return encode_varint(field << 3 | 2) + encode_varint(len(content)) + content


def encode_node(number, name, kind, after, micros=0, **attributes):
    message = encode_number(1, number) + encode_data(2, name.encode()) + encode_number(3, kind) + encode_number(7, micros)
    message += b"".join(encode_number(5, other) for other in after)
    for key, value in attributes.items():
        message += encode_data(10, encode_data(1, key.encode()) + encode_number(9, value))
    return encode_varint(len(message)) + message


def make_trace():
    """Three layers, whose gradients are summed while the next layer computes."""
    compute, collective = 4, 7
    nodes = [encode_node(1, "forward", compute, [], 50)]
    before = 1
    for layer in (3, 2, 1):
        nodes.append(encode_node(10 * layer, f"backward {layer}", compute, [before], 100))
        before = 10 * layer
        nodes.append(encode_node(before + 1, f"gradient {layer}", collective, [before], comm_type=0, comm_size=layer * 30000))
    nodes.append(encode_node(2, "update", compute, [11, 21, 31], 20))
    return encode_varint(0) + b"".join(nodes)


# What is kept of a run.


def without_times(value):
    """JSON without the time that programs took."""
    if isinstance(value, dict):
        return {key: without_times(child) for key, child in value.items() if key not in TIMES}
    return [without_times(child) for child in value] if isinstance(value, list) else value


def clean_text(text):
    """Lines of a text or table. Programs put the time that they took into the last column, whose width depends on it; lines
    below a row are indented."""
    lines, is_timed = [], False
    for line in text.splitlines():
        line = re.sub(r" +", " ", line).rstrip()
        line = re.sub(r"took [0-9.e+-]+ s of processor time", "took ... s of processor time", line)
        is_title = re.search(r"(wall|plan)[ _]m?s$", line)
        is_timed = is_timed and line not in ("", "END") or bool(is_title)
        if is_timed and not is_title and not line.startswith(" "):
            line = re.sub(r"([ ,])[0-9.e+-]+$", r"\1...", line)
        lines.append(line)
    return lines


def clean_csv(text):
    """Without the columns of time."""
    rows = [line.split(",") for line in text.splitlines()]
    kept = [i for i, title in enumerate(rows[0]) if title not in TIMES] if rows else []
    if not rows or len(kept) == len(rows[0]):
        return text
    return "\n".join(",".join(row[i] for i in kept) for row in rows)


def clean_file(path):
    """What is hashed of a file: all but the time that it took. A state of training is left out, the policy has its weights."""
    data = path.read_bytes()
    if path.suffix == ".state":
        return None
    if path.suffix == ".csv":
        return clean_csv(data.decode("ascii")).encode("ascii")
    if path.suffix in (".json", ".html"):
        return re.sub(rb'"(' + "|".join(TIMES).encode() + rb')": ?[0-9.e+-]+', rb'"\1":0', data)
    return data


def clean_error(text, *folders):
    """The last lines, without folders, and without the lines of sources that ns-3 names."""
    for folder in folders:
        text = text.replace(str(folder), ".")
    lines = [line for line in text.splitlines() if line]
    return [re.sub(r"file=\S*/", "file=", re.sub(r"line=\d+", "line=...", line)) for line in lines[-ERROR_LINES:]]


def read_output(text):
    """The rows or the lines that were printed."""
    if text[:1] in ("[", "{"):
        try:
            return {"rows": without_times(json.loads(text))}
        except ValueError:
            pass
    return {"text": clean_text(text)}


class Recorder:
    """Runs the programs of a folder."""

    def __init__(self, folder):
        self.bin = pathlib.Path(folder).resolve()
        self.python = self.bin.parent / "python"
        self.inputs = {**INPUTS, "layers.et": make_trace(),
                       "cluster-jobs.csv": (MODULE / "examples/cluster-jobs.csv").read_bytes()}
        libraries = [str(self.bin.parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        self.environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C",
                            "LD_LIBRARY_PATH": ":".join(filter(None, libraries)), "PYTHONPATH": str(self.python),
                            "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                            "ALLREDUCE_POLICY": str(MODULE / "policies/hrl.json")}

    def can(self, case):
        """Whether the build has what the case needs."""
        if case.program() == "python3":
            return any(self.python.glob("allreduce_env/_allreduce_env*.so"))
        return (self.bin / case.program()).exists()

    def call(self, command, folder):
        name = command[0]
        program = self.find_python() if name == "python3" else str(self.bin / name)
        return subprocess.run([program, *command[1:]], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", errors="backslashreplace", timeout=RUN_SECONDS)

    def find_python(self):
        """The interpreter that the package was built for."""
        cache = self.bin.parent / "CMakeCache.txt"
        found = cache.exists() and re.search(r"^ALLREDUCE_PYTHON:FILEPATH=(.+)$", cache.read_text(), re.M)
        return found.group(1) if found else sys.executable

    def record(self, case):
        """The line of a case."""
        with tempfile.TemporaryDirectory(prefix="record-runs-") as name:
            folder = pathlib.Path(name)
            given = [file for file in self.inputs if file in case.name]
            for file in given:
                (folder / file).write_bytes(self.inputs[file])
            line = {"run": case.name}
            try:
                line.update(self.run_all(case, folder))
            except subprocess.TimeoutExpired:
                return {**line, "error": f"took more than {RUN_SECONDS} s"}
            cleaned = {path.name: clean_file(path) for path in sorted(folder.iterdir()) if path.name not in given}
            files = {file: hashlib.sha256(data).hexdigest() for file, data in cleaned.items() if data is not None}
            return {**line, "files": files} if files else line

    def run_all(self, case, folder):
        """The results of the commands; the next one runs only if the one before did."""
        steps, commands = [], list(case.commands)
        while commands and (not steps or steps[-1]["status"] == 0):
            done = self.call(commands.pop(0), folder)
            error = clean_error(done.stderr, folder, self.bin.parent)
            steps.append({"status": done.returncode, **({"stderr": error} if error else {}), **read_output(done.stdout)})
            if case.shows_command and len(steps) == 1:
                commands.append(shlex.split(done.stdout) + ["--format=json"])
        return steps[0] if len(steps) == 1 else {"status": steps[-1]["status"], "steps": steps}


def record_all(args):
    """Writes the record; says what was left out and what took too long."""
    begin, recorder = time.time(), Recorder(args.bin)
    cases = [case for case in list_runs() if re.search(args.only, case.name)]
    left_out = collections.Counter(case.program() for case in cases if not recorder.can(case))
    cases = [case for case in cases if recorder.can(case)]
    counts, failed, errors = collections.Counter(), 0, 0
    with open(args.out, "w", encoding="ascii") as out, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for case, line in zip(cases, pool.map(recorder.record, cases)):
            counts[case.program()] += 1
            failed += line.get("status", 0) != 0
            if "error" in line:
                errors += 1
                print(f"{case.name}: {line['error']}", file=sys.stderr)
            out.write(json.dumps(line) + "\n")
    for program, count in left_out.items():
        print(f"left out, not beside {args.bin}: {count} runs of {program}")
    print(", ".join(f"{count} {program}" for program, count in counts.items()))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(cases)} runs, {failed} of them ended with another status than 0, {errors} took too long; "
          f"{time.time() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time")
    return 1 if errors or not cases else 0


# Comparing.

MISSING = object()  # is not null


def list_differences(a, b, path=""):
    """The fields that differ, as (path, first, second)."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from list_differences(a.get(key, MISSING), b.get(key, MISSING), f"{path}.{key}" if path else key)
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"entries of {path}", len(a), len(b)
        for i, pair in enumerate(zip(a, b)):
            yield from list_differences(*pair, f"{path}[{i}]")
    elif a is MISSING or b is MISSING or json.dumps(a) != json.dumps(b):
        yield path, a, b


def shorten(value):
    text = "nothing" if value is MISSING else json.dumps(value)
    return text if len(text) <= 200 else text[:200] + "..."


def show_differences(name, differences):
    print(name)
    for path, a, b in differences[:MOST_FIELDS]:
        print(f"  {path}: {shorten(a)}, then {shorten(b)}")
    if len(differences) > MOST_FIELDS:
        print(f"  and {len(differences) - MOST_FIELDS} fields more")


def read_record(path):
    with open(path, encoding="ascii") as file:
        return {line["run"]: line for line in map(json.loads, file)}


def find_differences(a, b):
    """Of one run. A run that took too long says nothing, so it is not the same as any other."""
    if a is None or b is None:
        return [("run", *(MISSING if line is None else "recorded" for line in (a, b)))]
    if "error" in a or "error" in b:
        return [("error", a.get("error", MISSING), b.get("error", MISSING))]
    return list(list_differences(a, b))


def compare(first, second):
    records = [read_record(first), read_record(second)]
    names = list(dict.fromkeys([*records[0], *records[1]]))
    count = 0
    for name in names:
        differences = find_differences(*(record.get(name) for record in records))
        count += bool(differences)
        if differences and count <= MOST_SHOWN:
            show_differences(name, differences)
    print(f"{len(names)} runs, {count} differ")
    return 1 if count or not names else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", default="build/bin", help="the folder of the programs")
    parser.add_argument("--out", help="where to write the record")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--only", default="", metavar="REGEX", help="only runs whose commands match")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help="compare two records instead")
    args = parser.parse_args()
    if args.compare:
        return compare(*args.compare)
    if not args.out:
        parser.error("--out: expected the name of a file")
    return record_all(args)


if __name__ == "__main__":
    sys.exit(main())
