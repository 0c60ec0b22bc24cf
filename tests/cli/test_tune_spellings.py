"""Spellings of names, aliases, options and functions in a log, read as Pinot reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Tune = Callable[..., dict[str, Any]]
Advised = Callable[..., dict[str, Any]]

PLAIN = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = {} AND l_shipmode <> 'AIR'"


@pytest.fixture
def advised(tune: Tune, line: Callable[..., str], tmp_path: Path) -> Advised:
    """Return the advice for lineitem from 20 queries of each text."""

    def run(texts: Iterable[str], *options: str, index: str = "inverted", tables: str = "LineItem") -> Any:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.log"
        path.write_text("".join(line(text.format(n), 149_906) for n in range(20) for text in texts))
        return tune("--log", str(path), "--tables", tables, "--index", index, *options)["lineitem"]

    return run


def test_spellings_of_names_and_functions_change_no_advice(advised: Advised) -> None:
    plain = advised([PLAIN])
    assert plain["inverted_index_columns"] == ["l_suppkey"]
    for text in (
        PLAIN.upper().replace("LINEITEM", "my_db.LineItem"),
        "SELECT COUNT(*) FROM lineitem WHERE \"L_SuppKey\" = {} AND lineitem.l_SHIPMODE <> 'AIR'",
        "SELECT COUNT(*) FROM lineitem WHERE equals(L_SUPPKEY, {}) AND notEquals(l_shipmode, 'AIR')"
        "; SET timeoutMs='5'; SET maxExecutionThreads = 3;",
    ):
        assert advised([text]) == plain, text
    assert advised([PLAIN], tables="default.LINEITEM") == plain


def test_an_alias_in_a_where_is_a_column_since_1_1(advised: Advised) -> None:
    text = "SELECT l_suppkey AS l_partkey FROM lineitem WHERE l_partkey = {} ORDER BY l_tax"
    assert advised([text])["inverted_index_columns"] == ["l_suppkey"]
    assert advised([text], "--pinot-version", "1.1")["inverted_index_columns"] == ["l_partkey"]


def test_a_query_that_skips_an_index_gains_nothing_from_it(advised: Advised) -> None:
    other = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 3 AND l_partkey = {}"
    skipping = f"set skipindexes = 'l_suppkey=inverted&l_partkey=INVERTED,range'; {other}"
    advice = advised([skipping])
    assert (advice["inverted_index_columns"], advice["unparsed"]) == ([], 0)
    assert all("or with skipIndexes" in refused["detail"] for refused in advice["refused"])
    both = advised([skipping, other])
    assert both["inverted_index_columns"]
    assert both["predicted_saving_ratio"] < 0.51
