"""Queries that a real Pinot 0.11 answered from star-trees, and the documents that it read for them.

Measured by benchmarks/pinot_tree_matching.py --truth, whose prediction is held against it here.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
from starskip.star_tree.star_tree_config import StarTreeConfig

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[5]
TRUTH = ROOT / "tests" / "data" / "truth" / "pinot_trees"
TABLES = sorted(file.stem for file in TRUTH.glob("*.json"))
WITHIN_RATIO = 0.05


@pytest.fixture(scope="module")
def predicting() -> ModuleType:
    file = ROOT / "benchmarks" / "pinot" / "tree_matching" / "predicted.py"
    spec = importlib.util.spec_from_file_location("predicted_of_the_benchmark", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def predictions(predicting: ModuleType, table: str) -> list[tuple[dict[str, Any], Any]]:
    """Return each measured query with its prediction."""
    document = json.loads((TRUTH / f"{table}.json").read_text(encoding="utf-8"))
    prediction = predicting.TablePrediction(
        [pq.read_table(TRUTH / name) for name in document["segments"]],
        [StarTreeConfig.from_document(tree) for tree in document["trees"]],
        document["pinot_version"],
        columns=document["columns"],
        raw=document["raw"],
        inverted=document["inverted"],
    )
    asked = [query for query in document["queries"] if not query["error"]]
    assert len(asked) >= 90
    return [(query, prediction.predicted(query["sql"])) for query in asked]


def near(told: float, counted: float) -> bool:
    return abs(told - counted) <= max(WITHIN_RATIO * counted, 0.5)


@pytest.mark.parametrize("table", TABLES)
def test_used_or_not_is_told_as_pinot_does(predicting: ModuleType, table: str) -> None:
    wrong = [
        query["sql"]
        for query, told in predictions(predicting, table)
        if query["used"] == bool(told.reason)
        # Where nothing is read either way, it cannot be seen which way it was.
        and (query["documents_scanned"] or query["entries_in_filter"] or told.documents_scanned)
    ]
    assert wrong == []


@pytest.mark.parametrize("table", TABLES)
def test_documents_and_entries_are_those_that_pinot_counted(predicting: ModuleType, table: str) -> None:
    read = [
        (query, told)
        for query, told in predictions(predicting, table)
        if query["used"] and not told.reason and told.by_trees_alone
    ]
    assert len(read) >= 30
    documents = [near(told.documents_scanned, query["documents_scanned"]) for query, told in read]
    entries = [
        near(
            told.entries_in_filter + told.entries_post_filter,
            query["entries_in_filter"] + query["entries_post_filter"],
        )
        for query, told in read
    ]
    assert sum(documents) / len(documents) >= 0.97
    assert sum(entries) / len(entries) >= 0.93
    told_entries = sum(told.entries_in_filter + told.entries_post_filter for _, told in read)
    counted = sum(query["entries_in_filter"] + query["entries_post_filter"] for query, _ in read)
    assert told_entries == pytest.approx(counted, rel=0.03)
