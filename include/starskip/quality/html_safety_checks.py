"""What a report page must not hold: scripts, handlers of events, anything that is loaded from elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_LOADING = frozenset(
    ("src", "srcset", "srcdoc", "href", "xlink:href", "data", "poster", "background", "action")
)
_INERT = ("data:", "#")
_CSS_LOAD = re.compile(r"@import|url\(\s*['\"]?(?!data:|#)", re.IGNORECASE)


@dataclass(slots=True)
class PageFaults:
    """How many elements of each kind a page has."""

    elements: int = 0
    scripts: int = 0
    event_handlers: int = 0
    loaded_links: int = 0


def html_safety_checks(html: str) -> PageFaults:
    """Return the faults of a page; a link that only a click follows is none."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.faults


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.faults = PageFaults()
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_style = tag == "style"
        self.faults.elements += 1
        self.faults.scripts += tag == "script"
        for name, value in attrs:
            text = (value or "").strip().lower()
            self.faults.event_handlers += name.startswith("on") or text.startswith("javascript:")
            is_loaded = name in _LOADING and not (tag == "a" and name == "href")
            self.faults.loaded_links += bool(is_loaded and text and not text.startswith(_INERT))
            self.faults.loaded_links += bool(name == "style" and _CSS_LOAD.search(text))
            self.faults.loaded_links += tag == "meta" and name == "http-equiv" and text == "refresh"

    def handle_data(self, data: str) -> None:
        if self._is_style:
            self.faults.loaded_links += len(_CSS_LOAD.findall(data))

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._is_style = False
