#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Random packet runs with faults: utils/soak.sh [RUNS [FIRST_SEED]], 10,000 from seed 1 on by default. Says how
# they ended; for each that did not end as it should it prints the command that repeats it, and writes the
# topology that this needs to the present folder.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
target=allreduce-soak
build_standalone
"$build_dir/bin/allreduce-soak" --runs="${1:-10000}" --first="${2:-1}" --jobs="$jobs"
