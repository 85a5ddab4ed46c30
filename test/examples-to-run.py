#! /usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only

# What ns-3's test.py runs besides the suites: (command, do_run, do_valgrind_run).
cpp_examples = [
    ("allreduce-plan --topology=bcube:4,1 --scheduler=ps,ring-aware,greedy", "True", "True"),
    ("allreduce-plan --topology=dcell:3,1 --degrade=0.1 --scheduler=all --format=csv", "True", "False"),
    ("allreduce-topology", "True", "True"),
    ("allreduce-topology --topology=fattree:4 --format=json", "True", "False"),
]

python_examples = []
