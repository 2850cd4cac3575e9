// What the explorer and the dials draw with: pieces of pictures, and of the page around them. No library, no request.
// Words become HTML through `esc` or `text`; the inside of `el`, `svg` and of attributes is the caller's to escape.
"use strict";
const W = 320, number = new Intl.NumberFormat("en-US");
const esc = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const fix = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const percent = (share) => `${Math.round(100 * share)}%`;
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const power = (e) => (e ? `10${String(e).replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]))}` : "1");
const el = (tag, attributes = {}, html = "") => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.innerHTML = html;
  return node;
};

// --- Pieces of pictures ---

const svg = (height, label, body, role = "img") =>
  `<svg viewBox="0 0 ${W} ${height}" role="${role}" aria-label="${esc(label)}" xmlns="http://www.w3.org/2000/svg">${body}</svg>`;
const text = (x, y, words, more = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${esc(words)}</text>`;
const line = (points, more) => `<polyline points="${points.map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" ")}" ${more}/>`;
const scale = (low, high, from, to) => (v) => from + ((v - low) / (high - low || 1)) * (to - from);

// --- Pieces of the page ---

function slider(id, label, low, high, step) { // {box, input, out}: what is shown, its control, the value beside it
  const input = el("input", { type: "range", id, min: low, max: high, step });
  const out = el("span", { class: "rm-now", "aria-hidden": "true" }); // the slider itself tells it
  const box = el("div", { class: "rm-control" });
  box.append(el("label", { for: id }, esc(label)), out, input);
  if (low === high) box.style.display = "none"; // nothing to choose
  return { box, input, out };
}

function panels(names, grid) { // one figure a name, in the grid: {name: {title, picture, note}}
  return Object.fromEntries(names.map((name) => {
    const figure = el("figure", { class: "rm-panel", "data-panel": name });
    const title = el("div", { class: "rm-head" }), picture = el("div"), note = el("figcaption");
    figure.append(title, picture, note);
    grid.append(figure);
    return [name, { title, picture, note }];
  }));
}

function player() { // {pause, button}: buttons that go through the stops of a slider, one slider at a time
  let playing = null;
  function pause() {
    if (!playing) return;
    clearInterval(playing.timer);
    playing.button.textContent = "▶";
    playing.button.setAttribute("aria-label", playing.label);
    playing = null;
  }
  function button(id, what, input, choose) {
    const label = `Play ${what}`, node = el("button", { type: "button", class: "rm-play", id, "aria-label": label, title: label }, "▶");
    node.addEventListener("click", () => {
      const mine = playing && playing.button === node;
      pause();
      if (mine) return;
      if (input.value === input.max) choose(0);
      const timer = setInterval(() => (input.value === input.max ? pause() : choose(Number(input.value) + 1)), 700);
      playing = { timer, button: node, label };
      node.textContent = "❚❚";
      node.setAttribute("aria-label", `Pause ${what}`);
    });
    return node;
  }
  return { pause, button };
}

function viewed(id) { // what the page's address says of the view with this id: [name, value] pairs, null where it speaks of another
  const [own, words] = location.hash.slice(1).split("?");
  return own === id && words !== undefined ? [...new URLSearchParams(words)] : null;
}

function teller() { // [node, tell]: for screen readers, short, and only once the sliders rest
  const node = el("div", { class: "rm-heard", role: "status" });
  let waiting = null;
  return [node, (words) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { node.textContent = words; }, 600);
  }];
}
