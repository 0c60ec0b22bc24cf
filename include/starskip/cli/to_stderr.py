"""Words of commands beside their results: fewer with ``--quiet``, more with ``--verbose``."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import click

_KEY = "starskip.verbosity"
_QUIET, _VERBOSE = "--quiet", "--verbose"


def verbosity_options() -> list[click.Option]:
    """Return the options ``--verbose`` and ``--quiet``, which may stand before a command's name, too."""
    return [
        _option("-v", _VERBOSE, "Also print what is read, with times, and the warnings of libraries."),
        _option("-q", _QUIET, "Print results and errors only: no progress, warnings and hints."),
    ]


def is_quiet() -> bool:
    """Return whether ``--quiet`` was given."""
    return _chosen() == _QUIET


def is_verbose() -> bool:
    """Return whether ``--verbose`` was given."""
    return _chosen() == _VERBOSE


def warn(text: str, of: str = "starskip") -> None:
    """Print a warning of a command."""
    note(f"{of}: warning: {text}")


def note(text: str) -> None:
    """Print a hint, unless ``--quiet`` was given."""
    if not is_quiet():
        click.echo(text, err=True)


def detail(text: str) -> None:
    """Print what only ``--verbose`` asks for."""
    if is_verbose():
        click.echo(f"starskip: {text}", err=True)


@contextmanager
def told(context: click.Context) -> Iterator[None]:
    """Print warnings of the block's libraries as far as they were asked for, and the time it took."""
    handler, log, own = _Handler(context), logging.getLogger(), logging.getLogger("starskip")
    former, began = own.level, perf_counter()
    log.addHandler(handler)
    own.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, category, *_where: detail(
                f"{category.__name__}: {message}"
            )
            yield
    finally:
        own.setLevel(former)
        log.removeHandler(handler)
        detail(f"done in {perf_counter() - began:,.2f} s, with at most {_memory_mib():,.0f} MiB of memory")


class _Handler(logging.Handler):
    """Prints what libraries log, as the options of the command say; it is called in any thread."""

    def __init__(self, context: click.Context) -> None:
        super().__init__()
        self._options = context.meta

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message."""
        is_own = record.name.partition(".")[0] == "starskip"
        chosen = str(self._options.get(_KEY, ""))
        least = {_QUIET: logging.ERROR, _VERBOSE: logging.INFO if is_own else logging.WARNING}
        if record.levelno >= least.get(chosen, logging.WARNING):
            click.echo(self.format(record), err=True)


def _option(letter: str, name: str, help_text: str) -> click.Option:
    def choose(context: click.Context, _option: click.Parameter, is_given: bool) -> None:
        if is_given and context.meta.setdefault(_KEY, name) != name:
            raise click.UsageError(f"give either {_QUIET} or {_VERBOSE}")

    return click.Option(
        [letter, name], is_flag=True, expose_value=False, is_eager=True, callback=choose, help=help_text
    )


def _memory_mib() -> float:
    # In kilobytes, but in bytes on macOS.
    return getrusage(RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def _chosen() -> str:
    context = click.get_current_context(silent=True)
    return "" if context is None else str(context.meta.get(_KEY, ""))
