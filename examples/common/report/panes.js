// SPDX-License-Identifier: GPL-2.0-only
//
// A pane: one schedule at one of its steps, as a drawing, in words, and by what each server holds.

"use strict";

const POINTING_HINT = "Point at a node or a line for what it does. Drag to move, + and - to zoom.";

// The parts of a pane, and what it shows: a schedule at one of its steps.
function makePane(root, suffix) {
  const parts = {root};
  for (const element of root.querySelectorAll("[id]")) {
    parts[element.id] = element;
    element.id += suffix;
  }
  parts.drawing.classList.add("drawing");
  const pane = {parts, view: null, index: 0, cells: null, cellsIndex: -1};
  listenToCamera(pane);
  parts.drawing.addEventListener("pointermove", (event) => {
    parts.pointed.textContent = describeAt(pane, event) || POINTING_HINT;
    focusOn(pane, findNodeAt(event));
  });
  parts.drawing.addEventListener("pointerleave", () => focusOn(pane, undefined));
  addSaves(parts.paneSaves, "drawing", "network", parts.drawing);
  parts.saveCells = addSaves(parts.paneSaves, "what servers hold", "servers", parts.cells);
  return pane;
}

// The servers of each node that stands for several.
function listMembers(item) {
  const members = item.nodes.map(() => []);
  for (let server = 0; server < item.servers; ++server) members[item.node_of[server]].push(server);
  return members;
}

function setView(pane, item) {
  pane.view = item;
  pane.cells = null;
  item.spread = item.spread || spreadNodes(item);
  if (item.is_aggregated && !item.members) item.members = listMembers(item);
}

// The last step of a schedule that is not after a round.
function findStep({steps}, round) {
  let index = steps.length - 1;
  while (index > 0 && steps[index].round > round) --index;
  return index;
}

// The step of a mark's round; -1 if it was in an earlier AllReduce than the one shown.
function getMarkStep({run, steps}, mark) {
  if (mark.iteration + 1 < run.iterations) return -1;
  const step = steps.findIndex(({round}) => round >= mark.round);
  return step < 0 ? steps.length - 1 : step;
}

// As "a-b": the links that are down after a step; -1: when the AllReduce shown begins.
function findDownLinks(item, index) {
  const down = new Set();
  for (const mark of item.run ? item.run.marks : []) {
    if (!mark.link || getMarkStep(item, mark) > index) continue;
    if (mark.kind === "broke") down.add(mark.link.join("-"));
    else if (mark.kind === "mended") down.delete(mark.link.join("-"));
  }
  return down;
}

const describeMark = (mark) => `${showTime(mark.time)}: ${mark.text}`;

function describeFaults({view, index, parts}) {
  const {aborted, unfinished, unbegun} = view.steps[index];
  const marks = view.run ? view.run.marks : [];
  const texts = marks.filter((mark) => getMarkStep(view, mark) === index).map(describeMark);
  const down = index === 0 ? [...findDownLinks(view, -1)] : [];
  if (down.length) texts.unshift(`down before this AllReduce began: ${down.join(", ")}`);
  if (aborted) texts.push(`${aborted} flows of this step aborted`);
  if (unfinished) texts.push(`${unfinished} flows had not arrived when the run ended`);
  if (unbegun) texts.push(`${unbegun} workloads never began`);
  parts.stepMarks.hidden = texts.length === 0;
  parts.stepMarks.textContent = texts.join("; ");
}

function describeStep({view, index, parts}) {
  if (get("mode").value === "bottleneck" && view.bottleneck) {
    parts.status.textContent = `prices of links prove the lower bound: ${view.bottleneck.text}`;
    return;
  }
  const step = view.steps[index];
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  const last = view.steps.length - 1;
  const where = index === 0 ? "before the first round"
                            : `after round ${step.round} of ${view.steps[last].round}`;
  parts.status.textContent = `${where}: ${step.flow_count} flows, final sums at servers: ` +
    `${view.sums - step.missing} of ${view.sums}, partial sums: ${sum(step.partial)}` +
    (view.run && view.run.iterations > 1 ? `; the last of ${view.run.iterations} AllReduces` : "");
}

// By server and chunk: 0 nothing, 1 a partial sum, 2 the final sum. Steps have what changes.
function getCells(pane) {
  const {view, index} = pane;
  if (pane.cells === null || pane.cellsIndex > index) {
    pane.cells = new Uint8Array(view.servers * view.chunks);
    pane.cellsIndex = -1;
  }
  while (pane.cellsIndex < index) {
    const changes = view.steps[++pane.cellsIndex].cells;
    for (let j = 0; j < changes.length; j += 2) pane.cells[changes[j]] = changes[j + 1];
  }
  return pane.cells;
}

// [server][chunk] as a picture, if every server is drawn.
function drawCells(pane) {
  const {view, parts} = pane;
  const isShown = !view.is_aggregated;
  parts.saveCells.hidden = !isShown;
  parts.held.style.display = isShown ? "" : "none";
  if (!isShown) return;
  const left = 26;
  const wide = Math.max(1, Math.min(16, Math.floor((parts.held.clientWidth - left) / view.chunks)));
  const high = Math.max(6, Math.min(16, Math.floor(420 / view.servers)));
  const context = prepareCanvas(parts.cells, left + wide * view.chunks, high * view.servers);
  const colors = [getColor("--cold"), getColor("--reduce"), getColor("--broadcast")];
  const gap = wide > 3 ? 1 : 0;
  getCells(pane).forEach((cell, i) => {
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
