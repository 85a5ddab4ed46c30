// SPDX-License-Identifier: GPL-2.0-only
//
// Which part of the network the drawings show. All drawings of the page look through one camera, so
// that two schedules are compared at the same place.

"use strict";

const MOST_ZOOM = 40;
const KEY_PAN = 0.15;  // of what is seen
const KEY_ZOOM = 1.4;

// The middle of what is seen, in the coordinates of the data (0 to 1), and how much larger it is.
const camera = {x: 0.5, y: 0.5, zoom: 1};

const clamp = (value, least, most) => Math.min(most, Math.max(least, value));

let isRedrawAsked = false;

// Once for all that happens until the next frame.
function askForRedraw() {
  if (isRedrawAsked) return;
  isRedrawAsked = true;
  requestAnimationFrame(() => {
    isRedrawAsked = false;
    drawNetworks();
  });
}

function setCamera(x, y, zoom) {
  camera.zoom = clamp(zoom, 1, MOST_ZOOM);
  const reach = clamp(camera.zoom - 1, 0, 0.5);  // the network stays in sight
  camera.x = clamp(x, 0.5 - reach, 0.5 + reach);
  camera.y = clamp(y, 0.5 - reach, 0.5 + reach);
  askForRedraw();
}

const showAll = () => setCamera(0.5, 0.5, 1);

function panPixels({span}, dx, dy) {
  setCamera(camera.x - dx / span[0] / camera.zoom, camera.y - dy / span[1] / camera.zoom, camera.zoom);
}

// What is at a place of the drawing stays there.
function zoomAt({span, width, height}, factor, x, y) {
  const zoom = clamp(camera.zoom * factor, 1, MOST_ZOOM);
  const shift = (at, middle, length) => (at - middle) / length * (1 / camera.zoom - 1 / zoom);
  setCamera(camera.x + shift(x, width / 2, span[0]), camera.y + shift(y, height / 2, span[1]), zoom);
}

const zoomMiddle = (factor) => setCamera(camera.x, camera.y, camera.zoom * factor);

// Brings a place into sight.
function lookAt(x, y, leastZoom) {
  const half = 0.45 / camera.zoom;
  const isSeen = Math.abs(x - camera.x) < half && Math.abs(y - camera.y) < half;
  if (!isSeen || camera.zoom < leastZoom) setCamera(x, y, Math.max(camera.zoom, leastZoom));
}

// One pointer moves the drawing, two zoom it.
function listenToPointers(pane) {
  const svg = pane.parts.drawing;
  const pointers = new Map();
  svg.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, locate(event, svg));
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    const old = pointers.get(event.pointerId);
    if (!old) return;
    const now = locate(event, svg);
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    if (other) {
      const distance = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
      zoomAt(pane, distance(now) / distance(old), ...other);
    } else {
      panPixels(pane, now[0] - old[0], now[1] - old[1]);
    }
    pointers.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    svg.addEventListener(name, (event) => pointers.delete(event.pointerId));
  }
}

// The wheel scrolls the page unless the drawing was chosen by a click or by Tab, or Ctrl is held.
function listenToWheel(pane) {
  const svg = pane.parts.drawing;
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== svg) return;
    event.preventDefault();
    zoomAt(pane, Math.exp(-event.deltaY / 400), ...locate(event, svg));
  }, {passive: false});
}

function listenToCamera(pane) {
  const svg = pane.parts.drawing;
  listenToPointers(pane);
  listenToWheel(pane);
  const pan = (x, y) => () => panPixels(pane, -x * pane.width, -y * pane.height);
  listenToKeys(svg, {
    "+": () => zoomMiddle(KEY_ZOOM), "=": () => zoomMiddle(KEY_ZOOM),
    "-": () => zoomMiddle(1 / KEY_ZOOM), "0": showAll,
    ArrowLeft: pan(-KEY_PAN, 0), ArrowRight: pan(KEY_PAN, 0),
    ArrowUp: pan(0, -KEY_PAN), ArrowDown: pan(0, KEY_PAN)});
}
