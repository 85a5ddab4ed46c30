#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the tests of the Python package allreduce_env and its examples: utils/check-python.sh [EPISODES], which is how many
# episodes are played at random (200). Expects the standalone build.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
cd "$scratch"
export ALLREDUCE_PLAN=$build_dir/bin/allreduce-plan ALLREDUCE_EPISODES=${1:-200}
examples=$module_dir/examples/python

# A million steps are to take less than a minute on 2 cores; what other processes take does not count.
fast_enough()
{
    run_python "$module_dir/utils/bench-python.py" | tee bench
    awk '/processor time$/ { if ($(NF - 4) < 60) ok = 1 } END { exit !ok }' bench
}

under_100_lines()
{
    (($(wc -l <"$1") < 100))
}

# Chance gives three standard errors once in 700 times.
learns()
{
    run_python "$examples/train_policy.py" own-policy.json | tee learned
    awk '/standard errors$/ { if ($(NF - 2) > 3) ok = 1 } END { exit !ok }' learned
}

# What Python has printed is the plan that the program makes with the same checkpoint.
same_plan()
{
    local hash
    hash=$(sed -n 's/.* plan hash //p' learned)
    ALLREDUCE_POLICY=own-policy.json limited "$ALLREDUCE_PLAN" --topology=dcell:4,1 --scheduler=hrl --format=json |
        grep -F "\"plan_hash\":\"$hash\""
}

runs_packets()
{
    ALLREDUCE_POLICY=own-policy.json limited "$build_dir/bin/allreduce-run" --topology=dcell:4,1 --scheduler=hrl \
        --bytes=256KiB --verify-data
}

if ! has_python_package; then
    skip "allreduce_env: it was not built (Debian: ${python_packages[*]})"
    exit 0
fi
for file in "$module_dir"/bindings/python/test/test_*.py; do
    check "python: $(basename "$file" .py)" run_python -W error "$file"
done
check "python: 10 seconds of junk" run_python "$module_dir/bindings/python/test/fuzz_binding.py" 10
check "python: a million steps" fast_enough
for file in "$examples"/*.py; do
    check "python: ${file##*/} has under 100 lines" under_100_lines "$file"
done
check "python: own_network.py" run_python "$examples/own_network.py"
if run_python -c 'import torch' 2>/dev/null; then
    check "python: train_policy.py learns" learns
    check "python: its checkpoint gives the same plan in allreduce-plan" same_plan
    check "python: its plan in packets" runs_packets
else
    skip "train_policy.py: there is no PyTorch (Debian: python3-torch)"
fi
report
