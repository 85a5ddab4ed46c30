#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the log of allreduce-train as a curve: plot-training.py LOG.csv... > CURVE.svg

Excess rounds while sampling, as a mean over ten iterations, and of the best weights in validation.
"""

import csv
import math
import sys

WIDTH, HEIGHT, MARGIN = 720, 360, 56
COLORS = ["#1f6fb2", "#c2571a", "#2b8a3e", "#7a3fa0"]
LEAST = 0.02  # of a round: what the logarithmic axis begins with


def read(path):
    """Return (iteration, excess) while sampling and in validation."""
    sampled, validated, recent = [], [], []
    with open(path, encoding="ascii") as log:
        for row in csv.DictReader(log):
            recent = (recent + [float(row["excess_rounds"])])[-10:]
            sampled.append((int(row["iteration"]), sum(recent) / len(recent)))
            if row["validation"]:
                best = min(float(row["validation"]), float(row["validation_averaged"]))
                validated.append((int(row["iteration"]), best))
    return sampled, validated


def main(paths):
    curves = [read(path) for path in paths]
    last = max(curve[0][-1][0] for curve in curves)
    most = max(y for curve in curves for part in curve for _, y in part)
    decades = math.log10(most * 1.3 / LEAST)

    def place(point):
        x = MARGIN + (WIDTH - 2 * MARGIN) * point[0] / last
        height = math.log10(max(point[1], LEAST) / LEAST) / decades
        return f"{x:.1f},{HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * height:.1f}"

    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    )
    for exponent in range(math.ceil(math.log10(LEAST)), math.floor(math.log10(most * 1.3)) + 1):
        left, right = place((0, 10**exponent)), place((last, 10**exponent))
        print(f'<polyline points="{left} {right}" stroke="#ccc"/>')
        x, y = left.split(",")
        print(f'<text x="{float(x) - 6}" y="{float(y) + 4}" text-anchor="end">{10 ** exponent:g}</text>')
    for tick in range(0, last + 1, max(1, last // 5)):
        x = place((tick, LEAST)).split(",")[0]
        print(f'<text x="{x}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{tick}</text>')
    print(f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">iterations</text>')
    print(f'<text x="{MARGIN}" y="{MARGIN - 30}">rounds over the least possible, mean</text>')
    for number, (path, curve) in enumerate(zip(paths, curves)):
        color = COLORS[number % len(COLORS)]
        name = path.split("/")[-1].rsplit(".", 1)[0]
        for part, style in zip(curve, ('stroke-opacity="0.35"', 'stroke-width="2"')):
            points = " ".join(place(point) for point in part)
            print(f'<polyline points="{points}" fill="none" stroke="{color}" {style}/>')
        y = MARGIN - 30 + 16 * number
        print(f'<text x="{WIDTH - MARGIN}" y="{y}" text-anchor="end" fill="{color}">')
        print(f"{name}: sampling (pale), validation (strong)</text>")
    print("</svg>")


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(sys.argv[1:])
