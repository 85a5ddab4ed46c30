#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs the standalone build into a scratch folder, builds the project in test/install against it and runs
# it, and runs the installed programs. Expects the standalone build.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
cd "$scratch"
prefix=$scratch/prefix
policy=$prefix/share/allreduce/policies/hrl.json

# Usage: prints PATTERN COMMAND...: ends with status 0 and prints something that matches.
prints()
{
    local pattern=$1 output status=0
    shift
    output=$(limited "$@" 2>&1) || status=$?
    if ((status != 0)) || ! grep -Eq -- "$pattern" <<<"$output"; then
        printf 'status %d, expected 0 and %s in:\n%s\n' "$status" "$pattern" "$output"
        return 1
    fi
}

# Nothing that is installed may need the build folder.
free_of_build_dir()
{
    ! grep -rIl -- "$build_dir" "$prefix" || return 1
    local file
    for file in $(find "$prefix/lib" -name '*.so') "$prefix"/bin/*; do
        ! readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -F -- "$build_dir" || return 1
    done
}

# Those that allreduce-module.h includes, and no others: that they need none is seen when the project is built.
headers_stand_alone()
{
    local headers=("$prefix"/include/ns3/*.h)
    ((${#headers[@]} == $(grep -c '^#include' "$prefix/include/ns3/allreduce-module.h") + 1)) &&
        [[ -z $(find "$prefix/include" -type l) ]]
}

check "install: cmake --install" cmake --install "$build_dir" --prefix "$prefix"
check "install: headers are files in ns3/" headers_stand_alone
check "install: the policy" test -f "$policy"
check "install: needs no build folder" free_of_build_dir
check "install: find_package" cmake -S "$module_dir/test/install" -B project -DCMAKE_PREFIX_PATH="$prefix"
check "install: builds a project" cmake --build project
check "install: plans" prints '^greedy 30 rounds, correct$' project/uses-allreduce greedy
check "install: finds the installed policy" prints "^policy $policy\$" project/uses-allreduce
check "install: plans with it" prints '^hrl [0-9]+ rounds, correct$' project/uses-allreduce hrl
# Usage: completes EXPECTED WORD...: what bash offers after these words of a command line.
completes()
{
    local expected=$1
    shift
    PATH=$prefix/bin:$PATH bash -euc 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _allreduce "$1"; echo "${COMPREPLY[@]}"' _ "$prefix/share/bash-completion/completions/$1" "$@" |
        tee /dev/stderr | grep -qxF -- "$expected"
}

man_page_lists_options()
{
    local page=$prefix/share/man/man1/allreduce-run.1
    grep -q 'chunks\\-per\\-server' "$page" && grep -q EXAMPLES "$page"
}

check "install: completes options" completes '--transport --trace-json' allreduce-run --tr
check "install: completes values" completes 'ring ring-aware' allreduce-compare --schedulers = r
check "install: completes lists" completes 'greedy,hrl' allreduce-plan --scheduler = greedy,hr
check "install: completes policies" completes 'sjf-bco' allreduce-cluster --policy = sj
if command -v help2man >/dev/null; then
    check "install: pages for man" man_page_lists_options
else
    skip "pages for man: there is no help2man"
fi
if has_python_package; then
    package=$(dirname "$prefix"/lib/python3*/*-packages/allreduce_env)
    check "install: the Python package" prints '^<Schedule on bcube:2,1: 6 rounds, 48 workloads>$' \
        env PYTHONPATH="$package" "$(find_python)" -c 'import allreduce_env as ar
print(ar.plan(ar.Topology("bcube:2,1"), "hrl"))'
else
    skip "the Python package: it was not built"
fi
check "install: programs" prints '^bcube:4,1 +greedy' "$prefix/bin/allreduce-plan"
report
