// SPDX-License-Identifier: GPL-2.0-only
//
// Finds a server, a switch, a link or a chunk: says what is known of it at the present step, and fades
// what it has nothing to do with.

"use strict";

const READABLE_CELL = 40;  // pixels that a server in a group needs for its name

let wanted = null;  // what is looked for

// "5", "server 5", "switch 17", "0-16", "link 0-16", "chunk 3": what is meant, or null.
function parseSearch(text) {
  const node = /^(?:server|switch|node)?\s*(\d+)$/i.exec(text);
  if (node) return {kind: "node", node: +node[1]};
  const link = /^(?:link)?\s*(\d+)\s*(?:-|>|to)\s*(\d+)$/i.exec(text);
  if (link) return {kind: "link", ends: [+link[1], +link[2]]};
  const chunk = /^chunk\s*(\d+)$/i.exec(text);
  return chunk ? {kind: "chunk", chunk: +chunk[1]} : null;
}

const getDrawn = (view, node) => view.node_of ? view.node_of[node] : node;

const findLine = (view, a, b) => view.links.findIndex(([x, y]) =>
  (x === a && y === b) || (x === b && y === a));

const listLinesOf = (view, nodes) => new Set(view.links.map((ends, line) => line)
  .filter((line) => view.links[line].slice(0, 2).some((end) => nodes.has(end))));

// Of a link that is not drawn by itself: [its use from a to b, from b to a]; undefined: no such link.
function findMemberUse(view, a, b) {
  const all = view.member_links;
  for (let i = 0; i < all.length; i += 4) {
    if (all[i] === a && all[i + 1] === b) return [all[i + 2] / 1000, all[i + 3] / 1000];
    if (all[i] === b && all[i + 1] === a) return [all[i + 3] / 1000, all[i + 2] / 1000];
  }
  return undefined;
}

function describeMember(pane, server) {
  const code = SHARE_CODE.indexOf(findServerLetters(pane)[server]);
  const [partial, final] = readShares(code).map((share) =>
    share === 0 ? "none" : share === 1 ? "all" : "about " + percent(share));
  return `server ${server}: final sums of ${final}, partial sums of ${partial} of the chunks`;
}

function findNode(pane, {node}) {
  const {view, index} = pane;
  const last = view.servers + view.switches - 1;
  if (node > last) return {text: `there is no node ${node}: the last is ${last}`};
  const nodes = new Set([getDrawn(view, node)]);
  const [i] = nodes;
  const isServer = node < view.servers;
  const text = !view.is_aggregated ? describeHeld(view, i, view.steps[index])
    : (isServer ? describeMember(pane, node) : `switch ${node}`) +
      (view.nodes[i].label === String(node) ? "" : `; drawn in ${describeNode(view, i)}`);
  return {text, nodes, lines: listLinesOf(view, nodes), look: i,
          member: view.is_aggregated && isServer ? node : undefined};
}

function findLink(pane, {ends}) {
  const {view, index} = pane;
  const nodes = new Set(ends.map((end) => getDrawn(view, end)));
  const [a, b] = nodes;
  const line = b === undefined ? -1 : findLine(view, a, b);
  const isLink = view.is_aggregated ? findMemberUse(view, ...ends) !== undefined : line >= 0;
  if (!isLink) return {text: `there is no link ${ends.join("-")}`};
  const name = `link ${ends.join("-")}`;
  if (view.is_aggregated) {
    const use = findMemberUse(view, ...ends).map(percent).join(" there and ");
    const where = line < 0 ? `inside ${describeNode(view, a)}`
                           : `in the line ${describeLine(view, 2 * line)}`;
    return {text: `${name}: ${nameTotalUse(view)} ${use} back; drawn ${where}`, nodes,
            lines: new Set([line]), look: a};
  }
  const direction = (from, to) => {
    const directed = 2 * line + (view.links[line][0] === from ? 0 : 1);
    return `${from} to ${to}: ${describeLoad(view, directed, index)}, ` +
      `${nameTotalUse(view)} ${percent(getTotalUse(view)[directed])}`;
  };
  return {text: `${name}: ${direction(...ends)}; ${direction(ends[1], ends[0])}`, nodes,
          lines: new Set([line]), look: a};
}

// Where a chunk is and where it goes, as far as every chunk is known.
function findHolders(pane, chunk) {
  const {view, index} = pane;
  const cells = getCells(pane);
  const holders = view.nodes.map((node, i) => i).filter((i) => i < view.servers &&
    cells[i * view.chunks + chunk] > 0);
  const paths = view.steps[index].flows.filter((flow) => flow[0] === chunk).map((flow) => flow[2]);
  const lines = paths.flatMap((path) => path.slice(1).map((node, i) => findLine(view, path[i], node)));
  return {nodes: new Set([...holders, ...paths.flat()]), lines: new Set(lines), paths};
}

function findChunk(pane, {chunk}) {
  const {view} = pane;
  if (chunk >= view.chunks) return {text: `there is no chunk ${chunk}: the last is ${view.chunks - 1}`};
  const [root, final, everywhere] = view.chunk_rounds.slice(3 * chunk, 3 * chunk + 3);
  const after = (round) => round === null ? "never" : `after round ${round}`;
  const text = `chunk ${chunk} is summed at server ${root}: final ${after(final)}, ` +
    `everywhere ${after(everywhere)}`;
  if (view.is_aggregated) {
    const nodes = new Set([getDrawn(view, root)]);
    return {text, nodes, lines: listLinesOf(view, nodes), look: [...nodes][0], member: root};
  }
  const {nodes, lines, paths} = findHolders(pane, chunk);
  const moves = paths.map((path) => path.join("-")).join(", ");
  return {text: `${text}; ` + (moves ? `now on ${moves}` : "now at rest"), nodes, lines};
}

// What is found in a pane: a text, and if there is something the nodes and lines that it is about.
function findWanted(pane) {
  if (wanted === null) return {text: ""};
  if (wanted.kind === "nonsense") return {text: "try server 5, switch 17, link 0-16 or chunk 3"};
  return {node: findNode, link: findLink, chunk: findChunk}[wanted.kind](pane, wanted);
}

function findNear(pane) {
  const found = findWanted(pane);
  return found.nodes ? found : null;
}

// A frame around the one server that was looked for, or around the node.
function addMarks(pane, {look, member}) {
  const {places, view, parts: {drawing}} = pane;
  if (look === undefined) return;
  if (member === undefined) {
    addBox(drawing, places[look], getReach(pane, look).map((half) => half + 3), {class: "mark"});
    return;
  }
  const {left, top, cell, nColumns} = placeMembers(pane, look);
  const j = view.members[look].indexOf(member);
  const middle = [left + cell * (j % nColumns + 0.5), top + cell * (Math.floor(j / nColumns) + 0.5)];
  addBox(drawing, middle, [cell / 2 + 1, cell / 2 + 1], {class: "mark"});
}

function showFound(pane) {
  const {text} = findWanted(pane);
  pane.parts.found.hidden = text === "";
  pane.parts.found.textContent = text;
}

function search() {
  const text = get("search").value.trim();
  wanted = text === "" ? null : parseSearch(text) || {kind: "nonsense"};
  const [pane] = panes;
  const near = findNear(pane);
  if (near && near.look !== undefined) {
    const [x, y] = pane.view.spread[near.look];
    const isMember = near.member !== undefined;
    const closer = isMember ? READABLE_CELL / placeMembers(pane, near.look).cell : 1;
    lookAt(x, y, isMember ? camera.zoom * closer : 1);
  }
  drawStep();
}

function prepareSearch() {
  get("search").oninput = search;
  listenToKeys(get("search"), {Escape: () => {
    get("search").value = "";
    search();
  }});
}
