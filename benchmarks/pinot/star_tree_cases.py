"""Cases of the benchmark for Pinot and Starskip: tables, trees, queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starskip.star_tree.star_tree_config import StarTreeConfig

DIMENSIONS = ("l_returnflag", "l_linestatus", "l_shipmode", "l_shipinstruct", "l_shipdate")
EXACT_PAIRS = (
    *("COUNT__*", "SUM__l_quantity", "SUM__l_extendedprice", "MIN__l_extendedprice", "MAX__l_extendedprice"),
    *("AVG__l_discount", "MINMAXRANGE__l_extendedprice"),
)
SKETCH_PAIRS = (
    *("COUNT__*", "DISTINCTCOUNTHLL__l_suppkey"),
    *("PERCENTILEEST__l_quantity", "PERCENTILETDIGEST__l_extendedprice"),
)
PINOT_TYPES = {
    **dict.fromkeys((*DIMENSIONS, "Country", "Browser", "Locale"), "STRING"),
    **{"l_suppkey": "INT", "l_quantity": "INT", "l_extendedprice": "DOUBLE", "l_discount": "DOUBLE"},
    "Impressions": "INT",
}
CASTS = {"l_shipdate": "string"}
"""Starskip would read dates of a CSV file as dates; in Pinot they are text."""
SEED_ROWS = """Country,Browser,Locale,Impressions
CA,Chrome,en,400
CA,Firefox,fr,200
MX,Safari,es,300
MX,Safari,en,100
USA,Chrome,en,600
USA,Firefox,es,200
USA,Firefox,en,400
"""
"""The example of LinkedIn's article on star-trees, which counts 27 documents."""


@dataclass(frozen=True, slots=True)
class Case:
    """One table with one tree; ``segments`` tells into how many files its rows are cut."""

    name: str
    dimensions: tuple[str, ...]
    max_leaf_records: int
    pairs: tuple[str, ...] = EXACT_PAIRS
    skipped: tuple[str, ...] = ()
    segments: int = 1
    is_seed: bool = False

    @property
    def config(self) -> StarTreeConfig:
        """The tree's configuration."""
        return StarTreeConfig.from_document(
            {
                "dimensionsSplitOrder": list(self.dimensions),
                "skipStarNodeCreationForDimensions": list(self.skipped),
                "functionColumnPairs": list(self.pairs),
                "maxLeafRecords": self.max_leaf_records,
            }
        )

    @property
    def casts(self) -> dict[str, str]:
        """Return the types as which Starskip is to read the columns."""
        return {} if self.is_seed else CASTS

    @property
    def schema(self) -> dict[str, Any]:
        """Pinot's schema of the columns that the tree needs."""
        columns = self.config.columns
        measured = [name for name in columns if name not in self.dimensions]
        return {
            "schemaName": self.name,
            "dimensionFieldSpecs": [_field(name) for name in self.dimensions],
            "metricFieldSpecs": [_field(name) for name in measured],
        }

    @property
    def table_config(self) -> dict[str, Any]:
        """Pinot's table configuration, with the tree as Starskip writes it."""
        return {
            "tableName": self.name,
            "tableType": "OFFLINE",
            "segmentsConfig": {"replication": "1"},
            "tenants": {},
            "tableIndexConfig": {"loadMode": "MMAP", "starTreeIndexConfigs": [self.config.to_document()]},
            "metadata": {},
        }


def _field(name: str) -> dict[str, str]:
    return {"name": name, "dataType": PINOT_TYPES[name]}


FLAGS_FIRST = DIMENSIONS
DATES_FIRST = ("l_shipdate", "l_returnflag", "l_linestatus", "l_shipmode", "l_shipinstruct")
CASES = (
    Case("seed", ("Country", "Browser", "Locale"), 1, pairs=("SUM__Impressions",), is_seed=True),
    Case("dates_1", DATES_FIRST, 1),
    Case("dates_100", DATES_FIRST, 100),
    Case("flags_100", FLAGS_FIRST, 100),
    Case("flags_10000", FLAGS_FIRST, 10_000),
    Case(
        "skipped_1",
        ("l_shipdate", "l_linestatus", "l_shipmode", "l_returnflag"),
        1,
        skipped=("l_linestatus", "l_shipmode"),
    ),
    Case("segments_4", FLAGS_FIRST, 100, segments=4),
    Case("sketches_1", ("l_shipmode", "l_shipinstruct", "l_returnflag"), 1, pairs=SKETCH_PAIRS),
    Case("sketches_segments", ("l_returnflag", "l_shipmode"), 1, pairs=SKETCH_PAIRS, segments=4),
    Case("small_10000", ("l_shipmode", "l_shipinstruct", "l_returnflag"), 10_000),
)

ALL = (
    "COUNT(*), SUM(l_quantity), SUM(l_extendedprice), MIN(l_extendedprice), MAX(l_extendedprice), "
    "AVG(l_discount), MINMAXRANGE(l_extendedprice)"
)
From = Literal["tree", "rows", "metadata"]


@dataclass(frozen=True, slots=True)
class Query:
    """One query; ``where`` has the conditions by the dimension that each is about.

    ``group_by`` are dimensions, ``keys`` what is selected and grouped by where that is an expression of
    them. ``other_where`` is a condition on several dimensions. ``pinot_reads`` and ``we_read``: what the
    answer comes from. ``is_ordered``: the order of the rows is asked for.
    """

    select: str
    where: Mapping[str, str] = field(default_factory=dict)
    group_by: tuple[str, ...] = ()
    having: str = ""
    order: str = ""
    keys: str = ""
    other_where: str = ""
    pinot_reads: From = "tree"
    we_read: From = "tree"

    @property
    def columns(self) -> set[str]:
        """The dimensions that it asks for."""
        return {*self.where, *self.group_by, *(name for name in DIMENSIONS if name in self.other_where)}

    @property
    def condition(self) -> str:
        """Return the condition on rows, as SQL."""
        return " AND ".join([*self.where.values(), *([self.other_where] if self.other_where else [])])

    def sql(self, table: str) -> str:
        """Return it as SQL of Pinot, which DuckDB and Starskip take as well."""
        keys = self.keys or ", ".join(self.group_by)
        parts = [f"SELECT {f'{keys}, ' if keys else ''}{self.select} FROM {table}"]
        if self.condition:
            parts.append(f"WHERE {self.condition}")
        if keys:
            parts.append(f"GROUP BY {keys}{f' HAVING {self.having}' if self.having else ''}")
        if self.order:
            parts.append(self.order)
        elif keys:
            parts.append("LIMIT 100000")  # Pinot gives ten groups otherwise
        return " ".join(parts)


QUERIES = (
    # No predicate.
    Query(ALL),
    Query("COUNT(*)", pinot_reads="metadata"),
    Query("MIN(l_extendedprice), MAX(l_extendedprice)", pinot_reads="metadata"),
    Query("SUM(l_quantity) / COUNT(*)"),
    # Equality.
    Query(ALL, {"l_returnflag": "l_returnflag = 'R'"}),
    Query(ALL, {"l_shipmode": "l_shipmode = 'RAIL'"}),
    Query(ALL, {"l_shipdate": "l_shipdate = '1995-06-17'"}),
    Query(ALL, {"l_linestatus": "l_linestatus = 'O'", "l_shipinstruct": "l_shipinstruct = 'NONE'"}),
    Query(
        ALL,
        {
            "l_returnflag": "l_returnflag = 'N'",
            "l_linestatus": "l_linestatus = 'O'",
            "l_shipmode": "l_shipmode = 'AIR'",
            "l_shipdate": "l_shipdate = '1997-01-02'",
        },
    ),
    Query("COUNT(*)", {"l_returnflag": "l_returnflag = 'A'", "l_linestatus": "l_linestatus = 'O'"}),
    Query("COUNT(*)", {"l_shipmode": "l_shipmode = 'ROCKET'"}),
    # IN, NOT IN, <>.
    Query(ALL, {"l_shipmode": "l_shipmode IN ('AIR', 'REG AIR')"}),
    Query(ALL, {"l_shipmode": "l_shipmode IN ('AIR', 'FOB', 'MAIL', 'RAIL', 'REG AIR', 'SHIP', 'TRUCK')"}),
    Query(ALL, {"l_shipdate": "l_shipdate IN ('1994-01-01', '1995-05-05', '1998-08-08', '2030-01-01')"}),
    Query(ALL, {"l_shipmode": "l_shipmode NOT IN ('AIR', 'REG AIR', 'TRUCK')"}),
    Query(ALL, {"l_returnflag": "l_returnflag <> 'N'"}),
    Query(ALL, {"l_shipmode": "l_shipmode <> 'SHIP'", "l_shipdate": "l_shipdate <> '1996-01-01'"}),
    # Ranges.
    Query(ALL, {"l_shipdate": "l_shipdate < '1992-03-01'"}),
    Query(ALL, {"l_shipdate": "l_shipdate <= '1998-09-02'"}),
    Query(ALL, {"l_shipdate": "l_shipdate > '1998-11-01'"}),
    Query(ALL, {"l_shipdate": "l_shipdate >= '1900-01-01'"}),
    Query(ALL, {"l_shipdate": "l_shipdate BETWEEN '1994-01-01' AND '1994-12-31'"}),
    Query(
        ALL,
        {
            "l_shipdate": "l_shipdate >= '1995-03-01' AND l_shipdate < '1995-04-01'",
            "l_shipmode": "l_shipmode IN ('MAIL', 'SHIP')",
        },
    ),
    Query(ALL, {"l_shipmode": "l_shipmode > 'M'", "l_returnflag": "l_returnflag = 'A'"}),
    # AND, OR on one dimension.
    Query(ALL, {"l_shipmode": "(l_shipmode = 'AIR' OR l_shipmode = 'MAIL')"}),
    Query(ALL, {"l_shipdate": "(l_shipdate < '1992-02-01' OR l_shipdate > '1998-11-15')"}),
    Query(
        ALL,
        {
            "l_shipmode": "(l_shipmode = 'FOB' OR l_shipmode IN ('SHIP', 'RAIL') OR l_shipmode > 'T')",
            "l_shipdate": "(l_shipdate BETWEEN '1993-01-01' AND '1993-01-31' OR l_shipdate = '1997-07-07')",
        },
    ),
    # Pinot makes one range of the two that are joined by AND.
    Query(
        ALL,
        {
            "l_shipdate": "((l_shipdate > '1994-01-01' AND l_shipdate < '1994-02-01') "
            "OR l_shipdate > '1998-11-15')"
        },
    ),
    # What Pinot answers from rows.
    Query(ALL, {"l_shipmode": "l_shipmode LIKE 'R%'"}, pinot_reads="rows"),
    Query(
        ALL,
        {
            "l_shipmode": "((l_shipmode > 'M' AND l_shipmode <> 'SHIP') OR l_shipmode = 'AIR')",
        },
        pinot_reads="rows",
    ),
    Query(
        ALL,
        other_where="(l_shipmode = 'AIR' OR l_returnflag = 'R')",
        pinot_reads="rows",
        we_read="rows",
    ),
    # Groups.
    Query(ALL, group_by=("l_returnflag",)),
    Query(ALL, group_by=("l_shipmode",)),
    Query(ALL, group_by=("l_shipdate",)),
    Query(ALL, group_by=("l_returnflag", "l_linestatus")),
    Query(ALL, {"l_shipdate": "l_shipdate <= '1998-09-02'"}, ("l_returnflag", "l_linestatus")),
    Query(ALL, {"l_shipmode": "l_shipmode IN ('AIR', 'FOB')"}, ("l_shipmode", "l_shipinstruct")),
    Query(ALL, {"l_returnflag": "l_returnflag <> 'A'"}, ("l_shipmode",)),
    Query(ALL, {"l_shipmode": "l_shipmode = 'TRUCK'", "l_linestatus": "l_linestatus = 'F'"}, ("l_shipdate",)),
    Query(ALL, group_by=("l_shipmode", "l_returnflag", "l_shipdate")),
    Query(ALL, group_by=("l_shipmode",), keys="LOWER(l_shipmode)"),
    Query("COUNT(*)", {}, ("l_shipdate",), having="COUNT(*) > 160"),
    Query(
        "SUM(l_extendedprice)",
        {"l_returnflag": "l_returnflag = 'N'"},
        ("l_shipdate",),
        order="ORDER BY SUM(l_extendedprice) DESC LIMIT 7",
    ),
    Query(
        "COUNT(*), SUM(l_quantity)",
        {"l_shipdate": "l_shipdate BETWEEN '1996-01-01' AND '1996-06-30'"},
        ("l_shipmode", "l_linestatus"),
        order="ORDER BY l_shipmode, l_linestatus LIMIT 20",
    ),
)

APPROXIMATE = (
    "DISTINCTCOUNTHLL(l_suppkey)",
    *(f"PERCENTILEEST(l_quantity, {percentile})" for percentile in (5, 50, 95)),
    *(f"PERCENTILETDIGEST(l_extendedprice, {percentile})" for percentile in (5, 50, 99)),
)
APPROXIMATE_GROUPS: tuple[tuple[str, ...], ...] = ((), ("l_shipmode",), ("l_returnflag", "l_shipmode"))
