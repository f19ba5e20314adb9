"use strict";
/* The pages work without this. It keeps the place of a review while deciding, and tells when what
   is shown has moved on. */
const main = () => document.getElementById("main");
const SIGNED_OUT = "You are signed out. Copy what you typed, then reload the page to sign in.";

async function fetched(url, options) {
  const answer = await fetch(url, { credentials: "same-origin", ...options });
  if (new URL(answer.url).pathname === "/review/login") {
    if (document.querySelector(".edit[open]")) throw new Error(SIGNED_OUT);
    location.reload();
  }
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/* Live pages: a branch that this page shows has moved. */
const watched = () => (main().dataset.watch || "").split(" ").filter(Boolean);
const star = () => watched()[0] === "*";

function tell(what) {
  const notice = document.getElementById("moved");
  notice.querySelector("span").textContent = what;
  notice.hidden = false;
}

/* A notice that is there stays: it may say why a decision was refused. */
function hint(what) {
  if (document.getElementById("moved").hidden) tell(what);
}

async function refresh() {
  const fresh = await fetched(location.href);
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(part.id);
    if (now && now.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) {
      part.replaceChildren(...now.childNodes);
    }
  }
}

async function compare() {
  if (star()) return refresh();
  const here = document.querySelector("#moved a").href;  // the page may answer a form
  const tip = (await fetched(here)).getElementById("main")?.dataset.tip;
  if (tip !== undefined && tip !== main().dataset.tip) hint("This has moved on.");
}

let timer = 0;
function moved(event) {
  const branch = JSON.parse(event.data).branch;
  if (star()) {
    clearTimeout(timer);
    timer = setTimeout(refresh, 300);
  } else if (watched().includes(branch)) {
    hint(`${branch} has moved.`);
  }
}

let stream = null;
let missed = false;
function listen() {
  if (stream || document.hidden || !watched().length) return;
  stream = new EventSource("/review/events");
  stream.addEventListener("moved", moved);
  stream.addEventListener("open", () => {
    if (missed) compare();
    missed = true;
  });
}
/* A hidden page gives its connection back: a browser has few of them for one host. */
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return listen();
  stream?.close();
  stream = null;
});
addEventListener("pagehide", () => stream?.close());
listen();

/* Send decisions to the server one after the other, so that the last key pressed counts. Each
   updates the page in place; the page stays if the answer does not show the review. */
let sending = Promise.resolve();
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches(".point")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  const take = event.submitter?.value;
  sending = sending.then(() => send(form, take, body));
});

async function send(form, take, body) {
  let fresh = null;
  let problem = "The server did not answer; what it kept shows when you reload.";
  try {
    fresh = (await fetched(form.action, { method: "POST", body })).getElementById("main");
    if (fresh) problem = fresh.querySelector("[role=alert]")?.textContent;
  } catch (error) {
    if (error.message === SIGNED_OUT) problem = SIGNED_OUT;
  }
  document.getElementById("moved").hidden = true;
  if (problem) tell(problem);
  if (!fresh?.querySelector(".summary")) return;
  const edits = points().filter((one) => one.id !== form.id && one.querySelector(".edit[open]"));
  main().replaceWith(document.adoptNode(fresh));
  // As a whole: its form says which row the text was typed for.
  for (const one of edits) document.getElementById(one.id)?.replaceWith(one);
  const all = points();
  const here = all.findIndex((point) => point.id === form.id);
  const next = all.slice(here + 1).find((point) => point.classList.contains("open"));
  const place = problem || take === "clear" ? all[here] : next || all[here];
  if (place) show(place);
  else main().focus();
}
