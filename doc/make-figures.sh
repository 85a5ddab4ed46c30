#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes every figure of the manual with the module's own programs. Expects the standalone build, gnuplot and, for
# the screenshots, what utils/check-report.sh needs; ALLREDUCE_TRACES names the folder with Philly's traces for load.png.
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
        allreduce-compare --topology="$networks" --sizes=4MiB
    plot cluster 'mean utility' mean_utility \
        allreduce-cluster --generate=1600 --arrival-rate=10
    plot rings 'seconds for a transfer' 'analytical_transfer_s alone_transfer_s together_transfer_s' \
        allreduce-cluster --run-slot=30 --policy=gadget,fifo --gpus=2
}

# The load at which policies differ, on a trace that is not in the repository.
plot_load()
{
    [[ -d ${ALLREDUCE_TRACES:-} ]] || {
        say "load.png is left out: ALLREDUCE_TRACES does not name a folder with Philly's traces as Gavel has them"
        return 0
    }
    local speed policies='gadget fifo srf las tiresias drf random'
    say "load.png: allreduce-cluster --jobs=philly:ee9e8c.trace --arrival-speed=..."
    for speed in 0.25 0.5 1 2 4; do
        "$build_dir/bin/allreduce-cluster" --jobs="philly:$ALLREDUCE_TRACES/ee9e8c.trace" --slot-time=600s \
            --slots=auto --topology=fattree:4 --gpus=8 --move-cost=60s --policy="${policies// /,}" \
            --arrival-speed="$speed" --format=csv 2>/dev/null | sed "1d; s/^/$speed,/"
    done >"$scratch/load.csv"
    gnuplot -e "set terminal pngcairo size 1000,560; set output '$folder/load.png'" \
        -e "set datafile separator ','; set logscale xy; set key left top" \
        -e "set xlabel 'arrivals, times as fast as in the trace'; set ylabel 'mean completion time in hours'" \
        -e "set xtics (0.25, 0.5, 1, 2, 4); set xrange [0.2:5]" \
        -e "plot for [p in '$policies'] '< grep ,'.p.', $scratch/load.csv' using 1:(column(9) / 3600) \
            with linespoints linewidth 2 title p"
}

what=${2:-all}
[[ $what == screenshots ]] || { make_plots && plot_load; }
[[ $what == plots ]] || "$module_dir/utils/check-report.sh" "$folder"
