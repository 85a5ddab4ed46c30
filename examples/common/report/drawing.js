// SPDX-License-Identifier: GPL-2.0-only
//
// The network in a pane: servers, switches and links, with what happens in a step. Nodes that stand
// for several show each of their servers as a cell; names are there where they fit, and the more one
// zooms in, the more of them do.

"use strict";

const LABEL_FONT = '10.5px system-ui, "DejaVu Sans", sans-serif';
const LABEL_HEIGHT = 13;
const MOST_SWITCH = 20;  // half its width
const MANY_LINES = 100;  // arrows and thick lines would cover each other
const SHARES = 8;        // of final and of partial sums, by which servers in a group are told apart
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

function getEnds(view, line) {
  const [a, b] = view.links[line >> 1];
  return line & 1 ? [b, a] : [a, b];
}

const describeLine = (view, line) => getEnds(view, line).map((i) => describeNode(view, i)).join(" to ");

// The least distance of two nodes, in the direction in which they are further apart.
function findLeastDistance(places) {
  let least = Infinity;
  places.forEach(([x, y], i) => {
    for (let j = 0; j < i; ++j) {
      const distance = Math.max(Math.abs(x - places[j][0]), Math.abs(y - places[j][1]));
      if (distance > 0.5) least = Math.min(least, distance);
    }
  });
  return least;
}

// Half the width of a node: so large that neighbors are apart.
function chooseNodeSize({view, places}) {
  const room = 0.42 * findLeastDistance(places);
  const most = view.is_aggregated ? 44 * camera.zoom : 14 * (1 + Math.log2(camera.zoom));
  return clamp(room, view.is_aggregated ? 6 : 5, most);
}

function chooseHeight(view, width) {
  const nRows = new Set(view.nodes.map((node) => node.y.toFixed(3))).size;
  const gap = view.is_aggregated ? 150 : 110;
  return nRows <= 6 ? gap * Math.max(1, nRows - 1) + 90 : clamp(width, 300, 680);
}

// By node its place, such that the network fills the drawing: nodes drawn as one are in the middle of
// where they were, and may leave the edges empty.
function spreadNodes({nodes}) {
  const spread = (values) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return values.map((value) => most - least > 1e-6 ? (value - least) / (most - least) : 0.5);
  };
  const [xs, ys] = ["x", "y"].map((axis) => spread(nodes.map((node) => node[axis])));
  return xs.map((x, i) => [x, ys[i]]);
}

function layOut(pane) {
  const {view, parts: {drawing}} = pane;
  pane.width = drawing.parentElement.clientWidth;
  pane.height = chooseHeight(view, pane.width);
  const margin = view.is_aggregated ? 60 : 36;
  pane.span = [pane.width - (pane.width < 600 ? margin : 2 * margin), pane.height - 2 * margin];
  pane.places = view.spread.map(([x, y]) =>
    [pane.width / 2 + (x - camera.x) * pane.span[0] * camera.zoom,
     pane.height / 2 + (y - camera.y) * pane.span[1] * camera.zoom]);
  pane.size = chooseNodeSize(pane);
  setSize(drawing, pane.width, pane.height);
  drawing.classList.toggle("zoomed", camera.zoom > 1);
}

function isSeen({width, height, size, places}, i) {
  const [x, y] = places[i];
  return x > -size && y > -size && x < width + size && y < height + size;
}

// Whether a line may cross what is seen.
function mayCross({width, height, places}, a, b) {
  const [[x1, y1], [x2, y2]] = [places[a], places[b]];
  return Math.max(x1, x2) > 0 && Math.max(y1, y2) > 0 && Math.min(x1, x2) < width &&
    Math.min(y1, y2) < height;
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

// Half the width and half the height of a node.
function getReach(pane, i) {
  const {view, size} = pane;
  if (view.nodes[i].servers === 0) return Array(2).fill(Math.min(MOST_SWITCH, size * 0.9));
  if (!view.is_aggregated) return [size + 2, size + 2];
  return [size + 3, placeMembers(pane, i).high / 2 + 3];
}

function addBox(parent, [x, y], [half, halfHigh], attributes) {
  return add(parent, "rect", {x: x - half, y: y - halfHigh, width: half * 2, height: halfHigh * 2,
                              rx: 4, ...attributes});
}

// Several switches have a color for how much of what their lines can carry is used in the step.
function addSwitch(group, pane, i, heat) {
  const isSeveral = pane.view.nodes[i].switches > 1;
  const fill = isSeveral ? heat(pane.nodeUse[i]) : "var(--switch)";
  addBox(group, pane.places[i], getReach(pane, i), {
    fill, stroke: isSeveral ? "var(--switch)" : "var(--card)", "stroke-width": 1.5});
}

// So many that all rows are full, if that does not make the box flat.
function chooseColumns(count) {
  const least = Math.ceil(Math.sqrt(count));
  for (let n = least; n <= 2 * least; ++n) {
    if (count % n === 0) return n;
  }
  return least;
}

// Where the servers of a group are inside its box.
function placeMembers({view, places, size}, i) {
  const count = view.members[i].length;
  const nColumns = chooseColumns(count);
  const cell = 2 * size / nColumns;
  const high = cell * Math.ceil(count / nColumns);
  return {left: places[i][0] - size, top: places[i][1] - high / 2, cell, nColumns, high};
}

let shareColors = {};  // by color scheme

function getShareColors() {
  const [none, reduce, broadcast] = ["--cold", "--reduce", "--broadcast"].map(getColor);
  const key = none + reduce;
  shareColors[key] = shareColors[key] || [...SHARE_CODE].map((letter, code) => {
    const [partial, final] = readShares(code);
    return mix(mix(none, reduce, partial), broadcast, final);
  });
  return shareColors[key];
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

// By server: the letter of its shares at the last step, up to this one, that has them.
function findServerLetters({view, index}) {
  for (let i = index; i >= 0; --i) {
    if (view.steps[i].servers) return view.steps[i].servers;
  }
  return "";
}

function describeHeld(view, i, step) {
  const all = view.nodes[i].servers * view.chunks;
  const held = all ? `: ${step.final[i]} final and ${step.partial[i]} partial sums of ${all}` : "";
  return describeNode(view, i) + held;
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

const doOverlap = (x, y) => x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom;

function makeLabelBox(text, x, y) {
  const half = measureText(text, LABEL_FONT) / 2 + 2;
  return {left: x - half, right: x + half, top: y - LABEL_HEIGHT + 2, bottom: y + 2};
}

function makeNodeBox(pane, i) {
  const [[x, y], [half, halfHigh]] = [pane.places[i], getReach(pane, i)];
  return {left: x - half, right: x + half, top: y - halfHigh, bottom: y + halfHigh};
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

// By line and direction the share of its capacity that the drawing shows as used.
function getLineUse({view, index}) {
  const mode = get("mode").value;
  if (mode === "planned") return view.use;
  if (mode === "measured" && view.run) return view.run.use;
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

function addLinks(pane, near) {
  const mode = get("mode").value;
  addWires(pane, near);
  if (mode === "round") addTraffic(pane, near);
  else if (mode !== "bottleneck") addUse(pane, near);
  else if (pane.view.bottleneck) addBottleneck(pane);
}

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
  const server = findMemberAt(pane, event.offsetX, event.offsetY);
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
  return `${describeLine(view, number)}: ${describeLoad(view, number, index)} in this step, ` +
    `${percent(view.use[number])} of its capacity in all rounds`;
}
