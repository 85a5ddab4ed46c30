// SPDX-License-Identifier: GPL-2.0-only
//
// Servers, switches and racks of a drawing. Nodes that stand for several show each of their servers as
// a cell; names are there where they fit, and the more one zooms in, the more of them do.

"use strict";

const LABEL_FONT = '10.5px system-ui, "DejaVu Sans", sans-serif';
const LABEL_HEIGHT = 13;

const SHARES = 8;  // of final and of partial sums, by which servers in a group are told apart
const SHARE_CODE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// By code of a server: [share of partial sums, share of final sums].
const readShares = (code) => [Math.floor(code / SHARES), code % SHARES].map((n) => n / (SHARES - 1));

function describeNode(view, i) {
  const node = view.nodes[i];
  const parts = [];
  if (node.servers) parts.push(node.servers > 1 ? node.servers + " servers" : "server");
  if (node.switches) parts.push(node.switches > 1 ? node.switches + " switches" : "switch");
  return parts.join(" and ") + " " + node.label;
}

function describeHeld(view, i, step) {
  const all = view.nodes[i].servers * view.chunks;
  const held = all ? `: ${step.final[i]} final and ${step.partial[i]} partial sums of ${all}` : "";
  return describeNode(view, i) + held;
}

function addBox(parent, [x, y], [half, halfHigh], attributes) {
  return add(parent, "rect", {x: x - half, y: y - halfHigh, width: half * 2, height: halfHigh * 2,
                              rx: 4, ...attributes});
}

// A ring around a server: final sums from the top on, then partial ones.
function addRing(group, x, y, radius, from, share, color) {
  if (share <= 0) return;
  const around = 2 * Math.PI * radius;
  add(group, "circle", {cx: x, cy: y, r: radius, fill: "none", stroke: color,
                        "stroke-width": Math.min(4, radius / 2),
                        "stroke-dasharray": `${share * around} ${around}`,
                        transform: `rotate(${360 * from - 90} ${x} ${y})`});
}

function addServer(group, pane, i, step) {
  const [x, y] = pane.places[i];
  const all = pane.view.chunks;
  const [final, partial] = [step.final[i] / all, step.partial[i] / all];
  add(group, "circle", {cx: x, cy: y, r: pane.size + 2, fill: "var(--card)", stroke: "var(--wire)"});
  addRing(group, x, y, pane.size, 0, final, "var(--broadcast)");
  addRing(group, x, y, pane.size, final, Math.min(partial, 1 - final), "var(--reduce)");
}

// Several switches have a color for how much of what their lines can carry is used in the step.
function addSwitch(group, pane, i, heat) {
  const isSeveral = pane.view.nodes[i].switches > 1;
  const fill = isSeveral ? heat(pane.nodeUse[i]) : "var(--switch)";
  addBox(group, pane.places[i], getReach(pane, i), {
    fill, stroke: isSeveral ? "var(--switch)" : "var(--card)", "stroke-width": 1.5});
}

const shareColors = {};  // by color scheme

function getShareColors() {
  const [none, reduce, broadcast] = ["--cold", "--reduce", "--broadcast"].map(getColor);
  const key = none + reduce;
  shareColors[key] = shareColors[key] || [...SHARE_CODE].map((letter, code) => {
    const [partial, final] = readShares(code);
    return mix(mix(none, reduce, partial), broadcast, final);
  });
  return shareColors[key];
}

// By server: the letter of its shares at the last step, up to this one, that has them.
function findServerLetters({view, index}) {
  for (let i = index; i >= 0; --i) {
    if (view.steps[i].servers) return view.steps[i].servers;
  }
  return "";
}

// Every server of a group as a cell; those of one color are one path.
function addMembers(group, pane, i, letters) {
  const {left, top, cell, nColumns} = placeMembers(pane, i);
  const gap = cell > 4 ? 1 : 0;
  const paths = new Map();
  pane.view.members[i].forEach((server, j) => {
    const [x, y] = [left + cell * (j % nColumns), top + cell * Math.floor(j / nColumns)];
    const square = `M${x.toFixed(1)} ${y.toFixed(1)}h${(cell - gap).toFixed(1)}` +
      `v${(cell - gap).toFixed(1)}h${(gap - cell).toFixed(1)}z`;
    paths.set(letters[server], (paths.get(letters[server]) || "") + square);
  });
  const colors = getShareColors();
  for (const [letter, d] of paths) add(group, "path", {d, fill: colors[SHARE_CODE.indexOf(letter)]});
  if (cell < measureText(String(pane.view.servers), LABEL_FONT) + 4) return;
  pane.view.members[i].forEach((server, j) => {
    add(group, "text", {x: left + cell * (j % nColumns + 0.5), class: "inside",
                        y: top + cell * (Math.floor(j / nColumns) + 0.5) + 4}, server);
  });
}

function addGroup(group, pane, i) {
  addBox(group, pane.places[i], getReach(pane, i), {fill: "var(--card)", stroke: "var(--wire)"});
  addMembers(group, pane, i, findServerLetters(pane));
}

function addNode(pane, i, near, heat) {
  const {view, index, parts: {drawing}} = pane;
  const node = view.nodes[i];
  const step = view.steps[index];
  const group = add(drawing, "g", {
    "data-node": i,
    class: `node ${node.servers ? "server" : "switch"} ${near && near.nodes.has(i) ? "near" : ""}`});
  if (node.servers === 0) addSwitch(group, pane, i, heat);
  else if (view.is_aggregated) addGroup(group, pane, i);
  else addServer(group, pane, i, step);
  add(group, "title", {}, describeHeld(view, i, step));
  return group;
}

function makeLabelBox(text, x, y) {
  const half = measureText(text, LABEL_FONT) / 2 + 2;
  return {left: x - half, right: x + half, top: y - LABEL_HEIGHT + 2, bottom: y + 2};
}

// Whether names fit into nodes: into all servers, or all switches, or into none of them.
function doFitInside(pane, areServers) {
  const {view} = pane;
  if (view.is_aggregated && areServers) return false;  // cells are there
  const room = areServers ? 8 : 2;
  return view.nodes.every(({label, servers}, i) => (servers > 0) !== areServers ||
    measureText(label, LABEL_FONT) <= 2 * getReach(pane, i)[0] - room);
}

// Names go into the nodes, or below them where they touch neither each other nor a node.
function addLabels(pane, groups) {
  const {view, places, width} = pane;
  const taken = [...groups.keys()].map((i) => makeNodeBox(pane, i));
  const [isInsideSwitch, isInsideServer] = [false, true].map((kind) => doFitInside(pane, kind));
  for (const [i, group] of groups) {
    const [{label, servers}, [x, y], [, halfHigh]] = [view.nodes[i], places[i], getReach(pane, i)];
    if (servers ? isInsideServer : isInsideSwitch) {
      add(group, "text", {x, y: y + 4, class: "inside"}, label);
      continue;
    }
    const below = y + halfHigh + LABEL_HEIGHT - 1;
    const box = makeLabelBox(label, x, below);
    if (box.left < 0 || box.right > width || taken.some((other) => doOverlap(box, other))) continue;
    taken.push(box);
    add(group, "text", {x, y: below, class: "below"}, label);
  }
}

function makeFrame(boxes) {
  const edge = (choose, side, room) => choose(...boxes.map((box) => box[side])) + room;
  return {left: edge(Math.min, "left", -4), right: edge(Math.max, "right", 4),
          top: edge(Math.min, "top", -4), bottom: edge(Math.max, "bottom", 4)};
}

// A frame behind each rack, where nothing else stands in any of them.
function addRacks(pane) {
  const racks = pane.view.racks || [];
  const boxes = pane.view.nodes.map((node, i) => makeNodeBox(pane, i));
  const frames = racks.map((rack) => makeFrame(rack.map((i) => boxes[i])));
  const isMixed = (frame, k) => boxes.some((box, i) => !racks[k].includes(i) && doOverlap(frame, box));
  if (frames.some(isMixed)) return;
  for (const {left, right, top, bottom} of frames) {
    add(pane.parts.drawing, "rect", {x: left, y: top, width: right - left, height: bottom - top,
                                     rx: 8, class: "rack"});
  }
}
