#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzzes every parser with libFuzzer, on a build with the address and undefined-behaviour sanitizers:
# utils/fuzz.sh [SECONDS [PARSER...]], by default 60 seconds for each of all parsers, as many at a time as
# there are processors. A crash, a hang of 10 s, an allocation of 2 GB or a refusal that is not one line which
# names the file fails, and what caused it is left in $ALLREDUCE_BUILD_DIR/findings. Put a finding into
# test/fuzz/corpus when it is mended: the suite allreduce-hostile-input then tries it forever.

set -euo pipefail
export ALLREDUCE_BUILD_DIR=${ALLREDUCE_BUILD_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build-sanitized}
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

seconds=${1:-60}
parsers=("${@:2}")
((${#parsers[@]} > 0)) || mapfile -t parsers < <(ls "$module_dir/test/fuzz/corpus")
corpus=$build_dir/corpus
findings=$build_dir/findings

fuzz_one()
{
    local parser=$1
    mkdir -p "$corpus/$parser" "$findings"
    [[ $parser != policy ]] || cp "$module_dir"/policies/*.json "$corpus/policy"
    "$build_dir/bin/fuzz-$parser" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 \
        -malloc_limit_mb=2048 -artifact_prefix="$findings/$parser-" -print_final_stats=1 -verbosity=0 \
        "$corpus/$parser" "$module_dir/test/fuzz/corpus/$parser"
}

target=fuzzers
install_packages clang libclang-rt-14-dev || true
if ! has_libfuzzer; then
    skip "fuzzing: there is no Clang with libFuzzer"
    exit 0
fi
build_sanitized
for parser in "${parsers[@]}"; do
    if [[ ! -x $build_dir/bin/fuzz-$parser ]]; then
        skip "fuzz $parser: it was left out of the build"
        continue
    fi
    check_beside "fuzz $parser for $seconds s" fuzz_one "$parser"
done
await_checks
report
