"""``--module NAME``: modules of users' own index types and functions, and their errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from starskip.errors import StarskipError
from starskip.user_modules import user_line


@contextmanager
def user_modules(names: Sequence[str]) -> Iterator[None]:
    """Import modules, from the current folder first as ``python -m`` does.

    Raises ConfigError for a module that cannot be imported, and StarskipError, which names module and line,
    for an error that a module raises in the block.
    """
    from starskip.skipping.registry import load_modules

    if names:
        sys.path.insert(0, str(Path.cwd()))
    load_modules(names)
    with located_faults(names):
        yield


@contextmanager
def located_faults(names: Sequence[str], *, is_masked: bool = False) -> Iterator[None]:
    """Raise StarskipError, which names module and line, for an error that ``names`` raise in the block."""
    try:
        yield
    except StarskipError:
        raise
    except (Exception, SystemExit) as error:
        place = user_line(error, names)
        if place is None:
            raise
        from starskip.advisor.run.user_code import error_words

        module, line = place
        words = error_words(error, is_masked=is_masked)
        raise StarskipError(f"module {module}, line {line}: raised {words}") from error
