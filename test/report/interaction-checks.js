// SPDX-License-Identifier: GPL-2.0-only
//
// What a reader does with a page: zooms, compares, searches, points, saves, and all of it without a mouse.

"use strict";

const fs = require("fs");
const path = require("path");
const {check, choose, moveSlider} = require("./checks.js");

const LABELS = `[...document.querySelectorAll("#drawing text")]`;

/// Nothing is drawn over something else, and every server is there.
async function checkReadable(page, {name}) {
  await page.evaluate("showAll()");
  await page.waitForFrame();
  const {inside, servers, cells, labels, inARow} = await page.evaluate(`(() => {
    const frame = get("drawing").getBoundingClientRect();
    const boxes = ${LABELS}.map((text) => text.getBoundingClientRect());
    const squares = [...document.querySelectorAll("#drawing .server path")].map((path) =>
      path.getAttribute("d").split("M").length - 1);
    const rows = view.nodes.map((node) => node.y.toFixed(2));
    return {inside: boxes.every((box) => box.left > frame.left - 1 && box.right < frame.right + 1 &&
                                         box.top > frame.top - 1 && box.bottom < frame.bottom + 1),
            servers: view.servers, cells: squares.reduce((sum, n) => sum + n, 0), labels: boxes.length,
            inARow: Math.max(...rows.map((row) => rows.filter((other) => other === row).length))};
  })()`);
  check(`${name}: names are inside the drawing`, inside && labels > 0, labels);
  if (await page.evaluate("view.is_aggregated")) {
    check(`${name}: every server is a cell`, cells === servers, `${cells} of ${servers}`);
    check(`${name}: boxes have room`, inARow <= 32, inARow);
  }
}

const readDrawing = (page) => page.evaluate(`({zoom: camera.zoom, labels: ${LABELS}.length,
  place: panes[0].places[0], html: get("drawing").innerHTML})`);

/// By keys, by the wheel, by dragging and by buttons.
async function checkZoom(page, {name}) {
  await page.evaluate(`showAll(); get("drawing").scrollIntoView({block: "center"})`);
  await page.waitForFrame();
  const begin = await readDrawing(page);
  const middle = await page.evaluate(`(() => {
    const box = get("drawing").getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  })()`);
  await page.wheel(middle, -100);
  check(`${name}: the wheel scrolls the page first`, (await readDrawing(page)).zoom === 1);
  await page.evaluate(`get("drawing").scrollIntoView({block: "center"})`);
  await page.drag([middle]);
  await page.wheel(middle, -300);
  const wheeled = await readDrawing(page);
  check(`${name}: the wheel zooms what is chosen`, wheeled.zoom > 1.5, wheeled.zoom);
  await page.drag([middle, [middle[0] + 30, middle[1] + 10], [middle[0] + 60, middle[1] + 20]]);
  const dragged = await readDrawing(page);
  const moved = [0, 1].map((i) => Math.round(dragged.place[i] - wheeled.place[i]));
  check(`${name}: the drawing follows the pointer`, moved.join() === "60,20", moved);
  await page.press("ArrowRight");
  const panned = await readDrawing(page);
  check(`${name}: arrow keys move the drawing`, panned.place[0] < dragged.place[0]);
  await page.press("+");
  const closer = await readDrawing(page);
  check(`${name}: + zooms in`, closer.zoom > panned.zoom);
  await page.press("-");
  check(`${name}: - zooms out`, (await readDrawing(page)).zoom < closer.zoom);
  await page.press("0");
  check(`${name}: 0 shows all again`, (await readDrawing(page)).html === begin.html);
  for (const button of ["zoomIn", "zoomIn", "zoomOut"]) await page.evaluate(`get("${button}").click()`);
  await page.waitForFrame();
  check(`${name}: buttons zoom`, (await readDrawing(page)).zoom > 1);
  await page.evaluate(`get("zoomFit").click()`);
  await page.waitForFrame();
  check(`${name}: a button shows all`, (await readDrawing(page)).html === begin.html);
}

/// On a telephone two fingers zoom the drawing, and not the page.
async function checkFingers(page, {name}) {
  const middle = await page.evaluate(`(() => {
    get("drawing").scrollIntoView({block: "center"});
    const box = get("drawing").getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  })()`);
  await page.spread(middle, 20, 60);
  const [zoom, pageZoom] = await page.evaluate("[camera.zoom, window.visualViewport.scale]");
  check(`${name}: two fingers zoom the drawing`, zoom > 2 && pageZoom === 1, `${zoom}, ${pageZoom}`);
  await page.evaluate("showAll()");
  await page.waitForFrame();
}

/// Two schedules, one slider: both are at the same round, the shorter one stays at its end.
async function checkBeside(page, {name}) {
  const other = await page.evaluate(`data.views.findIndex((item) => item !== view)`);
  await choose(page, "beside", other);
  const last = await page.evaluate("+get(\"slider\").max");
  check(`${name}: two drawings`, await page.evaluate(`document.querySelectorAll(".pane svg").length`) === 2);
  for (const position of [0, Math.floor(last / 2), last]) {
    await moveSlider(page, position);
    const wrong = await page.evaluate(`(() => {
      const round = timeline[${position}];
      return panes.map(({view, parts, index}) => {
        const step = view.steps[index];
        const next = view.steps[index + 1];
        const isLast = step.round <= round && (!next || next.round > round);
        const text = step.round ? "after round " + step.round + " of" : "before the first round";
        return isLast && parts.status.textContent.startsWith(text) && parts.drawing.children.length > 0;
      });
    })()`);
    check(`${name}: both are stepped together, at ${position}`, wrong.join() === "true,true", wrong);
  }
  const longest = await page.evaluate(`Math.max(...panes.map(({view}) => view.steps[view.steps.length - 1].round))`);
  check(`${name}: the slider reaches the longer one's end`, await page.evaluate(`timeline[${last}]`) === longest);
  const titles = await page.evaluate(`panes.map(({parts}) => parts.paneTitle.textContent)`);
  check(`${name}: both are named`, titles[0] !== titles[1] && titles.every(Boolean), titles);
  await page.evaluate(`zoomMiddle(2)`);
  await page.waitForFrame();
  const seen = await page.evaluate(`panes.map(({places, width}) => places[0][0] / width)`);
  check(`${name}: both look at the same place`, Math.abs(seen[0] - seen[1]) < 0.1, seen);
  await page.evaluate("showAll()");
  await choose(page, "beside", -1);
  check(`${name}: one again`, await page.evaluate(`document.querySelectorAll(".pane svg").length`) === 1);
}

/// Types into the search field. @return what the page says and marks
async function searchFor(page, text) {
  await page.evaluate(`get("search").value = "${text}"; get("search").dispatchEvent(new Event("input"))`);
  await page.waitForFrame();
  return page.evaluate(`({text: get("found").textContent, isHidden: get("found").hidden,
    marks: document.querySelectorAll("#drawing rect.mark").length, zoom: camera.zoom,
    isFaded: get("drawing").classList.contains("chosen"), labels: ${LABELS}.map((label) => label.textContent),
    near: document.querySelectorAll("#drawing .near").length})`);
}

async function checkSearch(page, {name}) {
  const {a, b, last, chunks, isAggregated} = await page.evaluate(`(() => {
    const [a, b] = view.is_aggregated ? view.member_links : view.links[0];
    return {a, b, last: view.servers - 1, chunks: view.chunks, isAggregated: view.is_aggregated};
  })()`);
  const server = await searchFor(page, `server ${last}`);
  check(`${name}: finds a server`, server.text.startsWith(`server ${last}:`) && server.marks === 1, server.text);
  check(`${name}: fades the rest`, server.isFaded && server.near > 0);
  check(`${name}: its name can be read`, server.labels.includes(String(last)), server.labels.join());
  check(`${name}: looks closer at one of many`, !isAggregated || server.zoom > 1, server.zoom);
  const link = await searchFor(page, `${a}-${b}`);
  check(`${name}: finds a link`, link.text.startsWith(`link ${a}-${b}:`) && link.text.includes("%"), link.text);
  const chunk = await searchFor(page, `chunk ${chunks - 1}`);
  check(`${name}: finds a chunk`, chunk.text.startsWith(`chunk ${chunks - 1} is summed at server`) &&
    chunk.isFaded, chunk.text);
  for (const nothing of ["server 99999", "0-99999", "chunk 9999999", "what?"]) {
    const found = await searchFor(page, nothing);
    check(`${name}: says so if there is no ${nothing}`, /^(there is no|try)/.test(found.text) && !found.isFaded,
      found.text);
  }
  await page.evaluate(`get("search").focus()`);
  await page.press("Escape");
  const end = await searchFor(page, "");
  check(`${name}: an empty search shows all`, end.isHidden && !end.isFaded && end.marks === 0);
  await page.evaluate("showAll()");
  await page.waitForFrame();
}

/// The chart of flows: keys, Ctrl and the wheel, and dragging change which part of the time is seen.
async function checkTimeZoom(page, {name}) {
  const readTimes = () => page.evaluate("[gantt.box.begin / gantt.box.last, gantt.box.end / gantt.box.last]");
  const place = await page.evaluate(`(() => {
    get("ganttChart").scrollIntoView({block: "start"});
    get("ganttChart").focus();
    const box = get("ganttChart").getBoundingClientRect();
    return [box.left + gantt.box.left + gantt.box.width / 4, box.top + gantt.box.top + 20];
  })()`);
  await page.wheel(place, -100, true);
  const wheeled = await readTimes();
  check(`${name}: Ctrl and the wheel zoom around the pointer`, wheeled[1] - wheeled[0] < 0.9 &&
    wheeled[0] < 1 - wheeled[1], wheeled);
  for (let i = 0; i < 4; ++i) await page.press("+");
  const near = await readTimes();
  check(`${name}: + zooms into the time`, near[1] - near[0] < 0.4, near);
  await page.drag([place, [place[0] + 40, place[1]], [place[0] + 80, place[1]]]);
  const dragged = await readTimes();
  check(`${name}: dragging moves the time`, dragged[0] < near[0], dragged);
  const pointed = await page.evaluate(`(() => {
    const flow = gantt.rows[0][1].find(([, , , , begin, duration]) =>
      begin > gantt.box.begin && begin + duration < gantt.box.end);
    showFlowAt(placeTime(gantt.box, flow[4] + flow[5] / 2), gantt.box.top + 2);
    return get("ganttHover").textContent.includes(describeFlow(flow));
  })()`);
  check(`${name}: pointing knows the zoom`, pointed);
  await page.press("ArrowRight");
  const followed = await readTimes();
  check(`${name}: a flow chosen by keys is in sight`, followed[0] === 0, followed);
  await page.press("0");
  const all = await readTimes();
  check(`${name}: 0 shows all of the time`, all.join() === "0,1", all);
}

/// Points at every row of the map, at its name and in the middle, as the pointer does.
async function checkHeatRows(page, {name}) {
  const unnamed = await page.evaluate(`(() => {
    const map = get("heatMap");
    const box = map.getBoundingClientRect();
    return heat.rows.filter((row, i) => [10, heat.left + heat.width / 2, box.width - 10].some((x) => {
      map.dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + x, clientY: box.top + heat.high * (i + 0.5)}));
      return !get("heatHover").textContent.startsWith(describeLine(view, row.line) + ":");
    })).length;
  })()`);
  check(`${name}: every row of the map is named`, unnamed === 0, `${unnamed} are not`);
}

/// The axis is below what is scrolled, and both are in the window at once.
async function checkAxis(page, {name}, chart, axis) {
  const seen = await page.evaluate(`(() => {
    const [chart, axis] = [get("${chart}"), get("${axis}")];
    const box = chart.closest(".scroll");
    axis.scrollIntoView({block: "end"});
    const isSeen = [0, box.scrollHeight].map((top) => {
      box.scrollTop = top;
      const [frame, place] = [box.getBoundingClientRect(), axis.getBoundingClientRect()];
      return place.top >= frame.bottom - 2 && place.bottom <= window.innerHeight + 1 && frame.top >= 0;
    });
    box.scrollTop = 0;
    const context = axis.getContext("2d").getImageData(0, 0, axis.width, axis.height).data;
    return [...isSeen, context.some((value) => value > 0)];
  })()`);
  check(`${name}: the axis of ${chart} is always visible`, seen.every(Boolean), seen);
}

/// No column of the table, no picture and no control reaches beyond its box.
async function checkColumns(page, {name}) {
  const cut = await page.evaluate(`[...document.querySelectorAll("th, td, svg, canvas, select, input, button")]
    .filter((element) => element.offsetParent || element.clientWidth)
    .filter((element) => element.getBoundingClientRect().right >
                         element.closest("section").getBoundingClientRect().right)
    .map((element) => element.id || element.textContent)`);
  check(`${name}: no column is cut off`, cut.length === 0, cut.slice(0, 5).join("; "));
  const texts = await page.evaluate(`[...document.querySelectorAll("section svg")].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
      const box = text.getBoundingClientRect();
      return box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2;
    }).map((text) => text.textContent);
  })`);
  check(`${name}: no text is cut off`, texts.length === 0, texts.slice(0, 5).join("; "));
  const hidden = await page.evaluate(`[...document.querySelectorAll(".scroll")].filter((box) =>
    box.scrollWidth > box.clientWidth + 1).length`);
  check(`${name}: nothing is scrolled sideways`, hidden === 0, hidden);
}

/// Clicks all buttons that save. @return the files that came of it, by name
async function saveAll(page, folder) {
  fs.rmSync(folder, {recursive: true, force: true});
  await page.browser.send("Browser.setDownloadBehavior", {behavior: "allow", downloadPath: folder});
  const isShown = "(button) => button.offsetParent !== null";
  const wanted = await page.evaluate(`[...document.querySelectorAll(".save button")].filter(${isShown}).length`);
  for (let i = 0; i < wanted; ++i) {
    // Of many downloads in a row the browser loses one now and then.
    for (let attempt = 0; attempt < 3 && listFiles(folder).length <= i; ++attempt) {
      await page.evaluate(`[...document.querySelectorAll(".save button")].filter(${isShown})[${i}].click()`);
      await waitUntil(() => listFiles(folder).length > i);
    }
  }
  return {wanted, files: listFiles(folder)};
}

const listFiles = (folder) => fs.existsSync(folder)
  ? fs.readdirSync(folder).filter((file) => /\.(svg|png)$/.test(file) && fs.statSync(path.join(folder, file)).size)
  : [];

async function waitUntil(isTrue) {
  for (let i = 0; i < 100 && !isTrue(); ++i) await new Promise((resolve) => setTimeout(resolve, 50));
}

/// A browser decodes a saved PNG. @return its size, and how many colors it has, up to 50
function lookAtPng(page, file) {
  return page.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob("${fs.readFileSync(file).toString("base64")}"), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const {data} = context.getImageData(0, 0, image.width, image.height);
    const colors = new Set(new Uint32Array(data.buffer));
    return [image.width, image.height, Math.min(50, colors.size)];
  })()`);
}

/// Every picture can be saved in both formats, and shows something without the page.
async function checkSaves(page, {name}, folder) {
  const {wanted, files} = await saveAll(page, folder);
  const pictures = await page.evaluate(`[...document.querySelectorAll("section svg, section canvas")].filter((picture) =>
    picture.getClientRects().length && !picture.id.endsWith("Axis")).length`);
  check(`${name}: each of ${pictures} pictures can be saved twice`, wanted === 2 * pictures, wanted);
  check(`${name}: every button saves a file`, files.length === wanted, files.join());
  for (const file of files.map((file) => path.join(folder, file))) {
    if (file.endsWith(".png")) {
      const [width, height, nColors] = await lookAtPng(page, file);
      check(`${name}: ${path.basename(file)} shows something`, width > 100 && height > 20 && nColors > 2, nColors);
      continue;
    }
    const text = fs.readFileSync(file, "utf8");
    const problem = await page.evaluate(`(() => {
      const svg = new DOMParser().parseFromString(${JSON.stringify(text)}, "image/svg+xml").documentElement;
      return svg.querySelector("parsererror") || svg.tagName !== "svg" ? "is not SVG"
        : svg.querySelectorAll("*").length < 2 && !svg.querySelector("image") ? "is empty" : "";
    })()`);
    check(`${name}: ${path.basename(file)} stands alone`, problem === "" && !text.includes("var(--"), problem);
  }
}

/// Everything that can be used is reached by Tab, and can be seen to be.
async function checkTab(page, {name}) {
  await page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)");
  const wanted = await page.evaluate(`(() => {
    const all = [...document.querySelectorAll("select, button, input, [tabindex]")];
    const shown = all.filter((element) => element.getClientRects().length);
    shown.forEach((element, i) => { element.dataset.stop = i; });
    return shown.length;
  })()`);
  const reached = new Set();
  let unseen = 0;
  for (let i = 0; i < wanted + 2; ++i) {
    await page.press("Tab");
    const [stop, isMarked] = await page.evaluate(`(() => {
      const element = document.activeElement;
      const outlines = [element, element.parentElement].map((part) => getComputedStyle(part).outlineStyle);
      return [element.dataset.stop || "", outlines.some((style) => style !== "none")];
    })()`);
    if (stop === "") continue;
    reached.add(stop);
    unseen += isMarked ? 0 : 1;
  }
  check(`${name}: Tab reaches everything`, reached.size === wanted, `${reached.size} of ${wanted}`);
  check(`${name}: and shows where it is`, unseen === 0, unseen);
}

/// Arrow keys move the slider, and what is chosen in maps, charts and lists.
async function checkArrows(page, {name}) {
  await moveSlider(page, 0);
  await page.evaluate(`get("slider").focus()`);
  await page.press("ArrowRight");
  const [position, status] = await page.evaluate(`[+get("slider").value, get("status").textContent]`);
  check(`${name}: arrow keys move the slider`, position === 1 && status.startsWith("after round"), status);
  const places = [["heatMap", "heatHover", "heatCursor"]];
  if (await page.evaluate("Boolean(view.run)")) places.push(["ganttChart", "ganttHover", "ganttCursor"]);
  for (const [chart, note, cursor] of places) {
    await page.evaluate(`drawSchedule(); get("${chart}").focus()`);
    const texts = [];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) {
      await page.press(key);
      texts.push(await page.evaluate(`get("${note}").textContent`));
    }
    check(`${name}: arrow keys move in ${chart}`, new Set(texts).size === 3 &&
      !(await page.evaluate(`get("${cursor}").hidden`)), texts.join("; "));
  }
  if (await page.evaluate(`get("flows").children.length > 1`)) {
    await page.evaluate(`get("flows").focus()`);
    await page.press("ArrowDown");
    const path = await page.evaluate(`document.querySelector("path.mark").getAttribute("d")`);
    check(`${name}: arrow keys draw a flow's path`, path.startsWith("M"), path);
  }
}

/// Pointing at nodes and lines says what they are.
async function checkPointing(page, {name}) {
  await page.evaluate(`showAll(); get("drawing").scrollIntoView({block: "center"})`);
  await page.waitForFrame();
  const place = await page.evaluate(`(() => {
    const box = get("drawing").getBoundingClientRect();
    return [box.left + panes[0].places[0][0] - 3, box.top + panes[0].places[0][1] - 3];
  })()`);
  await page.moveTo(place);
  const text = await page.evaluate(`get("pointed").textContent`);
  check(`${name}: pointing at a server`, /^server \d+: /.test(text), text);
  const [isFocused, near, expected] = await page.evaluate(`[get("drawing").classList.contains("focused"),
    document.querySelectorAll("#drawing .wire.near").length,
    view.links.filter(([a, b]) => a === 0 || b === 0).length]`);
  check(`${name}: its lines stand out`, isFocused && near === expected, `${near} of ${expected}`);
}

/// A large page is small enough, opens soon, and its slider is quick.
async function checkSpeed(page, {name, page: file}) {
  const megabytes = fs.statSync(file).size / 1e6;
  check(`${name}: less than 10 MB`, megabytes < 10, megabytes);
  const seconds = await page.evaluate(`performance.getEntriesByType("navigation")[0].loadEventEnd / 1000`);
  check(`${name}: opens in less than 3 s`, seconds < 3, seconds);
  const perSecond = await page.evaluate(`(async () => {
    const slider = get("slider");
    const begin = performance.now();
    for (let i = 0; i < 40; ++i) {
      slider.value = 100 + i;
      slider.dispatchEvent(new Event("input"));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    }
    return 40 / (performance.now() - begin) * 1000;
  })()`);
  check(`${name}: 10 steps a second`, perSecond >= 10, perSecond);
  console.log(`${name}: ${megabytes.toFixed(1)} MB, opens in ${seconds.toFixed(2)} s, ` +
    `${perSecond.toFixed(0)} steps a second`);
}

/// Racks of a file are framed, and no frame is missing.
async function checkRacks(page, {name}, count) {
  const frames = await page.evaluate(`document.querySelectorAll("#drawing .rack").length`);
  check(`${name}: racks are framed`, frames === count, frames);
}

/// All that can be done with schedules, in one go.
async function checkInteractions(page, made) {
  await checkReadable(page, made);
  await checkZoom(page, made);
  await checkPointing(page, made);
  await checkSearch(page, made);
  if (await page.evaluate("data.views.length > 1")) await checkBeside(page, made);
  await checkHeatRows(page, made);
  await checkAxis(page, made, "heatMap", "heatAxis");
  await checkArrows(page, made);
  if (await page.evaluate("Boolean(view.run)")) {
    await checkAxis(page, made, "ganttChart", "ganttAxis");
    await checkTimeZoom(page, made);
  }
}

module.exports = {checkColumns, checkFingers, checkInteractions, checkRacks, checkSaves, checkSpeed, checkTab};
