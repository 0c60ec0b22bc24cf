"""A gate: its bounded views of one table's artefacts, and its expectations of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from starskip.advisor.run.expectations import Expectation, View
from starskip.advisor.run.night import Night
from starskip.settings import Settings


@dataclass(frozen=True, slots=True)
class Gate:
    """The views and expectations of a gate; ``views`` returns views of the night's artefacts of one table."""

    views: Callable[[Night, str], Mapping[str, View]]
    expectations: Callable[[Settings], Sequence[Expectation]]


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
