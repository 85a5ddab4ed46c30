#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the logs of allreduce-train as curves: plot-training.py LOG.csv... > CURVES.svg

Above, rounds over the least possible while sampling, pale for each iteration, strong as a mean over ten of them. Below,
the length of plans over the least possible in validation, pale for the present weights, strong for the averaged ones.
"""

import csv
import math
import sys

WIDTH, HEIGHT, MARGIN = 720, 360, 56
COLORS = ["#1f6fb2", "#c2571a", "#2b8a3e", "#7a3fa0"]
LEAST = 0.02  # of a round: what the logarithmic axis begins with
STYLES = ['stroke-opacity="0.35"', 'stroke-width="2"']


def read(path, key):
    """Return the curve [(iteration, value)] of a column; lines without a value are left out."""
    with open(path, encoding="ascii") as log:
        return [(int(row["iteration"]), float(row[key])) for row in csv.DictReader(log) if row[key]]


def smooth(curve, count=10):
    """Return the mean of the last values of a curve."""
    parts = [curve[max(0, i + 1 - count) : i + 1] for i in range(len(curve))]
    return [(part[-1][0], sum(y for _, y in part) / len(part)) for part in parts]


def make_ticks(least, most):
    """Return some round numbers from one to the other."""
    step = 10 ** math.floor(math.log10(most - least))
    while (most - least) / step < 3:
        step /= 2
    return [i * step for i in range(math.ceil(least / step), math.floor(most / step) + 1)]


def draw(top, title, legend, names, curves, last, ticks, get_height):
    """Print a panel. curves: by name, a pale one and a strong one; get_height maps a value to 0 (bottom) to 1 (top)."""

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
        x = place((tick, ticks[0])).split(",")[0]
        print(f'<text x="{x}" y="{top + HEIGHT - MARGIN + 18}" text-anchor="middle">{tick}</text>')
    print(f'<text x="{WIDTH / 2}" y="{top + HEIGHT - 12}" text-anchor="middle">iterations</text>')
    print(f'<text x="{MARGIN}" y="{top + MARGIN - 30}">{title}</text>')
    for number, (name, pair) in enumerate(zip(names, curves)):
        color = COLORS[number % len(COLORS)]
        for curve, style in zip(pair, STYLES):
            points = " ".join(place(point) for point in curve)
            print(f'<polyline points="{points}" fill="none" stroke="{color}" {style}/>')
        y = top + MARGIN - 30 + 16 * number
        print(f'<text x="{WIDTH - MARGIN}" y="{y}" text-anchor="end" fill="{color}">{name}: {legend}</text>')


def draw_sampled(names, paths, last):
    """Print the panel of rounds over the least possible, on a logarithmic axis."""
    curves = [(curve, smooth(curve)) for curve in (read(path, "excess_rounds") for path in paths)]
    most = 1.3 * max(y for pair in curves for curve in pair for _, y in curve)
    decades = max(1, math.log10(max(most, LEAST) / LEAST))
    ticks = [10.0**e for e in range(math.ceil(math.log10(LEAST)), math.floor(math.log10(LEAST) + decades) + 1)]
    title = "rounds over the least possible while sampling, mean"
    legend = "each iteration (pale), mean of 10 (strong)"
    draw(0, title, legend, names, curves, last, ticks, lambda y: math.log10(max(y, LEAST) / LEAST) / decades)


def draw_validated(names, paths, last):
    """Print the panel of validation."""
    curves = [(read(path, "validation"), read(path, "validation_averaged")) for path in paths]
    values = [y for pair in curves for curve in pair for _, y in curve] or [1]
    least, most = 1, max(1.01, *values)
    title = "length of plans over the least possible in validation, mean"
    legend = "present weights (pale), averaged (strong)"
    scale = lambda y: (y - least) / (most - least)
    draw(HEIGHT, title, legend, names, curves, last, make_ticks(least, most), scale)


def main(paths):
    names = [path.split("/")[-1].rsplit(".", 1)[0] for path in paths]
    last = max(read(path, "excess_rounds")[-1][0] for path in paths)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {2 * HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{2 * HEIGHT}" fill="white"/>'
    )
    draw_sampled(names, paths, last)
    draw_validated(names, paths, last)
    print("</svg>")


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(sys.argv[1:])
