#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes every figure of the manual with the module's own programs. Expects the standalone build, gnuplot and, for
# the screenshots, what utils/check-report.sh needs.
# Usage: make-figures.sh [FOLDER [plots|screenshots]]: into doc/figures, or only these into another folder.

set -euo pipefail
# shellcheck source=utils/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../utils/setup.sh"
make_scratch
mkdir -p "${1:-$module_dir/doc/figures}"
folder=$(cd "${1:-$module_dir/doc/figures}" && pwd)
networks='bcube:4,1;dcell:4,1;jellyfish:10,3,2'

# Usage: plot NAME AXIS COLUMNS PROGRAM OPTION...
plot()
{
    local name=$1 axis=$2 columns=$3
    shift 3
    say "$name.png: $*"
    "$build_dir/bin/$1" "${@:2}" --format=gnuplot >"$scratch/$name.gnuplot"
    gnuplot -e "set terminal pngcairo size 1000,560; set output '$folder/$name.png'" \
        -e "set ylabel '$axis'; what = '$columns'" "$scratch/$name.gnuplot"
}

make_plots()
{
    plot schedulers 'rounds over the lower bound' ratio \
        allreduce-plan --topology="$networks" --scheduler=all
    plot prediction 'seconds' 'ideal_s predicted_s measured_s' \
        allreduce-compare --topologies="$networks" --sizes=4MiB
    plot cluster 'mean utility' mean_utility \
        allreduce-cluster --generate=1600 --arrival-rate=10
    plot rings 'seconds for a transfer' 'analytical_transfer_s alone_transfer_s together_transfer_s' \
        allreduce-cluster --run-slot=30 --policy=gadget,fifo --gpus=2
}

what=${2:-all}
[[ $what == screenshots ]] || make_plots
[[ $what == plots ]] || "$module_dir/utils/check-report.sh" "$folder"
