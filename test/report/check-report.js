// SPDX-License-Identifier: GPL-2.0-only
//
// Opens the pages of --report in a real browser and looks at them as a reader does. Usage:
//   node check-report.js BIN_DIR SCRATCH_DIR [FIGURES_DIR]
// BIN_DIR has the programs; pages and rows go to SCRATCH_DIR, screenshots to FIGURES_DIR.

"use strict";

const {spawnSync} = require("child_process");
const fs = require("fs");
const path = require("path");
const {Browser, Page, findChromium} = require("./browser.js");

const [binDir, scratchDir, figuresDir] = process.argv.slice(2);
let nPassed = 0;
let nFailed = 0;

function check(what, isGood, details = "") {
  nPassed += isGood ? 1 : 0;
  nFailed += isGood ? 0 : 1;
  if (!isGood) console.log(`FAIL ${what} ${details}`);
}

/// Runs a program with --report. @return the page, and what the program printed as JSON
function run(name, program, options, printsJson = true) {
  const page = path.join(scratchDir, name + ".html");
  const format = printsJson ? ["--format=json"] : [];
  const {status, stdout, stderr} = spawnSync(path.join(binDir, program),
    [...options, ...format, `--report=${path.basename(page)}`], {encoding: "utf8", cwd: scratchDir,
      maxBuffer: 1 << 28});
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
  return {name, page, rows: printsJson ? JSON.parse(stdout) : []};
}

/// What is shown may be rounded, but must be the number.
function isShownAs(text, value) {
  if (value === null || value === undefined) return text === "-";
  if (typeof value === "boolean") return text === (value ? "yes" : "no");
  if (typeof value !== "number") return text === String(value);
  return Math.abs(Number(text) - value) <= 5e-4 * Math.abs(value);
}

async function checkNumbers(page, {name, rows}) {
  const embedded = await page.evaluate("data.results");
  check(`${name}: the page has the rows that were printed`, JSON.stringify(embedded) === JSON.stringify(rows));
  const cells = await page.evaluate(`[...document.querySelectorAll("#table tbody tr")].map((line) =>
    [...line.cells].map((cell) => [cell.dataset.key, cell.textContent]))`);
  check(`${name}: a line for each row`, cells.length === rows.length);
  cells.forEach((line, i) => line.forEach(([key, text]) =>
    check(`${name}: row ${i}, ${key}`, isShownAs(text, rows[i][key]), `${text}, not ${rows[i][key]}`)));
  const bars = await page.evaluate(`[...document.querySelectorAll(".bar")].map((bar) => +bar.dataset.value)`);
  const values = rows.map((row) => row.measured_s || row.mean_utility || row.rounds);
  check(`${name}: bars`, bars.length === rows.length && bars.every((bar) => values.includes(bar)), bars);
}

/// Moves the slider as a reader does. @return what the page shows then
function moveSlider(page, round) {
  return page.evaluate(`(() => {
    const slider = document.getElementById("slider");
    slider.value = ${round};
    slider.dispatchEvent(new Event("input"));
    return {drawing: document.getElementById("drawing").innerHTML,
            status: document.getElementById("status").textContent,
            flows: document.getElementById("flows").children.length,
            cells: document.getElementById("cells").toDataURL(),
            traffic: document.querySelectorAll(".traffic").length};
  })()`);
}

async function checkSlider(page, {name}) {
  const {last, servers, chunks, isAggregated, rounds} = await page.evaluate(`({last: view.steps.length - 1,
    servers: view.servers, chunks: view.chunks, isAggregated: view.is_aggregated,
    rounds: view.steps[view.steps.length - 1].round})`);
  const begin = await moveSlider(page, 0);
  check(`${name}: nothing moves before the first round`, begin.traffic === 0 && begin.status.includes("0 flows"));
  check(`${name}: all begin with partial sums`, begin.status.endsWith(`partial sums: ${servers * chunks}`));
  const middle = await moveSlider(page, Math.ceil(last / 2));
  check(`${name}: the slider changes the drawing`, middle.drawing !== begin.drawing && middle.traffic > 0);
  const flows = await page.evaluate(`view.steps[${Math.ceil(last / 2)}].flow_count`);
  check(`${name}: the number of flows`, middle.status.includes(`: ${flows} flows,`), middle.status);
  if (!isAggregated) {
    check(`${name}: every flow is listed`, middle.flows === flows);
    check(`${name}: the slider changes what servers hold`, middle.cells !== begin.cells);
  }
  const end = await moveSlider(page, last);
  check(`${name}: after the last round`, end.status.startsWith(`after round ${rounds} of ${rounds}:`), end.status);
  const all = servers * chunks;
  check(`${name}: all have final sums`, end.status.includes(`at servers: ${all} of ${all},`), end.status);
}

/// What the cells say must be what was counted.
async function checkCells(page, {name}) {
  const wrong = await page.evaluate(`(() => {
    if (view.is_aggregated) return 0;
    const cells = new Uint8Array(view.servers * view.chunks);
    let wrong = 0;
    for (const step of view.steps) {
      for (let j = 0; j < step.cells.length; j += 2) cells[step.cells[j]] = step.cells[j + 1];
      for (let server = 0; server < view.servers; ++server) {
        const row = cells.subarray(server * view.chunks, (server + 1) * view.chunks);
        wrong += row.filter((cell) => cell === 2).length !== step.final[server];
      }
    }
    return wrong;
  })()`);
  check(`${name}: cells and counts agree`, wrong === 0, `${wrong} do not`);
}

async function checkModes(page, {name}) {
  const modes = await page.evaluate(`[...document.getElementById("mode").options].map((option) => option.value)`);
  for (const mode of modes) {
    const traffic = await page.evaluate(`(() => {
      const select = document.getElementById("mode");
      select.value = "${mode}";
      select.dispatchEvent(new Event("change"));
      return document.querySelectorAll(".traffic").length;
    })()`);
    const lines = await page.evaluate("view.links.length * 2");
    check(`${name}: links show ${mode}`, mode === "round" || traffic === lines, traffic);
  }
  await page.evaluate(`document.getElementById("mode").value = "round"; drawStep()`);
}

async function checkSections(page, {name}, expected) {
  const shown = await page.evaluate(`[...document.querySelectorAll("section")].filter((section) =>
    !section.hidden).map((section) => section.id)`);
  check(`${name}: sections`, shown.join() === expected.join(), shown.join());
}

async function checkPage(browser, made, sections) {
  for (const dark of [true, false]) {
    const page = await Page.open(browser, made.page, {dark});
    await checkSections(page, made, sections);
    if (made.rows.length) await checkNumbers(page, made);
    if (sections.includes("schedule")) {
      await checkSlider(page, made);
      await checkCells(page, made);
      await checkModes(page, made);
    }
    check(`${made.name}: no complaints`, page.complaints.length === 0, page.complaints.join("; "));
    if (!dark) return page;
  }
}

async function takeFigure(page, name, round = 0) {
  if (!figuresDir) return;
  if (round) await moveSlider(page, round);
  fs.mkdirSync(figuresDir, {recursive: true});
  await page.screenshot(path.join(figuresDir, name));
}

async function checkAll(browser) {
  const plan = ["results", "schedule", "heat"];
  const bcube = run("bcube", "allreduce-run", ["--topology=bcube:4,1", "--scheduler=ring-aware,double-tree,greedy",
    "--bytes=4MiB", "--transport=raw"]);
  await takeFigure(await checkPage(browser, bcube, [...plan, "gantt"]), "report-bcube.png", 6);
  const jellyfish = run("jellyfish", "allreduce-plan", ["--topology=jellyfish:32,6,4",
    "--scheduler=ps-merge,ring-aware,greedy"]);
  await takeFigure(await checkPage(browser, jellyfish, plan), "report-jellyfish.png", 190);
  await checkPage(browser, run("plan", "allreduce-plan", ["--topology=bcube:2,1", "--topology=dcell:3,1",
    "--scheduler=ps,greedy"]), plan);
  await checkPage(browser, run("thousand", "allreduce-plan", ["--topology=bcube:10,2", "--scheduler=greedy",
    "--chunks-per-server=1"]), plan);
  await checkPage(browser, run("compare", "allreduce-compare", ["--topologies=bcube:2,1;dcell:2,1", "--sizes=1MiB",
    "--schedulers=ring,greedy", "--transport=raw"]), [...plan, "gantt"]);
  await checkPage(browser, run("cluster", "allreduce-cluster", ["--slots=60"]), ["results", "cluster"]);
  if (fs.existsSync(path.join(binDir, "allreduce-train"))) await checkTraining(browser);
}

async function checkTraining(browser) {
  fs.writeFileSync(path.join(scratchDir, "small.json"), JSON.stringify({topologies: ["bcube:3,1", "dcell:3,1"],
    validation: ["bcube:3,1"], problems: 4, rollouts: 4, validation_from: 2, validation_every: 4,
    validation_drawn: 2}));
  const made = run("training", "allreduce-train", ["--config=small.json", "--iterations=60", "--log=log.csv"], false);
  const page = await checkPage(browser, made, ["training"]);
  const text = fs.readFileSync(path.join(scratchDir, "log.csv"), "ascii");
  const log = text.trim().split("\n").map((line) => line.split(","));
  const lines = await page.evaluate("data.training");
  const isSame = lines.length === log.length - 1 && lines.every((line, i) => log[0].every((name, column) =>
    log[i + 1][column] === "" ? line[name] === null : Number(log[i + 1][column]) === line[name]));
  check("training: the page has the log", isSame);
  await takeFigure(page, "report-training.png");
}

async function main() {
  const chromium = findChromium();
  if (!chromium) {
    console.log("SKIP               report: there is no chromium (Debian: apt-get install chromium)");
    return;
  }
  const browser = new Browser(chromium);
  try {
    await checkAll(browser);
  } finally {
    await browser.close();
  }
  console.log(`report: ${nPassed} passed, ${nFailed} failed`);
  process.exitCode = nFailed > 0 ? 1 : 0;
}

main().catch((error) => {
  console.log(`FAIL ${error.stack}`);
  process.exit(1);
});
