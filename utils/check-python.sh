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
export PYTHONPATH=$build_dir/python PYTHONDONTWRITEBYTECODE=1
export ALLREDUCE_PLAN=$build_dir/bin/allreduce-plan ALLREDUCE_EPISODES=${1:-200}

if ! compgen -G "$build_dir/python/allreduce_env/_allreduce_env*.so" >/dev/null; then
    skip "allreduce_env: it was not built (Debian: pybind11-dev python3-numpy python3-dev)"
    exit 0
fi
python=$(sed -n 's/^ALLREDUCE_PYTHON:FILEPATH=//p' "$build_dir/CMakeCache.txt")

# A million steps are to take less than a minute on 2 cores; other processes do not count.
fast_enough()
{
    limited "$python" "$module_dir/utils/bench-python.py" | tee bench
    awk '/processor time$/ { if ($(NF - 4) < 60) ok = 1 } END { exit !ok }' bench
}

for file in "$module_dir"/bindings/python/test/test_*.py; do
    check "python: $(basename "$file" .py)" limited "$python" -W error "$file"
done
check "python: a million steps" fast_enough
report
