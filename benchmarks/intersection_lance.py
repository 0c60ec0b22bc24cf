"""Answers the questions of part 3 with Lance on files of its own, in a process and an environment of its own.

An order comes as JSON on stdin: ``files`` of Parquet, the ``place`` of the dataset, ``questions`` as filters,
and ``times``. The answer goes to the file ``answer``. Nothing of Starskip is imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet as pq

_INDEXES = (("ts", "BTREE"), ("lat", "BTREE"), ("lng", "BTREE"), ("message", "NGRAM"))


def main() -> None:
    import lance

    order = json.load(sys.stdin)
    place = Path(order["place"])
    schema = pq.read_schema(order["files"][0])

    def batches() -> Iterator[pa.RecordBatch]:
        for file in order["files"]:
            yield from pq.ParquetFile(file).iter_batches(batch_size=65_536)

    began = perf_counter()
    lance.write_dataset(batches(), place, schema=schema)
    written = perf_counter() - began
    data_bytes = _bytes(place)
    began = perf_counter()
    for column, kind in _INDEXES:
        lance.dataset(place).create_scalar_index(column, index_type=kind)
    built = perf_counter() - began
    dataset = lance.dataset(place)
    plan = dataset.scanner(columns=["id"], filter=order["questions"][0]).explain_plan()

    def ask(question: str) -> list[int]:
        return dataset.to_table(columns=["id"], filter=question)["id"].to_pylist()

    ids = [sorted(ask(question)) for question in order["questions"]]
    taken = []
    for _ in range(order["times"]):
        for question in order["questions"]:
            began = perf_counter()
            ask(question)
            taken.append((perf_counter() - began) * 1000)
    found = {
        "ids": ids,
        "ms": taken,
        "write_s": written,
        "build_s": built,
        "data_bytes": data_bytes,
        "index_bytes": _bytes(place) - data_bytes,
        "uses_indexes": "ScalarIndexQuery" in plan,
    }
    Path(order["answer"]).write_text(json.dumps(found), encoding="utf-8")


def _bytes(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
