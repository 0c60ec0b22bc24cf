"""Advice that can be decided on, and votes for other sets, small enough to be computed by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.schemas import RECOMMENDATIONS, WORKLOAD

ADVISED_AT = datetime(2026, 11, 19, 1, tzinfo=UTC)
SHAPES = {"s1": [10.0, 6_000.0, 0.0, 3.6e6], "s2": [10.0, 3_000.0, 1_000.0, 1.6e6]}
"""Ten queries of each shape: of 10,000 entries 6,000 and 4,000, of which 1,000 lie behind filters."""
SAVED = {"s1": {"a": 5_000.0, "b": 5_500.0, "c": -600.0}, "s2": {"b": 2_000.0, "c": 3_000.0}}
"""By shape, the entries that an inverted index on a column saves, where it is the only one."""
TREE_SAVES = {"s2": 3_900.0}


def publish_advice(
    store: ArtefactStore,
    night: str,
    tables: Sequence[str] = ("lineitem",),
    columns: Sequence[str] = ("a", "c"),
) -> None:
    """Publish the advice of inverted indexes on ``columns``, beside it a star-tree that was refused."""
    _publish(
        store,
        "recommendations",
        night,
        {table: _recommendation(store, night, table, columns) for table in tables},
    )
    _publish(store, "questions", night, {table: _question(store, night, table, columns) for table in tables})
    _publish(store, "workload", night, {table: _workload(store, night, table) for table in tables})


def _publish(store: ArtefactStore, artefact: str, night: str, parts: Mapping[str, Part]) -> None:
    store.publish(artefact, night, parts, replace="tables", created_at=ADVISED_AT, created_by="test")


def _recommendation(store: ArtefactStore, night: str, table: str, columns: Sequence[str]) -> Part:
    rows = [
        {
            "table": table,
            "verdict": "chosen",
            "kind": "inverted",
            "column": column,
            "rank": rank,
            "individual_saving_ratio": 0.5,
            "progressive_saving_ratio": 0.4,
            "size_bytes": 1_000 * rank,
        }
        for rank, column in enumerate(columns, start=1)
    ]
    files = store.staged_write("recommendations", night).write(
        table, pa.Table.from_pylist(rows, schema=RECOMMENDATIONS)
    )
    combined = {"saving_ratio": 0.74, "interval": [0.7, 0.78], "parts": {"indexes": 0.74}}
    return Part(files, {"answers": [], "combined": combined, "settings": {"advice.min_gain_ratio": 0.0}})


def _question(store: ArtefactStore, night: str, table: str, columns: Sequence[str]) -> Part:
    names = [f"inverted:{column}" for column in ("a", "b", "c")]
    document: dict[str, Any] = {
        "version": 1,
        "model_error_ratio": 0.02,
        "entries": [9_000.0, 5.2e6],
        "shapes": SHAPES,
        "votes": {
            "indexes": names,
            "lists": [
                [
                    shape_id,
                    0,
                    False,
                    [
                        [[names.index(f"inverted:{column}")], saved, saved**2 / 10, saved * 100, saved]
                        for column, saved in of_shape.items()
                    ],
                ]
                for shape_id, of_shape in SAVED.items()
            ],
        },
        "offers": {
            "star_tree": {
                "answered": [],
                "max_answers": None,
                "total_entries": 0.0,
                "gain_bytes": None,
                "candidates": [
                    {
                        "family": "star_tree",
                        "index": "tree",
                        "columns": ["b", "<i>c</i>"],
                        "saving_entries": TREE_SAVES,
                        "size_bytes": 5_000.0,
                        "config": {"tableIndexConfig": {"starTreeIndexConfigs": [{"x": 1}]}},
                        "is_exclusive": True,
                        "rank": 0.0,
                        "variant": "COUNT__*",
                    }
                ],
            }
        },
        "chosen": [f"inverted:{column}" for column in columns],
        "kept": [[], [], []],
        "size_bytes": {name: 1_000 * number for number, name in enumerate(names, start=1)},
        "times": None,
        "mistrust": "",
        "unit": "entries",
        "file_bytes": 0.0,
        "interval_factors": [1.0, 1.0],
        "is_baseline": False,
    }
    content = gzip.compress(json.dumps(document).encode())
    return Part((store.staged_write("questions", night).write_file(table, "question.json.gz", content),))


def _workload(store: ArtefactStore, night: str, table: str) -> Part:
    rows = [
        {
            **{field.name: 0 for field in WORKLOAD if pa.types.is_integer(field.type)},
            **{field.name: 0.0 for field in WORKLOAD if pa.types.is_floating(field.type)},
            "table": table,
            "shape_id": shape_id,
            "text": f"SELECT COUNT(*) FROM x WHERE {shape_id} = 'secret<script>'",
            "skeleton": "",
            "instances": [],
        }
        for shape_id in SHAPES
    ]
    files = store.staged_write("workload", night).write(table, pa.Table.from_pylist(rows, schema=WORKLOAD))
    return Part(files)
