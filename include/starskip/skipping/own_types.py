"""Names for an index type of a user's own, and for a function that indexes shall understand.

The names are public (docs/python-api.md); they are in one module here, whatever module they lie in.
"""

from __future__ import annotations

from starskip.predicates.data_types import NUMBERS, ORDERED, TEXTS, TIMES
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.ordered_values import Mask, mask_of
from starskip.skipping.clause import Clause
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.file_metadata import FileMetadata
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.registry import register
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.user_functions import map_function

__all__ = [
    "NUMBERS",
    "ORDERED",
    "TEXTS",
    "TIMES",
    "Call",
    "Clause",
    "Column",
    "ColumnIndex",
    "Expression",
    "FileCollector",
    "FileMetadata",
    "Literal",
    "LiteralSet",
    "Mask",
    "SkippingIndex",
    "map_function",
    "mask_of",
    "register",
]
