"""``--formats NAME``: modules of users' own log formats."""

from __future__ import annotations

import click

from starskip.errors import ConfigError


def format_modules(text: str | None) -> tuple[str, ...]:
    """Return the modules of ``--formats``, imported; raises click.UsageError for one that is not found."""
    from starskip.pinot.logs.log_formats import log_formats, module_names

    names = module_names(text or "")
    try:
        log_formats(names)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    return names
