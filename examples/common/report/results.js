// SPDX-License-Identifier: GPL-2.0-only
//
// What came out: bars against the bound or the ideal, and a table.

"use strict";

// What the bars of a row show: its value and what it is measured against.
function chooseMeasure(row) {
  if ("measured_s" in row) {
    return {value: "measured_s", bound: "ideal_s", other: "predicted_s",
            title: "time in s; line: ideal, dot: predicted"};
  }
  if ("ring_servers" in row) return {value: "together_transfer_s", title: "transfer in s"};
  if ("policy" in row) return {value: "mean_utility", title: "mean utility"};
  if ("instances" in row) return {value: "mean_ratio", bound: "mean_guaranteed", title: "share of the optimum"};
  return {value: "rounds", bound: "bound", title: "rounds; line: lower bound"};
}

const getRowName = (row) => row.job || row.scheduler || row.policy || "";

function addBar(svg, row, measure, y, {left, scale}) {
  const value = row[measure.value];
  add(svg, "text", {x: left - 8, y: y + 14, "text-anchor": "end"}, getRowName(row));
  if (typeof value !== "number") {
    add(svg, "text", {x: left, y: y + 14, class: "soft"}, row.failure || "-");
    return;
  }
  const width = Math.max(1, value * scale);
  add(svg, "rect", {x: left, y: y + 3, width, height: 14, rx: 2, fill: "var(--broadcast)",
                    class: "bar", "data-value": value});
  let label = left + width;
  if (measure.bound && typeof row[measure.bound] === "number") {
    const x = left + row[measure.bound] * scale;
    add(svg, "line", {x1: x, x2: x, y1: y, y2: y + 20, stroke: "var(--hot)", "stroke-width": 2});
    label = Math.max(label, x);
  }
  if (measure.other && typeof row[measure.other] === "number") {
    const x = left + row[measure.other] * scale;
    add(svg, "circle", {cx: x, cy: y + 10, r: 4, fill: "var(--warm)", stroke: "var(--card)"});
    label = Math.max(label, x + 4);
  }
  add(svg, "text", {x: label + 6, y: y + 14}, describeBar(row, value));
}

const describeBar = (row, value) => show(value) + (row.ratio ? ` (${row.ratio.toFixed(3)} x)` : "");

// Names at the left, numbers at the right, and what is left of the width for the bars.
function placeBars(width, rows, measure) {
  const font = CHART_FONT.replace("11px", "12px");
  const widest = (texts) => Math.max(...texts.map((text) => measureText(text, font)));
  const left = widest(rows.map(getRowName)) + 12;
  const right = widest(rows.map((row) => describeBar(row, row[measure.value]))) + 16;
  const values = rows.flatMap((row) => [row[measure.value], row[measure.bound] || 0,
                                        row[measure.other] || 0]);
  const most = Math.max(...values.filter((value) => typeof value === "number"), 1e-12);
  return {left, scale: Math.max(20, width - left - right) / most};
}

function drawBars(parent, rows) {
  const groups = new Map();
  for (const row of rows) {
    const name = [row.topology, row.job ? "" : row.size, row.objective].filter(Boolean).join(", ");
    groups.set(name, [...(groups.get(name) || []), row]);
  }
  parent.replaceChildren();
  const columns = add(parent, "div", {class: "columns"});
  const boxes = [...groups.keys()].map(() => add(columns, "div"));
  [...groups].forEach(([name, members], i) => {
    const measure = chooseMeasure(members[0]);
    add(boxes[i], "h3", {}, [name, measure.title].filter(Boolean).join(": "));
    const width = Math.min(560, boxes[i].clientWidth);
    const svg = addSvg(boxes[i], width, 24 * members.length + 4);
    const place = placeBars(width, members, measure);
    members.forEach((row, j) => addBar(svg, row, measure, 24 * j, place));
    addSaves(add(boxes[i], "div", {class: "saves"}), "bars", "bars", svg);
  });
}

function collectKeys(rows) {
  const keys = [];
  for (const row of rows) {
    for (const [key, value] of Object.entries(row)) {
      if (!keys.includes(key) && (value === null || typeof value !== "object")) keys.push(key);
    }
  }
  return keys;
}

// What is the same in all rows is said once, so that the rest has room.
function drawResults(rows) {
  const keys = collectKeys(rows);
  const isName = (key) => ["topology", "job", "scheduler", "policy"].includes(key) && rows.length > 1;
  const isCommon = (key) => !isName(key) && rows.every((row) => row[key] === rows[0][key]);
  for (const key of keys.filter(isCommon)) {
    const pair = add(get("common"), "span", {}, key.replaceAll("_", " ") + " ");
    add(pair, "b", {"data-key": key}, show(rows[0][key]));
  }
  const others = keys.filter((key) => !isCommon(key));
  if (others.length) drawTable(get("table"), rows, others);
}

function drawTable(table, rows, keys) {
  const head = add(add(table, "thead"), "tr");
  const isText = (key) => rows.some((row) => typeof row[key] === "string");
  const name = (key) => key.replaceAll("_", " ");
  for (const key of keys) add(head, "th", isText(key) ? {class: "text"} : {}, name(key));
  const body = add(table, "tbody");
  for (const row of rows) {
    const line = add(body, "tr");
    for (const key of keys) {
      add(line, "td", {"data-key": key, "data-name": name(key),
                       ...(isText(key) ? {class: "text"} : {})}, show(row[key]));
    }
  }
}

// No column is cut off: a table that is too wide gets smaller letters, then a paragraph for each row.
function fitTable(table) {
  const isTooWide = () => table.offsetWidth > table.parentElement.clientWidth;
  table.classList.remove("tight", "folded");
  for (const name of ["tight", "folded"]) table.classList.toggle(name, isTooWide());
}
