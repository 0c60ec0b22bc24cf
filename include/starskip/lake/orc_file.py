"""Read an ORC file by stripes, its columns with the types that Spark gives them.

Spark reads a ``timestamp`` as a time with the zone of its process, which is UTC here. Spark takes dates
before the Gregorian calendar for Julian ones, and Arrow holds nanoseconds from 1677 to 2262 only: a column
with older dates, or times beyond, is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from starskip.lake.listed_file import ListedFile
from starskip.lake.unlike_spark import UnlikeSpark

Positions = npt.NDArray[np.int64]

_TIMESTAMP, _LIST, _MAP, _STRUCT, _UNION, _DATE, _CHAR, _INSTANT = 9, 10, 11, 12, 13, 15, 17, 18
_NOT_OF_SPARK = {_UNION: "a union", _CHAR: "char(n)", _INSTANT: "timestamp with local time zone"}
_SPARK_TYPE = "spark.sql.catalyst.type"
_FIRST_GREGORIAN_DAY = -141_427
_FIRST_MS, _LAST_MS = -2_208_988_800_000, 9_223_286_400_000
"""1900-01-01, from which on calendars and zones of all writers agree, and 2262-04-11."""

_FOOTER_OF_TAIL = 2
_STRIPES, _TYPES, _STATISTICS = 3, 4, 7
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
Value = int | bytes


@dataclass(frozen=True, slots=True)
class OrcType:
    """A type by the number of its kind, its children, and the attributes that a writer has set."""

    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrcTail:
    """The parts of a tail. ``stripes``: the rows of each.

    ``dates``, ``times_ms``: the least and greatest value of each column, by the number of its type.
    """

    stripes: tuple[int, ...]
    types: tuple[OrcType, ...]
    dates: dict[int, tuple[int, int]]
    times_ms: dict[int, tuple[int, int]]
    valued: frozenset[int]


def orc_tail(tail: bytes) -> OrcTail:
    """Parse the serialized tail of a file. Raises ValueError for a damaged tail.

    A tail holds protocol buffers of the ORC specification, version 1 ("File Tail"). Fields that are not named
    here are skipped.
    """
    try:
        footer = next(_bytes_of(value) for number, value in _fields(tail) if number == _FOOTER_OF_TAIL)
        found = list(_fields(footer))
        statistics = [_bytes_of(value) for number, value in found if number == _STATISTICS]
        return OrcTail(
            tuple(_stripe_rows(_bytes_of(value)) for number, value in found if number == _STRIPES),
            tuple(_type(_bytes_of(value)) for number, value in found if number == _TYPES),
            {at: pair for at, each in enumerate(statistics) if (pair := _bounds(each, 7, ((1, 2),)))},
            {at: pair for at, each in enumerate(statistics) if (pair := _bounds(each, 9, ((3, 4), (1, 2))))},
            frozenset(at for at, each in enumerate(statistics) if dict(_fields(each)).get(1, 0)),
        )
    except (LookupError, StopIteration, UnicodeDecodeError, TypeError) as error:
        raise ValueError("the tail of the ORC file is damaged") from error


def _bytes_of(value: Value) -> bytes:
    """Return a value that must be bytes."""
    if not isinstance(value, bytes):
        raise TypeError("a number where a message is meant")
    return value


def _stripe_rows(message: bytes) -> int:
    return {number: value for number, value in _fields(message) if isinstance(value, int)}[5]


def _type(message: bytes) -> OrcType:
    kind = 0
    children: list[int] = []
    names: list[str] = []
    attributes: dict[str, str] = {}
    for number, value in _fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2:
            children += [value] if isinstance(value, int) else _packed(value)
        elif number == 3:
            names.append(_bytes_of(value).decode())
        elif number == 7:
            pair = {of: _bytes_of(text).decode() for of, text in _fields(_bytes_of(value))}
            attributes[pair[1]] = pair[2]
    return OrcType(kind, tuple(children), tuple(names), attributes)


def _bounds(message: bytes, of: int, pairs: tuple[tuple[int, int], ...]) -> tuple[int, int] | None:
    """Return the least and greatest value of a column's statistics, by the first pair that exists."""
    inner = dict(_fields(message)).get(of)
    if inner is None:
        return None
    found = {number: value for number, value in _fields(_bytes_of(inner)) if isinstance(value, int)}
    for low, high in pairs:
        if low in found and high in found:
            return _signed(found[low]), _signed(found[high])
    return None


def _signed(number: int) -> int:
    """Return the number of a zigzag code."""
    return (number >> 1) ^ -(number & 1)


def _packed(content: bytes) -> list[int]:
    found = []
    at = 0
    while at < len(content):
        number, at = _varint(content, at)
        found.append(number)
    return found


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the numbers and values of a message's fields."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise LookupError(kind)
        if at + length > len(message):
            raise LookupError(at)
        yield number, message[at : at + length]
        at += length


def _varint(content: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = content[at]
        found |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return found, at
        shift += 7


@dataclass(frozen=True)
class OrcFile:
    """An ORC file by its path and identity.

    All members raise OSError, ValueError and pa.ArrowException for a file that cannot be read.
    """

    path: str
    size_bytes: int
    modified_ms: int

    @cached_property
    def _told(self) -> tuple[OrcTail, pa.Schema]:
        with self._opened() as opened:
            file = orc.ORCFile(opened)
            tail, schema = orc_tail(file.reader.serialized_file_tail()), file.schema
            opened.tell_bytes()
        root = tail.types[0] if tail.types else None
        if root is None or root.kind != _STRUCT or list(root.names) != schema.names:
            raise UnlikeSpark("its rows are no structs of named columns")
        if root.names and all(name == f"_col{at}" for at, name in enumerate(root.names)):
            raise UnlikeSpark("its columns have no names but _col0, _col1, …, as old Hive writes them")
        fields = [
            pa.field(each.name, _spark_type(each.type, tail, child, each.name))
            for each, child in zip(schema, root.children, strict=True)
        ]
        return tail, pa.schema(fields)

    @property
    def schema(self) -> pa.Schema:
        """The columns, with the Arrow types of the values that Spark reads."""
        return self._told[1]

    @property
    def stripe_count(self) -> int:
        """The number of stripes."""
        return len(self._told[0].stripes)

    def stripes(
        self, columns: Sequence[str], positions: Positions | None = None
    ) -> Iterator[tuple[int, pa.Table]]:
        """Yield the position of each stripe's first row, and its rows, with the file's own ``columns``.

        ``positions``: rising positions of rows; stripes without any of them are not read. None for all rows.
        """
        tail, own = self._told
        wanted = set(columns)
        names = [name for name in own.names if name in wanted]
        for name in names:
            self._require_known_calendar(name)
        with self._opened() as opened:
            file = orc.ORCFile(opened)
            start = 0
            for number, stripe_rows in enumerate(tail.stripes):
                if reaches(positions, start, stripe_rows):
                    # The library takes a dot in a name for the way into a struct.
                    chosen = None if any("." in name for name in own.names) else names or own.names[:1]
                    batch = file.read_stripe(number, columns=chosen)
                    found = pa.Table.from_batches([batch]).select(names)
                    opened.require_same()
                    opened.tell_bytes()
                    if found.num_rows != stripe_rows:
                        raise ValueError(f"stripe {number} has other rows than the file's tail says")
                    yield start, found
                start += stripe_rows

    def _require_known_calendar(self, name: str) -> None:
        tail, own = self._told
        for number in _below(tail, tail.types[0].children[own.names.index(name)]):
            kind = tail.types[number].kind
            bounds = {_DATE: tail.dates, _TIMESTAMP: tail.times_ms}.get(kind)
            if bounds is None or number not in tail.valued:
                continue
            low, high = bounds.get(number, (None, None))
            if low is None or high is None:
                raise UnlikeSpark(f"column {name} has dates or times, but the file has no bounds of them")
            if kind == _DATE and low < _FIRST_GREGORIAN_DAY:
                raise UnlikeSpark(f"column {name} has dates before 1582-10-15, of another calendar")
            if kind != _DATE and not (low >= _FIRST_MS and high <= _LAST_MS):
                raise UnlikeSpark(f"column {name} has times outside of the years 1900 to 2262")

    def _opened(self) -> ListedFile:
        return ListedFile(self.path, self.size_bytes, self.modified_ms)


def reaches(positions: Positions | None, start: int, rows: int) -> bool:
    """Return whether rows at some positions lie among those from ``start`` on."""
    if positions is None:
        return True
    first, last = np.searchsorted(positions, [start, start + rows])
    return bool(first < last)


def _below(tail: OrcTail, number: int) -> Iterator[int]:
    yield number
    for child in tail.types[number].children:
        yield from _below(tail, child)


def _spark_type(kind: pa.DataType, tail: OrcTail, number: int, column: str) -> pa.DataType:
    """Return the Arrow type of the values that Spark reads, for the file's type of that number."""
    found: OrcType = tail.types[number]
    said = found.attributes.get(_SPARK_TYPE)
    if found.kind in _NOT_OF_SPARK or said not in (None, "timestamp_ntz", "timestamp", "string"):
        what = _NOT_OF_SPARK.get(found.kind, said)
        raise UnlikeSpark(f"column {column} is {what}, which is not read")
    children = found.children
    if said == "timestamp_ntz":
        # Spark stores it as a number of microseconds.
        return pa.timestamp("us")
    if found.kind == _TIMESTAMP:
        return pa.timestamp("us", "UTC")
    if found.kind == _STRUCT:
        of = zip(kind, children, strict=True)
        return pa.struct([pa.field(each.name, _spark_type(each.type, tail, at, column)) for each, at in of])
    if found.kind == _LIST:
        return pa.list_(_spark_type(kind.value_type, tail, children[0], column))
    if found.kind == _MAP:
        key, item = (
            _spark_type(each, tail, at, column)
            for each, at in zip((kind.key_type, kind.item_type), children, strict=True)
        )
        return pa.map_(key, item)
    return kind
