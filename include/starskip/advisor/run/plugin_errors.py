"""Tell errors in users' own modules of index types as such, so that they end one table's work only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starskip.advisor.run.night import Night
from starskip.advisor.run.user_code import user_line
from starskip.errors import StarskipError


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
        place = user_line(error, night.skipping_modules)
        if place is None:
            raise
        name, line = place
        raise StarskipError(
            f"module {name} of skipping.modules, line {line}: raised {type(error).__name__}"
        ) from error
