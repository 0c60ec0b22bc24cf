"""Hold skipping indexes against a plain scan, on random predicates of a table's own columns.

The indexes are built beside the table's, in a place of their own. Each predicate is planned as a query's is,
and each index says which files it would leave out; one scan counts the matching rows of each file for many
predicates at once.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from urllib.parse import unquote
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from starskip.errors import StarskipError, UnsupportedQuery, printable
from starskip.file_metadata.format_bounds import is_of_format
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_source import TableSource
from starskip.lake.plain_paths import plain_paths
from starskip.lake.table_name import is_iceberg_name
from starskip.predicates.expression import Call, nodes
from starskip.predicates.expression_sql import expression_sql
from starskip.skipping.build_clause import build_clause
from starskip.skipping.failing_indexes import Failures
from starskip.skipping.random_predicates import Operand, probe, random_predicates
from starskip.skipping.registry import load_modules
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping import lifecycle
from starskip.spark.skipping.count_matching import MOST_PREDICATES, FileCounter
from starskip.spark.skipping.explain_condition import register_functions, rows_of
from starskip.spark.skipping.failures import FAILURES, spark_failures
from starskip.spark.skipping.isolated_session import isolated_session
from starskip.spark.skipping.lake_scan import TITLES
from starskip.spark.skipping.plain_files import format_at
from starskip.spark.skipping.refresh_relation import qualified
from starskip.spark.skipping.relation_facts import ENABLED
from starskip.spark.skipping.relation_report import Asked, RelationReport
from starskip.spark.skipping.sample_operands import SampledOperands, sampled_operands
from starskip.spark.skipping.session import judging, keyring_of
from starskip.spark.skipping.table_relation import FILE_PATH, FORMATS, TEXT_FORMATS, file_path_of
from starskip.storage.encryption.keyring import KeySource

_SUFFIXES = {**{each: each for each in FORMATS}, "jsonl": "json", "ndjson": "json"}
_OF_A_COLUMN, _OF_A_FUNCTION = 0.3, 0.03
"""Weights of columns, and functions of columns, of which an index judges no common predicate."""
_MOST_ROUNDS = 3
"""Times the wanted predicates that are drawn at most: some cannot be evaluated on every row."""


@dataclass(slots=True)
class Checked:
    """The result of a check: ``wrong`` predicates, and ``faults``, by index the first one and its file."""

    seed: int
    predicates: int = 0
    wrong: int = 0
    files: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    """Files that each index left out, over all predicates."""

    @property
    def never_skipped(self) -> list[str]:
        """The indexes that never left out a file."""
        return [index for index, files in self.skipped.items() if not files]


def check_indexes(
    spark: SparkSession,
    path: str,
    indexes: Sequence[str],
    *,
    predicates: int,
    seed: int,
    source: TableSource | None = None,
    table_format: str | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
    modules: Sequence[str] = (),
    keys: Mapping[str, KeySource] = MappingProxyType({}),
    encrypt: Mapping[str, str] = MappingProxyType({}),
    encrypt_listing: str | None = None,
) -> Checked:
    """Build indexes aside, and compare what they leave out with a scan; arguments as in ``create``.

    ``source``: how the table was read for the metadata that it has. ``modules`` register functions. Raises
    StarskipError for an index type that fails, and otherwise as ``create`` does.
    """
    with _place_aside(spark, path) as place:
        file_format, given = _reading(spark, path, source, table_format, options)
        done = lifecycle.create(
            spark,
            path,
            indexes,
            format=file_format,
            options=given,
            metadata_root=place,
            keys=keys,
            encrypt=encrypt,
            encrypt_listing=encrypt_listing,
        )
        for specification, why in done.failed_indexes.items():
            raise StarskipError(f"{specification}: cannot be made: {why}")
        metadata = existing_metadata(metadata_storage(done.location), keyring=keyring_of(spark, keys))
        session = isolated_session(spark)
        session.conf.set(ENABLED, "true")
        _register_functions(session, metadata.indexes, modules)
        with spark_failures(path), judging(session, place, keys) as judged:
            rows = rows_of(session, path, metadata.source)
            check = _Check(rows, metadata, path, Checked(seed))
            rng = random.Random(seed)  # noqa: S311 - draws no secrets
            sampled = sampled_operands(check.by_file, metadata, rng)

            def asked(text: str) -> tuple[list[Asked], list[str]]:
                return _asked(judged(rows.where(text)))

            weighed = [
                [_weighed(each, index, sampled, asked) for each in operands]
                for index, operands in zip(metadata.indexes, sampled.indexed, strict=True)
            ]
            for texts in _batches(replace(sampled, indexed=weighed), rng, predicates):
                check.add(texts, predicates, asked)
                if check.found.predicates >= predicates:
                    break
    return check.found


def _reading(
    spark: SparkSession,
    path: str,
    source: TableSource | None,
    table_format: str | None,
    options: Mapping[str, str],
) -> tuple[str | None, Mapping[str, str] | None]:
    """Return format and options of a table: those given, those of its metadata, or what its files are."""
    if table_format is None and source is not None:
        is_lake = source.file_format in TITLES
        return source.file_format, None if is_lake else {**source.options, **options}
    if table_format is None and not is_iceberg_name(path) and format_at(spark, path) is None:
        table_format = _format_of_files(spark, path)
    return table_format, options or None


def _format_of_files(spark: SparkSession, path: str) -> str | None:
    """Return the format that the name of a plain table's first file ends in, None if it tells none."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    with spark_failures(path):
        leaf = reader.load(path)._jdf.queryExecution().analyzed().collectLeaves().apply(0)
        files = leaf.relation().location().allFiles()
    name = str(files.apply(0).getPath().getName()).lower() if files.size() else ""
    found = (_SUFFIXES.get(part) for part in reversed(name.split(".")[1:]))
    return next((each for each in found if each is not None), None)


@contextmanager
def _place_aside(spark: SparkSession, path: str) -> Iterator[str]:
    """Yield a root of metadata that is removed again: a folder here, unless other machines write into it."""
    if str(spark.sparkContext.master).startswith("local"):
        with tempfile.TemporaryDirectory(prefix="starskip-check-") as folder:
            yield folder
        return
    place = f"{metadata_location(qualified(spark, path))}/check-{uuid4()}"
    try:
        yield place
    finally:
        storage = metadata_storage(place)
        for each in list(storage.objects_below("")):
            storage.delete(each.name)


def _register_functions(
    session: SparkSession, indexes: Sequence[SkippingIndex], modules: Sequence[str]
) -> None:
    served = [each.module_of_functions for each in indexes]
    named = list(dict.fromkeys([*(each for each in served if each is not None), *modules]))
    load_modules(named)
    register_functions(session, named)


def _asked(reports: Sequence[RelationReport]) -> tuple[list[Asked], list[str]]:
    asked = [each for report in reports for each in report.asked]
    return asked, [why for report in reports for why in report.not_skipped_because]


def _weighed(
    operand: Operand,
    index: SkippingIndex,
    sampled: SampledOperands,
    asked: Callable[[str], tuple[list[Asked], list[str]]],
) -> Operand:
    """Return an operand that is asked for seldom if the index judges none of its common predicates."""
    seldom = replace(operand, weight=_OF_A_FUNCTION if operand.is_function else _OF_A_COLUMN)
    predicate = probe(operand)
    if predicate is None:
        return seldom
    try:
        of_tables, _ = asked(sampled.text(expression_sql(predicate)))
    except FAILURES:
        return seldom
    parts = [
        node
        for each in of_tables
        for predicate in each.predicates
        for node in nodes(predicate)
        # Spark adds it for each compared column.
        if isinstance(node, Call) and node.name != "IsNotNull"
    ]
    own = next(
        (each for table in of_tables for each in table.indexes if each.specification == index.specification),
        None,
    )
    failures: Failures = {}
    is_judged = own is not None and any(build_clause([own], [part], failures) is not None for part in parts)
    return operand if is_judged or failures else seldom


def _batches(operands: SampledOperands, rng: random.Random, wanted: int) -> Iterator[list[str]]:
    drawn = random_predicates(operands.indexed, operands.others, rng, wanted)
    batch: list[str] = []
    for _, expression in zip(range(wanted * _MOST_ROUNDS), drawn, strict=False):
        try:
            batch.append(operands.text(expression_sql(expression)))
        except UnsupportedQuery:
            continue
        if len(batch) == MOST_PREDICATES:
            yield batch
            batch = []
    if batch:
        yield batch


class _Check:
    """Compares masks of indexes with the rows of files; ``by_file`` has each row's file."""

    def __init__(self, rows: DataFrame, metadata: TableMetadata, path: str, found: Checked) -> None:
        self.found = found
        self._metadata, self._path = metadata, path
        self._paths = plain_paths(metadata.paths)
        self._is_encoded = metadata.source.file_format != "iceberg"
        of_file = file_path_of(rows) if self._is_encoded else rows.metadataColumn("_file")
        self.by_file = rows.withColumn(FILE_PATH, of_file)
        # Counts of files that the metadata does not know, and that a query reads, go into one place more.
        self._counter = FileCounter(self.by_file, metadata.files + 1, self._places)
        self._is_by_index = True
        found.files = metadata.files
        found.skipped = {each.specification: 0 for each in metadata.indexes}

    def add(
        self,
        texts: Sequence[str],
        wanted: int,
        asked: Callable[[str], tuple[list[Asked], list[str]]],
    ) -> None:
        """Judge predicates until ``wanted`` were judged; those that Spark cannot evaluate are left out."""
        matching = np.zeros((len(texts), self._counter.files), np.int64)
        faults = self._counter.count(dict(enumerate(texts)), matching)
        for number, text in enumerate(texts):
            if number in faults or self.found.predicates >= wanted:
                continue
            self.found.predicates += 1
            of_tables, why_not = asked(text)
            if not of_tables and why_not and self._is_unjudged(why_not):
                raise StarskipError(f"{self._path}: no predicate is judged: {printable(why_not[0], 300)}")
            for each in of_tables:
                self._judge(text, each, matching[number, :-1])

    def _is_unjudged(self, why_not: Sequence[str]) -> bool:
        """Return whether a predicate was left alone for a reason that holds for all of them."""
        return not any("predicate" in each for each in why_not)

    def _judge(self, text: str, asked: Asked, rows: npt.NDArray[np.int64]) -> None:
        # Where Spark has found out that no row matches, it is not the index that skips.
        self._is_by_index = build_clause((), asked.predicates) is None
        wrong = [self._is_wrong(text, asked, [each], rows) for each in asked.indexes]
        # An OR of two columns is judged by two indexes together.
        if any(wrong) or (len(wrong) > 1 and self._is_wrong(text, asked, asked.indexes, rows)):
            self.found.wrong += 1

    def _is_wrong(
        self,
        text: str,
        asked: Asked,
        indexes: Sequence[SkippingIndex],
        rows: npt.NDArray[np.int64],
    ) -> bool:
        """Return whether a file with a matching row is left out; the first fault of each index is kept."""
        failures: Failures = {}
        clause = build_clause(indexes, asked.predicates, failures)
        kept = None if clause is None else asked.metadata.may_match(clause)
        for specification, why in failures.items():
            raise StarskipError(f"{specification}: raised {why}; asked WHERE {printable(text, 500)}")
        if kept is None:
            return False
        name = ", ".join(each.specification for each in indexes if not is_of_format(each))
        if name in self.found.skipped and self._is_by_index:
            self.found.skipped[name] += int(np.count_nonzero(~kept))
        lost = np.flatnonzero((rows > 0) & ~kept)
        if not len(lost) or name in self.found.faults:
            return bool(len(lost))
        if self._metadata.source.file_format in TEXT_FORMATS:
            # Rows that do not fit the schema may depend on the columns that a query reads. Filters of other
            # formats' readers know less of NaN and -0.0 than the scan.
            found = self.by_file.where(text).select(FILE_PATH).distinct().toArrow()[FILE_PATH]
            lost = np.intersect1d(lost, self._places(found.combine_chunks()))
        if len(lost):
            file, count = self._metadata.paths[int(lost[0])].as_py(), int(rows[lost[0]])
            self.found.faults[name] = (
                f"{name}: skips {printable(file, 500)}, which has {count:,} row{'s' if count > 1 else ''} "
                f"WHERE {printable(text, 1000)}"
            )
        return bool(len(lost))

    def _places(self, paths: pa.Array) -> npt.NDArray[np.int64]:
        if self._is_encoded:
            paths = pa.array([unquote(each) for each in paths.to_pylist()], pa.string())
        return match_paths(plain_paths(paths), self._paths)
