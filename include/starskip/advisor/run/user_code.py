"""Find the place in users' own modules where an error arose."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starskip.advisor.run.night import Night
from starskip.errors import StarskipError, first_line
from starskip.sql.masking import mask_literals


def user_line(error: BaseException, modules: Sequence[str]) -> tuple[str, int] | None:
    """Return module and line of the last step within ``modules``; None if the error passed through none.

    The name of a package includes its modules.
    """
    frames = traceback.walk_tb(error.__traceback__)
    places = [(str(frame.f_globals.get("__name__")), line) for frame, line in frames]
    of_users = [at for at in places if any(f"{at[0]}.".startswith(f"{each}.") for each in modules)]
    return of_users[-1] if of_users else None


def error_words(error: BaseException, *, is_masked: bool) -> str:
    """Return kind and words of an error; masked if the words may repeat a literal of a query."""
    words = first_line(error) if isinstance(error, Exception) else str(error)
    return f"{type(error).__name__}: {mask_literals(words) if is_masked else words}"


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
