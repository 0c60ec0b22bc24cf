"""Cost and gain of each index: time, bytes and files read (Extensible Data Skipping, table II, figure 12)."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from skipping.log_files import SEED, LogFiles
from skipping.questions import GEOSPATIAL, PREFIX_CHARACTERS, SUFFIX_CHARACTERS, questions
from starskip.indexes.skipping.build_clause import generate_clause
from starskip.indexes.skipping.metadata.metadata_location import metadata_location
from starskip.indexes.skipping.metadata.open_metadata import open_metadata
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Call, Column, Literal
from starskip.spark import skipping
from starskip.spark.skipping.refresh_relation import qualified

ALL_COLUMNS = ("ts", "db_name", "lat", "lng", "ua", "uuid", "value")
HYPERSPACE_SECONDS = 26.0
"""Seconds that Hyperspace took for min/max and bloom of 20 million rows on a machine like this one."""
SETS: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("min/max of ts, from footers", ("minmax:ts",), "ts 2 h range"),
    (
        "min/max of all but lat, lng, from footers",
        tuple(f"minmax:{name}" for name in ALL_COLUMNS if name not in ("lat", "lng")),
        "ts 2 h range",
    ),
    ("min/max of lat, lng", ("minmax:lat", "minmax:lng"), "ST_Contains"),
    ("geobox of lat, lng", ("geobox:lat,lng",), "ST_Contains"),
    ("value list of db_name", ("valuelist:db_name",), "db_name ="),
    ("bloom of db_name", ("bloom:db_name:0.01",), "db_name ="),
    ("hybrid of db_name", ("hybrid:db_name",), "db_name ="),
    ("bloom of uuid", ("bloom:uuid:0.01",), "uuid ="),
    ("hybrid of uuid", ("hybrid:uuid",), "uuid ="),
    ("value list of ua", ("valuelist:ua",), "ua LIKE 'p%'"),
    (f"prefix of ua, {PREFIX_CHARACTERS}", (f"prefix:ua:{PREFIX_CHARACTERS}",), "ua LIKE 'p%'"),
    (f"suffix of ua, {SUFFIX_CHARACTERS}", (f"suffix:ua:{SUFFIX_CHARACTERS}",), "ua LIKE '%s'"),
    ("formatted ua", ("formatted:ua:user_agent",), "getAgentName ="),
    (
        "min/max and bloom, as Hyperspace",
        ("minmax:ts", "minmax:lat", "minmax:lng", "minmax:db_name", "bloom:uuid:0.01"),
        "uuid =",
    ),
)
"""Named sets of indexes, each built alone, and a question that it serves."""
PREFIX_LENGTHS = (2, 4, 8, 16, 32, 48, 64, 96, 128)
WORKLOAD = 20


def print_index_costs(spark: Any, log: LogFiles, files: Path, scratch: Path) -> None:
    """Build each set alone and print seconds, bytes, and files that its question reads."""
    from skipping.functions import register

    register(spark)
    spark.read.parquet(str(files)).createOrReplaceTempView("plain")
    size = sum(file.stat().st_size for file in log.paths(files))
    asked = {each.name: each for each in questions(log)}
    # What Spark and its workers do once is in no figure.
    skipping.create(spark, str(files), ["minmax:ts", "geobox:lat,lng"], metadata_root=str(scratch / "first"))
    print("\nEach index built alone, and what its question then reads (Extensible Data Skipping, table II)")
    measures = f"{'s':>7} {'kB':>10} {'of data':>9} {'bytes a file':>12} {'files read':>10}"
    print(f"{'index':<42} {measures}  question")
    for number, (name, indexes, question) in enumerate(SETS):
        root = str(scratch / f"index-{number}")
        start = time.perf_counter()
        skipping.create(spark, str(files), list(indexes), metadata_root=root)
        seconds = time.perf_counter() - start
        told = skipping.describe(spark, str(files), metadata_root=root)
        made = sum(each["size_bytes"] for each in told["indexes"])
        read = ""
        if question is not None:
            skipping.enable(spark, metadata_root=root, modules=[GEOSPATIAL])
            (found,) = skipping.explain(asked[question].sql("plain"), spark)
            read = f"{found['files_read']:,}"
        print(
            f"{name:<42} {seconds:>7.1f} {made / 1e3:>10,.1f} {made / size:>9.4%} {made / log.files:>12,.0f} "
            f"{read:>10}  {question or ''}"
        )
    skipping.disable(spark)
    if log.files * log.rows >= 20_000_000:
        print(f"The aim of the last one is less than {HYPERSPACE_SECONDS:.0f} s.")


def print_prefix_lengths(spark: Any, log: LogFiles, files: Path, scratch: Path) -> None:
    """Build prefixes of each length, and print bytes and how many files a workload of LIKE 'p%' scans."""
    root = str(scratch / "prefixes")
    indexes = [f"prefix:ua:{length}" for length in PREFIX_LENGTHS]
    skipping.create(spark, str(files), [*indexes, "valuelist:ua"], metadata_root=root)
    metadata = open_metadata(metadata_location(qualified(spark, str(files)), root))
    assert metadata is not None
    told = skipping.describe(spark, str(files), metadata_root=root)["indexes"]
    size_bytes = {each["index"]: each["size_bytes"] for each in told}
    asked = _workload(log, files)
    print(
        f"\n{WORKLOAD} queries LIKE 'p%', p a random part of a random value (figure 12); "
        f"fewest possible: {_fewest(metadata, asked):.4f} of the files"
    )
    print(f"{'index':<14} {'kB':>10} {'scanning factor':>16}")
    for specification in [*indexes, "valuelist:ua"]:
        made = size_bytes[specification]
        factor = float(np.mean([_scanned(metadata, specification, text) for text in asked]))
        print(f"{specification:<14} {made / 1e3:>10,.1f} {factor:>16.4f}")


def _workload(log: LogFiles, files: Path) -> Sequence[str]:
    chance = random.Random(SEED)
    paths = list(log.paths(files))
    found = []
    for _ in range(WORKLOAD):
        texts = pq.read_table(chance.choice(paths), columns=["ua"])["ua"]
        text = texts[chance.randrange(len(texts))].as_py()
        found.append(text[: chance.randint(1, len(text))])
    return found


def _fewest(metadata: TableMetadata, asked: Sequence[str]) -> float:
    return float(np.mean([_scanned(metadata, "valuelist:ua", text) for text in asked]))


def _scanned(metadata: TableMetadata, specification: str, prefix: str) -> float:
    """Return the share of files that a query scans, by one index alone."""
    (index,) = (each for each in metadata.indexes if each.specification == specification)
    predicate = Call("StartsWith", (Column(("ua",), "string"), Literal(pa.scalar(prefix))))
    clause = generate_clause(predicate, [index.label])
    return 1.0 if clause is None else float(np.mean(metadata.may_match(clause)))
