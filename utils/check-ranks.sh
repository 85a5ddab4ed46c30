#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: check-ranks.sh ALLREDUCE-RUN: runs a program that was built with MPI in 2 and 4 processes, and checks
# that they measure the same nanoseconds as one, that what they carry is exact, and that what they cannot do is
# refused with one line. utils/check-in-tree.sh builds such a program and calls this script.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
program=${1:?the path of allreduce-run}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

in_ranks()
{
    local ranks=$1
    shift
    limited mpirun --oversubscribe -np "$ranks" "$program" "$@"
}

# Prints what has to be the same, however many processes there are: nanoseconds, in all and of each round.
results()
{
    python3 -c 'import json, sys
for row in json.load(sys.stdin):
    if "failure" in row:
        sys.exit(row["failure"])
    print(row["topology"], row["transport"], round(1e9 * row["measured_s"]), row["data_verified"], row["plan_hash"])
    print(*(round(1e9 * seconds) for seconds in row["round_s"]))'
}

# What is said only to several processes.
extra=()

# The arguments after the number of processes go to the program. One process makes what is compared with once.
agrees()
{
    local ranks=$1 one
    shift
    one=$scratch/$(md5sum <<<"$*" | cut -c1-32)
    [[ -s $one ]] || limited "$program" "$@" --format=json | results >"$one" || return
    in_ranks "$ranks" "$@" "${extra[@]}" --format=json >"$scratch/rows" || return
    results <"$scratch/rows" >"$scratch/several" || return
    diff "$one" "$scratch/several" && [[ -s $one ]]
}

# Expects one line of the program that has a text in it.
refuses()
{
    local text=$1
    shift
    ! in_ranks 2 "$@" >"$scratch/out" 2>"$scratch/error" || return 1
    grep '^allreduce-run: ' "$scratch/error"
    [[ ! -s $scratch/out && $(grep -c '^allreduce-run: ' "$scratch/error") == 1 ]] || return
    grep -q -- "$text" "$scratch/error"
}

check_agreement()
{
    local ranks topology transport
    for ranks in 2 4; do
        for topology in bcube:4,1 dcell:4,1 jellyfish:10,3,2 fattree:4; do
            for transport in raw udp tcp; do
                local common=("--topology=$topology" "--transport=$transport" --control=packets)
                [[ $transport == tcp || $ranks == 4 ]] || check "$topology $transport, $ranks processes" \
                    agrees "$ranks" "${common[@]}" --bytes=4MiB
                check "$topology $transport, $ranks processes, real data" \
                    agrees "$ranks" "${common[@]}" --bytes=1MiB --frame=1500 --verify-data
            done
        done
    done
}

check_variants()
{
    local common=("--topology=bcube:4,1" --control=packets --bytes=1MiB)
    local transport
    extra=(--SimulatorImplementationType=ns3::NullMessageSimulatorImpl)
    for transport in raw udp tcp; do
        check "null messages, $transport" \
            agrees 2 "${common[@]}" "--transport=$transport" --frame=1500 --verify-data
    done
    check "null messages, events that send many packets" \
        agrees 2 --topology=bcube:8,2 --control=packets --bytes=1MiB --transport=raw
    extra=()
    common+=(--transport=raw)
    seq 24 | awk '{print $1 % 2}' >"$scratch/partition"
    extra=("--partition=$scratch/partition")
    check "a partition of one's own" agrees 2 "${common[@]}"
    extra=()
    check "groups of servers" agrees 2 "${common[@]}" --scheduler=forest --groups='0,5,9;1-4' --collective=all-gather
    check "several schedulers in one run" agrees 2 "${common[@]}" --scheduler=greedy,double-tree
}

check_refusals()
{
    local common=("--topology=bcube:4,1" --transport=raw --bytes=1MiB)
    check "refuses --control=ideal" refuses "--control=packets" "${common[@]}"
    common+=(--control=packets)
    check "refuses --fail" refuses "^allreduce-run: --fail: " "${common[@]}" --fail=0-16@100us
    check "refuses --fail-random" refuses "--fail-random: " "${common[@]}" --fail-random=1,1
    check "refuses --slow for a time" refuses "--slow=...@TIME: " "${common[@]}" --slow=0-16:2@1us
    check "refuses --bursts" refuses "--bursts: " "${common[@]}" --bursts=0.5,0.5,1ms,1ms,1
    check "refuses --late" refuses "--late: " "${common[@]}" --late=1:1ms
    check "refuses --sync=dependency" refuses "--sync=dependency: " "${common[@]}" --sync=dependency
    check "refuses --iterations" refuses "--iterations: " "${common[@]}" --iterations=2
    check "refuses --background" refuses "--background: " "${common[@]}" --background=0.1
    check "refuses --flow-monitor" refuses "--flow-monitor: " --topology=bcube:4,1 --transport=udp \
        --control=packets "--flow-monitor=$scratch/monitor.xml"
    check "refuses large frames over tcp" refuses "--transport=tcp: " --topology=bcube:4,1 \
        --transport=tcp --control=packets
    check "refuses real data in large frames" refuses "--verify-data: " "${common[@]}" --verify-data
    echo 0 >"$scratch/short"
    check "refuses a short partition" refuses "expected 24" "${common[@]}" "--partition=$scratch/short"
    check "refuses a partition without delay" refuses "no delay\|has a delay" "${common[@]}" --delay=0ns
}

command -v mpirun >/dev/null || die "mpirun not found (Debian: apt-get install openmpi-bin)"
check_agreement
check_variants
check_refusals
report
