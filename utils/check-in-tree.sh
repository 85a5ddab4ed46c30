#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the module as contrib/allreduce of the ns-3 release that Debian has, from its source package, and
# runs the module's suites with test.py and its programs with ./ns3 run, also in several processes. The tree
# is kept in $ALLREDUCE_CACHE (default: allreduce/ in the user's cache folder), so that a second run is quick.
# Arguments go to ./ns3 configure.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch

version=3.37
cache=${ALLREDUCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/allreduce}
tree=$cache/ns-$version
unset USER # ./ns3 refuses to work for a user of the name root

# Gets ns-3's sources from where apt gets its packages, without changing apt's configuration. apt checks
# signatures and hashes.
download_ns3()
{
    local apt=$scratch/apt file
    mkdir -p "$apt"/{parts,lists/partial,cache/archives/partial}
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [[ ! -f $file ]] || sed -n 's/^deb\s/deb-src /p' "$file" >"$apt/parts/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [[ ! -f $file ]] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/${file##*/}"
    done
    local options=(-qq -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$apt/parts"
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
    # An archive without source packages is no reason to stop; ns-3 not being found is.
    apt-get "${options[@]}" update || true
    (cd "$scratch" && apt-get "${options[@]}" source --download-only ns3)
}

get_ns3()
{
    [[ ! -d $tree ]] || return 0
    say "getting the source package of ns-3 $version"
    download_ns3 || die "apt-get source ns3 failed"
    local tarball=$scratch/ns3_$version.orig.tar.bz2
    [[ -f $tarball ]] || die "the source package is not ns-3 $version: $(ls "$scratch"/ns3_*.dsc)"
    rm -rf "$tree.new"
    mkdir -p "$tree.new"
    tar -xjf "$tarball" -C "$tree.new" --strip-components=2 "ns-allinone-$version/ns-$version" ||
        die "cannot unpack $tarball"
    mv "$tree.new" "$tree"
}

# File times are kept, so that only what has changed is built again.
copy_module()
{
    local target=$tree/contrib/allreduce stub header
    rm -rf "$target"
    mkdir -p "$target"
    module_files | tar -C "$module_dir" -c -T - | tar -C "$target" -x
    # ns-3 never renews the stub of a header that has moved.
    grep -ls "$target/" "$tree"/build/include/ns3/*.h | while read -r stub; do
        header=$(sed -n 's/^#include "\(.*\)"$/\1/p' "$stub")
        [[ -f $header ]] || rm "$stub"
    done || true
}

# Lists the module's programs that are part of this build; not all are without LibTorch.
module_programs()
{
    local file
    for file in "$module_dir"/examples/*.cc; do
        basename "$file" .cc
    done | sort >"$scratch/sources"
    ninja -C "$tree/cmake-cache" -t targets all | sed -n 's/^\([^/]*\): phony$/\1/p' | sort |
        comm -12 - "$scratch/sources"
}

build_in_tree()
{
    install_packages "${build_packages[@]}" bzip2 libgsl-dev libsqlite3-dev libxml2-dev ninja-build python3 ||
        die "could not install the packages that the build needs"
    install_packages "${mpi_packages[@]}" || die "could not install MPI"
    install_torch
    install_chakra
    get_ns3
    copy_module
    cd "$tree"
    say "configuring $tree"
    # csma is for ns-3's own suites in src/test, which are part of every test-runner.
    # Less optimized, and without debugging information, it compiles in half the time.
    ./ns3 configure -G Ninja -d default --enable-werror --enable-tests --enable-examples --enable-mpi \
        --enable-modules="allreduce;csma;mpi" --filter-module-examples-and-tests=allreduce "$@" \
        -- -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -DNDEBUG" \
        >"$scratch/log" 2>&1 || {
        tail -n 30 "$scratch/log" >&2
        die "ns-3 could not be configured (to begin afresh: rm -r $tree)"
    }
    grep -- '-- allreduce: ' "$scratch/log" || true
    say "building with $jobs jobs"
    local programs
    mapfile -t programs < <(module_programs)
    # The default target has more programs than these, and ./ns3 build leaves one core idle.
    cmake --build cmake-cache --parallel "$jobs" --target test-runner "${programs[@]}" ||
        die "the build in the ns-3 tree failed"
}

# test.py ends well for a suite that it does not know.
found_by_test_py()
{
    limited ./test.py --no-build --nocolor --suite="$1" | tee "$scratch/log"
    grep -q "^\[1/1\] PASS: TestSuite $1\$" "$scratch/log"
}

# The quick cases, as test.py would run them; all of them run in the standalone build.
check_suites()
{
    local suite suites runner=$tree/build/utils/ns$version-test-runner-default
    suites=$("$runner" --list | grep '^allreduce' | xargs) || true
    [[ -n $suites ]] || check "the runner has suites" false
    for suite in $suites; do
        check_beside "$suite" limited "$runner" --verbose --test-name="$suite"
    done
    await_checks
    check "test.py runs allreduce-topology" found_by_test_py allreduce-topology
}

# The commands are those that test.py would run, too.
check_programs()
{
    local commands command program
    commands=$(python3 -c 'exec(open("contrib/allreduce/test/examples-to-run.py").read())
for command, run, _ in cpp_examples:
    if run == "True":
        print(command)')
    for program in $(module_programs); do
        grep "^$program\( \|$\)" <<<"$commands" >"$scratch/commands" ||
            check "test/examples-to-run.py names $program" false
        while read -r command; do
            check_beside "./ns3 run $command" limited ./ns3 run "$command" --no-build --cwd "$scratch"
        done <"$scratch/commands"
    done
    await_checks
}

# In several processes.
check_ranks()
{
    local line program=$tree/build/contrib/allreduce/examples/ns$version-allreduce-run-default
    while read -r line; do
        echo "$line"
        case $line in
        PASS*) passed=$((passed + 1)) ;;
        FAIL*) failed=$((failed + 1)) ;;
        esac
    done < <("$module_dir/utils/check-ranks.sh" "$program" || echo "FAIL check-ranks.sh")
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
build_first build_in_tree "$@"
cd "$tree"
check_suites
check_programs
check_ranks
report
