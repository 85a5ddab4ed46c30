// SPDX-License-Identifier: GPL-2.0-only
//
// Opens the pages of --report in a real browser and looks at them as a reader does. Usage:
//   node check-report.js BIN_DIR SCRATCH_DIR FIGURES_DIR [PAGE...]
// BIN_DIR has the programs; pages, and screenshots of all of them in light, in dark and on a telephone, go to
// SCRATCH_DIR; those that the manual shows go to FIGURES_DIR. PAGE: only these are checked, by their names below.

"use strict";

const {spawnSync} = require("child_process");
const fs = require("fs");
const path = require("path");
const {Browser, Page, findChromium} = require("./browser.js");
const {check, choose, counts, moveSlider} = require("./checks.js");
const {checkColumns, checkFingers, checkInteractions, checkRacks, checkSaves, checkSpeed, checkTab} =
  require("./interaction-checks.js");
const {checkJobs} = require("./job-checks.js");
const {shrink} = require("./small-png.js");

const [binDir, scratchDir, figuresDir] = process.argv.slice(2, 5).map((name) => path.resolve(name));
const wantedPages = process.argv.slice(5);

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
  const readPairs = (selector) => `[...document.querySelectorAll("${selector}")].map((line) =>
    [...line.querySelectorAll("[data-key]")].map((cell) => [cell.dataset.key, cell.textContent]))`;
  const [common] = await page.evaluate(readPairs("#common"));
  const lines = await page.evaluate(readPairs("#table tbody tr"));
  check(`${name}: a line for each row`, lines.length === (rows.length > 1 ? rows.length : 0), lines.length);
  rows.forEach((row, i) => {
    const shown = [...common, ...(lines[i] || [])];
    shown.forEach(([key, text]) =>
      check(`${name}: row ${i}, ${key}`, isShownAs(text, row[key]), `${text}, not ${row[key]}`));
    const missing = Object.keys(row).filter((key) => typeof row[key] !== "object" || row[key] === null)
      .filter((key) => !shown.some(([other]) => other === key));
    check(`${name}: row ${i} is shown as a whole`, missing.length === 0, missing.join());
  });
  const bars = await page.evaluate(`[...document.querySelectorAll(".bar")].map((bar) => +bar.dataset.value)`);
  const values = rows.map((row) => row.measured_s || row.mean_utility || row.rounds);
  check(`${name}: bars`, bars.length === rows.length && bars.every((bar) => values.includes(bar)), bars);
}

async function checkSlider(page, {name}) {
  const {last, servers, chunks, isAggregated, rounds} = await page.evaluate(`({last: view.steps.length - 1,
    servers: view.servers, chunks: view.chunks, isAggregated: view.is_aggregated,
    rounds: view.steps[view.steps.length - 1].round})`);
  const begin = await moveSlider(page, 0);
  check(`${name}: nothing moves before the first round`, begin.traffic === 0 && begin.status.includes("0 flows"));
  check(`${name}: all begin with partial sums`, begin.status.includes(`partial sums: ${servers * chunks}`));
  const middle = await moveSlider(page, Math.ceil(last / 2));
  check(`${name}: the slider changes the drawing`, middle.drawing !== begin.drawing && middle.traffic > 0);
  const flows = await page.evaluate(`view.steps[${Math.ceil(last / 2)}].flow_count`);
  check(`${name}: the number of flows`, middle.status.includes(`: ${flows} flows,`), middle.status);
  if (!isAggregated) {
    const cut = await page.evaluate(`((step) => (step.aborted || 0) + (step.unfinished || 0))(
      view.steps[${Math.ceil(last / 2)}])`);
    check(`${name}: every flow is listed`, middle.flows === flows + cut);
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

/// The page plays the rounds by itself.
async function checkPlay(page, {name}) {
  await moveSlider(page, 0);
  const reached = await page.evaluate(`new Promise((resolve) => {
    get("play").click();
    setTimeout(() => { get("play").click(); resolve(+get("slider").value); }, 1000);
  })`);
  check(`${name}: play moves the slider`, reached > 0, reached);
}

/// Lets expressions point at a place in the chart of flows, in its own coordinates.
function definePointing(page) {
  return page.evaluate(`window.pointAtGantt = (x, y) => {
    const canvas = get("ganttChart");
    const box = canvas.getBoundingClientRect();
    const scale = canvas.clientWidth / parseFloat(canvas.style.width);
    canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x * scale, clientY: box.top + y * scale}));
  }; 0`);
}

/// Points at the middle of the first flow's bar in every kind of row.
async function checkGantt(page, {name}) {
  await definePointing(page);
  const hover = await page.evaluate(`(() => {
    const select = get("ganttRows");
    return [...select.options].filter((option) => !option.hidden).map(({value}) => {
      select.value = value;
      select.dispatchEvent(new Event("change"));
      const rows = makeGanttRows(value);
      const {left, width, top, last} = makeGanttBox(rows);
      const first = rows[0][1].reduce((least, flow) => flow[4] < least[4] ? flow : least);
      pointAtGantt(left + width * (first[4] + first[5] / 2) / last, top + 4);
      return [value, get("ganttHover").textContent, first];
    });
  })()`);
  check(`${name}: rows of flows`, hover.length >= 2);
  for (const [rows, text, [source, target, chunk]] of hover) {
    const expected = `of chunk ${chunk} from server ${source} to server ${target}:`;
    check(`${name}: pointing at a flow by ${rows}`, text.includes(expected), `${text}, not ${expected}`);
  }
}

/// Without faults nothing speaks of them; with them every one is listed, and what was aborted looks different.
async function checkFaults(page, {name}, {marks, aborted, iterations = 1}) {
  const shown = await page.evaluate(`({lines: [...get("ganttMarks").children].map((line) => line.textContent),
    isHidden: get("ganttMarks").hidden, keys: get("ganttKeys").textContent, note: get("ganttNote").textContent,
    height: makeGanttBox([]).top, cut: view.run.cut.length,
    aborted: view.steps.reduce((sum, step) => sum + (step.aborted || 0), 0)})`);
  check(`${name}: every mark is listed`, shown.lines.length === marks.length && shown.isHidden === !marks.length &&
    marks.every((mark, i) => shown.lines[i].endsWith(mark)), shown.lines.join("; "));
  check(`${name}: room for marks only where there are some`, (shown.height > 0) === marks.length > 0);
  check(`${name}: the key of aborted flows`, shown.keys === "reducebroadcast" + (aborted ? "aborted" : ""), shown.keys);
  check(`${name}: aborted flows are counted`, shown.cut === aborted &&
    shown.note.includes("did not arrive") === aborted > 0, shown.note);
  check(`${name}: and are in the last AllReduce`, iterations > 1 || shown.aborted === aborted, shown.aborted);
  check(`${name}: says how many AllReduces there were`, shown.note.includes("AllReduces") === iterations > 1 &&
    (await moveSlider(page, 1)).status.includes(`last of ${iterations} AllReduces`) === iterations > 1);
}

/// A link breaks and is mended: at their steps that is said and drawn, and pointing at marks and flows names them.
async function checkBroken(page, {name}) {
  await definePointing(page);
  const steps = [];
  const nSteps = await page.evaluate("view.steps.length");
  for (let i = 0; i < nSteps; ++i) steps.push(await moveSlider(page, i));
  const find = (text) => steps.findIndex((step) => step.marks.includes(text));
  const [broke, mended] = [find("link 0-16 broke"), find("link 0-16 was mended")];
  check(`${name}: steps say what broke`, broke > 0 && mended > broke, `${broke}, ${mended}`);
  check(`${name}: and what was aborted`, find("flows of this step aborted") === broke);
  check(`${name}: and who planned`, find("greedy planned what was left") === broke + 1);
  check(`${name}: the link is drawn as broken as long as it is`, steps.every(({down}, i) =>
    down === (i >= broke && i < mended ? 1 : 0)), steps.map(({down}) => down).join());
  const texts = await page.evaluate(`(() => {
    get("ganttRows").value = "sender";
    drawGantt();
    const rows = makeGanttRows("sender");
    const {left, width, top, high, last} = makeGanttBox(rows);
    const texts = view.run.marks.map((mark) => {
      pointAtGantt(left + width * mark.time / last, top / 2);
      return get("ganttHover").textContent.includes(mark.text);
    });
    return [...texts, ...view.run.cut.map((flow) => describeFlow(flow).includes("was aborted after"))];
  })()`);
  check(`${name}: pointing at marks and at aborted flows`, texts.every(Boolean), texts.join());
}

const JOB_COLORS = [0, 1, 2, 3, 4, 5, 6, 7].map((number) => `--job${number}`);

/// Contrast as WCAG defines it: 4.5 for texts, 1.3 for what is drawn next to its background.
async function checkColors(page, {name}) {
  const colors = await page.evaluate(`Object.fromEntries(["--ink", "--soft", "--card", "--page", "--reduce",
    "--broadcast", "--both", "--hot", "--good", "--wire", ...${JSON.stringify(JOB_COLORS)}].map(
    (color) => [color, getColor(color)]))`);
  const getLight = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16) / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const getContrast = (x, y) => {
    const [dark, light] = [getLight(x), getLight(y)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const checkContrast = (color, ground, least) => {
    const contrast = getContrast(colors[color], colors[ground]);
    check(`${name}: ${color} on ${ground}`, contrast >= least, contrast);
  };
  for (const text of ["--ink", "--soft"]) for (const ground of ["--card", "--page"]) checkContrast(text, ground, 4.5);
  for (const drawn of ["--reduce", "--broadcast", "--both", "--hot", "--good", ...JOB_COLORS]) {
    checkContrast(drawn, "--card", 3);
  }
  checkContrast("--wire", "--card", 1.3);
}

/// Nothing sticks out, and no label of the drawing lies on another.
async function checkLayout(page, {name}) {
  const width = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
  check(`${name}: not wider than the window`, width <= 0, width);
  const overlaps = await page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll("#drawing text")].map((text) => text.getBoundingClientRect());
    return boxes.flatMap((x, i) => boxes.slice(i + 1).filter((y) =>
      Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1 &&
      Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 2)).length;
  })()`);
  check(`${name}: labels are apart`, overlaps === 0, `${overlaps} are not`);
}

async function checkModes(page, {name}) {
  const modes = await page.evaluate(`[...document.getElementById("mode").options].map((option) => option.value)`);
  for (const mode of modes) {
    const [traffic, priced] = await page.evaluate(`(() => {
      const select = document.getElementById("mode");
      select.value = "${mode}";
      select.dispatchEvent(new Event("change"));
      return ["#drawing .traffic", "#drawing .priced"].map((name) => document.querySelectorAll(name).length);
    })()`);
    const lines = await page.evaluate("view.links.length * 2");
    if (mode === "bottleneck") {
      const expected = await page.evaluate(
        "view.bottleneck.prices.filter((price) => price > 0).length + view.bottleneck.nodes.length");
      const [text, status] = await page.evaluate(`[view.bottleneck.text, document.getElementById("status").textContent]`);
      check(`${name}: priced links are drawn`, priced === expected && priced > 0, priced);
      check(`${name}: the bottleneck is named`, status.includes(text), status);
    } else {
      check(`${name}: links show ${mode}`, mode === "round" || traffic === lines, traffic);
    }
  }
  await page.evaluate(`document.getElementById("mode").value = "round"; drawStep()`);
}

async function checkSections(page, {name}, expected) {
  const shown = await page.evaluate(`[...document.querySelectorAll("section")].filter((section) =>
    !section.hidden).map((section) => section.id)`);
  check(`${name}: sections`, shown.join() === expected.join(), shown.join());
}

const TELEPHONE = 390;

async function checkNarrow(browser, made) {
  const page = await Page.open(browser, made.page, {width: TELEPHONE});
  const width = await page.evaluate("document.documentElement.scrollWidth");
  check(`${made.name}: fits on a telephone`, width <= TELEPHONE, width);
  await checkColumns(page, made);
  await checkLayout(page, made);
  await page.screenshot(path.join(scratchDir, `report-${made.name}-narrow.png`));
  if (await page.evaluate("data.views.length > 0")) await checkFingers(page, made);
}

const NO_FAULTS = {marks: [], aborted: 0};

/// What a page shows, in one color scheme.
async function checkContents(page, made, sections, faults) {
  await checkSections(page, made, sections);
  await checkColors(page, made);
  if (made.rows.length) await checkNumbers(page, made);
  if (sections.includes("schedule")) {
    await checkSlider(page, made);
    await checkPlay(page, made);
    await checkCells(page, made);
    await checkModes(page, made);
  }
  if (sections.includes("gantt")) {
    await checkGantt(page, made);
    await checkFaults(page, made, faults);
  }
  if (faults.marks.length && !faults.iterations) await checkBroken(page, made);
  await checkLayout(page, made);
  await checkColumns(page, made);
}

async function checkPage(browser, made, sections, round = 0, faults = NO_FAULTS) {
  await checkNarrow(browser, made);
  for (const dark of [true, false]) {
    const page = await Page.open(browser, made.page, {dark});
    await checkContents(page, made, sections, faults);
    if (round) await moveSlider(page, round);
    await page.evaluate(`if (view && view.run) { get("ganttRows").value = "sender"; drawGantt(); }`);
    await page.screenshot(path.join(scratchDir, `report-${made.name}${dark ? "-dark" : ""}.png`));
    check(`${made.name}: no complaints`, page.complaints.length === 0, page.complaints.join("; "));
  }
}

/// What a reader does with a page, and a picture of its schedule.
async function checkUse(browser, made, round, more = async () => {}) {
  const page = await Page.open(browser, made.page);
  await more(page);
  await checkInteractions(page, made);
  await checkSaves(page, made, path.join(scratchDir, `saved-${made.name}`));
  await checkTab(page, made);
  await moveSlider(page, round);
  await page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)");
  await page.screenshot(path.join(scratchDir, `report-${made.name}-schedule.png`), "#schedule");
  check(`${made.name}: no complaints in use`, page.complaints.length === 0, page.complaints.join("; "));
}

/// Pictures that the manual shows, in light: [page, what of it was photographed, name].
function keepFigures(figures) {
  fs.mkdirSync(figuresDir, {recursive: true});
  for (const [page, part, name] of figures) {
    const made = path.join(scratchDir, `report-${page}${part}.png`);
    if (!fs.existsSync(made)) continue;
    const figure = path.join(figuresDir, `report-${name}.png`);
    fs.writeFileSync(figure, shrink(fs.readFileSync(made)));
    check(`${name}: small enough for a repository`, fs.statSync(figure).size < 300e3, fs.statSync(figure).size);
  }
}

const isWanted = (name) => wantedPages.length === 0 || wantedPages.includes(name);

const PLAN = ["results", "schedule", "heat"];

/// Networks of all sizes, with everything that can be done with their pages.
async function checkNetworks(browser) {
  const bcube = ["allreduce-run", ["--topology=bcube:4,1", "--scheduler=ring-aware,double-tree,greedy",
    "--bytes=4MiB", "--transport=raw"]];
  const pages = [
    {name: "bcube", make: bcube, sections: [...PLAN, "gantt"], round: 6},
    {name: "jellyfish", make: ["allreduce-plan", ["--topology=jellyfish:32,6,4",
      "--scheduler=ps-merge,ring-aware,greedy"]], sections: PLAN, round: 190},
    {name: "fattree", make: ["allreduce-plan", ["--topology=fattree:8", "--scheduler=halving-doubling,greedy"]],
      sections: PLAN, round: 200},
    {name: "half-thousand", make: ["allreduce-plan", ["--topology=bcube:8,2", "--scheduler=greedy",
      "--chunks-per-server=1"]], sections: PLAN, round: 250},
    {name: "thousand", make: ["allreduce-plan", ["--topology=bcube:10,2", "--scheduler=greedy",
      "--chunks-per-server=1"]], sections: PLAN, round: 400, more: checkSpeed},
    {name: "1024", make: ["allreduce-plan", ["--topology=fattree:16", "--scheduler=greedy"]], sections: PLAN,
      round: 1200, more: checkSpeed},
    {name: "uneven", make: ["allreduce-plan", ["--topology=bcube:4,1", "--degrade=0.05,3",
      "--scheduler=greedy,forest"]], sections: PLAN, round: 20},
  ];
  for (const {name, make, sections, round, more} of pages.filter((page) => isWanted(page.name))) {
    const made = run(name, ...make);
    await checkPage(browser, made, sections, round);
    await checkUse(browser, made, round, more && ((page) => more(page, made)));
  }
}

/// Three racks, whose servers take turns in the file and have links to two switches each.
async function checkFileRacks(browser) {
  const links = [];
  for (let server = 0; server < 24; ++server) {
    const first = 24 + 2 * (server % 3);
    links.push([server, first], [server, first + 1]);
  }
  for (let id = 24; id < 30; ++id) links.push([id, 30, "40Gbps"], [id, 31, "40Gbps"]);
  fs.writeFileSync(path.join(scratchDir, "racks.json"), JSON.stringify(
    {name: "racks", servers: 24, switches: 8, links}));
  const made = run("racks", "allreduce-plan", ["--topology=file:racks.json", "--scheduler=ring,greedy"]);
  await checkPage(browser, made, PLAN, 20);
  await checkUse(browser, made, 20, (page) => checkRacks(page, made, 3));
}

/// Two schedulers side by side, as a picture.
async function photographBeside(browser) {
  const made = run("beside", "allreduce-plan", ["--topology=bcube:4,1", "--scheduler=ring-aware,greedy"]);
  for (const [width, part] of [[1280, ""], [TELEPHONE, "-narrow"]]) {
    const page = await Page.open(browser, made.page, {width});
    await choose(page, "beside", 0);
    await moveSlider(page, 22);
    await checkColumns(page, made);
    await page.screenshot(path.join(scratchDir, `report-beside${part}.png`), "#schedule");
  }
}

async function checkAll(browser) {
  await checkNetworks(browser);
  if (isWanted("racks")) await checkFileRacks(browser);
  if (isWanted("beside")) await photographBeside(browser);
  if (isWanted("plan")) {
    await checkPage(browser, run("plan", "allreduce-plan", ["--topology=bcube:2,1", "--topology=dcell:3,1",
      "--scheduler=ps,greedy"]), PLAN);
  }
  if (isWanted("one")) {
    await checkPage(browser, run("one", "allreduce-run", ["--topology=bcube:2,1", "--bytes=256KiB"]),
      [...PLAN, "gantt"], 2);
  }
  if (isWanted("mixed")) await checkMixedUse(browser);
  if (isWanted("failure")) await checkFailures(browser);
  if (isWanted("jobs")) await checkJobPage(browser);
  if (isWanted("compare")) {
    await checkPage(browser, run("compare", "allreduce-compare", ["--topologies=bcube:2,1;dcell:2,1", "--sizes=1MiB",
      "--schedulers=ring,greedy", "--transport=raw"]), [...PLAN, "gantt"]);
  }
  if (isWanted("cluster")) await checkCluster(browser);
  if (isWanted("training") && fs.existsSync(path.join(binDir, "allreduce-train"))) await checkTraining(browser);
}

/// On links of mixed speed planned unit flows over capacity are not the use: the page shows what was measured.
async function checkMixedUse(browser) {
  const options = ["--topology=dcell:3,1", "--mixed=0.5,1", "--scheduler=forest"];
  const ran = run("mixed", "allreduce-run", [...options, "--bytes=1MiB", "--transport=raw"]);
  const note = async (made) => (await Page.open(browser, made.page)).evaluate(`get("heatNote").textContent`);
  const text = await note(ran);
  const [, most] = /measured use .* in the mean, ([0-9.]+) % at most/.exec(text) || [];
  check("mixed: the map's use is that of the row", Math.abs(most / 100 - ran.rows[0].max_utilization) < 0.006, text);
  const planned = await note(run("mixed-plan", "allreduce-plan", options));
  check("mixed: a plan has none", planned.includes("planned unit flows over capacity"), planned);
}

async function checkCluster(browser) {
  const made = run("cluster", "allreduce-cluster", ["--slots=60"]);
  await checkPage(browser, made, ["results", "cluster", "jobs"]);
  const page = await Page.open(browser, made.page);
  await checkSaves(page, made, path.join(scratchDir, "saved-cluster"));
}

/// Three jobs, two of which share servers: who is on which link.
async function checkJobPage(browser) {
  const made = run("jobs", "allreduce-run", ["--topology=bcube:4,1", "--bytes=1MiB", "--chunks-per-server=2",
    "--job=name=left;servers=0-7;relay=none", "--job=name=right;servers=4-11;relay=none;start=0.2ms",
    "--job=name=bcast;servers=0,5,10,15;collective=broadcast;root=5;iterations=2"]);
  await checkNarrow(browser, made);
  for (const dark of [true, false]) {
    const page = await Page.open(browser, made.page, {dark});
    await checkSections(page, made, [...PLAN, "gantt"]);
    await checkColors(page, made);
    await checkNumbers(page, made);
    await checkJobs(page, made);
    await checkLayout(page, made);
    await checkColumns(page, made);
  }
}

/// What ran is shown, not what was planned: a link breaks, and is mended.
async function checkFailures(browser) {
  const sections = ["results", "schedule", "heat", "gantt"];
  const [broke, mended, planned] = ["link 0-16 broke", "link 0-16 was mended", "greedy planned what was left"];
  for (const sync of ["barrier", "dependency"]) {
    const made = run(`failure-${sync}`, "allreduce-run", ["--topology=bcube:4,1", "--bytes=4MiB", "--transport=raw",
      `--sync=${sync}`, "--chunks-per-server=ports", "--fail=0-16@1ms,2ms"]);
    const [{rounds, replans, aborted}] = made.rows;
    check(`${made.name}: a failure that matters`, rounds > 30 && aborted > 0 && replans > 0);
    const marks = [broke, planned, mended, ...(replans > 1 ? [planned] : [])];
    await checkPage(browser, made, sections, 8, {marks, aborted});
  }
  const several = run("several", "allreduce-run", ["--topology=bcube:4,1", "--bytes=1MiB", "--transport=raw",
    "--iterations=3", "--fail=0-16@1ms"]);
  await checkPage(browser, several, sections, 1, {marks: [broke, planned, "greedy planned anew"],
    aborted: several.rows[0].aborted, iterations: 3});
  const page = await Page.open(browser, several.page);
  const first = await moveSlider(page, 0);
  check("several: a link that broke before", first.marks === "down before this AllReduce began: 0-16", first.marks);
  check("several: and is still down", first.down === 1, first.down);
}

async function checkTraining(browser) {
  fs.writeFileSync(path.join(scratchDir, "small.json"), JSON.stringify({topologies: ["bcube:3,1", "dcell:3,1"],
    validation: ["bcube:3,1"], problems: 4, rollouts: 4, validation_from: 2, validation_every: 4,
    validation_drawn: 2}));
  const made = run("training", "allreduce-train", ["--config=small.json", "--iterations=60", "--log=log.csv"], false);
  await checkPage(browser, made, ["training"]);
  const page = await Page.open(browser, made.page);
  const text = fs.readFileSync(path.join(scratchDir, "log.csv"), "ascii");
  const log = text.trim().split("\n").map((line) => line.split(","));
  const lines = await page.evaluate("data.training");
  const isSame = lines.length === log.length - 1 && lines.every((line, i) => log[0].every((name, column) =>
    log[i + 1][column] === "" ? line[name] === null : Number(log[i + 1][column]) === line[name]));
  check("training: the page has the log", isSame);
  const flat = await page.evaluate(`[...document.querySelectorAll("#curves polyline")].filter((curve) => {
    const heights = [...curve.points].map((point) => point.y);
    return Math.max(...heights) - Math.min(...heights) < 2;
  }).length`);
  check("training: curves are seen, also below 0", flat === 0, flat);
}

async function main() {
  const browser = new Browser(findChromium());
  try {
    await checkAll(browser);
    keepFigures([["bcube", "", "bcube"], ["fattree", "-schedule", "128"], ["1024", "-schedule", "1024"],
      ["beside", "", "beside"], ["1024", "-narrow", "narrow"], ["training", "", "training"]]);
  } finally {
    await browser.close();
  }
  console.log(`report: ${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 ? 1 : 0;
}

main().catch((error) => {
  console.log(`FAIL ${error.stack}`);
  process.exit(1);
});
