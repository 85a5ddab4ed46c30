// SPDX-License-Identifier: GPL-2.0-only
//
// Curves of training and of a cluster over time.

"use strict";

const CURVE_COLORS = ["--broadcast", "--reduce", "--good", "--both", "--hot", "--soft", "--warm"];
const getCurveColor = (i) => `var(${CURVE_COLORS[i % CURVE_COLORS.length]})`;

// Where a point of the curves is; the least value is 0 unless some are below.
function makePlacing(box, points) {
  const mostX = points.reduce((most, point) => Math.max(most, point[0]), 1e-9);
  const least = points.reduce((value, point) => Math.min(value, point[1]), 0);
  const most = points.reduce((value, point) => Math.max(value, point[1]), least < 0 ? 0 : 1e-9);
  const place = ([x, y]) => [box.left + (box.right - box.left) * x / mostX,
                             box.bottom - (box.bottom - box.top) * (y - least) / (most - least)];
  return {mostX, least, most, place};
}

function addAxes(svg, box, {mostX, least, most, place}, labelX) {
  for (const tick of chooseTicks(most, 5, least)) {
    const [, y] = place([0, tick]);
    add(svg, "line", {x1: box.left, x2: box.right, y1: y, y2: y, stroke: "var(--line)"});
    add(svg, "text", {x: box.left - 6, y: y + 4, "text-anchor": "end", class: "soft"}, show(tick));
  }
  for (const tick of chooseTicks(mostX, Math.max(3, (box.right - box.left) / 130))) {
    const [x] = place([tick, 0]);
    add(svg, "text", {x, y: box.bottom + 16, "text-anchor": "middle", class: "soft"}, show(tick));
  }
  add(svg, "text", {x: box.right, y: box.bottom + 32, "text-anchor": "end", class: "soft"}, labelX);
}

const CURVE_NAME_WIDTH = 150;

// What the curves are, below the axis, as many in a line as there is room for.
function addCurveNames(svg, curves, left, top, perLine) {
  curves.forEach((curve, i) => {
    const x = left + CURVE_NAME_WIDTH * (i % perLine);
    const y = top + 20 * Math.floor(i / perLine);
    add(svg, "rect", {x, y, width: 12, height: 12, rx: 3, fill: getCurveColor(i)});
    add(svg, "text", {x: x + 18, y: y + 10}, curve.name);
  });
}

function addCurve(svg, {points, dots, thin}, place, color) {
  add(svg, "polyline", {points: points.map((point) => place(point).join()).join(" "),
                        fill: "none", stroke: color, "stroke-width": thin ? 1 : 2,
                        opacity: thin ? 0.7 : 1});
  if (!dots) return;
  for (const [cx, cy] of points.map(place)) add(svg, "circle", {cx, cy, r: 3, fill: color});
}

// Curves: {name, points: [[x, y], ...], dots: whether its points are few}.
function drawCurves(parent, title, labelX, curves) {
  const points = curves.flatMap((curve) => curve.points);
  if (points.length === 0) return;
  add(parent, "h3", {}, title);
  const width = parent.clientWidth;
  const box = {left: 50, right: width - 15, top: 12, bottom: 250};
  const perLine = Math.max(1, Math.floor((width - 10) / CURVE_NAME_WIDTH));
  const svg = addSvg(parent, width, 292 + 20 * Math.ceil(curves.length / perLine));
  const placing = makePlacing(box, points);
  addAxes(svg, box, placing, labelX);
  curves.forEach((curve, i) => addCurve(svg, curve, placing.place, getCurveColor(i)));
  addCurveNames(svg, curves, 10, 292, perLine);
  addSaves(add(parent, "div", {class: "saves"}), "curves", title.replace(/[^a-z]+/gi, "-"), svg);
}

function smooth(points, count) {
  return points.map(([x], i) => {
    const part = points.slice(Math.max(0, i - count + 1), i + 1);
    return [x, part.reduce((sum, point) => sum + point[1], 0) / part.length];
  });
}

function drawTraining(lines) {
  get("curves").replaceChildren();
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
  get("series").replaceChildren();
  for (const objective of new Set(slots.map((slot) => slot.objective))) {
    const seed = slots[0].seed;
    drawObjective(slots.filter((slot) => slot.objective === objective && slot.seed === seed),
                  `, objective ${objective}, seed ${seed}`);
  }
}

function drawObjective(shown, about) {
  const policies = [...new Set(shown.map((slot) => slot.policy))];
  const curves = (key) => policies.map((name) => ({
    name, points: shown.filter((slot) => slot.policy === name).map((slot) => [slot.slot, slot[key]]),
  }));
  drawCurves(get("series"), "share of GPUs at work" + about, "slot", curves("gpu_use"));
  drawCurves(get("series"), "share of bandwidth reserved" + about, "slot", curves("link_use"));
  drawCurves(get("series"), "jobs at work" + about, "slot", curves("running"));
  drawCurves(get("series"), "utility so far" + about, "slot", curves("utility"));
}
