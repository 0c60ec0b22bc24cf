"""Strategies: a data set, with indexes and with many predicates, which is one example of the law.

Many predicates share one data set, since files cost more than questions about them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from skipping_on_spark.column_kinds import KINDS, NESTED, PARTITIONED, ColumnKind
from skipping_on_spark.data_set import SELF_DESCRIBING, DataFile, DataSet
from skipping_on_spark.predicates import Leaf, predicates
from starskip.errors import ConfigError
from starskip.extensions import INDEX_TYPES, extensions
from starskip.skipping.registry import OWN_TYPES, index_from_specification

ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Apia")
_IS_DRAWN = st.integers(0, 4).map(lambda drawn: drawn > 2)
_COLLATED = {"low", "ci"}
_NOT_IN = {
    "csv": {"raw", "vec", "tags", "m", *NESTED},
    "json": {"raw"},
    # It cannot read such texts from there.
    "orc": {"ntz", *_COLLATED},
}
DEPTH = 3
_SHOWN = 20_000
_SIZES = (2, 5, 9, 1, 0)
_ARGUMENTS = {
    "prefix": (":2", ":1"),
    "suffix": (":1", ":2"),
    "gaplist": (":3", ":1"),
    "hybrid": (":2",),
    "formatted": (":user_agent", ":email_domain", ":url_host", ":json_path:$.a.b"),
    "mapvalue": (":k", ":x:y", ":x:y:1"),
    "elements": ("", ":1"),
    "ipnetworks": (":2", ":1"),
    "geometrybox": (":2",),
    "metricdist": (":levenshtein", ":euclidean", ":manhattan"),
}
_OF_TWO = ("geobox:lat,lng:2", "geobox:d,f", "metricdist:lat,lng:euclidean", "metricdist:d,f:manhattan")


@dataclass(frozen=True)
class Example:
    """``zone`` is that of the queries."""

    data: DataSet
    indexes: tuple[str, ...]
    zone: str
    predicates: tuple[str, ...]

    def __repr__(self) -> str:
        shown = f"{self.zone}, {self.indexes}, {list(self.predicates)}, {self.data}"
        return f"Example({shown[:_SHOWN]})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Of a dataclass Hypothesis shows the fields otherwise, and refuses long ones: with a warning, which
        # would be the failure that is told.
        del cycle
        printer.text(repr(self))


@st.composite
def examples(
    draw: st.DrawFn,
    file_format: str,
    count: int,
    *,
    kind: str | None = None,
    leaves: Sequence[Leaf] = (),
) -> Example:
    """Draw ``count`` predicates over one data set.

    ``kind``: all indexes of that kind, not some of each; ``leaves``: what predicates consist of, if not all.
    """
    data = draw(data_sets(file_format))
    possible = possible_indexes(data.kinds)
    if kind is None:
        chosen = tuple(each for each in possible if draw(st.integers(0, 4)) < 2)
    else:
        chosen = tuple(each for each in possible if each.startswith(f"{kind}:"))
    zones = ZONES if file_format in SELF_DESCRIBING else (data.zone,)
    zone = draw(st.sampled_from((data.zone, data.zone, *zones)))
    questions = draw(st.lists(predicates(data, DEPTH, leaves), min_size=count, max_size=count))
    return Example(data, chosen or possible[:1], zone, tuple(questions))


@st.composite
def data_sets(draw: st.DrawFn, file_format: str, without: Collection[str] = ()) -> DataSet:
    """Draw files that hold few values of a column each, so that there is something to skip.

    ``without``: columns that are not drawn.
    """
    absent = {*_NOT_IN.get(file_format, ()), *without}
    kinds = {name: kind for name, kind in KINDS.items() if name not in absent and draw(_IS_DRAWN)}
    # The simplest data set should not be one that says nothing.
    kinds = {"i": KINDS["i"], "s": KINDS["s"], **kinds}
    if not absent & NESTED.keys() and draw(st.booleans()):
        kinds |= NESTED
    in_paths = draw(st.integers(0, 3)) == 3
    files = tuple(
        draw(_files(kinds, PARTITIONED if in_paths else {})) for _ in range(draw(st.integers(3, 7)))
    )
    # The very first example is the simplest one, which asks nothing.
    assume(sum(file.rows for file in files) > len(files) * _SIZES[0])
    return DataSet(
        file_format, draw(st.sampled_from(ZONES)), kinds | (PARTITIONED if in_paths else {}), files
    )


@st.composite
def _files(
    draw: st.DrawFn, kinds: Mapping[str, ColumnKind], partitioned: Mapping[str, ColumnKind]
) -> DataFile:
    rows = draw(st.sampled_from(_SIZES))
    columns = {name: draw(_columns(kind, rows)) for name, kind in kinds.items()}
    partition = {name: draw(st.none() | kind.values) for name, kind in partitioned.items()}
    # A folder does not tell an empty text from null.
    return DataFile(rows, columns, {name: None if each == "" else each for name, each in partition.items()})


@st.composite
def _columns(draw: st.DrawFn, kind: ColumnKind, rows: int) -> list[Any]:
    few = draw(st.lists(kind.values, min_size=1, max_size=3))
    nulls = draw(st.sampled_from(("none", "none", "some", "all")))
    if nulls == "all" or not rows:
        return [None] * rows
    choices = st.sampled_from([*few, None] if nulls == "some" else few)
    return [draw(choices) for _ in range(rows)]


def possible_indexes(kinds: Mapping[str, ColumnKind]) -> tuple[str, ...]:
    """Return indexes of all types and of all columns that can have them."""
    named = [
        f"{each}:{name}{argument}"
        for each in (*(own.kind for own in OWN_TYPES), *extensions(INDEX_TYPES))
        for name in kinds
        for argument in _ARGUMENTS.get(each, ("",))
    ]
    data_types = {name: kind.sql for name, kind in kinds.items()}
    return tuple(each for each in (*named, *_OF_TWO) if _is_possible(each, data_types))


def _is_possible(specification: str, data_types: Mapping[str, str]) -> bool:
    try:
        index_from_specification(specification).check(data_types)
    except ConfigError:
        return False
    return True
