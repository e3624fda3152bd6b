"use strict";
// Draws the figures of the page from its numbers: those in view at once, each other when
// it comes into view. Text and tables of the page stand in its HTML and need none of this.
(() => {
  let figures = {};
  const own = "var(--accent)", base = "var(--base)";
  const tones = {pass: "var(--pass)", waived: "var(--pass)", fail: "var(--fail)", inconclusive: "var(--warn)", invalid: "var(--warn)", error: "var(--error)"};
  const shapes = {pass: "circle", waived: "circle", fail: "square", inconclusive: "diamond", invalid: "triangle", error: "hexagon"};

  // Numbers are written as mxflow writes them everywhere: four digits, never an exponent.
  const num = (x) => x == null ? "–" : Math.abs(x) >= 1000 ? x.toFixed(0) : x.toLocaleString("en", {maximumSignificantDigits: 4, useGrouping: false});
  const percent = (x) => x == null ? "–" : (x < 0 ? "" : "+") + (100 * x).toFixed(1) + "%";
  const inUnit = (unit) => unit === "ratio" ? percent : (x) => x == null ? "–" : unit && unit !== "count" ? num(x) + " " + unit : num(x);
  const times = (x) => x.toLocaleString("en", {maximumSignificantDigits: 3, useGrouping: false});
  const within = (s) => s.low == null ? "" : `(95% CI ${times(s.low)} to ${times(s.high)})`;
  const when = (t) => t.replace("T", " ").slice(0, 19);
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
  const arms = (d) => d.against && d.base && d.base.length ? [[d.arm || "candidate", own], [d.against, base, true]] : [[d.arm || "candidate", own]];
  const cut = (name, most) => name.length > most ? name.slice(0, Math.max(1, most - 1)) + "…" : name;
  // instants are as many times as have room for their labels, and one at least: d3 takes a count as a hint.
  const instants = (from, to, width) => {
    const most = Math.max(1, Math.floor(width / 80)), all = d3.utcTicks(new Date(from), new Date(to), Math.min(6, most));
    return all.length ? all.filter((_, i) => i % Math.ceil(all.length / most) === 0) : [new Date(from)];
  };
  // clock is the label of a time: of a day where days lie between the first and the last.
  const clock = (times) => {
    const span = d3.max(times) - d3.min(times);
    return d3.utcFormat(span > 36 * 36e5 ? "%b %-d" : span > 6e5 ? "%H:%M" : "%H:%M:%S");
  };
  // room is the width of the longest number of an axis, and of the space before it.
  const room = (values) => Math.max(44, 14 + 6.6 * d3.max(d3.ticks(d3.min(values) ?? 0, d3.max(values) ?? 0, 5), (t) => num(t).length) || 0);
  const lined = (of) => of.map((l) => [l, l.base ? base : own]);

  const draw = {
    tests(d, width) {
      const points = [];
      (d.base || []).forEach((y, i) => points.push({round: d.rounds[i] ?? i + 1, y, arm: d.against, own: false}));
      d.values.forEach((y, i) => points.push({round: d.rounds[i] ?? i + 1, y, arm: d.arm, own: true}));
      const rounds = [...new Set(points.map((p) => p.round))].sort((a, b) => a - b);
      const text = inUnit(d.own), out = [key(...arms(d))];
      const tip = (p) => `${p.arm}, round ${p.round}: ${inUnit(d.unit)(p.y)}`;
      out.push(Plot.plot({
        width, height: 190, marginLeft: room(points.map((p) => p.y)), marginBottom: 34, ariaLabel: `Launches by round: ${d.metric}`,
        x: {type: "point", domain: rounds, label: "round", labelArrow: "none", ticks: rounds.length > 16 ? rounds.filter((_, i) => i % Math.ceil(rounds.length / 12) === 0) : rounds, tickSize: 0},
        y: {label: titled(d.metric, d.unit), labelArrow: "none", grid: true, ticks: 4, tickSize: 0, nice: true, tickFormat: num, inset: 4},
        marks: [
          Plot.lineY(points, {x: "round", y: "y", z: "own", stroke: (p) => p.own ? own : base, strokeOpacity: 0.35}),
          Plot.dot(points.filter((p) => !p.own), {x: "round", y: "y", r: 4.2, stroke: base, strokeWidth: 1.8, title: tip}),
          Plot.dot(points.filter((p) => p.own), {x: "round", y: "y", r: 4.2, fill: own, title: tip}),
        ],
      }));
      if (d.estimate != null && d.low != null && d.high != null) {
        const spread = Math.max(d.high, d.threshold, d.estimate) - Math.min(d.low, d.threshold, d.estimate) || Math.abs(d.estimate) || 1;
        const left = Math.min(d.low, d.threshold) - 0.08 * spread, right = Math.max(d.high, d.threshold) + 0.08 * spread;
        const near = (d.threshold - left) / (right - left);
        out.push(Plot.plot({
          width, height: 92, marginLeft: 14, marginRight: 14, marginTop: 26, marginBottom: 34, ariaLabel: `Bounds that decided: ${text(d.low)} to ${text(d.high)}, threshold ${text(d.threshold)}`,
          x: {domain: [left, right], label: d.relation || d.metric, labelArrow: "none", ticks: 4, tickSize: 0, tickFormat: d.own === "ratio" ? d3.format("+.0~%") : num},
          y: {axis: null, domain: [0, 1]},
          marks: [
            Plot.rect([0], {x1: d.more ? d.threshold : left, x2: d.more ? right : d.threshold, y1: 0, y2: 1, fill: "var(--pass)", fillOpacity: 0.09}),
            Plot.ruleX([d.threshold], {stroke: "currentColor", strokeDasharray: "4 3"}),
            Plot.text([d.threshold], {x: (t) => t, y: 1, text: (t) => "required " + (d.more ? "≥ " : "≤ ") + text(t), dy: -12, textAnchor: near < 0.3 ? "start" : near > 0.7 ? "end" : "middle", fill: "currentColor"}),
            Plot.link([0], {x1: d.low, x2: d.high, y1: 0.5, y2: 0.5, stroke: own, strokeWidth: 3, strokeLinecap: "round"}),
            Plot.dot([d.estimate], {x: (x) => x, y: 0.5, r: 5.5, fill: own, stroke: "var(--card)", strokeWidth: 2}),
          ],
        }));
      }
      return out;
    },
    timeline(all, width) {
      const nodes = [...new Set(all.map((d) => d.node))], tall = nodes.length > 40;
      const rows = all.map((d) => ({...d, at: new Date(d.at), y: tall ? d.node.split(".")[0] : d.node}));
      const lanes = tall ? [...new Set(rows.map((r) => r.y))] : nodes;
      const first = d3.min(rows, (r) => +r.at), last = d3.max(rows, (r) => +r.at), moment = last - first < 6e3, most = Math.min(30, Math.floor(width * 0.38 / 7));
      const entries = [...new Set(all.map((d) => d.verdict))];
      const k = el("p", null, {class: "key"});
      for (const v of entries) {
        const s = el("span"), svg = d3.create("svg").attr("viewBox", "-5 -5 10 10").attr("aria-hidden", "true");
        const symbol = {circle: d3.symbolCircle, square: d3.symbolSquare, diamond: d3.symbolDiamond, triangle: d3.symbolTriangle}[shapes[v]] || d3.symbolStar;
        svg.append("path").attr("d", d3.symbol(symbol, 52)()).attr("fill", tones[v] || base);
        s.append(svg.node(), v);
        k.append(s);
      }
      const marginLeft = 14 + 6.6 * Math.min(most, d3.max(lanes, (n) => n.length)), around = moment ? 3e4 : 0, domain = [new Date(first - around), new Date(last + around)];
      return [k, Plot.plot({
        width, height: 46 + 22 * lanes.length, marginLeft, marginBottom: 30, ariaLabel: "Verdicts over time",
        x: {type: "utc", label: null, tickSize: 0, ticks: instants(...domain.map(Number), width - marginLeft), tickFormat: clock([first, last]), domain, insetLeft: 8, insetRight: 30},
        y: {domain: lanes, label: null, tickSize: 0, tickFormat: (n) => cut(n, most), grid: true},
        symbol: {type: "identity"},
        marks: [Plot.dot(rows, {x: "at", y: "y", r: 5, symbol: (d) => shapes[d.verdict] || "star", fill: (d) => tones[d.verdict] || base, title: (d) => `${d.node}, attempt ${d.attempt}: ${d.verdict}\n${when(d.at.toISOString())} UTC`})],
      })];
    },
    spreads(d, width) {
      const lines = lined(d.arms), rows = lines.flatMap(([a, colour]) => a.q.map((x, i) => ({x, p: i / (a.q.length - 1), arm: a.arm, colour})));
      const low = d3.min(rows, (r) => r.x), high = d3.max(rows, (r) => r.x), wide = low > 0 && high / low > 8;
      return [key(...lines.map(([a, colour]) => [`${a.arm} (${a.n})`, colour, colour === base])), Plot.plot({
        width, height: 200, marginLeft: 44, marginBottom: 34, ariaLabel: `Distribution of ${d.metric}`,
        x: {label: "ms", labelArrow: "none", type: wide ? "log" : "linear", ticks: 5, tickSize: 0, tickFormat: num, grid: true, nice: !wide},
        y: {label: "share at or below", labelArrow: "none", tickFormat: "%", ticks: 4, tickSize: 0, domain: [0, 1], grid: true},
        marks: [Plot.line(rows, {x: "x", y: "p", z: "arm", stroke: "colour", strokeWidth: 1.8, strokeDasharray: undefined})],
      })];
    },
    traces(d, width) {
      const lines = lined(d.lines), rows = lines.flatMap(([l, colour], i) => l.at.map((x, j) => ({x, y: l.value[j], z: i, colour})));
      return [key(...lines.map(([l, colour]) => [[l.arm, l.source].filter(Boolean).join(" "), colour, colour === base])), Plot.plot({
        width, height: 170, marginLeft: room(rows.map((r) => r.y)), marginBottom: 34, ariaLabel: `${d.name} over time`,
        x: {label: "seconds", labelArrow: "none", tickSize: 0, ticks: 5}, y: {label: titled(d.name, d.unit), labelArrow: "none", grid: true, tickSize: 0, ticks: 4, tickFormat: num, nice: true},
        marks: [Plot.line(rows, {x: "x", y: "y", z: "z", stroke: "colour", strokeWidth: 1.6})],
      })];
    },
    kernels(d, width) {
      const rows = d.names.flatMap((name, i) => [{name, arm: "before", v: d.before[i]}, {name, arm: "after", v: d.after[i]}]);
      return [key(["before", base, true], ["after", own]), Plot.plot({
        width, height: 50 + 34 * d.names.length, marginLeft: 108, marginRight: 58, marginBottom: 30, ariaLabel: `Kernel time in ${d.part}`,
        x: {label: d.part === "prefill" ? "µs per token" : "µs per step", labelArrow: "none", tickSize: 0, ticks: 4, grid: true, tickFormat: num}, y: {axis: null, domain: ["before", "after"]},
        fy: {label: null, domain: d.names, axis: "left", padding: 0.25},
        marks: [
          Plot.barX(rows, {x: "v", y: "arm", fy: "name", fill: (r) => r.arm === "after" ? own : "none", stroke: (r) => r.arm === "after" ? own : base, inset: 0.5}),
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
    tests: (d) => [["round", d.arm || "candidate"].concat(d.base?.length ? [d.against] : []), d.values.map((v, i) => [d.rounds[i] ?? i + 1, inUnit(d.unit)(v)].concat(d.base?.length ? [inUnit(d.unit)(d.base[i])] : []))
      .concat(d.estimate == null ? [] : [["estimate", inUnit(d.own)(d.estimate)], ["lower bound", inUnit(d.own)(d.low)], ["upper bound", inUnit(d.own)(d.high)], ["required", (d.more ? "≥ " : "≤ ") + inUnit(d.own)(d.threshold)]])],
    timeline: (all) => [["decided (UTC)", "node", "attempt", "verdict"], all.map((d) => [when(d.at), d.node, d.attempt, d.verdict])],
    spreads: (d) => [["at or below (ms)"].concat(d.arms.map((a) => a.arm)), [0, 10, 20, 30, 36, 40].map((i) => [num(100 * i / 40) + "%"].concat(d.arms.map((a) => num(a.q[i]))))],
    traces: (d) => [["seconds", "arm", titled(d.name, d.unit)], d.lines.flatMap((l) => l.at.map((t, i) => [num(t), [l.arm, l.source].filter(Boolean).join(" "), num(l.value[i])]))],
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

  const data = (f) => { const list = figures[f.dataset.kind]; return f.dataset.at < 0 ? list : list[f.dataset.at]; };
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
    for (const d of figures.tests || []) {
      const relative = d.form === "ratio" || d.relation === "gain" || d.relation === "change";
      Object.assign(d, {metric: [d.metric, d.stat].filter(Boolean).join(" "), own: relative ? "ratio" : d.unit, threshold: d.threshold ?? 0, rounds: d.rounds ?? []});
    }
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

  // A page that mxflow serve hands out follows the run: a line for what goes on, and the
  // whole anew where something was recorded. What was opened or scrolled to stays.
  const now = document.getElementById("now");
  if (!now) return;
  let shown = now.dataset.revision;
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
  const last = () => { now.querySelector("p").textContent = "mxflow serve has ended: this is what it showed last."; };
  source.onmessage = (message) => {
    const state = JSON.parse(message.data);
    now.hidden = !state.line;
    now.querySelector("p").textContent = state.line;
    now.querySelector("code").textContent = state.log || "";
    const bar = (id, value, max) => {
      const e = document.getElementById(id);
      e.hidden = !(max > 0);
      e.max = max || 1;
      e.value = value || 0;
    };
    bar("made", state.made, state.left > 0 ? state.made + state.left : 0);
    bar("launch", state.gone, state.takes);
    if (state.revision !== shown) renewed = renew(state.revision);
    if (state.ended) renewed.finally(() => { source.close(); last(); });
  };
  source.onerror = last;
})();
