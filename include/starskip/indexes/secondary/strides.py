"""How many rows lie in the pages and row groups of a file, by the columns that a query needs."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.indexes.secondary.cost import Stride
from starskip.indexes.secondary.read_rows import DataFileOfTable, column_bytes

_STEP = 2.0
"""Columns whose pages differ less in length are one stride."""


def strides_of(file: DataFileOfTable, columns: Sequence[str]) -> tuple[Stride, ...]:
    """Return the strides of columns of a file, none for one without rows; its first row group tells of pages.

    Raises SourceError naming a file that cannot be read.
    """
    footer = file.footer()
    if footer is None or not footer.num_rows:
        return ()
    paged = file.paged()
    groups = range(footer.num_row_groups)
    group_rows = footer.num_rows / footer.num_row_groups
    strides: list[tuple[float, bool, dict[str, float]]] = [(group_rows, False, {})]
    for name in columns:
        pages = None if paged is None else paged.pages(0, name)
        is_page = pages is not None and len(pages.offsets) > 1
        rows = pages.rows / len(pages.offsets) if is_page and pages is not None else group_rows
        row_bytes = column_bytes(footer, groups, [name]) / footer.num_rows
        for length, of_pages, found in strides:
            if of_pages == is_page and 1 / _STEP < rows / length < _STEP:
                found[name] = row_bytes
                break
        else:
            strides.append((rows, is_page, {name: row_bytes}))
    return tuple(Stride(rows, found, is_page) for rows, is_page, found in strides)
