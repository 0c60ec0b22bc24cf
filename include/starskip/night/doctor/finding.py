"""Findings of checks, each of which is run so that its failure does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from starskip.errors import StarskipError, printable, show_traceback

OK, WARNING, FAILED = "ok", "warning", "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a check; ``verdict`` is OK, WARNING or FAILED, and ``words`` also say what to do."""

    check: str
    verdict: str
    words: str


Said = Iterable[tuple[str, str]]
"""Verdicts with their words, as a check yields them."""


def findings_of(check: str, examine: Callable[[], Said]) -> Iterator[Finding]:
    """Yield what ``examine`` finds; an error of it is a finding, too."""
    try:
        for verdict, words in examine():
            yield Finding(check, verdict, printable(words))
    except StarskipError as error:
        show_traceback(error)
        yield Finding(check, FAILED, str(error))
    except OSError as error:
        show_traceback(error)
        place = f"{error.filename}: " if error.filename else ""
        yield Finding(check, FAILED, printable(f"{place}{error.strerror or type(error).__name__}"))
    except Exception as error:
        show_traceback(error)
        # Its text may hold anything, a password too.
        words = f"the check itself ended with {type(error).__name__}: STARSKIP_TRACEBACKS=1 shows where"
        yield Finding(check, FAILED, words)


def counted(count: int, noun: str) -> str:
    """Return ``1 file``, ``2 files``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
