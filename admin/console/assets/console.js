// What pages can do with script, and do without it otherwise: choose the colours,
// and renew the live page.
"use strict";

(() => {
  const select = document.getElementById("theme");
  const root = document.documentElement;
  select.value = root.dataset.theme || "";
  select.addEventListener("change", () => {
    if (select.value) root.dataset.theme = select.value;
    else delete root.dataset.theme;
    try {
      if (select.value) localStorage.setItem("theme", select.value);
      else localStorage.removeItem("theme");
    } catch { /* not remembered */ }
  });
  select.closest("p").hidden = false;
})();

(() => {
  const live = document.getElementById("live");
  if (!live) return;
  const every = 5000; // ms; as often as the gateway looks at its counters
  const sayEvery = 60000; // ms; a screen reader that hears more hears nothing else
  const pause = document.getElementById("pause");
  const status = document.getElementById("status");
  let paused = false, said = Date.now(), timer = 0;

  const say = (text) => { status.textContent = text; };
  const renew = async () => {
    try {
      const response = await fetch(live.dataset.part, { signal: AbortSignal.timeout(every * 2) });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const part = await response.text();
      if (paused) return;
      // Whoever reads or scrolls the table keeps the place.
      const before = live.querySelector(".scroll");
      const focused = before && document.activeElement === before;
      const left = before ? before.scrollLeft : 0;
      live.innerHTML = part; // escaped by the server, which is our own
      live.dataset.renewed = String(Number(live.dataset.renewed || 0) + 1);
      const after = live.querySelector(".scroll");
      if (after) {
        after.scrollLeft = left;
        if (focused) after.focus({ preventScroll: true });
      }
      if (Date.now() - said >= sayEvery || status.dataset.failed) {
        said = Date.now();
        delete status.dataset.failed;
        say(`${document.getElementById("now").textContent} requests a second`);
      }
    } catch {
      status.dataset.failed = "yes";
      say("The gateway does not answer; trying again.");
    }
  };
  const next = () => {
    timer = setTimeout(async () => {
      if (!paused && !document.hidden) await renew();
      if (!paused) next();
    }, every);
  };
  pause.addEventListener("click", () => {
    paused = !paused;
    clearTimeout(timer);
    pause.setAttribute("aria-pressed", String(paused));
    say(paused ? "Paused" : "Renewed every five seconds");
    if (!paused) renew().then(next);
  });
  pause.hidden = false;
  next();
})();
