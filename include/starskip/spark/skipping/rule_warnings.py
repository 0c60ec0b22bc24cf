"""Warnings of the optimizer's rule, each logged once."""

from __future__ import annotations

import logging
import threading

from starskip.errors import printable
from starskip.spark.skipping.failures import error_summary

log = logging.getLogger("starskip.skipping")
_MOST_WARNINGS = 100
"""Further texts are not logged: beyond this number they differ by the query only."""


class RuleWarnings:
    """Logs each text once; may be called by several threads."""

    def __init__(self) -> None:
        """Start with nothing logged."""
        self._logged: set[str] = set()
        self._lock = threading.Lock()

    def read_whole(self, error: Exception, what: str) -> str:
        """Log that ``what`` is read whole because of an error; return the reason for reports."""
        text = error_summary(error)
        if self._is_new(text):
            log.warning("not skipping files of %s, which is read whole: %s", what, text)
        return f"the files to skip could not be determined: {text}"

    def left_out(self, specification: str, why: str) -> str:
        """Log that one index is not used, while the table's other indexes are; return the reason."""
        text = printable(f"{specification} is not used: {why}", 400)
        if self._is_new(text):
            log.warning("index %s", text)
        return text

    def told(self, text: str) -> str:
        """Log a reason; return it."""
        if self._is_new(text):
            log.warning("%s", text)
        return text

    def _is_new(self, text: str) -> bool:
        with self._lock:
            new = text not in self._logged and len(self._logged) < _MOST_WARNINGS
            if new:
                self._logged.add(text)
        return new
