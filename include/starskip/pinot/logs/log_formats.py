"""Formats of logs that users' modules add to the known ones: shapes of lines, and what is around lines.

A module has the tuple ``FORMATS`` of ``line_format(…)``, the tuple ``WRAPPERS`` of functions, or both
(docs/add-a-log-format.md). A wrapper is called with each line of a log: it returns the line within, several
of them, or None for a line that it is not around. Its errors reject the line, and do not stop the log.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import islice
from types import ModuleType
from typing import Any, NamedTuple

from starskip.errors import SourceError, printable
from starskip.extensions import LOG_FORMATS, extensions, loaded
from starskip.pinot.logs.line_formats import FORMATS, LATER_RELEASE
from starskip.pinot.logs.line_template import LineFormat
from starskip.pinot.logs.record_start import (
    EVENT_START,
    KNOWN_STARTS,
    TIMED_START,
    RecordStarts,
    record_starts,
)
from starskip.user_modules import user_line, user_module

FAILED = "format_failed"
"""The reason of a rejected line whose wrapper raised an error, or returned what is no line."""
_MOST_MESSAGES = 10_000
_NEEDED = ("table", "latency_ms", "entries_scanned_in_filter", "entries_scanned_post_filter", "query_text")
_TIME = re.compile(TIMED_START)


class Message(NamedTuple):
    """A line of the broker's log that stood within another line, without its line end.

    ``time``: the time of the message, as ``2026-11-18T08:45:08Z``, where the text does not begin with one.
    ``source``: whose line it is, where lines of several brokers lie between one another.
    """

    text: str
    time: str = ""
    source: str = ""


class FormatFault(Exception):
    """Raised for a line that a wrapper failed on; the message names module, line and kind of error.

    It leaves out the error's own words: they may repeat a literal of a query.
    """


@dataclass(frozen=True, slots=True)
class LogWrapper:
    """A function of a user's module that takes from a line what is around it."""

    module: str
    name: str
    function: Callable[[str], object]

    def messages(self, line: bytes) -> Sequence[tuple[bytes, Message]] | None:
        """Return the messages within a line with their bytes, None if the function is not around it.

        Raises FormatFault for an error of the function, and for what it must not return.
        """
        try:
            # What it prints must not stand in the JSON of a command.
            with redirect_stdout(sys.stderr):
                found = self.function(line.decode("utf-8", "surrogateescape"))
                if found is None:
                    return None
                messages = [Message(each) if isinstance(each, str) else each for each in _listed(found)]
            if len(messages) > _MOST_MESSAGES:
                raise FormatFault(f"module {self.module}: {self.name} returned over {_MOST_MESSAGES:,} lines")
            for each in messages:
                if not isinstance(each, Message) or not all(isinstance(part, str) for part in each):
                    raise FormatFault(f"module {self.module}: {self.name} returned {type(each).__name__}")
                if each.time and not _TIME.fullmatch(each.time.encode()):
                    raise FormatFault(f"module {self.module}: {self.name} returned a time that is none")
            return [(each.text.encode("utf-8", "surrogateescape"), each) for each in messages]
        except FormatFault:
            raise
        except (Exception, SystemExit) as error:
            place = user_line(error, [self.module])
            at = f", line {place[1]}" if place else ""
            raised = f"{self.name} raised {type(error).__name__}"
            raise FormatFault(f"module {self.module}{at}: {raised}") from error


def _listed(found: Any) -> Iterable[Any]:
    return (found,) if isinstance(found, str | Message) else islice(found, _MOST_MESSAGES + 1)


@dataclass(frozen=True, slots=True)
class LogFormats:
    """The formats of users: ``lines`` beside the known shapes, ``wrappers``, and what begins a record."""

    lines: tuple[LineFormat, ...] = ()
    wrappers: tuple[LogWrapper, ...] = ()
    starts: RecordStarts = KNOWN_STARTS


KNOWN_FORMATS = LogFormats()


def module_names(text: str) -> tuple[str, ...]:
    """Return the modules that the setting ``log.formats`` names, by commas."""
    return tuple(dict.fromkeys(name for each in text.split(",") if (name := each.strip())))


@cache
def log_formats(modules: tuple[str, ...] = ()) -> LogFormats:
    """Return the formats of installed packages, and of users' modules, which Python must find.

    Raises ConfigError for a module that is not found, and SourceError for one that fails or is wrong.
    """
    found = {name: user_module(name, of="log formats", setting="log.formats") for name in modules}
    for each in extensions(LOG_FORMATS).values():
        found.setdefault(each.value, loaded(each))
    lines: list[LineFormat] = []
    wrappers: list[LogWrapper] = []
    for name, module in found.items():
        of_module, functions = _tuple(module, name, "FORMATS"), _tuple(module, name, "WRAPPERS")
        if not of_module and not functions:
            raise _error(name, "it has neither a tuple FORMATS nor a tuple WRAPPERS with something in it")
        for form in of_module:
            _check(form, name, (*FORMATS, LATER_RELEASE, *lines))
            lines.append(form)
        for function in functions:
            if not callable(function):
                raise _error(name, f"WRAPPERS holds {type(function).__name__}, not a function of a line")
            wrappers.append(
                LogWrapper(name, printable(str(getattr(function, "__name__", name)), 100), function)
            )
    if not found:
        return KNOWN_FORMATS
    return LogFormats(tuple(lines), tuple(wrappers), record_starts((*FORMATS, *lines)))


def _tuple(module: ModuleType, name: str, attribute: str) -> Sequence[Any]:
    value = getattr(module, attribute, ())
    if not isinstance(value, list | tuple):
        raise _error(name, f"{attribute} is {type(value).__name__}, not a tuple")
    return value


def _check(form: object, module: str, known: Iterable[LineFormat]) -> None:
    if not isinstance(form, LineFormat):
        raise _error(module, f"FORMATS holds {type(form).__name__}, not what line_format returns")
    if not isinstance(form.name, str) or not isinstance(form.sample, str) or not form.name:
        raise _error(module, f"format {printable(str(form.name))!r}: its name and its sample are texts")
    named = f"format {printable(form.name)}"
    sample = form.sample.encode()
    if not form.pattern.match(sample):
        raise _error(module, f"{named} does not fit its own sample")
    if EVENT_START.match(sample):
        raise _error(module, f"{named} is JSON, which no template reads; a function in WRAPPERS does")
    missing = [name for name in _NEEDED if name not in form.pattern.groupindex]
    if missing and form.reason is None:
        raise _error(module, f"{named} has no <{missing[0]}>; with reason= it is a message without counters")
    for other in known:
        if other.name == form.name:
            raise _error(module, f"{named} has the name of another format")
        exact = other is not LATER_RELEASE
        if exact and (other.pattern.match(sample) or form.pattern.match(other.sample.encode())):
            raise _error(module, f"{named} and format {printable(other.name)} fit the same lines")


def _error(module: str, problem: str) -> SourceError:
    return SourceError(f"module {printable(module)!r} of log formats: {problem}", source=module)
