// SPDX-License-Identifier: GPL-2.0-only
//
// Fills the sections for which the page has data.

"use strict";

// What depends on the width of the window or on light and dark.
function drawPage() {
  if (data.results.length) {
    drawBars(get("bars"), data.results);
    fitTable(get("table"));
  }
  if (data.views.length) drawSchedule();
  if (data.training.length) drawTraining(data.training);
  if (data.cluster.length) drawCluster(data.cluster);
  if (data.jobs.length) drawJobs(data.jobs);
}

function drawTitle() {
  const program = data.command.split(" ")[0];
  const names = [...new Set(data.results.map((row) => row.topology).filter(Boolean))];
  const title = [program, names.slice(0, 4).join(", ")].filter(Boolean).join(": ");
  document.title = title;
  get("title").textContent = title;
  get("command").textContent = data.command;
}

function listenToWindow() {
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;  // a telephone's address bar comes and goes
    width = window.innerWidth;
    drawPage();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPage);
}

function main() {
  drawTitle();
  get("results").hidden = data.results.length === 0;
  get("training").hidden = data.training.length === 0;
  get("cluster").hidden = data.cluster.length === 0;
  get("jobs").hidden = data.jobs.length === 0;
  if (data.results.length) drawResults(data.results);
  if (data.views.length) prepareSchedules();
  if (data.jobs.length) prepareJobs(data.jobs);
  drawPage();
  listenToWindow();
}

main();
