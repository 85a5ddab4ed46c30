// SPDX-License-Identifier: GPL-2.0-only
//
// Makes a screenshot small enough for a repository: at most 256 colors, packed as tightly as zlib can. What is drawn
// has few colors; only the edges of letters have more, and take the nearest.

"use strict";

const zlib = require("zlib");

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const MOST_COLORS = 256;

function readChunks(png) {
  const chunks = [];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    chunks.push({type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length)});
    at += length + 12;
  }
  return chunks;
}

/// What PNG adds to a byte of a line, from those at the left, above, and left of that.
function predict(filter, left, up, corner) {
  if (filter < 3) return [0, left, up][filter];
  if (filter === 3) return (left + up) >> 1;
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(left + up - corner - value));
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/// @return width, height and the color of each pixel, red in the highest byte
function decode(png) {
  const chunks = readChunks(png);
  const head = chunks[0].data;
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const bytes = head[9] === 6 ? 4 : 3;  // with or without opacity; others are not made by Chromium
  const lines = zlib.inflateSync(Buffer.concat(chunks.filter(({type}) => type === "IDAT").map(({data}) => data)));
  const pitch = width * bytes + 1;
  const pixels = new Uint32Array(width * height);
  for (let y = 0; y < height; ++y) {
    const line = lines.subarray(y * pitch + 1, (y + 1) * pitch);
    const above = y ? lines.subarray((y - 1) * pitch + 1, y * pitch) : Buffer.alloc(pitch - 1);
    for (let i = 0; i < line.length; ++i) {
      const [left, corner] = i < bytes ? [0, 0] : [line[i - bytes], above[i - bytes]];
      line[i] += predict(lines[y * pitch], left, above[i], corner);
    }
    for (let x = 0; x < width; ++x) pixels[y * width + x] = line.readUIntBE(x * bytes, 3);
  }
  return {width, height, pixels};
}

function getDistance(x, y) {
  return [16, 8, 0].reduce((sum, shift) => sum + (((x >> shift) & 255) - ((y >> shift) & 255)) ** 2, 0);
}

/// @return of colors, the most frequent first, those to keep: half of them as they come, then the first of each hue
function chooseColors(colors) {
  const chosen = colors.slice(0, MOST_COLORS / 2);
  const getHue = (color) => color & 0xe0e0e0;
  const hues = new Set(chosen.map(getHue));
  for (const color of colors.slice(chosen.length)) {
    if (chosen.length < MOST_COLORS && !hues.has(getHue(color))) chosen.push(color);
    hues.add(getHue(color));
  }
  return chosen;
}

/// @return the colors to keep, and by color its number among them or that of the nearest
function choosePalette(pixels) {
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
  const colors = [...counts.keys()].sort((x, y) => counts.get(y) - counts.get(x));
  const palette = chooseColors(colors);
  const numbers = new Map(palette.map((color, i) => [color, i]));
  for (const color of colors.filter((color) => !numbers.has(color))) {
    const distances = palette.map((other) => getDistance(color, other));
    numbers.set(color, distances.indexOf(Math.min(...distances)));
  }
  return {palette, numbers};
}

function computeChecksum(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; ++bit) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

function makeChunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(computeChecksum(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/// @param png a screenshot. @return nearly the same, smaller
function shrink(png) {
  const {width, height, pixels} = decode(png);
  const {palette, numbers} = choosePalette(pixels);
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0]);  // 8 bits, by palette
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) lines[y * (width + 1) + 1 + x] = numbers.get(pixels[y * width + x]);
  }
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  return Buffer.concat([SIGNATURE, makeChunk("IHDR", head), makeChunk("PLTE", colors),
    makeChunk("IDAT", zlib.deflateSync(lines, {level: 9})), makeChunk("IEND", Buffer.alloc(0))]);
}

module.exports = {shrink};
