"""Write a segment's metadata as Pinot does, from what the controller answers of it.

Sizes are Pinot's own where it tells them: not in 0.11. Else they are computed: values and codes from
cardinality and bits, and what is left of the segment's bytes is shared evenly by its other indexes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.pinot.segments.segment_metadata import PULLED_ROWS

_LISTS = {
    "DIMENSION": "segment.dimension.column.names",
    "METRIC": "segment.metric.column.names",
    "TIME": "segment.time.column.name",
    "DATE_TIME": "segment.datetime.column.names",
    "COMPLEX": "segment.complex.column.names",
}
_INDEXES = {
    "inverted-index": "inverted_index",
    "range-index": "range_index",
    "bloom-filter": "bloom_filter",
    "json-index": "json_index",
    "h3-index": "h3_index",
    "fst-index": "fst_index",
    "text-index": "text_index",
    "null-value-vector-reader": "nullvalue_vector",
}
"""Pinot's names of indexes in the controller's answer, and in a segment."""
_NUMBER_BYTES = {"INT": 4, "LONG": 8, "FLOAT": 4, "DOUBLE": 8, "BOOLEAN": 4, "TIMESTAMP": 8}
_UNKNOWN_BYTES = 16


def metadata_texts(
    table: str, segment: str, answer: Mapping[str, Any], segment_bytes: int, pulled_rows: int
) -> dict[str, bytes]:
    """Return ``metadata.properties`` and ``index_map`` of one segment.

    ``answer``: of ``Controller.segment_metadata`` for all columns.
    """
    columns = sorted(answer.get("columns") or (), key=lambda column: str(column.get("columnName")))
    rows = total_rows(answer)
    lines = {
        "segment.name": segment,
        "segment.table.name": table,
        "segment.index.version": "v3",
        "segment.total.docs": rows,
        PULLED_ROWS: pulled_rows,
    }
    for kind, key in _LISTS.items():
        names = [_escaped(str(each["columnName"])) for each in columns if each.get("fieldType") == kind]
        if names:
            lines[key] = ",".join(names)
    indexes = answer.get("indexes") or {}
    for column in columns:
        of_column = _column(column, indexes.get(column["columnName"]) or {}, rows)
        lines |= {f"column.{column['columnName']}.{key}": value for key, value in of_column.items()}
    sizes = _index_sizes(columns, indexes, rows, segment_bytes)
    return {"metadata.properties": _properties(lines), "index_map": _properties(_index_map(sizes))}


def total_rows(answer: Mapping[str, Any]) -> int:
    """Return the rows of the segment in an answer on its metadata."""
    of_columns = next((each.get("totalDocs") for each in answer.get("columns") or ()), None)
    return int(of_columns if of_columns is not None else answer.get("segment.total.docs") or 0)


def _column(column: Mapping[str, Any], indexes: Mapping[str, str], rows: int) -> dict[str, Any]:
    is_single = bool(column.get("singleValue", True))
    found = {
        "cardinality": column.get("cardinality"),
        "totalDocs": rows,
        "dataType": column.get("dataType"),
        "bitsPerElement": column.get("bitsPerElement"),
        "lengthOfEachEntry": column.get("columnMaxLength"),
        "columnType": column.get("fieldType"),
        "isSorted": _flag(bool(column.get("sorted"))),
        "hasDictionary": _flag(has_dictionary(column, indexes)),
        "isSingleValues": _flag(is_single),
        "maxNumberOfMultiValues": column.get("maxNumberOfMultiValues"),
        "totalNumberOfEntries": column.get("totalNumberOfEntries") or rows,
        "minValue": _end(column.get("minValue")),
        "maxValue": _end(column.get("maxValue")),
    }
    return {key: _escaped(str(value)) for key, value in found.items() if value is not None}


def has_dictionary(column: Mapping[str, Any], indexes: Mapping[str, str]) -> bool:
    """Return whether a column has a dictionary; before Pinot 1.0 its indexes alone say so."""
    stated = column.get("hasDictionary")
    return indexes.get("dictionary") == "YES" if stated is None else bool(stated)


def _end(value: Any) -> str | None:
    """Return the least or greatest value as text; of BYTES there is none."""
    if isinstance(value, bool):
        return _flag(value)
    # Pinot hides blanks behind NUL characters, so that no value can hold one.
    return str(value) if isinstance(value, str | int | float) and "\0" not in str(value) else None


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _index_sizes(
    columns: Sequence[Mapping[str, Any]],
    indexes: Mapping[str, Mapping[str, str]],
    rows: int,
    segment_bytes: int,
) -> dict[tuple[str, str], int]:
    told: dict[tuple[str, str], int] = {}
    computed: dict[tuple[str, str], int] = {}
    others: list[tuple[str, str]] = []
    for column in columns:
        name, of_column = str(column["columnName"]), indexes.get(column["columnName"]) or {}
        stated = column.get("indexSizeMap") or {}
        if stated:
            told |= {(name, str(index).lower()): int(size) for index, size in stated.items() if int(size) > 0}
            continue
        coded = has_dictionary(column, of_column)
        computed |= {(name, index): size for index, size in _stored(column, coded, rows).items()}
        # A sorted column says that it has an inverted index: its forward index serves as one.
        is_left_out = {"inverted_index"} if column.get("sorted") else set()
        others += [
            (name, index)
            for key, index in _INDEXES.items()
            if of_column.get(key) == "YES" and index not in is_left_out
        ]
    left = segment_bytes - sum(told.values()) - sum(computed.values())
    share = max(left // max(len(others), 1), 1)
    return {**told, **computed, **dict.fromkeys(others, share)}


def _stored(column: Mapping[str, Any], is_coded: bool, rows: int) -> dict[str, int]:
    cardinality = max(int(column.get("cardinality") or 0), 0)
    entries = rows if column.get("singleValue", True) else int(column.get("totalNumberOfEntries") or rows)
    longest = int(column.get("columnMaxLength") or 0)
    width = _NUMBER_BYTES.get(str(column.get("dataType")), longest if longest > 0 else _UNKNOWN_BYTES)
    if not is_coded:
        return {"forward_index": max(entries * width, 1)}
    if column.get("sorted"):
        forward = 8 * cardinality
    else:
        # Of several values a row, one more bit says whether a value is the row's first.
        more = 0 if column.get("singleValue", True) else 1
        forward = entries * (max(int(column.get("bitsPerElement") or 1), 1) + more) // 8
    return {"dictionary": max(cardinality * width, 1), "forward_index": max(forward, 1)}


def _index_map(sizes: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    lines: dict[str, Any] = {}
    for (column, index), size in sizes.items():
        lines |= {f"{column}.{index}.startOffset": 0, f"{column}.{index}.size": size}
    return lines


def _properties(lines: Mapping[str, Any]) -> bytes:
    return "".join(f"{_key(key)} = {value}\n" for key, value in lines.items()).encode("ascii")


def _key(text: str) -> str:
    return "".join(map(_key_character, text))


def _key_character(character: str) -> str:
    if not " " <= character <= "~":
        return _unicode(character)
    return character if character.isalnum() or character in "._-$" else f"\\{character}"


def _escaped(text: str) -> str:
    """Return a value so that reading it gives ``text`` again."""
    doubled = text.replace("\\", "\\" * 4).replace(",", "\\,")
    inner = "".join(_unicode(c) if not " " <= c <= "~" else c for c in doubled)
    stripped = inner.strip(" ")
    blanks = len(inner) - len(inner.lstrip(" ")), len(inner) - len(inner.rstrip(" "))
    return "\\u0020" * blanks[0] + stripped + "\\u0020" * (blanks[1] if stripped else 0)


def _unicode(character: str) -> str:
    code = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{code[i : i + 2].hex()}" for i in range(0, len(code), 2))
