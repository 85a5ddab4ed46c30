// SPDX-License-Identifier: GPL-2.0-only

"use strict";

const get = (id) => document.getElementById(id);
const data = JSON.parse(get("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function add(parent, name, attributes = {}, text = "") {
  const isDrawn = parent instanceof SVGElement;
  const child = isDrawn ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) child.setAttribute(key, value);
  if (text !== "") child.textContent = text;
  parent.appendChild(child);
  return child;
}

function addSvg(parent, width, height) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  parent.appendChild(svg);
  return svg;
}

function show(value) {
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 0.001 ? String(+value.toPrecision(5)) : value.toExponential(3);
}

const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";

function showTime(nanoseconds) {
  for (const [name, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (Math.abs(nanoseconds) >= size) return +(nanoseconds / size).toPrecision(4) + " " + name;
  }
  return nanoseconds + " ns";
}

const getColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function mix(from, to, share) {
  const parts = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  const [x, y] = [parts(from), parts(to)];
  return "rgb(" + x.map((c, i) => Math.round(c + (y[i] - c) * share)).join(",") + ")";
}

function makeHeatScale() {
  const [none, half, full] = ["--cold", "--mid", "--full"].map(getColor);
  return (share) => share < 0.5 ? mix(none, half, 2 * share)
                                : mix(half, full, Math.min(1, 2 * share - 1));
}

// Sharp on screens with several pixels in one.
function prepareCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = width + "px";
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  return context;
}

function chooseTicks(most, count = 5) {
  const raw = most / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let i = 0; i * step <= most * 1.0001; ++i) ticks.push(+(i * step).toPrecision(12));
  return ticks;
}

// What the bars of a row show: its value and what it is measured against.
function chooseMeasure(row) {
  if ("measured_s" in row) {
    return {value: "measured_s", bound: "ideal_s", other: "predicted_s",
            title: "time in s; line: ideal, dot: predicted"};
  }
  if ("policy" in row) return {value: "mean_utility", title: "mean utility"};
  if ("ring_servers" in row) return {value: "together_transfer_s", title: "transfer in s"};
  return {value: "rounds", bound: "bound", title: "rounds; line: lower bound"};
}

function addBar(svg, row, measure, y, scale) {
  const left = 170;
  const value = row[measure.value];
  add(svg, "text", {x: left - 8, y: y + 14, "text-anchor": "end"},
      row.scheduler || row.policy || "");
  if (typeof value !== "number") {
    add(svg, "text", {x: left, y: y + 14, class: "soft"}, row.failure || "-");
    return;
  }
  const width = Math.max(1, value * scale);
  add(svg, "rect", {x: left, y: y + 3, width, height: 14, rx: 2, fill: "var(--broadcast)",
                    class: "bar", "data-value": value});
  let label = left + width;
  if (measure.bound && typeof row[measure.bound] === "number") {
    const x = left + row[measure.bound] * scale;
    add(svg, "line", {x1: x, x2: x, y1: y, y2: y + 20, stroke: "var(--hot)", "stroke-width": 2});
    label = Math.max(label, x);
  }
  if (measure.other && typeof row[measure.other] === "number") {
    const x = left + row[measure.other] * scale;
    add(svg, "circle", {cx: x, cy: y + 10, r: 4, fill: "var(--warm)", stroke: "var(--card)"});
    label = Math.max(label, x + 4);
  }
  const ratio = row.ratio ? ` (${row.ratio.toFixed(3)} x)` : "";
  add(svg, "text", {x: label + 6, y: y + 14}, show(value) + ratio);
}

function drawBars(parent, rows) {
  const groups = new Map();
  for (const row of rows) {
    const name = [row.topology, row.size, row.objective].filter(Boolean).join(", ");
    groups.set(name, [...(groups.get(name) || []), row]);
  }
  const columns = add(parent, "div", {class: "columns"});
  for (const [name, members] of groups) {
    const measure = chooseMeasure(members[0]);
    const box = add(columns, "div");
    add(box, "h3", {}, `${name}: ${measure.title}`);
    const values = members.flatMap((row) => [row[measure.value], row[measure.bound] || 0,
                                             row[measure.other] || 0]);
    const most = Math.max(...values.filter((value) => typeof value === "number"), 1e-12);
    const svg = addSvg(box, 560, 24 * members.length + 4);
    members.forEach((row, i) => addBar(svg, row, measure, 24 * i, 235 / most));
  }
}

function collectKeys(rows) {
  const keys = [];
  for (const row of rows) {
    for (const [key, value] of Object.entries(row)) {
      if (!keys.includes(key) && (value === null || typeof value !== "object")) keys.push(key);
    }
  }
  return keys;
}

// What is the same in all rows is said once, so that the rest has room.
function drawResults(rows) {
  const keys = collectKeys(rows);
  const isName = (key) => ["topology", "scheduler", "policy"].includes(key) && rows.length > 1;
  const isCommon = (key) => !isName(key) && rows.every((row) => row[key] === rows[0][key]);
  for (const key of keys.filter(isCommon)) {
    const pair = add(get("common"), "span", {}, key.replaceAll("_", " ") + " ");
    add(pair, "b", {"data-key": key}, show(rows[0][key]));
  }
  const others = keys.filter((key) => !isCommon(key));
  if (others.length) drawTable(get("table"), rows, others);
}

function drawTable(table, rows, keys) {
  const head = add(add(table, "thead"), "tr");
  const isText = (key) => rows.some((row) => typeof row[key] === "string");
  for (const key of keys) {
    add(head, "th", isText(key) ? {class: "text"} : {}, key.replaceAll("_", " "));
  }
  const body = add(table, "tbody");
  for (const row of rows) {
    const line = add(body, "tr");
    for (const key of keys) {
      add(line, "td", {"data-key": key, ...(isText(key) ? {class: "text"} : {})}, show(row[key]));
    }
  }
}

const CURVE_COLORS = ["--broadcast", "--reduce", "--good", "--both", "--hot", "--soft", "--warm"];

function addAxes(svg, box, mostX, mostY, labelX) {
  for (const tick of chooseTicks(mostY)) {
    const y = box.bottom - (box.bottom - box.top) * tick / mostY;
    add(svg, "line", {x1: box.left, x2: box.right, y1: y, y2: y, stroke: "var(--line)"});
    add(svg, "text", {x: box.left - 6, y: y + 4, "text-anchor": "end", class: "soft"}, show(tick));
  }
  for (const tick of chooseTicks(mostX, 8)) {
    const x = box.left + (box.right - box.left) * tick / mostX;
    add(svg, "text", {x, y: box.bottom + 16, "text-anchor": "middle", class: "soft"}, show(tick));
  }
  add(svg, "text", {x: box.right, y: box.bottom + 32, "text-anchor": "end", class: "soft"}, labelX);
}

// Curves: {name, points: [[x, y], ...], dots: whether its points are few}.
function drawCurves(parent, title, labelX, curves) {
  const points = curves.flatMap((curve) => curve.points);
  if (points.length === 0) return;
  add(parent, "h3", {}, title);
  const svg = addSvg(parent, 1180, 300);
  const box = {left: 60, right: 1165, top: 12, bottom: 250};
  const mostX = points.reduce((most, point) => Math.max(most, point[0]), 1e-9);
  const mostY = points.reduce((most, point) => Math.max(most, point[1]), 1e-9);
  addAxes(svg, box, mostX, mostY, labelX);
  const place = ([x, y]) => [box.left + (box.right - box.left) * x / mostX,
                             box.bottom - (box.bottom - box.top) * Math.max(0, y) / mostY];
  curves.forEach((curve, i) => {
    const color = `var(${CURVE_COLORS[i % CURVE_COLORS.length]})`;
    add(svg, "polyline", {points: curve.points.map((point) => place(point).join()).join(" "),
                          fill: "none", stroke: color, "stroke-width": curve.thin ? 1 : 2,
                          opacity: curve.thin ? 0.7 : 1});
    if (curve.dots) {
      for (const [cx, cy] of curve.points.map(place)) add(svg, "circle", {cx, cy, r: 3, fill: color});
    }
    add(svg, "rect", {x: box.left + 150 * i, y: 274, width: 12, height: 12, rx: 3, fill: color});
    add(svg, "text", {x: box.left + 150 * i + 18, y: 284}, curve.name);
  });
}

function smooth(points, count) {
  return points.map(([x], i) => {
    const part = points.slice(Math.max(0, i - count + 1), i + 1);
    return [x, part.reduce((sum, point) => sum + point[1], 0) / part.length];
  });
}

function drawTraining(lines) {
  const curve = (key) => lines.filter((line) => typeof line[key] === "number")
                              .map((line) => [line.iteration, line[key]]);
  const draw = (title, series) => drawCurves(get("curves"), title, "iteration", series);
  draw("rounds over the least possible, while sampling", [
    {name: "mean of 10", points: smooth(curve("excess_rounds"), 10)},
    {name: "each iteration", points: curve("excess_rounds"), thin: true}]);
  draw("length of plans over the least possible, in validation", [
    {name: "present weights", points: curve("validation"), dots: true},
    {name: "averaged weights", points: curve("validation_averaged"), dots: true}]);
  draw("mean return of an episode", [
    {name: "mean of 10", points: smooth(curve("return"), 10)},
    {name: "each iteration", points: curve("return"), thin: true}]);
  draw("entropy of choices, share of trees selected", [
    {name: "lower policy", points: curve("entropy")},
    {name: "upper policy", points: curve("upper_entropy")},
    {name: "trees selected", points: curve("selected_share")}]);
  draw("how far an update moves the policies", [
    {name: "approximate KL", points: curve("kl")},
    {name: "share that PPO clips", points: curve("clip_fraction")}]);
  draw("variance of returns that the critic explains",
       [{name: "share", points: curve("explained_variance")}]);
}

function drawCluster(slots) {
  const {objective, seed} = slots[0];
  const shown = slots.filter((slot) => slot.objective === objective && slot.seed === seed);
  const policies = [...new Set(shown.map((slot) => slot.policy))];
  const curves = (key) => policies.map((name) => ({
    name, points: shown.filter((slot) => slot.policy === name).map((slot) => [slot.slot, slot[key]]),
  }));
  const about = `, objective ${objective}, seed ${seed}`;
  drawCurves(get("series"), "share of GPUs at work" + about, "slot", curves("gpu_use"));
  drawCurves(get("series"), "share of bandwidth reserved" + about, "slot", curves("link_use"));
  drawCurves(get("series"), "jobs at work" + about, "slot", curves("running"));
  drawCurves(get("series"), "utility so far" + about, "slot", curves("utility"));
}

let view = null;   // the schedule shown
let places = [];   // by drawn node: where it is
let timer = null;  // of the play button

function placeNodes() {
  const rows = new Set(view.nodes.map((node) => node.y.toFixed(3))).size;
  const height = rows <= 6 ? 110 * Math.max(1, rows - 1) + 80 : 700;
  const width = 760;
  places = view.nodes.map((node) => [36 + node.x * (width - 72), 36 + node.y * (height - 72)]);
  get("drawing").setAttribute("viewBox", `0 0 ${width} ${height}`);
}

function getNodeSize() {
  const inRow = new Map();
  for (const place of places) {
    const y = place[1].toFixed(0);
    inRow.set(y, (inRow.get(y) || 0) + 1);
  }
  const size = Math.max(6, Math.min(16, 300 / Math.max(...inRow.values())));
  return view.nodes.length > 40 ? Math.min(size, 11) : size;
}

function describeNode(i) {
  const node = view.nodes[i];
  const parts = [];
  if (node.servers) parts.push(node.servers > 1 ? node.servers + " servers" : "server");
  if (node.switches) parts.push(node.switches > 1 ? node.switches + " switches" : "switch");
  return parts.join(" and ") + " " + node.label;
}

// A ring around a server: final sums from the top on, then partial ones.
function addRing(group, x, y, radius, from, share, color) {
  if (share <= 0) return;
  const around = 2 * Math.PI * radius;
  add(group, "circle", {cx: x, cy: y, r: radius, fill: "none", stroke: color, "stroke-width": 4,
                        "stroke-dasharray": `${share * around} ${around}`,
                        transform: `rotate(${360 * from - 90} ${x} ${y})`});
}

// Inside a node its number, or how many it stands for; then their range is below.
function addLabels(group, i, size) {
  const [node, [x, y]] = [view.nodes[i], places[i]];
  const isSeveral = node.label.includes("-");
  const inside = isSeveral ? String(node.servers || node.switches) : node.label;
  const fits = inside.length * 6 <= size * 2;
  if (fits) {
    const fill = node.servers ? "var(--ink)" : "var(--card)";
    add(group, "text", {x, y: y + 3.5, "text-anchor": "middle",
                        style: `font-size:${size >= 11 ? 10.5 : 8.5}px;fill:${fill}`}, inside);
  }
  if (isSeveral || !fits) {
    const text = get("drawing").viewBox.baseVal.height < 600 ? 9 : 11;
    add(group, "text", {x, y: y + size + 3 + text, "text-anchor": "middle", class: "soft",
                        style: `font-size:${text}px`}, node.label);
  }
}

function addNode(svg, i, step, size) {
  const node = view.nodes[i];
  const [x, y] = places[i];
  const group = add(svg, "g");
  if (node.servers === 0) {
    add(group, "rect", {x: x - size * 0.8, y: y - size * 0.8, width: size * 1.6, height: size * 1.6,
                        rx: 3, fill: "var(--switch)", stroke: "var(--card)", "stroke-width": 1.5});
  } else {
    const all = node.servers * view.chunks;
    const [final, partial] = [step.final[i] / all, step.partial[i] / all];
    add(group, "circle", {cx: x, cy: y, r: size + 2, fill: "var(--card)", stroke: "var(--wire)"});
    addRing(group, x, y, size, 0, final, "var(--broadcast)");
    addRing(group, x, y, size, final, Math.min(partial, 1 - final), "var(--reduce)");
    add(group, "title", {}, `${describeNode(i)}: ${step.final[i]} final, ` +
                            `${step.partial[i]} partial of ${all}`);
  }
  if (node.servers === 0) add(group, "title", {}, describeNode(i));
  addLabels(group, i, size);
}

// Traffic keeps to the right, so that both directions can be seen.
function makeLane(from, to) {
  const [x1, y1, x2, y2] = [...places[from], ...places[to]];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [dx, dy] = [-2.6 * (y2 - y1) / length, 2.6 * (x2 - x1) / length];
  const middle = [(x1 * 0.45 + x2 * 0.55) + dx, (y1 * 0.45 + y2 * 0.55) + dy];
  return `M${x1 + dx},${y1 + dy} L${middle} L${x2 + dx},${y2 + dy}`;
}

function addArrows(svg) {
  const defs = add(svg, "defs");
  for (const name of ["reduce", "broadcast", "both"]) {
    const marker = add(defs, "marker", {id: "arrow-" + name, viewBox: "0 0 8 8", refX: 5, refY: 4,
                                        markerWidth: 9, markerHeight: 9, orient: "auto",
                                        markerUnits: "userSpaceOnUse"});
    add(marker, "path", {d: "M0,0 L8,4 L0,8 z", fill: `var(--${name})`});
  }
}

function getEnds(line) {
  const [a, b] = view.links[line >> 1];
  return line & 1 ? [b, a] : [a, b];
}

function addTraffic(svg, step) {
  const isDense = view.links.length > 100;
  const widest = isDense ? 0.9 : 1.8;
  for (let i = 0; i < step.load.length; i += 3) {
    const [line, reduces, broadcasts] = step.load.slice(i, i + 3);
    const name = reduces === 0 ? "broadcast" : broadcasts === 0 ? "reduce" : "both";
    const rounds = Math.max(1, view.roundsPerStep);
    const share = (reduces + broadcasts) / view.links[line >> 1][2] / rounds;
    const path = add(svg, "path", {d: makeLane(...getEnds(line)), fill: "none", class: "traffic",
                                   stroke: `var(--${name})`, "stroke-width": 0.4 + widest * share,
                                   "marker-mid": isDense ? "" : `url(#arrow-${name})`});
    const [from, to] = getEnds(line);
    add(path, "title", {}, `${describeNode(from)} to ${describeNode(to)}: ` +
                           `${reduces} reduces, ${broadcasts} broadcasts`);
  }
}

function addUse(svg, use) {
  const heat = makeHeatScale();
  use.forEach((share, line) => {
    const path = add(svg, "path", {d: makeLane(...getEnds(line)), fill: "none", class: "traffic",
                                   stroke: heat(share), "stroke-width": 4});
    const [from, to] = getEnds(line);
    add(path, "title", {}, `${describeNode(from)} to ${describeNode(to)}: ${percent(share)}`);
  });
}

// What the lower bound is about: links are as wide as their price is high, those inside a node that
// stands for several are a ring around it.
function addBottleneck(svg) {
  const {prices, nodes} = view.bottleneck;
  const most = Math.max(...prices);
  prices.forEach((price, i) => {
    if (price === 0) return;
    const [a, b] = view.links[i];
    const line = add(svg, "line", {
      x1: places[a][0], y1: places[a][1], x2: places[b][0], y2: places[b][1], class: "priced",
      stroke: "var(--hot)", "stroke-width": (prices.length > 300 ? 1 : 4) * price / most});
    add(line, "title", {}, `${describeNode(a)} to ${describeNode(b)}: price ${show(price)}`);
  });
  for (const i of nodes) {
    add(svg, "circle", {cx: places[i][0], cy: places[i][1], r: getNodeSize() + 5, class: "priced",
                        fill: "none", stroke: "var(--hot)", "stroke-width": 3});
  }
}

// The step of a mark's round; -1 if it was in an earlier AllReduce than the one shown.
function getMarkStep(mark) {
  if (mark.iteration + 1 < view.run.iterations) return -1;
  const step = view.steps.findIndex(({round}) => round >= mark.round);
  return step < 0 ? view.steps.length - 1 : step;
}

// As "a-b": the links that are down after a step; -1: when the AllReduce shown begins.
function findDownLinks(index) {
  const down = new Set();
  for (const mark of view.run ? view.run.marks : []) {
    if (!mark.link || getMarkStep(mark) > index) continue;
    if (mark.kind === "broke") down.add(mark.link.join("-"));
    else down.delete(mark.link.join("-"));
  }
  return down;
}

const describeMark = (mark) => `${showTime(mark.time)}: ${mark.text}`;

function describeFaults(index) {
  const {aborted, unfinished, unbegun} = view.steps[index];
  const marks = view.run ? view.run.marks : [];
  const texts = marks.filter((mark) => getMarkStep(mark) === index).map(describeMark);
  const down = index === 0 ? [...findDownLinks(-1)] : [];
  if (down.length) texts.unshift(`down before this AllReduce began: ${down.join(", ")}`);
  if (aborted) texts.push(`${aborted} flows of this step aborted`);
  if (unfinished) texts.push(`${unfinished} flows had not arrived when the run ended`);
  if (unbegun) texts.push(`${unbegun} workloads never began`);
  get("stepMarks").hidden = texts.length === 0;
  get("stepMarks").textContent = texts.join("; ");
}

function drawNetwork(index) {
  const svg = get("drawing");
  svg.replaceChildren();
  addArrows(svg);
  const down = view.is_aggregated ? new Set() : findDownLinks(index);
  for (const [a, b] of view.links) {
    const line = add(svg, "line", {
      x1: places[a][0], y1: places[a][1], x2: places[b][0], y2: places[b][1],
      stroke: "var(--wire)", "stroke-width": view.links.length > 300 ? 0.5 : 1});
    if (!down.has(`${a}-${b}`)) continue;
    for (const [key, value] of Object.entries({class: "down", stroke: "var(--hot)",
                                               "stroke-width": 2, "stroke-dasharray": "3 5"})) {
      line.setAttribute(key, value);
    }
    add(line, "title", {}, `link ${a}-${b} is down`);
  }
  const mode = get("mode").value;
  if (mode === "round") addTraffic(svg, view.steps[index]);
  else if (mode === "bottleneck") addBottleneck(svg);
  else addUse(svg, mode === "measured" ? view.run.use : view.use);
  add(svg, "path", {id: "highlight", fill: "none", stroke: "var(--hot)", "stroke-width": 4,
                    "stroke-linejoin": "round"});
  const size = getNodeSize();
  view.nodes.forEach((node, i) => addNode(svg, i, view.steps[index], size));
}

function highlight(path) {
  get("highlight").setAttribute(
    "d", path.map((node, i) => (i ? "L" : "M") + places[node].join()).join(" "));
}

function listFlows(index) {
  const list = get("flows");
  list.replaceChildren();
  for (const [chunk, isBroadcast, path, fate] of view.steps[index].flows || []) {
    const color = fate ? "hot" : isBroadcast ? "broadcast" : "reduce";
    const line = add(list, "div", {style: `color:var(--${color})`},
                     `chunk ${chunk}: ${path.join("-")}${fate ? " " + fate : ""}`);
    line.onmouseenter = () => highlight(path);
    line.onmouseleave = () => highlight([]);
  }
}

function describeStep(index) {
  if (get("mode").value === "bottleneck") {
    get("status").textContent = `prices of links prove the lower bound: ${view.bottleneck.text}`;
    return;
  }
  const step = view.steps[index];
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  const last = view.steps.length - 1;
  const where = index === 0 ? "before the first round"
                            : `after round ${step.round} of ${view.steps[last].round}`;
  get("status").textContent = `${where}: ${step.flow_count} flows, final sums at servers: ` +
    `${sum(step.final)} of ${view.servers * view.chunks}, partial sums: ${sum(step.partial)}` +
    (view.run && view.run.iterations > 1 ? `; the last of ${view.run.iterations} AllReduces` : "");
}

// [server][chunk] as a picture, if every server is drawn.
function drawCells(index) {
  const canvas = get("cells");
  const isShown = !view.is_aggregated;
  get("held").hidden = !isShown;
  get("held").style.display = isShown ? "" : "none";
  if (!isShown) return;
  const cells = new Uint8Array(view.servers * view.chunks);
  for (let i = 0; i <= index; ++i) {
    const changes = view.steps[i].cells;
    for (let j = 0; j < changes.length; j += 2) cells[changes[j]] = changes[j + 1];
  }
  get("heldTitle").textContent = `what each server (row) holds of each chunk (column)`;
  const left = 26;
  const wide = Math.max(1, Math.min(16, Math.floor(370 / view.chunks)));
  const high = Math.max(6, Math.min(16, Math.floor(420 / view.servers)));
  const context = prepareCanvas(canvas, left + wide * view.chunks, high * view.servers);
  const colors = [getColor("--cold"), getColor("--reduce"), getColor("--broadcast")];
  const gap = wide > 3 ? 1 : 0;
  cells.forEach((cell, i) => {
    context.fillStyle = colors[cell];
    context.fillRect(left + wide * (i % view.chunks), high * Math.floor(i / view.chunks),
                     wide - gap, high - 1);
  });
  context.fillStyle = getColor("--soft");
  context.textAlign = "right";
  for (let server = 0; high >= 10 && server < view.servers; ++server) {
    context.fillText(server, left - 5, high * server + high * 0.5 + 4);
  }
}

function drawStep() {
  const index = +get("slider").value;
  drawNetwork(index);
  describeStep(index);
  describeFaults(index);
  drawCells(index);
  listFlows(index);
}

// By line and direction the share of its capacity in each column: a step, or several if there are
// more of them than a screen has pixels.
function collectHeat(stepsPerColumn) {
  const nColumns = Math.ceil((view.steps.length - 1) / stepsPerColumn);
  const rows = view.use.map((use, line) => ({line, use, columns: Array(nColumns).fill(0)}));
  for (let column = 0; column < nColumns; ++column) {
    const steps = view.steps.slice(column * stepsPerColumn, (column + 1) * stepsPerColumn + 1);
    const rounds = steps[steps.length - 1].round - steps[0].round;
    for (const {load} of steps.slice(1)) {
      for (let j = 0; j < load.length; j += 3) {
        const capacity = view.links[load[j] >> 1][2] * rounds;
        rows[load[j]].columns[column] += (load[j + 1] + load[j + 2]) / capacity;
      }
    }
  }
  return rows.sort((x, y) => y.use - x.use || x.line - y.line);
}

function drawHeat() {
  if (view.steps.length < 2) return;
  const stepsPerColumn = Math.ceil((view.steps.length - 1) / 500);
  const rows = collectHeat(stepsPerColumn);
  const nColumns = rows[0].columns.length;
  const high = Math.max(1, Math.min(9, Math.floor(560 / rows.length)));
  const [left, width] = [84, 1000];
  const wide = width / nColumns;
  const context = prepareCanvas(get("heatMap"), left + width + 60, high * rows.length + 26);
  context.translate(0, 6);
  const heat = makeHeatScale();
  rows.forEach((row, i) => {
    row.columns.forEach((share, column) => {
      const [from, to] = [column, column + 1].map((edge) => Math.round(left + wide * edge));
      context.fillStyle = heat(share);
      context.fillRect(from, high * i, to - from - (wide > 4 ? 1 : 0), high - (high > 3 ? 1 : 0));
    });
    context.fillStyle = heat(row.use);
    context.fillRect(left + width + 8, high * i, 40, high);
  });
  context.fillStyle = getColor("--soft");
  const last = view.steps[view.steps.length - 1].round;
  context.textAlign = "center";
  for (const tick of chooseTicks(last, 10).filter((round) => round > 0 && Number.isInteger(round))) {
    context.fillText(tick, left + width * (tick - 0.5) / last, high * rows.length + 14);
  }
  context.fillText("all", left + width + 28, high * rows.length + 14);
  context.textAlign = "right";
  context.fillText("round", left - 6, high * rows.length + 14);
  const every = Math.ceil(11 / high);
  for (let i = 0; i < rows.length; i += every) {
    const label = getEnds(rows[i].line).map((node) => view.nodes[node].label).join(" > ");
    context.fillText(label, left - 6, high * i + high / 2 + 4, left - 6);
  }
  const mean = rows.reduce((sum, row) => sum + row.use, 0) / rows.length;
  get("heatNote").textContent = `${rows.length} directed ${view.is_aggregated ? "bundles of " : ""}` +
    `links, the busiest first: mean use ${percent(mean)}, most ${percent(rows[0].use)}` +
    (view.is_aggregated ? "; links inside a drawn node are not among them" : "");
  get("heatMap").onmousemove = (event) => showHeatAt(event, rows, {left, wide, high, stepsPerColumn});
}

function showHeatAt(event, rows, {left, wide, high, stepsPerColumn}) {
  const canvas = get("heatMap");
  const scale = parseFloat(canvas.style.width) / canvas.clientWidth;
  const row = rows[Math.floor((event.offsetY * scale - 6) / high)];
  const column = Math.floor((event.offsetX * scale - left) / wide);
  if (!row || column < 0) return;
  const [from, to] = getEnds(row.line);
  const now = column < row.columns.length
    ? `round ${view.steps[column * stepsPerColumn].round + 1}: ${percent(row.columns[column])}, ` : "";
  get("heatHover").textContent = `${describeNode(from)} to ${describeNode(to)}: ${now}` +
    `all rounds: ${percent(row.use)}`;
}

// A flow: source, target, chunk, whether it is a broadcast, begin, duration, the number of its
// way, and what became of it if it did not arrive.
function makeGanttRows(kind) {
  const label = (server) => view.nodes[view.node_of ? view.node_of[server] : server].label;
  const byRow = {};
  for (const flow of [...view.run.flows, ...view.run.cut]) {
    const path = view.run.ways[flow[6]];
    const keys = kind === "sender" ? [label(flow[0])] : kind === "receiver" ? [label(flow[1])]
      : path.slice(1).map((node, i) => `${path[i]} > ${node}`);
    for (const key of keys) (byRow[key] = byRow[key] || []).push(flow);
  }
  const names = Object.keys(byRow);
  const order = (name) => name.split(/[ >-]+/).map(Number);
  names.sort((x, y) => order(x)[0] - order(y)[0] || (order(x)[1] || 0) - (order(y)[1] || 0));
  return names.map((name) => [name, byRow[name]]);
}

function drawGanttAxis(context, box, last) {
  context.textAlign = "center";
  for (const tick of chooseTicks(last, 8)) {
    const x = box.left + box.width * tick / last;
    context.fillStyle = getColor("--line");
    context.fillRect(x, box.top, 1, box.height - box.top);
    context.fillStyle = getColor("--soft");
    context.fillText(showTime(tick), Math.min(x, box.left + box.width - 20), box.height + 14);
  }
}

// Where rows and times are; above the rows is a strip for marks if there are any.
function makeGanttBox(rows) {
  const {rounds, flows, cut, marks} = view.run;
  const ends = (most, flow) => Math.max(most, flow[4] + flow[5]);
  const last = Math.max(1, ...rounds.map(([, begin, duration]) => begin + duration),
                        flows.reduce(ends, 0), cut.reduce(ends, 0),
                        ...marks.map((mark) => mark.time));
  const high = rows.length > 80 ? 9 : 14;
  const top = marks.length ? 16 : 0;
  return {left: 84, width: 1060, top, high, last, height: top + high * rows.length};
}

// The bar of a flow that did not arrive is hollow, and has an end that can be seen.
function drawCutFlow(context, x, y, width, high) {
  context.strokeStyle = context.fillStyle = getColor("--hot");
  context.lineWidth = 1.2;
  context.strokeRect(x + 0.6, y + 0.6, Math.max(1, width - 1.2), high - 1.2);
  context.fillRect(x + width - 1, y - 1, 2.5, high + 2);
}

function drawGanttBars(context, rows, {left, width, top, high, last}) {
  const colors = [getColor("--reduce"), getColor("--broadcast")];
  rows.forEach(([name, flows], i) => {
    for (const [, , , isBroadcast, begin, duration, , fate] of flows) {
      const wide = Math.max(0.6, width * duration / last - 0.6);
      const [x, y] = [left + width * begin / last, top + high * i + 1];
      context.globalAlpha = fate ? 1 : view.is_aggregated ? 0.35 : 0.85;
      context.fillStyle = colors[+isBroadcast];
      if (fate) drawCutFlow(context, x, y, wide, high - 2);
      else context.fillRect(x, y, wide, high - 2);
    }
  });
  context.globalAlpha = 1;
}

// Sign, color and meaning of the marks.
const MARKS = {broke: ["\u2715", "--hot", "link broke"], mended: ["\u25cb", "--good", "link mended"],
               replanned: ["\u25c6", "--ink", "what was left planned anew"]};

function drawGanttMarks(context, {left, width, top, height, last}) {
  context.textAlign = "center";
  context.setLineDash([4, 3]);
  for (const {kind, time} of view.run.marks) {
    const [sign, color] = MARKS[kind];
    const x = left + width * time / last;
    context.fillStyle = getColor("--card"); // a gap in the bars, in which the line can be seen
    context.fillRect(x - 2, top, 4, height - top);
    context.fillStyle = context.strokeStyle = getColor(color);
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, height);
    context.stroke();
    context.fillText(sign, x, top - 4);
  }
  context.setLineDash([]);
}

// The marks in words, and what their signs mean; nothing if there are none.
function listGanttMarks() {
  const {marks, cut} = view.run;
  const list = get("ganttMarks");
  list.replaceChildren();
  list.hidden = marks.length === 0;
  for (const mark of marks) {
    const [sign, color, meaning] = MARKS[mark.kind];
    const line = add(list, "div", {title: meaning});
    add(line, "b", {style: `color:var(${color})`}, sign);
    add(line, "span", {}, describeMark(mark));
  }
  const keys = get("ganttKeys");
  keys.replaceChildren();
  addKeys(keys, [["--reduce", "reduce"], ["--broadcast", "broadcast"]]);
  if (cut.length === 0) return;
  add(keys, "span", {class: "key cut"});
  const fates = new Set(cut.map((flow) => flow[7]));
  add(keys, "span", {}, fates.size === 1 && fates.has("aborted") ? "aborted" : "did not arrive");
}

function describeCounts(last) {
  const {flows, flow_count: count, cut, cut_count: cutCount, iterations} = view.run;
  const of = iterations > 1 ? ` of ${iterations} AllReduces` : "";
  const what = flows.length < count ? `the first ${flows.length} of ${count} flows${of}`
                                    : `${count} flows${of} in ${showTime(last)}`;
  if (cutCount === 0) return what;
  return `${what}, ` + (cut.length < cutCount ? `the first ${cut.length} of ` : "") +
    `${cutCount} that did not arrive`;
}

function drawGantt() {
  if (!view.run) return;
  const rows = makeGanttRows(get("ganttRows").value);
  const box = makeGanttBox(rows);
  const context = prepareCanvas(get("ganttChart"), box.left + box.width + 10, box.height + 20);
  drawGanttAxis(context, box, box.last);
  drawGanttBars(context, rows, box);
  drawGanttMarks(context, box);
  context.fillStyle = getColor("--soft");
  context.textAlign = "right";
  rows.forEach(([name], i) => context.fillText(name, box.left - 6,
                                               box.top + box.high * (i + 1) - 2, 78));
  listGanttMarks();
  get("ganttNote").textContent = describeCounts(box.last);
  get("ganttChart").onmousemove = (event) => showFlowAt(event, rows, box);
}

function describeFlow([source, target, chunk, isBroadcast, begin, duration, , fate]) {
  const end = !fate ? "took" : fate === "aborted" ? "was aborted after"
                                                  : "had not arrived when the run ended, after";
  return `${isBroadcast ? "broadcast" : "reduce"} of chunk ${chunk} from server ${source} to ` +
    `server ${target}: began at ${showTime(begin)}, ${end} ${showTime(duration)}`;
}

function showFlowAt(event, rows, {left, width, top, high, last}) {
  const canvas = get("ganttChart");
  const scale = parseFloat(canvas.style.width) / canvas.clientWidth;
  const [x, y] = [event.offsetX * scale, event.offsetY * scale];
  const time = (x - left) / width * last;
  const near = view.run.marks.filter((mark) => Math.abs(left + width * mark.time / last - x) < 6);
  const row = rows[Math.floor((y - top) / high)];
  const found = row && row[1].find((flow) => flow[4] <= time && time <= flow[4] + flow[5]);
  get("ganttHover").textContent = y < top ? near.map(describeMark).join("; ")
                                          : found ? describeFlow(found) : "";
}

function fillModes() {
  const mode = get("mode");
  const old = mode.value;
  mode.replaceChildren();
  add(mode, "option", {value: "round"}, "this round's flows");
  add(mode, "option", {value: "planned"}, "use in all rounds");
  if (view.run) add(mode, "option", {value: "measured"}, "use measured");
  if (view.bottleneck) add(mode, "option", {value: "bottleneck"}, "the bottleneck");
  if ([...mode.options].some((option) => option.value === old)) mode.value = old;
}

function chooseView(index) {
  view = data.views[index];
  const last = view.steps[view.steps.length - 1].round;
  view.roundsPerStep = Math.round(last / Math.max(1, view.steps.length - 1));
  get("slider").max = view.steps.length - 1;
  get("slider").value = Math.min(get("slider").value, view.steps.length - 1);
  get("heat").hidden = view.steps.length < 2;
  get("gantt").hidden = !view.run;
  get("ganttRows").querySelector("[value=link]").hidden = view.is_aggregated;
  if (view.is_aggregated && get("ganttRows").value === "link") get("ganttRows").value = "sender";
  fillModes();
  placeNodes();
  drawAll();
}

function drawAll() {
  drawStep();
  drawHeat();
  drawGantt();
}

function togglePlay() {
  const slider = get("slider");
  const stop = () => {
    clearInterval(timer);
    timer = null;
    get("play").textContent = "play";
  };
  if (timer) return stop();
  if (slider.value === slider.max) slider.value = 0;
  get("play").textContent = "pause";
  timer = setInterval(() => {
    slider.value = +slider.value + 1;
    drawStep();
    if (slider.value === slider.max) stop();
  }, 600);
}

function addKeys(parent, keys) {
  for (const [color, text] of keys) {
    add(parent, "span", {class: "key", style: `background:var(${color})`});
    add(parent, "span", {}, text);
  }
}

function explainColors() {
  addKeys(get("keys"), [["--reduce", "reduce, partial sum"], ["--broadcast", "broadcast, final sum"],
                        ["--both", "both"], ["--cold", "nothing"]]);
  const count = data.views_left_out;
  if (count) add(get("keys"), "span", {}, ` - ${count} schedules left out`);
}

// Of those on the first network: the one with the fewest rounds, the last of these. A run that
// failed has few, and is not the best.
function findBestView() {
  const rounds = ({steps, servers, chunks}) => {
    const {round, final} = steps[steps.length - 1];
    const isDone = final.reduce((sum, count) => sum + count, 0) === servers * chunks;
    return isDone ? round : Infinity;
  };
  return data.views.reduce((best, item, i) => {
    const isRival = item.topology === data.views[0].topology;
    return isRival && rounds(item) <= rounds(data.views[best]) ? i : best;
  }, 0);
}

function prepareSchedules() {
  get("schedule").hidden = false;
  explainColors();
  data.views.forEach((item, i) => {
    const size = item.size ? ", " + item.size : "";
    add(get("view"), "option", {value: i}, `${item.topology}, ${item.scheduler}${size}`);
  });
  get("view").onchange = () => chooseView(+get("view").value);
  get("slider").oninput = drawStep;
  get("mode").onchange = drawStep;
  get("ganttRows").onchange = drawGantt;
  get("play").onclick = togglePlay;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const best = findBestView();
  get("view").value = best;
  get("slider").max = data.views[best].steps.length - 1;
  get("slider").value = 1;
  chooseView(best);
}

function main() {
  const program = data.command.split(" ")[0];
  const names = [...new Set(data.results.map((row) => row.topology).filter(Boolean))];
  const title = [program, names.slice(0, 4).join(", ")].filter(Boolean).join(": ");
  document.title = title;
  get("title").textContent = title;
  get("command").textContent = data.command;
  if (data.results.length) {
    get("results").hidden = false;
    drawBars(get("bars"), data.results);
    drawResults(data.results);
  }
  if (data.views.length) prepareSchedules();
  if (data.training.length) {
    get("training").hidden = false;
    drawTraining(data.training);
  }
  if (data.cluster.length) {
    get("cluster").hidden = false;
    drawCluster(data.cluster);
  }
}

main();
