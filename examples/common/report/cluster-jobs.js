// SPDX-License-Identifier: GPL-2.0-only
//
// A cluster's jobs: how many were completed after how long, and who ran when on which server.

"use strict";

const LANE = 4;
const LEAST_SERVER_HEIGHT = 14;
const SERVER_NAME_WIDTH = 70;

const CLUSTER_JOB_COLORS = 12;
const getJobColor = (job) => {
  let hash = 7;
  for (const letter of job) hash = (31 * hash + letter.charCodeAt(0)) % 9973;
  return `hsl(${360 * (hash % CLUSTER_JOB_COLORS) / CLUSTER_JOB_COLORS} 55% ${45 + 5 * (hash % 4)}%)`;
};

// Which GPUs of a server a bar takes: the first that are free.
function takeLanes(freeFrom, [, , workers, first, last]) {
  const lanes = [];
  for (let lane = 0; lane < freeFrom.length && lanes.length < workers; ++lane) {
    if (freeFrom[lane] <= first) lanes.push(lane);
  }
  for (const lane of lanes) freeFrom[lane] = last + 1;
  return lanes;
}

function drawJobBars(parent, view) {
  const mostSlot = view.bars.reduce((most, bar) => Math.max(most, bar[4] + 1), 1);
  const tops = [];
  let bottom = 6;
  for (const gpus of view.gpus) {
    tops.push(bottom);
    bottom += Math.max(LEAST_SERVER_HEIGHT, gpus * LANE + 4);
  }
  const width = parent.clientWidth;
  const svg = addSvg(parent, width, bottom + 30);
  const place = (slot) => SERVER_NAME_WIDTH + (width - SERVER_NAME_WIDTH - 15) * slot / mostSlot;
  tops.forEach((top, server) => {
    add(svg, "text", {x: SERVER_NAME_WIDTH - 6, y: top + 11, "text-anchor": "end", class: "soft"}, `server ${server}`);
  });
  const freeFrom = view.gpus.map((gpus) => Array(gpus).fill(0));
  for (const bar of view.bars) {
    const [job, server, workers, first, last] = bar;
    const text = `job ${job}: ${workers} GPUs of server ${server}, slots ${first} to ${last}`;
    for (const lane of takeLanes(freeFrom[server], bar)) {
      const rect = add(svg, "rect", {x: place(first), y: tops[server] + lane * LANE, height: LANE - 0.5,
                                     width: Math.max(1, place(last + 1) - place(first)), fill: getJobColor(job)});
      add(rect, "title", {}, text);
    }
  }
  for (const tick of chooseTicks(mostSlot, Math.max(3, width / 130))) {
    add(svg, "text", {x: place(tick), y: bottom + 14, "text-anchor": "middle", class: "soft"}, show(tick));
  }
  add(svg, "text", {x: width - 15, y: bottom + 28, "text-anchor": "end", class: "soft"}, `slot of ${view.slot_s} s`);
  addSaves(add(parent, "div", {class: "saves"}), "jobs", "jobs-on-servers", svg);
}

function showJobs(views) {
  const parent = get("jobBars");
  parent.replaceChildren();
  const view = views[get("jobChoice").selectedIndex];
  const notes = [];
  if (view.bars_left_out) notes.push(`The first ${view.bars.length} bars; ${view.bars_left_out} more are left out.`);
  add(parent, "p", {class: "soft"}, [`A line is a GPU, a color a job.`, ...notes].join(" "));
  drawJobBars(parent, view);
}

function drawJobs(views) {
  const curves = get("jobCurves");
  curves.replaceChildren();
  for (const objective of new Set(views.map((view) => view.objective))) {
    const seed = views[0].seed;
    const shown = views.filter((view) => view.objective === objective && view.seed === seed);
    drawCurves(curves, `share of the finished jobs that were completed, objective ${objective}, seed ${seed}`,
               "hours after arrival",
               shown.map((view) => ({name: view.policy,
                                     points: [[0, 0], ...view.completion_cdf.map(([s, share]) => [s / 3600, share])]})));
  }
  showJobs(views);
}

function prepareJobs(views) {
  const choice = get("jobChoice");
  for (const {objective, policy, seed} of views) {
    add(choice, "option", {}, `${policy}, objective ${objective}, seed ${seed}`);
  }
  choice.addEventListener("change", () => showJobs(views));
}
