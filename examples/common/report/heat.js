// SPDX-License-Identifier: GPL-2.0-only
//
// The use of every link in every round as a map. Its axis stands outside of what is scrolled.

"use strict";

const AXIS_HEIGHT = 20;
const TOTAL_WIDTH = 40;  // of the column for all rounds

let heat = null;  // rows and places of the map that is shown

// By line and direction the share of its capacity in each column: a step, or several if there are
// more of them than a screen has pixels.
function collectHeat(stepsPerColumn) {
  const nColumns = Math.ceil((view.steps.length - 1) / stepsPerColumn);
  const rows = getTotalUse(view).map((use, line) => ({line, use, columns: Array(nColumns).fill(0)}));
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

const nameHeatRow = ({line}) => getEnds(view, line).map((node) => view.nodes[node].label).join(" > ");

// Names at the left have the room that they need, up to a third.
function measureNames(names, width) {
  return Math.min(Math.max(0, ...names.map((name) => measureText(name))) + 8, width / 3);
}

function makeHeat() {
  const full = get("heatMap").parentElement.clientWidth;
  const stepsPerColumn = Math.ceil((view.steps.length - 1) / clamp(full - 150, 50, 500));
  const rows = collectHeat(stepsPerColumn);
  const high = clamp(Math.floor(560 / rows.length), 3, 9);
  const left = measureNames(rows.map(nameHeatRow), full);
  const width = full - left - TOTAL_WIDTH - 12;
  return {rows, stepsPerColumn, left, width, high, full, wide: width / rows[0].columns.length};
}

function drawHeatCells(context, {rows, left, width, high, wide}) {
  const color = makeHeatScale();
  rows.forEach((row, i) => {
    row.columns.forEach((share, column) => {
      const [from, to] = [column, column + 1].map((edge) => Math.round(left + wide * edge));
      context.fillStyle = color(share);
      context.fillRect(from, high * i, to - from - (wide > 8 ? 1 : 0), high - (high > 3 ? 1 : 0));
    });
    context.fillStyle = color(row.use);
    context.fillRect(left + width + 8, high * i, TOTAL_WIDTH, high);
  });
}

// As many names as there is room for; the others are told on pointing at the row.
function drawHeatNames(context, {rows, left, high}) {
  context.fillStyle = getColor("--soft");
  context.textAlign = "right";
  const every = Math.ceil(11 / high);
  for (let i = 0; i < rows.length; i += every) {
    context.fillText(nameHeatRow(rows[i]), left - 6, high * i + Math.max(9, high / 2 + 4), left - 6);
  }
}

function drawHeatAxis({left, width, full}) {
  const context = prepareCanvas(get("heatAxis"), full, AXIS_HEIGHT);
  context.fillStyle = getColor("--soft");
  context.textAlign = "center";
  const last = view.steps[view.steps.length - 1].round;
  const ticks = chooseTicks(last, Math.max(3, width / 100))
    .filter((round) => round > 0 && Number.isInteger(round));
  for (const tick of ticks) context.fillText(tick, left + width * (tick - 0.5) / last, 14);
  context.fillText("all", left + width + 8 + TOTAL_WIDTH / 2, 14);
  context.textAlign = "right";
  context.fillText("round", left - 6, 14);
}

function drawHeat() {
  if (view.steps.length < 2) return;
  heat = makeHeat();
  const {rows, full, high} = heat;
  const context = prepareCanvas(get("heatMap"), full, high * rows.length);
  drawHeatCells(context, heat);
  drawHeatNames(context, heat);
  drawHeatAxis(heat);
  get("heatCursor").hidden = true;
  const mean = rows.reduce((sum, row) => sum + row.use, 0) / rows.length;
  get("heatNote").textContent = `${rows.length} directed ${view.is_aggregated ? "bundles of " : ""}` +
    `links, the busiest first: ${nameTotalUse(view)} ${percent(mean)} in the mean, ` +
    `${percent(rows[0].use)} at most` +
    (view.run ? "; cells: unit flows of a round over capacity" : "") +
    (view.is_aggregated ? "; links inside a drawn node are not among them" : "");
  get("heatHover").textContent = "Point at a row for its link, at a cell for its round and share; " +
    "or press the arrow keys.";
}

// A row is named wherever it is pointed at; column -1: at its name, past the last: at its total.
function showHeatCell(i, column) {
  const {rows, stepsPerColumn, left, wide, high, full} = heat;
  const row = rows[i];
  if (!row) return;
  const isCell = column >= 0 && column < row.columns.length;
  const round = isCell ? view.steps[column * stepsPerColumn].round + 1 : 0;
  const now = isCell ? `round ${round}: ${percent(row.columns[column])} of its capacity, ` : "";
  get("heatHover").textContent = `${describeLine(view, row.line)}: ${now}` +
    `${nameTotalUse(view)}: ${percent(row.use)}`;
  heat.cell = [i, column];
  placeCursor(get("heatCursor"), isCell ? left + wide * column : 0, high * i,
              isCell ? Math.max(3, wide) : full, high);
}

function placeCursor(cursor, left, top, width, height) {
  cursor.hidden = false;
  const sizes = {left: left - 1, top: top - 1, width: width + 1, height: height + 1};
  for (const [name, value] of Object.entries(sizes)) cursor.style[name] = value + "px";
}

// What is chosen by keys is scrolled into sight.
function moveInHeat(dy, dx) {
  const [row, column] = heat.cell || [0, -1];
  showHeatCell(clamp(row + dy, 0, heat.rows.length - 1),
               clamp(column + dx, 0, heat.rows[0].columns.length - 1));
  get("heatCursor").scrollIntoView({block: "nearest", inline: "nearest"});
}

function prepareHeat() {
  const map = get("heatMap");
  map.onmousemove = (event) => {
    const [x, y] = locate(event, map);
    showHeatCell(Math.floor(y / heat.high), Math.floor((x - heat.left) / heat.wide));
  };
  listenToKeys(map, {ArrowDown: () => moveInHeat(1, 0), ArrowUp: () => moveInHeat(-1, 0),
                     ArrowLeft: () => moveInHeat(0, -1), ArrowRight: () => moveInHeat(0, 1)});
  addSaves(get("heatSaves"), "map", "links", map, get("heatAxis"));
}
