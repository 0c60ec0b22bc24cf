"""An index type of one's own, collected by Arrow: the most words of a text, for word_count(c) > 500.

The function is known by its name, so the one that is registered here must be the one that is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from starskip.skipping.own_types import (
    Call,
    Clause,
    ColumnIndex,
    Expression,
    FileCollector,
    FileMetadata,
    Literal,
    Mask,
    mask_of,
    register,
)


def word_count(text: str | None) -> int | None:
    """The function itself."""
    return None if text is None else len(text.split(" "))


def register_functions(spark: Any) -> None:
    """Make it known to a session of Spark; ``starskip skipping explain`` calls this."""
    spark.udf.register("word_count", word_count, "int")


@register
class WordCount(ColumnIndex):
    """``words:c``: the most words of a file's texts."""

    kind = "words"
    families = frozenset({"string"})

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the values of each row that the collector gets."""
        return {"text": columns[0]}

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - there is one type of text
        """Return the collector of one file."""
        return MostWords()

    def label(self, node: Expression) -> Clause | None:
        """Return the clause of a node of a predicate, None if it is not understood."""
        match node:
            case Call("GreaterThan", (Call("udf:word_count", (column,)), Literal() as bound)) if self.is_of(
                column
            ):
                return MoreWords(self.specification, bound.python)
        return None


class MostWords(FileCollector):
    """A number is all the state."""

    def __init__(self) -> None:
        self.most: int | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        """Some rows of the file, as Arrow has them."""
        spaces = pc.max(pc.count_substring(rows.column("text"), " ")).as_py()
        if spaces is not None:
            self.most = max(self.most or 0, spaces + 1)

    def parts(self) -> Iterator[pa.RecordBatch]:
        """The state, for the task that merges those of a file."""
        yield pa.record_batch({"most": pa.array([self.most], pa.int64())})

    def merge(self, part: pa.RecordBatch) -> None:
        """Another task's state of the same file."""
        other = part.column("most")[0].as_py()
        if other is not None:
            self.most = max(self.most or 0, other)

    def result(self) -> Mapping[str, pa.Array]:
        """One row of metadata; 0 for a file without a text."""
        return {"most": pa.array([self.most or 0], pa.int64())}


@dataclass(frozen=True, slots=True)
class MoreWords(Clause):
    """A clause: a file may hold a text with more words."""

    index: str
    words: int

    def may_match(self, metadata: FileMetadata) -> Mask:
        """Judge all files at once; one that is not known is kept."""
        most = metadata.column(self.index, "most")
        return mask_of(pc.fill_null(pc.greater(most, self.words), True))
