// SPDX-License-Identifier: GPL-2.0-only
//
// What all other scripts of the page use: elements, numbers as texts, colors, canvases.

"use strict";

const get = (id) => document.getElementById(id);
const data = JSON.parse(get("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function add(parent, name, attributes = {}, text = "") {
  const isDrawn = parent instanceof SVGElement;
  const child = isDrawn ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) child.setAttribute(key, value);
  if (text !== "") child.textContent = text;
  parent.appendChild(child);
  return child;
}

// A unit of a picture is a pixel of the page: texts have their size on a telephone, too.
function setSize(svg, width, height) {
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
}

function addSvg(parent, width, height) {
  const svg = document.createElementNS(SVG, "svg");
  setSize(svg, width, height);
  parent.appendChild(svg);
  return svg;
}

function addKeys(parent, keys) {
  for (const [color, text] of keys) {
    add(parent, "span", {class: "key", style: `background:var(${color})`});
    add(parent, "span", {}, text);
  }
}

function show(value) {
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 0.001 ? String(+value.toPrecision(5)) : value.toExponential(3);
}

const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";

function showTime(nanoseconds, digits = 4) {
  for (const [name, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (Math.abs(nanoseconds) >= size) return +(nanoseconds / size).toPrecision(digits) + " " + name;
  }
  return nanoseconds + " ns";
}

const getColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function mix(from, to, share) {
  const parts = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  const [x, y] = [parts(from), parts(to)];
  const mixed = x.map((c, i) => Math.round(c + (y[i] - c) * share));
  return "#" + mixed.map((c) => c.toString(16).padStart(2, "0")).join("");
}

function makeHeatScale() {
  const [none, half, full] = ["--cold", "--mid", "--full"].map(getColor);
  return (share) => share < 0.5 ? mix(none, half, 2 * share)
                                : mix(half, full, Math.min(1, 2 * share - 1));
}

const CHART_FONT = '11px system-ui, "DejaVu Sans", sans-serif';

// Sharp on screens with several pixels in one.
function prepareCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = width + "px";
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = CHART_FONT;
  return context;
}

const measure = document.createElement("canvas").getContext("2d");

function measureText(text, font = CHART_FONT) {
  measure.font = font;
  return measure.measureText(text).width;
}

// Round numbers up to the most, from 0 or from the least on.
function chooseTicks(most, count = 5, least = 0) {
  const raw = (most - least) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(least / step); i * step <= most + 1e-4 * step; ++i) {
    ticks.push(+(i * step).toPrecision(12));
  }
  return ticks;
}

// Where a pointer is in a picture; browsers disagree about offsetX over parts of an SVG.
function locate(event, picture) {
  const {left, top} = picture.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}

// What a drawing or chart does when keys are pressed on it: by key a function.
function listenToKeys(element, actions) {
  element.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
}
