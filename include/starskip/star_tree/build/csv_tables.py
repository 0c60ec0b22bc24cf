r"""Rows of CSV files with a header: ``\N`` is null, and so is an empty field of any type but text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from starskip.errors import SourceError
from starskip.storage.files.open_file import open_file

_BLOCK_BYTES = 16 << 20
_HEADER_BYTES = 1 << 20
_NULL = "\\N"
_OF_COLUMN = re.compile(r"In CSV column #(\d{1,9}): (.{0,300})")


def csv_tables(path: str, types: Mapping[str, pa.DataType], columns: list[str] | None) -> Iterator[pa.Table]:
    """Yield the rows of a file in tables of some megabytes; an empty file may give a table without rows.

    Types not given are inferred from the first block. Raises SourceError naming the file and the column for a
    value of another type, and Arrow's errors for other damage.
    """
    convert = pacsv.ConvertOptions(
        column_types=dict(types), include_columns=columns, null_values=["", _NULL], strings_can_be_null=False
    )
    read = pacsv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False)
    # A quoted text may hold line breaks.
    parse = pacsv.ParseOptions(newlines_in_values=True)
    try:
        with (
            open_file(path) as file,
            pacsv.open_csv(file, read_options=read, parse_options=parse, convert_options=convert) as reader,
        ):
            yield _with_text_nulls(reader.schema.empty_table())
            for batch in reader:
                yield _with_text_nulls(pa.Table.from_batches([batch]))
    except pa.ArrowKeyError as error:
        header = _header(path)
        missing = next(name for name in columns or [""] if name not in header)
        raise SourceError(
            f"{path}: column {missing} is missing, which other files have", source=path
        ) from error
    except pa.ArrowInvalid as error:
        found = _OF_COLUMN.search(str(error))
        if found is None:
            raise
        header, number = _header(path), int(found[1])
        column = header[number] if number < len(header) else f"{number + 1} of the file"
        raise SourceError(f"{path}: column {column}: {found[2]}", source=path) from error


def csv_types(path: str) -> tuple[pa.Schema, bool]:
    """Return the types of a file's columns, inferred from its first block, and whether it has a row in it.

    A column without a value is text: as text it is read without loss.
    """
    tables = csv_tables(path, {}, None)
    first = next(tables)
    has_rows = any(table.num_rows for table in tables)
    fields = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in first.schema]
    return pa.schema(fields), has_rows


def _header(path: str) -> list[str]:
    """Return the names in the first line, for error messages."""
    with open_file(path) as file:
        text = file.read(_HEADER_BYTES).decode("utf-8-sig", "replace")
    with suppress(csv.Error, StopIteration):
        return next(csv.reader(io.StringIO(text, newline="")))
    return []


def _with_text_nulls(table: pa.Table) -> pa.Table:
    for position, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            is_null = pc.equal(column, _NULL)
            if pc.any(is_null).as_py():
                filled = pc.if_else(is_null, pa.scalar(None, pa.string()), column)
                table = table.set_column(position, table.field(position).name, filled)
    return table
