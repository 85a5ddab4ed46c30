#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Opens the pages of --report in headless Chromium: they load without errors, the numbers shown are those of the JSON,
# in light and dark and on a telephone, with few servers and with a thousand; the slider, zoom, search, two schedules
# side by side, saved pictures and keys work, and the page of a thousand servers is quick. Expects the standalone build.
# Usage: check-report.sh [FOLDER]: the screenshots that the manual shows go there; without it they are thrown away.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
make_scratch
figures=${1:-$scratch/figures}

if command -v node >/dev/null; then
    for script in "$module_dir"/examples/common/report/*.js; do
        check "report: ${script##*/} can be parsed" node --check "$script"
    done
fi
for tool in node chromium; do
    command -v "$tool" >/dev/null || {
        skip "pages in a browser: there is no $tool"
        exit 0
    }
done
check "report: pages in a browser" limited node "$module_dir/test/report/check-report.js" "$build_dir/bin" \
    "$scratch" "$figures"
for name in bcube 128 1024 beside narrow; do
    check "report: screenshot of $name" test -s "$figures/report-$name.png"
done
report
