"use strict";
/* A review, on a page or inside a chat: one key for each choice. */
const points = () => [...document.querySelectorAll(".point")];
const KEYS = { o: "ours", t: "theirs", s: "skip", c: "clear" };

function show(point) {
  point.focus({ preventScroll: true });
  point.scrollIntoView({ block: "nearest" });
}

function current() {
  return document.activeElement?.closest(".point");
}

function step(by) {
  const all = points();
  const here = all.indexOf(current());
  const first = all.findIndex((point) => point.classList.contains("open"));
  const next = here < 0 ? Math.max(first, 0) : here + by;
  if (all[next]) show(all[next]);
}

function edit(point) {
  const details = point.querySelector(".edit");
  if (!details) return;
  details.open = true;
  details.querySelector("input:not([type=hidden]), textarea, select").focus();
}

function help() {
  const keys = document.getElementById("keys");
  if (keys?.toggleAttribute("open")) keys.scrollIntoView({ block: "center" });
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !points().length) return;
  const point = current();
  if (event.target.matches("input, textarea, select")) {
    const details = event.target.closest(".edit");
    if (event.key === "Escape" && details) {
      details.open = false;
      show(point);
    }
    return;
  }
  const key = event.key;
  if (key === "j" || key === "ArrowDown") step(1);
  else if (key === "k" || key === "ArrowUp") step(-1);
  else if (key === "m") document.getElementById("merge")?.click();
  else if (key === "?") help();
  else if (key === "e" && point) edit(point);
  // A key that is held down decides one row: its repeats come when the next one has the focus.
  else if (KEYS[key] && point && !event.repeat) point.querySelector(`button[value="${KEYS[key]}"]`)?.click();
  else return;
  event.preventDefault();
});
