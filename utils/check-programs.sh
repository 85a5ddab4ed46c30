#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the programs as a user would, with good options and with bad ones, and checks what they print and how
# they end. Expects the standalone build.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
cd "$scratch"
bin=$build_dir/bin

# Usage: prints PATTERN PROGRAM OPTION...: ends with status 0 and prints something that matches.
prints()
{
    local pattern=$1 output
    shift
    output=$(limited "$bin/$1" "${@:2}" 2>&1) || {
        printf '%s\n' "$output"
        return 1
    }
    grep -Eq -- "$pattern" <<<"$output" || {
        printf 'expected %s in:\n%s\n' "$pattern" "$output"
        return 1
    }
}

# Usage: refuses PATTERN PROGRAM OPTION...: ends with status 2 and one line on standard error that matches.
refuses()
{
    local pattern=$1 status=0 output
    shift
    output=$(limited "$bin/$1" "${@:2}" 2>&1 >/dev/null) || status=$?
    if ((status != 2)) || (($(wc -l <<<"$output") != 1)) || ! grep -Eq -- "$pattern" <<<"$output"; then
        printf 'status %d, expected 2 and a line with %s:\n%s\n' "$status" "$pattern" "$output"
        return 1
    fi
}

# Usage: is_json PROGRAM OPTION...
is_json()
{
    "$bin/$1" "${@:2}" | python3 -c 'import json, sys; json.load(sys.stdin)'
}

# Usage: same FILE FILE
same()
{
    cmp "$1" "$2"
}

check_topology()
{
    local program=allreduce-topology
    check "topology: three families" prints '^jellyfish:10,3,2 +20 +10 +35' $program
    check "topology: help" prints 'bcube:N,K' $program --help
    check "topology: json" is_json $program --format=json --topology=dcell:2,1
    check "topology: csv" prints '^"bcube:2,1",4,4,8' $program --format=csv --topology=bcube:2,1 --no-flow
    check "topology: degraded" prints 'bcube:4,1 degrade=0.1,3' $program --topology=bcube:4,1 --degrade=0.1,3
    check "topology: ns-3 attributes" prints 'bcube:2,1' $program --topology=bcube:2,1 \
        --ns3::TcpSocket::SegmentSize=8000 --RngRun=2
    check "topology: writes JSON" prints 'torus:3x3' $program --topology=torus:3x3 --write-json=a.json
    check "topology: reads JSON" prints 'torus:3x3' $program --topology=file:a.json --write-json=b.json
    check "topology: the same JSON" same a.json b.json
    check "topology: writes a list" prints 'fattree:4' $program --topology=fattree:4 --write-list=a.txt
    check "topology: reads a list" prints 'a.txt +16 +20 +48' $program --topology=file:a.txt --write-list=b.txt
    check "topology: the same list" same a.txt b.txt
    check "topology: n < 2" refuses 'bcube:1,1: n is 1, expected 2 or more' $program --topology=bcube:1,1
    check "topology: odd degree sum" refuses 'degree sum 15 is odd' $program --topology=jellyfish:5,3,1
    check "topology: degree >= switches" refuses 'degree 4, expected less' $program --topology=jellyfish:4,4,1
    check "topology: unknown family" refuses '"cube:3": expected bcube' $program --topology=cube:3
    head -c 100 a.json >cut.json
    check "topology: a file cut short" refuses 'cut.json' $program --topology=file:cut.json
    head -n 5 a.txt >cut.txt
    check "topology: a list cut short" refuses 'cut.txt: line 6: the file ends' $program --topology=file:cut.txt
    sed '3s/10Gbps/-1Gbps/' a.txt >negative.txt
    check "topology: negative rate" refuses 'negative.txt: line 3: rate "-1Gbps"' \
        $program --topology=file:negative.txt
    check "topology: no such file" refuses '/nowhere: cannot be opened' $program --topology=file:/nowhere
    check "topology: unknown option" refuses 'unknown option "--speed=9"' $program --speed=9
    check "topology: not an option" refuses 'unknown option "bcube:4,1"' $program bcube:4,1
    check "topology: not a number" refuses '--bytes "many": expected a whole number' $program --bytes=many
    check "topology: unknown format" refuses '--format "xml": expected table, json or csv' $program --format=xml
    check "topology: unknown attribute" refuses 'ns3::TcpSocket::Colour' $program --ns3::TcpSocket::Colour=red
    check "topology: fraction" refuses 'degrade "2": expected a number from 0 to 1' $program --degrade=2
    check "topology: cannot write" refuses '/nowhere/x: cannot be written' $program --write-json=/nowhere/x
}

check_plan()
{
    local program=allreduce-plan
    check "plan: three schedulers" prints '^bcube:4,1 +greedy +16 +2 +30 +30 +1.000 +yes' $program
    check "plan: all schedulers" prints 'halving-doubling' $program --topology=dcell:3,1 --scheduler=all
    check "plan: json" is_json $program --format=json --links --topology=torus:3x3
    check "plan: csv" prints '^"bcube:4,1",greedy,16,1.0,16,15,' $program --format=csv \
        --scheduler=greedy --chunks-per-server=1
    check "plan: degraded" prints 'degrade=0.1 +ring' $program --topology=bcube:4,1 --degrade=0.1 --scheduler=ring
    check "plan: mixed" prints 'mixed=0.3 +ps' $program --topology=dcell:4,1 --mixed=0.3 --scheduler=ps
    check "plan: forward" prints 'greedy' $program --scheduler=greedy --forward
    check "plan: samples and seed" prints '38 +38 +1.000' $program --topology=jellyfish:10,3,2 \
        --scheduler=greedy --samples=16 --seed=3
    check "plan: bounds" prints 'bound by cut: 16 rounds, servers' $program --bounds
    check "plan: links" prints 'mean utilisation of 64 directed links' $program --links
    check "plan: writes a schedule" prints greedy $program --scheduler=greedy --schedule-out=a.schedule
    check "plan: reads a schedule" prints 'a.schedule.*yes' $program --schedule-in=a.schedule --schedule-out=b.schedule
    check "plan: the same schedule" same a.schedule b.schedule
    check "plan: writes MSCCL" prints ring $program --topology=bcube:2,1 --scheduler=ring --msccl-out=a.xml
    check "plan: reads MSCCL" prints 'a.xml.*yes' $program --topology=bcube:2,1 --msccl-in=a.xml
    check "plan: TypeId name" prints 'RingScheduler' $program --scheduler=ns3::allreduce::RingScheduler
    head -c 3000 a.schedule >cut.schedule
    check "plan: a schedule cut short" refuses 'cut.schedule' $program --schedule-in=cut.schedule
    sed 's/"broadcast"/"reduce"/' a.schedule >wrong.schedule
    check "plan: a wrong schedule" refuses 'wrong.schedule is not correct: round' $program --schedule-in=wrong.schedule
    check "plan: unknown scheduler" refuses '"best": expected ps, ps-merge' $program --scheduler=best
    check "plan: no forward mode" refuses 'scheduler ring has no forward mode' $program --scheduler=ring --forward
    check "plan: no chunks" refuses '--chunks-per-server "0": expected auto or 1' $program --chunks-per-server=0
    check "plan: no samples" refuses '--samples "0": expected 1 or more' $program --samples=0
    check "plan: unknown option" refuses 'unknown option "--fast"' $program --fast
}

check_topology
check_plan
report
