"""A choice of an option: capitals do not matter, and a mistyped value is answered with the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from starskip.cli.nearest import did_you_mean


class Choice(click.Choice[str]):
    """One of some texts."""

    def __init__(self, choices: Sequence[str]) -> None:
        """Take the texts in their order."""
        super().__init__(choices, case_sensitive=False)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message about another text, with all texts, and the nearest."""
        return f"{super().get_invalid_choice_message(value, ctx)}{did_you_mean(str(value), self.choices)}"
