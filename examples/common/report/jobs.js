// SPDX-License-Identifier: GPL-2.0-only
//
// Jobs that share a network: their colors, and which of them are on which link at the same time.

"use strict";

const JOB_COLORS = 8;
const JOB_DASH = 7;  // pixels of each color on a line that several jobs use

const nameJobColor = ({number}) => `--job${number % JOB_COLORS}`;

const getJobColors = () => Array.from({length: JOB_COLORS}, (_, number) => getColor(nameJobColor({number})));

const listJobKeys = (item) => getCompany(item).map(({job}) => [nameJobColor(job), job.name]);

// The views of all jobs that shared the network with a view's, itself among them.
function getCompany(item) {
  return item.job ? data.views.filter(({job}) => job && job.run === item.job.run) : [item];
}

// The flows of all of them. Each knows its path, and its job if there are jobs.
function gatherFlows(item) {
  if (!item.gathered) {
    item.gathered = getCompany(item).flatMap(({run, job}) =>
      [...run.flows, ...run.cut].map((flow) => Object.assign(flow, {path: run.ways[flow[6]], job})));
  }
  return item.gathered;
}

// The bars of a few jobs are one above the other in each row, so that all are seen where they overlap.
const MOST_BANDS = 4;

function countJobBands(item) {
  const count = getCompany(item).length;
  return count <= MOST_BANDS ? count : 1;
}

const getJobBand = ({job}, nBands) => job ? job.number % nBands : 0;

// From the begin of a step's first round to the end of its last; of the AllReduce shown.
function findStepTimes({run, steps}, index) {
  const spans = new Map(run.rounds.map(([round, begin, duration]) => [round, [begin, begin + duration]]));
  const times = [Infinity, -Infinity];
  for (let round = index ? steps[index - 1].round : 0; round < steps[index].round; ++round) {
    const [begin, end] = spans.get(round) || [Infinity, -Infinity];
    times[0] = Math.min(times[0], begin);
    times[1] = Math.max(times[1], end);
  }
  return times;
}

// By "from-to", as the network is drawn: the number of the line with its direction.
function getLineNumbers(item) {
  item.lineNumbers = item.lineNumbers || new Map(item.links.flatMap(([a, b], i) =>
    [[`${a}-${b}`, 2 * i], [`${b}-${a}`, 2 * i + 1]]));
  return item.lineNumbers;
}

// By line with its direction: by job, how many of its flows were on it during a step.
function countJobFlows({view, index}) {
  const [begin, end] = findStepTimes(view, index);
  const numbers = getLineNumbers(view);
  const drawn = (node) => view.node_of ? view.node_of[node] : node;
  const lines = new Map();
  for (const flow of gatherFlows(view)) {
    if (flow[4] >= end || flow[4] + flow[5] <= begin) continue;
    for (let i = 0; i + 1 < flow.path.length; ++i) {
      const line = numbers.get(`${drawn(flow.path[i])}-${drawn(flow.path[i + 1])}`);
      if (line === undefined) continue;  // inside a node that stands for several
      if (!lines.has(line)) lines.set(line, new Map());
      lines.get(line).set(flow.job, (lines.get(line).get(flow.job) || 0) + 1);
    }
  }
  return lines;
}

// A line that several jobs use has the colors of all of them in turn.
function addJobs(pane, near) {
  const isDense = pane.view.links.length > MANY_LINES * camera.zoom;
  for (const [line, counts] of countJobFlows(pane)) {
    const jobs = [...counts.keys()].sort((x, y) => x.number - y.number);
    jobs.forEach((job, i) => {
      const color = `var(${nameJobColor(job)})`;
      const isAlone = jobs.length === 1;
      addLane(pane, line, near, {
        stroke: color, fill: isDense || !isAlone ? "none" : color, "stroke-width": isDense ? 1 : 2.2,
        "data-job": job.name, "stroke-dashoffset": -JOB_DASH * i,
        "stroke-dasharray": isAlone ? "none" : `${JOB_DASH} ${JOB_DASH * (jobs.length - 1)}`});
    });
  }
}

function describeJobsOn(pane, line) {
  const counts = countJobFlows(pane).get(line) || new Map();
  const texts = [...counts].map(([job, count]) => `${count} of ${job.name}`);
  return texts.length ? `flows at this time: ${texts.join(", ")}` : "nothing at this time";
}
