// Runs before the page is painted: the remembered colours, if any.
"use strict";
(() => {
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* not allowed: the system's colours */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
