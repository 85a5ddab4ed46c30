#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Calls the Python package allreduce_env with good arguments and junk, on a build with the address and
# undefined-behaviour sanitizers: utils/fuzz-python.sh [SECONDS [SEED]], by default 60 seconds. A crash, a report of a
# sanitizer or an exception that is no refusal fails.

set -euo pipefail
export ALLREDUCE_BUILD_DIR=${ALLREDUCE_BUILD_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build-fuzz-python}
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
seconds=${1:-60}
time_limit=$((seconds + 600))
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

target=allreduce-env
build_first build_standalone -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DALLREDUCE_SANITIZE=ON \
    -DALLREDUCE_TORCH=OFF
check "fuzz allreduce_env for $seconds s" run_python "$module_dir/bindings/python/test/fuzz_binding.py" "$seconds" "${@:2}"
report
