"""Errors of Starskip: each carries its data as fields and reads as one line that says what to do."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from difflib import get_close_matches

TRACEBACKS = "STARSKIP_TRACEBACKS"
"""Environment variable: 1 shows the traceback of each error that is told in one line."""

BAD_INPUT = 3
"""Exit code of a command or job whose error a retry will not mend: the line that it prints says what will."""

TRY_AGAIN = 1
"""Exit code of one that failed at something that may have passed by the next try."""


class StarskipError(Exception):
    """Root of all expected errors: bad input or state that a retry will not mend, but for TransientError.

    Command lines print ``str(error)`` on one line and leave with ``exit_code(error)``.
    """

    def __str__(self) -> str:
        """Return the message on one printable line, whatever text from outside it quotes."""
        return printable(super().__str__())


class TransientError(StarskipError):
    """Failure that a retry may mend: a store that does not answer, a lost race."""


class SourceError(StarskipError):
    """A requested file, folder, table or column is missing, damaged or of no known kind."""

    def __init__(self, message: str, *, source: str) -> None:
        """Keep ``source``, the name of the file, table or column, beside the message that holds it."""
        super().__init__(message)
        self.source = source


class MissingSource(SourceError):
    """A path that names nothing at all, or a table's folder without a segment."""


class MissingLog(SourceError):
    """A night without a record of its day in any log."""


class NotPlainFiles(SourceError):
    """A folder of a table format: its own log or metadata decides which rows of the files count."""


class SourceOutage(TransientError, SourceError):
    """A store of sources that does not answer, or that answers that it cannot just now."""


class UnknownOutcome(SourceOutage):
    """A change that was asked for and not answered: reading again tells whether it was made."""


class AccessRefused(SourceError):
    """A source that wants other credentials; ``right`` is the permission that they need."""

    def __init__(self, message: str, *, source: str, right: str) -> None:
        """Keep the right beside the message."""
        super().__init__(message, source=source)
        self.right = right


class StaleTree(SourceError):
    """A star-tree whose table has changed since the tree was built; it never answers."""


class UnsupportedQuery(StarskipError):
    """A query text that cannot be turned into a predicate tree; ``reason`` is a short code."""

    def __init__(self, message: str, *, reason: str) -> None:
        """Keep the reason code beside the message."""
        super().__init__(message)
        self.reason = reason


class FamilyFault(StarskipError):
    """The code of a user's index family raised, or returned a wrong value; ``family`` names it."""

    def __init__(self, message: str, *, family: str) -> None:
        """Keep the name of the family beside the message."""
        super().__init__(message)
        self.family = family


class StorageError(StarskipError):
    """A store that cannot keep what artefacts promise, or that failed; ``location`` names it."""

    def __init__(self, message: str, *, location: str) -> None:
        """Keep the location beside the message."""
        super().__init__(message)
        self.location = location


class DamagedManifest(StorageError):
    """A manifest whose bytes changed since it was written; the version before may stand in for it."""


class DamagedFile(StorageError):
    """A data file that is gone, or whose bytes changed since it was written; it can be made anew."""


class StorageOutage(TransientError, StorageError):
    """A store of artefacts that does not answer, or that answers that it cannot just now."""


class CommitConflict(TransientError):
    """Another writer committed the same version first, more often than the retries allow."""


class ConfigError(StarskipError):
    """A setting, table configuration or parameter that is wrong; ``setting`` names it."""

    def __init__(self, message: str, *, setting: str) -> None:
        """Keep the setting's name beside the message."""
        super().__init__(message)
        self.setting = setting


class ForeignConfig(ConfigError):
    """A table config that somebody else changed meanwhile; it is never overwritten."""


class TableTaken(TransientError):
    """Another process changes the same table; ``table`` names it."""

    def __init__(self, message: str, *, table: str) -> None:
        """Keep the table's name beside the message."""
        super().__init__(message)
        self.table = table


class UnsettledCluster(TransientError):
    """A cluster that could not be brought back to a known state; the message says what to do."""


class MissingExtra(StarskipError):
    """A library that only some users need is not installed; ``extra`` names the extra that brings it."""

    def __init__(self, message: str, *, extra: str) -> None:
        """Keep the extra's name beside the message."""
        super().__init__(message)
        self.extra = extra


class CapExceeded(StarskipError):
    """A table that must stay bounded (shapes, bins, candidates) grew past its cap."""


def exit_code(error: StarskipError) -> int:
    """Return the exit code by which a caller knows whether running the same again may help."""
    return TRY_AGAIN if isinstance(error, TransientError) else BAD_INPUT


def show_traceback(error: BaseException) -> None:
    """Print the traceback of an error that is told in one line, if the environment asks for it.

    It may repeat literals of queries, which the line masks.
    """
    if os.environ.get(TRACEBACKS, "").strip().lower() in ("1", "true", "yes"):
        traceback.print_exception(error, file=sys.stderr)


def first_line(error: Exception, limit: int = 200) -> str:
    """Return the first line of a library's error, printable; the name of its class if it has no text."""
    lines = str(error).splitlines()
    return printable(lines[0] if lines else type(error).__name__, limit)


def printable(text: str, limit: int = 500) -> str:
    """Return ``text`` on one line of at most ``limit`` characters, control characters escaped.

    Names and queries come from logs that anyone can write into: an escape sequence or a newline
    in them could forge a line of our own log or repaint a terminal.
    """
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def some_of(names: Iterable[str], like: str = "", most: int = 8) -> str:
    """Return some of the names, the ones that are most ``like`` a text first, and how many more there are."""
    known = sorted(names)
    near = get_close_matches(like, known, n=3)
    ordered = [*near, *(name for name in known if name not in near)]
    more = f" and {len(known) - most:,} more" if len(known) > most else ""
    return ", ".join(printable(name, 100) for name in ordered[:most]) + more
