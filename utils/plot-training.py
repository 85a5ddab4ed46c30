#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the logs of allreduce-train as curves: plot-training.py LOG.csv... > CURVES.svg

Above, rounds over the least possible; below, the length of staggered plans over the least of plans whose halves do not
overlap. Pale: while sampling, as a mean over ten iterations. Strong: the better of both weights in validation.
"""

import csv
import math
import sys

WIDTH, HEIGHT, MARGIN = 720, 360, 56
COLORS = ["#1f6fb2", "#c2571a", "#2b8a3e", "#7a3fa0"]
LEAST = 0.02  # of a round: what the logarithmic axis begins with


def read(path, sampled_key, validated_keys):
    """Return the curves [(iteration, value)] while sampling and in validation; 0 is no value."""
    sampled, validated, recent = [], [], []
    with open(path, encoding="ascii") as log:
        for row in csv.DictReader(log):
            iteration = int(row["iteration"])
            if float(row.get(sampled_key) or 0) > 0 or sampled_key == "excess_rounds":
                recent = (recent + [float(row[sampled_key])])[-10:]
                sampled.append((iteration, sum(recent) / len(recent)))
            values = [float(row[key]) for key in validated_keys if row.get(key)]
            if values:
                validated.append((iteration, min(values)))
    return sampled, validated


def draw(top, title, names, curves, last, ticks, get_height):
    """Print a panel. get_height maps a value to 0 (bottom) to 1 (top)."""

    def place(point):
        x = MARGIN + (WIDTH - 2 * MARGIN) * point[0] / last
        height = min(1, max(0, get_height(point[1])))
        return f"{x:.1f},{top + HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * height:.1f}"

    for tick in ticks:
        left, right = place((0, tick)), place((last, tick))
        print(f'<polyline points="{left} {right}" stroke="#ccc"/>')
        x, y = left.split(",")
        print(f'<text x="{float(x) - 6}" y="{float(y) + 4}" text-anchor="end">{tick:g}</text>')
    for tick in range(0, last + 1, max(1, last // 5)):
        x = place((tick, 0)).split(",")[0]
        print(f'<text x="{x}" y="{top + HEIGHT - MARGIN + 18}" text-anchor="middle">{tick}</text>')
    print(f'<text x="{WIDTH / 2}" y="{top + HEIGHT - 12}" text-anchor="middle">iterations</text>')
    print(f'<text x="{MARGIN}" y="{top + MARGIN - 30}">{title}</text>')
    for number, (name, curve) in enumerate(zip(names, curves)):
        color = COLORS[number % len(COLORS)]
        for part, style in zip(curve, ('stroke-opacity="0.35"', 'stroke-width="2"')):
            points = " ".join(place(point) for point in part)
            print(f'<polyline points="{points}" fill="none" stroke="{color}" {style}/>')
        if any(curve):
            y = top + MARGIN - 30 + 16 * number
            print(f'<text x="{WIDTH - MARGIN}" y="{y}" text-anchor="end" fill="{color}">')
            print(f"{name}: sampling (pale), validation (strong)</text>")


def main(paths):
    names = [path.split("/")[-1].rsplit(".", 1)[0] for path in paths]
    excess = [read(path, "excess_rounds", ["validation", "validation_averaged"]) for path in paths]
    staggered_keys = ["validation_staggered", "validation_averaged_staggered"]
    staggered = [read(path, "staggered", staggered_keys) for path in paths]
    # Without an upper policy for staggered plans validation says 1.
    staggered = [curve if curve[0] else ([], []) for curve in staggered]
    last = max(curve[0][-1][0] for curve in excess)
    most = max(y for curve in excess for part in curve for _, y in part)
    decades = math.log10(most * 1.3 / LEAST)
    panels = 2 if any(curve[0] for curve in staggered) else 1
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {panels * HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{panels * HEIGHT}" fill="white"/>'
    )
    ticks = [10**e for e in range(math.ceil(math.log10(LEAST)), math.floor(math.log10(most * 1.3)) + 1)]
    title = "rounds over the least possible, mean"
    draw(0, title, names, excess, last, ticks, lambda y: math.log10(max(y, LEAST) / LEAST) / decades)
    if panels == 2:
        title = "length of staggered plans over the least of others, mean"
        draw(HEIGHT, title, names, staggered, last, [0.9, 1, 1.1], lambda y: (y - 0.85) / 0.3)
    print("</svg>")


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(sys.argv[1:])
