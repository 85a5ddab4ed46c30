// SPDX-License-Identifier: GPL-2.0-only
//
// Links of a drawing: what crosses them in a step, their use, and the bottleneck.

"use strict";

const MANY_LINES = 100;  // arrows and thick lines would cover each other

function getEnds(view, line) {
  const [a, b] = view.links[line >> 1];
  return line & 1 ? [b, a] : [a, b];
}

const describeLine = (view, line) => getEnds(view, line).map((i) => describeNode(view, i)).join(" to ");

// Traffic keeps to the right, so that both directions can be seen. With an arrow where there is room.
function makeLane({places}, from, to, hasArrow) {
  const [x1, y1, x2, y2] = [...places[from], ...places[to]];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [dx, dy] = [-2.6 * uy, 2.6 * ux];
  const lane = `M${x1 + dx},${y1 + dy} L${x2 + dx},${y2 + dy}`;
  if (!hasArrow) return lane;
  const [x, y] = [x1 * 0.45 + x2 * 0.55 + dx, y1 * 0.45 + y2 * 0.55 + dy];
  const wing = (side) => `${x - 4 * ux + side * 3.4 * uy},${y - 4 * uy - side * 3.4 * ux}`;
  return `${lane} M${wing(1)} L${x + 4 * ux},${y + 4 * uy} L${wing(-1)} z`;
}

// A directed line of the drawing; a title is made only when it is pointed at, see describeAt.
function addLane(pane, line, near, attributes) {
  const [from, to] = getEnds(pane.view, line);
  if (!mayCross(pane, from, to)) return;
  const isNear = near && near.lines.has(line >> 1);
  const hasArrow = attributes.fill !== "none";
  add(pane.parts.drawing, "path", {d: makeLane(pane, from, to, hasArrow), "data-line": line,
                                   class: "traffic" + (isNear ? " near" : ""), ...attributes});
}

const countRounds = ({steps}, index) => index ? steps[index].round - steps[index - 1].round : 1;

// By line and direction its use in all rounds: what was measured, where something was run.
const getTotalUse = (view) => view.run ? view.run.use : view.use;
const nameTotalUse = (view) => view.run ? "measured use" : "planned unit flows over capacity";

// By line and direction the share of its capacity that the drawing shows as used.
function getLineUse({view, index}) {
  const mode = get("mode").value;
  if (mode === "total") return getTotalUse(view);
  const shares = view.use.map(() => 0);
  if (mode === "bottleneck") return shares;
  const {load} = view.steps[index];
  for (let i = 0; i < load.length; i += 3) {
    const most = view.links[load[i] >> 1][2] * countRounds(view, index);
    shares[load[i]] = (load[i + 1] + load[i + 2]) / most;
  }
  return shares;
}

// By node the share of what its lines can carry.
function getNodeUse(pane) {
  const {view} = pane;
  const [used, most] = [0, 1].map(() => view.nodes.map(() => 0));
  getLineUse(pane).forEach((share, line) => {
    for (const end of getEnds(view, line)) {
      used[end] += share * view.links[line >> 1][2];
      most[end] += view.links[line >> 1][2];
    }
  });
  return used.map((count, i) => most[i] ? count / most[i] : 0);
}

function addTraffic(pane, near) {
  const {view, index} = pane;
  const {load} = view.steps[index];
  const use = getLineUse(pane);
  const isDense = view.links.length > MANY_LINES * camera.zoom;
  const widest = isDense ? 0.9 : 1.8;
  for (let i = 0; i < load.length; i += 3) {
    const [line, reduces, broadcasts] = load.slice(i, i + 3);
    const color = `var(--${reduces === 0 ? "broadcast" : broadcasts === 0 ? "reduce" : "both"})`;
    addLane(pane, line, near, {stroke: color, fill: isDense ? "none" : color,
                               opacity: isDense ? 0.65 : 1, "stroke-width": 0.3 + widest * use[line]});
  }
}

function addUse(pane, near) {
  const heat = makeHeatScale();
  const wide = pane.view.links.length > MANY_LINES * camera.zoom ? 1.5 : 4;
  getLineUse(pane).forEach((share, line) => addLane(pane, line, near, {stroke: heat(share), fill: "none",
                                                          "stroke-width": wide}));
}

// What the lower bound is about: links are as wide as their price is high, those inside a node that
// stands for several are a frame around it.
function addBottleneck(pane) {
  const {view, places, parts: {drawing}} = pane;
  const {prices, nodes} = view.bottleneck;
  const most = Math.max(...prices);
  const widest = prices.length > MANY_LINES * camera.zoom ? 1 : 4;
  prices.forEach((price, i) => {
    if (price === 0) return;
    const [a, b] = view.links[i];
    add(drawing, "line", {
      x1: places[a][0], y1: places[a][1], x2: places[b][0], y2: places[b][1], class: "priced",
      "data-priced": i, stroke: "var(--hot)", "stroke-width": widest * price / most});
  });
  for (const i of nodes) {
    addBox(drawing, places[i], getReach(pane, i).map((half) => half + 3),
           {class: "priced", fill: "none", stroke: "var(--hot)", "stroke-width": 3});
  }
}

function addWires(pane, near) {
  const {view, places, index, parts: {drawing}} = pane;
  const down = view.is_aggregated ? new Set() : findDownLinks(view, index);
  view.links.forEach(([a, b], i) => {
    if (!mayCross(pane, a, b)) return;
    const isDown = down.has(`${a}-${b}`);
    add(drawing, "line", {
      x1: places[a][0], y1: places[a][1], x2: places[b][0], y2: places[b][1],
      class: `wire${isDown ? " down" : ""}${near && near.lines.has(i) ? " near" : ""}`,
      "data-wire": i, "stroke-width": view.links.length > MANY_LINES * camera.zoom ? 0.5 : 1});
  });
}

function addLinks(pane, near) {
  const mode = get("mode").value;
  addWires(pane, near);
  if (mode === "jobs" && pane.view.job) addJobs(pane, near);
  else if (mode === "round" || mode === "jobs") addTraffic(pane, near);
  else if (mode !== "bottleneck") addUse(pane, near);
  else if (pane.view.bottleneck) addBottleneck(pane);
}
