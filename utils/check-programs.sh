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

# Usage: ends_with STATUS PATTERN PROGRAM OPTION...: with one line on standard error that matches.
ends_with()
{
    local expected=$1 pattern=$2 status=0 output
    shift 2
    output=$(limited "$bin/$1" "${@:2}" 2>&1 >/dev/null) || status=$?
    if ((status != expected)) || (($(wc -l <<<"$output") != 1)) || ! grep -Eq -- "$pattern" <<<"$output"; then
        printf 'status %d, expected %d and a line with %s:\n%s\n' "$status" "$expected" "$pattern" "$output"
        return 1
    fi
}

# Usage: refuses PATTERN PROGRAM OPTION...: what it was given is not possible.
refuses()
{
    ends_with 2 "$@"
}

# Usage: fails PATTERN PROGRAM OPTION...: it could not do what was possible.
fails()
{
    ends_with 1 "$@"
}

# Usage: warns PATTERN PROGRAM OPTION...: it did what it should, but there is something to know.
warns()
{
    ends_with 0 "$@"
}

# Usage: same_without_slow OPTION...: the schedule of a run with a slow link is the one of a run without.
same_without_slow()
{
    limited "$bin/allreduce-run" "$@" --scheduler=ring --schedule-out=fast.schedule >/dev/null
    cmp fast.schedule slow.schedule
}

# Usage: takes_chunks_of_run OPTION...: allreduce-compare and allreduce-run have the same number of chunks.
takes_chunks_of_run()
{
    local run compare
    run=$(limited "$bin/allreduce-run" "$@" --bytes=4MiB --format=json | grep -oE '"chunks_per_server": ?[0-9.]+')
    compare=$(limited "$bin/allreduce-compare" "$@" --sizes=4MiB --format=json | grep -oE '"chunks_per_server": ?[0-9.]+')
    [[ -n $run && $run = "$compare" ]] || {
        printf 'run: %s, compare: %s\n' "$run" "$compare"
        return 1
    }
}

# Usage: is_json PROGRAM OPTION...
is_json()
{
    "$bin/$1" "${@:2}" | python3 -c 'import json, sys; json.load(sys.stdin)'
}

# Usage: same_rows OPTION OPTION PROGRAM OPTION...: prints the same JSON with either option, but for the
# time that it took.
same_rows()
{
    local i
    for i in 1 2; do
        limited "$bin/$3" "${@:4}" "${!i}" --format=json | sed 's/"wall_s":[^,]*,//' >"rows-$i.json"
        grep -q measured_s "rows-$i.json" || return 1
    done
    same rows-1.json rows-2.json
}

# Usage: same FILE FILE
same()
{
    cmp "$1" "$2"
}

# Usage: page_has FILE CONDITION: of the data in a report, in Python.
page_has()
{
    python3 - "$@" <<'END'
import json, re, sys
page = open(sys.argv[1], encoding="ascii").read()
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
assert eval(sys.argv[2]), sys.argv[2]
END
}

# Usage: has_flows FILE COUNT [END]: trace events with so many flows, the last of which ends then (in us).
has_flows()
{
    python3 - "$@" <<'END'
import json, sys
events = json.load(open(sys.argv[1], encoding="ascii"))["traceEvents"]
flows = [event for event in events if event["ph"] == "X" and event["cat"] != "round"]
assert len(flows) == int(sys.argv[2]), len(flows)
end = max(flow["ts"] + flow["dur"] for flow in flows)
assert len(sys.argv) < 4 or end == float(sys.argv[3]), end
END
}

# Usage: animates FILE: NetAnim's XML with the nodes, links and packets of bcube:2,1.
animates()
{
    python3 - "$1" <<'END'
import sys
import xml.etree.ElementTree
counts = {}
for element in xml.etree.ElementTree.parse(sys.argv[1]).getroot():
    counts[element.tag] = counts.get(element.tag, 0) + 1
assert counts["node"] == counts["link"] == 8 and counts["p"] > 100, counts
END
}

# Usage: draws PROGRAM OPTION...: gnuplot draws its table without complaint.
draws()
{
    limited "$bin/$1" "${@:2}" --format=gnuplot >table.gnuplot
    gnuplot -e "set terminal svg; set output 'table.svg'" table.gnuplot >gnuplot.log 2>&1
    [[ ! -s gnuplot.log ]] && grep -q '</svg>' table.svg
}

# Usage: write_trace FILE COLLECTIVE: a Chakra workload trace of three layers, whose gradients are summed while the next
# layer computes; COLLECTIVE is Chakra's number of what sums them.
write_trace()
{
    python3 - "$@" <<'END'
import sys

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

def number(field, n):
    return varint(field << 3) + varint(n)

def data(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content

def node(id, name, type, deps, micros=0, **attributes):
    message = number(1, id) + data(2, name.encode()) + number(3, type) + number(7, micros)
    message += b"".join(number(5, dep) for dep in deps)
    for key, value in attributes.items():
        message += data(10, data(1, key.encode()) + number(9, value))
    return varint(len(message)) + message

compute, collective = 4, 7
nodes = [node(1, "forward", compute, [], 500)]
before, gradients = 1, []
for layer in 3, 2, 1:
    nodes.append(node(10 * layer, f"backward {layer}", compute, [before], 1000))
    before = 10 * layer
    gradients.append(before + 1)
    nodes.append(node(before + 1, f"gradient {layer}", collective, [before], comm_type=int(sys.argv[2]),
                      comm_size=layer * 100000))
nodes.append(node(2, "update", compute, gradients, 200))
open(sys.argv[1], "wb").write(varint(0) + b"".join(nodes))
END
}

# Other collectives than AllReduces, and groups of servers.
check_collectives()
{
    local kind
    local plan="allreduce-plan --topology=bcube:4,1"
    local run="allreduce-run --topology=bcube:4,1 --transport=raw --bytes=1MiB"
    for kind in reduce-scatter all-gather; do
        check "collectives: $kind is at the bound" prints "hrl +$kind +1 +16 +together +16 +2 +15 +15 +1\\.000 +yes" \
            $plan --scheduler=hrl --collective=$kind
    done
    for kind in allreduce reduce-scatter all-gather broadcast reduce; do
        check "collectives: $kind of two groups in packets" prints '"data_verified": ?true' $run --scheduler=forest \
            --collective=$kind --groups='0,3-8;1,2,9-15' --verify-data --format=json
    done
    check "collectives: groups planned apart" prints 'forest +allreduce +2 +8 +apart' $plan --scheduler=forest \
        --groups='0-7;8-15' --apart
    check "collectives: bounds say what they are about" prints 'bound by cut: 14 rounds: 16 parts of the network' \
        $plan --scheduler=greedy --groups='0-7;8-15' --bounds
    check "collectives: a schedule of groups" is_json $plan --scheduler=greedy --groups='0-7;8-15' --format=json \
        --schedule-out=groups.json
    check "collectives: and back" prints 'groups.json .* 14 +14 +1\.000 +yes' allreduce-plan --schedule-in=groups.json
    check "collectives: and in packets" prints '"data_verified": ?true' allreduce-run --schedule-in=groups.json \
        --bytes=1MiB --transport=raw --verify-data --format=json
    check "collectives: a ring" refuses 'ring plans AllReduces of all servers; .* expected greedy, forest or hrl' $plan \
        --scheduler=ring --collective=reduce
    check "collectives: unknown" refuses '--collective "sum": expected allreduce, reduce-scatter' $plan --collective=sum
    check "collectives: servers beyond" refuses '--servers "9-16": expected a server or a range' $plan --servers=9-16
    check "collectives: a server in two groups" refuses 'server 7 is in two groups' $plan --groups='0-7;7-9'
    check "collectives: one server" refuses 'a group of 1 servers, expected 2 or more' $plan --servers=3
    check "collectives: two ways to say it" refuses '--servers and --groups: expected one' $plan --servers=0,1 --groups='0,1'
    check "collectives: a root of an allreduce" refuses '--root: expected --collective=broadcast or reduce' $plan --root=1
    check "collectives: apart without groups" refuses '--apart: has no effect without --groups' $plan --apart
    check "collectives: relays needed" refuses 'server 7 cannot reach server 0 .* expected relays to be allowed' \
        allreduce-plan --topology=dcell:4,1 --scheduler=greedy --servers=0,7 --relay=none
    check "collectives: relay" refuses '--relay "some": expected all or none' $plan --servers=0,1 --relay=some
    check "collectives: relays where all take part" refuses '--relay=none: has no effect' $plan --relay=none
    check "collectives: all servers by name" prints 'ring +allreduce +1 +16 +together' $plan --scheduler=ring --servers=0-15
    check "collectives: a guarantee of other instances" refuses 'gpus' allreduce-cluster \
        --check-guarantee=2 --gpus=3
    check "collectives: not in MSCCL" refuses 'MSCCL XML: a collective of groups' $plan --scheduler=greedy \
        --collective=reduce --msccl-out=groups.xml
}

# Chakra traces, out and in.
check_chakra()
{
    local plan=allreduce-plan run=allreduce-run server
    if ! "$bin/$plan" --topology=bcube:2,1 --scheduler=ring --chakra-out=ring --bytes=1MiB >chakra.log 2>&1 &&
        grep -q 'this build has no Chakra traces' chakra.log; then
        check "chakra: left out" refuses '--chakra-in: this build has no Chakra traces' $run --chakra-in=x
        skip "Chakra traces: there is no protobuf"
        return
    fi
    check "chakra: a trace for each server" test -s ring.0.et -a -s ring.3.et -a ! -e ring.4.et
    check "chakra: cannot write" refuses '--chakra-out: file /nowhere/x.0.et cannot be written' $plan --chakra-out=/nowhere/x
    check "chakra: bytes alone" refuses '--bytes: has no effect without --chakra-out' $plan --bytes=1MiB
    check "chakra: fewer bytes than chunks" refuses 'schedule of 8 chunks: .* at least one byte' $plan \
        --topology=bcube:2,1 --scheduler=ring --chakra-out=tiny --bytes=7
    write_trace layers.et 0
    check "chakra: three layers" prints '^bcube:2,1 +greedy +total +600kB .* 0\.003700 +0\.[0-9]+ +[0-9]+ +0 +yes +- +0$' $run \
        --topology=bcube:2,1 --chakra-in=layers.et
    check "chakra: not for groups" refuses 'groups' $run --topology=bcube:2,1 --chakra-in=layers.et --groups='0,1;2,3'
    check "chakra: their sums" prints '"data_verified": ?true' $run --topology=bcube:2,1 --chakra-in=layers.et \
        --transport=raw --verify-data --format=json
    check "chakra: a fault after the end" warns 'warning: 1 of the faults were to come after the end' $run \
        --topology=bcube:2,1 --chakra-in=layers.et --transport=raw --fail=0-4@1s
    check "chakra: the second layer is ready" prints 'gradient 2 +200kB +0\.002500 ' $run --topology=bcube:2,1 \
        --chakra-in=layers.et --transport=raw
    for server in 0 1 2 3; do cp layers.et "layers.$server.et"; done
    check "chakra: a trace of each server" prints 'gradient 1 +100kB ' $run --topology=bcube:2,1 --chakra-in=layers
    check "chakra: one is missing" refuses '--chakra-in: file layers.4.et: cannot be opened' $run --chakra-in=layers
    "$bin/$plan" --topology=bcube:2,1 --scheduler=ring --schedule-out=ring.schedule >chakra.log
    check "chakra: a schedule from a file" prints 'ring.schedule +total' $run --schedule-in=ring.schedule \
        --chakra-in=layers.et
    write_trace gather.et 2
    check "chakra: another collective" refuses 'gather.et: node 31 "gradient 3": ALL_GATHER, expected ALL_REDUCE' $run \
        --chakra-in=gather.et
    cp gather.et layers.2.et
    check "chakra: servers that differ" refuses 'layers.2.et: node 31 ' $run --topology=bcube:2,1 --chakra-in=layers
    check "chakra: a schedule is no workload" refuses 'ring.0.et: node 0 "send chunk .*": COMM_SEND_NODE' $run \
        --topology=bcube:2,1 --chakra-in=ring
    head -c 100 layers.et >cut.et
    check "chakra: a trace cut short" refuses 'cut.et: ends inside of message' $run --chakra-in=cut.et
    check "chakra: no trace" refuses '/dev/zero: is a device, expected a file' $run --chakra-in=/dev/zero
    check "chakra: beside bytes" refuses '--bytes: has no effect beside --chakra-in' $run --chakra-in=layers.et --bytes=1MiB
    check "chakra: beside a report" refuses '--report: has no effect beside --chakra-in' $run --chakra-in=layers.et \
        --report=x.html
}

# Every table there is.
check_gnuplot()
{
    command -v gnuplot >/dev/null || {
        skip "tables in gnuplot: there is no gnuplot"
        return
    }
    local small='--topologies=bcube:2,1;dcell:2,1 --sizes=64KiB --schedulers=ring,greedy'
    check "gnuplot: topologies" draws allreduce-topology
    check "gnuplot: plans" draws allreduce-plan
    check "gnuplot: a run" draws allreduce-run --topology=bcube:2,1 --bytes=64KiB
    # shellcheck disable=SC2086 # several options in one text
    check "gnuplot: a comparison" draws allreduce-compare $small
    check "gnuplot: a cluster" draws allreduce-cluster --slots=20
    check "gnuplot: seeds" draws allreduce-cluster --slots=20 --seeds=2
    check "gnuplot: rings" draws allreduce-cluster --run-slot=5 --gpus=2 --policy=fifo --most-bytes=64KiB
    check "gnuplot: the guarantee" draws allreduce-cluster --check-guarantee=5
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
    echo '{"name": "n", "servers": 3, "switches": 1, "links": [[0, 3], [1, 7]]}' >node.json
    check "topology: a wrong link" refuses 'node.json: link 1-7: unknown node 7' $program --topology=file:node.json
    echo '{"name": "n", "servers": 3, "switches": 1, "links": [[0, 3], [1, 3]]}' >apart.json
    check "topology: not connected" refuses 'n: .* no way from 0 to 2' $program --topology=file:apart.json
    echo '{"servers": 2, "switches": 1, "links": [[0, 2, 100, 1000000000], [1, 2, 1, 100000000000]]}' >against.json
    check "topology: capacity against rate" \
        refuses 'against.json: link 1-2: capacity 1 at 100Gbps .* unit flows of 10Mbps expected capacity 10000, or' \
        $program --topology=file:against.json
    echo '{"name": "n", "servers": 2, "switches": 1, "links": [[0, 2, 1], [1, 2, "25Gbps"]]}' >round.json
    check "topology: rates rounded" \
        warns '^warning: topology n: .* up to 20 %: link 1-2 of 25Gbps carries 2 unit flows of 10Gbps' \
        $program --topology=file:round.json
    sed 's/2, 1\]/2]/' round.json >exact.json
    check "topology: rates not rounded" prints '^n +2 +1 +2 +10 +25 +5 +0 ' $program --topology=file:exact.json
    check "topology: a folder" refuses "file $PWD: is a folder, expected a file" $program "--topology=file:$PWD"
    check "topology: no such file" refuses '/nowhere: cannot be opened' $program --topology=file:/nowhere
    check "topology: unknown option" refuses 'unknown option "--speed=9"' $program --speed=9
    check "topology: not an option" refuses 'unknown option "bcube:4,1"' $program bcube:4,1
    check "topology: not a number" refuses '--bytes "many": expected a whole number' $program --bytes=many
    check "topology: unknown format" refuses '--format "xml": expected table, json, csv or gnuplot' $program \
        --format=xml
    check "topology: unknown attribute" refuses 'ns3::TcpSocket::Colour' $program --ns3::TcpSocket::Colour=red
    check "topology: fraction" refuses 'degrade "2": expected a number from 0 to 1' $program --degrade=2
    check "topology: cannot write" refuses '/nowhere/x: cannot be written' $program --write-json=/nowhere/x
}

check_plan()
{
    local program=allreduce-plan
    check "plan: three schedulers" prints '^bcube:4,1 +greedy +16 +2 +30 +30 +1.000 +yes' $program
    check "plan: all schedulers" prints 'halving-doubling' $program --topology=dcell:3,1 --scheduler=all
    check "plan: how many rings" prints '^  multi-ring: 4 rings$' $program --topology=torus:4x4 --scheduler=multi-ring
    check "plan: how many racks, in JSON" prints '"remark": ?"4 racks"' $program --scheduler=hierarchical --format=json
    check "plan: json" is_json $program --format=json --links --topology=torus:3x3
    check "plan: the hash of the plan" prints '"plan_hash": ?"[0-9a-f]{16}"' $program --format=json
    check "plan: csv" prints '^"bcube:4,1",greedy,16,1.0,16,15,' $program --format=csv \
        --scheduler=greedy --chunks-per-server=1
    check "plan: degraded" prints 'degrade=0.1 +ring' $program --topology=bcube:4,1 --degrade=0.1 --scheduler=ring
    check "plan: mixed" prints 'mixed=0.3 +ps' $program --topology=dcell:4,1 --mixed=0.3 --scheduler=ps
    check "plan: the policies" prints '^dcell:4,1 +hrl +20 +2 +38 +38 ' $program --scheduler=hrl --topology=dcell:4,1
    check "plan: samples and seed" prints '38 +38 +1.000' $program --topology=jellyfish:10,3,2 \
        --scheduler=greedy --samples=16 --seed=3
    check "plan: bounds" prints 'bound by prices: 30 rounds: the ports of all servers' $program --bounds
    check "plan: the bottleneck" prints 'bound by head-tail: 35 rounds: the way into server 6, link 6-' $program --bounds \
        --topology=bcube:4,1 --degrade=0.05,3 --scheduler=greedy
    check "plan: prices" prints '"tree_price": ?30' $program --bounds --format=json --scheduler=greedy
    check "plan: links" prints 'planned unit flows over capacity, in all rounds: mean of 64 directed links' $program --links
    check "plan: links in JSON" prints '"unit_flows_over_capacity"' $program --links --format=json
    check "plan: few chunks on mixed speeds" prints 'links of mixed speed: allreduce-run' $program --topology=dcell:3,1 \
        --mixed=0.3
    export ALLREDUCE_POLICY=
    check "plan: no policy is named" prints '^bcube:2,1 +hrl' $program --topology=bcube:2,1 --scheduler=hrl
    unset ALLREDUCE_POLICY
    check "plan: more threadblocks than GPUs have" warns 'a GPU gets up to 104 threadblocks' $program \
        --topology=bcube:53,0 --scheduler=ps --msccl-out=many.xml
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
    check "plan: no chunks" refuses '--chunks-per-server "0": expected auto, ports, ports-or-auto or 1' $program --chunks-per-server=0
    check "plan: no samples" refuses '--samples "0": expected 1 or more' $program --samples=0
    check "plan: report" prints greedy $program --scheduler=ps,greedy --report=plan.html
    check "plan: the report's rows" page_has plan.html 'len(data["results"]) == len(data["views"]) == 2'
    check "plan: the report's flows" page_has plan.html \
        'sum(step["flow_count"] for step in data["views"][1]["steps"]) == data["results"][1]["workloads"]'
    check "plan: a report of many servers" prints greedy $program --topology=jellyfish:32,6,4 --scheduler=greedy \
        --report=many.html
    check "plan: they are put together" page_has many.html 'len(data["views"][0]["nodes"]) == 32'
    check "plan: trace events" prints greedy $program --scheduler=greedy --trace-json=plan-trace.json
    check "plan: an event for each flow" has_flows plan-trace.json 960 30000
    check "plan: cannot write a report" refuses '--report: file /nowhere/x cannot be written' $program \
        --report=/nowhere/x
    check "plan: cannot write a trace" refuses '/nowhere/x: cannot be written' $program --trace-json=/nowhere/x
    check "plan: gnuplot" prints '^"bcube:4,1" "greedy" 16 2.0 30 30 1.0 ' $program --format=gnuplot
    check "plan: unknown option" refuses 'unknown option "--fast"' $program --fast
}

check_run()
{
    local program=allreduce-run small='--topology=bcube:2,1 --bytes=256KiB'
    # shellcheck disable=SC2086 # several options in one text
    set -- $small
    check "run: defaults" prints '^bcube:4,1 +greedy +16MiB +tcp +barrier +2 +30 ' $program
    check "run: help" prints '--fail-random' $program --help
    check "run: raw" prints 'raw +dependency.* yes +yes ' $program "$@" --transport=raw --sync=dependency --verify-data
    check "run: udp" prints 'udp +barrier.* yes +yes ' $program "$@" --transport=udp --verify-data
    check "run: tcp" prints 'tcp +barrier.* yes +yes ' $program "$@" --verify-data
    check "run: another congestion control" prints 'bcube:2,1' $program "$@" \
        --ns3::TcpL4Protocol::SocketType=ns3::TcpNewReno
    check "run: all schedulers" prints 'double-tree' $program "$@" --scheduler=ps,ring,double-tree,greedy
    check "run: json" is_json $program "$@" --format=json --links
    check "run: csv" prints '^"bcube:2,1",greedy,256KiB,tcp,barrier,' $program "$@" --format=csv
    check "run: links" prints 'bytes, .* %, queue peak' $program "$@" --links
    check "run: rate and delay" prints ' 0\.00157[0-9]* ' $program "$@" --rate=1Gbps --delay=2us --frame=1500 --queue=50
    check "run: several in a row" prints 'bcube:2,1' $program "$@" --iterations=3 --compute-time=1ms
    check "run: the same twice" same_rows --RngRun=1 --RngRun=1 $program "$@" --background=0.2 \
        --fail-random=1,2 --verify-data
    check "run: a link breaks" prints ' yes +yes +1 +greedy ' $program "$@" --fail=0-4@20us --verify-data
    check "run: a link comes back" prints ' yes +yes +2 ' $program "$@" --fail=0-4@20us,90us --verify-data
    check "run: who planned the rest" prints ' ring .* yes +- +1 +greedy ' $program "$@" --scheduler=ring \
        --fail=0-4@20us
    check "run: nothing was replanned" prints '"replanned_by": ?""' $program "$@" --format=json
    check "run: the hash of the plan" prints '"plan_hash": ?"[0-9a-f]{16}"' $program "$@" --format=json
    check "run: slow link" prints 'bcube:2,1' $program "$@" --slow=0-4:3
    check "run: who knows of it" prints '"ideal_of": ?"actual network","predicted_for": ?"announced network"' $program "$@" \
        --slow=0-4:3 --format=json
    check "run: the plan is for what was announced" prints ring $program "$@" --scheduler=ring --slow=0-4:3 \
        --schedule-out=slow.schedule
    check "run: and does not show the slow link" same_without_slow "$@"
    check "run: measured use" prints 'measured use of 16 directed links' $program "$@" --links
    check "run: a slow link is told" prints '"slower_than_planned":\["0-4:3"\]' $program "$@" --slow=0-4:3 --format=json
    check "run: unless planners know" prints '"slower_than_planned":\["1-4:2@1us"\]' $program "$@" \
        --slow='0-4:3;1-4:2@1us' --known --format=json
    check "run: a server is late" prints '"late_servers":\["1:1ms"\]' $program "$@" --late=1:1ms --format=json
    check "run: bursts" prints '"bursts":"0.5,0.5,20us,20us,1"' $program "$@" --bursts=0.5,0.5,20us,20us,1 --format=json
    check "run: a link is slow too late" prints '"late_faults":1' $program "$@" --slow=0-4:2@1s --format=json
    check "run: known to a schedule" refuses '--known: has no effect beside --schedule-in' $program --schedule-in=x \
        --known --slow=0-4:2
    for option in late=1:1ms bursts=0.5,0.5,1ms,1ms,1; do
        check "run: ${option%%=*} in training" refuses "--${option%%=*}: has no effect beside --chakra-in" $program \
            --chakra-in=x "--$option"
    done
    check "run: full stack" prints 'bcube:2,1' $program "$@" --full-stack
    check "run: flow monitor" prints 'bcube:2,1' $program "$@" --flow-monitor=flows.xml
    check "run: a partition for one process" refuses '--partition: has no effect in one process' $program "$@" \
        --partition=nodes.txt
    check "run: flow monitor without IP" refuses '--flow-monitor: FlowMonitor sees IP packets only' $program "$@" \
        --transport=ns3::allreduce::RawTransport --flow-monitor=flows-raw.xml
    check "run: what it saw" grep -q '<Flow flowId="1".*lostPackets="0"' flows.xml
    check "run: writes a schedule" prints 'ring' $program "$@" --scheduler=ring --schedule-out=run.schedule
    check "run: reads a schedule" prints 'run.schedule.* yes +yes ' $program --schedule-in=run.schedule \
        --bytes=256KiB --verify-data
    check "run: report" prints greedy $program "$@" --report=run.html
    check "run: its flows and rounds" page_has run.html \
        'len(data["views"][0]["run"]["flows"]) == 48 and len(data["views"][0]["run"]["rounds"]) == 6'
    check "run: trace events" prints greedy $program "$@" --transport=raw --trace-json=run-trace.json
    check "run: an event for each flow" has_flows run-trace.json 48
    check "run: packets" prints greedy $program "$@" --pcap=packets
    check "run: a file for each device" test "$(find . -name 'packets-*.pcap' -size +24c | wc -l)" = 16
    if [[ $(ldd "$bin/$program") == *netanim* ]]; then
        check "run: NetAnim" prints greedy $program "$@" --anim=anim.xml
        check "run: what it shows" animates anim.xml
        check "run: cannot write for NetAnim" refuses '--anim: file /nowhere/x' $program --anim=/nowhere/x
    else
        check "run: no NetAnim" refuses '--anim: this build has no NetAnim' $program --anim=anim.xml
    fi
    check "run: cannot write a report" refuses '--report: file /nowhere/x' $program --report=/nowhere/x
    check "run: cannot write a trace" refuses '--trace-json: file /nowhere/x' $program --trace-json=/nowhere/x
    check "run: cannot write packets" refuses '--pcap: file /nowhere/x' $program --pcap=/nowhere/x
    check "run: cut off" fails 'failed: cut off by links that are down: server 0' $program "$@" \
        --fail=0-4@1us --fail=0-6@1us
    check "run: watchdog" fails 'failed: nothing has arrived for ' $program "$@" --watchdog=1ns
    check_bad_run_options $program
    check "run: 0 bytes" refuses '--bytes "0": expected a size of 1 byte or more' $program --bytes=0
    check "run: unknown unit" refuses '--bytes "1Mib": expected a size' $program --bytes=1Mib
    check "run: a folder" refuses "schedule file $PWD: is a folder, expected a file" $program "--schedule-in=$PWD"
    check "run: no such schedule" refuses '/nowhere: cannot be opened' $program --schedule-in=/nowhere
    sed 's/"broadcast"/"reduce"/' run.schedule >run-wrong.schedule
    check "run: a wrong schedule" refuses 'run-wrong.schedule is not correct: round' $program \
        --schedule-in=run-wrong.schedule
    check "run: cannot write a schedule" refuses '/nowhere/x cannot be written' $program --schedule-out=/nowhere/x
    check "run: a queue of one packet" refuses '--queue=1: TCP loses nearly every window to --background' \
        $program --queue=1 --background=0.2
    check "run: cannot write flows" refuses '--flow-monitor: file /nowhere/x' $program --flow-monitor=/nowhere/x
}

# What allreduce-run and allreduce-compare both refuse.
check_bad_run_options()
{
    local program=$1 option pattern
    while read -r option pattern; do
        check "${program#allreduce-}: bad $option" refuses "$pattern" "$program" "$option"
    done <<'END'
--transport=ip transport "ip": expected raw,
--sync=never --sync "never": expected barrier or dependency
--frame=100 --frame "100": expected 128 to 65535
--frame=70000 --frame "70000": expected 128 to 65535
--queue=0 --queue "0": expected 1 to
--queue=1kB --queue=1kB: does not hold a frame, expected 9002 bytes or more
--rate=fast --rate "fast": expected a positive rate
--rate=0bps --rate "0bps": expected a positive rate
--delay=long --delay "long": expected a time
--iterations=0 --iterations "0": expected 1 to
--compute-time=x --compute-time "x": expected a time
--compute-time=1ms --compute-time: has no effect on one AllReduce, expected 2 --iterations or more
--watchdog=-1ms --watchdog "-1ms": expected a time
--verify-data=3 '--verify-data' does not take any arguments
--links=3 '--links' does not take any arguments
--fail=0-99@1ms --fail "0-99": bcube:4,1 has no link 0-99
--fail=0-16 --fail "0-16": expected A-B@TIME
--fail=0-16@soon --fail "soon": expected a time
--fail=0-16@2ms,1ms expected the link to come up after it went down
--fail-random=1 --fail-random "1": expected COUNT,SEED
--fail-random=99,1 --fail-random "99,1": expected 1 to 32 links of bcube:4,1
--fail-random=0,1 --fail-random "0,1": expected 1 to 32 links of bcube:4,1
--slow=0-16 --slow "0-16": expected A-B:FACTOR
--slow=0-16:0.5 --slow "0.5": expected a factor above 1
--slow=0-16:1 --slow "1": expected a factor above 1
--slow=0-16:1e11 --slow "1e11": of 10000000000 bit/s it leaves 0.1 bit/s, expected less, and 1 bit/s or more
--slow=0-16:2;0-16:3 --slow "0-16": this link is named twice for the same time, expected once
--slow=0-16:2@1ms,3ms;16-0:3@2ms --slow "16-0": this link is named twice for the same time, expected once
--slow=0-16:2@2ms,1ms expected the link to recover after it became slower
--known --known: has no effect without a link that is slow all the time
--known=3 '--known' does not take any arguments
--late=16:1ms --late "16:1ms": expected a server below 16 of bcube:4,1
--late=1:0 --late "1:0": expected a time above 0
--late=1:1ms;1:2ms --late "1:2ms": this server is named twice, expected once
--bursts=0.5,0.5,1ms --bursts "0.5,0.5,1ms": expected SHARE,LOAD,ON,OFF,SEED
--bursts=0.5,1,1ms,1ms,1 expected a share above 0, a load above 0 and below 1, and times above 0
--bursts=1,0.5,1ns,1ns,1 bursts: more than 1000000 until
--slow=3-3:2 --slow "3-3": bcube:4,1 has no link 3-3
--background=2 --background "2": expected a number from 0 to 1
--topology=cube:3 topology "cube:3": expected bcube
--degrade=2 degrade "2": expected a number from 0 to 1
--mixed=-1 mixed "-1": expected a number from 0 to 1
--scheduler=best "best": expected ps, ps-merge
--chunks-per-server=0 --chunks-per-server "0": expected auto, ports, ports-or-auto or 1
--chunks-per-server=1000000 "1000000": expected auto, ports, ports-or-auto or 1 to 65536 on bcube:4,1: more than 1048576 chunks take
--samples=0 --samples "0": expected 1 or more
--seed=x --seed "x": expected a whole number
--format=xml --format "xml": expected table, json, csv or gnuplot
--fast unknown option "--fast"
--ns3::TcpSocket::Colour=red ns3::TcpSocket::Colour
--ns3::allreduce::DatagramTransport::AckEvery=9 --ns3::allreduce::DatagramTransport: has no effect with --transport=tcp
--SimulatorImplementationType=ns3::Foo --SimulatorImplementationType "ns3::Foo": ns-3 does not take this value
--SchedulerType=ns3::Node --SchedulerType "ns3::Node": ns-3 does not take this value
--RngSeed=0 --RngSeed "0": ns-3 does not take this value
END
}

# Usage: leaves_page COUNT: SIGINT of a run that is under way leaves a page with so many rows, or none. (Bash starts
# jobs that ignore SIGINT.)
leaves_page()
{
    rm -f stopped.html
    python3 - "$bin/allreduce-run" "$1" <<'END'
import os, signal, subprocess, sys, time
networks = ["bcube:4,1", "bcube:2,1;bcube:4,1"][int(sys.argv[2])]
options = ["--topology=" + networks, "--bytes=1GiB", "--chunks-per-server=1", "--report=stopped.html"]
run = subprocess.Popen([sys.argv[1]] + options, stdout=subprocess.DEVNULL,
                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(1)
while sys.argv[2] == "1" and run.poll() is None and not os.path.exists("stopped.html"):
    time.sleep(0.1)
run.send_signal(signal.SIGINT)
assert run.wait() == -signal.SIGINT, run.returncode
END
    if (($1 == 0)); then
        [[ ! -e stopped.html ]]
    else
        page_has stopped.html "len(data['results']) == $1"
    fi
}

# Values, files and moments that nobody expects.
check_odd_input()
{
    local run=allreduce-run plan=allreduce-plan raw='--topology=bcube:2,1 --transport=raw --bytes=10000'
    # shellcheck disable=SC2086 # several options in one text
    set -- $raw
    check "odd: a pacing rate of 0" prints '^torus:3 +greedy +16MiB +tcp ' $run --topology=torus:3 --rate=900Gbps --delay=0ns
    check "odd: less than a tick" prints '^torus:2 +greedy +1B +raw ' $run --topology=torus:2 --bytes=1 --rate=1Tbps \
        --delay=1ns --transport=raw
    check "odd: 8 ps less than the ideal" prints '^dcell:2,1 .* forest +7B +udp ' $run --topology=dcell:2,1 \
        --degrade=0.13,5 --groups='3,5;2,4;0-1' --collective=reduce-scatter --scheduler=forest --bytes=7 \
        --transport=udp --sync=dependency --rate=1Tbps --slow=0-2:1.5
    cat >one-server.schedule <<'END'
{"format": "allreduce-schedule", "version": 1, "topology": {"servers": 2, "switches": 0, "links": [[0, 1]]},
 "chunk_roots": [0], "groups": {"sets": [[0]], "contributors": [0], "receivers": [0], "relay": "all"}, "rounds": []}
END
    check "odd: a plan of nothing" refuses 'one-server.schedule is not correct: .* besides its root' $plan \
        --schedule-in=one-server.schedule
    check "odd: nothing to run" refuses 'one-server.schedule is not correct: .* besides its root' $run \
        --schedule-in=one-server.schedule
    check "odd: compute time of one of a job" refuses '--job .*: --compute-time: has no effect' $run "$@" \
        --job='servers=0,1;compute-time=1ms' --job=servers=2,3
    check "odd: compute time of some jobs" prints ' job1 ' $run "$@" --compute-time=1ms \
        --job='servers=0,1;iterations=2' --job=servers=2,3
    check "odd: compute time of no job" refuses '--compute-time: has no effect, every --job' $run "$@" --compute-time=1ms \
        --job='servers=0,1' --job=servers=2,3
    check "odd: bytes of no job" refuses '--bytes: has no effect, every --job says otherwise' $run "$@" \
        --job='servers=0,1;bytes=1000' --job='servers=2,3;bytes=2000'
    check "odd: samples of rings" refuses '--samples: has no effect, none' $run "$@" --scheduler=ring --samples=4
    check "odd: samples of jobs" refuses '--samples: has no effect, none' $run "$@" --samples=4 --job=scheduler=ring
    check "odd: samples of some" prints ' ring ' $run "$@" --scheduler=ring,greedy --samples=2
    check "odd: nobody could relay" refuses '--relay=none: has no effect on fattree:4' $run --topology=fattree:4 \
        --servers=0-3 --relay=none
    check "odd: TCP over raw" refuses '--ns3::TcpSocket: has no effect with --transport=raw' $run "$@" \
        --ns3::TcpSocket::DelAckCount=1
    check "odd: TCP over TCP" prints ' tcp ' $run --topology=bcube:2,1 --bytes=1000 --ns3::TcpSocket::DelAckCount=1
    check "odd: the second network" refuses_quietly '--fail "0-4": dcell:3,1 has no link 0-4' $run \
        --topology='bcube:2,1;dcell:3,1' --fail=0-4@1us
    check "odd: the second network of jobs" refuses_quietly '--job "job1": --servers "0-6": expected' $run \
        --topology='bcube:4,1;bcube:2,1' --job=servers=0-6
    for scheduler in greedy forest hrl; do
        check "odd: unreachable for $scheduler" \
            refuses 'dcell:4,1: server 7 cannot reach server 0 over servers of its group, expected relays' $run \
            --topology=dcell:4,1 --scheduler=$scheduler --servers=0,7 --relay=none
    done
    check "odd: the picture of jobs" prints 'what = "slowdown"' $run "$@" --job=servers=0,1 --job=servers=2,3 \
        --format=gnuplot
    check "odd: stopped at once" leaves_page 0
    check "odd: stopped later" leaves_page 1
    check_odd_files
}

# Usage: refuses_quietly PATTERN PROGRAM OPTION...: and prints nothing else.
refuses_quietly()
{
    refuses "$@" && [[ -z $(limited "$bin/$2" "${@:3}" 2>/dev/null) ]]
}

# Files without an end, and such that cannot be read to theirs.
check_odd_files()
{
    local option
    truncate -s 2G large
    for option in allreduce-run,--topology=file: allreduce-run,--schedule-in= allreduce-plan,--schedule-in= \
        allreduce-plan,--msccl-in= allreduce-cluster,--jobs= allreduce-cluster,--jobs=helios:; do
        check "odd: no end: $option" refuses 'file /dev/zero: is a device' "${option%,*}" "${option#*,}/dev/zero"
        check "odd: too large: $option" refuses 'file large: is too large, expected at most' "${option%,*}" "${option#*,}large"
        # Its first page is not there.
        check "odd: cannot be read: $option" refuses 'file /proc/self/mem: cannot be read: Input/output error' \
            "${option%,*}" "${option#*,}/proc/self/mem"
    done
    printf 'job_id,gpu_num,state,submit_time,duration\n1,1,COMPLETED,2021-02-31 00:00:00,100\n' >february.csv
    check "odd: 31 February" refuses 'line 2: submit_time "2021-02-31 00:00:00": expected a time' allreduce-cluster \
        --jobs=helios:february.csv
    sed 's/2021-02-31/2020-02-29/' february.csv >leap.csv
    check "odd: 29 February" prints ' fifo ' allreduce-cluster --jobs=helios:leap.csv --slots=2 --policy=fifo
    printf 'arrival_slot,gradient_bytes,forward_s,backward_s,iterations,max_workers,bandwidth,weight\n' >heavy.csv
    printf '0,1000,0.1,0.1,10,2,1Gbps,1e308\n0,1000,0.1,0.1,10,2,1Gbps,1e308\n' >>heavy.csv
    check "odd: weights without a sum" refuses 'weight is 1e\+308, expected at most 1e\+12' allreduce-cluster --jobs=heavy.csv
    check "odd: factors without a sum" refuses '"1e308", expected a number from 0 to 1e\+12' allreduce-cluster \
        --objective=1e308*progress+1e308*progress
    sed 's/max_workers/min_workers,max_workers/; s/,2,1Gbps,1e308/,17,17,1Gbps,1/' heavy.csv >gang.csv
    check "odd: a gang of 17" refuses 'no job fits: job "2", the smallest, needs 17 GPUs, expected at most the 16' \
        allreduce-cluster --topology=bcube:2,1 --gpus=4 --jobs=gang.csv
}

check_compare()
{
    local program=allreduce-compare small='--topologies=bcube:2,1;dcell:2,1 --sizes=1KiB,1MiB'
    # shellcheck disable=SC2086 # several options in one text
    set -- $small --schedulers=ring,greedy
    check "compare: a sweep" prints '^dcell:2,1 +1MiB +greedy ' $program "$@"
    check "compare: as many chunks as run takes on mixed speeds" takes_chunks_of_run --topology=dcell:3,1 --mixed=0.3,1 \
        --scheduler=forest
    check "compare: who planned the rest" prints ' ring .* yes +- +greedy ' $program --topologies=bcube:2,1 \
        --schedulers=ring --sizes=1MiB --fail=0-4@20us
    check "compare: help" prints '--jobs' $program --help
    check "compare: json" is_json $program "$@" --format=json
    check "compare: csv" prints '^"bcube:2,1",1KiB,ring,' $program "$@" --format=csv
    check "compare: the same with one job and three" same_rows --jobs=1 --jobs=3 $program "$@" --background=0.1
    check "compare: in order with many jobs" prints '^bcube:2,1 +1MiB +ring' $program "$@" --jobs=8
    check "compare: cut off" fails 'bcube:2,1 ring 1MiB failed: cut off .*: server 0' $program \
        --topologies=bcube:2,1 --schedulers=ring --sizes=1MiB --fail=0-4@1us --fail=0-6@1us
    check_bad_run_options $program
    check "compare: report" prints greedy $program "$@" --report=compare.html
    check "compare: a view for each run" page_has compare.html 'len(data["views"]) == len(data["results"]) == 8'
    check "compare: cannot write a report" refuses '--report: file /nowhere/x' $program --report=/nowhere/x
    check "compare: no jobs" refuses '--jobs "0": expected 1 or more' $program --jobs=0
    check "compare: 0 bytes" refuses '--sizes "0": expected a size' $program --sizes=1KiB,0
    check "compare: one file for many" refuses '--flow-monitor: one file for' $program --flow-monitor=x.xml
}

check_cluster()
{
    local program=allreduce-cluster jobs=$module_dir/examples/cluster-jobs.csv
    check "cluster: all policies" prints '^progress +sjf-bco +160 ' $program --slots=100
    check "cluster: help" prints 'run-slot' $program --help
    check "cluster: a job file" prints '^fair:2 +gadget +40 ' $program --jobs="$jobs" --objective=fair:2 --slots=50
    check "cluster: the repository's jobs" prints '' $program --generate=40 --seed=7 --write-jobs=cluster-jobs.csv
    check "cluster: they are the generator's" same cluster-jobs.csv "$jobs"
    check "cluster: json" is_json $program --slots=20 --format=json
    check "cluster: csv" prints '^progress,gadget,160,' $program --slots=20 --format=csv --policy=gadget
    check "cluster: sums of objectives" prints '^0.5\*progress\+0.5\*max-min' $program --slots=20 \
        --objective=0.5*progress+0.5*max-min
    check "cluster: several seeds" prints '^energy +las +3 ' $program --slots=50 --seeds=3 --objective=energy
    check "cluster: time series" prints gadget $program --slots=30 --seeds=2 --series=a.csv
    check "cluster: time series again" prints gadget $program --slots=30 --seeds=2 --series=b.csv
    check "cluster: the same twice" same a.csv b.csv
    check "cluster: report" prints gadget $program --slots=30 --report=cluster.html
    check "cluster: its time series" page_has cluster.html 'len(data["cluster"]) == 30 * len(data["results"])'
    check "cluster: its jobs" page_has cluster.html 'len(data["jobs"]) == len(data["results"])'
    check "cluster: rings on a page" prints '^fifo' $program --run-slot=5 --gpus=2 --policy=fifo --most-bytes=64KiB \
        --report=rings.html
    check "cluster: its rings" page_has rings.html 'data["results"][0]["together_transfer_s"] > 0'
    check "cluster: the guarantee on a page" prints ' 0$' $program --check-guarantee=5 --report=guarantee.html
    check "cluster: rows of jobs" prints gadget $program --slots=30 --policy=gadget --job-rows=jobs.csv
    check "cluster: one for each" test "$(grep -c '^progress,gadget,1,job-' jobs.csv)" = 160
    check "cluster: rows of jobs as JSON" prints las $program --slots=30 --policy=las --job-rows=jobs.json
    check "cluster: they are JSON" python3 -c 'import json; assert len(json.load(open("jobs.json"))) == 160'
    check "cluster: the cost of moves" prints '^fair +gadget +160 ' $program --slots=30 --objective=fair --move-cost=5s
    check "cluster: too long a move" refuses '--move-cost "60s": expected less than' $program --move-cost=60s
    check "cluster: slots that suffice" prints '^progress +fifo +40 +40 ' $program --jobs="$jobs" --slots=auto
    check "cluster: cannot write a report" refuses '--report: file /nowhere/x' $program --report=/nowhere/x
    check "cluster: guarantee" prints '^ +50 .* 0$' $program --check-guarantee=50
    check "cluster: rings in ns-3" prints '^fifo +job-.* 1\.0' $program --run-slot=5 --gpus=2 --policy=fifo \
        --most-bytes=1MiB
    check "cluster: contention in ns-3" is_json $program --run-slot=30 --gpus=2 --policy=fifo,sjf-bco \
        --most-bytes=256KiB --share=best-effort --format=json
    check "cluster: unknown policy" refuses '"best": expected gadget, fifo' $program --policy=best
    check "cluster: unknown objective" refuses 'objective "speed"' $program --objective=speed
    check "cluster: unknown option" refuses 'unknown option "--fast"' $program --fast
    check "cluster: two topologies" refuses '--topology: 2 of them' $program '--topology=bcube:2,1;bcube:4,1'
    check "cluster: no job file" refuses 'nowhere.csv: cannot be opened' $program --jobs=nowhere.csv
    sed '5s/.*/job-2,0,many,1,1,1,1,1,1,1Gbps,1/' "$jobs" >wrong.csv
    check "cluster: a wrong job" refuses 'wrong.csv, line 5: gradient_bytes "many"' $program --jobs=wrong.csv
    printf 'A3C\tx\ty\t1\t900\t%s\t%s\n' 0 2 61 1 >small.trace
    check "cluster: a public trace" prints '^progress +gadget +2 +2 ' $program --jobs=philly:small.trace --slots=9
    check "cluster: a public trace without its format" refuses 'small.trace looks like a public trace, expected philly:' \
        $program --jobs=small.trace
    printf 'A3C\tx\ty\t1\t900000000\t0\t2\n' >long.trace
    check "cluster: nobody finished" prints 'no job finished in 9 slots of 60s; --slots=auto' $program \
        --jobs=philly:long.trace --slots=9
    check "cluster: no time then" prints '"completion_mean_s": ?null' $program --jobs=philly:long.trace --slots=9 \
        --format=json
    check "cluster: nobody finished, several seeds" prints '^progress +gadget +2 .* - ' $program \
        --jobs=philly:long.trace --slots=9 --seeds=2
    check "cluster: days" prints 'completion days +median days' $program --jobs=philly:small.trace --slots=14400
    check "cluster: an elastic trace" prints 'any number of GPUs' $program --jobs=philly:small.trace --gang=elastic \
        --write-jobs=gang.csv
    check "cluster: its gang" grep -q ',450,1,2,5Gbps,1$' gang.csv
    check "cluster: a wrong trace" refuses 'small.trace, line 1: column "job_id" is missing' $program \
        --jobs=tiresias:small.trace
    check "cluster: no model" refuses 'model "abacus": expected a3c' $program --jobs=pai:small.trace --trace-model=abacus
    check "cluster: a gang of generated jobs" refuses '--gang: has no effect without' $program --gang=elastic
    check "cluster: no gang" refuses '--gang "x": expected rigid' $program --jobs=pai:small.trace --gang=x
    check "cluster: no slots" refuses '--slots "0": expected 1 or more' $program --slots=0
    check "cluster: no seeds" refuses '--seeds "0": expected 1 or more' $program --seeds=0
    check "cluster: GPUs" refuses '--gpus "x"' $program --gpus=4,x
    check "cluster: no GPUs" refuses 'the number of GPUs is 0' $program --gpus=0
    check "cluster: slot time" refuses '--slot-time "0s": expected more than 0' $program --slot-time=0s
    check "cluster: arrival rate" refuses '--arrival-rate "0"' $program --arrival-rate=0
    check "cluster: reservable" refuses '--reservable "2"' $program --reservable=2
    check "cluster: slot out of range" refuses '--run-slot "9": expected less than 5' $program --run-slot=9 --slots=5
    check "cluster: unknown share" refuses '--share "all": expected reserved' $program --share=all
    check "cluster: unknown transport" refuses '"pigeon"' $program --transport=pigeon
    check "cluster: cannot write" refuses '/nowhere/x cannot be written' $program --series=/nowhere/x
}

# Usage: rows_of FILE COMMAND...: writes the rows that a command prints to a file, without the times that it took.
rows_of()
{
    limited "${@:2}" --format=csv | tail -n +2 | sed 's/,[^,]*$//' >"$1"
    [[ -s $1 ]]
}

# Usage: shards_well PROGRAM OPTION...: three shards have the rows of the whole, each every third of them.
shards_well()
{
    local i
    rows_of whole.csv "$bin/$1" "${@:2}"
    for i in 1 2 3; do
        rows_of "shard-$i.csv" "$bin/$1" "${@:2}" --shard="$i/3"
    done
    paste -d '\n' shard-[123].csv | sed '/^$/d' >shards.csv
    same whole.csv shards.csv
}

# Usage: ranks_well PROGRAM OPTION...: the same rows in the same order under mpirun.
ranks_well()
{
    rows_of whole.csv "$bin/$1" "${@:2}"
    rows_of ranks.csv "${mpirun[@]}" "$bin/$1" "${@:2}"
    same whole.csv ranks.csv
}

# Usage: refuses_jobs_of_ranks
refuses_jobs_of_ranks()
{
    ! "${mpirun[@]}" "$bin/allreduce-plan" --jobs=2 >ranks.out 2>&1
    grep -q -- '--jobs: under mpirun each rank does one case at a time' ranks.out
}

# Usage: refuses_processes PROGRAM [OPTION...]: refuses to do the same in each of the processes of mpirun, which
# tells them their number in the environment.
refuses_processes()
{
    OMPI_COMM_WORLD_SIZE=2 refuses 'started in 2 processes, which would all do the same' "$@"
}

# Jobs that share a network.
check_jobs()
{
    local -a run=(allreduce-run --topology=bcube:4,1 --bytes=1MiB --transport=raw)
    local -a two=("${run[@]}" '--job=name=a;servers=0-7' '--job=name=b;servers=4-11;start=1ms')
    local option
    check "jobs: a row each, in order" prints '^"bcube:4,1",a,0-7,.*,done,' "${two[@]}" --format=csv
    check "jobs: the second" prints '^"bcube:4,1",b,4-11,allreduce,greedy,1MiB,1,0.001,' "${two[@]}" --format=csv
    check "jobs: apart" prints '"slowdown":1.0,' "${run[@]}" '--job=servers=0-3;relay=none' \
        '--job=servers=8-11;relay=none' --format=json
    check "jobs: on the same servers, with data" prints ' [12]\.[0-9]+ +done .* yes +yes +0 ' "${run[@]}" --job=name=a \
        --job=name=b --verify-data
    check "jobs: one to a line" prints '^bcube:4,1 +second ' "${run[@]}" $'--job=name=first\nname=second'
    check "jobs: a link breaks" prints '^bcube:4,1 +b .* done .* yes +yes +[1-9][0-9]* +greedy' "${run[@]}" --job=name=a \
        --job=name=b --verify-data --fail=0-16@0.3ms --slow=1-16:2 --background=0.1
    check "jobs: one is cut off" fails 'bcube:4,1 a greedy 1MiB failed: cut off by links that are down: server 0$' \
        "${run[@]}" '--job=name=a;servers=0-3' '--job=name=b;servers=8-11;relay=none' '--fail=0-16@0.2ms;0-20@0.2ms'
    check "jobs: a fault that comes too late is told once" warns 'warning: 1 of the faults were to come after the end' \
        "${two[@]}" --fail=0-16@1s
    check "jobs: columns stand" columns_stand "${two[@]}"
    check "jobs: a key that there is not" refuses '--job "size=1": "size=1": expected KEY=VALUE with one of the keys name' \
        "${run[@]}" --job=size=1
    check "jobs: a value that is none" refuses '--job "start=now": start "now": expected a time' "${run[@]}" --job=start=now
    check "jobs: a server that there is not" refuses '--job "a": --servers "99": expected a server' \
        "${run[@]}" '--job=name=a;servers=0,99'
    check "jobs: a name twice" refuses 'name "a": expected another one' "${run[@]}" --job=name=a --job=name=a
    check "jobs: a slow link that there is not" refuses 'allreduce-run: --slow "1-17": bcube:4,1 has no link' "${two[@]}" \
        --slow=1-17:2
    check "jobs: several schedulers" refuses 'scheduler: expected one' "${run[@]}" --scheduler=ring,greedy --job=name=a
    for option in groups=0-7 schedule-in=x schedule-out=x chakra-in=x links trace-json=x partition=x; do
        check "jobs: beside ${option%%=*}" refuses "--${option%%=*}: has no effect beside --job" "${run[@]}" --job=name=a \
            "--$option"
    done
    OMPI_COMM_WORLD_SIZE=2 check "jobs: in several processes" refuses '--job: not possible in 2 processes' "${run[@]}" \
        --job=name=a
}

# Cases that are shared by processes, ranks of MPI and the machines of a queue.
check_sweeps()
{
    local -a mpirun=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -np 2)
    local -a plan=(allreduce-plan '--topology=bcube:2,1;dcell:2,1;torus:3x3' --scheduler=ring,greedy,ps)
    local -a compare=(allreduce-compare '--topologies=bcube:2,1;dcell:2,1' --schedulers=ring,greedy --sizes=1KiB,64KiB)
    local -a cluster=(allreduce-cluster --generate=20 --slots=40 --seeds=3 --objective=fair,energy)
    check "sweeps: shards of plans" shards_well "${plan[@]}"
    check "sweeps: shards of runs" shards_well "${compare[@]}"
    check "sweeps: a shard of traces has a row for each" prints '^fair +gadget +1 ' "${cluster[@]}" --shard=1/2
    check "sweeps: no such shard" refuses '--shard "4/3": expected I/N with I from 1 to N' "${plan[@]}" --shard=4/3
    check "sweeps: a shard without a case" refuses '--shard "10/12": has none of the 9 cases' "${plan[@]}" --shard=10/12
    check "sweeps: half a shard" refuses '--shard "4": expected I/N' "${plan[@]}" --shard=4
    check "sweeps: a network in several processes" refuses_processes allreduce-topology --topology=bcube:2,1
    check "sweeps: a training in several processes" refuses_processes allreduce-train --iterations=1
    check "sweeps: a guarantee in several processes" refuses_processes allreduce-cluster --check-guarantee=1
    check "sweeps: plans of a file" refuses '--shard: has no effect beside --schedule-in' \
        allreduce-plan --schedule-in=x --shard=1/2
    rows_of one.csv "$bin/${cluster[0]}" "${cluster[@]:1}"
    check "sweeps: traces side by side" rows_of two.csv "$bin/${cluster[0]}" "${cluster[@]:1}" --processes=3
    check "sweeps: the same means" same one.csv two.csv
    if ! command -v mpirun >/dev/null || ! grep -q "^MPI_CXX_HEADER_DIR\|^MPI_mpi_LIBRARY" "$build_dir/CMakeCache.txt"; then
        skip "sweeps under mpirun: there is no MPI"
        return
    fi
    check "sweeps: plans under mpirun" ranks_well "${plan[@]}"
    check "sweeps: runs under mpirun" ranks_well "${compare[@]}"
    check "sweeps: traces under mpirun" ranks_well "${cluster[@]}"
    check "sweeps: processes of ranks" refuses_jobs_of_ranks
}

# Usage: trains_the_same_if_killed: a training that is killed again and again ends like one that is not.
trains_the_same_if_killed()
{
    local -a train=("$bin/allreduce-train" --config=small.json --iterations=8 --save-every=1)
    local -a resume=()
    local seconds
    "${train[@]}" --out=whole.json --log=whole.csv >train.log
    for seconds in 1 2 3 4 600; do
        [[ ! -e killed.json.state ]] || resume=(--resume)
        timeout --signal=KILL "$seconds" "${train[@]}" --out=killed.json --log=killed.csv "${resume[@]}" \
            >train.log || ((seconds < 600))
    done
    same_training whole killed
}

# Usage: same_training NAME NAME: the same weights, and the same log but for the time that it took.
same_training()
{
    python3 - "$@" <<'END'
import json, sys
first, second = (json.load(open(name + ".json")) for name in sys.argv[1:])
assert first["networks"] == second["networks"], "other weights"
lines = [[line.split(",") for line in open(name + ".csv")] for name in sys.argv[1:]]
for line in lines[0] + lines[1]:
    line[1] = "seconds"
assert lines[0] == lines[1], "another log"
END
}

find_free_port()
{
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Usage: trains_the_same_in_processes: in those that it starts, and in those that the environment makes one training.
trains_the_same_in_processes()
{
    local -a train=("$bin/allreduce-train" --config=small.json --iterations=8)
    local -a ranks=(WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$(find_free_port)")
    local workers
    for workers in 2 3; do
        limited "${train[@]}" --workers=$workers --out=workers.json --log=workers.csv >train.log
        same_training whole workers
    done
    RANK=1 limited env "${ranks[@]}" "${train[@]}" --out=rank-1.json --log=rank-1.csv >rank-1.out &
    RANK=0 limited env "${ranks[@]}" "${train[@]}" --out=rank-0.json --log=rank-0.csv >rank-0.out
    wait $!
    same_training whole rank-0
    # Only rank 0 writes and prints.
    [[ ! -e rank-1.json && ! -e rank-1.csv && ! -s rank-1.out ]]
}

# Usage: loses_a_rank SIGNAL PATTERN: the job ends with a line that matches, and goes on to the same weights.
loses_a_rank()
{
    local -a train=("$bin/allreduce-train" --config=small.json --iterations=8 --save-every=1 --workers=2
        --out=lost.json --log=lost.csv)
    local parent status=0
    rm -f lost.json.state
    "${train[@]}" --rank-timeout=5 >train.log 2>lost.err &
    parent=$!
    until [[ -e lost.json.state ]]; do
        sleep 0.05
    done
    pkill --signal "$1" -P "$parent"
    wait "$parent" || status=$?
    if ((status != 1)) || (($(wc -l <lost.err) != 1)) || ! grep -Eq -- "$2" lost.err; then
        printf 'status %d, expected 1 and a line with %s:\n' "$status" "$2"
        cat lost.err
        return 1
    fi
    limited "${train[@]}" --resume >train.log
    same_training whole lost
}

# Usage: leaves_no_ranks SIGNAL: of a training that is stopped in the middle.
leaves_no_ranks()
{
    local group i
    rm -f stopped.json.state
    # What bash starts in the background ignores INT otherwise.
    setsid env --default-signal=INT "$bin/allreduce-train" --config=small.json --save-every=1 --workers=3 \
        --out=stopped.json >train.log &
    group=$!
    until [[ -e stopped.json.state ]]; do
        sleep 0.05
    done
    (($(pgrep -c -g "$group") == 3)) || return 1
    kill -s "$1" "$group"
    ! wait "$group" || return 1
    for ((i = 0; i < 100; ++i)); do
        pgrep -g "$group" --runstates D,R,S,T >/dev/null || return 0
        sleep 0.1
    done
    return 1
}

# Usage: refuses_rank PATTERN VARIABLE=VALUE [OPTION...]: what the environment says is not possible.
refuses_rank()
{
    (
        export RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
        export "${2?}"
        refuses "$1" allreduce-train --config=small.json --iterations=1 --out=rank.json "${@:3}"
    )
}

# Usage: fails_without_others RANK PATTERN: they do not come.
fails_without_others()
{
    local MASTER_PORT
    MASTER_PORT=$(find_free_port)
    export MASTER_PORT
    RANK=$1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 fails "$2" \
        allreduce-train --config=small.json --iterations=1 --out=rank.json --rank-timeout=2
}

# Usage: refuses_port_in_use
refuses_port_in_use()
{
    local port listener status=0
    port=$(find_free_port)
    python3 -c "import socket, time; s = socket.create_server(('', $port)); print(flush=True); time.sleep(60)" >listens &
    listener=$!
    until [[ -s listens ]]; do
        sleep 0.05
    done
    refuses_rank "MASTER_PORT $port: rank 0 cannot listen there: Address already in use" MASTER_PORT="$port" || status=1
    kill "$listener"
    return $status
}

check_train_processes()
{
    local program=allreduce-train
    if [[ $("$bin/$program" --workers=2 --config=small.json --iterations=1 --out=a.json 2>&1) == *"no LibTorch with c10d"* ]]; then
        skip "train: several processes: there is no Gloo"
        return
    fi
    check "train: several processes" trains_the_same_in_processes
    check "train: a rank is killed" loses_a_rank KILL 'rank 1 of 2 was ended by signal 9 .*--resume goes on'
    check "train: a rank hangs" loses_a_rank STOP 'rank 0 of 2: the others cannot be reached: Timed out'
    check "train: no ranks are left by INT" leaves_no_ranks INT
    check "train: no ranks are left by TERM" leaves_no_ranks TERM
    check "train: no ranks are left by KILL" leaves_no_ranks KILL
    check "train: no workers" refuses '--workers "0"' $program --workers=0
    check "train: more workers than slices" refuses 'training in 9 processes: .* 8 slices and 8 rollouts' \
        $program --config=small.json --workers=9
    check "train: workers and ranks" refuses_rank '--workers "2" and WORLD_SIZE "2"' RANK=0 --workers=2
    check "train: nobody to wait for" refuses '--rank-timeout: has no effect' $program --rank-timeout=5
    check "train: rank out of range" refuses_rank 'RANK 2: expected a whole number from 0 to 1' RANK=2
    check "train: no address" refuses_rank 'MASTER_ADDR: not set, but RANK is' MASTER_ADDR=
    check "train: no port" refuses_rank 'MASTER_PORT: not set, but RANK is' MASTER_PORT=
    check "train: no such port" refuses_rank 'MASTER_PORT 70000: expected a whole number from 1' MASTER_PORT=70000
    check "train: unknown address" refuses_rank 'MASTER_ADDR "nowhere.invalid"' MASTER_ADDR=nowhere.invalid
    check "train: port in use" refuses_port_in_use
    check "train: rank 1 does not come" fails_without_others 0 'after 2 s missing: rank 1'
    check "train: rank 0 does not come" fails_without_others 1 'timed out after 2s'
}

check_train()
{
    local program=allreduce-train
    [[ -x $bin/$program ]] || return 0
    cat >small.json <<'END'
{"topologies": ["bcube:3,1"], "validation": ["bcube:3,1"], "problems": 2, "rollouts": 4, "validation_from": 2,
 "validation_every": 2, "validation_drawn": 2}
END
    check "train: help" prints '--resume' $program --help
    check "train: killed and resumed" trains_the_same_if_killed
    export ALLREDUCE_POLICY=whole.json
    check "train: plans with it" prints '^bcube:4,1 +hrl' allreduce-plan --topology=bcube:4,1 --scheduler=hrl
    unset ALLREDUCE_POLICY
    echo '{"topology": "bcube:3,1"}' >wrong.json
    check "train: unknown key" refuses 'wrong.json: unknown key "topology"' $program --config=wrong.json
    check "train: three iterations" prints 'wrote' $program --config=small.json --iterations=3 --out=a.json \
        --log=a.log
    check "train: begins with a checkpoint" prints 'wrote' $program --config=small.json --iterations=1 --init=a.json \
        --out=b.json
    check "train: a report of what is done" prints 'wrote' $program --config=small.json --iterations=3 --out=a.json \
        --log=a.log --resume --report=a.html
    check "train: a line for each iteration" page_has a.html 'len(data["training"]) == 3'
    check "train: cannot write a report" refuses '--report: file /nowhere/x' $program --report=/nowhere/x
    check "train: no such file" refuses '/nowhere: cannot be opened' $program --config=/nowhere
    check "train: nothing to resume" refuses 'none.json.state: not there' $program --resume --out=none.json
    check "train: unknown option" refuses 'unknown option "--fast"' $program --fast
    check_damaged_states
    check_train_processes
}

# Usage: changes_state PATTERN REPLACEMENT: makes bad.json.state of a.json.state; its check sums are right.
changes_state()
{
    python3 - "$@" <<'END'
import re, sys, zipfile
pattern, replacement = (argument.encode() for argument in sys.argv[1:])
count = 0
with zipfile.ZipFile("a.json.state") as whole, zipfile.ZipFile("bad.json.state", "w") as bad:
    for record in whole.infolist():
        data = whole.read(record)
        changed, n = re.subn(pattern, lambda match: replacement.ljust(len(match[0])), data, count=1)
        bad.writestr(record, changed)
        count += n
assert count > 0, "no such text"
END
}

# Usage: refuses_state PATTERN: bad.json.state
refuses_state()
{
    refuses "training state bad.json.state: $1" allreduce-train --config=small.json --iterations=3 --out=bad.json --resume
}

check_damaged_states()
{
    head -c 100000 a.json.state >bad.json.state
    check "train: a state that is cut short" refuses_state 'not there, cut short'
    head -c 100000 /dev/zero >bad.json.state
    check "train: a state of zeros" refuses_state 'not there, cut short'
    : >bad.json.state
    check "train: an empty state" refuses_state 'not there, cut short'
    changes_state '"possible senders' '"possible zenders'
    check "train: a state of another version" refuses_state 'made with other features'
    changes_state '"seed":' '"sead":'
    check "train: a state of another training" refuses_state 'made with another configuration'
    changes_state '"iteration":' '"iterbtion":'
    check "train: a state without iteration" refuses_state 'damaged'
    changes_state '"iteration":[0-9]+' '"iteration":-'
    check "train: a state that is not JSON" refuses_state 'damaged'
    changes_state ',[-0-9.e]+\]' ']'
    check "train: a state that lacks a weight" refuses_state 'damaged'
}

# Usage: leaves_no_workers SIGNAL: of a comparison that is stopped in the middle.
leaves_no_workers()
{
    local group i
    setsid "$bin/allreduce-compare" --topology=bcube:4,1 --sizes=1GiB --format=json --jobs=2 >stopped.out 2>/dev/null &
    group=$!
    sleep 1
    kill -s "$1" "$group"
    wait "$group" || true
    for ((i = 0; i < 100; ++i)); do
        pgrep -g "$group" >/dev/null || break
        sleep 0.1
    done
    ! pgrep -g "$group" || return 1
    [[ $1 == KILL ]] || python3 -m json.tool stopped.out >/dev/null
}

# What cannot be written must not pass for success. /dev/full is a disk without room.
check_lost_output()
{
    local program format
    for program in allreduce-topology allreduce-plan allreduce-run allreduce-cluster allreduce-compare; do
        for format in table json csv gnuplot; do
            check "$program: $format to a full device" fills_up $program --format=$format
        done
    done
    ln -s /dev/full full-server-0-0.pcap
    check "run: packets to a full device" refuses '--pcap: file full-server-0-0.pcap cannot be written' \
        allreduce-run --topology=bcube:2,0 --bytes=100kB --pcap=full
    if [[ $(ldd "$bin/allreduce-run") == *netanim* ]]; then
        ln -s /dev/full full.xml
        check "run: an animation to a full device" refuses '--anim: file full.xml cannot be written' \
            allreduce-run --topology=bcube:2,0 --bytes=100kB --anim=full.xml
        check "run: an animation on a disk that gets full" refuses_when_full '--anim: file cut.xml cannot be written' \
            allreduce-run --topology=bcube:2,0 --bytes=1MB --anim=cut.xml
    fi
    check "run: packets on a disk that gets full" refuses_when_full '--pcap: file cut-.*pcap cannot be written' \
        allreduce-run --topology=bcube:2,0 --bytes=1MB --pcap=cut
    [[ -x $bin/allreduce-train ]] || return 0
    check "train: standard output to a full device" fills_up allreduce-train
    check "train: a log to a full device" refuses '--log: file /dev/full cannot be written' \
        allreduce-train --config=small.json --iterations=1 --out=full.json --log=/dev/full
    check "train: a policy to a full device" refuses 'file /dev/full: cannot be written' \
        allreduce-train --config=small.json --iterations=1 --out=/dev/full
    check "train: the device is still there" test -c /dev/full
    check "train: cannot write" refuses 'file /nowhere/x: cannot be written' allreduce-train --out=/nowhere/x
}

# Usage: refuses_when_full PATTERN PROGRAM OPTION...: where no file gets larger than 16 KiB.
refuses_when_full()
(
    trap '' XFSZ
    ulimit -f 16
    refuses "$@"
)

# Usage: fills_up PROGRAM OPTION...: on something small.
fills_up()
{
    local status=0 small=("--topology=bcube:2,0")
    [[ $1 != allreduce-cluster ]] || small=(--generate=2 --slots=5 --policy=gadget)
    [[ $1 != allreduce-compare ]] || small+=(--scheduler=ring --sizes=1KiB)
    [[ $1 != allreduce-train ]] || small=(--config=small.json --iterations=1 --out=full.json)
    "$bin/$1" "${small[@]}" "${@:2}" >/dev/full 2>full.err || status=$?
    ((status == 2)) && grep -q 'standard output cannot be written' full.err
}

# What would be ignored, and values that ns-3 would end the program for.
check_options()
{
    local program
    check "options: not a number" refuses '--RngRun "abc": ns-3 does not take' allreduce-plan --RngRun=abc
    check "options: not a time" refuses 'MinRto "abc": ns-3' allreduce-run --ns3::TcpSocketBase::MinRto=abc
    check "options: no such type" refuses 'SocketType "ns3::Foo": ns-3' allreduce-run \
        --ns3::TcpL4Protocol::SocketType=ns3::Foo
    check "options: no unit" refuses '--rate "10": expected' allreduce-run --rate=10
    check "options: no unit of time" refuses '--delay "1": expected' allreduce-run --delay=1
    check "options: no flow" refuses '--bytes "0": expected' allreduce-topology --topology=bcube:2,1 --bytes=0
    check "options: a million servers" prints 'dcell:1000,1 +1001000' allreduce-topology --topology=dcell:1000,1 --no-flow
    for program in plan run compare; do
        check "options: other names, $program" prints 'bcube:2,1 .*ring' allreduce-$program --topologies=bcube:2,1 \
            --schedulers ring
    done
    check "options: what --mixed does" prints '--mixed .* to make twice as fast' allreduce-plan --help
    check "options: a plan is there" refuses '--topology: has no effect beside --schedule-in' \
        allreduce-plan --topology=bcube:2,1 --schedule-in=x
    check "options: a plan to run is there" refuses '--scheduler: has no effect beside --schedule-in' \
        allreduce-run --scheduler=ring --schedule-in=x
    check "options: jobs are there" refuses '--generate: has no effect beside --jobs' \
        allreduce-cluster --jobs=x --generate=10
    check "options: no page" refuses '--report: has no effect beside --write-jobs' \
        allreduce-cluster --write-jobs=x.csv --report=x.html
    check "options: no column" refuses '--links: has no place in --format=csv' allreduce-run --links --format=csv
    check "options: too late" warns 'faults were to come after the end' \
        allreduce-run --topology=bcube:2,0 --bytes=1000 --fail=0-2@1s
    check "options: as degraded as can be" prints 'degrade=0.25' allreduce-topology --topology=bcube:2,1 --degrade=1 --no-flow
    check "options: a short slot" refuses '--slot-time "1ms": no job can finish' allreduce-cluster \
        --jobs="$module_dir/examples/cluster-jobs.csv" --slot-time=1ms
    check "options: nothing is planned" refuses 'scheduler "gredy"' allreduce-plan --scheduler=ring,gredy
    echo '{}' >network.json
    check "options: a file's name" refuses 'perhaps file:network.json' allreduce-plan --topology=network.json
    cp a.json $'\xff.json'
    check "options: a name that is not UTF-8" is_json allreduce-plan --topology=file:$'\xff.json' --format=json
    local option long
    long=$(head -c 20000 /dev/zero | tr '\0' x)
    for option in topology scheduler chunks-per-server bytes transport sync rate delay fail slow format anim; do
        check "options: 20 kB of --$option" refuses '^.{,300}$' allreduce-run "--$option=$long"
    done
    for program in run:"$long" run:ns3::TcpSocketBase::MinRto train:config train:out cluster:jobs plan:msccl-in plan:chakra-out run:chakra-in; do
        option=${program#*:}
        [[ ! -x $bin/allreduce-${program%%:*} ]] ||
            check "options: 20 kB in ${program:0:20}" refuses '^.{,300}$' "allreduce-${program%%:*}" "--$option=$long"
    done
    check "options: too slow" refuses 'would take .* of simulated time' allreduce-run --rate=1bps --bytes=1GiB
}

# Of training one iteration will do.
run_example()
(
    local command=$1
    [[ $command != allreduce-train* ]] || command="${command/--iterations=20/} --iterations=1"
    cd help && PATH=$bin:$PATH limited bash -euc "$command" >/dev/null
)

# What --help promises, in a folder of its own.
check_help()
{
    local program example examples
    mkdir -p help && ln -sfn "$module_dir/policies" help/policies
    for program in cluster compare plan run topology train; do
        program=allreduce-$program
        [[ -x $bin/$program ]] || continue
        check "$program: version" prints "^$program .* $(<"$module_dir/VERSION")\$" "$program" --version
        mapfile -t examples < <("$bin/$program" --help | sed -n "/^Examples:/,\$s/^  \($program\)/\1/p")
        check "$program: three examples or more" test "${#examples[@]}" -ge 3
        for example in "${examples[@]}"; do
            check "$example" run_example "$example"
        done
    done
}

# The scripts to start from: each is short, runs, and shows what it is there to show.
check_scripts()
{
    check "scripts: a first AllReduce" prints 'greedy: 16777216 bytes .* in \+13\.[0-9]+ms' allreduce-first
    check "scripts: a topology" prints '^ring: 20 .*no plan takes less than 10' allreduce-own-topology
    check "scripts: that topology as a file" prints '^two-racks .* 10 +10 +1.000' allreduce-plan --topology=file:two-racks.json
    check "scripts: a link breaks" prints 'every server has the true sums' allreduce-broken-link
    check "scripts: a link that stays broken" prints 'planned anew by greedy' allreduce-broken-link --lasts=1s
    check "scripts: two jobs" prints 'greedy: .* slowdown 1\.[0-9]+' allreduce-two-jobs
    check "scripts: marked packets" prints 'TcpDctcp: .* [1-9][0-9]* packets marked, 0 dropped' allreduce-dctcp
    check "scripts: another study" prints 'the transfer got [1-9]' allreduce-in-a-study
    check "scripts: a scheduler" prints '^first-come: ' allreduce-own-scheduler
    check "scripts: experiments" prints '^ *greedy .* 960 +[1-9][0-9]* *$' allreduce-experiment
    check "scripts: times of flows" prints '^Barrier: 960 flows' allreduce-flow-times
    ! command -v gnuplot >/dev/null || check "scripts: their picture can be drawn" gnuplot flow-times.plt
    check "scripts: a picture that cannot be written" fails 'none/x.plt cannot be' allreduce-flow-times --prefix=none/x
    check "scripts: a full device" fails '/dev/full cannot be' allreduce-own-topology --file=/dev/full
    check "scripts: under 100 lines" short_scripts
}

short_scripts()
{
    local script
    for script in $(sed -n '/^set(scripts/,/^)/s/^ *\(allreduce-.*\)/\1/p' "$module_dir/examples/CMakeLists.txt"); do
        (($(wc -l <"$module_dir/examples/$script.cc") < 100)) || return 1
    done
}

# Usage: columns_stand PROGRAM OPTION...: every title begins or ends where its values do, in all lines.
columns_stand()
{
    "$bin/$1" "${@:2}" | python3 -c '
import re
import sys

lines = sys.stdin.read().splitlines()
ends = [{m.end() for m in re.finditer(r"\S(?= |$)", line)} for line in lines]
starts = [{m.start() for m in re.finditer(r"(?<=  )\S", line)} | {0} for line in lines]
titles = list(re.finditer(r"\S+(?: \S+)*", lines[0]))
for line, start, end in zip(lines, starts, ends):
    for title in titles:
        assert title.start() in start or title.end() in end, f"{title.group()} does not stand over {line}"
'
}

check_train
check_cluster
check_topology
check_plan
check_run
check_compare
check_collectives
check_chakra
check_jobs
check_sweeps
check_gnuplot
check_lost_output
check_odd_input
check_options
check_help
check_scripts
check "tables: columns stand" columns_stand allreduce-plan --topology='bcube:2,1;bcube:3,1' --degrade=0.1,3 \
    --scheduler=ring,halving-doubling
for signal in INT TERM KILL; do
    check "compare: stopped by SIG$signal" leaves_no_workers $signal
done
report
