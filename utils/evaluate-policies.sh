#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the tables of policies/README.md: how good the shipped policies are, next to their controls, and how
# long they plan. Expects the standalone build. Options go to allreduce-evaluate-policies, for example
# --checkpoint=FILE.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
bin=$build_dir/bin

"$bin/allreduce-evaluate-policies" "$@"

printf '\nPlanning time and memory of the process, one rollout, m = auto:\n\n'
printf '| network | servers | rounds | bound | planning | memory |\n|---|---|---|---|---|---|\n'
for topology in bcube:4,2 jellyfish:32,6,4 bcube:8,2; do
    # shellcheck disable=SC2016 # the program between the quotes is Python
    python3 - "$bin/allreduce-plan" "$topology" <<'END'
import json, resource, subprocess, sys
row = json.loads(subprocess.check_output([sys.argv[1], "--topology=" + sys.argv[2], "--scheduler=hrl", "--format=json"]))[0]
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"| {sys.argv[2]} | {row['servers']} | {row['rounds']} | {row['bound']} | {row['plan_ms'] / 1000:.2f} s | {memory:.0f} MB |")
END
done
