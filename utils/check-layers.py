#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: check-layers.py [ROOT]: fails if an #include in model/, helper/ or examples/ goes against the layers, and says
# which line it is. Which layers there are, and what they may include, is read from the drawing in CONTRIBUTING.md; the
# manual must show the same drawing.

import re
import sys
from pathlib import Path

SOURCE = "CONTRIBUTING.md"
MANUAL = "doc/allreduce.rst"
FIRST_COLUMN = "layer"

# The other layers are folders of model/, of examples/ or of the module.
FOLDERS = {"compat": "model", "programs": "examples"}

# What "objects" means in the column of ns-3: objects with attributes, and no simulator.
NS3_OBJECTS = set(
    """
    abort.h assert.h attribute.h attribute-helper.h boolean.h callback.h double.h enum.h integer.h log.h object.h
    object-base.h object-factory.h object-ptr-container.h object-vector.h pointer.h ptr.h simple-ref-count.h string.h
    traced-callback.h traced-value.h type-id.h uinteger.h
    """.split()
)

INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


class Layer:
    """A line of the table: name, what it may include of the module and of ns-3, what belongs there."""

    def __init__(self, line):
        columns = re.split(r"\s{2,}", line.strip(), maxsplit=3)
        if len(columns) != 4 or columns[2] not in ("-", "objects", "all"):
            sys.exit(f"{SOURCE}: expected LAYER, MAY INCLUDE, NS-3 (-, objects or all), WHAT: {line}")
        self.name, below, self.ns3, _ = columns
        self.below = [] if below == "-" else below.split(", ")


def read_drawing(text):
    """The block with the table, as a list of lines."""
    for block in re.findall(r"^```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        lines = block.rstrip("\n").split("\n")
        if any(line.startswith(FIRST_COLUMN + " ") for line in lines):
            return lines
    sys.exit(f"{SOURCE}: no table of layers: a block of text in which a line begins with '{FIRST_COLUMN} '")


def read_layers(drawing):
    head = next(i for i, line in enumerate(drawing) if line.startswith(FIRST_COLUMN + " "))
    layers = {}
    for line in drawing[head + 1 :]:
        layer = Layer(line)
        unknown = [name for name in layer.below if name not in layers]
        if unknown:
            sys.exit(f"{SOURCE}: {layer.name} may include {unknown[0]}, which is not above it in the table")
        layers[layer.name] = layer
    return layers


def find_allowed(layers):
    """By layer: it, what it may include, and all that this may include."""
    allowed = {}
    for name, layer in layers.items():
        allowed[name] = {name}.union(*(allowed[other] for other in layer.below))
    return allowed


def find_layer(folder, layers):
    for name in layers:
        if folder in (FOLDERS.get(name), f"model/{name}", f"examples/{name}", name) or folder.startswith(f"model/{name}/"):
            return name
    return None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    drawing = read_drawing((root / SOURCE).read_text())
    layers = read_layers(drawing)
    allowed = find_allowed(layers)
    faults = []

    shown = "\n".join("  " + line if line else "" for line in drawing)
    if shown not in (root / MANUAL).read_text():
        faults.append(f"{MANUAL}: expected the drawing of the layers of {SOURCE}, each line after two spaces")

    files = sorted(
        path.relative_to(root)
        for top in ("model", "helper", "examples", "test")
        for path in (root / top).rglob("*")
        if path.suffix in (".h", ".cc")
    )
    layer_of = {}
    header_of = {}
    for path in files:
        folder = path.parent.as_posix()
        layer_of[path] = "test" if folder.split("/")[0] == "test" else find_layer(folder, layers)
        if layer_of[path] is None:
            faults.append(f"{path}: {folder} is no layer: expected a line for it in the table of {SOURCE}")
        if path.suffix == ".h":
            other = header_of.setdefault(path.name, path)
            if other != path:
                faults.append(f"{path}: has the name of {other}, expected one of its own")

    n_includes = 0
    for path in files:
        if layer_of[path] not in layers:
            continue
        layer = layers[layer_of[path]]
        for number, line in enumerate((root / path).read_text().split("\n"), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            n_includes += 1
            bracket, name = found.groups()
            here = f"{path}:{number}: {layer.name} includes {name}"
            header = header_of.get(name.split("/")[-1]) if bracket == '"' else None
            if header:
                other = layer_of[header]
                if other not in allowed[layer.name]:
                    below = ", ".join(sorted(allowed[layer.name] - {layer.name})) or "no other layer"
                    faults.append(f"{here} of {other}, expected {below}")
            elif name.startswith("ns3/") and layer.ns3 != "all":
                if layer.ns3 == "-" or name[len("ns3/") :] not in NS3_OBJECTS:
                    what = "nothing of ns-3" if layer.ns3 == "-" else "of ns-3 its objects and attributes alone"
                    faults.append(f"{here}, expected {what}")
            elif name.startswith(("torch/", "ATen/", "c10/")) and layer.name != "policy":
                faults.append(f"{here}, expected LibTorch in policy alone")

    if n_includes == 0:
        faults.append(f"{root}: no includes found")
    for fault in faults:
        print(fault)
    print(f"{n_includes} includes in {len(layers)} layers, {len(faults)} against them")
    return 1 if faults else 0


sys.exit(main())
