#! /usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only

# What ns-3's test.py runs besides the suites: (command, do_run, do_valgrind_run).
cpp_examples = [
    ("allreduce-broken-link", "True", "True"),
    ("allreduce-cluster --slots=200 --objective=progress,energy,fair", "True", "True"),
    ("allreduce-cluster --run-slot=5 --gpus=2 --policy=fifo --most-bytes=256KiB --format=json", "True", "False"),
    ("allreduce-compare --topologies=bcube:2,1 --schedulers=ring,greedy --sizes=64KiB --jobs=2", "True", "True"),
    ("allreduce-dctcp", "True", "False"),
    ("allreduce-experiment --bytes=100000", "True", "False"),
    ("allreduce-first", "True", "True"),
    ("allreduce-flow-times", "True", "False"),
    ("allreduce-in-a-study", "True", "False"),
    ("allreduce-own-scheduler", "True", "False"),
    ("allreduce-own-topology", "True", "False"),
    ("allreduce-plan --topology=bcube:4,1 --scheduler=ps,ring-aware,greedy", "True", "True"),
    ("allreduce-plan --topology=dcell:3,1 --degrade=0.1 --scheduler=all --format=csv", "True", "False"),
    ("allreduce-run --topology=bcube:2,1 --scheduler=ring --bytes=1MiB --verify-data", "True", "True"),
    ("allreduce-topology", "True", "True"),
    ("allreduce-topology --topology=fattree:4 --format=json", "True", "False"),
    ("allreduce-two-jobs", "True", "False"),
    ("allreduce-train --iterations=1 --out=policy.json", "True", "False"),
]

python_examples = []
