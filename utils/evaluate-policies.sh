#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints tables like those of policies/README.md: how good the shipped policies are, next to their controls, and how
# long they plan. Expects the standalone build. Options go to allreduce-evaluate-policies, for example
# --checkpoint=FILE or --parts=changed,unseen.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

"$build_dir/bin/allreduce-evaluate-policies" "$@"
