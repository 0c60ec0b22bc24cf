"""Leave out indexes whose types fail while a query is planned, and use the others.

A user's index type may raise an exception, or return a value of the wrong type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from starskip.errors import TransientError, first_line
from starskip.predicates.expression import Expression
from starskip.skipping.clause import Clause, Label
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.skipping_index import SkippingIndex

Failures = dict[str, str]
"""Reasons why indexes were left out, by specification."""


def label_unless_failing(index: SkippingIndex, failures: Failures) -> Label:
    """Return the label of ``index``, which is None from its first failure on.

    ``failures`` records the reason. The clauses are guarded in the same way: a clause that fails lets all
    files through.
    """
    guard = _Guard(index.specification, failures)

    def label(node: Expression) -> Clause | None:
        return guard.clause(lambda: index.label(node))

    return label


def reason_of_failure(error: Exception) -> str:
    """Return an exception of a user's code as one line."""
    return f"{type(error).__name__}: {first_line(error)}"


@dataclass(frozen=True, slots=True)
class _Guard:
    index: str
    failures: Failures

    @property
    def has_failed(self) -> bool:
        return self.index in self.failures

    def clause(self, asked: Callable[[], Any]) -> Clause | None:
        if self.has_failed:
            return None
        try:
            found = asked()
            # Users' code is not type-checked.
            if not isinstance(found, Clause | None):
                raise TypeError(f"it answers with {type(found).__name__}, which is no Clause")
        except Exception as error:
            self.failed(error)
            return None
        return None if found is None else GuardedClause(found, self)

    def failed(self, error: Exception) -> None:
        if isinstance(error, TransientError):
            # An unreachable store would fail for each of the other indexes, too.
            raise error
        self.failures.setdefault(self.index, reason_of_failure(error))


@dataclass(frozen=True, slots=True)
class GuardedClause(Clause):
    """The ``clause`` of an index, which passes all files from the first failure of its ``guard`` on."""

    clause: Clause
    guard: _Guard

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        if not self.guard.has_failed:
            try:
                return _mask(self.clause.may_match(metadata), metadata.files)
            except Exception as error:
                self.guard.failed(error)
        return np.ones(metadata.files, np.bool_)

    def negation(self) -> Clause | None:
        """See Clause.negation."""
        return self.guard.clause(self.clause.negation)


def _mask(answer: object, files: int) -> Mask:
    mask = np.asarray(answer)
    if mask.dtype != np.bool_ or mask.shape != (files,):
        raise ValueError(f"it answers with {mask.dtype} {mask.shape} for {files} files")
    return mask
