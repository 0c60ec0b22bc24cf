"""Convert errors in users' modules of index types to StarskipError, so that they stop one table only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starskip.advisor.run.night import Night
from starskip.advisor.run.user_code import user_line
from starskip.errors import StarskipError


@contextmanager
def plugin_errors(night: Night) -> Iterator[None]:
    """Raise StarskipError for an error of a module of ``skipping.modules``, with its line.

    The message leaves out the error's own words: they may repeat a literal of a query.
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
