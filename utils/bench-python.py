#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: bench-python.py [STEPS [TOPOLOGY [ENVIRONMENTS]]]: random play of the lower level in a vector environment. Prints
# the seconds and the processor time that the steps took. PYTHONPATH names the folder of allreduce_env (build/python).

import sys
import time

import numpy as np

import allreduce_env as ar

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
spec = sys.argv[2] if len(sys.argv) > 2 else "dcell:4,1"
size = int(sys.argv[3]) if len(sys.argv) > 3 else 256

task = ar.Task(ar.Topology(spec))
env = ar.VectorEnv([task] * size)
env.reset(seed=1)
masks = env.action_masks()
random = np.random.default_rng(1)
episodes = 0
start, start_cpu = time.perf_counter(), time.process_time()
for _ in range(-(-steps // size)):
    # The choices that there are come first.
    actions = (random.random(size) * masks.sum(axis=1)).astype(np.int64)
    episodes += env.step(actions)[2].sum()
seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
done = -(-steps // size) * size
print(f"{spec}: {done} steps, {episodes} verified plans in {seconds:.1f} s, {cpu:.1f} s of processor time")
print(f"{done / seconds:.0f} steps/s, {1e6 * cpu / done:.2f} us of processor time for each step")
