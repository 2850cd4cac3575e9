// Draws the dials: sliders whose stops are computed values, and what was computed there. Draws with what draw.js has.
// `data` is what lib/book/dials.py describes and has checked. Nothing of it reaches the page unescaped.
function mountDials(root, data) {
  const { dials, series, y, bars } = data;
  const three = new Intl.NumberFormat("en-US", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 }); // of results
  const six = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6 });
  const dial = (id) => dials.find((d) => d.id === id);
  const axis = dial(data.x), fan = dial(data.fan);
  const chosen = Object.fromEntries(dials.map((d) => [d.id, d.values.indexOf(data.start[d.id])])); // places among the values
  const at = (values, where) => dials.reduce((part, d) => part[where[d.id]], values);
  const now = (d) => six.format(d.values[chosen[d.id]]);

  // --- Values in words ---

  const sunk = (v) => y.log && v < y.low; // what a logarithmic axis does not reach
  const result = (v) => (v === 0 ? "0" : three.format(v));
  const value = (v) => (sunk(v) && v !== 0 ? `below ${six.format(y.low)}` : result(v));
  const interval = ([, low, high]) => (low < high ? ` (${value(low)} to ${value(high)})` : "");
  const told = (leaf, mark = (v) => v) => (leaf ? mark(value(leaf[0])) + interval(leaf) : "not computed");
  const share = (v) => (v === null ? "not computed" : result(v));

  // --- The curves ---

  const lift = y.log ? Math.log10 : (v) => v;
  const scaled = marks(), broad = (words) => 6.2 * Math.max(...words.map((w) => w.length)); // about as many units as letters take
  const left = 10 + broad(scaled.map(([, words]) => words)), right = W - (fan ? 12 + broad(fan.values.map((v) => six.format(v))) : 12);
  const height = 236, top = 10, bottom = height - 36;
  const ends = [axis.values[0], axis.values[axis.values.length - 1]];
  const sx = scale(...ends, left + 6, right - 6);
  const raised = scale(lift(y.low), lift(y.high), bottom, top);
  const sy = (v) => raised(lift(clamp(v, y.low, y.high)));
  const along = (s, where) => axis.values.map((v, i) => ({ x: sx(v), leaf: at(s.values, { ...where, [axis.id]: i }) }));
  const stretches = (points) => { // of points that stand beside each other; where nothing was computed there is no line
    const found = [[]];
    for (const p of points) if (p.leaf) found[found.length - 1].push(p); else found.push([]);
    return found.filter((part) => part.length);
  };
  const circle = (kind, i, { x, leaf: [mean] }, r, more = "") =>
    `<circle class="${kind} rm-${i}${sunk(mean) ? " rm-open" : ""}" cx="${x.toFixed(1)}" cy="${sy(mean).toFixed(1)}" r="${r}" ${more}/>`;
  const lines = (points, i) => stretches(points).map((part) => line(part.map((p) => [p.x, sy(p.leaf[0])]), `class="rm-line rm-${i}"`)).join("");
  const stops = (points, i, r) => points.filter((p) => p.leaf).map((p) => circle("rm-stop", i, p, r)).join("");
  const bands = (points, i) => stretches(points).map((part) => {
    const edge = [...part.map((p) => [p.x, sy(p.leaf[2])]), ...part.map((p) => [p.x, sy(p.leaf[1])]).reverse()];
    return `<polygon class="rm-band rm-${i}" points="${edge.map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" ")}"/>`;
  }).join("");

  function marks() { // of the vertical axis: [value, words]
    const [low, high] = [lift(y.low), lift(y.high)];
    if (y.log && high - low >= 2) {
      const first = Math.ceil(low - 1e-9), count = Math.floor(high + 1e-9) - first + 1;
      return Array.from({ length: count }, (_, i) => [10 ** (first + i), power(first + i)]);
    }
    if (y.log) { // less than two decades: 1, 2 and 5 of each
      const decades = [Math.floor(low), Math.floor(low) + 1, Math.floor(low) + 2];
      return decades.flatMap((e) => [1, 2, 5].map((k) => k * 10 ** e)).filter((v) => v >= y.low * (1 - 1e-9) && v <= y.high * (1 + 1e-9)).map((v) => [v, six.format(v)]);
    }
    const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((k) => k * unit).find((k) => k >= rough * 0.999);
    const first = Math.ceil(low / step - 1e-9), count = Math.floor(high / step + 1e-9) - first + 1;
    return Array.from({ length: count }, (_, i) => [(first + i) * step, six.format((first + i) * step)]);
  }

  function spread(labels) { // labels at the ends of lines, moved apart where they would lie on each other
    labels.sort((a, b) => a.y - b.y);
    labels.forEach((l, i) => { if (i) l.y = Math.max(l.y, labels[i - 1].y + 11); });
    for (let i = labels.length - 1; i >= 0; i--) labels[i].y = Math.min(labels[i].y, i + 1 < labels.length ? labels[i + 1].y - 11 : bottom);
    return labels.map((l) => text(l.x + 8, l.y + 3.5, l.words, l.more)).join("");
  }

  function ticks() { // of the horizontal axis, as many as there is room for, the last one among them
    const all = axis.values.map((v) => ({ x: sx(v), words: six.format(v) })), last = all[all.length - 1];
    const close = (a, b) => b.x - a.x < 3.1 * (a.words.length + b.words.length) + 6;
    const steps = all.slice(1).map((t, i) => t.x - all[i].x), even = Math.max(...steps) < 1.01 * Math.min(...steps);
    let kept = [], by = 1; // evenly spaced stops are labelled evenly, others where there is room
    while (even && all.some((t, i) => i % by === 0 && i + by < all.length && close(t, all[i + by]))) by++;
    all.forEach((t, i) => { if (i % by === 0 && (!kept.length || !close(kept[kept.length - 1], t))) kept.push(t); });
    kept = [...kept.filter((t) => t !== last && !close(t, last)), last];
    return kept.map((t) => `<path class="rm-rule" d="M${t.x.toFixed(1)} ${bottom}v4"/>` + text(t.x, bottom + 15, t.words, 'text-anchor="middle"')).join("");
  }

  function curves() {
    const drawn = series.map((s) => along(s, chosen)), labels = [];
    let body = "";
    for (const [v, words] of marks()) body += `<path class="rm-rule" d="M${left} ${sy(v).toFixed(1)}H${right}"/>` + text(left - 5, sy(v) + 3.5, words, 'text-anchor="end"');
    body += ticks() + text((left + right) / 2, height - 5, axis.label, 'text-anchor="middle"');
    if (fan) fan.values.forEach((v, i) => {
      const mine = i === chosen[fan.id], points = along(series[0], { ...chosen, [fan.id]: i });
      const last = [...points].reverse().find((p) => p.leaf);
      if (!mine) body += `<g class="rm-fan" data-fan="${v}">${lines(points, 0)}${stops(points, 0, 1.3)}</g>`;
      if (last) labels.push({ x: last.x, y: sy(last.leaf[0]), words: six.format(v), more: mine ? 'class="rm-halo rm-chosen"' : 'class="rm-halo"' });
    });
    body += drawn.map(bands).join("");
    const cursor = sx(axis.values[chosen[axis.id]]).toFixed(1);
    body += `<path class="rm-cursor" d="M${cursor} ${top}V${bottom}"/>`;
    drawn.forEach((points, i) => {
      const here = points[chosen[axis.id]];
      body += lines(points, i) + stops(points, i, 2);
      if (here.leaf) body += circle("rm-dot", i, here, 6.2 - 1.2 * i, `data-series="${series[i].id}"`);
    });
    if (!drawn.some((points) => points.some((p) => p.leaf))) body += text((left + right) / 2, (top + bottom) / 2, "Nothing was computed here.", 'text-anchor="middle"');
    const said = series.map((s) => `${s.label} ${told(at(s.values, chosen))}`).join(", ");
    return svg(height, `${y.label} over ${axis.label}; at ${now(axis)}: ${said}.`, body + spread(labels));
  }

  // --- The bars ---

  function shares() {
    const row = 36, x = scale(0, 1, 6, W - 52), low = 8 + row * bars.items.length;
    let body = "", said = [];
    for (const v of [0, 0.5, 1]) body += `<path class="rm-rule" d="M${x(v)} 6V${low}"/>` + text(x(v), low + 14, v, 'text-anchor="middle"');
    bars.items.forEach((item, i) => {
      const v = at(item.values, chosen), y0 = 10 + row * i;
      body += text(x(0) + 3, y0 + 9, item.label, 'class="rm-halo"');
      if (v !== null) body += `<rect class="rm-bar" x="${x(0)}" y="${y0 + 14}" width="${(x(v) - x(0)).toFixed(1)}" height="13"/>`;
      body += text(x(v || 0) + 5, y0 + 24, share(v), 'class="rm-halo"');
      said.push(`${item.label} ${share(v)}`);
    });
    return svg(low + 20, `${bars.label}: ${said.join(", ")}.`, body);
  }

  // --- Words, and the chosen values as bars ---

  const apart = (a, b) => a[1] > b[2] || b[1] > a[2]; // do their bands not meet? What a band is, `about` says
  function tale() { // what is seen, in sentences
    const [first] = series, points = along(first, chosen).map((p, i) => ({ leaf: p.leaf, at: six.format(axis.values[i]) })).filter((p) => p.leaf);
    let words = "";
    if (points.length > 1) {
      const [a, b] = [points[0], points[points.length - 1]];
      const how = !apart(a.leaf, b.leaf) ? "stays within its bands" : b.leaf[0] > a.leaf[0] ? "rises" : "falls";
      words += `From ${a.at} to ${b.at} (${axis.label}) “${first.label}” ${how}: ${value(a.leaf[0])}, then ${value(b.leaf[0])}. `;
    }
    const here = series.map((s) => ({ label: s.label, leaf: at(s.values, chosen) })).filter((s) => s.leaf).sort((a, b) => b.leaf[0] - a.leaf[0]);
    if (here.length > 1) {
      const [high, low] = [here[0], here[here.length - 1]];
      words += apart(high.leaf, low.leaf)
        ? `At ${now(axis)}, “${high.label}” is above “${low.label}”, and their bands do not meet.`
        : `At ${now(axis)} the bands of “${high.label}” and “${low.label}” meet.`;
    }
    return words;
  }
  const hx = scale(lift(y.low), lift(y.high), 4, 156), across = (v) => hx(lift(clamp(v, y.low, y.high))).toFixed(1);
  const range = (leaf, i) => `<svg viewBox="0 0 160 14" aria-hidden="true"><path class="rm-rule rm-base" d="M4 7H156"/>` + (leaf
    ? `<path class="rm-range rm-${i}" d="M${across(leaf[1])} 7H${across(leaf[2])}"/><circle class="rm-point rm-${i}" cx="${across(leaf[0])}" cy="7" r="4"/>` : "") + "</svg>";
  const row = ([label, leaf], i) => `<li>${range(leaf, i)}<span>${esc(label)} <b>${leaf ? value(leaf[0]) : "not computed"}</b></span></li>`;

  // --- The page: built once, filled at every change ---

  root.classList.add("rm-explorer", "rm-dials");
  root.replaceChildren();
  const controls = el("div", { class: "rm-controls", role: "group", "aria-label": "Choose values" });
  const { pause, button: playButton } = player();
  const inputs = dials.map((d) => {
    const { box, input, out } = slider(`${data.id}-${d.id}`, d.label, 0, d.values.length - 1, 1);
    const shown = d.values.length > 8 ? [d.values[0], d.values[d.values.length - 1]] : d.values; // as many as there is room for
    box.append(el("div", { class: "rm-stops", "aria-hidden": "true" }, shown.map((v) => `<span>${esc(six.format(v))}</span>`).join("")));
    const choose = (place) => { chosen[d.id] = place; redraw(); };
    input.addEventListener("input", () => { pause(); choose(Number(input.value)); });
    if (d.values.length > 2) box.append(playButton(`${data.id}-play-${d.id}`, d.label, input, choose));
    controls.append(box);
    return { d, input, out };
  });
  const story = el("p", { class: "rm-story", id: `${data.id}-story` });
  const values = el("ul", { class: "rm-values" });
  const tools = el("div", { class: "rm-tools" }), link = el("a", { class: "rm-link", id: `${data.id}-link` }, "Link to this view");
  tools.append(link);
  const caption = el("div", { class: "rm-said", id: `${data.id}-caption` });
  const details = el("details", { class: "rm-details" });
  details.append(el("summary", {}, "In numbers"), caption);
  const [heard, tell] = teller();
  const grid = el("div", { class: "rm-panels" });
  root.append(controls, story, values, tools, heard, grid, details);
  const figures = panels(bars ? ["curve", "bars"] : ["curve"], grid);
  const sample = (i) => `<svg viewBox="0 0 30 10" aria-hidden="true">${line([[0, 5], [30, 5]], `class="rm-line rm-${i}"`)}</svg>`;
  const legend = el("div", { class: "rm-legend" }, series.map((s, i) => `<span>${sample(i)}${esc(s.label)}</span>`).join(""));
  figures.curve.title.textContent = y.label;
  figures.curve.picture.after(legend);
  const floors = series.some((s) => s.values.flat(dials.length - 1).some((leaf) => leaf && sunk(leaf[0])));
  figures.curve.note.textContent = "Dots: what was computed; the lines only join them. Large dots: at the upright line."
    + (fan ? ` Thin lines: ${series[0].label}, for the other values of “${fan.label}”, written at their ends.` : "")
    + (floors ? ` Open dots at the floor: 0, or below ${six.format(y.low)}.` : "");
  if (bars) {
    figures.bars.title.textContent = bars.label;
    figures.bars.note.textContent = "Shares from 0 to 1, at the chosen values.";
  }

  function redraw() {
    for (const { d, input, out } of inputs) {
      input.value = chosen[d.id];
      input.setAttribute("aria-valuetext", now(d));
      out.textContent = now(d);
    }
    const results = series.map((s) => [s.label, at(s.values, chosen)]);
    caption.innerHTML = `<p>Shown: ${dials.map((d) => `${esc(d.label)} = <b>${now(d)}</b>`).join(", ")}. The sliders stop only where something was computed; nothing is interpolated.</p>`
      + `<p>${esc(y.label)}: ${results.map(([label, leaf]) => `${esc(label)} ${told(leaf, (v) => `<b>${v}</b>`)}`).join("; ")}.</p><p>${esc(data.about)}</p>`;
    tell(`${dials.map((d) => `${d.label} = ${now(d)}`).join(", ")}. ${results.map(([label, leaf]) => `${label} ${told(leaf)}`).join("; ")}.`);
    story.textContent = tale();
    values.innerHTML = results.map(row).join("");
    link.href = `#${data.id}?` + new URLSearchParams(dials.map((d) => [d.id, d.values[chosen[d.id]]])).toString();
    figures.curve.picture.innerHTML = curves();
    if (bars) figures.bars.picture.innerHTML = shares();
  }
  function restore() { // the view that the address names; what is no computed value is left as it is
    const view = viewed(data.id);
    for (const [key, word] of view || []) {
      const d = dial(key), place = d && word !== "" ? d.values.indexOf(Number(word)) : -1;
      if (place >= 0) chosen[key] = place;
    }
    return view !== null;
  }
  const led = restore();
  redraw();
  if (led) root.scrollIntoView();
  window.addEventListener("hashchange", () => { if (restore()) { pause(); redraw(); root.scrollIntoView(); } });
}
