// SPDX-License-Identifier: GPL-2.0-only
//
// Counts what passes, and tells what does not.

"use strict";

const counts = {passed: 0, failed: 0};

function check(what, isGood, details = "") {
  counts[isGood ? "passed" : "failed"] += 1;
  if (!isGood) console.log(`FAIL ${what} ${details}`);
}

/// Moves the slider as a reader does. @return what the page shows then
function moveSlider(page, position) {
  return page.evaluate(`(() => {
    const slider = document.getElementById("slider");
    slider.value = ${position};
    slider.dispatchEvent(new Event("input"));
    return {drawing: document.getElementById("drawing").innerHTML,
            status: document.getElementById("status").textContent,
            flows: document.getElementById("flows").children.length,
            cells: document.getElementById("cells").toDataURL(),
            traffic: document.querySelectorAll("#drawing .traffic").length,
            down: document.querySelectorAll("#drawing .down").length,
            marks: document.getElementById("stepMarks").hidden ? ""
              : document.getElementById("stepMarks").textContent};
  })()`);
}

/// Chooses in a select element as a reader does.
function choose(page, id, value) {
  return page.evaluate(`(() => {
    const select = document.getElementById("${id}");
    select.value = "${value}";
    select.dispatchEvent(new Event("change"));
  })()`);
}

module.exports = {check, choose, counts, moveSlider};
