#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the module on its own and runs every check on it. Arguments go to CMake.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch

all_ascii()
{
    ! grep -InP '[^\x00-\x7F]' "${files[@]}"
}

formatted()
{
    local complaints
    complaints=$("$clang_format" --dry-run --Werror "${cpp_files[@]}" 2>&1) || {
        grep error <<<"$complaints"
        return 1
    }
}

# A suite that CMake does not know is never run, and nobody notices.
all_listed()
{
    local file unlisted=0
    for file in "${cpp_files[@]}"; do
        case $file in
        examples/common/*.cc) grep -qw "${file##*/}" examples/common/CMakeLists.txt ;;
        examples/*.cc) grep -qw "$(basename "$file" .cc)" examples/CMakeLists.txt ;;
        bindings/python/*.cc) grep -qw "${file##*/}" bindings/python/CMakeLists.txt ;;
        model/* | helper/* | test/*.cc) grep -qw "$file" CMakeLists.txt ;;
        esac || {
            echo "$file"
            unlisted=1
        }
    done
    return "$unlisted"
}

# The script itself is checked: it must name an include that goes against the layers.
wrong_include_found()
{
    local root=$scratch/wrong-include
    mkdir -p "$root/doc"
    cp -r model helper examples test CONTRIBUTING.md "$root"
    cp doc/allreduce.rst "$root/doc"
    echo '#include "ns3/allreduce-session.h"' >>"$root/model/topology/torus.cc"
    ! utils/check-layers.py "$root" >"$scratch/layers" &&
        grep -q '^model/topology/torus.cc:.*allreduce-session.h' "$scratch/layers"
}

# Another release of clang-format lays out code in another way.
find_clang_format()
{
    local name
    for name in clang-format-14 clang-format; do
        if [[ $("$name" --version 2>/dev/null) == *'version 14.'* ]]; then
            echo "$name"
            return
        fi
    done
}

check_files()
{
    mapfile -t files < <(module_files)
    mapfile -t cpp_files < <(printf '%s\n' "${files[@]}" | grep -E '\.(cc|h)$')
    clang_format=$(find_clang_format)
    check "all files are ASCII" all_ascii
    check "CMake lists all sources" all_listed
    check "includes follow the layers" utils/check-layers.py
    check "an include against the layers is found" wrong_include_found
    if [[ -n $clang_format ]]; then
        check "clang-format" formatted
    else
        skip "clang-format: there is no version 14"
    fi
}

check_suites()
{
    local suite suites
    mapfile -t suites < <(list_suites)
    ((${#suites[@]} > 0)) || check "the runner has suites" false
    for suite in "${suites[@]}"; do
        # In an ns-3 tree this is how they are told from ns-3's own.
        [[ $suite == allreduce* ]] || check "$suite begins with allreduce" false
        check_beside "$suite" run_suite "$suite" --fullness=EXTENSIVE
    done
}

install_text_tools
install_browser
install_python_torch
build_first build_standalone "$@"
cd "$module_dir"
check_files
cd "$scratch"
check_suites
for name in programs docs python report install; do
    check_beside "$name" limited "$module_dir/utils/check-$name.sh"
done
await_checks
report
