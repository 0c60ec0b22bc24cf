"""Queries on the log: six that peers were measured by, and three that no peer skips for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import shapely
from skipping.functions import agent_name
from skipping.log_files import CELL_DEGREES, LogFiles

PREFIX_CHARACTERS = 64
SUFFIX_CHARACTERS = 8
GEOSPATIAL = "starskip_contrib.geospatial_functions"
"""The module that defines ST_Contains for Starskip."""
INDEXES = (
    "minmax:ts",
    "minmax:lat",
    "minmax:lng",
    "valuelist:db_name",
    "bloom:uuid:0.01",
    f"prefix:ua:{PREFIX_CHARACTERS}",
    f"suffix:ua:{SUFFIX_CHARACTERS}",
    "formatted:ua:user_agent",
)
"""Skipping indexes that the queries use."""


@dataclass(frozen=True, slots=True)
class Question:
    """``rewritten``: with min/max predicates (Extensible Data Skipping, V-D), None where none can be added.

    ``false_ratio``: of the files without a match, those that may be read all the same.
    """

    name: str
    where: str
    rewritten: str | None = None
    false_ratio: float = 0.0
    is_function: bool = False

    def sql(self, table: str, where: str | None = None) -> str:
        """Return the query on a table."""
        return f"SELECT count(*), sum(value) FROM {table} WHERE {where or self.where}"


@dataclass(frozen=True, slots=True)
class Truth:
    """The answer, and how many files hold a matching row."""

    rows: int
    total: int
    files: int


def questions(log: LogFiles) -> tuple[Question, ...]:
    """Return the questions; each asks for what is in the file in the middle."""
    middle = log.files // 2 + log.cells_in_a_line // 2
    start = datetime.fromtimestamp(log.start_us(middle) / 1e6, UTC)
    times = [start + timedelta(hours=hours) for hours in (2, 4)]
    ts = " AND ".join(
        f"ts {sign} TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}+00:00'"
        for sign, at in zip((">=", "<"), times, strict=True)
    )
    database = f"db_name = '{log.database(middle, 1)}'"
    uuid = log.table(middle)["uuid"][log.rows // 2].as_py()
    lat, lng = (side + CELL_DEGREES for side in log.corner(middle))
    box = f"lat BETWEEN {lat - 0.5} AND {lat + 0.5} AND lng BETWEEN {lng - 0.5} AND {lng + 0.5}"
    triangle = f"POLYGON (({lng - 0.8} {lat - 0.8}, {lng + 0.8} {lat - 0.8}, {lng} {lat + 0.8}, "
    triangle += f"{lng - 0.8} {lat - 0.8}))"
    bounds = f"lat BETWEEN {lat - 0.8} AND {lat + 0.8} AND lng BETWEEN {lng - 0.8} AND {lng + 0.8}"
    contains = f"ST_Contains('{triangle}', lat, lng)"
    prefix = log.agent(middle)[:PREFIX_CHARACTERS]
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    name = agent_name(log.agent(middle) + log.version(middle, 0))
    like = f"ua LIKE '{prefix}%'"
    return (
        Question("ts 2 h range", ts),
        Question("db_name =", database),
        Question("uuid =", f"uuid = '{uuid}'", false_ratio=0.01),
        Question("lat/lng box", box),
        Question("ua LIKE 'p%'", like, f"{like} AND ua >= '{prefix}' AND ua < '{after}'"),
        Question("ts OR db_name", f"({ts}) OR {database}"),
        Question("ST_Contains", contains, f"{contains} AND {bounds}", is_function=True),
        Question("getAgentName =", f"getAgentName(ua) = '{name}'", is_function=True),
        Question("ua LIKE '%s'", f"ua LIKE '%/{log.version(middle, 3)}'"),
    )


class TruthTeller:
    """DuckDB over the same files; functions that it lacks are computed here."""

    def __init__(self, files: Path) -> None:
        """Open the files, with two threads."""
        self.engine = duckdb.connect()
        self.engine.execute("SET threads = 2; SET TimeZone = 'UTC'; SET enable_object_cache = true")
        self.engine.execute(
            f"CREATE VIEW log AS SELECT * FROM read_parquet('{files}/part-*.parquet', filename = true)"
        )
        self._agents: list[str] = []

    def where(self, question: Question) -> str | None:
        """Return the condition as DuckDB knows it, None if it has no words for it."""
        if question.name.startswith("getAgentName"):
            if not self._agents:
                found = self.engine.execute("SELECT DISTINCT ua FROM log").fetchall()
                self._agents = [row[0] for row in found]
            name = question.where.rpartition(" = ")[2].strip("'")
            chosen = [each for each in self._agents if agent_name(each) == name]
            return f"ua IN ({', '.join(repr(each) for each in chosen)})"
        return None if question.is_function else question.where

    def truth(self, question: Question) -> Truth:
        """Answer a question, and say how many files hold matching rows."""
        where = self.where(question)
        if where is None:
            return self._contained(question)
        row = self.engine.execute(
            f"SELECT count(*), sum(value), count(DISTINCT filename) FROM log WHERE {where}"
        ).fetchall()[0]
        return Truth(int(row[0]), int(row[1] or 0), int(row[2]))

    def answer(self, question: Question) -> Sequence[tuple[int, int]]:
        """Answer a question as it is timed."""
        return self.engine.execute(question.sql("log", self.where(question))).fetchall()

    def _contained(self, question: Question) -> Truth:
        """Return the truth of ST_Contains: DuckDB finds the points in the bounds, shapely those inside."""
        assert question.rewritten is not None
        bounds = question.rewritten.partition(") AND ")[2]
        found = self.engine.sql(f"SELECT lat, lng, value, filename FROM log WHERE {bounds}").to_arrow_table()
        polygon = shapely.from_wkt(question.where.partition("'")[2].partition("'")[0])
        inside = shapely.contains_xy(polygon, found["lng"].to_numpy(), found["lat"].to_numpy())
        values = found["value"].to_numpy()[inside]
        files = {name for name, is_in in zip(found["filename"].to_pylist(), inside, strict=True) if is_in}
        return Truth(len(values), int(values.sum()), len(files))
