r"""Print the documents of a tree in their order, ``*`` for the star and ``\N`` for null."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.star_tree.function_column_pair import FunctionColumnPair
from starskip.star_tree.measures.sketches import QUANTILE_SKETCHES
from starskip.star_tree.measures.values_apart import parted
from starskip.star_tree.serving.star_tree import StarTree

STAR = "*"
NULL = "\\N"
_DOCUMENTS_AT_ONCE = 32_768
_TAKEN = re.compile(r"\\*\*|\\+N")
"""Texts that would read as the star, as null, or as an escaped star or null."""


def document_header(tree: StarTree) -> list[str]:
    """Return the dimensions in the order of the split, then the pairs in the configuration's order."""
    return [*tree.config.dimensions_split_order, *(pair.name for pair in tree.config.function_column_pairs)]


def document_rows(tree: StarTree) -> Iterator[list[str]]:
    """Yield the documents in their order, some row groups of them in memory at a time."""
    for first in range(0, tree.documents_total, _DOCUMENTS_AT_ONCE):
        numbers = np.arange(first, min(first + _DOCUMENTS_AT_ONCE, tree.documents_total))
        columns = [_dimension(tree, name, numbers) for name in tree.config.dimensions_split_order]
        columns += [_pair(tree, pair, numbers) for pair in tree.config.function_column_pairs]
        yield from (list(row) for row in zip(*columns, strict=True))


def value_text(value: Any) -> str:
    r"""Return one value: numbers in their shortest form, dates as in ISO 8601, bytes as base64.

    The texts ``*`` and ``\N``, with any number of backslashes before them, get one backslash more.
    """
    if value is None:
        return NULL
    if isinstance(value, str):
        return f"\\{value}" if _TAKEN.fullmatch(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return str(value)


def _dimension(tree: StarTree, name: str, numbers: np.ndarray[Any, Any]) -> list[str]:
    values = tree.dictionary(name)
    codes = tree.documents.codes(numbers, name)
    used, where = np.unique(codes, return_inverse=True)
    null, star = len(values), len(values) + 1
    texts = [
        STAR if code == star else NULL if code == null else next(_texts(values.slice(code, 1)))
        for code in used.tolist()
    ]
    return [texts[position] for position in where.tolist()]


def _pair(tree: StarTree, pair: FunctionColumnPair, numbers: np.ndarray[Any, Any]) -> list[str]:
    kept = [tree.documents.measure(numbers, measure) for measure in pair.measures]
    texts_of = _sketches if pair.measures[0].kind in QUANTILE_SKETCHES else _texts
    columns = [texts_of(array.results()) for array in kept if array is not None]
    return ["|".join(texts) for texts in zip(*columns, strict=True)]


def _sketches(values: pa.Array) -> Iterator[str]:
    """Yield sketches of quantiles as base64, followed by the counts beside them."""
    for stored in values.to_pylist():
        sketch, apart = parted(stored)
        yield f"{value_text(sketch)}{apart}"


def _texts(values: pa.Array) -> Iterator[str]:
    if values.type == pa.float32():
        # Print 0.1 of 32 bits as 0.1, not as its 64-bit value 0.10000000149011612.
        return (value_text(None if v is None else float(str(np.float32(v)))) for v in values.to_pylist())
    return map(value_text, values.to_pylist())
