"""Measurements of a family on the files of a lake table, and the publication of its advice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.index import Index
from starskip.advisor.run.night import Night
from starskip.execution.engine import Engine
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import Mask

SkippedFiles = Callable[[Expression, pa.Array], Mask]
"""Returns which of the files (paths) indexes skip for a predicate."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Savings of one family's indexes on one table, before the choice.

    ``skips``: the input of the one choice, None if there are no candidates. ``advise``: returns the family's
    own advice, and warnings; its arguments are the chosen indexes of files, of all families, and by how much
    another choice could be better. ``skipped``: which files all candidates together skip, None if families
    measured after this one need not know.
    """

    skips: FileSkips | None
    advise: Callable[[Collection[Index], float], tuple[Any, Sequence[str]]]
    skipped: SkippedFiles | None = None


@dataclass(frozen=True, slots=True)
class MeasuredAdvice:
    """A family's functions that measure its candidates and publish its advice.

    ``measure`` takes engine, night, table, the snapshots of the store, and which files the families measured
    before skip; it is called for every table of the night, also if the family is not asked for. ``publish``
    takes the advice by table, and returns how many indexes are chosen.
    """

    measure: Callable[[Engine, Night, str, SkippedFiles], Measured]
    publish: Callable[[Night, Mapping[str, Any]], int]


def skipped_by_any(measured: Sequence[Measured]) -> SkippedFiles:
    """Return which files the candidates of any family skip."""
    known = [each.skipped for each in measured if each.skipped is not None]

    def skipped(predicate: Expression, paths: pa.Array) -> Mask:
        found = np.zeros(len(paths), np.bool_)
        for each in known:
            found |= each(predicate, paths)
        return found

    return skipped
