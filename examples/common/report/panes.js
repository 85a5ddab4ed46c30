// SPDX-License-Identifier: GPL-2.0-only
//
// A schedule round by round, or two of them side by side: one slider moves both.

"use strict";

const NO_OTHER = "-1";
const POINTING_HINT = "Point at a node or a line for what it does. Drag to move, + and - to zoom.";

let panes = [];     // those that are shown; the rest of the page is about the first
let view = null;    // the schedule of the first pane
let timeline = [];  // by position of the slider: after which round
let timer = null;   // of the play button

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
    else down.delete(mark.link.join("-"));
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
    `${sum(step.final)} of ${view.servers * view.chunks}, partial sums: ${sum(step.partial)}` +
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

function listFlows(pane) {
  const list = get("flows");
  get("flowsTitle").hidden = panes.length === 1;
  get("flowsTitle").textContent = `flows of ${nameView(pane.view)}`;
  list.replaceChildren();
  list.scrollTop = 0;
  for (const [chunk, isBroadcast, path, fate] of pane.view.steps[pane.index].flows || []) {
    const color = fate ? "hot" : isBroadcast ? "broadcast" : "reduce";
    const line = add(list, "div", {style: `color:var(--${color})`, role: "option"},
                     `chunk ${chunk}: ${path.join("-")}${fate ? " " + fate : ""}`);
    line.path = path;
    line.onmouseenter = () => highlight(pane, path);
    line.onmouseleave = () => highlight(pane, []);
  }
}

// As with the pointer: the path of a flow in the list is drawn.
function moveInFlows(by) {
  const lines = [...get("flows").children];
  const old = lines.findIndex((line) => line.classList.contains("current"));
  const line = lines[clamp(old + by, 0, lines.length - 1)];
  if (!line) return;
  if (old >= 0) lines[old].classList.remove("current");
  line.classList.add("current");
  line.scrollIntoView({block: "nearest"});
  highlight(panes[0], line.path);
}

function drawNetworks() {
  panes.forEach(drawNetwork);
}

function drawStep() {
  const round = timeline[+get("slider").value];
  for (const pane of panes) {
    pane.index = findStep(pane.view, round);
    drawCells(pane);
    drawNetwork(pane);
    describeStep(pane);
    describeFaults(pane);
    showFound(pane);
    pane.parts.pointed.textContent = POINTING_HINT;
  }
  get("slider").setAttribute("aria-valuetext", `after round ${round}`);
  listFlows(panes[0]);
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

// The slider stops after every round at which a schedule has a step, and keeps its round.
function fillTimeline() {
  const slider = get("slider");
  const old = timeline[+slider.value];
  const rounds = new Set(panes.flatMap((pane) => pane.view.steps.map((step) => step.round)));
  timeline = [...rounds].sort((x, y) => x - y);
  slider.max = timeline.length - 1;
  if (old === undefined) return;
  const after = timeline.findIndex((round) => round >= old);
  slider.value = after < 0 ? timeline.length - 1 : after;
}

const nameView = (item) => `${item.topology}, ${item.scheduler}${item.size ? ", " + item.size : ""}`;

function titlePanes() {
  get("panes").classList.toggle("two", panes.length > 1);
  for (const {parts, view} of panes) {
    parts.paneTitle.hidden = panes.length === 1;
    parts.paneTitle.textContent = nameView(view);
  }
}

function chooseView(index) {
  view = data.views[index];
  Object.assign(ganttSpan, {from: 0, to: 1});
  setView(panes[0], view);
  get("heat").hidden = view.steps.length < 2;
  get("gantt").hidden = !view.run;
  get("ganttRows").querySelector("[value=link]").hidden = view.is_aggregated;
  if (view.is_aggregated && get("ganttRows").value === "link") get("ganttRows").value = "sender";
  fillModes();
  fillTimeline();
  titlePanes();
}

function chooseBeside(index) {
  if (panes.length > 1) panes.pop().parts.root.remove();
  if (index !== NO_OTHER) {
    const root = get("panes").appendChild(copyPane());
    panes.push(makePane(root, "Beside"));
    setView(panes[1], data.views[index]);
  }
  fillTimeline();
  titlePanes();
  drawStep();
}

let paneTemplate = null;  // as it is in the page before anything is drawn

const copyPane = () => paneTemplate.cloneNode(true);

function drawSchedule() {
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

function explainColors() {
  addKeys(get("keys"), [["--reduce", "reduce, partial sum"], ["--broadcast", "broadcast, final sum"],
                        ["--both", "both"], ["--cold", "nothing"]]);
  if (data.views.some((item) => item.is_aggregated)) {
    const key = add(get("keys"), "div", {}, "small squares: servers; large ones: several switches and " +
      "the use of their links, 0 %");
    add(key, "span", {class: "scale"});
    add(key, "span", {}, "100 %");
  }
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

function fillViews() {
  add(get("beside"), "option", {value: NO_OTHER}, "nothing");
  data.views.forEach((item, i) => {
    for (const select of ["view", "beside"]) add(get(select), "option", {value: i}, nameView(item));
  });
  get("besideLabel").hidden = data.views.length < 2;
}

function listenToControls() {
  get("view").onchange = () => {
    chooseView(+get("view").value);
    drawSchedule();
  };
  get("beside").onchange = () => chooseBeside(get("beside").value);
  get("slider").oninput = drawStep;
  get("mode").onchange = drawStep;
  get("ganttRows").onchange = drawGantt;
  get("play").onclick = togglePlay;
  get("zoomIn").onclick = () => zoomMiddle(KEY_ZOOM);
  get("zoomOut").onclick = () => zoomMiddle(1 / KEY_ZOOM);
  get("zoomFit").onclick = showAll;
  listenToKeys(get("flows"), {ArrowDown: () => moveInFlows(1), ArrowUp: () => moveInFlows(-1)});
}

function prepareSchedules() {
  get("schedule").hidden = false;
  paneTemplate = get("pane").cloneNode(true);
  panes = [makePane(get("pane"), "")];
  explainColors();
  fillViews();
  listenToControls();
  prepareSearch();
  prepareHeat();
  prepareGantt();
  const best = findBestView();
  get("view").value = best;
  get("slider").max = data.views[best].steps.length - 1;
  get("slider").value = 1;
  chooseView(best);
}
