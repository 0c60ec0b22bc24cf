"""Find the place in users' own modules where an error arose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starskip.advisor.run.night import Night
from starskip.errors import StarskipError, first_line
from starskip.sql.masking import mask_literals
from starskip.user_modules import user_line


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
