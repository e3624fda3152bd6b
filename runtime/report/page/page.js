"use strict";
// The page stands in its HTML and needs none of this: a theme, links, its data as files, print, and
// what is served follows the run.
(() => {
  const themes = ["system", "light", "dark"];
  const keep = (t) => { try { localStorage.setItem("mxflow-theme", t); } catch { /* a file may have no storage */ } };
  const kept = () => { try { return localStorage.getItem("mxflow-theme"); } catch { return null; } };
  let theme = themes.includes(kept()) ? kept() : "system";
  const show = () => { document.documentElement.dataset.theme = theme; document.getElementById("theme").textContent = "Theme: " + theme; };

  // A file of the data: the JSON of the page as it is, or as CSV.
  const field = (x) => x == null ? "" : /[",\r\n]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : String(x);
  const save = (kind) => {
    const from = document.getElementById("data"), d = JSON.parse(from.textContent), a = document.createElement("a");
    const text = kind === "json" ? JSON.stringify(d) : [d.columns, ...d.rows].map((r) => r.map(field).join(",") + "\r\n").join("");
    a.href = URL.createObjectURL(new Blob([text], {type: kind === "json" ? "application/json" : "text/csv"}));
    a.download = from.dataset.name + "." + kind;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 60000);
  };
  document.addEventListener("click", (e) => {
    const at = e.target.closest("#theme, [data-get], .sign");
    if (at?.id === "theme") { theme = themes[(themes.indexOf(theme) + 1) % 3]; keep(theme); show(); }
    if (at?.dataset.get) save(at.dataset.get);
    if (at?.classList.contains("sign")) navigator.clipboard?.writeText(at.href).then(() => { at.textContent = "✓"; setTimeout(() => { at.textContent = "#"; }, 1500); }, () => {});
  });
  show();

  // A link into what is closed opens it.
  const follow = () => { for (let e = document.getElementById(decodeURIComponent(location.hash.slice(1))); e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true; };
  window.addEventListener("hashchange", follow);
  follow();

  // Paper has all of it.
  let closed = [];
  window.addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open])")]; closed.forEach((d) => { d.open = true; }); });
  window.addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

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
    for (const part of ["header", "nav", "main", "#data"]) document.querySelector(part).replaceWith(fresh.querySelector(part));
    document.querySelectorAll("details[id]").forEach((d) => { if (known.has(d.id)) d.open = opened.has(d.id); });
    show();
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
