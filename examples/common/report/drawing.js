// SPDX-License-Identifier: GPL-2.0-only
//
// The network in a pane with what happens in a step, and what the pointer is at.

"use strict";

function drawNetwork(pane) {
  const {view, parts: {drawing}} = pane;
  layOut(pane);
  pane.nodeUse = getNodeUse(pane);
  const near = findNear(pane);
  const heat = makeHeatScale();
  drawing.replaceChildren();
  drawing.classList.toggle("chosen", near !== null);
  drawing.classList.remove("focused");
  pane.focus = undefined;
  addRacks(pane);
  addLinks(pane, near);
  pane.highlight = add(drawing, "path", {class: "mark", "stroke-linejoin": "round"});
  const groups = new Map();
  view.nodes.forEach((node, i) => {
    if (isSeen(pane, i)) groups.set(i, addNode(pane, i, near, heat));
  });
  addLabels(pane, groups);
  if (near) addMarks(pane, near);
}

function highlight({places, highlight}, path) {
  highlight.setAttribute(
    "d", path.map((node, i) => (i ? "L" : "M") + places[node].join()).join(" "));
}

// The server at a place of the drawing if that is in a group; else nothing.
function findMemberAt(pane, x, y) {
  const {view, places} = pane;
  if (!view.is_aggregated) return undefined;
  const i = places.findIndex((place, j) => view.nodes[j].servers && doOverlap(
    makeNodeBox(pane, j), {left: x, right: x, top: y, bottom: y}));
  if (i < 0) return undefined;
  const {left, top, cell, nColumns} = placeMembers(pane, i);
  const [row, column] = [Math.floor((y - top) / cell), Math.floor((x - left) / cell)];
  return column >= 0 && column < nColumns ? view.members[i][row * nColumns + column] : undefined;
}

function describeLoad(view, line, index) {
  const {load} = view.steps[index];
  for (let i = 0; i < load.length; i += 3) {
    if (load[i] === line) return `${load[i + 1]} reduces, ${load[i + 2]} broadcasts`;
  }
  return "nothing";
}

// Only the lines of the node that is pointed at keep their color, unless something is searched for.
function focusOn(pane, node) {
  const {view, parts: {drawing}} = pane;
  if (node === pane.focus || drawing.classList.contains("chosen")) return;
  pane.focus = node;
  drawing.classList.toggle("focused", node !== undefined);
  for (const element of drawing.querySelectorAll("[data-line], [data-wire]")) {
    const {line, wire} = element.dataset;
    const [a, b] = view.links[line === undefined ? wire : line >> 1];
    element.classList.toggle("near", a === node || b === node);
  }
}

function findNodeAt({target}) {
  const group = target.closest && target.closest(".node");
  return group ? +group.dataset.node : undefined;
}

// What the pointer is at, in words.
function describeAt(pane, event) {
  const {view, index} = pane;
  const server = findMemberAt(pane, ...locate(event, pane.parts.drawing));
  if (server !== undefined) return describeMember(pane, server);
  const {line, wire, priced} = event.target.dataset || {};
  if (priced !== undefined) {
    return `${describeLine(view, 2 * priced)}: price ${show(view.bottleneck.prices[priced])}`;
  }
  const number = line !== undefined ? +line : wire !== undefined ? 2 * wire : -1;
  if (number < 0) {
    const node = findNodeAt(event);
    return node === undefined ? "" : describeHeld(view, node, view.steps[index]);
  }
  const load = get("mode").value === "jobs" && view.job ? describeJobsOn(pane, number)
                                                        : `${describeLoad(view, number, index)} in this step`;
  return `${describeLine(view, number)}: ${load}, ` +
    `${nameTotalUse(view)} ${percent(getTotalUse(view)[number])}`;
}
