"""The law, seen on real Spark: each predicate of an example has the same rows with skipping and without.

Two queries answer all predicates of an example. Without skipping, one computes of each row whether it
satisfies each of them. With it, a union has one scan under a filter for each, and each is pruned by itself.
Only where these two differ, as they may where Spark's readers differ from Spark's own evaluation, both are
asked the one query alone.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from skipping_on_spark.data_set import ROWS_OF_A_FILE
from skipping_on_spark.data_sets import Example
from skipping_tables import settings_of
from starskip.spark import skipping
from starskip_contrib import (
    geospatial_functions,
    ip_networks,
    metric_distances,
    user_agents,
)

SETTINGS = {
    # Spark's own fails at IN with a null for a float (NullPointerException in OrcFilters).
    "spark.sql.orc.filterPushdown": "false",
    # It fails at many predicates on arrays and on texts with a collation, too (empty.reduceLeft in
    # StructFilters).
    "spark.sql.json.filterPushdown.enabled": "false",
    "spark.sql.csv.filterPushdown.enabled": "false",
    # The files are tiny and the expressions many: one task for a scan, and nothing is compiled.
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_NUMBER = re.compile(r"\b(\d+) AS number#")
_SCAN = "FileSourceScanExec"


@dataclass
class Seen:
    """``files`` and ``skipped``, of all predicates, by Spark's metrics; ``broken`` tells where the law was.

    ``differences``: predicates of which Spark itself gives other rows when it filters while it reads.
    """

    cases: int = 0
    files: int = 0
    skipped: int = 0
    rows: int = 0
    differences: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def add(self, other: Seen) -> None:
        """Add what was seen of another example."""
        self.cases += other.cases
        self.files += other.files
        self.skipped += other.skipped
        self.rows += other.rows
        self.differences += other.differences
        self.broken += other.broken


def create_skipping(spark: SparkSession, frame: DataFrame, folder: Path, indexes: Sequence[str]) -> None:
    """Create skipping indexes of a frame's files; the folder says the same."""
    del folder
    skipping.create(spark, frame, list(indexes))


def see(
    spark: SparkSession,
    folder: Path,
    example: Example,
    create: Callable[[SparkSession, DataFrame, Path, Sequence[str]], None] = create_skipping,
) -> Seen:
    """Write an example's files below ``folder``, for as long as this takes, and compare."""
    seen = Seen()
    data = example.data
    texts = list(dict.fromkeys(example.predicates))
    with settings_of(spark, {**SETTINGS, "spark.sql.session.timeZone": data.zone}):
        try:
            data.write(folder)
            for module in (geospatial_functions, ip_networks, metric_distances, user_agents):
                module.register_functions(spark)
            frame = data.read(spark, folder)
            create(spark, frame, folder, example.indexes)
            spark.conf.set("spark.sql.session.timeZone", example.zone)
            skipping.disable(spark)
            texts = _analysed(frame, texts)
            expected = of_each_row(frame, texts)
            skipping.enable(spark)
            found, read = of_filtered_scans(spark, frame, texts)
            for at, text in enumerate(texts):
                seen.cases += 1
                seen.files += len(data.files)
                seen.skipped += len(data.files) - read[at]
                seen.rows += len(expected[at])
                if found[at] != expected[at]:
                    seen.differences.append(text)
                    expected[at], found[at] = _alone(spark, frame, text)
                seen.broken += _broken(text, expected[at], found[at], read[at], len(data.files))
        finally:
            skipping.disable(spark)
            shutil.rmtree(folder, ignore_errors=True)
    # Lost rows first, and short ones, since few are told.
    seen.broken.sort(key=lambda told: ("are missing" not in told, len(told)))
    return seen


def _broken(text: str, expected: list[int], found: list[int], read: int, files: int) -> Iterator[str]:
    if found != expected:
        missing, wrong = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
        yield f"rows {missing} are missing, {wrong} too many, {len(found)} of {len(expected)}: {text}"
    holding = len({row // ROWS_OF_A_FILE for row in expected})
    if not holding <= read <= files:
        yield f"Spark says that it read {read} of {files} files, {holding} hold rows of: {text}"


def _analysed(frame: DataFrame, texts: list[str]) -> list[str]:
    """Return the predicates that this Spark evaluates: 4.1 refuses some comparisons of collated texts."""
    try:
        frame.selectExpr(*texts)._jdf.queryExecution().optimizedPlan()
    except AnalysisException as error:
        if error.getCondition() != "INDETERMINATE_COLLATION_IN_EXPRESSION":
            raise
        if len(texts) == 1:
            return []
        middle = len(texts) // 2
        return _analysed(frame, texts[:middle]) + _analysed(frame, texts[middle:])
    return texts


def of_each_row(frame: DataFrame, texts: Sequence[str]) -> list[list[int]]:
    """Return the rows of each predicate, as one query computes them of every row."""
    columns = (f"({text}) AS p{at}" for at, text in enumerate(texts))
    rows = frame.selectExpr("`row`", *columns).collect()
    return [sorted(row[0] for row in rows if row[at + 1]) for at in range(len(texts))]


def of_filtered_scans(
    spark: SparkSession, frame: DataFrame, texts: Sequence[str]
) -> tuple[list[list[int]], list[int]]:
    """Return the rows of each predicate and how many files Spark's metrics say were read for it.

    Each has a filter over a scan of its own in one query.
    """
    frame.createOrReplaceTempView("law")
    scans = (f"SELECT {at} AS number, `row` FROM law WHERE {text}" for at, text in enumerate(texts))
    union = spark.sql(" UNION ALL ".join(scans))
    rows: list[list[int]] = [[] for _ in texts]
    for number, row in union.collect():
        rows[number].append(row)
    read = [0] * len(texts)
    plan = union._jdf.queryExecution().executedPlan()
    for branch in _items(plan.children()) if plan.nodeName() == "Union" else (plan,):
        leaves = [each for each in _items(branch.collectLeaves()) if _SCAN in each.getClass().getName()]
        if leaves:
            number = _NUMBER.search(branch.toString())
            assert number, branch.toString()
            read[int(number[1])] = sum(int(each.metrics().apply("numFiles").value()) for each in leaves)
    return [sorted(each) for each in rows], read


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(at) for at in range(sequence.size()))


def _alone(spark: SparkSession, frame: DataFrame, text: str) -> tuple[list[int], list[int]]:
    answers = []
    for switch in (skipping.disable, skipping.enable):
        switch(spark)
        answers.append(sorted(row[0] for row in frame.where(text).select("row").collect()))
    return answers[0], answers[1]
