// SPDX-License-Identifier: GPL-2.0-only
//
// Where the nodes of a network are in a pane, how large they are, and which of them are seen.

"use strict";

const MOST_SWITCH = 20;  // half its width

// The least distance of two nodes, in the direction in which they are further apart.
function findLeastDistance(places) {
  let least = Infinity;
  places.forEach(([x, y], i) => {
    for (let j = 0; j < i; ++j) {
      const distance = Math.max(Math.abs(x - places[j][0]), Math.abs(y - places[j][1]));
      if (distance > 0.5) least = Math.min(least, distance);
    }
  });
  return least;
}

// Half the width of a node: so large that neighbors are apart.
function chooseNodeSize({view, places}) {
  const room = 0.42 * findLeastDistance(places);
  const most = view.is_aggregated ? 44 * camera.zoom : 14 * (1 + Math.log2(camera.zoom));
  return clamp(room, view.is_aggregated ? 6 : 5, most);
}

function chooseHeight(view, width) {
  const nRows = new Set(view.nodes.map((node) => node.y.toFixed(3))).size;
  const gap = view.is_aggregated ? 150 : 110;
  return nRows <= 6 ? gap * Math.max(1, nRows - 1) + 90 : clamp(width, 300, 680);
}

// By node its place, such that the network fills the drawing: nodes drawn as one are in the middle of
// where they were, and may leave the edges empty.
function spreadNodes({nodes}) {
  const spread = (values) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return values.map((value) => most - least > 1e-6 ? (value - least) / (most - least) : 0.5);
  };
  const [xs, ys] = ["x", "y"].map((axis) => spread(nodes.map((node) => node[axis])));
  return xs.map((x, i) => [x, ys[i]]);
}

function layOut(pane) {
  const {view, parts: {drawing}} = pane;
  pane.width = drawing.parentElement.clientWidth;
  pane.height = chooseHeight(view, pane.width);
  const margin = view.is_aggregated ? 60 : 36;
  pane.span = [pane.width - (pane.width < 600 ? margin : 2 * margin), pane.height - 2 * margin];
  pane.places = view.spread.map(([x, y]) =>
    [pane.width / 2 + (x - camera.x) * pane.span[0] * camera.zoom,
     pane.height / 2 + (y - camera.y) * pane.span[1] * camera.zoom]);
  pane.size = chooseNodeSize(pane);
  setSize(drawing, pane.width, pane.height);
  drawing.classList.toggle("zoomed", camera.zoom > 1);
}

function isSeen({width, height, size, places}, i) {
  const [x, y] = places[i];
  return x > -size && y > -size && x < width + size && y < height + size;
}

// Whether a line may cross what is seen.
function mayCross({width, height, places}, a, b) {
  const [[x1, y1], [x2, y2]] = [places[a], places[b]];
  return Math.max(x1, x2) > 0 && Math.max(y1, y2) > 0 && Math.min(x1, x2) < width &&
    Math.min(y1, y2) < height;
}

// So many that all rows are full, if that does not make the box flat.
function chooseColumns(count) {
  const least = Math.ceil(Math.sqrt(count));
  for (let n = least; n <= 2 * least; ++n) {
    if (count % n === 0) return n;
  }
  return least;
}

// Where the servers of a group are inside its box.
function placeMembers({view, places, size}, i) {
  const count = view.members[i].length;
  const nColumns = chooseColumns(count);
  const cell = 2 * size / nColumns;
  const high = cell * Math.ceil(count / nColumns);
  return {left: places[i][0] - size, top: places[i][1] - high / 2, cell, nColumns, high};
}

// Half the width and half the height of a node.
function getReach(pane, i) {
  const {view, size} = pane;
  if (view.nodes[i].servers === 0) return Array(2).fill(Math.min(MOST_SWITCH, size * 0.9));
  if (!view.is_aggregated) return [size + 2, size + 2];
  return [size + 3, placeMembers(pane, i).high / 2 + 3];
}

function makeNodeBox(pane, i) {
  const [[x, y], [half, halfHigh]] = [pane.places[i], getReach(pane, i)];
  return {left: x - half, right: x + half, top: y - halfHigh, bottom: y + halfHigh};
}

const doOverlap = (x, y) => x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom;
