"""Restore our own errors from Spark's: raised on an executor, or for a result over its cap."""

from __future__ import annotations

from starskip.errors import CapExceeded, DamagedFile, StarskipError, StorageError, TransientError
from starskip.storage.files.full_disk import is_full_disk


def understood_failure(error: Exception) -> Exception:
    """Return our error inside an exception of Spark or Py4J, or the exception itself.

    Spark reports a failed Arrow result through Py4J, other failures through its own exceptions. The error
    keeps the class on which a caller may act: that a retry may help, or which stored file is damaged.
    """
    text = str(error)
    if "spark.driver.maxResultSize" in text:
        return CapExceeded(
            "the stage's result is larger than spark.driver.maxResultSize: raise that setting (spark.conf of "
            "the night's configuration), or narrow the tables"
        )
    if "No module named 'starskip'" in text:
        return StarskipError(
            "the executors' Python has no starskip: set PYSPARK_PYTHON (or spark.pyspark.python) to one that "
            "has, or send the package with --py-files"
        )
    named = _our_errors(StarskipError)
    for line in text.splitlines():
        name, found, message = line.strip().partition(": ")
        kind = named.get(name)
        if not found or kind is None:
            continue
        if issubclass(kind, TransientError):
            return TransientError(message)
        if issubclass(kind, DamagedFile):
            return DamagedFile(message, location=message.partition(": ")[0])
        if issubclass(kind, StorageError):
            return StorageError(message, location=message.partition(": ")[0])
        return StarskipError(message)
    if is_full_disk(text):
        return TransientError(
            "a disk that Spark writes to is full: make room in the folders that spark.local.dir names (/tmp "
            "by default) on the driver and on each worker, and run it again"
        )
    return error


def _our_errors(kind: type[StarskipError]) -> dict[str, type[StarskipError]]:
    """Return ``kind`` and its children by the names that Python's stack traces give them."""
    named = {f"{kind.__module__}.{kind.__qualname__}": kind}
    for child in kind.__subclasses__():
        named |= _our_errors(child)
    return named
