"use strict";
// Draws the figures of the page from its numbers: those in view at once, each other when
// it comes into view. Text and tables of the page stand in its HTML and need none of this.
(() => {
  let figures = {};
  const own = "var(--accent)", base = "var(--base)";

  // Numbers are written as mxflow writes them everywhere: four digits, never an exponent.
  const num = (x) => x == null ? "–" : Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : x.toLocaleString("en", {maximumSignificantDigits: 4, useGrouping: false});
  const percent = (x) => x == null ? "–" : (x < 0 ? "" : "+") + (100 * x).toFixed(1) + "%";
  const inUnit = (unit) => unit === "ratio" ? percent : (x) => x == null ? "–" : unit && unit !== "count" ? num(x) + " " + unit : num(x);
  const times = (x) => x.toLocaleString("en", {maximumSignificantDigits: 3, useGrouping: false});
  const three = (x) => Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : times(x);
  const within = (s) => s.low == null ? "" : `(95% CI ${times(s.low)} to ${times(s.high)})`;
  const titled = (name, unit) => unit && unit !== "count" ? `${name} (${unit})` : name;

  const el = (name, text, attributes = {}) => {
    const e = document.createElement(name);
    if (text != null) e.textContent = text;
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    return e;
  };
  // key says which mark is which: by its shape, and by its colour too.
  const key = (...entries) => {
    const k = el("p", null, {class: "key"});
    for (const [name, colour, hollow] of entries) {
      const s = el("span"), svg = d3.create("svg").attr("viewBox", "0 0 10 10").attr("aria-hidden", "true");
      svg.append("circle").attr("cx", 5).attr("cy", 5).attr("r", 4).attr("fill", hollow ? "none" : colour).attr("stroke", colour).attr("stroke-width", 1.6);
      s.append(svg.node(), name);
      k.append(s);
    }
    return k;
  };
  const cut = (name, most) => name.length > most ? name.slice(0, Math.max(1, most - 1)) + "…" : name;
  // room is the width of the longest number of an axis, and of the space before it.
  const room = (values) => Math.max(44, 14 + 6.6 * d3.max(d3.ticks(d3.min(values) ?? 0, d3.max(values) ?? 0, 5), (t) => num(t).length) || 0);
  // powers are 1, 2 and 5 times powers of ten.
  const powers = (low, high) => d3.range(-6, 9).flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e)).filter((x) => x >= low && x <= high);

  const draw = {
    // A launch is a dot, and hollow if it does not count; the dashed line is the level that a rule needs.
    lines(d, width) {
      const rounds = d.x === "round", colour = (p) => p.base ? base : own, needs = d.needed == null ? [] : [d.needed];
      const all = d.series.flatMap((s) => s.y.map((y, i) => ({x: s.at[i], y, z: s.arm, base: s.base, why: s.why?.[i]})));
      const ys = all.map((p) => p.y).concat(needs), wide = rounds && d3.min(ys) > 0 && d3.max(ys) / d3.min(ys) > 8;
      const tip = (p) => `${p.z}, ${d.x} ${num(p.x)}: ${inUnit(d.unit)(p.y)}${p.why ? "\ndoes not count: " + p.why : ""}`;
      const keys = d.series.filter((s) => s.y.length).map((s) => [s.arm, colour(s)]);
      if (all.some((p) => p.why)) keys.push(["does not count", base, true]);
      const lost = d3.rollups(d.lost || [], (v) => v.length, (why) => why).map(([why, n]) => el("p", `does not count: ${why}${n > 1 ? ` (${n} launches)` : ""}`, {class: "quiet"}));
      return [key(...keys), Plot.plot({
        width, height: 200, marginLeft: room(ys), marginBottom: 34, marginRight: 16, ariaLabel: `${d.name} by ${d.x}`,
        x: {type: rounds ? "point" : "linear", domain: rounds ? [...new Set(all.map((p) => p.x))].sort((a, b) => a - b) : undefined, label: d.x, labelArrow: "none", tickSize: 0, ticks: 6, tickFormat: num},
        y: {type: wide ? "log" : "linear", label: d.unit, labelArrow: "none", grid: true, ticks: wide ? powers(d3.min(ys), d3.max(ys)) : 4, tickSize: 0, nice: !wide, tickFormat: num, inset: 8},
        marks: [
          Plot.ruleY(needs, {stroke: "currentColor", strokeDasharray: "4 3"}),
          Plot.text(needs, {y: (y) => y, frameAnchor: "right", textAnchor: "end", dy: -7, text: (y) => `${d.more ? "needed ≥" : "allowed ≤"} ${three(y)} ${d.unit}`, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4}),
          Plot.line(all.filter((p) => !p.why), {x: "x", y: "y", z: "z", stroke: colour, strokeOpacity: rounds ? 0.3 : 1, strokeWidth: 1.6}),
          Plot.dot(rounds ? all.filter((p) => !p.why) : [], {x: "x", y: "y", r: 4.2, fill: colour, title: tip}),
          Plot.dot(all.filter((p) => p.why), {x: "x", y: "y", r: 4.2, stroke: colour, strokeWidth: 1.6, strokeDasharray: "2 1.5", title: tip}),
        ],
      }), ...lost];
    },
    kernels(d, width) {
      const rows = d.names.flatMap((name, i) => [{name, arm: "before", v: d.before[i]}, {name, arm: "after", v: d.after[i]}]);
      return [key(["before", base], ["after", own]), Plot.plot({
        width, height: 50 + 34 * d.names.length, marginLeft: 108, marginRight: 58, marginBottom: 30, ariaLabel: `Kernel time in ${d.part}`,
        x: {label: d.part === "prefill" ? "µs per token" : "µs per step", labelArrow: "none", tickSize: 0, ticks: 4, grid: true, tickFormat: num}, y: {axis: null, domain: ["before", "after"]},
        fy: {label: null, domain: d.names, axis: "left", padding: 0.25},
        marks: [
          Plot.barX(rows, {x: "v", y: "arm", fy: "name", fill: (r) => r.arm === "after" ? own : base, inset: 0.5}),
          Plot.text(rows, {x: "v", y: "arm", fy: "name", text: (r) => num(r.v), textAnchor: "start", dx: 5, fill: "currentColor"}),
        ],
      })];
    },
    matrices(d, width) {
      const rows = d.rows.flatMap((r) => d.columns.map((column, i) => ({row: r.name, column, s: r.speedups[i], verdict: r.verdict})));
      const most = d3.max(rows, (r) => r.s?.shown ? Math.abs(Math.log2(r.s.at)) : 0) || 1, chars = Math.floor(width * 0.42 / 6.8), side = 14 + 6.8 * Math.min(chars, d3.max(d.rows, (r) => r.name.length));
      return [key(["better than the reference", own], ["worse", "var(--fail)"], ["not shown: its 95% interval includes 1", base, true]), Plot.plot({
        width: Math.max(width, side + 84 * d.columns.length), height: 56 + 40 * d.rows.length, marginLeft: side, marginTop: 44, ariaLabel: `${d.title}: times better than the reference`,
        x: {domain: d.columns, axis: "top", label: null, tickSize: 0, tickFormat: (n) => n.replace(/^(.+)\.([^.]+)$/, (_, cell, metric) => cut(cell, 11) + ".\n" + cut(metric, 11))}, y: {domain: d.rows.map((r) => r.name), label: null, tickSize: 0, tickFormat: (n) => cut(n, chars)},
        marks: [
          Plot.cell(rows, {x: "column", y: "row", inset: 1, rx: 3, fill: (r) => r.s?.shown ? (r.s.at >= 1 ? own : "var(--fail)") : base, fillOpacity: (r) => r.s?.shown ? 0.1 + 0.36 * Math.abs(Math.log2(r.s.at)) / most : 0.06}),
          Plot.text(rows, {x: "column", y: "row", text: (r) => r.s ? times(r.s.at) + "×" + (r.s.low == null ? "" : `\n${times(r.s.low)} to ${times(r.s.high)}`) : r.verdict === "pass" ? "–" : r.verdict, fill: "currentColor"}),
        ],
      })];
    },
  };

  // speedup is that of a row in a column, shown where its interval excludes 1, or nothing varied over several launches.
  const speedup = (row, cell) => {
    if (!cell || !row.reference && cell.speedup == null) return null;
    if (row.reference) return {at: 1};
    const at = cell.speedup, low = cell.speedup_low, high = cell.speedup_high;
    return {at, low, high, shown: low == null || high == null ? row.n > 1 && at !== 1 : low > 1 || high < 1};
  };

  // A table beside each figure has the same numbers.
  const rowsOf = {
    lines: (d) => [[d.x, "arm", titled(d.name, d.unit), ""], d.series.flatMap((s) => s.y.map((y, i) => [num(s.at[i]), s.arm, num(y), s.why?.[i] ? "does not count: " + s.why[i] : ""])).concat(d.needed == null ? [] : [["", d.more ? "needed" : "allowed", num(d.needed), ""]])],
    kernels: (d) => [["category", "before (µs)", "after (µs)", "change"], d.names.map((n, i) => [n, num(d.before[i]), num(d.after[i]), d.before[i] > 0 ? percent(d.after[i] / d.before[i] - 1) : "–"])],
    matrices: (d) => [["cell", "verdict"].concat(d.columns), d.rows.map((r) => [r.name, r.verdict].concat(r.speedups.map((s) => s == null ? "–" : `${times(s.at)}× ${within(s)}`.trim())))],
  };
  const table = ([head, rows]) => {
    const t = el("table"), h = t.createTHead().insertRow(), body = t.createTBody();
    const numbers = head.map((_, i) => i > 0 && rows.every((r) => /^[-+0-9–≥≤]/.test(String(r[i] ?? "–"))));
    const named = (i) => numbers[i] ? {class: "n"} : {};
    head.forEach((c, i) => h.append(el("th", c, {scope: "col", ...named(i)})));
    for (const r of rows) {
      const line = body.insertRow();
      r.forEach((c, i) => line.append(el("td", c, named(i))));
    }
    return t;
  };

  const data = (f) => figures[f.dataset.kind][f.dataset.at];
  const render = (f) => {
    const into = f.querySelector(".plot"), width = Math.floor(into.clientWidth);
    if (!width || f.drawn === width) return;
    f.drawn = width;
    const drawn = draw[f.dataset.kind](data(f), width);
    for (const e of drawn) {
      if (!(e instanceof SVGElement)) continue;
      // To a screen reader a drawing is one picture, and its table the numbers.
      e.setAttribute("role", "img");
      e.querySelectorAll("[aria-label], [aria-description]").forEach((part) => { part.removeAttribute("aria-label"); part.removeAttribute("aria-description"); });
    }
    into.replaceChildren(...drawn);
  };
  const fill = (f) => {
    const numbers = f.querySelector(".numbers");
    if (numbers.open) numbers.querySelector(".scroll").replaceChildren(table(rowsOf[f.dataset.kind](data(f))));
  };
  // A figure within so many pixels of the view is drawn: by begin, as a picture may be
  // taken or printed before an observer is called, and later by one.
  const near = 300;
  // inView asks no closed feature where its figures are: the browser would lay each out.
  const inView = (f) => { if (f.closest("details:not([open])")) return false; const at = f.getBoundingClientRect(); return at.top < innerHeight + near && at.bottom > -near; };
  const every = () => [...document.querySelectorAll("figure[data-kind]")];
  const seen = new IntersectionObserver((entries) => entries.forEach((e) => e.isIntersecting && render(e.target)), {rootMargin: near + "px"});
  const sized = new ResizeObserver((entries) => entries.forEach((e) => { const f = e.target.parentElement; if (f.drawn) render(f); }));
  const begin = () => {
    figures = JSON.parse(document.getElementById("figures").textContent);
    for (const m of figures.matrices || []) m.columns = [...new Set(m.rows.flatMap((r) => (r.cells || []).filter((c) => c.speedup != null).map((c) => c.address)))];
    for (const m of figures.matrices || []) for (const r of m.rows) r.speedups = m.columns.map((column) => speedup(r, (r.cells || []).find((c) => c.address === column)));
    for (const f of every()) {
      seen.observe(f);
      sized.observe(f.querySelector(".plot"));
      f.querySelector(".numbers").addEventListener("toggle", () => fill(f));
    }
    every().filter(inView).forEach(render);
    document.getElementById("theme").addEventListener("click", () => { theme = themes[(themes.indexOf(theme) + 1) % 3]; keep(theme); show(); });
    show();
  };
  window.addEventListener("beforeprint", () => { document.querySelectorAll("details.feature").forEach((d) => { d.open = true; }); every().forEach(render); });
  // A link into a feature that is closed opens it.
  const follow = () => { const e = document.getElementById(decodeURIComponent(location.hash.slice(1))); if (e?.tagName === "DETAILS") e.open = true; };
  window.addEventListener("hashchange", follow);
  follow();

  const themes = ["system", "light", "dark"];
  const keep = (t) => { try { localStorage.setItem("mxflow-theme", t); } catch { /* a file may have no storage */ } };
  const kept = () => { try { return localStorage.getItem("mxflow-theme"); } catch { return null; } };
  let theme = themes.includes(kept()) ? kept() : "system";
  const show = () => { document.documentElement.dataset.theme = theme; document.getElementById("theme").textContent = "Theme: " + theme; };
  begin();

  // A page that mxflow serve hands out follows the run: a line for the work in hand, and the
  // whole again where something was recorded. What was opened or scrolled to stays. When the
  // run that it followed has ended, its verdict stays in the line's place.
  const now = document.getElementById("now");
  if (!now) return;
  let shown = now.dataset.revision, watched = false;
  const text = (at, value) => { now.querySelector(at).textContent = value || ""; };
  const finish = () => {
    const answer = document.querySelector(".answer.ended");
    if (!answer || !watched) return;
    now.classList.add("final");
    now.querySelector("p").replaceChildren(...answer.cloneNode(true).childNodes);
    for (const part of ["#last", "#left", "code"]) text(part);
    now.hidden = false;
  };
  const renew = async (revision) => {
    shown = revision;
    const answer = await fetch(location.pathname, {cache: "no-store"});
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const opened = new Set([...document.querySelectorAll("details[id][open]")].map((d) => d.id)), known = new Set([...document.querySelectorAll("details[id]")].map((d) => d.id));
    document.title = fresh.title;
    for (const part of ["header", "nav", "main", "#figures"]) document.querySelector(part).replaceWith(fresh.querySelector(part));
    document.querySelectorAll("details[id]").forEach((d) => { if (known.has(d.id)) d.open = opened.has(d.id); });
    begin();
  };
  const source = new EventSource("events");
  let renewed = Promise.resolve();
  const last = () => { if (!now.classList.contains("final")) text("p", "mxflow serve has ended: this is what it showed last."); };
  source.onmessage = (message) => {
    const state = JSON.parse(message.data);
    if (state.line) {
      watched = true;
      now.classList.remove("final");
      now.hidden = false;
      text("p", state.line);
      text("#last", state.last);
      text("#left", state.time);
      text("code", state.log);
    } else if (!now.classList.contains("final")) now.hidden = true;
    const bar = document.getElementById("made");
    bar.hidden = !(state.left > 0);
    bar.max = (state.made || 0) + (state.left || 0) || 1;
    bar.value = state.made || 0;
    if (state.revision !== shown) renewed = renewed.then(() => renew(state.revision));
    if (!state.line) renewed = renewed.then(finish);
    if (state.ended) renewed.finally(() => { source.close(); last(); });
  };
  source.onerror = last;
})();
