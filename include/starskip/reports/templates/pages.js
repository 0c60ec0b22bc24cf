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
  // Where scripts run, what is to be copied has a button; everywhere else a click selects all of it.
  const copy = async (from, button) => {
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(from.textContent);
      button.textContent = "Copied";
    } catch {
      for (let each = from.parentElement; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
      getSelection().selectAllChildren(from);
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { button.textContent = words; }, 3000);
  };
  addEventListener("DOMContentLoaded", () => {
    for (const from of document.querySelectorAll("[data-copy]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = from.dataset.copy;
      button.setAttribute("aria-live", "polite");
      button.addEventListener("click", () => copy(from, button));
      from.closest("section").querySelector(".copiers").append(button);
    }
  });
})();
