// SPDX-License-Identifier: GPL-2.0-only
//
// The flows of a packet run in time, by link, sender or receiver.

"use strict";

const MOST_TIME_ZOOM = 200;

let gantt = null;  // rows and places of the chart that is shown, and the flow that keys have chosen
const ganttSpan = {from: 0, to: 1};  // the part of the time that is seen

// A flow: source, target, chunk, whether it is a broadcast, begin, duration, the number of its
// way, and what became of it if it did not arrive.
function makeGanttRows(kind) {
  const label = (server) => view.nodes[view.node_of ? view.node_of[server] : server].label;
  const byRow = {};
  for (const flow of gatherFlows(view)) {
    const {path} = flow;
    const keys = kind === "sender" ? [label(flow[0])] : kind === "receiver" ? [label(flow[1])]
      : path.slice(1).map((node, i) => `${path[i]} > ${node}`);
    for (const key of keys) (byRow[key] = byRow[key] || []).push(flow);
  }
  const names = Object.keys(byRow);
  const order = (name) => name.split(/[ >+-]+/).map(Number);
  names.sort((x, y) => order(x)[0] - order(y)[0] || (order(x)[1] || 0) - (order(y)[1] || 0));
  return names.map((name) => [name, byRow[name]]);
}

const placeTime = ({left, width, begin, end}, time) => left + width * (time - begin) / (end - begin);

const chooseTimes = ({width, begin, end}) => chooseTicks(end, Math.max(3, width / 130), begin);

// Lines through the rows; the times stand below what is scrolled.
function drawGanttGrid(context, box) {
  context.fillStyle = getColor("--line");
  for (const tick of chooseTimes(box)) {
    context.fillRect(placeTime(box, tick), box.top, 1, box.height - box.top);
  }
}

function drawGanttAxis(box) {
  const {left, width} = box;
  const context = prepareCanvas(get("ganttAxis"), left + width + 10, AXIS_HEIGHT);
  context.fillStyle = getColor("--soft");
  context.textAlign = "center";
  for (const tick of chooseTimes(box)) {
    context.fillText(showTime(tick, 6), Math.min(placeTime(box, tick), left + width - 20), 14);
  }
}

// Where rows and times are; above the rows is a strip for marks if there are any.
function makeGanttBox(rows) {
  const {rounds, marks} = view.run;
  const ends = (most, flow) => Math.max(most, flow[4] + flow[5]);
  const last = Math.max(1, ...rounds.map(([, begin, duration]) => begin + duration),
                        gatherFlows(view).reduce(ends, 0), ...marks.map((mark) => mark.time));
  const high = rows.length > 80 ? 9 : 14;
  const top = marks.length ? 16 : 0;
  const full = get("ganttChart").parentElement.clientWidth;
  const left = measureNames(rows.map(([name]) => name), full);
  return {left, width: full - left - 10, top, high, last, height: top + high * rows.length,
          begin: last * ganttSpan.from, end: last * ganttSpan.to};
}

// The bar of a flow that did not arrive is hollow, and has an end that can be seen.
function drawCutFlow(context, x, y, width, high) {
  context.strokeStyle = context.fillStyle = getColor("--hot");
  context.lineWidth = 1.2;
  context.strokeRect(x + 0.6, y + 0.6, Math.max(1, width - 1.2), high - 1.2);
  context.fillRect(x + width - 1, y - 1, 2.5, high + 2);
}

function drawGanttBars(context, rows, box) {
  const {top, high} = box;
  const kinds = [getColor("--reduce"), getColor("--broadcast")];
  const jobs = getJobColors();
  const nBands = countJobBands(view);
  const thick = (high - 2) / nBands;
  rows.forEach(([name, flows], i) => {
    for (const flow of flows) {
      const [, , , isBroadcast, begin, duration, , fate] = flow;
      const [x, y] = [placeTime(box, begin), top + high * i + 1 + thick * getJobBand(flow, nBands)];
      const wide = Math.max(0.6, placeTime(box, begin + duration) - x - 0.6);
      context.globalAlpha = fate ? 1 : view.is_aggregated ? 0.35 : 0.85;
      context.fillStyle = flow.job ? jobs[flow.job.number % JOB_COLORS] : kinds[+isBroadcast];
      if (fate) drawCutFlow(context, x, y, wide, thick);
      else context.fillRect(x, y, wide, thick);
    }
  });
  context.globalAlpha = 1;
}

// Sign, color and meaning of the marks.
const MARKS = {broke: ["\u2715", "--hot", "link broke"], mended: ["\u25cb", "--good", "link mended"],
               replanned: ["\u25c6", "--ink", "what was left planned anew"],
               slower: ["\u25bd", "--hot", "link seems to be slower"],
               faster: ["\u25b3", "--good", "link seems to be faster"]};

function drawGanttMarks(context, box) {
  const {top, height} = box;
  context.textAlign = "center";
  context.setLineDash([4, 3]);
  for (const {kind, time} of view.run.marks) {
    const [sign, color] = MARKS[kind];
    const x = placeTime(box, time);
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
  const {marks} = view.run;
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
  addKeys(keys, view.job ? listJobKeys(view) : [["--reduce", "reduce"], ["--broadcast", "broadcast"]]);
  const fates = new Set(gatherFlows(view).map((flow) => flow[7]).filter(Boolean));
  if (fates.size === 0) return;
  add(keys, "span", {class: "key cut"});
  add(keys, "span", {}, fates.size === 1 && fates.has("aborted") ? "aborted" : "did not arrive");
}

function describeCounts(last) {
  const runs = getCompany(view).map(({run}) => run);
  const sum = (get) => runs.reduce((total, run) => total + get(run), 0);
  const [shown, count] = [sum(({flows}) => flows.length), sum((run) => run.flow_count)];
  const [cutShown, cutCount] = [sum(({cut}) => cut.length), sum((run) => run.cut_count)];
  const iterations = sum((run) => run.iterations);
  const of = view.job ? ` of ${runs.length} jobs` : iterations > 1 ? ` of ${iterations} AllReduces` : "";
  const what = shown < count ? `the first ${shown} of ${count} flows${of}`
                             : `${count} flows${of} in ${showTime(last)}`;
  if (cutCount === 0) return what;
  return `${what}, ` + (cutShown < cutCount ? `the first ${cutShown} of ` : "") +
    `${cutCount} that did not arrive`;
}

function drawGantt() {
  if (!view.run) return;
  const rows = makeGanttRows(get("ganttRows").value);
  const box = makeGanttBox(rows);
  gantt = {rows, box, row: 0, flow: -1};
  const context = prepareCanvas(get("ganttChart"), box.left + box.width + 10, box.height);
  context.save();
  context.beginPath();
  context.rect(box.left - 4, 0, box.width + 12, box.height);
  context.clip();
  drawGanttGrid(context, box);
  drawGanttBars(context, rows, box);
  drawGanttMarks(context, box);
  context.restore();
  context.fillStyle = getColor("--soft");
  context.textAlign = "right";
  rows.forEach(([name], i) => context.fillText(name, box.left - 6, box.top + box.high * (i + 1) - 2,
                                               box.left - 6));
  drawGanttAxis(box);
  listGanttMarks();
  get("ganttCursor").hidden = true;
  get("ganttNote").textContent = describeCounts(box.last);
  get("ganttHover").textContent =
    "Point at a bar for its chunk, servers and times; or press the arrow keys. Keys + and - zoom.";
}

// Shows a share of the time around a place, both as shares of all of it.
function setGanttSpan(middle, share) {
  const half = clamp(share, 1 / MOST_TIME_ZOOM, 1) / 2;
  const at = clamp(middle, half, 1 - half);
  [ganttSpan.from, ganttSpan.to] = [at - half, at + half];
  const {row, flow} = gantt;
  drawGantt();
  Object.assign(gantt, {row, flow});
}

const getGanttMiddle = () => (ganttSpan.from + ganttSpan.to) / 2;

const zoomGantt = (factor) => setGanttSpan(getGanttMiddle(), (ganttSpan.to - ganttSpan.from) / factor);

const showAllTimes = () => setGanttSpan(0.5, 1);

// What is at the pointer stays there.
function zoomGanttAt(factor, x) {
  const share = ganttSpan.to - ganttSpan.from;
  const aside = (x - gantt.box.left) / gantt.box.width - 0.5;
  setGanttSpan(getGanttMiddle() + aside * (share - share / factor), share / factor);
}

function listenToGanttPointer(chart) {
  chart.addEventListener("pointermove", (event) => {
    showFlowAt(...locate(event, chart));
    if (event.buttons !== 1) return;
    const share = ganttSpan.to - ganttSpan.from;
    setGanttSpan(getGanttMiddle() - event.movementX / gantt.box.width * share, share);
  });
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;  // the wheel scrolls the rows
    event.preventDefault();
    zoomGanttAt(Math.exp(-event.deltaY / 400), locate(event, chart)[0]);
  }, {passive: false});
}

function describeFlow(flow) {
  const [source, target, chunk, isBroadcast, begin, duration, , fate] = flow;
  const end = !fate ? "took" : fate === "aborted" ? "was aborted after"
                                                  : "had not arrived when the run ended, after";
  const kind = `${flow.job ? flow.job.name + ": " : ""}${isBroadcast ? "broadcast" : "reduce"}`;
  return `${kind} of chunk ${chunk} from server ${source} to server ${target}: ` +
    `began at ${showTime(begin)}, ${end} ${showTime(duration)}`;
}

function nameGanttRow(name) {
  return `${get("ganttRows").value} ${name}`;
}

function showFlowAt(x, y) {
  const {rows, box} = gantt;
  const {left, width, top, high, begin, end} = box;
  const time = begin + (x - left) / width * (end - begin);
  const near = view.run.marks.filter((mark) => Math.abs(placeTime(box, mark.time) - x) < 6);
  const row = rows[Math.floor((y - top) / high)];
  const isAt = (flow) => flow[4] <= time && time <= flow[4] + flow[5];
  const nBands = countJobBands(view);
  const band = Math.floor(((y - top) % high) / high * nBands);
  const isInBand = (flow) => isAt(flow) && getJobBand(flow, nBands) === band;
  const found = row && (row[1].find(isInBand) || row[1].find(isAt));
  get("ganttHover").textContent = y < top ? near.map(describeMark).join("; ")
    : row ? nameGanttRow(row[0]) + (found ? `: ${describeFlow(found)}` : "") : "";
}

// The next or previous flow of a row, or the first of another row.
function moveInGantt(rowsOn, flowsOn) {
  const {rows} = gantt;
  gantt.row = clamp(gantt.row + rowsOn, 0, rows.length - 1);
  const [name, unsorted] = rows[gantt.row];
  const flows = [...unsorted].sort((x, y) => x[4] - y[4]);
  gantt.flow = clamp(rowsOn ? 0 : gantt.flow + flowsOn, 0, flows.length - 1);
  const flow = flows[gantt.flow];
  if (flow[4] < gantt.box.begin || flow[4] + flow[5] > gantt.box.end) {
    setGanttSpan((flow[4] + flow[5] / 2) / gantt.box.last, ganttSpan.to - ganttSpan.from);
  }
  const {box} = gantt;
  get("ganttHover").textContent = `${nameGanttRow(name)}: ${describeFlow(flow)}`;
  const x = placeTime(box, flow[4]);
  placeCursor(get("ganttCursor"), x, box.top + box.high * gantt.row,
              Math.max(3, placeTime(box, flow[4] + flow[5]) - x), box.high);
  get("ganttCursor").scrollIntoView({block: "nearest", inline: "nearest"});
}

function prepareGantt() {
  const chart = get("ganttChart");
  listenToGanttPointer(chart);
  listenToKeys(chart, {ArrowDown: () => moveInGantt(1, 0), ArrowUp: () => moveInGantt(-1, 0),
                       ArrowLeft: () => moveInGantt(0, -1), ArrowRight: () => moveInGantt(0, 1),
                       "+": () => zoomGantt(KEY_ZOOM), "=": () => zoomGantt(KEY_ZOOM),
                       "-": () => zoomGantt(1 / KEY_ZOOM), "0": showAllTimes});
  get("timeIn").onclick = () => zoomGantt(KEY_ZOOM);
  get("timeOut").onclick = () => zoomGantt(1 / KEY_ZOOM);
  get("timeFit").onclick = showAllTimes;
  addSaves(get("ganttSaves"), "chart", "flows", chart, get("ganttAxis"));
}
