"""A table of sales that candidates are looked for on, and shapes that ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sketches import sketch_of
from starskip.advisor.families.star_tree.recommend.asked_shape import (
    AnswerableShape,
    AskedShape,
    answerable_shape,
)
from starskip.advisor.families.star_tree.recommend.combinations import value_codes
from starskip.advisor.families.star_tree.recommend.document_bytes import SampledRows
from starskip.advisor.families.star_tree.recommend.table_sample import TablePart, TableSample

DIMENSIONS = ("country", "browser", "day", "customer")
ROWS = 40_000


@pytest.fixture(scope="session")
def sales() -> pa.Table:
    """Return rows of which one country has 60 %; days and customers have many values."""
    drawn = np.random.default_rng(11)
    country = np.where(drawn.random(ROWS) < 0.6, 0, drawn.integers(1, 20, ROWS))
    return pa.table(
        {
            "country": pa.array([f"c{number:02}" for number in country]),
            "browser": pa.array(drawn.choice(["Chrome", "Firefox", "Safari"], ROWS)),
            "day": pa.array(drawn.integers(0, 365, ROWS), pa.int32()),
            "customer": pa.array(drawn.integers(0, 30_000, ROWS)),
            "price": pa.array(drawn.integers(100, 99_999, ROWS)).cast(pa.decimal128(21, 2)),
            "clicks": pa.array(drawn.geometric(0.1, ROWS)),
        }
    )


@pytest.fixture(scope="session")
def sales_sample(sales: pa.Table) -> TableSample:
    """Return all that is known of the sales."""
    return sample_of(sales, DIMENSIONS)


def sample_of(table: pa.Table, dimensions: tuple[str, ...]) -> TableSample:
    """Return all that is known of a table."""
    cuboids = sketch_of(table.to_batches(), dimensions, 1 << 20).cuboids()
    codes = {name: value_codes(table[name], values) for name, values in cuboids.values.items()}
    part = TablePart(cuboids, SampledRows(codes, table))
    types = {field.name: field.type for field in table.schema}
    return TableSample("sales", (part,), types, table.num_rows, float(table.nbytes))


@pytest.fixture(scope="session")
def days_sample(sales: pa.Table) -> TableSample:
    """Return all that is known of the sales with seven columns that have as many values as days."""
    drawn = np.random.default_rng(12)
    for number in range(7):
        sales = sales.append_column(f"day_{number}", pa.array(drawn.integers(0, 365, ROWS), pa.int32()))
    return sample_of(sales, ("country", *sales.column_names[-7:]))


@pytest.fixture(scope="session")
def asked(sales: pa.Table) -> Callable[..., AnswerableShape]:
    """Return a function from texts to a shape whose queries scan all rows each."""
    types: dict[str, Any] = {field.name: field.type for field in sales.schema}
    types |= {f"day_{number}": pa.int32() for number in range(7)}

    def shape(name: str, *texts: str, queries: float = 100.0) -> AnswerableShape:
        examples = tuple((text, 1.0) for text in texts)
        found = answerable_shape(AskedShape(name, queries, queries * ROWS, examples), types, (), "sales")
        assert isinstance(found, AnswerableShape), found
        return found

    return shape
