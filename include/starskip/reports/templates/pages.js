// Airflow lets its reader choose light or dark, which a page in a frame is not told by its style.
(() => {
  const follow = () => {
    let chosen = null;
    try {
      chosen = localStorage.getItem("theme");
    } catch {
      // Storage is switched off: the system's choice stays.
    }
    const scheme = chosen === "dark" || chosen === "light" ? chosen : "";
    document.documentElement.style.colorScheme = scheme;
    for (const frame of document.querySelectorAll("iframe")) {
      const report = frame.contentDocument;
      if (report) report.documentElement.style.colorScheme = scheme;
    }
  };
  follow();
  addEventListener("storage", follow);
  addEventListener("load", follow, true);
})();
