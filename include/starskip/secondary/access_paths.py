"""Map the predicates of a condition to access paths, one to one; a pure function of condition and indexes.

A path gives the addresses of all rows that satisfy its predicate, and an exact path no others. Predicates on
one column within an AND become one range of its index. OR is a union of paths, and a NOT within an AND is the
difference with an exact path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from starskip.predicates.comparison import ComparisonOperator, comparison_of
from starskip.predicates.expression import Call, Column, Expression, Literal, nodes
from starskip.predicates.like_pattern import like_parts
from starskip.secondary.grams import gram_key, grams_of, length_partition, shared_grams
from starskip.secondary.key_ranges import KeyRanges, key_ranges
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.secondary.spatial_functions import CONTAINS, DISTANCE
from starskip.secondary.spatial_shapes import Shape, shape_of

_NEAR = frozenset({"LessThan", "LessThanOrEqual", "EqualTo"})
_ROUNDING_RATIO = 1e-9
_LONGEST = 2**31
"""Stands for an unbounded number of characters."""


@dataclass(frozen=True)
class RangePath:
    """Ranges of a b-tree's keys, or of a clustering key's."""

    index: SecondaryIndex
    ranges: KeyRanges
    predicates: tuple[Expression, ...]

    @property
    def exact(self) -> bool:
        """Return whether all its addresses match; a clustering key gives whole row groups."""
        return self.index.kind_of_index is Kind.BTREE


@dataclass(frozen=True)
class PointPath:
    """Points of an r-tree in a box (least x, y, greatest x, y), and within a shape or near one."""

    index: SecondaryIndex
    box: tuple[float, float, float, float]
    predicates: tuple[Expression, ...]
    shape: Shape | None = None
    distance: float | None = None
    below: bool = False
    exact: bool = True


@dataclass(frozen=True)
class GramPath:
    """Texts of ``least`` to ``most`` characters that have ``shared`` of some grams."""

    index: SecondaryIndex
    grams: tuple[str, ...]
    shared: int
    predicates: tuple[Expression, ...]
    least: int = 0
    most: int | None = None
    exact: bool = False

    @cached_property
    def keys(self) -> tuple[tuple[bytes, bytes], ...]:
        """The first and the last key of each gram, in the length partitions of ``least`` to ``most``."""
        edges = np.array([self.least, _LONGEST if self.most is None else self.most])
        low, high = (int(each) for each in length_partition(edges))
        return tuple((gram_key(gram, low), gram_key(gram, high)) for gram in self.grams)


@dataclass(frozen=True)
class UnionPath:
    """The union of paths, for an OR whose parts all have a path."""

    paths: tuple[Path, ...]
    predicates: tuple[Expression, ...]

    @property
    def exact(self) -> bool:
        """Return whether all its paths are exact."""
        return all(path.exact for path in self.paths)


@dataclass(frozen=True)
class AllOfPath:
    """The intersection of paths, for an AND within an OR; ``is_whole``: each part of the AND has a path."""

    paths: tuple[Path, ...]
    predicates: tuple[Expression, ...]
    is_whole: bool

    @property
    def exact(self) -> bool:
        """Return whether all its addresses match."""
        return self.is_whole and all(path.exact for path in self.paths)


@dataclass(frozen=True)
class WithoutPath:
    """Finds all rows except an exact path's: rows that satisfy NOT, and rows whose predicate is null."""

    path: Path
    predicates: tuple[Expression, ...]
    exact: bool = False


Path = RangePath | PointPath | GramPath | UnionPath | AllOfPath | WithoutPath


def path_indexes(path: Path) -> tuple[str, ...]:
    """Return the specifications of all indexes that a path uses, in order."""
    match path:
        case UnionPath(paths=paths) | AllOfPath(paths=paths):
            return tuple(dict.fromkeys(name for each in paths for name in path_indexes(each)))
        case WithoutPath(path=inner):
            return path_indexes(inner)
        case _:
            return (path.index.specification,)


@dataclass(frozen=True, slots=True)
class PathMapping:
    """The paths of a condition's ``conjuncts``, and the conjuncts without a path."""

    paths: tuple[Path, ...]
    conjuncts: tuple[Expression, ...]
    unserved: tuple[Expression, ...]

    def residual(self, chosen: Sequence[Path]) -> tuple[Expression, ...]:
        """Return the conjuncts that rows of the chosen paths may not satisfy."""
        sure = {id(each) for path in chosen if path.exact for each in path.predicates}
        return tuple(each for each in self.conjuncts if id(each) not in sure)


def access_paths(condition: Expression, indexes: Sequence[SecondaryIndex]) -> PathMapping:
    """Return the paths of a condition, each with the conjuncts that it serves."""
    conjuncts = _conjuncts(condition)
    columns = [{each.path for each in nodes(part) if isinstance(each, Column)} for part in conjuncts]
    paths: list[Path] = []
    served: set[int] = set()
    for index in indexes:
        # Most conjuncts name no column of an index, which shows quicker than reading them as a predicate.
        mine = [(number, part) for number, part in enumerate(conjuncts) if columns[number] & {*index.paths}]
        for path, of in _OF_KIND[index.kind_of_index](index, mine) if mine else ():
            paths.append(path)
            served.update(of)
    for number, conjunct in enumerate(conjuncts):
        if number not in served:
            found = _compound(conjunct, indexes)
            if found is not None:
                paths.append(found)
                served.add(number)
    # Differences come last: by themselves they shorten no list of rows.
    paths.sort(key=lambda path: isinstance(path, WithoutPath))
    unserved = tuple(each for at, each in enumerate(conjuncts) if at not in served)
    return PathMapping(tuple(paths), tuple(conjuncts), unserved)


def _compound(conjunct: Expression, indexes: Sequence[SecondaryIndex]) -> Path | None:
    if not isinstance(conjunct, Call):
        return None
    if conjunct.name == "Or":
        found = []
        for part in _flat(conjunct, "Or"):
            mapped = access_paths(part, [each for each in indexes if each.kind_of_index is not Kind.PRIMARY])
            if not any(not isinstance(path, WithoutPath) for path in mapped.paths):
                return None
            if len(mapped.paths) == 1:
                only = mapped.paths[0]
                found.append(only if not mapped.unserved else AllOfPath((only,), (part,), is_whole=False))
            else:
                found.append(AllOfPath(mapped.paths, (part,), is_whole=not mapped.unserved))
        return UnionPath(tuple(found), (conjunct,))
    if conjunct.name == "Not":
        secondary = [each for each in indexes if each.kind_of_index is not Kind.PRIMARY]
        mapped = access_paths(conjunct.left, secondary)
        if len(mapped.paths) == 1 and not mapped.unserved and mapped.paths[0].exact:
            return WithoutPath(mapped.paths[0], (conjunct,))
    return None


_Conjuncts = Sequence[tuple[int, Expression]]
"""Conjuncts that name a column of an index, with their numbers in the condition."""
_Mapped = Iterable[tuple[Path, tuple[int, ...]]]
"""Paths, with the numbers of the conjuncts that they serve."""


def _ranges(index: SecondaryIndex, conjuncts: _Conjuncts) -> _Mapped:
    found: KeyRanges | None = None
    of = []
    for number, conjunct in conjuncts:
        ranges = key_ranges(conjunct, index.paths[0])
        if ranges is not None:
            found = ranges if found is None else found.intersected(ranges)
            of.append(number)
    if found is not None:
        yield RangePath(index, found, _numbered(conjuncts, of)), tuple(of)


def _numbered(conjuncts: _Conjuncts, numbers: Sequence[int]) -> tuple[Expression, ...]:
    return tuple(conjunct for number, conjunct in conjuncts if number in numbers)


def _points(index: SecondaryIndex, conjuncts: _Conjuncts) -> _Mapped:
    sides = [_side(conjuncts, path) for path in index.paths]
    if all(side is not None for side in sides):
        (least_x, most_x, of_x), (least_y, most_y, of_y) = (side for side in sides if side is not None)
        of = tuple(sorted({*of_x, *of_y}))
        box = (least_x, least_y, most_x, most_y)
        yield PointPath(index, box, _numbered(conjuncts, of)), of
    for number, conjunct in conjuncts:
        path = _shaped(index, conjunct)
        if path is not None:
            yield path, (number,)


def _side(conjuncts: _Conjuncts, path: tuple[str, ...]) -> tuple[float, float, tuple[int, ...]] | None:
    """Return the closed bounds of a column that has both; the lower is above the upper where no value fits.

    No r-tree holds points with NaN, so None for a column whose bounds allow NaN.
    """
    found: KeyRanges | None = None
    of = []
    for number, conjunct in conjuncts:
        ranges = key_ranges(conjunct, path)
        if ranges is None or len(ranges.ranges) != 1 or ranges.ranges[0].of_null:
            continue
        found = ranges if found is None else found.intersected(ranges)
        of.append(number)
    if found is None:
        return None
    if not found.ranges:
        return np.inf, -np.inf, tuple(of)
    (only,) = found.ranges
    low, high = _number(only.low), _number(only.high)
    if low is None or high is None or (np.isnan(high) and only.high_included):
        return None
    if np.isnan(high):
        high = np.inf
    elif not only.high_included:
        high = float(np.nextafter(high, -np.inf))
    if not only.low_included:
        if np.isposinf(low):
            # Only NaN is above.
            return np.inf, -np.inf, tuple(of)
        low = float(np.nextafter(low, np.inf))
    return (low, high, tuple(of)) if low <= high else (np.inf, -np.inf, tuple(of))


def _number(bound: pa.Array | None) -> float | None:
    return None if bound is None else float(bound.cast(pa.float64())[0].as_py())


def _shaped(index: SecondaryIndex, conjunct: Expression) -> PointPath | None:
    if not isinstance(conjunct, Call):
        return None
    call, distance, below = conjunct, None, False
    if conjunct.name in _NEAR and isinstance(conjunct.left, Call) and isinstance(conjunct.right, Literal):
        call, distance, below = conjunct.left, conjunct.right.python, conjunct.name == "LessThan"
        if call.name != DISTANCE or distance is None or not np.isfinite(distance):
            return None
    elif conjunct.name != CONTAINS:
        return None
    shape = shape_of(call.left.python if isinstance(call.left, Literal) else None)
    # The index has its coordinates in the order of its specification.
    places = [each.path for each in call.arguments[1:] if isinstance(each, Column)]
    if shape is None or shape.is_empty or len(places) != 2 or set(places) != set(index.paths):
        return None
    latitude_first = index.paths[0] == places[0]
    least_x, least_y, most_x, most_y = shape.bounds
    margin = 0.0 if distance is None else max(distance, 0.0)
    # Rounding of distances must not leave a point out; the shape itself decides.
    margin += max(map(abs, (*shape.bounds, margin))) * _ROUNDING_RATIO if distance is not None else 0.0
    across, up = (least_x - margin, most_x + margin), (least_y - margin, most_y + margin)
    first, second = (up, across) if latitude_first else (across, up)
    box = (first[0], second[0], first[1], second[1])
    exact = conjunct.name != "EqualTo"
    return PointPath(index, box, (conjunct,), _turned(shape, latitude_first), distance, below, exact=exact)


def _turned(shape: Shape, latitude_first: bool) -> Shape:
    return replace(shape, swapped=latitude_first)


def _grams(index: SecondaryIndex, conjuncts: _Conjuncts) -> _Mapped:
    for number, conjunct in conjuncts:
        path = _gram_path(index, conjunct)
        if path is not None:
            yield path, (number,)


def _gram_path(index: SecondaryIndex, conjunct: Expression) -> GramPath | None:
    n = index.gram_length
    near = _edit_distance(conjunct, index.paths[0])
    if near is not None:
        text, distance = near
        shared = shared_grams(text, n, distance)
        if distance < 0 or shared < 1:
            return None
        least, most = len(text) - distance, len(text) + distance
        return GramPath(index, tuple(grams_of(text, n)), shared, (conjunct,), max(least, 0), most)
    comparison = comparison_of(conjunct)
    if comparison is None or comparison.negated or comparison.column.path != index.paths[0]:
        return None
    if comparison.operator is ComparisonOperator.LIKE:
        parts = like_parts(comparison.text, comparison.escape) or ()
        texts = [part for part in parts if isinstance(part, str)]
    elif comparison.operator in (
        ComparisonOperator.CONTAINS,
        ComparisonOperator.STARTS_WITH,
        ComparisonOperator.ENDS_WITH,
    ):
        texts = [comparison.text]
    else:
        return None
    grams = sorted({gram for text in texts for gram in grams_of(text, n)})
    if not grams:
        return None
    least = sum(map(len, texts))
    # Not exact even where the text is one gram: a stopped gram has no list, and all rows stay.
    return GramPath(index, tuple(grams), len(grams), (conjunct,), least, None)


def _edit_distance(conjunct: Expression, path: tuple[str, ...]) -> tuple[str, int] | None:
    if not isinstance(conjunct, Call) or conjunct.name not in _NEAR:
        return None
    call, bound = conjunct.arguments
    if not isinstance(call, Call) or call.name != "Levenshtein" or not isinstance(bound, Literal):
        return None
    if not isinstance(call.left, Column) or call.left.path != path or not isinstance(call.right, Literal):
        return None
    if call.right.python is None or bound.python is None:
        return None
    return call.right.python, bound.python - (conjunct.name == "LessThan")


_OF_KIND = {Kind.BTREE: _ranges, Kind.PRIMARY: _ranges, Kind.RTREE: _points, Kind.NGRAM: _grams}


def _conjuncts(condition: Expression) -> list[Expression]:
    """Return the parts of an AND, with NOT moved inwards; three-valued logic allows both."""
    pushed = _pushed(condition)
    return _flat(pushed, "And") if isinstance(pushed, Call) else [pushed]


def _flat(node: Expression, name: str) -> list[Expression]:
    if isinstance(node, Call) and node.name == name:
        return [each for part in node.arguments for each in _flat(part, name)]
    return [node]


def _pushed(node: Expression) -> Expression:
    if not isinstance(node, Call):
        return node
    if node.name in ("And", "Or"):
        return Call(node.name, tuple(map(_pushed, node.arguments)))
    if node.name == "Not" and isinstance(node.left, Call):
        inner = node.left
        if inner.name == "Not":
            return _pushed(inner.left)
        if inner.name in ("And", "Or"):
            other = "Or" if inner.name == "And" else "And"
            return Call(other, tuple(_pushed(Call("Not", (each,))) for each in inner.arguments))
    return node
