#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only

"""Compares what a text says with what a program printed, so that texts cannot drift.

Usage: check-numbers.py lines|numbers|table TEXT OUTPUT

lines    the words of every line of TEXT stand in one line of OUTPUT, in this order, perhaps with others between
         them; a line "..." stands for anything
numbers  every number in TEXT, outside of `code`, is one of OUTPUT's, rounded as it is in TEXT
table    every number in the Markdown table TEXT is one of those rows of OUTPUT (JSON) that have the names at the
         cell's line and column, rounded as in TEXT; rows also have "rounds" over "bound". OUTPUT may be several
         arrays of rows, one after another.
"""

import json
import re
import sys

NUMBER = re.compile(r"(?<![\w.:,=-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w:=-]|\.\d|,\d)")


def find_numbers(text):
    return [number.replace(",", "") for number in NUMBER.findall(text)]


def is_among(number, values):
    """Whether one of the values is the number, at the number's precision."""
    decimals = len(number.partition(".")[2])
    return any(abs(float(number) - value) <= 0.5001 * 10**-decimals for value in values)


def is_within(words, line):
    rest = iter(line)
    return all(word in rest for word in words)


def check_lines(text, output):
    lines = [line.split() for line in output.splitlines()]
    for line in text.splitlines():
        words = line.split()
        if words and words != ["..."] and not any(is_within(words, other) for other in lines):
            yield f"not printed: {line}"


def check_numbers(text, output):
    values = [float(value) for value in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", output)]
    for number in find_numbers(re.sub(r"`+[^`]*`+", "", text)):
        if not is_among(number, values):
            yield f"not printed: {number}"


def name_of(cell):
    """`bcube:4,1` with `--degrade=0.05,3` is what a program calls "bcube:4,1 degrade=0.05,3"."""
    return re.sub(r"[`*]", "", cell).replace("with --", "").strip()


def named(rows, name):
    """The rows that have the name or, if there is none, one that it begins with: `ps` of "ps parameter server"."""
    exact = [row for row in rows if name in row.values()]
    return exact or [row for row in rows if any(name.startswith(f"{value} ") for value in row.values())]


def values_of(rows):
    for row in rows:
        yield from (value for value in row.values() if isinstance(value, (int, float)))
        if row.get("bound"):
            yield row["rounds"] / row["bound"]


def read_rows(output):
    """The rows of one JSON array after another."""
    decoder = json.JSONDecoder()
    rows = []
    while output.strip():
        array, end = decoder.raw_decode(output.strip())
        rows += array
        output = output.strip()[end:]
    return rows


def check_table(text, output):
    rows = read_rows(output)
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.strip().splitlines()]
    titles, body = lines[0], lines[2:]
    for line in body:
        matching = named(rows, name_of(line[0]))
        if not matching:
            yield f"no row is called {name_of(line[0])}"
        for title, cell in zip(titles[1:], line[1:]):
            chosen = named(matching, name_of(title)) or matching
            for number in find_numbers(cell):
                if not is_among(number, list(values_of(chosen))):
                    yield f"{line[0]}, {title}: {number} was not printed"


def main():
    check = {"lines": check_lines, "numbers": check_numbers, "table": check_table}[sys.argv[1]]
    with open(sys.argv[2]) as text, open(sys.argv[3]) as output:
        wrong = list(check(text.read(), output.read()))
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
