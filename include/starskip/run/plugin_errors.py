"""What goes wrong in users' own modules of index types is told as that, and ends one table's work only."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from starskip.errors import StarskipError
from starskip.run.night import Night


@contextmanager
def plugin_errors(night: Night) -> Iterator[None]:
    """Raise StarskipError for what a module of ``skipping.modules`` raises in here, with its line.

    Not with the error's own words: they may repeat a literal of a query.
    """
    try:
        yield
    except StarskipError:
        raise
    except Exception as error:
        frames = list(traceback.walk_tb(error.__traceback__))
        of_users = [(f, line) for f, line in frames if f.f_globals.get("__name__") in night.skipping_modules]
        if not of_users:
            raise
        frame, line = of_users[-1]
        name = frame.f_globals["__name__"]
        raise StarskipError(
            f"module {name} of skipping.modules, line {line}: raised {type(error).__name__}"
        ) from error
