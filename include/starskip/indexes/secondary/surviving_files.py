"""Find the files that hold survivors: rows whose entries satisfy all predicates that indexes serve.

An engine that reads the files by itself, as Spark does, leaves the other files alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from threading import RLock

import numpy as np
from pyroaring import BitMap64

from starskip.errors import StorageError, first_line
from starskip.indexes.secondary.access_paths import (
    AllOfPath,
    Path,
    PointPath,
    UnionPath,
    WithoutPath,
    access_paths,
    path_indexes,
)
from starskip.indexes.secondary.entries import addresses_in, file_of
from starskip.indexes.secondary.indexed_segments import known_schema, known_segments
from starskip.indexes.secondary.postings import PostingReader
from starskip.indexes.secondary.secondary_index import SecondaryIndex
from starskip.indexes.secondary.sure_predicates import sure_predicates
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.number_text import count as counted
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Expression
from starskip.predicates.ordered_values import Mask

AND, _OR = " ∩ ", " ∪ "
_reading = RLock()
"""Runs are read by one thread at a time: several may plan queries of one table."""
Rows = Mapping[str, BitMap64]


@dataclass
class Survivors:
    """The paths that serve some conditions on a table, and the rows that their entries leave.

    ``names`` and ``indexes``: of each path; ``why_not``: why indexes that serve a predicate were not read.
    """

    metadata: TableMetadata
    names: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    why_not: tuple[str, ...] = ()
    _rows: tuple[Rows, ...] = ()
    _masks: dict[tuple[int, ...], Mask] = field(default_factory=dict)

    def files(self, paths: Iterable[int]) -> Mask:
        """Return the files of the metadata that hold a row which all these paths have, by their positions."""
        key = tuple(sorted(paths))
        if key not in self._masks:
            self._masks[key] = self._holding([self._rows[each] for each in key])
        return self._masks[key]

    def together(self) -> Mask | None:
        """Return the files that hold a row which all paths have; None without a path."""
        return self.files(range(len(self.names))) if self.names else None

    def by_name(self) -> dict[str, Mask]:
        """Return the files that each path leaves alone by itself, and all of them intersected."""
        found = {name: self.files([each]) for each, name in enumerate(self.names)}
        if len(self.names) > 1:
            found[AND.join(self.names)] = self.files(range(len(self.names)))
        return found

    def _holding(self, of_paths: Sequence[Rows]) -> Mask:
        found = np.zeros(self.metadata.files, np.bool_)
        for name, rows in self.metadata.row_slices.items():
            bitmaps = [each.get(name) for each in of_paths]
            if not all(bitmaps):
                continue
            common = reduce(lambda one, two: one & two, filter(None, bitmaps))
            holding = np.unique(file_of(addresses_in(common)))
            live = self.metadata.live[name]
            positions = np.arange(rows.stop - rows.start) if live is None else live
            found[rows] = np.isin(positions, holding)
        return found


def surviving_files(
    metadata: TableMetadata,
    conditions: Sequence[Expression],
    max_entries: int,
    left_out: frozenset[str] = frozenset(),
) -> Survivors:
    """Return the paths that serve ``conditions``, all of which hold, with their rows.

    ``max_entries``: a path of more is not read. ``left_out``: columns whose values the engine may read
    otherwise than they were indexed. An index that cannot be read is left out alone.
    """
    with _reading:
        indexes, segments = known_segments(metadata)
        types = {
            path: kind for path, kind in known_schema(metadata).types().items() if path[0] not in left_out
        }
        # Spark takes a column for another one whose name differs in its case.
        alike = Counter(column_name(path).lower() for path in types)
        types = {path: kind for path, kind in types.items() if alike[column_name(path).lower()] == 1}
        condition = Call("And", tuple(sure_predicates(each, types) for each in conditions))
        reader = PostingReader(segments)
        found, why_not = [], []
        for path in served_paths(condition, indexes):
            of = path_indexes(path)
            name = (_OR if isinstance(path, UnionPath) else AND).join(of)
            try:
                entries = reader.count(path)
                if entries > max_entries:
                    why_not.append(f"{name} has {counted(entries)} entries for it, too many for a plan")
                else:
                    found.append((name, of, reader.rows(path)))
            except (StorageError, ArithmeticError, ValueError) as error:
                why_not.append(f"{name} cannot be read: {first_line(error)}")
    return Survivors(
        metadata,
        tuple(name for name, _, _ in found),
        tuple(of for _, of, _ in found),
        tuple(why_not),
        tuple(rows for _, _, rows in found),
    )


def served_paths(condition: Expression, indexes: Sequence[SecondaryIndex]) -> list[Path]:
    """Return the paths of a condition by which an engine that reads files by itself can leave some alone."""
    paths = access_paths(condition, indexes).paths if indexes else ()
    return [path for path in paths if _leaves_some(path)]


def _leaves_some(path: Path) -> bool:
    """Return whether a path gives some rows, all that satisfy its predicate among them.

    A difference takes rows away, which needs entries that are exact; a shape is of a function that Spark's
    user may have registered with another meaning.
    """
    match path:
        case WithoutPath():
            return False
        case PointPath(shape=shape):
            return shape is None
        case UnionPath(paths=paths) | AllOfPath(paths=paths):
            return all(map(_leaves_some, paths))
    return True
