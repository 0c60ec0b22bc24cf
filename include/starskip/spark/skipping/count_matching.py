"""Count, in one pass, the rows of each file that satisfy each of many predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from starskip.errors import CapExceeded, SourceError, UnsupportedQuery
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.skipping_engine import MatchingRows
from starskip.predicates.expression import Expression
from starskip.predicates.expression_sql import expression_sql
from starskip.spark.skipping.failures import FAILURES, is_of_files, reason_of
from starskip.spark.skipping.isolated_session import isolate
from starskip.spark.skipping.list_files import list_files
from starskip.spark.skipping.table_relation import TableRelation, file_path_of

MOST_CELLS = 20_000_000
"""Predicates times files."""
MOST_PREDICATES = 50
"""Predicates of one pass: the JVM does not compile Spark's code for more."""
_CELLS_OF_A_PASS = 1_000_000
_FILES_A_TASK = 64
_PATH, _ROWS = "_path", "_rows"


def count_matching(
    relation: TableRelation, predicates: Sequence[Expression], paths: pa.Array | None
) -> MatchingRows:
    """Count matching rows of all files, or of the files ``paths`` that still exist, in their order.

    Raises CapExceeded for more than 20 M counts, and Spark's errors if the files cannot be read.
    """
    isolate(relation.session)
    listed = list_files(relation, anew=False)
    everything = listed.files.paths
    at = np.arange(len(everything)) if paths is None else match_paths(paths, everything)
    at = at[at >= 0]
    if len(at) * len(predicates) > MOST_CELLS:
        raise CapExceeded(
            f"{relation.path}: {len(predicates)} predicates over {len(at)} files are more than {MOST_CELLS} "
            "counts; count in fewer files"
        )
    chosen = np.zeros(len(everything), np.bool_)
    chosen[at] = True
    counter = FileCounter(
        relation.rows_of(listed, chosen), int(chosen.sum()), _places_in(listed.encoded_paths(chosen))
    )
    texts, faults = _texts(predicates)
    matching = np.zeros((len(predicates), counter.files), np.int64)
    if counter.files:
        cores = relation.session.sparkContext.defaultParallelism
        tasks = max(cores, min(200, counter.files // _FILES_A_TASK))
        relation.session.conf.set("spark.sql.shuffle.partitions", tasks)
        faults |= counter.count(texts, matching)
    place = (np.cumsum(chosen) - 1)[at]
    return MatchingRows(everything.take(pa.array(at)), counter.rows[place], matching[:, place], faults)


def _texts(predicates: Sequence[Expression]) -> tuple[dict[int, str], dict[int, str]]:
    texts, faults = {}, {}
    for number, predicate in enumerate(predicates):
        try:
            texts[number] = expression_sql(predicate)
        except UnsupportedQuery as error:
            faults[number] = str(error)
    return texts, faults


def _places_in(encoded_paths: pa.Array) -> Callable[[pa.Array], npt.NDArray[np.int64]]:
    def places(paths: pa.Array) -> npt.NDArray[np.int64]:
        at = pc.index_in(paths, encoded_paths)
        if at.null_count:
            raise SourceError("rows came of files that were not listed; run this again", source="path")
        found: npt.NDArray[np.int64] = at.to_numpy(zero_copy_only=False)
        return found

    return places


class FileCounter:
    """Counts rows of ``frame`` by file; ``places`` gives the place of each path among ``files``."""

    def __init__(
        self, frame: DataFrame, files: int, places: Callable[[pa.Array], npt.NDArray[np.int64]]
    ) -> None:
        """Count nothing yet."""
        self._frame = frame
        self._places = places
        self.files = files
        self.rows = np.zeros(self.files, np.int64)
        self._optimized: dict[tuple[int, ...], DataFrame] = {}

    def count(self, texts: Mapping[int, str], matching: npt.NDArray[np.int64]) -> dict[int, str]:
        """Fill the rows of ``matching``; return the failed predicates with the reason."""
        width = max(1, min(MOST_PREDICATES, _CELLS_OF_A_PASS // max(self.files, 1)))
        # Most failures occur in analysis, before anything is read.
        faults = _faults(_cut(list(texts), width), lambda mine: self._optimize(mine, texts))
        sound = [number for number in texts if number not in faults]
        faults |= _faults(_cut(sound, width), lambda mine: self._pass(mine, texts, matching))
        if all(number in faults for number in texts):
            self._pass([], texts, matching)
        return faults

    def _planned(self, mine: Sequence[int], texts: Mapping[int, str]) -> DataFrame:
        path = file_path_of(self._frame)
        counts = [sql.expr(f"count_if({texts[number]})").alias(f"_{number}") for number in mine]
        return self._frame.groupBy(path.alias(_PATH)).agg(sql.count(sql.lit(1)).alias(_ROWS), *counts)

    def _optimize(self, mine: Sequence[int], texts: Mapping[int, str]) -> None:
        counted = self._planned(mine, texts)
        counted._jdf.queryExecution().optimizedPlan()
        # Spark keeps the plan with the frame, and most groups of predicates run unchanged.
        self._optimized[tuple(mine)] = counted

    def _pass(self, mine: Sequence[int], texts: Mapping[int, str], matching: npt.NDArray[np.int64]) -> None:
        optimized = self._optimized.pop(tuple(mine), None)
        found = (self._planned(mine, texts) if optimized is None else optimized).toArrow()
        places = self._places(found[_PATH].combine_chunks())
        self.rows[places] = found[_ROWS].to_numpy()
        for number in mine:
            matching[number, places] = found[f"_{number}"].to_numpy()


def _cut(numbers: list[int], width: int) -> list[list[int]]:
    return [numbers[start : start + width] for start in range(0, len(numbers), width)]


def _faults(groups: list[list[int]], attempt: Callable[[list[int]], object]) -> dict[int, str]:
    """Return the failed predicates with the reason; a group that fails is split in halves."""
    faults: dict[int, str] = {}
    waiting = list(groups)
    while waiting:
        mine = waiting.pop()
        try:
            attempt(mine)
        except FAILURES as error:
            if is_of_files(error):
                raise
            if len(mine) == 1:
                faults[mine[0]] = reason_of(error)
            else:
                waiting += [mine[: len(mine) // 2], mine[len(mine) // 2 :]]
    return faults
