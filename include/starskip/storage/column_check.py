"""Check rows against the schema of their artefact; errors name the artefact and the column."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from starskip.errors import StorageError, printable


def require_columns(present: Collection[str], schema: pa.Schema, *, artefact: str, location: str) -> None:
    """Raise ``StorageError`` for the first column of ``schema`` that is not among ``present``."""
    for column in schema.names:
        if column not in present:
            raise StorageError(
                f"{artefact}: column {column} is missing in {location}; run the step that writes it again",
                location=location,
            )


def fitted(rows: pa.Table, schema: pa.Schema, *, artefact: str, location: str) -> pa.Table:
    """Return ``rows`` with exactly the columns, order and types of ``schema``.

    Raises ``StorageError`` for a column that is missing, unknown, or whose values its type cannot hold.
    """
    require_columns(rows.schema.names, schema, artefact=artefact, location=location)
    for column in rows.schema.names:
        if column not in schema.names:
            raise StorageError(
                f"{artefact}: column {printable(column, 100)} is not in its schema", location=location
            )
    return pa.table([_cast(rows, column, artefact, location) for column in schema], schema=schema)


def _cast(rows: pa.Table, column: pa.Field[Any], artefact: str, location: str) -> pa.ChunkedArray[Any]:
    try:
        return rows.column(column.name).cast(column.type)
    except (pa.ArrowException, KeyError) as error:
        detail = "occurs twice" if isinstance(error, KeyError) else printable(str(error), 200)
        raise StorageError(
            f"{artefact}: column {column.name} does not hold {column.type}: {detail}", location=location
        ) from error
