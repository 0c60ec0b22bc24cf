"""Judge a page in a browser by axe-core."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

_GRAVE = ("serious", "critical")


@cache
def _script() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def axe_faults(page: Any) -> list[str]:
    """Return the serious and critical faults of a page of Playwright's: rule, place, what to do."""
    page.evaluate(_script())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]
