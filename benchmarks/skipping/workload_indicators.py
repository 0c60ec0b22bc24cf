"""Indicators of skipping effectiveness of workloads: figures 11 and 12 of "Extensible Data Skipping".

Selectivity, layout factor, metadata factor and scanning factor are those of section IV-A, their means
geometric; the rows that match in each file are counted by DuckDB, the files that are read are those that
Spark reads. Beside them stand the bytes that were read, metadata among them, as a share of what a query
of the same columns reads where it reads all rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow.parquet as pq
from skipping.functions import agent_name, register
from skipping.measured_query import measured, use
from skipping.metadata_time import RETRIEVED
from skipping.paper_tables import PaperTables
from starskip.advisor.families.skipping.indicators import indicators

QUERIES = 50
LENGTH_QUERIES = 20
LENGTHS = (1, 2, 4, 8, 12, 15, 20, 30)
REQUEST_PREFIX = 20
_CHANCE = 2020
_TITLES = (
    f"{'selectivity':>11} {'layout f.':>10} {'metadata f.':>11} {'scanning f.':>11} {'bytes read':>11} "
    f"{'files':>7} {'s':>6}"
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A condition for Spark and the same one for DuckDB."""

    spark: str
    duckdb: str


def print_figure_11(tables: PaperTables) -> list[str]:
    """Ask four workloads of their indexes and print the indicators; return wrong answers."""
    register(tables.spark)
    print(
        "\nFigure 11: Skipping effectiveness indicators for prefix/suffix and format specific user agent "
        f"indexes\n(geometric means of {QUERIES} queries; files and seconds are means)"
    )
    print(f"{'index':<34} {_TITLES}")
    workloads: dict[str, Callable[[duckdb.DuckDBPyConnection], list[_Asked]]] = {
        "prefix:db_name:15": lambda _: _affixes(tables, "db_name", QUERIES),
        "suffix:db_name:15": lambda _: _affixes(tables, "db_name", QUERIES, is_suffix=True),
        f"prefix:http_request:{REQUEST_PREFIX}": lambda _: _affixes(tables, "http_request", QUERIES),
        "formatted:user_agent:user_agent": _agents,
    }
    problems = []
    with _engine(tables) as engine:
        for index, asked in workloads.items():
            line, wrong = _line(tables, engine, index, asked(engine))
            problems += wrong
            print(f"{index:<34} {line}")
    return problems


def print_figure_12(tables: PaperTables) -> list[str]:
    """Ask one workload of prefixes of each length and of a value list; return wrong answers."""
    print(
        "\nFigure 12: Skipping effectiveness indicators and metadata size for a prefix index on the db_name "
        f"column w.r.t. prefix\nlength (geometric means of {LENGTH_QUERIES} queries)"
    )
    print(f"{'index':<20} {'MD Size (kB)':>13} {_TITLES}")
    problems = []
    with _engine(tables) as engine:
        asked = _affixes(tables, "db_name", LENGTH_QUERIES, chance=_CHANCE + 1)
        for index in [*(f"prefix:db_name:{length}" for length in LENGTHS), "valuelist:db_name"]:
            size = tables.built("logs", [index]).size_bytes
            line, wrong = _line(tables, engine, index, asked)
            problems += wrong
            print(f"{index:<20} {size / 1e3:>13,.1f} {line}")
    return problems


def _line(
    tables: PaperTables, engine: duckdb.DuckDBPyConnection, index: str, asked: Sequence[_Asked]
) -> tuple[str, list[str]]:
    """Run a workload by one index and return its indicators, and what is wrong."""
    names = {path.name: number for number, path in enumerate(tables.paths("logs"))}
    matching, read = (np.zeros((len(asked), len(names)), np.int64) for _ in range(2))
    problems = []
    use(tables.spark, tables.built("logs", [index]).root)
    runs = []
    for number, each in enumerate(asked):
        sql = f"SELECT {RETRIEVED}, max(db_name) FROM logs WHERE {each.spark}"
        run = measured(tables.spark, sql)
        runs.append(run)
        for path in tables.spark.sql(sql).inputFiles():
            read[number, names[path.rpartition("/")[2]]] = 1
        for path, count in engine.execute(
            f"SELECT filename, count(*) FROM logs WHERE {each.duckdb} GROUP BY filename"
        ).fetchall():
            matching[number, names[path.rpartition("/")[2]]] = count
        if run.answer[0] != matching[number].sum() or run.files != read[number].sum():
            problems.append(f"{index}, {each.spark}: {run.answer[0]} rows, not {matching[number].sum()}")
    use(tables.spark, None)
    whole = measured(tables.spark, f"SELECT {RETRIEVED}, max(db_name) FROM logs").all_bytes
    rows = np.full(len(names), tables.log.rows)
    found = indicators(rows, matching, read > 0)
    if found.lost.any():
        problems.append(f"{index}: rows are lost in {int(found.lost.sum())} queries")
    means = found.geometric_means()
    assert means is not None
    share = float(np.exp(np.mean(np.log([run.all_bytes / whole for run in runs]))))
    return (
        f"{means.selectivity:>11.5f} {means.layout_factor:>10.4f} {means.metadata_factor:>11.4f} "
        f"{means.scanning_factor:>11.5f} {share:>11.5f} {np.mean([run.files for run in runs]):>7.1f} "
        f"{np.mean([run.seconds for run in runs]):>6.2f}"
    ), problems


def _affixes(
    tables: PaperTables,
    column: str,
    count: int,
    *,
    is_suffix: bool = False,
    chance: int = _CHANCE,
) -> list[_Asked]:
    """Return LIKE conditions of random parts of values of random rows."""
    drawn = random.Random(chance)
    paths = tables.paths("logs")
    found = []
    for _ in range(count):
        values = pq.read_table(drawn.choice(paths), columns=[column])[column]
        text = str(values[drawn.randrange(len(values))])
        length = drawn.randint(1, len(text))
        pattern = f"%{text[-length:]}" if is_suffix else f"{text[:length]}%"
        found.append(_Asked(f"{column} LIKE '{pattern}'", f"{column} LIKE '{pattern}'"))
    return found


def _agents(engine: duckdb.DuckDBPyConnection) -> list[_Asked]:
    """Return conditions of random names among those that occur."""
    drawn = random.Random(_CHANCE)
    of_names: dict[str, list[str]] = {}
    for (text,) in engine.execute("SELECT DISTINCT user_agent FROM logs ORDER BY user_agent").fetchall():
        of_names.setdefault(agent_name(text), []).append(text)
    found = []
    for _ in range(QUERIES):
        name = drawn.choice(sorted(of_names))
        texts = ", ".join(f"'{text}'" for text in of_names[name])
        found.append(_Asked(f"getAgentName(user_agent) = '{name}'", f"user_agent IN ({texts})"))
    return found


def _engine(tables: PaperTables) -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect()
    engine.execute("SET threads = 2; SET TimeZone = 'UTC'")
    engine.execute(
        f"CREATE VIEW logs AS SELECT * FROM "
        f"read_parquet('{tables.folders['logs']}/*.parquet', filename = true)"
    )
    return engine
