"""Reads a CSV file as Spark reads it, every column a text, or not at all.

Arrow parses what both read alike. What Spark reads in a way of its own is refused: quotes within a field,
rows of another number of fields than the first line has, escapes within quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from starskip.lake.data_pieces import Piece, Positions, UnlikeSpark, columns_of, is_behind, reaches
from starskip.lake.text_blocks import TextFile

_BLANK_LINE = re.compile(rb"(?m)^[\x01-\x20]*\n|^[\x01-\x20]+\Z")
"""Spark leaves out lines that are empty once trimmed."""
_MOST_COLUMNS = 20_480
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """The options of ``spark.read`` that are understood, with Spark's defaults."""

    header: bool = False
    separator: str = ","
    null_value: str = ""


def csv_options(options: Mapping[str, str]) -> CsvOptions:
    """Return options by their names in any case. Raises UnlikeSpark for a value that is not read here."""
    given = {name.lower(): value for name, value in options.items()}
    header = _FLAGS.get(given.get("header", "false").lower())
    if header is None:
        raise UnlikeSpark(f"option header is true or false, not {given['header']}")
    if given.get("inferschema", "false").lower() != "false":
        raise UnlikeSpark("option inferSchema is not read: without it all columns are texts")
    separator = given.get("sep", given.get("delimiter", ",")).replace("\\t", "\t")
    if len(separator) != 1 or not (separator == "\t" or " " < separator < "\x7f") or separator in '"\\':
        raise UnlikeSpark("option sep is one character of ASCII, and no quote or backslash")
    return CsvOptions(header, separator, given.get("nullvalue", ""))


@dataclass(frozen=True)
class CsvFile(TextFile):
    """Implements PiecedFile; the whole file is one unit, read in blocks of lines."""

    options: CsvOptions

    @cached_property
    def schema(self) -> pa.Schema:
        """See PiecedFile; the first line tells it."""
        first = next(self._lines(), b"")
        if not first:
            return pa.schema([])
        row = self._parsed(first.split(b"\n", 1)[0] + b"\n", None)
        if not self.options.header:
            return pa.schema([pa.field(f"_c{at}", pa.string()) for at in range(row.num_columns)])
        names = [column[0].as_py() for column in row.columns]
        small = [None if name is None else name.lower() for name in names]
        if None in names or len({*small}) < len(small):
            raise UnlikeSpark("its header has a column without a name, or a name twice")
        return pa.schema([pa.field(name, pa.string()) for name in names])

    def pieces(self, schema: pa.Schema, positions: Positions | None) -> Iterator[Piece]:
        """See PiecedFile; a block of lines without a position is counted, and not parsed."""
        own = self.schema
        names = columns_of(own, schema.names)
        start = 0
        is_first = self.options.header
        for block in self._lines():
            lines = block.split(b"\n", 1)[1] if is_first else block
            is_first = False
            rows = lines.count(b"\n")
            if is_behind(positions, start):
                return
            if rows and reaches(positions, start, rows):
                found = self._parsed(lines, own.names)
                if found.num_rows != rows:
                    raise UnlikeSpark("it has other rows than lines")
                yield Piece(start, found.select(names), 0, rows)
            start += rows

    def _lines(self) -> Iterator[bytes]:
        """Yield blocks of lines that are not blank, each of which ends with a line feed."""
        for block in self.line_blocks():
            if b"\0" in block:
                raise UnlikeSpark("it has a byte of zero")
            filled = _BLANK_LINE.sub(b"", block)
            if filled:
                yield filled if filled.endswith(b"\n") else filled + b"\n"

    def _parsed(self, lines: bytes, names: list[str] | None) -> pa.Table:
        options = self.options
        if lines.count(b'"') != 2 * len(_whole_quotes(options.separator).findall(lines)):
            raise UnlikeSpark("it has quotes or escapes within a field")
        read = csv.ReadOptions(
            use_threads=False,
            block_size=len(lines) + 1,
            column_names=names,
            autogenerate_column_names=names is None,
        )
        parse = csv.ParseOptions(delimiter=options.separator, double_quote=False, newlines_in_values=False)
        try:
            width = (
                len(names)
                if names is not None
                else csv.read_csv(pa.BufferReader(lines), read, parse).num_columns
            )
            if width > _MOST_COLUMNS:
                raise UnlikeSpark(f"it has more than {_MOST_COLUMNS} columns")
            kinds = {name: pa.string() for name in names or [f"f{at}" for at in range(width)]}
            convert = csv.ConvertOptions(
                column_types=kinds,
                null_values=[""],
                strings_can_be_null=True,
                # An empty text in quotes is null if that is what stands for null.
                quoted_strings_can_be_null=options.null_value == "",
            )
            found = csv.read_csv(pa.BufferReader(lines), read, parse, convert)
        except pa.ArrowInvalid as error:
            raise UnlikeSpark(f"a row has another number of fields than others ({error})") from error
        if options.null_value == "":
            return found
        columns = [
            pc.if_else(pc.equal(column, options.null_value), pa.scalar(None, pa.string()), column)
            for column in found.columns
        ]
        return pa.table(columns, names=found.column_names)


def _whole_quotes(separator: str) -> re.Pattern[bytes]:
    """Return the pattern of fields that are quoted from their beginning to their end."""
    of = re.escape(separator.encode())
    return re.compile(rb"(?m)(?:(?<=" + of + rb')|^)"[^"\\\n]*"(?=' + of + rb"|$)")
