// Draws the explorer: one function for the static page and for the live widget, with what draw.js has.
// `data` is what lib/book/explorer.py describes. Nothing of it reaches the page unescaped.
function mountExplorer(root, data, live) {
  const name = (part) => `${data.id}-${part}`;
  const mapped = data.mapped || "numbers";
  const state = { series: 0, gamma: data.start.gamma, depth: data.start.depth, seed: data.start.seed, step: -1, training: null };

  // --- What is asked, and the computed run that is nearest ---

  const series = () => data.series[state.series];
  const seedsOf = (s) => [...new Set(s.runs.map((run) => run.seed))].sort((a, b) => a - b);
  const byDistance = (a, b) => { // the point first, by depth and then by γ; at the point, the seed
    const far = (run) => [
      Math.abs(run.depth - state.depth), Math.round(1e6 * Math.abs(run.gamma - state.gamma)), run.gamma,
      Math.abs(run.seed - state.seed), run.seed,
    ];
    const [x, y] = [far(a), far(b)];
    return x.reduce((found, value, i) => found || value - y[i], 0);
  };
  function nearest() {
    const s = series();
    const run = [...s.runs].sort(byDistance)[0];
    const cell = s.cells.find((c) => c.gamma === run.gamma && c.depth === run.depth);
    const last = run.history.step.length - 1;
    const index = state.step < 0 ? last : Math.min(state.step, last);
    return { run, cell, index, last, exact: run.gamma === state.gamma && run.depth === state.depth };
  }

  // --- The pictures ---

  function diagram({ run }) {
    const s = series(), left = 34, right = W - 6, high = 132, gap = 26;
    const [g0, g1] = data.range.gamma, [d0, d1] = data.range.depth;
    const x = scale(g0, g1, left, right);
    let body = "";
    data.answers.forEach((answer, i) => {
      const top = 16 + i * (high + gap), y = scale(d0 - 0.5, d1 + 0.5, top + high, top);
      body += text(left, top - 5, answer.label, `class="rm-title rm-${i}"`);
      body += `<rect class="rm-empty" x="${left}" y="${top}" width="${right - left}" height="${high}"/>`;
      for (const cell of s.cells) {
        const row = s.cells.filter((c) => c.depth === cell.depth).map((c) => c.gamma).sort((a, b) => a - b);
        const at = row.indexOf(cell.gamma), half = 0.05;
        const from = at ? (row[at - 1] + cell.gamma) / 2 : cell.gamma - half;
        const to = at < row.length - 1 ? (row[at + 1] + cell.gamma) / 2 : cell.gamma + half;
        const value = cell[answer.id][0], here = cell.gamma === run.gamma && cell.depth === run.depth;
        const box = `x="${x(from).toFixed(1)}" y="${y(cell.depth + 0.5).toFixed(1)}" width="${(x(to) - x(from)).toFixed(1)}" height="${(y(0) - y(1)).toFixed(1)}"`;
        body += `<rect class="rm-cell rm-${i}" data-gamma="${cell.gamma}" data-depth="${cell.depth}" fill-opacity="${value.toFixed(3)}" ${box}/>`;
        if (x(to) - x(from) > 19) body += text((x(from) + x(to)) / 2, y(cell.depth) + 3.5, value.toFixed(2).replace(/^0/, ""), 'class="rm-value" text-anchor="middle"');
        if (here) body += `<rect class="rm-here" ${box}/>`;
      }
      const [cx, cy] = [x(clamp(state.gamma, g0, g1)), y(clamp(state.depth, d0, d1))];
      if (cx !== x(run.gamma) || cy !== y(run.depth)) body += `<path class="rm-asked" d="M${cx - 5} ${cy}h10M${cx} ${cy - 5}v10"/>`;
      for (let d = d0; d <= d1; d++) body += text(left - 6, y(d) + 3.5, d, 'text-anchor="end"');
      body += text(11, top + high / 2, "depth (layers)", `text-anchor="middle" transform="rotate(-90 11 ${top + high / 2})"`);
    });
    const bottom = 16 + data.answers.length * (high + gap) - gap;
    for (let g = Math.ceil(g0 * 5) / 5; g <= g1 + 1e-9; g += 0.2) body += text(x(g), bottom + 13, g.toFixed(1), 'text-anchor="middle"');
    body += text((left + right) / 2, bottom + 28, "initialization rate γ  (small weights to the right)", 'text-anchor="middle"');
    return svg(bottom + 34, `Mean share of each answer over γ and depth; the frame is at γ ${run.gamma}, depth ${run.depth}.`, body);
  }

  function curve({ run, index }) {
    const now = state.training || run, steps = now.history.step, height = 196, left = 34, right = W - 8, top = 10, low = height - 46;
    const x = scale(0, state.training ? Math.max(now.limit, 1) : steps[steps.length - 1], left, right), y = scale(0, 1, low, top);
    let body = "";
    for (const v of [0, 0.5, 1]) body += `<path class="rm-rule" d="M${left} ${y(v)}H${right}"/>` + text(left - 5, y(v) + 3.5, v, 'text-anchor="end"');
    for (const [i, metric] of [...data.answers, data.seen].entries()) {
      const values = now.history[metric.id];
      const points = steps.flatMap((s, j) => (values[j] === null ? [] : [[x(s), y(values[j])]]));
      body += line(points, `class="rm-line rm-${metric === data.seen ? "seen" : i}"`);
      if (!state.training && values[index] !== null) body += `<circle class="rm-dot rm-${metric === data.seen ? "seen" : i}" cx="${x(steps[index])}" cy="${y(values[index])}" r="4"/>`;
      body += `<path class="rm-line rm-${metric === data.seen ? "seen" : i}" d="M${left + i * 95} ${height - 8}h16"/>` + text(left + i * 95 + 20, height - 4.5, metric.short);
    }
    if (!state.training) body += `<path class="rm-cursor" d="M${x(steps[index])} ${top}V${low}"/>`;
    const end = state.training ? now.limit : steps[steps.length - 1];
    body += text(left, low + 14, 0, 'text-anchor="middle"') + text(right, low + 14, number.format(end), 'text-anchor="end"') + text((left + right) / 2, low + 14, "training step", 'text-anchor="middle"');
    return svg(height, `Shares of answers along training of ${state.training ? "the run in training" : "the run shown"}.`, body);
  }

  function flow({ run }) {
    const q = data.question, layers = run.attention.length, n = q.tokens.length, left = 58, right = W - 14, gap = clamp(200 / layers, 46, 74);
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
  const mapAt = ({ run, index }) => { // of the trained run, or the last that was kept up to the chosen step
    const kept = run.maps || [], now = run.history.step[index];
    return [...kept].reverse().find((m) => m.step <= now) || kept[0] || { map: run.map, explained: run.explained };
  };
  function map(now) {
    const { map, explained } = mapAt(now);
    const height = 230, x = scale(0, 255, 12, W - 20), y = scale(0, 255, height - 30, 12), points = map.map(([a, b]) => [x(a), y(b)]);
    const every = points.length > 20 ? 10 : 1;
    let body = line(points, 'class="rm-thread"');
    points.forEach(([a, b], i) => { body += `<circle class="rm-number" cx="${a.toFixed(1)}" cy="${b.toFixed(1)}" r="3" style="--hue: ${hue(i / (points.length - 1))}"/>`; });
    points.forEach(([a, b], i) => { if (i % every === 0) body += text(a + 5, b + 3.5, data.firstNumber + i, 'class="rm-halo"'); });
    body += text(W / 2, height - 8, `principal components: ${explained.map((v) => `${v} %`).join(", ")} of the variance`, 'text-anchor="middle"');
    return svg(height, `Map of the embeddings of the ${mapped}, neighbours joined.`, body);
  }

  function spectrum({ run, index, last }) {
    const recorded = run.history.eigenvalues && index < last ? run.history.eigenvalues[index] : [null];
    const watched = recorded.includes(null) ? null : recorded;
    const values = watched || run.spectrum, height = 196, left = 42, right = W - 8, top = 10, low = height - 34, floor = -4;
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

  const PANELS = {
    diagram: [diagram, () => "Where the point lies", () => "Mean over the stored runs of a cell, nothing selected. Frame: the nearest computed point. Cross: what you ask for."],
    curve: [curve, () => (state.training ? "Training now" : "Along training"), () => (state.training ? "Shares of answers of the run in training, as it is evaluated." : "Shares of answers of the run shown; the upright line is the chosen step.")],
    flow: [flow, () => "What it reads", () => "Attention of the trained run on one question. Strong colours: the essential path, green from the key, pink and orange from the anchors, black from other tokens. Grey: all else above 2 %."],
    map: [map, (now) => `How it arranges ${mapped}${mapAt(now).step ? ` (step ${number.format(mapAt(now).step)})` : ""}`, () => `Embeddings of the ${mapped}${series().runs.some((run) => run.maps) ? ", the last kept up to the chosen step" : " in the trained run"}, violet to yellow with the number.`],
    spectrum: [spectrum, ({ run, index, last }) => (run.history.eigenvalues && index < last ? "Spectrum at this step, as far as recorded" : "Spectrum of the trained embedding"), () => "Eigenvalues over the largest, log scale; those below 10⁻⁴ are left out. A steep line: few directions are used."],
  };

  const NEEDS = { flow: "attention", map: "map", spectrum: "spectrum" };
  const missing = () => svg(60, "Not available.", text(W / 2, 34, "The weights of this run were not kept.", 'text-anchor="middle"'));

  // --- The page: built once, filled at every change ---

  root.classList.add("rm-explorer");
  root.replaceChildren();
  const controls = el("div", { class: "rm-controls", role: "group", "aria-label": "Choose a run" });
  const inputs = {};
  function dial(key, label, low, high, step) {
    const { box, input, out } = slider(name(key), label, low, high, step);
    input.addEventListener("input", () => {
      state[key] = Number(input.value);
      if (key === "step" && input.value === input.max) state.step = -1; // the end stays the end, whichever run comes next
      redraw();
    });
    controls.append(box);
    inputs[key] = { input, out };
  }
  function choice(key, label, options) {
    const id = name(key), select = el("select", { id });
    const box = el("div", { class: "rm-control" });
    box.append(el("label", { for: id }, esc(label)), select);
    select.addEventListener("change", () => { state[key] = Number(select.value); redraw(); });
    controls.append(box);
    inputs[key] = { input: select, fill: (items) => select.replaceChildren(...items.map(([v, words]) => el("option", { value: v }, esc(words)))) };
    inputs[key].fill(options);
  }
  if (!live) {
    if (data.series.length > 1) choice("series", "Results", data.series.map((s, i) => [i, s.name]));
    dial("gamma", "Initialization rate γ", ...data.range.gamma, 0.01);
    dial("depth", "Depth (layers)", ...data.range.depth, 1);
    dial("step", "Step", 0, 1, 1);
    choice("seed", "Seed", []);
    root.append(controls);
  }
  const caption = el("div", { class: "rm-said", id: name("caption") });
  const [heard, tell] = teller();
  const grid = el("div", { class: "rm-panels" });
  root.append(caption, heard, grid);
  const figures = panels(data.panels, grid);
  grid.addEventListener("click", (event) => {
    const { gamma, depth } = event.target.dataset || {};
    if (gamma === undefined) return;
    Object.assign(state, { gamma: Number(gamma), depth: Number(depth) });
    if (live) live.asked(state); else redraw();
  });

  function over(cell) {
    if (cell.runs === 1) return "Its one run";
    const grid = cell.seeds * cell.rates === cell.runs ? ` (${cell.seeds} seeds × ${cell.rates} rate${cell.rates > 1 ? "s" : ""})` : "";
    return `Mean ± standard deviation over its ${cell.runs} runs${grid}`;
  }

  function say(now) {
    const { run, cell, index, last, exact } = now, s = series();
    const shares = (from) => [...data.answers, data.seen].map((m) => `${esc(m.label)} <b>${from(m)}</b>`).join(", ");
    const where = `γ = ${run.gamma} at depth ${run.depth}`;
    let html = exact ? `<p>${where} was computed.` : `<p>You ask for γ = ${fix(state.gamma)} at depth ${state.depth}. <b>The nearest computed point is ${where}</b>; nothing is interpolated.`;
    if (cell) html += ` ${over(cell)}: ${shares((m) => fix(cell[m.id][0]) + (cell[m.id][1] === null ? "" : ` ± ${fix(cell[m.id][1])}`))}.</p>`;
    html += `<p>Shown: γ = ${run.gamma}, depth ${run.depth}, seed ${run.seed}, rate ${run.rate}, profile ${esc(s.profile)}, run <code>${esc(run.key)}</code> of <code>${esc(run.experiment)}</code>. `;
    const at = index < last ? `At step ${number.format(run.history.step[index])} of ${number.format(run.steps)}` : `When trained (${number.format(run.steps)} steps)`;
    html += `${at}: ${shares((m) => fix(index < last ? run.history[m.id][index] : run.final[m.id]))}.</p>`;
    if (state.training) html += `<p><b>Training γ = ${state.training.gamma}, depth ${state.training.depth}, seed ${state.training.seed}.</b></p>`;
    return html;
  }

  function redraw() {
    const s = series(), seeds = seedsOf(s), now = nearest();
    if (!live) {
      const { gamma, depth, step, seed } = inputs;
      if (seed.filled !== seeds.join()) { seed.fill(seeds.map((v) => [v, v])); seed.filled = seeds.join(); }
      gamma.input.value = state.gamma; depth.input.value = state.depth; seed.input.value = now.run.seed;
      step.input.max = now.last; step.input.value = now.index;
      gamma.out.textContent = fix(state.gamma);
      depth.out.textContent = state.depth;
      step.out.textContent = now.index < now.last ? number.format(now.run.history.step[now.index]) : `trained (${number.format(now.run.steps)})`;
      gamma.input.setAttribute("aria-valuetext", `γ ${fix(state.gamma)}`);
      depth.input.setAttribute("aria-valuetext", `${state.depth} layers`);
      step.input.setAttribute("aria-valuetext", `step ${step.out.textContent}`);
    }
    caption.innerHTML = say(now);
    const shares = [...data.answers, data.seen].map((m) => `${m.short} ${fix(now.run.final[m.id])}`).join(", ");
    tell(`${now.exact ? "Computed point" : "Nearest computed point"}: γ ${now.run.gamma}, depth ${now.run.depth}, seed ${now.run.seed}. ${shares}.`);
    for (const panel of data.panels) {
      const [draw, title, note] = PANELS[panel];
      figures[panel].note.textContent = note();
      figures[panel].title.textContent = title(now);
      figures[panel].picture.innerHTML = NEEDS[panel] && !now.run[NEEDS[panel]] ? missing() : draw(now);
    }
  }
  redraw();
  return { state, redraw, nearest, set(changes) { Object.assign(state, changes); redraw(); } };
}
