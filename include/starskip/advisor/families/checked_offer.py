"""Checks of what a user's family offers for whole queries; the choice is made of checked values alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf
from numbers import Integral
from typing import Any

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, TableQueries, Unit
from starskip.advisor.families.checked_config import merging_config
from starskip.advisor.families.checked_values import WrongValue, number, text
from starskip.advisor.families.index import Index
from starskip.errors import printable

_ROUNDING = 1 + 1e-6


def checked_offer(family: str, value: Any, queries: TableQueries) -> AnswerOffer:
    """Return the offer with plain values, savings in entries; raises WrongValue."""
    if not isinstance(value, AnswerOffer):
        raise WrongValue(f"{type(value).__name__}, not AnswerOffer")
    total = number("total_entries", value.total_entries)
    shapes = most_entries(queries, with_post_filter=total > 0)
    candidates: Any = value.candidates
    if not isinstance(candidates, tuple | list):
        raise WrongValue(f"candidates that are {type(candidates).__name__}, not a tuple")
    most: Any = value.max_answers
    if most is not None and (isinstance(most, bool) or not isinstance(most, Integral) or most < 0):
        raise WrongValue("max_answers that is no number of at least 0")
    if 0 < total * _ROUNDING < sum(shapes.values()):
        raise WrongValue("total_entries below what the queries scanned, in filter and post filter")
    found = tuple(_candidate(family, each, queries, shapes) for each in candidates)
    for index, times in Counter(each.index for each in found).items():
        if times > 1:
            raise WrongValue(f"two candidates {str(index)!r}")
    return replace(
        value,
        candidates=found,
        answered=frozenset(_known("answered", value.answered, shapes, "shape")),
        max_answers=None if most is None else int(most),
        total_entries=total,
        gain_bytes=None if value.gain_bytes is None else number("gain_bytes", value.gain_bytes),
    )


def most_entries(queries: TableQueries, *, with_post_filter: bool) -> dict[str, float]:
    """Return by shape the entries that its queries scanned over all nights that vote: the most to save.

    In filter alone, of whose entries savings are shares unless the family says of which.
    """
    found = {
        shape: max(each.all_entries if with_post_filter else each.entries, 0.0)
        for shape, each in queries.window.items()
    }
    return {shape.shape_id: 0.0 for shape in queries.shapes} | found


def _candidate(
    family: str, value: Any, queries: TableQueries, shapes: Mapping[str, float]
) -> AnswerCandidate:
    if not isinstance(value, AnswerCandidate):
        raise WrongValue(f"a candidate that is {type(value).__name__}, not AnswerCandidate")
    index: Any = value.index
    if not isinstance(index, Index) or index.is_drop:
        raise WrongValue("a candidate whose index is no Index to build")
    if index.family != family:
        raise WrongValue(f"a candidate of another family, {printable(str(index.family), 60)!r}")
    text("the column of an index", index.column)
    columns = value.columns
    if not isinstance(columns, tuple | list) or not columns:
        raise WrongValue("a candidate whose columns are no tuple of names")
    known = queries.overview.columns if queries.overview else [text("a column", each) for each in columns]
    exchanged, amounts = _savings(value, shapes)
    if value.variant != "":
        text("a variant", value.variant)
    return replace(
        value,
        columns=tuple(_known("columns", columns, known, "column")),
        saving_entries=exchanged,
        amounts=amounts,
        size_bytes=None if value.size_bytes is None else number("size_bytes", value.size_bytes),
        config=merging_config(value.config, [each.document for each in queries.configs]),
        is_exclusive=bool(value.is_exclusive),
        rank=number("rank", value.rank, least=-inf),
        entries_read=_by_shape("entries_read", value.entries_read, shapes),
    )


def _savings(
    value: AnswerCandidate, shapes: Mapping[str, float]
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return savings in entries, and in the unit of the candidate if it has one."""
    saved = _by_shape("saving_entries", value.saving_entries, shapes)
    unit: Any = value.unit
    if unit is not None:
        if not isinstance(unit, Unit) or number("the entries of a unit", unit.entries) <= 0:
            raise WrongValue("a unit that is no Unit worth some entries")
        text("the name of a unit", unit.name)
        return {shape: min(each * unit.entries, shapes[shape]) for shape, each in saved.items()}, saved
    for shape, each in saved.items():
        if each > shapes[shape] * _ROUNDING:
            raise WrongValue(
                f"a saving of {each:.6g} entries of a shape that scanned {shapes[shape]:.6g}, {shape}"
            )
    return {shape: min(each, shapes[shape]) for shape, each in saved.items()}, {}


def _known(what: str, values: Any, known: Collection[str], of: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Collection):
        raise WrongValue(f"{what} that are {type(values).__name__}")
    found = list(values)
    for each in found:
        if not isinstance(each, str) or each not in known:
            raise WrongValue(f"{what} with an unknown {of}, {printable(str(each), 60)!r}")
    return found


def _by_shape(what: str, values: Any, shapes: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise WrongValue(f"{what} that are {type(values).__name__}, not a mapping")
    return {shape: number(what, values[shape]) for shape in _known(what, values.keys(), shapes, "shape")}
