// SPDX-License-Identifier: GPL-2.0-only
//
// Saves every picture of the page as SVG and as PNG. The page may not load images, not even its own
// (Content-Security-Policy), so that SVG elements are painted onto a canvas here.

"use strict";

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
                "font-size", "font-family", "font-weight", "text-anchor", "paint-order"];

// What an element needs to look the same without the page's style sheet.
function listStyles({tagName}) {
  return tagName === "title" ? [] : tagName === "g" ? ["opacity"] : STYLES;
}

function copySvg(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of ["class", "style", "tabindex"]) element.removeAttribute(name);
    for (const name of listStyles(element)) element.setAttribute(name, style.getPropertyValue(name));
  });
  copy.prepend(add(copy, "rect", {width: "100%", height: "100%", fill: getColor("--card")}));
  return copy;
}

function serializeSvg(svg) {
  return new XMLSerializer().serializeToString(copySvg(svg));
}

// The outline of an element; a text has none.
function makeOutline(element) {
  const number = (name) => +element.getAttribute(name) || 0;
  const outline = new Path2D(element.tagName === "path" ? element.getAttribute("d") || "" : "");
  if (element.tagName === "line") {
    outline.moveTo(number("x1"), number("y1"));
    outline.lineTo(number("x2"), number("y2"));
  } else if (element.tagName === "rect") {
    outline.roundRect(number("x"), number("y"), number("width"), number("height"), number("rx"));
  } else if (element.tagName === "circle") {
    outline.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
  } else if (element.tagName === "polyline") {
    for (const {x, y} of element.points) outline.lineTo(x, y);
  }
  return outline;
}

function paintText(context, element, style) {
  const [x, y] = ["x", "y"].map((name) => +element.getAttribute(name));
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.textAlign = {middle: "center", end: "right"}[style.textAnchor] || "left";
  context.lineJoin = "round";
  if (style.stroke !== "none") context.strokeText(element.textContent, x, y);
  context.fillText(element.textContent, x, y);
}

function paintElement(context, element) {
  const style = getComputedStyle(element);
  context.save();
  context.globalAlpha *= +style.opacity;
  const turned = element.transform && element.transform.baseVal.consolidate();
  if (turned) {
    const {a, b, c, d, e, f} = turned.matrix;
    context.transform(a, b, c, d, e, f);
  }
  context.fillStyle = style.fill;
  context.strokeStyle = style.stroke;
  context.lineWidth = parseFloat(style.strokeWidth);
  context.setLineDash(style.strokeDasharray === "none" ? []
                      : style.strokeDasharray.split(",").map(parseFloat));
  if (element.tagName === "text") {
    paintText(context, element, style);
  } else if (element.tagName === "g" || element.tagName === "svg") {
    for (const child of element.children) paintElement(context, child);
  } else if (element.tagName !== "title") {
    const outline = makeOutline(element);
    if (style.fill !== "none") context.fill(outline);
    if (style.stroke !== "none") context.stroke(outline);
  }
  context.restore();
}

// Twice as many pixels as on the page, for slides and papers.
const PNG_SCALE = 2;

function paintSvg(svg) {
  const {width, height} = svg.viewBox.baseVal;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * PNG_SCALE, height * PNG_SCALE];
  const context = canvas.getContext("2d");
  context.scale(PNG_SCALE, PNG_SCALE);
  context.fillStyle = getColor("--card");
  context.fillRect(0, 0, width, height);
  paintElement(context, svg);
  return canvas;
}

// Canvases that stand below each other, as one.
function joinCanvases(parts) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(...parts.map((part) => part.width));
  canvas.height = parts.reduce((sum, part) => sum + part.height, 0);
  const context = canvas.getContext("2d");
  context.fillStyle = getColor("--card");
  context.fillRect(0, 0, canvas.width, canvas.height);
  let top = 0;
  for (const part of parts) {
    context.drawImage(part, 0, top);
    top += part.height;
  }
  return canvas;
}

function wrapCanvas(canvas) {
  const size = `width="${canvas.width}" height="${canvas.height}"`;
  return `<svg xmlns="${SVG}" ${size}><image ${size} href="${canvas.toDataURL()}"/></svg>`;
}

function makeBlob(parts, kind) {
  const isDrawn = parts[0] instanceof SVGElement;
  if (kind === "svg") {
    const text = isDrawn ? serializeSvg(parts[0]) : wrapCanvas(joinCanvases(parts));
    return Promise.resolve(new Blob([text], {type: "image/svg+xml"}));
  }
  const canvas = isDrawn ? paintSvg(parts[0]) : joinCanvases(parts);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

async function savePicture(parts, name, kind) {
  const url = URL.createObjectURL(await makeBlob(parts, kind));
  const link = add(document.body, "a", {href: url, download: `${name}.${kind}`, hidden: ""});
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Buttons that save a picture: one SVG, or canvases below each other.
function addSaves(parent, what, name, ...parts) {
  const group = add(parent, "span", {class: "save"}, `save ${what} as `);
  for (const kind of ["svg", "png"]) {
    const button = add(group, "button", {type: "button", "aria-label": `save ${what} as ${kind}`},
                       kind.toUpperCase());
    button.onclick = () => savePicture(parts, name, kind);
  }
  return group;
}
