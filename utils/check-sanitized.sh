#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the suites on a build with Clang, with asserts, without LibTorch, and with the address and undefined-behaviour
# sanitizers: utils/check-sanitized.sh [--fullness=QUICK|EXTENSIVE] [SUITE...], by default the quick cases of all
# suites, as many at a time as there are processors. Leaks fail, too.

set -euo pipefail
export ALLREDUCE_BUILD_DIR=${ALLREDUCE_BUILD_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build-sanitized}
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

fullness=--fullness=QUICK
if [[ ${1:-} == --fullness=* ]]; then
    fullness=$1
    shift
fi
target=allreduce-test-runner
build_first build_sanitized
suites=("$@")
((${#suites[@]} > 0)) || mapfile -t suites < <(list_suites)
cd "$scratch"
for suite in "${suites[@]}"; do
    check_beside "$suite, sanitized" run_suite "$suite" "$fullness"
done
await_checks
report
