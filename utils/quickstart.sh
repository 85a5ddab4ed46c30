#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs what is missing, builds the module's programs in build/, makes the table of README.md and a page of it.
# Arguments go to CMake.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

target=programs
build_standalone "$@"
say "running $build_dir/bin/allreduce-compare"
"$build_dir/bin/allreduce-compare" --report="$build_dir/quickstart.html" || die "allreduce-compare failed"
say "pictures of all this, for a browser: $build_dir/quickstart.html"
