"""Translate Spark's exceptions into errors of one line."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from starskip.errors import SourceError, StarskipError, printable
from starskip.spark.understood_failure import understood_failure

FAILURES = (PySparkException, Py4JError)
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] [^\n]+")
_UNKNOWN_FUNCTION = re.compile(r"\[UNRESOLVED_ROUTINE\] Cannot resolve routine `([^`\n]+)`")
_CAUSE = re.compile(r"^(?:Caused by: (?:[\w.$]+: )?|[\w.]*(?:Error|Exception): )(.+)$", re.MULTILINE)
_FILE = re.compile(r"(?:FAILED_READ_FILE|FILE_NOT_EXIST|FileNotFoundException|while reading file)")
_NAME = re.compile(r"reading file:? (\S+?)\.?\s")


def context_logger() -> logging.Logger:
    """Return the logger by which PySpark reports each error, expected or not.

    It must be made the way PySpark makes it: a plain logger of that name would refuse PySpark's arguments,
    and an AnalysisException would become a TypeError.
    """
    return PySparkLogger.getLogger("SQLQueryContextLogger")


@contextmanager
def spark_failures(table: str) -> Iterator[None]:
    """Raise Spark's exceptions as StarskipError, as SourceError if a file of ``table`` cannot be read."""
    log = context_logger()
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    except FAILURES as error:
        raise failure_of(error, table) from error
    finally:
        log.setLevel(level)


def failure_of(error: Exception, table: str) -> StarskipError:
    """Return the error for an exception of Spark."""
    found = understood_failure(error)
    if isinstance(found, StarskipError):
        return found
    if is_of_files(error):
        named = _NAME.search(str(error))
        source = printable(unquote(named[1])) if named else table
        return SourceError(f"{source}: cannot be read: {reason_of(error)}", source=source)
    return StarskipError(f"{table}: Spark: {reason_of(error)}")


def is_of_files(error: Exception) -> bool:
    """Return whether a query failed because of an unreadable file or a lost Spark."""
    return isinstance(error, Py4JNetworkError) or _FILE.search(str(error)) is not None


def error_summary(error: Exception) -> str:
    """Return the class and the first line of an error, for a warning."""
    return printable(f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}", 300)


def reason_of(error: Exception) -> str:
    """Return the reason in an exception of Spark, on one line."""
    text = str(error)
    unknown = _UNKNOWN_FUNCTION.search(text)
    if unknown:
        return printable(f"function {unknown[1]} is not known here", 300)
    condition = _CONDITION.search(text)
    causes = _CAUSE.findall(text)
    if condition:
        found = condition[0].partition(" SQLSTATE")[0]
    else:
        found = causes[-1] if causes else next(iter(text.splitlines()), type(error).__name__)
    return printable(found.strip(), 300)
