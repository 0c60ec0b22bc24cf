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

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is declared; fails with all texts, and the nearest."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = did_you_mean(str(value), self.choices)
            raise click.BadParameter(f"{error.message}{near}", ctx, param) from None
