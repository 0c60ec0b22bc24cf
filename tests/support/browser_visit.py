"""A tab of a browser before the report pages, and everything that goes wrong in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Visit:
    """One tab of a person who has logged in, and everything that went wrong in it."""

    tab: Any
    address: str
    shots: Path
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        self.tab.goto(self.address + path)

    def frame(self, name: str) -> Any:
        return self.tab.frame_locator(f'iframe[title="{name}"]')

    def shoot(self, name: str) -> None:
        self.tab.screenshot(path=self.shots / f"{name}.png")

    def is_clean(self) -> bool:
        assert (self.errors, self.dialogs, self.elsewhere) == ([], [], [])
        assert self.tab.evaluate("window.hacked") is None
        return True

    def watch(self) -> None:
        """Note from now on what goes wrong in the tab."""
        self.tab.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.tab.on("request", lambda request: self._note_place(request.url))
        self.tab.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))

    def _note_place(self, url: str) -> None:
        if not url.startswith((f"{self.address}/", "data:", f"blob:{self.address}/")):
            self.elsewhere.append(url)
