"""The tables of the bench, made up from a seed: rows, segments, indexes and star-trees."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from starskip.star_tree.star_tree_config import StarTreeConfig

ALL_PAIRS = (
    *("COUNT__*", "SUM__hits", "MIN__amount", "MAX__amount", "SUM__amount", "AVG__amount"),
    *("MINMAXRANGE__hits", "DISTINCTCOUNTHLL__visitor", "PERCENTILEEST__hits", "PERCENTILETDIGEST__amount"),
)
FEW_PAIRS = ("COUNT__*", "SUM__hits", "MAX__amount")
METRICS = {"hits": "INT", "amount": "DOUBLE", "visitor": "INT"}


@dataclass(frozen=True, slots=True)
class Tree:
    """A star-tree of the table, as Pinot's configuration has it."""

    dimensions: tuple[str, ...]
    max_leaf_records: int
    pairs: tuple[str, ...] = ALL_PAIRS
    skipped: tuple[str, ...] = ()

    @property
    def config(self) -> StarTreeConfig:
        """The configuration."""
        return StarTreeConfig.from_document(
            {
                "dimensionsSplitOrder": list(self.dimensions),
                "skipStarNodeCreationForDimensions": list(self.skipped),
                "functionColumnPairs": list(self.pairs),
                "maxLeafRecords": self.max_leaf_records,
            }
        )


@dataclass(frozen=True, slots=True)
class Table:
    """``segments``: rows of each. ``inverted``: columns that have such an index; ``raw``: no dictionary."""

    name: str
    dimensions: Mapping[str, str]
    segments: tuple[int, ...]
    trees: tuple[Tree, ...]
    inverted: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """Pinot's schema."""
        return {
            "schemaName": self.name,
            "dimensionFieldSpecs": [{"name": n, "dataType": t} for n, t in self.dimensions.items()],
            "metricFieldSpecs": [{"name": n, "dataType": t} for n, t in METRICS.items()],
        }

    @property
    def table_config(self) -> dict[str, Any]:
        """Pinot's table configuration."""
        return {
            "tableName": self.name,
            "tableType": "OFFLINE",
            "segmentsConfig": {"replication": "1"},
            "tenants": {},
            "tableIndexConfig": {
                "loadMode": "MMAP",
                "invertedIndexColumns": list(self.inverted),
                "noDictionaryColumns": list(self.raw),
                "starTreeIndexConfigs": [tree.config.to_document() for tree in self.trees],
            },
            "metadata": {},
        }


VISITS = {
    **{"country": "STRING", "browser": "STRING", "device": "STRING", "version": "INT", "day": "INT"},
    **{"page": "STRING", "note": "STRING"},
}
ORDERS = {"region": "STRING", "status": "STRING", "priority": "INT", "clerk": "INT", "month": "STRING"}
_VISITS = ("day", "country", "browser", "device", "version")
_ORDERS = ("clerk", "month", "region", "status", "priority")
TABLES = (
    Table("visits_deep", VISITS, (30_000,), (Tree(_VISITS, 100),), raw=("note",)),
    Table(
        "visits_two",
        VISITS,
        (30_000,),
        (
            Tree(("country", "browser", "device"), 1, FEW_PAIRS),
            Tree(("version", "country", "day", "browser", "device"), 2_000, skipped=("version", "browser")),
        ),
        raw=("note",),
    ),
    Table("orders_flat", ORDERS, (8_000, 20_000, 3_000), (Tree(_ORDERS, 10_000),)),
    Table(
        "orders_two",
        ORDERS,
        (8_000, 20_000, 3_000),
        (
            Tree(("status", "region", "month", "priority", "clerk"), 500),
            Tree(("region", "month"), 10, FEW_PAIRS, skipped=("month",)),
        ),
        inverted=("status", "region"),
    ),
)


def rows_of(table: Table, seed: int) -> list[pa.Table]:
    """Return the rows of each segment."""
    generator = np.random.default_rng([seed, sum(map(ord, table.name.partition("_")[0]))])
    made = _visits if table.dimensions is VISITS else _orders
    return [made(generator, rows, number) for number, rows in enumerate(table.segments)]


def write_csv(rows: pa.Table, file: Path) -> None:
    """Write rows as Pinot takes them."""
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(rows.column_names)
        writer.writerows(zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True))


def _visits(generator: np.random.Generator, rows: int, _: int) -> pa.Table:
    country = np.minimum(generator.geometric(0.18, rows) - 1, 24)
    browser = generator.choice(6, rows, p=[0.5, 0.2, 0.15, 0.1, 0.04, 0.01])
    # Some versions belong to one browser only, and phones have few of them.
    version = browser * 7 + generator.integers(0, 7, rows)
    day = generator.integers(0, 60, rows)
    return _with_metrics(
        {
            "country": [f"C{code:02d}" for code in country],
            "browser": np.array(["chrome", "firefox", "safari", "edge", "opera", "lynx"])[browser].tolist(),
            "device": np.array(["desktop", "phone", "tablet", "tv"])[
                np.where(browser == 2, 1, generator.integers(0, 4, rows))
            ].tolist(),
            "version": version.tolist(),
            "day": (20_260_100 + day).tolist(),
            "page": [f"/p/{number}" for number in generator.integers(0, 400, rows)],
            "note": [f"n{number}" for number in generator.integers(0, 5_000, rows)],
        },
        generator,
        rows,
    )


def _orders(generator: np.random.Generator, rows: int, number: int) -> pa.Table:
    region = generator.choice(5, rows, p=[0.4, 0.3, 0.2, 0.07, 0.03])
    # Each segment has its own months, and clerks of some regions only.
    month = 2 * number + generator.integers(0, 4, rows)
    clerk = region * 200 + generator.integers(0, 300, rows)
    status = generator.choice(4, rows, p=[0.6, 0.25, 0.1, 0.05])
    return _with_metrics(
        {
            "region": np.array(["north", "south", "east", "west", "isles"])[region].tolist(),
            "status": np.array(["open", "paid", "sent", "lost"])[status].tolist(),
            "priority": generator.integers(1, 6, rows).tolist(),
            "clerk": clerk.tolist(),
            "month": [f"2026-{code + 1:02d}" for code in month],
        },
        generator,
        rows,
    )


def _with_metrics(
    dimensions: Mapping[str, Sequence[Any]], generator: np.random.Generator, rows: int
) -> pa.Table:
    return pa.table(
        {
            **dimensions,
            "hits": generator.integers(0, 100, rows),
            "amount": np.round(generator.gamma(2.0, 40.0, rows), 2),
            "visitor": generator.integers(0, 2_000, rows),
        }
    )
