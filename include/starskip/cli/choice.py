"""A choice of an option, and names that a mistyped one may have meant; capitals do not matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import click

_MOST, _LEAST_LIKENESS = 3, 0.7


class Choice(click.Choice[str]):
    """One of some texts."""

    def __init__(self, choices: Sequence[str]) -> None:
        """Take the texts in their order."""
        super().__init__(choices, case_sensitive=False)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message about another text, with all texts, and the nearest."""
        return f"{super().get_invalid_choice_message(value, ctx)}{did_you_mean(str(value), self.choices)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'tune'?`` with the known names that are like ``name``, else nothing.

    A name's beginning is like it, and capitals do not matter.
    """
    asked, plain = name.casefold(), {each.casefold(): each for each in known}
    near = [each for each in plain if asked and each.startswith(asked)]
    quoted = [f"'{plain[each]}'" for each in near or get_close_matches(asked, plain, cutoff=_LEAST_LIKENESS)]
    return f" Did you mean {' or '.join(quoted[:_MOST])}?" if quoted else ""
