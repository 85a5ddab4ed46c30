#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the suites as users rarely do (with Clang, with asserts, without LibTorch, with the address and
# undefined-behaviour sanitizers) and runs them: utils/check-sanitized.sh [SUITE|-SUITE...], by default all, or all
# but those with a minus, as many at a time as there are processors. Leaks fail, too.

set -euo pipefail
export ALLREDUCE_BUILD_DIR=${ALLREDUCE_BUILD_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build-sanitized}
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

compiler=(-DCMAKE_CXX_COMPILER=clang++)
install_packages clang libclang-rt-14-dev || {
    skip "Clang: there is none, so the compiler is the usual one"
    compiler=()
}
target=allreduce-test-runner
build_first build_standalone "${compiler[@]}" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
    -DALLREDUCE_SANITIZE=ON -DALLREDUCE_TORCH=OFF
runner=$build_dir/bin/allreduce-test-runner
suites=("$@")
if [[ ${1:--} == -* ]]; then
    mapfile -t suites < <("$runner" --list | xargs -n1 | grep -vxF -- "$(printf '%s\n' "${@#-}" none)")
fi
cd "$scratch"
for suite in "${suites[@]}"; do
    check_beside "$suite, sanitized" limited "$runner" --verbose --test-name="$suite"
done
await_checks
report
