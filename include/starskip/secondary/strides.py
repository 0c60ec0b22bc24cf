"""Count the rows in the pages and row groups of a file, for the columns that a query needs."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.secondary.cost import Stride
from starskip.secondary.data_file import DataFileOfTable, reading
from starskip.secondary.read_rows import column_bytes, dictionary_columns

_STEP = 2.0
"""Columns whose page lengths differ by less than this factor are one stride."""


def strides_of(
    file: DataFileOfTable,
    columns: Sequence[str],
    rows: int,
    texts: frozenset[str] = frozenset(),
) -> tuple[Stride, ...]:
    """Return the strides of columns of a file with ``rows`` rows, none for an empty file.

    ``texts``: columns whose values vary in length; texts in a short dictionary are read as numbers.

    Only a Parquet file's first row group is looked at for pages and dictionaries. Raises SourceError naming a
    file that cannot be read.
    """
    if file.is_orc:
        return _orc_strides(file, columns, rows, texts)
    footer = file.footer()
    if footer is None or not footer.num_rows:
        return ()
    paged = file.paged()
    groups = range(footer.num_row_groups)
    group_rows = footer.num_rows / footer.num_row_groups
    strides: list[tuple[float, bool, dict[str, float]]] = [(group_rows, False, {})]
    stored = file.stored_names(columns)
    short = dictionary_columns(footer, 0, list(stored.values()))
    texts -= {name for name, there in stored.items() if there in short}
    for name in columns:
        there = stored.get(name, name)
        pages = None if paged is None else paged.pages(0, there)
        is_page = pages is not None and len(pages.offsets) > 1
        unit_rows = pages.rows / len(pages.offsets) if is_page and pages is not None else group_rows
        row_bytes = column_bytes(footer, groups, [there]) / footer.num_rows
        for length, of_pages, found in strides:
            if of_pages == is_page and 1 / _STEP < unit_rows / length < _STEP:
                found[name] = row_bytes
                break
        else:
            strides.append((unit_rows, is_page, {name: row_bytes}))
    return tuple(Stride(rows, found, is_page, texts & found.keys()) for rows, is_page, found in strides)


def _orc_strides(
    file: DataFileOfTable, columns: Sequence[str], rows: int, texts: frozenset[str]
) -> tuple[Stride, ...]:
    """Return the one stride of an ORC file, its stripes; its bytes are shared evenly among its columns."""
    stripes = file.units()
    if not rows or not stripes:
        return ()
    with reading(file.path):
        row_bytes = file.size_bytes / rows / max(len(file.orc().schema), 1)
    return (Stride(rows / stripes, dict.fromkeys(columns, row_bytes), False, texts & set(columns)),)
