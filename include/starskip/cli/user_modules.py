"""``--module NAME``: modules of users' own index types and functions, and what goes wrong in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from starskip.errors import StarskipError, first_line
from starskip.indexes.skipping.registry import load_modules
from starskip.run.plugin_errors import raised_in


@contextmanager
def user_modules(names: Sequence[str]) -> Iterator[None]:
    """Import modules, from the current folder first as ``python -m`` does.

    Raises ConfigError for one that cannot be imported, and StarskipError, which names module and line, for
    what one of them raises in here.
    """
    if names:
        sys.path.insert(0, str(Path.cwd()))
    load_modules(names)
    try:
        yield
    except StarskipError:
        raise
    except Exception as error:
        place = raised_in(error, names)
        if place is None:
            raise
        module, line = place
        raise StarskipError(
            f"module {module}, line {line}: raised {type(error).__name__}: {first_line(error)}"
        ) from error
