"""A rule of table configs: the releases in which it holds, and what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from starskip.pinot.config_columns import ConfigColumns, Release

Breaks = Callable[[ConfigColumns], Iterable[str]]
"""Returns what breaks a rule: columns, or pairs of a star-tree; an empty text for the table itself."""

ALWAYS: Release = (0, 0)
BY_TYPE: Release = (1, 4)
"""From this release on each type of index validates itself, however a config turns it on."""


@dataclass(frozen=True, slots=True)
class ConfigRule:
    """A rule of the releases from ``since`` to before ``until``; ``words``: what is wrong with ``{}``.

    ``validated``: the first release whose validation refuses a config that breaks it; None if none does.
    """

    code: str
    words: str
    breaks: Breaks
    since: Release = ALWAYS
    until: Release = (9, 9)
    validated: Release | None = ALWAYS

    def holds(self, release: Release) -> bool:
        """Return whether a config for ``release`` must keep the rule."""
        return self.since <= release < self.until

    def is_validated(self, release: Release) -> bool:
        """Return whether the validation of ``release`` refuses a config that breaks it."""
        return self.holds(release) and self.validated is not None and release >= self.validated


@dataclass(frozen=True, slots=True, order=True)
class ConfigFault:
    """A broken rule; ``subject``: the column or pair that breaks it, empty for the table."""

    code: str
    subject: str
    words: str
    is_validated: bool = True

    def sentence(self, pinot_version: str) -> str:
        """Return the broken rule as a refusal tells it."""
        told = f"Pinot {pinot_version} refuses such a config: " if self.is_validated else ""
        return f"{told}{self.words} (rule {self.code})"
