"""Measures how long a Delta and an Iceberg table of many files take to be listed, and how much memory.

The tables are logs alone: nobody opens their data files, which do not exist. Each listing runs in a process
of its own, whose greatest memory is printed beside what it had when it had loaded the modules. Bounds are
asked for after it, as they are decoded for those who ask alone.

    python benchmarks/lake_listing.py [--files 100000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

COLUMNS = 20
_FILES_A_COMMIT = 10_000
_LISTING = """
import json, resource, sys, time
from starskip.lake import iceberg_table
from starskip.lake.open_lake_table import open_table
loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began, worked = time.perf_counter(), time.process_time()
found = open_table(sys.argv[1])
seconds = time.perf_counter() - began, time.process_time() - worked
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
worked = time.process_time()
bounds = found.bounds
decoded = time.process_time() - worked
last = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
told = bounds.num_columns, *seconds, loaded, peak, decoded, last, bounds.nbytes
print(json.dumps([found.files.num_rows, *told]))
"""


def main() -> None:
    """Write both tables, list them and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    given = parser.parse_args()
    told = ("table", "files", "seconds", "of processor", "MiB before", "at most", "bounds", "of processor")
    print("{:8} {:>9} {:>8} {:>13} {:>11} {:>8} {:>7} {:>13} {:>8}".format(*told, "at most"))
    with tempfile.TemporaryDirectory(prefix="lake-listing-") as folder:
        for name, write in (("delta", write_delta), ("iceberg", write_iceberg)):
            place = write(Path(folder) / name, given.files)
            command = [sys.executable, "-c", _LISTING, place]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            files, bounds, seconds, worked, loaded, peak, decoded, last, size = json.loads(done.stdout)
            assert files == given.files, files
            listing = f"{seconds:8.2f} {worked:13.2f} {loaded / 1024:11.0f} {peak / 1024:8.0f}"
            of_bounds = f"{bounds:7} {decoded:13.2f} {last / 1024:8.0f}   ({size >> 20} MiB)"
            print(f"{name:8} {files:9,} {listing} {of_bounds}")


def _commits(files: int) -> Iterator[range]:
    for first in range(0, files, _FILES_A_COMMIT):
        yield range(first, min(first + _FILES_A_COMMIT, files))


def write_delta(folder: Path, files: int, texts: Sequence[str] = ()) -> str:
    """Write the log of a table and return its path; ``texts``: columns of texts, without bounds."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    kinds = {f"c{n}": "long" for n in range(COLUMNS)} | dict.fromkeys(texts, "string")
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    schema = json.dumps({"type": "struct", "fields": fields})
    first: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "bench",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 0,
            }
        },
    ]
    for version, numbers in enumerate(_commits(files)):
        actions = [] if version else first
        for number in numbers:
            values = {f"c{n}": number * COLUMNS + n for n in range(COLUMNS)}
            statistics = {
                "numRecords": 100,
                "minValues": values,
                "maxValues": values,
                "nullCount": dict.fromkeys(values, 0),
            }
            add = {
                "path": f"part-{number:08}.parquet",
                "partitionValues": {},
                "size": 1_000,
                "modificationTime": 0,
                "dataChange": True,
                "stats": json.dumps(statistics),
            }
            actions.append({"add": add})
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return str(folder)


def write_iceberg(folder: Path, files: int, texts: Sequence[str] = ()) -> str:
    """Write the manifests of a table and return its metadata file; ``texts``: columns without bounds."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.schema import Schema
    from pyiceberg.typedef import Record
    from pyiceberg.types import LongType, NestedField, StringType

    folder.mkdir(parents=True)
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    kinds = [(f"c{n}", LongType()) for n in range(COLUMNS)] + [(name, StringType()) for name in texts]
    schema = Schema(*(NestedField(n + 1, name, of, required=False) for n, (name, of) in enumerate(kinds)))
    table = catalog.create_table("n.t", schema)
    for numbers in _commits(files):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for number in numbers:
                bounds = {n + 1: (number * COLUMNS + n).to_bytes(8, "little") for n in range(COLUMNS)}
                counts = dict.fromkeys(bounds, 0)
                append.append_data_file(
                    DataFile.from_args(
                        content=DataFileContent.DATA,
                        file_path=f"{table.location()}/data/part-{number:08}.parquet",
                        file_format=FileFormat.PARQUET,
                        partition=Record(),
                        record_count=100,
                        file_size_in_bytes=1_000,
                        column_sizes=dict.fromkeys(bounds, 50),
                        value_counts=dict.fromkeys(bounds, 100),
                        null_value_counts=counts,
                        nan_value_counts={},
                        lower_bounds=bounds,
                        upper_bounds=bounds,
                        split_offsets=[4],
                    )
                )
    return str(table.metadata_location)


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"all of it took {time.perf_counter() - began:.0f} s")
