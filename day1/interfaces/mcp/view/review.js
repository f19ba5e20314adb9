/* A review inside a chat. The window around it is its host, which passes its calls to day1 and may
   refuse each. Whatever memory holds comes as data, and becomes text: nothing here makes elements,
   attributes' names, addresses or styles of it. */
const PAGE = 20;
const UNSEEN = new RegExp(WORDS.unseen, "gu");
const main = document.getElementById("main");

/* Build elements: a function among the attributes is a listener; texts become text nodes. */
function h(tag, given, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given ?? {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((one) => one != null && one !== false));
  return made;
}

const number = (count) => count.toLocaleString("en");
const count = (some, noun, nouns = `${noun}s`) => `${number(some)} ${some === 1 ? noun : nouns}`;

/* Texts of memory: invisible characters are shown by their code, long texts are folded. */
function marked(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const code = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push(text.slice(from, found.index), h("span", { class: "mark" }, code));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

function said(text) {
  return h("bdi", null, marked(text));
}

function inert(value) {
  if (value == null) return h("span", { class: "none" }, "none");
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= WORDS.folded) return said(text);
  const rest = h("span", { class: "more" }, `… ${number(text.length)} characters`);
  const beginning = said(text.slice(0, WORDS.beginning).toWellFormed());
  const folded = h("details", { class: "long" }, h("summary", null, beginning, " ", rest));
  // A long text is laid out only when somebody opens it.
  folded.addEventListener("toggle", () => folded.append(said(text)), { once: true });
  return folded;
}

const TAGS = { removed: "del", added: "ins" };
function words(parts) {
  const shown = ([how, part]) => {
    const text = part.length <= WORDS.folded ? marked(part) : inert(part);
    return TAGS[how] ? h(TAGS[how], null, text) : text;
  };
  return h("bdi", null, parts.map(shown));
}

function when(iso) {
  return iso ? h("time", { datetime: iso, title: iso }, iso.slice(0, 16).replace("T", " ")) : null;
}

const someone = (who) => (who ? said(who) : "someone");
const branch = (name) => h("span", { class: "branch" }, name || "a branch that is gone");
const short = (id) => h("span", { class: "id", title: id }, id.slice(id.indexOf("_") + 1).slice(-8));
const chip = (text, more = "") => h("span", { class: `chip ${more}` }, text);
const notice = (given, ...text) => h("p", { ...given, class: `notice ${given.class ?? ""}` }, text);
const key = (name) => h("kbd", null, name);
const button = (text, click, given) => h("button", { type: "button", click, ...given }, text);

function wrote(side) {
  return h(
    "span", { class: "wrote" }, someone(side.agent_id), " on ", branch(side.branch), ", ", when(side.at),
    side.task_id && [" for ", said(side.task_id)],
    side.session_id && [" in ", said(side.session_id)],
    side.reason && [": ", h("q", null, inert(side.reason))],
  );
}

/* The host. */
const waiting = new Map();
let last = 0;

function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  last += 1;
  send({ id: last, method, params });
  return new Promise((resolve, reject) => waiting.set(last, { resolve, reject }));
}

function answered({ id, result, error }) {
  const asked = waiting.get(id);
  waiting.delete(id);
  if (error) asked?.reject(new Error(`The client did not do it: ${error.message}`));
  else asked?.resolve(result);
}

addEventListener("message", (event) => {
  const said = event.data;
  if (event.source !== parent || said?.jsonrpc !== "2.0") return;
  if (said.method === undefined) answered(said);
  else if (said.id === undefined) HEARD[said.method]?.(said.params ?? {});
  else if (ASKED.has(said.method)) send({ id: said.id, result: {} });
  else send({ id: said.id, error: { code: -32601, message: "Method not found" } });
});
const ASKED = new Set(["ping", "ui/resource-teardown"]);

/* Call a tool and return its answer; throw its error. */
function document_of(result) {
  const text = result?.content?.find((block) => block.type === "text")?.text ?? "{}";
  let found = result?.structuredContent;
  try {
    found ??= JSON.parse(text);
  } catch {
    found = {};
  }
  if (result?.isError) throw new Error(found.error?.message ?? text);
  return found;
}

async function call(name, given) {
  return document_of(await request("tools/call", { name, arguments: given }));
}

/* The state of the page. */
let review = null;
let offset = 0;
let problem = null;
let was = null;
let asks = false;
let busy = false;
let deaf = false; // the host does not pass calls on

/* Draw the page anew. What is typed in open edits stays, but for the decision that was just made. */
function draw(made) {
  const edited = points().filter((one) => one.id !== made && one.querySelector(".edit[open]"));
  main.replaceChildren(...(review ? page() : [trouble()]));
  main.setAttribute("aria-busy", String(busy));
  for (const one of edited) {
    const edit = document.getElementById(one.id)?.querySelector(".edit");
    if (!edit) continue;
    edit.open = true;
    for (const field of edit.querySelectorAll("[name]")) {
      const typed = one.querySelector(`[name="${field.name}"]`);
      if (typed) field.value = typed.value;
    }
  }
}

const trouble = () => h("div", { class: "notice bad", role: "alert" }, h("p", null, inert(problem)),
  was && [h("p", null, "You saw: ", marked(was)), h("p", null, "Now: ", marked(review.summary))]);

async function read() {
  review = await call("review_show", { review_id: review.id, offset, limit: PAGE });
}

/* Run calls of the server one after the other, and show the result of each. */
async function doing(work, place) {
  if (busy) return;
  busy = true;
  problem = was = null;
  main.setAttribute("aria-busy", "true");
  const before = review.summary;
  try {
    await work();
  } catch (error) {
    problem = error.message;
  }
  try {
    await read();
  } catch (error) {
    problem ??= error.message;
  }
  if (problem && review.summary !== before) was = before;
  busy = false;
  draw(problem ? null : place);
}

/* Tell the model what happened: numbers and ids, no text of memory. */
function inform() {
  const merged = review.merge_id ? ` It was merged: ${review.merge_id}.` : "";
  const left = `${count(review.decided, "decision")}, ${number(review.undecided_count)} to go.`;
  const looked = review.tier?.needs ? ` It has ${number(review.tier.looks)} of ${count(review.tier.needs, "look")}.` : "";
  const text = `A person worked on review ${review.id}. It is ${review.status}. ${left}${looked}${merged}`;
  request("ui/update-model-context", { content: [{ type: "text", text }] }).catch(() => {});
}

async function decide(row, cell, take, value) {
  const place = place_of(row, cell);
  const decision = { id: row.id, cell, take, ...(value && { value }) };
  if (take !== "clear") decision.seen = row.seen;
  const decisions = [decision];
  await doing(() => call("review_decide", { review_id: review.id, decisions }), place);
  inform();
  const all = points();
  const here = all.findIndex((one) => one.id === place);
  const next = all.slice(here + 1).find((one) => one.classList.contains("open"));
  const to = take === "clear" || problem ? all[here] : next || all[here];
  if (to) show(to);
  else main.focus();
}

/* Approve the plan that is shown; the server refuses if the plan has changed. */
async function approve(withdraw) {
  const expect = review.digest ?? "";
  await doing(() => call("review_approve", { review_id: review.id, expect, withdraw }));
  inform();
  document.getElementById("looks")?.focus();
}

async function merge() {
  asks = false;
  const expect = review.digest ?? "";
  await doing(() => call("review_merge", { review_id: review.id, expect }));
  inform();
  main.focus();
}

async function close(reason) {
  await doing(() => call("review_close", { review_id: review.id, reason: reason || null }));
  inform();
  main.focus();
}

async function turn(to) {
  offset = to;
  await doing(() => {});
  main.focus();
}

/* The page: the same words and classes as on the web page of a review. */
const decides = () => review.status === "open" && !deaf;

function page() {
  if (asks) return question();
  return [
    h("h1", null, review.title ? said(review.title)
      : [branch(review.source_branch), h("span", { class: "dim" }, " into "), branch(review.target_branch)]),
    h("p", { class: "summary" }, chip(review.status, review.status), " ", marked(review.summary)),
    h("p", { class: "meta" }, branch(review.source_branch), " → ", branch(review.target_branch),
      " · opened by ", someone(review.opened_by), ", ", when(review.created_at)),
    review.description && h("div", { class: "text" }, inert(review.description)),
    problem && trouble(),
    ended(),
    review.status === "open" && progress(),
    groups(),
    pager(),
    review.decisions?.length > 0 && decisions(),
    decides() && closing(),
  ].flat(Infinity).filter(Boolean);
}

function ended() {
  if (review.status === "open") return null;
  const by = review.closed_by ? [" by ", said(review.closed_by)] : null;
  const done = review.status === "merged" ? "Merged" : "Closed";
  const reason = review.reason ? [": ", h("q", null, inert(review.reason))] : null;
  const good = review.status === "merged" ? "good" : "";
  return notice({ class: good, role: "status" }, h("span", null, done, by, ", ", when(review.closed_at), reason, "."));
}

function progress() {
  const steps = review.decided + review.undecided_count;
  const far = `${count(review.decided, "decision")}, ${number(review.undecided_count)} to go`;
  const bar = h("progress", { max: steps || 1, value: steps ? review.decided : 1 });
  return [
    h("div", { class: "deciding" }, h("label", { class: "progress" }, far, bar),
      decides() && button(["Merge… ", key("m")], ask, { id: "merge", class: "main", "aria-keyshortcuts": "m" })),
    deaf && notice({}, "This client shows the review only: decide it at a terminal or on day1's pages."),
    Object.entries(review.missing).filter(([required]) => required !== "tiers").map(([required, why]) =>
      notice({}, review.target_branch, " requires ", required, ": ", inert(why))),
    review.tier && looks(review.tier),
    review.stale.map(stale),
    decides() && keys(),
  ];
}

/* Show the looks that the target requires and the looks given. The server decides who may give one. */
function looks({ needs, looks: have, why }) {
  const far = needs ? `${number(have)} of ${count(needs, "look")} that it needs: ` : "It needs no look: ";
  const given = review.approvals.map((one) =>
    [h("br"), one.by ? said(one.by) : "Someone", " approved, ", when(one.at), !one.counts && [" ", chip("does not count")]]);
  return h("div", { class: "notice row-of", id: "looks", tabindex: "-1" },
    h("span", null, far, said(why), ".", given),
    needs > 0 && decides() && [
      button("I looked, and agree", () => approve(false)),
      given.length > 0 && button("Take it back", () => approve(true), { class: "quiet" }),
    ]);
}

function stale(one) {
  return h("div", { class: "notice row-of" },
    h("span", null, "The decision about ", short(one.id), ` (${one.cell}: ${one.take}) does not apply any more: the memory has changed since.`),
    decides() && button("Forget the decision", () => decide({ id: one.id }, one.cell, "clear")));
}

function keys() {
  const named = (text) => text.replace("{ours}", review.target_branch).replace("{theirs}", review.source_branch);
  const line = ([pressed, meaning]) =>
    h("div", null, h("dt", null, pressed.map((one) => [key(one), " "])), h("dd", null, named(meaning)));
  return h("details", { class: "keys", id: "keys" }, h("summary", null, "Keys ", key("?")), h("dl", null, WORDS.keys.map(line)));
}

function groups() {
  const found = new Map();
  review.rows?.forEach((row, place) => {
    found.set(row.group, [...(found.get(row.group) ?? []), change(row, review.offset + place + 1)]);
  });
  return [...found].map(([group, rows]) =>
    h("section", { class: "group", "aria-labelledby": `g-${group}` },
      h("h2", { id: `g-${group}` }, WORDS.groups[group] ?? group, " ",
        h("span", { class: "dim" }, number(review.counts[group] ?? rows.length))),
      rows));
}

/* Return the columns in which the sides differ; none unless both sides have the row. */
function delta(row) {
  const ours = row.ours ?? row.base;
  const theirs = row.merged ?? row.theirs;
  if (!ours || !theirs) return [];
  const columns = Object.keys({ ...ours, ...theirs });
  const same = (column) => JSON.stringify(ours[column]) === JSON.stringify(theirs[column]);
  return columns.filter((column) => !same(column)).map((column) => ({
    column,
    before: ours[column],
    after: theirs[column],
    words: WORDS.texts.includes(column) ? row.words : null,
  }));
}

function compared(one) {
  if (one.words) return words(one.words);
  return [h("del", null, inert(one.before)), " ", h("ins", null, inert(one.after))];
}

function says(row) {
  const side = row.theirs ?? row.ours ?? row.base ?? {};
  return (WORDS.kinds[row.type]?.says ?? []).map((column) => side[column]).filter((it) => it != null).join(" ");
}

function change(row, place) {
  const differs = delta(row);
  const clashes = Object.keys(row.clashes);
  const inQuestion = [...clashes, ...differs.map((one) => one.column)];
  const leads = !clashes.includes("*") && !inQuestion.some((column) => WORDS.texts.includes(column));
  const shown = differs.filter((one) => !clashes.includes(one.column));
  const by = (side, wroteIt, name) => {
    if (!side) return ["removed on ", branch(name), wroteIt && [" by ", wrote(wroteIt)]];
    return wroteIt && wrote(wroteIt);
  };
  const mine = (row.ours || row.base) && by(row.ours, row.ours_by, review.target_branch);
  return h("article", { class: `change ${row.effect}`, "aria-label": `${row.type} ${place}` },
    h("p", { class: "meta" }, h("span", { class: "place" }, place), " ", chip(row.type), " ", short(row.id),
      row.belongs_to && [" · goes with ", short(row.belongs_to)],
      row.merged && " · merged by lines",
      row.held.map((item) => [" · held since ", when(item.held_at)])),
    row.tier && h("p", { class: "meta tier" }, chip(WORDS.tiers[row.tier], `tier-${row.tier}`), " ", said(row.why)),
    leads && h("div", { class: "text" }, inert(says(row))),
    shown.length > 0 && h("dl", { class: "cells" }, shown.map((one) =>
      h("div", null, h("dt", null, one.column), h("dd", { class: "diff" }, compared(one))))),
    h("p", { class: "meta" }, by(row.theirs, row.theirs_by, review.source_branch), mine && [h("br"), mine]),
    row.twins.map((twin) => h("div", { class: "twin" },
      h("p", { class: "meta" }, `${review.target_branch} has a similar memory (similarity ${twin.cosine.toFixed(2)}): `, short(twin.id)),
      h("div", { class: "text" }, inert(twin.text)))),
    (clashes.length ? clashes : ["*"]).map((cell) => point(row, cell, place, differs)));
}

const place_of = (row, cell) => `${row.id}.${cell === "*" ? "row" : cell}`;

/* Show one decision to make, about a cell or a whole row. */
function point(row, cell, place, differs) {
  const made = row.decisions.find((one) => one.cell === cell || one.cell === "*");
  const clashes = cell in row.clashes && row.clashes[cell] !== "belongs_to";
  const state = made ? "decided" : clashes ? "open" : "";
  const label = `Decide ${row.type} ${place}${cell === "*" ? "" : `, ${cell}`}`;
  return h("div", { class: `point ${state}`, id: place_of(row, cell), tabindex: "-1", role: "group", "aria-label": label },
    row.clashes[cell] && sides(row, cell, differs),
    made && verdict(made),
    decides() && choices(row, cell, made));
}

function sides(row, cell, differs) {
  const whole = cell === "*";
  const one = differs.find((it) => it.column === cell)
    ?? { words: null, before: row.ours?.[cell], after: row.theirs?.[cell] };
  const side = (name, of, there, shown) =>
    h("div", null, h("h3", null, name, " ", h("span", { class: "dim" }, of)),
      there ? h("div", { class: "text" }, shown()) : h("p", { class: "none" }, "removed"));
  return [
    h("p", { class: "why" }, h("strong", null, whole ? "All of it" : cell), `: ${WORDS.reasons[row.clashes[cell]] ?? row.clashes[cell]}.`),
    h("div", { class: "sides" },
      !whole && row.base && side("Before", "", true, () => inert(row.base[cell])),
      side("Ours", review.target_branch, row.ours, () => inert(whole ? says(row) : row.ours[cell])),
      side("Theirs", review.source_branch, row.theirs, () => (whole ? inert(says(row)) : compared(one)))),
  ];
}

function verdict(made) {
  const given = Object.entries(made.value ?? {}).filter(([, it]) => it != null);
  return h("p", { class: "verdict" }, "Decided: ", h("strong", null, WORDS.taken[made.take] ?? made.take),
    made.by && [" by ", said(made.by)], ", ", when(made.at), made.stale && [" ", chip("stale")],
    given.length > 0 && [": ", given.map(([column, it]) => [h("span", { class: "dim" }, column), " ", inert(it), " "])]);
}

function choices(row, cell, made) {
  const choice = (take, text, letter, given) =>
    button([`${text} `, key(letter)], () => decide(row, cell, take),
      { value: take, "aria-keyshortcuts": letter, "aria-pressed": made?.take === take && "true", ...given });
  return h("div", { class: "choices" },
    choice("ours", "Ours", "o"), choice("theirs", "Theirs", "t"), choice("skip", "Skip", "s"),
    made && choice("clear", "Clear", "c", { class: "quiet", "aria-pressed": false }),
    editor(row, cell, made));
}

function editor(row, cell, made) {
  const start = { ...row.ours, ...row.theirs, ...made?.value };
  // A hidden text cannot be edited.
  const fields = (WORDS.kinds[row.type]?.cells[cell] ?? []).filter(([column]) => !WORDS.marks.includes(start[column]));
  if (!fields.length) return null;
  const inputs = fields.map(([column, form]) => [column, form, input(form, start[column])]);
  const keep = () => {
    const value = {};
    for (const [column, form, { value: text }] of inputs) {
      value[column] = text === "" ? null : form === "number" ? Number(text) : text;
    }
    decide(row, cell, "value", value);
  };
  const lines = inputs.map(([column, , made], place) => {
    made.id = `${place_of(row, cell)}.${place}`;
    made.name = column;
    return [h("label", { for: made.id }, column), made];
  });
  return h("details", { class: "edit" },
    h("summary", { "aria-keyshortcuts": "e" }, "Edit ", key("e")),
    h("div", { class: "stack" }, lines, button("Keep this", keep, { class: "main", value: "value" })));
}

function input(form, start) {
  if (form === "text" || form === "line" || form === "number") {
    const more = form === "number" ? { type: "number", min: 0, max: 1, step: "any" } : { autocomplete: "off" };
    const made = form === "text" ? h("textarea", { rows: 4, dir: "auto" }) : h("input", { dir: "auto", ...more });
    made.value = start ?? "";
    return made;
  }
  return h("select", null, form.split(" ").map((one) => h("option", { selected: one === start }, one)));
}

function pager() {
  const end = review.offset + (review.rows?.length ?? 0);
  if (!(review.total > end - review.offset) || deaf) return null;
  const shown = `${number(review.offset + 1)} to ${number(end)} of ${number(review.total)}`;
  return h("nav", { class: "pager", "aria-label": "Further pages" },
    review.offset > 0 && button("Before", () => turn(Math.max(review.offset - PAGE, 0))),
    h("span", { class: "dim" }, shown),
    end < review.total && button("Further", () => turn(end)));
}

function decisions() {
  const line = (one) => h("li", { class: "row" }, h("p", { class: "meta" }, short(one.id), " · ",
    one.cell === "*" ? "all of it" : one.cell, ": ", h("strong", null, one.take), " · ", someone(one.by), ", ", when(one.at)));
  return h("section", { "aria-labelledby": "h-decided" }, h("h2", { id: "h-decided" }, "What was decided"),
    h("ul", { class: "rows" }, review.decisions.slice(0, 500).map(line)));
}

function closing() {
  const reason = h("input", { id: "reason" });
  return h("details", { class: "closing" }, h("summary", null, "Close without merging"),
    h("div", { class: "inline" }, h("label", { for: "reason" }, "Why"), reason,
      button("Close the review", () => close(reason.value))));
}

/* Merge the plan that is shown, after a question; the server refuses if the plan has changed. */
function ask() {
  asks = true;
  draw();
  main.querySelector("button.main").focus();
}

function question() {
  const left = review.undecided_count;
  const back = () => {
    asks = false;
    draw();
    document.getElementById("merge")?.focus();
  };
  return [
    h("h1", null, "Merge ", branch(review.source_branch), " into ", branch(review.target_branch), "?"),
    h("p", null, marked(review.summary)),
    left > 0 && notice({}, `${count(left, "conflict is", "conflicts are")} undecided: `, review.target_branch,
      " keeps what it has there, and each is held until somebody decides it."),
    Object.entries(review.missing).map(([required, why]) => notice({ class: "bad" }, required, ": ", inert(why))),
    h("div", { class: "row-of" }, button("Merge", merge, { class: "main", disabled: !review.can_merge }),
      button("Back to the review", back)),
    h("p", { class: "meta" }, "You can undo the merge later; that adds one commit."),
  ].flat(Infinity).filter(Boolean);
}

/* Messages from the host. */
function themed(context) {
  const theme = context?.theme;
  if (theme === "light" || theme === "dark") document.documentElement.style.colorScheme = theme;
}

async function shown(result) {
  try {
    const found = document_of(result);
    if (typeof found.id !== "string") throw new Error("The tool answered no review.");
    review = found;
    if (!deaf) await read();
  } catch (error) {
    problem = error.message;
  }
  if (!Array.isArray(review?.rows)) review = null;
  problem ??= review ? null : "This client shows no more of a review.";
  draw();
}

const HEARD = {
  "ui/notifications/tool-result": shown,
  "ui/notifications/host-context-changed": themed,
  "ui/notifications/tool-cancelled": () => {
    problem = "The call was cancelled.";
    draw();
  },
};

let size = "";
function measure() {
  const { width, height } = document.documentElement.getBoundingClientRect();
  const params = { width: Math.ceil(width), height: Math.ceil(height) };
  if (size === JSON.stringify(params)) return;
  size = JSON.stringify(params);
  send({ method: "ui/notifications/size-changed", params });
}

async function begin() {
  const appInfo = { name: "day1", title: "Review", version: WORDS.version };
  const appCapabilities = { availableDisplayModes: ["inline", "fullscreen"] };
  const told = await request("ui/initialize", { appInfo, appCapabilities, protocolVersion: "2026-01-26" });
  deaf = !told?.hostCapabilities?.serverTools;
  themed(told?.hostContext);
  send({ method: "ui/notifications/initialized" });
  new ResizeObserver(measure).observe(document.documentElement);
}

begin().catch((error) => {
  problem = error.message;
  draw();
});
