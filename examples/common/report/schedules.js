// SPDX-License-Identifier: GPL-2.0-only
//
// Schedules round by round: which one is shown, or which two side by side, and the slider that moves them.

"use strict";

const NO_OTHER = "-1";

let panes = [];     // those that are shown; the rest of the page is about the first
let view = null;    // the schedule of the first pane
let timeline = [];  // by position of the slider: after which round
let timer = null;   // of the play button
let paneTemplate = null;  // a pane as it is in the page before anything is drawn

function listFlows(pane) {
  const list = get("flows");
  const flows = pane.view.steps[pane.index].flows || [];
  get("flowsTitle").hidden = panes.length === 1 || flows.length === 0;
  get("flowsTitle").textContent = `flows of ${nameView(pane.view)}`;
  list.replaceChildren();
  list.scrollTop = 0;
  for (const [chunk, isBroadcast, path, fate] of flows) {
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
  if (view.job) add(mode, "option", {value: "jobs"}, "jobs at this time");
  add(mode, "option", {value: "round"}, "this round's flows");
  add(mode, "option", {value: "total"}, nameTotalUse(view));
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

const nameView = ({topology, job, scheduler, size}) =>
  [topology, job && job.name, scheduler, size].filter(Boolean).join(", ");

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
  explainJobs();
  fillTimeline();
  titlePanes();
}

function chooseBeside(index) {
  if (panes.length > 1) panes.pop().parts.root.remove();
  if (index !== NO_OTHER) {
    const root = get("panes").appendChild(paneTemplate.cloneNode(true));
    panes.push(makePane(root, "Beside"));
    setView(panes[1], data.views[index]);
  }
  fillTimeline();
  titlePanes();
  drawStep();
}

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

// The colors of jobs are those of the view's company.
function explainJobs() {
  get("jobKeys").replaceChildren();
  get("jobKeys").hidden = !view.job;
  if (view.job) addKeys(get("jobKeys"), listJobKeys(view));
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
// failed has few, and is not the best. Of jobs the first one.
function findBestView() {
  if (data.views[0].job) return 0;
  const rounds = ({steps}) => {
    const {round, missing} = steps[steps.length - 1];
    return missing === 0 ? round : Infinity;
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
