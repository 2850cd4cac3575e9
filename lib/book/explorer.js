// Draws the explorer: one function for the static page and for the live widget, with what draw.js has.
// `data` is what lib/book/explorer.py describes. Nothing of it reaches the page unescaped.
function mountExplorer(root, data, live) {
  const name = (part) => `${data.id}-${part}`;
  const mapped = data.mapped || "numbers";
  const state = { series: 0, ...data.start, step: -1, training: null };
  let beside = null; // a second point, kept to be compared with

  // --- What is asked, and the computed run that is nearest ---

  const seriesOf = (asked) => data.series[asked.series];
  const unique = (values) => [...new Set(values)].sort((a, b) => a - b);
  const stopsOf = (key) => unique(seriesOf(state).runs.map((run) => run[key]));
  const far = (run, asked) => [ // the point first, by depth and then by γ; at the point, the seed
    Math.abs(run.depth - asked.depth), Math.round(1e6 * Math.abs(run.gamma - asked.gamma)), run.gamma,
    Math.abs(run.seed - asked.seed), run.seed,
  ];
  function nearest(asked = state) {
    const s = seriesOf(asked);
    const [run] = [...s.runs].sort((a, b) => {
      const [x, y] = [far(a, asked), far(b, asked)];
      return x.reduce((found, value, i) => found || value - y[i], 0);
    });
    const cell = s.cells.find((c) => c.gamma === run.gamma && c.depth === run.depth);
    const seeds = s.runs.filter((r) => r.gamma === run.gamma && r.depth === run.depth).sort((a, b) => a.seed - b.seed);
    const last = run.history.step.length - 1;
    const index = asked.step < 0 ? last : Math.min(asked.step, last);
    return { asked, series: s, run, cell, seeds, index, last, exact: run.gamma === asked.gamma && run.depth === asked.depth };
  }
  const shareAt = (run, id, index) => (index < run.history.step.length - 1 ? run.history[id][index] : run.final[id]);
  // What was kept of a part: of the trained run, or the last moment up to the chosen step. Null where neither was.
  function kept({ run, index, last }, part) {
    const step = run.history.step[index];
    const moment = [...(run.moments || [])].reverse().find((m) => m.step <= step && m[part] !== undefined);
    if (index === last && run[part] !== undefined) return { ...run, step: run.steps };
    return moment || null;
  }

  // --- The pictures ---

  function diagram({ run, series: s }) {
    const left = 34, right = W - 14, depths = unique(s.cells.map((c) => c.depth)), gap = 26;
    const [g0, g1] = data.range.gamma, [d0, d1] = live ? data.range.depth : [depths[0], depths[depths.length - 1]], high = clamp(22 * (d1 - d0 + 1), 44, 132);
    const x = scale(g0, g1, left, right);
    let body = "";
    data.answers.forEach((answer, i) => {
      const top = 16 + i * (high + gap), y = scale(d0 - 0.5, d1 + 0.5, top + high, top);
      body += text(left, top - 5, answer.label, `class="rm-title rm-${i}"`);
      body += `<rect class="rm-empty" x="${left}" y="${top}" width="${right - left}" height="${high}"/>`;
      let frame = "";
      for (const cell of s.cells) {
        const row = s.cells.filter((c) => c.depth === cell.depth).map((c) => c.gamma).sort((a, b) => a - b);
        const at = row.indexOf(cell.gamma), half = 0.05;
        const from = at ? (row[at - 1] + cell.gamma) / 2 : cell.gamma - half;
        const to = at < row.length - 1 ? (row[at + 1] + cell.gamma) / 2 : cell.gamma + half;
        const value = cell[answer.id][0], here = cell.gamma === run.gamma && cell.depth === run.depth;
        const box = `x="${x(from).toFixed(1)}" y="${y(cell.depth + 0.5).toFixed(1)}" width="${(x(to) - x(from)).toFixed(1)}" height="${(y(0) - y(1)).toFixed(1)}"`;
        const words = esc(`γ ${cell.gamma}, depth ${cell.depth}: ${answer.label} ${percent(value)}, mean of ${plural(cell.runs, "run")}`);
        body += `<rect class="rm-cell rm-${i}" data-gamma="${cell.gamma}" data-depth="${cell.depth}" data-row="${i}" role="button" aria-label="${words}" aria-pressed="${here}" tabindex="${here && !i ? 0 : -1}" fill-opacity="${value.toFixed(3)}" ${box}><title>${words}</title></rect>`;
        if (x(to) - x(from) > 19) body += text((x(from) + x(to)) / 2, y(cell.depth) + 3.5, value.toFixed(2).replace(/^0/, ""), 'class="rm-value" text-anchor="middle"');
        if (here) frame = `<rect class="rm-here" ${box}/>`;
      }
      body += frame;
      const [cx, cy] = [x(clamp(state.gamma, g0, g1)), y(clamp(state.depth, d0, d1))];
      if (cx !== x(run.gamma) || cy !== y(run.depth)) body += `<path class="rm-asked" d="M${cx - 5} ${cy}h10M${cx} ${cy - 5}v10"/>`;
      for (let d = d0; d <= d1; d++) body += text(left - 6, y(d) + 3.5, d, 'text-anchor="end"');
      if (depths.length > 1) body += text(11, top + high / 2, "depth (layers)", `text-anchor="middle" transform="rotate(-90 11 ${top + high / 2})"`);
    });
    const bottom = 16 + data.answers.length * (high + gap) - gap;
    for (let g = Math.ceil(g0 * 5) / 5; g <= g1 + 1e-9; g += 0.2) body += text(x(g), bottom + 13, g.toFixed(1), 'text-anchor="middle"');
    body += text((left + right) / 2, bottom + 28, "initialization rate γ  (small weights to the right)", 'text-anchor="middle"');
    return svg(bottom + 34, `Mean share of each answer over γ and depth; the frame is at γ ${run.gamma}, depth ${run.depth}. Arrow keys move it.`, body, "group");
  }

  // One bar: what a run answers at the chosen step, `rest` the share of anything else.
  function bar(run, index, top, high) {
    const left = 4, right = W - 4, shares = data.answers.map((a) => shareAt(run, a.id, index) || 0);
    let from = left, body = `<rect class="rm-rest" x="${left}" y="${top}" width="${right - left}" height="${high}"/>`;
    shares.forEach((share, i) => {
      const wide = share * (right - left);
      body += `<rect class="rm-share rm-${i}" x="${from.toFixed(1)}" y="${top}" width="${wide.toFixed(1)}" height="${high}"/>`;
      if (high > 20 && wide > 34) body += text(from + wide / 2, top + high / 2 + 4, percent(share), 'class="rm-big" text-anchor="middle"');
      from += wide;
    });
    return body;
  }
  function answers(now) {
    const { run, index } = now, y = 18;
    let body = bar(run, index, y, 30), x = 4;
    [...data.answers.map((a) => a.short), "anything else"].forEach((label, i) => {
      body += `<rect class="${i < data.answers.length ? `rm-share rm-${i}` : "rm-rest"}" x="${x}" y="3" width="9" height="9"/>` + text(x + 13, 11, label);
      x += 24 + 5.9 * label.length;
    });
    const said = data.answers.map((a) => `${a.label} ${percent(shareAt(run, a.id, index) || 0)}`).join(", ");
    return svg(y + 36, `What this run answers: ${said}.`, body);
  }
  function seedsRow(now) { // every seed of the point as a small bar, to be chosen
    return `<div class="rm-seeds" role="group" aria-label="Seeds of this point">` + now.seeds.map((run) => {
      const index = asStep(run);
      const said = data.answers.map((a) => `${a.short} ${percent(shareAt(run, a.id, index) || 0)}`).join(", ");
      const words = esc(`seed ${run.seed}: ${said}`);
      return `<button type="button" data-seed="${run.seed}" aria-pressed="${run.seed === now.run.seed}" aria-label="${words}" title="${words}"><span>seed ${run.seed}</span>` +
        `<svg viewBox="0 0 ${W} 12" preserveAspectRatio="none" aria-hidden="true">${bar(run, index, 0, 12)}</svg></button>`;
    }).join("") + "</div>";
  }

  function curve({ run, index, asked }) {
    const training = asked === state && state.training, now = training || run, steps = now.history.step, height = 196, left = 34, right = W - 8, top = 10, low = height - 46;
    const x = scale(0, training ? Math.max(now.limit, 1) : steps[steps.length - 1], left, right), y = scale(0, 1, low, top);
    let body = "";
    for (const v of [0, 0.5, 1]) body += `<path class="rm-rule" d="M${left} ${y(v)}H${right}"/>` + text(left - 5, y(v) + 3.5, v, 'text-anchor="end"');
    for (const [i, metric] of [...data.answers, data.seen].entries()) {
      const values = now.history[metric.id];
      const points = steps.flatMap((s, j) => (values[j] === null ? [] : [[x(s), y(values[j])]]));
      body += line(points, `class="rm-line rm-${metric === data.seen ? "seen" : i}"`);
      if (!training && values[index] !== null) body += `<circle class="rm-dot rm-${metric === data.seen ? "seen" : i}" cx="${x(steps[index])}" cy="${y(values[index])}" r="4"/>`;
      body += `<path class="rm-line rm-${metric === data.seen ? "seen" : i}" d="M${left + i * 95} ${height - 8}h16"/>` + text(left + i * 95 + 20, height - 4.5, metric.short);
    }
    if (!training) body += `<path class="rm-cursor" d="M${x(steps[index])} ${top}V${low}"/>`;
    const end = training ? now.limit : steps[steps.length - 1];
    body += text(left, low + 14, 0, 'text-anchor="middle"') + text(right, low + 14, number.format(end), 'text-anchor="end"') + text((left + right) / 2, low + 14, "training step", 'text-anchor="middle"');
    return svg(height, `Shares of answers along training of ${training ? "the run in training" : "the run shown"}.`, body);
  }

  function flow(now) {
    const run = kept(now, "attention"), q = data.question, layers = run.attention.length, n = q.tokens.length, left = 58, right = W - 14, gap = clamp(200 / layers, 46, 74);
    const x = scale(0, n - 1, left, right), base = 34 + layers * gap, y = (level) => base - level * gap;
    const role = (j) => (j >= q.place && j < q.place + 3 ? j - q.place : 3);
    const path = new Set(run.path.map((e) => e.join()));
    let grey = "", colour = "";
    run.attention.forEach((rows, l) => rows.forEach((row, k) => row.forEach((percent, j) => {
      if (percent <= 2) return;
      const [low, high] = [y(l) - 9, y(l + 1) + 6], on = path.has([l, k, j].join());
      const d = `M${x(j).toFixed(1)} ${low.toFixed(1)}C${x(j).toFixed(1)} ${((low + high) / 2).toFixed(1)} ${x(k).toFixed(1)} ${((low + high) / 2).toFixed(1)} ${x(k).toFixed(1)} ${high.toFixed(1)}`;
      const edge = `<path class="${on ? `rm-edge rm-role-${role(j)}` : "rm-edge rm-weak"}" d="${d}" stroke-width="${(0.4 + percent * 0.05).toFixed(1)}"/>`;
      if (on) colour += edge; else grey += edge;
    })));
    let body = grey + colour;
    for (let level = 0; level <= layers; level++) {
      body += text(left - 14, y(level) + 3.5, level ? `layer ${level}` : "input", 'text-anchor="end"');
      for (let j = 0; j < n; j++) body += `<circle class="${level ? "rm-node" : `rm-token rm-role-${role(j)}`}" cx="${x(j).toFixed(1)}" cy="${y(level).toFixed(1)}" r="${level ? 3.5 : 10.5}"/>`;
    }
    q.tokens.forEach((token, j) => { body += text(x(j), base + 3.5, token, `text-anchor="middle" class="rm-on-${role(j)}"`); });
    body += text(right + 8, y(layers) - 12, `answer ${run.answer}`, 'text-anchor="end" class="rm-answer"');
    return svg(base + 16, `Attention on the question ${q.tokens.join(" ")}; the model answers ${run.answer}.`, body);
  }

  const hue = (share) => (265 - 210 * share).toFixed(0);
  const pairs = (packed) => { // a byte a coordinate
    const bytes = atob(packed);
    return Array.from({ length: bytes.length / 2 }, (_, i) => [bytes.charCodeAt(2 * i), bytes.charCodeAt(2 * i + 1)]);
  };
  function map(now) {
    const { map, explained } = kept(now, "map");
    const height = 230, x = scale(0, 255, 12, W - 20), y = scale(0, 255, height - 30, 12);
    const points = (typeof map === "string" ? pairs(map) : map).map(([a, b]) => [x(a), y(b)]);
    const every = points.length > 20 ? 10 : 1;
    let body = line(points, 'class="rm-thread"');
    points.forEach(([a, b], i) => { body += `<circle class="rm-number" cx="${a.toFixed(1)}" cy="${b.toFixed(1)}" r="3" style="--hue: ${hue(i / (points.length - 1))}"/>`; });
    points.forEach(([a, b], i) => { if (i % every === 0) body += text(a + 5, b + 3.5, data.firstNumber + i, 'class="rm-halo"'); });
    body += text(W / 2, height - 8, `principal components: ${explained.map((v) => `${v}%`).join(", ")} of the variance`, 'text-anchor="middle"');
    return svg(height, `Map of the embeddings of the ${mapped}, neighbours joined.`, body);
  }

  const recorded = ({ run, index, last }) => { // the leading eigenvalues, which some runs have at every step
    const values = run.history.eigenvalues && index < last ? run.history.eigenvalues[index] : [null];
    return values.includes(null) ? null : values;
  };
  function spectrum(now) {
    const values = recorded(now) || kept(now, "spectrum").spectrum, height = 196, left = 42, right = W - 8, top = 10, low = height - 34, floor = -4;
    const x = scale(1, data.width, left, right), y = scale(floor, 0, low, top);
    const shown = values.map((v, i) => [i + 1, Math.log10(v / values[0])]).filter(([, exponent]) => exponent >= floor);
    const points = shown.map(([i, exponent]) => [x(i), y(exponent)]);
    let body = "";
    for (let e = floor; e <= 0; e++) body += `<path class="rm-rule" d="M${left} ${y(e)}H${right}"/>` + text(left - 5, y(e) + 3.5, power(e), 'text-anchor="end"');
    body += line(points, 'class="rm-line rm-plain"') + points.map(([a, b]) => `<circle class="rm-bar" cx="${a.toFixed(1)}" cy="${b.toFixed(1)}" r="2"/>`).join("");
    for (const i of [1, data.width / 2, data.width]) body += text(x(i), low + 14, i, 'text-anchor="middle"');
    body += text((left + right) / 2, height - 4, "eigenvalue number", 'text-anchor="middle"');
    return svg(height, "Eigenvalues of the covariance of the embeddings, divided by the largest.", body);
  }

  const stepOf = ({ run, index }) => number.format(run.history.step[index]);
  const whole = ({ index, last }) => index === last;
  const PANELS = { // what draws it, its title, what is said under it, and what of a run it needs
    answers: [answers, (now) => `What it answers ${whole(now) ? "when trained" : `at step ${stepOf(now)}`}`, () => data.asked || "Shares of its answers to the pair that it never saw.", null],
    diagram: [diagram, () => "Where the point lies", () => "Mean over the stored runs of a cell when trained, nothing selected. Frame: the point shown. Choose another with the mouse or with arrow keys.", null],
    curve: [curve, () => (state.training ? "Training now" : "Along training"), () => (state.training ? "Shares of answers of the run in training, as it is evaluated." : "Shares of answers of the run shown; the upright line is the chosen step."), null],
    flow: [flow, () => "What it reads", () => "Attention on one question. Strong colours: the essential path, green from the key, pink and orange from the anchors, without a hue from other tokens. Grey: all else above 2%.", "attention"],
    map: [map, () => `How it arranges ${mapped}`, () => `Embeddings of the ${mapped}, violet to yellow with the number, neighbours joined: a line where they lie in order, a tangle where each is kept for itself.`, "map"],
    spectrum: [spectrum, (now) => (recorded(now) ? "Spectrum, as far as recorded" : "Spectrum of the embedding"), () => "Eigenvalues over the largest, log scale; those below 10⁻⁴ are left out. A steep line: few directions are used.", "spectrum"],
  };

  const none = (words) => svg(60, words, text(W / 2, 34, words, 'text-anchor="middle"'));
  function picture(panel, now) {
    const [draw, , , needs] = PANELS[panel];
    if (needs === null || (panel === "spectrum" && recorded(now))) return draw(now);
    const found = kept(now, needs);
    if (found) return (found.step < now.run.history.step[now.index] ? `<div class="rm-then">kept at step ${number.format(found.step)}</div>` : "") + draw(now);
    if (now.run[needs] === undefined) return none("The weights of this run were not kept.");
    const trained = draw({ ...now, index: now.last });
    return `<div class="rm-grey">${trained}</div><div class="rm-then">grey: kept of the trained run only, it does not follow the step</div>`;
  }

  // --- The page: built once, filled at every change ---

  root.classList.add("rm-explorer");
  root.replaceChildren();
  const controls = el("div", { class: "rm-controls", role: "group", "aria-label": "Choose a run" });
  const inputs = {};
  const stops = { gamma: () => stopsOf("gamma"), depth: () => stopsOf("depth") };
  const closest = (values, value) => values.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(values[best] - value) ? i : best), 0);

  // A dial has a stop at every stored value; with `steps` a button that goes through them.
  const { pause, button: playButton } = player();
  function dial(key, label, plays) {
    const { box, input, out } = slider(name(key), label, 0, 1, 1);
    const choose = (place) => {
      if (key === "step") state.step = place >= nearest().last ? -1 : place; // the end stays the end, whichever run comes next
      else state[key] = stops[key]()[place];
      redraw();
    };
    input.addEventListener("input", () => { pause(); choose(Number(input.value)); });
    if (plays) box.append(playButton(name(`play-${key}`), plays, input, choose));
    controls.append(box);
    inputs[key] = { box, input, out };
  }
  function choice(key, label, options) {
    const id = name(key), select = el("select", { id });
    const box = el("div", { class: "rm-control" });
    box.append(el("label", { for: id }, esc(label)), select);
    select.addEventListener("change", () => { pause(); state[key] = Number(select.value); redraw(); });
    controls.append(box);
    select.replaceChildren(...options.map(([v, words]) => el("option", { value: v }, esc(words))));
    inputs[key] = { box, input: select };
  }
  const tools = el("div", { class: "rm-tools" });
  const presets = [];
  const go = (changes) => { pause(); Object.assign(state, changes); redraw(); };
  if (!live) {
    if (data.series.length > 1) choice("series", "Results", data.series.map((s, i) => [i, s.name]));
    dial("gamma", "Initialization rate γ", "γ");
    dial("depth", "Depth (layers)");
    dial("step", "Training step", "training");
    root.append(controls);
    for (const preset of data.presets || []) {
      const button = el("button", { type: "button", class: "rm-preset" }, esc(preset.label));
      presets.push({ button, series: preset.to.series });
      button.addEventListener("click", () => go({ step: -1, ...preset.to }));
      tools.append(button);
    }
  }
  const pin = el("button", { type: "button", class: "rm-pin", id: name("pin") });
  pin.addEventListener("click", () => { beside = beside ? null : { ...state, training: null }; redraw(); });
  const link = el("a", { class: "rm-link", id: name("link") }, "Link to this view");
  tools.append(pin);
  if (!live) tools.append(link);
  const story = el("p", { class: "rm-story", id: name("story") });
  const caption = el("div", { class: "rm-said", id: name("caption") });
  const details = el("details", { class: "rm-details" });
  details.append(el("summary", {}, "This run in numbers"), caption);
  const [heard, tell] = teller();
  const grid = el("div", { class: "rm-panels" });
  root.append(story, tools, heard, grid, details);
  const figures = panels(data.panels, grid);
  function chosen(node) {
    const { gamma, depth, seed } = node.dataset || {};
    if (gamma !== undefined) Object.assign(state, { gamma: Number(gamma), depth: Number(depth) });
    else if (seed !== undefined) state.seed = Number(seed);
    else return false;
    pause();
    if (live) live.asked(state); else redraw();
    return true;
  }
  grid.addEventListener("click", (event) => {
    const node = event.target.closest("[data-gamma], [data-seed]");
    if (!node || !chosen(node)) return;
    if (node.dataset.seed !== undefined) grid.querySelector(`[data-seed="${node.dataset.seed}"]`)?.focus();
  });
  const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  grid.addEventListener("keydown", (event) => { // among the cells of a diagram: to the next stored one
    const from = event.target.closest(".rm-cell");
    if (!from) return;
    const here = { gamma: Number(from.dataset.gamma), depth: Number(from.dataset.depth) };
    const [right, up] = MOVES[event.key] || [0, 0];
    if (!right && !up && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    const cells = [...grid.querySelectorAll(`.rm-cell[data-row="${from.dataset.row}"]`)];
    const ahead = (cell) => (right ? right * (Number(cell.dataset.gamma) - here.gamma) : up * (Number(cell.dataset.depth) - here.depth));
    const aside = (cell) => (right ? Math.abs(Number(cell.dataset.depth) - here.depth) : Math.abs(Number(cell.dataset.gamma) - here.gamma));
    const [to] = right || up ? cells.filter((cell) => ahead(cell) > 1e-9 && (up || aside(cell) === 0)).sort((a, b) => ahead(a) - ahead(b) || aside(a) - aside(b)) : [from];
    if (!to) return;
    const { gamma, depth, row } = to.dataset;
    chosen(to);
    grid.querySelector(`.rm-cell[data-row="${row}"][data-gamma="${gamma}"][data-depth="${depth}"]`)?.focus();
  });

  // --- The view as an address ---

  const address = () => {
    const { series, gamma, depth, seed, step } = state;
    return `#${data.id}?` + new URLSearchParams({ series, gamma, depth, seed, step }).toString();
  };
  function restore() {
    const view = viewed(data.id);
    for (const [key, value] of view || []) {
      const asked = Number(value);
      if (value === "" || !Number.isFinite(asked) || !["series", "gamma", "depth", "seed", "step"].includes(key)) continue;
      if (key === "series" ? data.series[asked] : true) state[key] = key === "gamma" ? asked : Math.trunc(asked);
    }
    return view !== null;
  }

  // --- Words ---

  function over(cell) {
    if (cell.runs === 1) return "Its one run";
    const grid = cell.seeds * cell.rates === cell.runs ? ` (${plural(cell.seeds, "seed")} × ${plural(cell.rates, "learning rate")})` : "";
    return `Mean ± standard deviation over its ${cell.runs} runs${grid}`;
  }

  const asStep = (run) => (state.step < 0 ? run.history.step.length - 1 : Math.min(state.step, run.history.step.length - 1));
  function tale(now) { // what is seen, in a sentence
    const { run, index, last } = now;
    const when = index < last ? `At step ${number.format(run.history.step[index])} the model` : "The trained model";
    const shares = data.answers.map((a) => shareAt(run, a.id, index) || 0), top = shares.indexOf(Math.max(...shares));
    const seen = shareAt(run, data.seen.id, index), answer = data.answers[top], says = answer.says || `answers ${answer.label}`;
    if (data.exclusive !== false && seen !== null && seen !== undefined && seen < 0.9) return `${when} has not yet learned what it was taught: ${percent(seen)} of ${data.seen.label.replace(/ right$/, "")} are right.`;
    if (data.exclusive === false) return `${when}: ${data.answers.map((a, i) => `${a.label} ${percent(shares[i])}`).join(", ")}.`;
    const agree = now.seeds.filter((r) => shareAt(r, answer.id, asStep(r)) >= 0.5).length;
    const others = now.seeds.length > 1 ? ` At this γ ${agree} of ${now.seeds.length} seeds do so in most answers.` : "";
    if (shares[top] >= 0.9) return `${when} ${says}: ${percent(shares[top])} of its answers.${others}`;
    if (shares[top] >= 0.5) return `${when} mostly ${says}: ${percent(shares[top])} of its answers.${others}`;
    return `${when} has no one rule: ${data.answers.map((a, i) => `${a.label} ${percent(shares[i])}`).join(", ")}, something else the rest.`;
  }

  function say(now) {
    const { asked, run, cell, index, last, exact, series: s } = now;
    const shares = (from) => [...data.answers, data.seen].map((m) => `${esc(m.label)} <b>${from(m)}</b>`).join(", ");
    const where = `γ = ${run.gamma} at depth ${run.depth}`;
    let html = exact ? `<p>${where} was computed.` : `<p>You ask for γ = ${fix(asked.gamma)} at depth ${asked.depth}. <b>The nearest computed point is ${where}</b>; nothing is interpolated.`;
    if (cell) html += ` ${over(cell)}: ${shares((m) => fix(cell[m.id][0]) + (cell[m.id][1] === null ? "" : ` ± ${fix(cell[m.id][1])}`))}.</p>`;
    html += `<p>Shown: γ = ${run.gamma}, depth ${run.depth}, seed ${run.seed}, learning rate ${run.rate}, profile ${esc(s.profile)}, run <code>${esc(run.key)}</code> of <code>${esc(run.experiment)}</code>. `;
    const at = index < last ? `At step ${number.format(run.history.step[index])} of ${number.format(run.steps)}` : `When trained (${number.format(run.steps)} steps)`;
    html += `${at}: ${shares((m) => fix(shareAt(run, m.id, index)))}.</p>`;
    if (state.training) html += `<p><b>Training γ = ${state.training.gamma}, depth ${state.training.depth}, seed ${state.training.seed}.</b></p>`;
    return html;
  }
  const place = (asked) => { const { run, index, last } = nearest(asked); return `γ ${run.gamma}, depth ${run.depth}, seed ${run.seed}${index < last ? `, step ${number.format(run.history.step[index])}` : ""}`; };

  function redraw() {
    const now = nearest(), other = beside && nearest(beside);
    if (!live) {
      for (const key of ["gamma", "depth"]) {
        const values = stops[key](), { box, input, out } = inputs[key];
        input.max = values.length - 1;
        input.value = closest(values, now.run[key]);
        box.style.display = values.length > 1 ? "" : "none"; // one value is nothing to choose
        out.textContent = key === "gamma" ? fix(now.run.gamma) : now.run.depth;
        input.setAttribute("aria-valuetext", key === "gamma" ? `γ ${fix(now.run.gamma)}` : plural(now.run.depth, "layer"));
      }
      const { input, out } = inputs.step;
      input.max = now.last;
      input.value = now.index;
      out.textContent = now.index < now.last ? number.format(now.run.history.step[now.index]) : `trained (${number.format(now.run.steps)})`;
      input.setAttribute("aria-valuetext", `step ${out.textContent}`);
      if (inputs.series) inputs.series.input.value = state.series;
      for (const { button, series } of presets) button.hidden = series !== state.series; // those of other results lead away
      link.setAttribute("href", address());
    }
    pin.textContent = beside ? "Stop comparing" : "Keep to compare";
    pin.setAttribute("aria-pressed", Boolean(beside));
    story.textContent = tale(now);
    caption.innerHTML = say(now);
    const shares = [...data.answers, data.seen].map((m) => `${m.short} ${fix(shareAt(now.run, m.id, now.index))}`).join(", ");
    tell(`${now.exact ? "Computed point" : "Nearest computed point"}: γ ${now.run.gamma}, depth ${now.run.depth}, seed ${now.run.seed}. ${shares}.`);
    for (const panel of data.panels) {
      const [, title, note] = PANELS[panel], figure = figures[panel];
      figure.note.textContent = note(now);
      figure.title.textContent = title(now);
      const pair = other && panel !== "diagram";
      figure.picture.classList.toggle("rm-pair", Boolean(pair));
      figure.picture.innerHTML = pair
        ? [now, other].map((n, i) => `<div><div class="rm-then"><b>${i ? "kept" : "now"}</b>: ${esc(place(n.asked))}</div>${picture(panel, n)}</div>`).join("")
        : picture(panel, now);
      if (panel === "answers" && now.seeds.length > 1) figure.picture.insertAdjacentHTML("beforeend", seedsRow(now));
    }
  }
  if (!live) {
    if (restore()) root.scrollIntoView();
    window.addEventListener("hashchange", () => { if (restore()) { pause(); redraw(); } });
  }
  redraw();
  return { state, redraw, nearest, set(changes) { Object.assign(state, changes); redraw(); } };
}
