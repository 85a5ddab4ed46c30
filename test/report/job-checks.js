// SPDX-License-Identifier: GPL-2.0-only
//
// The page of jobs that share a network: whose flows are where, in the colors that the legends name.

"use strict";

const {check, choose, moveSlider} = require("./checks.js");

/// From the data alone: "line job" for each job that has a flow on a line during a round of a view.
function listExpected(views, view, round) {
  const [, begin, duration] = view.run.rounds.filter(([number]) => number === round).pop();
  const found = new Set();
  for (const {run, job} of views) {
    for (const [, , , , start, length, way] of [...run.flows, ...run.cut]) {
      if (start >= begin + duration || start + length <= begin) continue;
      const path = run.ways[way];
      path.slice(1).forEach((to, i) => {
        const line = view.links.findIndex(([a, b]) => Math.min(a, b) === Math.min(path[i], to) &&
          Math.max(a, b) === Math.max(path[i], to));
        found.add(`${2 * line + (view.links[line][0] === path[i] ? 0 : 1)} ${job.name}`);
      });
    }
  }
  return [...found].sort().join();
}

/// What is drawn: lines, jobs, and the colors that these have.
function readLanes(page) {
  return page.evaluate(`[...document.querySelectorAll("#drawing .traffic")].map((lane) => ({
    line: lane.dataset.line, job: lane.dataset.job, color: getComputedStyle(lane).stroke,
    isDashed: lane.getAttribute("stroke-dasharray") !== "none"}))`);
}

function readLegend(page, id) {
  return page.evaluate(`[...document.querySelectorAll("#${id} .key:not(.cut)")].map((key) =>
    [key.nextElementSibling.textContent, getComputedStyle(key).backgroundColor])`);
}

async function checkDrawing(page, name, views, colors) {
  check(`${name}: links show jobs at first`, await page.evaluate(`get("mode").value`) === "jobs");
  let nShared = 0;
  for (let index = 0; index < views[0].steps.length; ++index) {
    await moveSlider(page, index);
    const lanes = await readLanes(page);
    const shown = lanes.map(({line, job}) => `${line} ${job}`).sort().join();
    const expected = index === 0 ? "" : listExpected(views, views[0], index - 1);
    check(`${name}: jobs on links at step ${index}`, shown === expected, `${shown}, not ${expected}`);
    check(`${name}: their colors at step ${index}`, lanes.every(({job, color}) => colors[job] === color));
    const isShared = ({line}) => lanes.filter((lane) => lane.line === line).length > 1;
    check(`${name}: shared links at step ${index}`, lanes.every((lane) => lane.isDashed === isShared(lane)));
    nShared += lanes.filter(isShared).length;
  }
  check(`${name}: some links are shared`, nShared > 0);
}

async function checkChart(page, name, views) {
  const all = views.reduce((sum, {run}) => sum + run.flow_count, 0);
  const {flows, note, texts} = await page.evaluate(`(() => {
    const rows = makeGanttRows("sender");
    const flows = rows.flatMap(([, flows]) => flows);
    return {flows: flows.length, note: get("ganttNote").textContent,
            texts: flows.map((flow) => [flow.job.name, describeFlow(flow)])};
  })()`);
  check(`${name}: the chart has the flows of all jobs`, flows === all && note.startsWith(
    `${all} flows of ${views.length} jobs in `), note);
  check(`${name}: flows have their job's name`, texts.every(([job, text]) => text.startsWith(`${job}: `)));
}

async function checkJobs(page, {name, rows}) {
  const views = await page.evaluate("data.views");
  const names = rows.map((row) => row.job);
  const legend = await readLegend(page, "jobKeys");
  check(`${name}: the legend names the jobs`, legend.map(([job]) => job).join() === names.join(), legend.join());
  check(`${name}: in different colors`, new Set(legend.map(([, color]) => color)).size === names.length);
  check(`${name}: in the chart, too`, (await readLegend(page, "ganttKeys")).join() === legend.join());
  await checkDrawing(page, name, views, Object.fromEntries(legend));
  await checkChart(page, name, views);
  await choose(page, "mode", "round");
  check(`${name}: a round's flows are those of one job`, (await readLanes(page)).every(({job}) => job === undefined));
  await choose(page, "view", 1);
  const status = (await moveSlider(page, views[1].steps.length - 1)).status;
  check(`${name}: all sums of a group are counted`, status.includes(`${views[1].sums} of ${views[1].sums},`), status);
}

module.exports = {checkJobs};
