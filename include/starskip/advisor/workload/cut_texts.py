"""Find the length at which a broker cuts the query texts that it logs.

A broker logs at most ``pinot.broker.query.log.length`` characters of a query; all if it is not set. What is
left may read as a whole query: ``… AND De`` asks a column, ``= 'SF`` a value. But each cut text is as long as
the others, and none is longer. Many whole texts are equally long as well, such as those of one form. So the
greatest length of a log is that of cut texts if several texts have it, and one of them ends before its end:
in a literal, in the middle of a clause, or in a name where a condition must stand, unless it is a BOOLEAN
column. A text that the parser refuses before its end tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.workload.sql_text import sql_text
from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import is_open, normalize_sql
from starskip.sql.query_shape import parsed_shape
from starskip.sql.redacted_text import is_wholly_redacted

CUT = "cut"
CUT_LENGTHS = "cut_lengths"
"""The property of ``queries``, under ``log``, that holds the lengths of cut texts."""
_MOST_TEXTS = 8
"""Texts of a batch that are parsed; most cuts show in one of them."""
_MOST_NAMES = 1_000
_SAMPLED_ROWS = 512
_TAIL = 80
_BARE_NAME = r"(?i)(?P<between>\bBETWEEN +\S+ +)?\b(?:WHERE|AND|OR|NOT) +(?P<name>\"?[A-Za-z_$][\w.$]*\"?)$"
"""A name at the end of a text, where a condition must stand unless it is the second end of a BETWEEN."""
_FROM = re.compile(r"\bFROM +\S", re.IGNORECASE)
_QUERY = re.compile(r"[( ]*(?:SET|SELECT|WITH)\b", re.IGNORECASE)
_WORDS_AT_END = 2
"""The most words behind the word at which the parser gives up on a text that was cut."""


@dataclass(frozen=True, slots=True)
class TextLengths:
    """The greatest length of query texts in a log, and what shows whether texts of it are cut.

    ``texts``: hashes of two of them. ``bare``: names that stand for a condition at their end. ``whole``: such
    names by the length of the shortest text, also of other lengths.
    """

    longest: int = 0
    texts: frozenset[str] = frozenset()
    is_unfinished: bool = False
    bare: frozenset[str] = frozenset()
    whole: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, more: TextLengths) -> TextLengths:
        """Return what both logs together show; associative, with TextLengths() as zero."""
        whole = dict(self.whole)
        for name, length in more.whole.items():
            whole[name] = min(length, whole.get(name, length))
        kept = dict(sorted(whole.items())[:_MOST_NAMES])
        longest = max(self.longest, more.longest)
        found = [each for each in (self, more) if each.longest == longest]
        return TextLengths(
            longest,
            frozenset(sorted({text for each in found for text in each.texts})[:2]),
            any(each.is_unfinished for each in found),
            frozenset(sorted({name for each in found for name in each.bare})[:_MOST_NAMES]),
            kept,
        )

    def cut(self, booleans: Collection[str] = ()) -> int | None:
        """Return the length at which texts are cut, None if none is; ``booleans``: as in cut_lengths."""
        known = {column.lower() for column in booleans}
        # A name that ends a shorter text is that of a boolean column.
        odd = any(
            self.whole.get(name, self.longest) >= self.longest and _meanings(name).isdisjoint(known)
            for name in self.bare
        )
        return self.longest if len(self.texts) > 1 and (self.is_unfinished or odd) else None

    def to_json(self) -> dict[str, Any]:
        """Return the document from which ``text_lengths_of`` makes the same again."""
        return {
            "longest": self.longest,
            "texts": sorted(self.texts),
            "is_unfinished": self.is_unfinished,
            "bare": sorted(self.bare),
            "whole": self.whole,
        }


def text_lengths_of(document: Mapping[str, Any]) -> TextLengths:
    """Return what a document of ``to_json`` holds."""
    return TextLengths(
        document["longest"],
        frozenset(document["texts"]),
        document["is_unfinished"],
        frozenset(document["bare"]),
        document["whole"],
    )


def with_greatest_lengths(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return LOG_RECORDS without the lengths of texts that are shorter than another: no broker cut these."""
    name = "query_text_length"
    position, field = batch.schema.get_field_index(name), batch.schema.field(name)
    lengths = pc.if_else(pc.equal(batch.column("kind"), "query"), batch.column(name), None)
    greatest = pc.if_else(pc.equal(lengths, pc.max(lengths)), lengths, None)
    return batch.set_column(position, field, greatest)


def text_lengths(batch: pa.RecordBatch) -> TextLengths:
    """Return what a batch of ``with_greatest_lengths`` shows, before queries of several tables are shared."""
    succeeded = batch.filter(pc.equal(pc.fill_null(batch.column("exceptions"), 0), 0))
    longest = succeeded.filter(pc.is_valid(succeeded.column("query_text_length")))
    if not longest.num_rows:
        return TextLengths()
    (length,) = pc.unique(longest.column("query_text_length")).to_pylist()
    pairs = zip(*(longest.column(name).to_pylist() for name in ("query_text", "line_format")), strict=True)
    texts = {_hash(text): (text, form) for text, form in pairs}
    looked_at = [texts[each] for each in sorted(texts)[:_MOST_TEXTS]]
    bare = (re.search(_BARE_NAME, text[-_TAIL:]) for text, _ in looked_at)
    return TextLengths(
        length,
        frozenset(sorted(texts)[:2]),
        any(_is_unfinished(text, form) for text, form in looked_at),
        frozenset(found["name"] for found in bare if found and not found["between"]),
        _ending_names(batch.slice(0, _SAMPLED_ROWS), below=length),
    )


def cut_lengths(
    setting: int, files: Iterable[TextLengths], booleans: Collection[str] = ()
) -> tuple[int, ...]:
    """Return the lengths of cut texts: ``setting`` if it is one, else those of each file and of all.

    ``booleans``: BOOLEAN columns of the log's tables, which may stand for a condition.
    """
    files = list(files)
    if setting:
        return (setting,) if any(each.longest >= setting for each in files) else ()
    found = {each.cut(booleans) for each in (*files, sum(files, start=TextLengths()))}
    return tuple(sorted(length for length in found if length is not None))


def cut_words(lengths: Collection[int]) -> list[str]:
    """Return a warning if texts are cut."""
    return [
        f"query texts of {length:,} characters are cut by the broker and not understood: set its "
        "pinot.broker.query.log.length higher"
        for length in lengths
    ]


def _ending_names(batch: pa.RecordBatch, below: int) -> dict[str, int]:
    """Return names that end queries in place of a condition, with the length of the shortest query."""
    queries = batch.filter(pc.equal(batch.column("kind"), "query")).column("query_text")
    ends = pc.extract_regex(pc.utf8_slice_codeunits(queries, -_TAIL), _BARE_NAME).to_pylist()
    found: dict[str, int] = {}
    for end, length in zip(ends, pc.utf8_length(queries).to_pylist(), strict=True):
        if end and not end["between"] and length < below:
            found[end["name"]] = min(length, found.get(end["name"], length))
    return found


def _is_unfinished(text: str, line_format: str | None) -> bool:
    if is_wholly_redacted(text):
        return False
    skeleton = normalize_sql(sql_text(text, line_format)).skeleton
    if is_open(text) or not _FROM.search(skeleton):
        return True
    try:
        parsed_shape(skeleton)
    except UnsupportedQuery as error:
        if error.reason == "not_a_select":
            return _QUERY.match(skeleton) is not None
        found = getattr(error.__cause__, "errors", ())[:1]  # of sqlglot's ParseError
        return any(len((each["end_context"] or "").split()) <= _WORDS_AT_END for each in found)
    return False


def _meanings(name: str) -> frozenset[str]:
    """Return the columns that a name may mean, in lower case: also without its table's."""
    bare = name.replace('"', "").lower()
    return frozenset((bare, bare.partition(".")[2]))


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
