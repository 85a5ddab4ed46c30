# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the scripts of this folder: packages, the standalone build, and the counting of checks.
# ALLREDUCE_BUILD_DIR, ALLREDUCE_JOBS and ALLREDUCE_TIMEOUT (seconds for one check) override the defaults.

export LC_ALL=C
module_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Lets ccache find in one clone what it has seen in another.
export CCACHE_BASEDIR=$module_dir CCACHE_NOHASHDIR=1
build_dir=${ALLREDUCE_BUILD_DIR:-$module_dir/build}
jobs=${ALLREDUCE_JOBS:-$(nproc)}
time_limit=${ALLREDUCE_TIMEOUT:-900}
target=all

build_packages=(ccache cmake g++ libbenchmark-dev libboost-program-options-dev libxml2-dev make nlohmann-json3-dev)
# The CMake files of libns3-dev name files of the other five, on which it does not depend.
ns3_packages=(libns3-dev libgsl-dev libpython3-dev libsqlite3-dev libxml2-dev ns3)
torch_packages=(libgloo-dev libopenblas0-pthread libtorch-dev)
chakra_packages=(libprotobuf-dev protobuf-compiler)
glpk_packages=(libglpk-dev)
python_packages=(pybind11-dev python3-dev python3-numpy)
mpi_packages=(libmetis-dev libopenmpi-dev openmpi-bin)
text_packages=(codespell doxygen gnuplot-nox help2man python3-sphinx)
browser_packages=(chromium nodejs)

say()
{
    printf '== %s\n' "$*"
}

die()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Makes a scratch folder, removed when the script ends.
make_scratch()
{
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
}

missing_packages()
{
    command -v dpkg-query >/dev/null || return 0
    local package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            echo "$package"
    done
}

apt_get()
{
    local sudo=()
    ((EUID == 0)) || sudo=(sudo)
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 "$@"
}

# Installs what is missing of the named packages; fails if it cannot.
install_packages()
{
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]} > 0)) || return 0
    say "installing ${missing[*]}"
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        echo "neither root nor sudo: run 'apt-get install ${missing[*]}' as root" >&2
        return 1
    fi
    local log
    log=$(mktemp)
    if apt_get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 ||
        { apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"; } \
            >"$log" 2>&1; then
        rm "$log"
    else
        tail -n 5 "$log" >&2
        rm "$log"
        return 1
    fi
}

# LibTorch is large and not everywhere to be had; CMake leaves out what needs it.
install_torch()
{
    install_packages "${torch_packages[@]}" ||
        say "going on without LibTorch"
}

# CMake leaves out Chakra traces without.
install_chakra()
{
    install_packages "${chakra_packages[@]}" ||
        say "going on without protobuf"
}

# For the policy slot-optimum, which CMake leaves out else.
install_glpk()
{
    install_packages "${glpk_packages[@]}" ||
        say "going on without GLPK"
}

# For allreduce_env, which CMake leaves out else.
install_python()
{
    install_packages "${python_packages[@]}" ||
        say "going on without packages for Python"
}

# Only for an example of allreduce_env; utils/check-python.sh leaves it out else.
install_python_torch()
{
    install_packages python3-torch ||
        say "going on without PyTorch"
}

install_mpi()
{
    install_packages "${mpi_packages[@]}" ||
        say "going on without MPI"
}

# Only for checking the texts; utils/check-docs.sh leaves out what is not there.
install_text_tools()
{
    install_packages "${text_packages[@]}" ||
        say "going on without the tools that check texts"
}

# Only for looking at the pages of --report; utils/check-report.sh does nothing without.
install_browser()
{
    install_packages "${browser_packages[@]}" ||
        say "going on without a browser"
}

# Installs what the standalone build needs and builds; the arguments go to CMake. What is built is $target.
build_standalone()
{
    install_packages "${build_packages[@]}" "${ns3_packages[@]}" ||
        die "could not install the packages that the build needs"
    install_torch
    install_chakra
    install_glpk
    install_python
    install_mpi
    say "configuring $build_dir"
    local log
    log=$(cmake -S "$module_dir" -B "$build_dir" "$@" 2>&1) || {
        printf '%s\n' "$log" >&2
        die "CMake could not configure the build"
    }
    grep -- '-- allreduce: ' <<<"$log" || true
    say "building with $jobs jobs"
    cmake --build "$build_dir" --parallel "$jobs" --target "$target" || die "the build failed"
}

# Builds $target as users rarely do: with Clang where there is one, with asserts, without LibTorch, with the address
# and undefined-behaviour sanitizers, and so that it can be fuzzed.
build_sanitized()
{
    local compiler=()
    install_packages clang libclang-rt-14-dev || true
    if has_libfuzzer; then
        compiler=(-DCMAKE_CXX_COMPILER=clang++ -DALLREDUCE_FUZZ=ON)
    else
        skip "Clang with libFuzzer: there is none, so the compiler is the usual one"
    fi
    build_standalone "${compiler[@]}" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
        -DALLREDUCE_SANITIZE=ON -DALLREDUCE_TORCH=OFF
}

has_libfuzzer()
{
    command -v clang++ >/dev/null &&
        echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }' |
        clang++ -x c++ - -fsanitize=fuzzer -o /dev/null 2>/dev/null
}

# Fails if CMake has left out the Python package.
has_python_package()
{
    compgen -G "$build_dir/python/allreduce_env/_allreduce_env*.so" >/dev/null
}

# Which interpreter the Python package is for.
find_python()
{
    sed -n 's/^ALLREDUCE_PYTHON:FILEPATH=//p' "$build_dir/CMakeCache.txt"
}

# Runs Python with the package of the build. It does not free everything at its end.
run_python()
{
    local variables=(PYTHONPATH="$build_dir/python" PYTHONDONTWRITEBYTECODE=1)
    if grep -q '^ALLREDUCE_SANITIZE:BOOL=ON' "$build_dir/CMakeCache.txt"; then
        # Without libstdc++ the sanitizer does not find the throw that it wraps.
        variables+=(LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
            ASAN_OPTIONS=detect_leaks=0)
    fi
    limited env "${variables[@]}" "$(find_python)" "$@"
}

# Lists the module's own files, relative to its root: no build products, nothing that git ignores.
module_files()
{
    local file
    (
        cd "$module_dir" || exit
        { [[ -e .git ]] && git ls-files --cached --others --exclude-standard 2>/dev/null; } ||
            find . -path './build*' -prune -o -type f -printf '%P\n'
    ) | sort -u | while read -r file; do
        [[ ! -f $module_dir/$file ]] || printf '%s\n' "$file"
    done
}

passed=0
failed=0

# Says that something is not checked, and why.
skip()
{
    printf 'SKIP               %s\n' "$*"
}

# Runs a command that checks something; shows what it said only if it fails, and what it skipped.
check()
{
    local name=$1 start=${EPOCHREALTIME/./} status=0 log
    shift
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    local ms=$(((${EPOCHREALTIME/./} - start) / 1000)) verdict=PASS
    ((status == 0)) || verdict=FAIL
    printf '%s %6d.%03d s  %s\n' "$verdict" $((ms / 1000)) $((ms % 1000)) "$name"
    if ((status == 0)); then
        passed=$((passed + 1))
        grep '^SKIP' "$log" || true
    else
        failed=$((failed + 1))
        tail -n 40 "$log" | sed 's/^/    /'
        if ((status == 124)); then
            echo "    stopped: no end after $time_limit s"
        else
            echo "    exit status $status"
        fi
    fi
    rm "$log"
}

running=0

# Like check, beside others, as many at a time as there are jobs. What it counts is known after await_checks.
check_beside()
{
    ((running < jobs)) || await_check
    {
        failed=0
        check "$@"
        ((failed == 0))
    } &
    running=$((running + 1))
}

# Waits for one check and counts how it went: what check counts in the background stays there.
await_check()
{
    if wait -n; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    running=$((running - 1))
}

await_checks()
{
    while ((running > 0)); do
        await_check
    done
}

# For commands that might hang.
limited()
{
    timeout --kill-after=10 "$time_limit" "$@"
}

# Lists the suites of the standalone build.
list_suites()
{
    "$build_dir/bin/allreduce-test-runner" --list | xargs -n1
}

# Usage: run_suite SUITE [OPTION...]
run_suite()
{
    limited "$build_dir/bin/allreduce-test-runner" --verbose --test-name="$1" "${@:2}"
}

# The last line of a checking script, and its exit status.
report()
{
    echo "$passed passed, $failed failed"
    ((failed == 0 && passed > 0))
}

# Runs what has to succeed before there is anything to check. Not in a condition: there, set -e is off.
build_first()
{
    local status
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
    if ((status != 0)); then
        failed=1
        report
    fi
}
