#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs what is missing, builds the module's programs in build/ and runs the main job.
# Arguments go to CMake.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

target=programs
build_standalone "$@"
say "running $build_dir/bin/allreduce-compare"
"$build_dir/bin/allreduce-compare" || die "allreduce-compare failed"
