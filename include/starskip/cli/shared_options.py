"""Options that several commands have: hours of grace, a seed, modules of log formats."""

from __future__ import annotations

import random
from typing import Any

import click

from starskip.errors import ConfigError
from starskip.settings import Settings
from starskip.settings.written_number import written_number

GRACE_HOURS = float(Settings().retention.vacuum_grace_hours)
_MOST_HOURS = 24 * 3650
"""Ten years: what calendars can count back."""


_SEEDS = 1 << 32
of_seed = click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Ask the predicates of a former check again."
)


class _Hours(click.ParamType[float]):
    """A number of hours, or a time such as ``90min``, ``24h`` or ``7d``."""

    name = "hours"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the hours."""
        try:
            hours = written_number(str(value), "hours", is_whole=False)
        except ValueError:
            hours = -1
        if not 0 <= hours <= _MOST_HOURS:
            self.fail(
                f"{value!r} is no number of hours from 0 to {_MOST_HOURS:,}, and no time such as 24h or 7d",
                param,
                ctx,
            )
        return hours


of_grace = click.option(
    "--grace-hours",
    type=_Hours(),
    default=GRACE_HOURS,
    show_default=True,
    metavar="HOURS",
    help="Keep what was replaced in the last hours: readers and writers may still use it.",
)


def seed_or_any(seed: int | None) -> int:
    """Return a seed, a random one for None."""
    return random.SystemRandom().randrange(_SEEDS) if seed is None else seed


def format_modules(text: str | None) -> tuple[str, ...]:
    """Return the modules of ``--formats``, imported; raises click.UsageError for one that is not found."""
    from starskip.pinot.logs.log_formats import log_formats, module_names

    names = module_names(text or "")
    try:
        log_formats(names)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    return names
