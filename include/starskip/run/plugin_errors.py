"""Errors of users' own modules: reported with module and line, and confined to the work of one table."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
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
        place = raised_in(error, night.skipping_modules)
        if place is None:
            raise
        module, line = place
        raise StarskipError(
            f"module {module} of skipping.modules, line {line}: raised {type(error).__name__}"
        ) from error


def raised_in(error: BaseException, modules: Sequence[str]) -> tuple[str, int] | None:
    """Return module and line of the innermost frame of ``modules``, or of modules in these as packages."""
    frames = traceback.walk_tb(error.__traceback__)
    places = [(str(frame.f_globals.get("__name__")), line) for frame, line in frames]
    of_users = [at for at in places if any(f"{at[0]}.".startswith(f"{each}.") for each in modules)]
    return of_users[-1] if of_users else None
