// SPDX-License-Identifier: GPL-2.0-only
//
// Drives headless Chromium over its debugging pipe, so that nothing but Node and Chromium is needed.

"use strict";

const {spawn, spawnSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

// The last line keeps Chromium off the network; its sandbox does not work for root.
const FLAGS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
  "--force-device-scale-factor=1", "--remote-debugging-pipe", ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
  "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"];

function findChromium() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  return names.find((name) => spawnSync("which", [name]).status === 0);
}

class Browser {
  constructor(program) {
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), "report-test-"));
    this.process = spawn(program, [...FLAGS, `--user-data-dir=${this.profile}`, "about:blank"],
      {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
    this.waiting = new Map();
    this.listeners = [];
    this.nextId = 1;
    this.text = "";
    this.process.stdio[4].on("data", (part) => this.receive(part.toString()));
  }

  receive(part) {
    const messages = (this.text + part).split("\0");
    this.text = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      if (message.id) {
        const {resolve, reject} = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
      } else {
        this.listeners.forEach((listener) => listener(message));
      }
    }
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.nextId++;
    this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
  }

  waitFor(method, sessionId) {
    return new Promise((resolve) => {
      const listener = (message) => {
        if (message.method === method && message.sessionId === sessionId) {
          this.listeners.splice(this.listeners.indexOf(listener), 1);
          resolve(message.params);
        }
      };
      this.listeners.push(listener);
    });
  }

  async close() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.send("Browser.close").catch(() => {});
    await ended;
    fs.rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}

/// One tab: what it complains about is kept.
class Page {
  static async open(browser, file, {dark = false, width = 1280, height = 900} = {}) {
    const page = new Page();
    page.browser = browser;
    page.complaints = [];
    const {targetId} = await browser.send("Target.createTarget", {url: "about:blank"});
    const attached = await browser.send("Target.attachToTarget", {targetId, flatten: true});
    page.session = attached.sessionId;
    browser.listeners.push((message) => page.note(message));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
    await page.send("Emulation.setEmulatedMedia",
      {features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]});
    const loaded = browser.waitFor("Page.loadEventFired", page.session);
    await page.send("Page.navigate", {url: "file://" + path.resolve(file)});
    await loaded;
    return page;
  }

  note({method, params, sessionId}) {
    if (sessionId !== this.session) return;
    if (method === "Runtime.exceptionThrown") {
      const {exception, text} = params.exceptionDetails;
      this.complaints.push((exception && exception.description) || text);
    }
    if (method === "Log.entryAdded" && params.entry.level === "error") this.complaints.push(params.entry.text);
    if (method === "Runtime.consoleAPICalled" && params.type === "error") this.complaints.push("console.error");
    if (method === "Network.requestWillBeSent" && !params.request.url.startsWith("file:")) {
      this.complaints.push("asked for " + params.request.url);
    }
  }

  send(method, params = {}) {
    return this.browser.send(method, params, this.session);
  }

  async evaluate(expression) {
    const {result, exceptionDetails} = await this.send("Runtime.evaluate",
      {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
    return result.value;
  }

  /// Presses a key as a reader does, and waits until the page has drawn what follows.
  async press(key) {
    const text = key.length === 1 ? key : undefined;
    const code = {Tab: 9, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40}[key];
    const event = {key, code: key, text, windowsVirtualKeyCode: code || key.charCodeAt(0)};
    await this.send("Input.dispatchKeyEvent", {type: text ? "keyDown" : "rawKeyDown", ...event});
    await this.send("Input.dispatchKeyEvent", {type: "keyUp", ...event});
    await this.waitForFrame();
  }

  /// @param places where the pointer goes with its button down, from the first on
  async drag(places) {
    const send = (type, [x, y]) => this.send("Input.dispatchMouseEvent",
      {type, x, y, button: "left", buttons: 1, clickCount: 1});
    await send("mousePressed", places[0]);
    for (const place of places.slice(1)) await send("mouseMoved", place);
    await send("mouseReleased", places[places.length - 1]);
    await this.waitForFrame();
  }

  async wheel([x, y], deltaY, isCtrlHeld = false) {
    const modifiers = isCtrlHeld ? 2 : 0;
    await this.send("Input.dispatchMouseEvent", {type: "mouseWheel", x, y, deltaX: 0, deltaY, modifiers});
    await this.waitForFrame();
  }

  /// Two fingers, at first near each other and then far apart.
  async spread([x, y], from, to) {
    const fingers = (distance) => [{x: x - distance, y, id: 1}, {x: x + distance, y, id: 2}];
    const send = (type, touchPoints) => this.send("Input.dispatchTouchEvent", {type, touchPoints});
    await this.send("Emulation.setTouchEmulationEnabled", {enabled: true, maxTouchPoints: 2});
    await send("touchStart", fingers(from));
    for (let i = 1; i <= 4; ++i) await send("touchMove", fingers(from + (to - from) * i / 4));
    await send("touchEnd", []);
    await this.waitForFrame();
  }

  async moveTo([x, y]) {
    await this.send("Input.dispatchMouseEvent", {type: "mouseMoved", x, y});
    await this.waitForFrame();
  }

  waitForFrame() {
    return this.evaluate(`new Promise((resolve) =>
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(0))))`);
  }

  /// @param selector of the part of the page that is wanted; none: all of it
  async screenshot(file, selector = "html") {
    const clip = await this.evaluate(`(() => {
      const box = document.querySelector("${selector}").getBoundingClientRect();
      return {x: Math.floor(box.left), y: Math.floor(box.top + window.scrollY), width: Math.ceil(box.width),
              height: Math.ceil(box.height), scale: 1};
    })()`);
    const {data} = await this.send("Page.captureScreenshot", {clip, captureBeyondViewport: true});
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }
}

module.exports = {Browser, Page, findChromium};
