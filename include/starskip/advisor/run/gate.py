"""A gate: what is counted for it, its bounded views of a table's artefacts, and its expectations of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import pyarrow.compute as pc

from starskip.advisor.run.expectations import Expectation, View
from starskip.advisor.run.night import Night
from starskip.settings import Settings


@dataclass(frozen=True, slots=True)
class Measure:
    """A value of each row, and the function that brings values together; nulls are left out."""

    expression: pc.Expression
    fold: Literal["sum", "min", "max"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Values to count in the rows of an artefact, where they are, for all tables in one pass.

    ``measures`` are folded for each value of the columns ``by``, which must be few. ``key``: the columns
    whose values no two rows of a table may share.
    """

    measures: Mapping[str, Measure]
    key: Sequence[str]
    by: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Gate:
    """The views and expectations of a gate; ``views`` returns views of the night's artefacts of one table.

    ``counts``: what the stage counts in its artefact, if that grows with queries or segments; the views take
    it from ``night.quality.count_rows``.
    """

    views: Callable[[Night, str], Mapping[str, View]]
    expectations: Callable[[Settings], Sequence[Expectation]]
    counts: Callable[[Night], Counts] | None = None


def fields_view(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> View:
    """Return one row for each field: the number of ``rows`` without it, and its least value."""
    found = {
        name: [value for row in rows if (value := row.get(name)) == value and value is not None]
        for name in names
    }
    return View(
        [
            {"field": name, "missing": len(rows) - len(values), "minimum": min(values, default=None)}
            for name, values in found.items()
        ],
        "field",
    )


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return ``value``, a property of a manifest, if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def number_of(value: object) -> float | None:
    """Return ``value`` if it is a number that can be compared, else None."""
    return value if isinstance(value, int | float) and isfinite(value) else None
