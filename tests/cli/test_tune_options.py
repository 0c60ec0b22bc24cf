"""The options of the seed's tuner, packed metadata, weights, and advice without a log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
Tune = Callable[..., dict[str, Any]]

LOG = str(Path(__file__).parents[2] / "include" / "sample" / "logs" / "broker-2026-11-18.log.gz")
INVERTED = ("--index", "inverted")
LINEITEM = ("--log", LOG, "--tables", "lineitem", *INVERTED)


@pytest.fixture(scope="module")
def metadata(call: Call, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Packed metadata of all of the sample's segments."""
    path = tmp_path_factory.mktemp("packed") / "metadata.json"
    segments = Path(__file__).parents[2] / "include" / "sample" / "segments"
    assert call("collect-metadata", "--segments", segments, "--output", path).exit_code == 0
    return str(path)


@pytest.fixture(scope="module")
def advise(call: Call, metadata: str) -> Tune:
    """Return the tables of ``tune --metadata … --format json``."""

    def run(*arguments: str) -> dict[str, Any]:
        result = call("tune", "--metadata", metadata, "--format", "json", *arguments)
        assert result.exit_code == 0, result.stderr
        tables: dict[str, Any] = json.loads(result.stdout)["tables"]
        return tables

    return run


def columns(advice: dict[str, Any], table: str = "lineitem") -> list[str]:
    found: list[str] = advice[table]["inverted_index_columns"]
    return found


@pytest.mark.parametrize("strategy", ["estimation", "parser", "frequency", "freq"])
def test_strategies_work_from_metadata_alone(strategy: str, advise: Tune) -> None:
    (advice,) = advise(*LINEITEM, "--strategy", strategy, "--max-indexes", "3").values()
    assert list(advice)[:3] == ["inverted_index_columns", "sorted_column", "predicted_saving_ratio"]
    assert advice["inverted_index_columns"][0] == "l_suppkey"
    assert advice["predicted_saving_ratio"] == pytest.approx(0.63, abs=0.06)
    low, high = advice["predicted_interval"]
    assert low < advice["predicted_saving_ratio"] < high
    assert (advice["queries"], advice["unparsed"]) == (900, 0)


def test_estimation_finds_what_leapfrog_finds(advise: Tune, tune: Tune) -> None:
    estimated = advise(*LINEITEM, "--max-indexes", "3", "--unit", "entries")["lineitem"]
    simulated = tune(*LINEITEM, "--max-indexes", "3", "--unit", "entries")["lineitem"]
    assert estimated["inverted_index_columns"] == simulated["inverted_index_columns"]
    assert estimated["predicted_saving_ratio"] == pytest.approx(simulated["predicted_saving_ratio"], abs=0.04)


def test_leapfrog_gives_way_and_says_so(call: Call, metadata: str) -> None:
    arguments = ("tune", "--metadata", metadata, *LINEITEM, "--strategy", "leapfrog", "--max-indexes", "1")
    said = "Strategy estimation: leapfrog needs rows of segments, and the metadata has none."
    text = call(*arguments)
    assert text.stdout.splitlines()[0] == said
    document = call(*arguments, "--format", "json")
    assert document.stderr == f"starskip: note: {said}\n"
    assert columns(json.loads(document.stdout)["tables"]) == ["l_suppkey"]


def test_a_sorted_column_from_metadata(advise: Tune) -> None:
    (advice,) = advise("--log", LOG, "--tables", "lineitem", "--index", "sorted").values()
    assert (advice["sorted_column"], advice["inverted_index_columns"]) == ("l_suppkey", [])


def test_pinots_own_spelling(call: Call, metadata: str, advise: Tune) -> None:
    result = call(
        "IndexTuner", "-index", "inverted", "-strategy", "parser", "-log", LOG, "-metadata", metadata,
        "-untrackedInvertedIndex", '{"lineitem":["l_suppkey"]}', "-selectivityThreshold", "10",
        "-entriesScannedThreshold", "5000", "-numQueriesThreshold", "20", "-tables", "lineitem",
        "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    ours = advise(
        *LINEITEM, "--strategy", "parser", "--untracked-inverted-index", '{"lineitem":["l_suppkey"]}',
        "--selectivity-threshold", "10", "--entries-scanned-threshold", "5000",
        "--num-queries-threshold", "20",
    )  # fmt: skip
    assert json.loads(result.stdout)["tables"] == ours
    assert "l_suppkey" not in columns(ours)
    assert ["l_suppkey"] in [
        r["columns"] for r in ours["lineitem"]["refused"] if r["reason"] == "already_indexed"
    ]


@pytest.mark.parametrize("strategy", ["estimation", "parser", "frequency"])
def test_columns_at_the_selectivity_threshold_are_left_out(strategy: str, advise: Tune) -> None:
    few = {
        "l_shipmode",
        "l_returnflag",
        "l_linestatus",
        "l_shipinstruct",
        "l_linenumber",
        "l_discount",
        "l_tax",
    }
    every = (*LINEITEM, "--strategy", strategy, "--min-gain", "0", "--max-indexes", "30")
    assert few & set(columns(advise(*every)))
    assert not few & set(columns(advise(*every, "--selectivity-threshold", "11")))


def test_thresholds_take_votes_and_leave_the_denominator(advise: Tune) -> None:
    every = advise(*LINEITEM, "--max-indexes", "1")["lineitem"]
    large = advise(*LINEITEM, "--max-indexes", "1", "--entries-scanned-threshold", "400000")["lineitem"]
    none = advise(*LINEITEM, "--entries-scanned-threshold", "100000000")["lineitem"]
    assert large["queries"] == every["queries"] == none["queries"] == 900
    assert 0 < large["predicted_saving_ratio"] < every["predicted_saving_ratio"]
    assert (none["inverted_index_columns"], none["predicted_saving_ratio"]) == ([], 0.0)


def test_leapfrog_takes_the_thresholds_too(tune: Tune) -> None:
    options = ("--entries-scanned-threshold", "74953", "--selectivity-threshold", "100", "--max-indexes", "9")
    (advice,) = tune(*LINEITEM, *options, "--min-gain", "0").values()
    assert columns({"lineitem": advice})[0] == "l_suppkey"
    assert not {"l_shipmode", "l_returnflag"} & set(columns({"lineitem": advice}))
    assert advice["queries"] == 900


def test_too_few_queries_for_any_advice(advise: Tune, call: Call, metadata: str) -> None:
    (advice,) = advise(*LINEITEM, "--num-queries-threshold", "901").values()
    assert (advice["inverted_index_columns"], advice["drops"], advice["queries"]) == ([], [], 900)
    assert {refused["reason"] for refused in advice["refused"]} == {"not_enough_queries"}
    text = call("tune", "--metadata", metadata, *LINEITEM, "--num-queries-threshold", "901").stdout
    assert "  not enough data for this table: " in text.splitlines()[-1]
    assert columns(advise(*LINEITEM, "--num-queries-threshold", "500"))


def test_query_weights_scale_votes_and_entries(advise: Tune, tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_text(json.dumps({"lineitem": 3}))
    plain, same = (advise(*LINEITEM, *w)["lineitem"] for w in ((), ("--query-weights", str(path))))
    assert same["inverted_index_columns"] == plain["inverted_index_columns"]
    assert same["predicted_saving_ratio"] == pytest.approx(plain["predicted_saving_ratio"], rel=1e-6)
    query = "SELECT SUM(l_quantity) FROM lineitem WHERE l_suppkey = 1"
    shape = "SELECT COUNT(*) FROM lineitem WHERE l_receiptdate = '1995-01-01'"
    path.write_text(json.dumps({query: 5, shape: 2}))
    assert advise(*LINEITEM, "--query-weights", str(path))["lineitem"]["queries"] == 900


def test_a_guess_without_a_log(call: Call, metadata: str, deep_store: Path) -> None:
    for source in (("--metadata", metadata), ("--segments", str(deep_store))):
        result = call("tune", *source, *INVERTED, "--tables", "lineitem", "--max-indexes", "4")
        basis, _, table, advice, *ranked = result.stdout.splitlines()
        assert basis == "A guess without a log, from cardinalities alone: every column queried equally."
        assert table == "lineitem: no log"
        assert advice.startswith("  inverted indexes on l_comment, l_extendedprice, l_partkey, ")
        assert ranked[0].startswith("    1. l_comment: alone 6.")
    document = call("tune", "--metadata", metadata, *INVERTED, "--format", "json")
    assert document.stderr == f"starskip: note: {basis}\n"
    tables = json.loads(document.stdout)["tables"]
    assert list(tables) == ["airlineStats", "lineitem"]
    low, high = tables["lineitem"]["predicted_interval"]
    assert 0 < low < tables["lineitem"]["predicted_saving_ratio"] < high < 1
    assert (tables["lineitem"]["queries"], tables["lineitem"]["drops"]) == (0, [])
    assert columns(tables, "airlineStats")[0] == "RandomAirports", "14.6 values a row"


def test_column_weights_stand_for_a_log(advise: Tune, tmp_path: Path) -> None:
    table = ("--tables", "lineitem", *INVERTED, "--column-weights")
    (advice,) = advise(*table, "l_returnflag=9,l_partkey=1").values()
    assert advice["inverted_index_columns"] == ["l_returnflag", "l_partkey"]
    (tmp_path / "weights.json").write_text(json.dumps({"lineitem": {"l_returnflag": 9, "l_partkey": 1}}))
    assert advise(*table, str(tmp_path / "weights.json")) == {"lineitem": advice}
    (tmp_path / "weights.json").write_text(json.dumps({"l_returnflag": 9, "l_partkey": 1, "elsewhere": 4}))
    assert advise(*table, str(tmp_path / "weights.json")) == {"lineitem": advice}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--log", LOG, *INVERTED], 2, "give either --segments DIR or --metadata FILE"),
        (["--log", LOG, *INVERTED, "--segments", "x", "--metadata", "y"], 2, "give either"),
        ([*INVERTED, "--metadata", "{metadata}", "--tables", "nope"], 3, "unknown table nope"),
        ([*LINEITEM, "--metadata", "{metadata}", "--selectivity-threshold", "-1"], 2, "-1"),
        ([*LINEITEM, "--metadata", "{metadata}", "--selectivity-threshold", "nan"], 2, "nan"),
        ([*LINEITEM, "--metadata", "{metadata}", "--entries-scanned-threshold", "x"], 2, "x is not allowed"),
        ([*LINEITEM, "--metadata", "{metadata}", "--num-queries-threshold", "-4"], 2, "-4"),
        ([*LINEITEM, "--metadata", "{metadata}", "--untracked-inverted-index", "[1"], 2, "is no JSON"),
        ([*LINEITEM, "--metadata", "{metadata}", "--untracked-inverted-index", '{"t":1}'], 2, "column names"),
        ([*LINEITEM, "--metadata", "{metadata}", "--query-weights", "{tmp}/none"], 2, "No such file"),
        ([*LINEITEM, "--metadata", "{metadata}", "--query-weights", "{metadata}"], 2, "needs a weight"),
        (
            [*LINEITEM, "--metadata", "{metadata}", "--query-weights", "{tmp}/void"],
            2,
            "void: workload.query_weights is",
        ),
        ([*LINEITEM, "--metadata", "{metadata}", "--query-weights", "/dev/zero"], 2, "more than 16 MB"),
        ([*LINEITEM, "--metadata", "{metadata}", "--budget-bytes", "0"], 2, "'--budget-bytes': 0"),
        ([*LINEITEM, "--metadata", "{metadata}", "--tables", "\udcff"], 2, "--tables: \\udcff is no UTF-8"),
        ([*INVERTED, "--metadata", "{metadata}", "--column-weights", "/dev/zero.json"], 2, "cannot read"),
        (
            [*INVERTED, "--metadata", "{metadata}", "--column-weights", "x=1"],
            3,
            "no column x in airlineStats,",
        ),
        ([*INVERTED, "--metadata", "{tmp}/none.json"], 3, "none.json: cannot be read"),
        ([*INVERTED, "--metadata", "{tmp}/no_table.json"], 3, "holds no table: give a file of collect"),
        ([*INVERTED, "--metadata", "{tmp}/half.json"], 3, "half.json: t\\ud800 is no name of a table"),
        ([*INVERTED, "--segments", "{tmp}"], 3, "holds no table: give the folder with one folder a table"),
        ([*LINEITEM, "--metadata", "{metadata}", "--column-weights", "a=1"], 2, "without --log"),
        ([*INVERTED, "--metadata", "{metadata}", "--column-weights", "a"], 2, "neither COLUMN=WEIGHT nor"),
        ([*INVERTED, "--metadata", "{metadata}", "--column-weights", "a=x"], 2, "weight of a"),
        ([*INVERTED, "--metadata", "{metadata}", "--column-weights", "{tmp}/none.json"], 2, "cannot read"),
        ([*LINEITEM, "--metadata", "{metadata}", "--strategy", "magic"], 2, "magic"),
    ],
)
def test_bad_input(
    arguments: list[str], code: int, said: str, call: Call, metadata: str, tmp_path: Path
) -> None:
    (tmp_path / "void").touch()
    (tmp_path / "no_table.json").write_text('{"col_meta": {}}')
    (tmp_path / "half.json").write_text('{"col_meta": {"t\\ud800": {"a": {}}}}')
    result = call(
        "tune", *(each.replace("{tmp}", str(tmp_path)).replace("{metadata}", metadata) for each in arguments)
    )
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr.splitlines()[-1]


def test_a_weight_of_a_column_that_the_named_table_lacks(call: Call, metadata: str, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"lineitem": {"nope": 1}}')
    result = call("tune", *INVERTED, "--metadata", metadata, "--column-weights", tmp_path / "w.json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "starskip: table lineitem has no column nope: take its weight away\n"


def test_weights_of_columns_that_no_table_has_are_named(call: Call, metadata: str, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"l_tax": 2, "typo": 1, "nowhere": {"a": 1}}')
    result = call("tune", *INVERTED, "--metadata", metadata, "--column-weights", tmp_path / "w.json")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "starskip: warning: no table nowhere here: its weight counts for nothing",
        "starskip: warning: no column typo in airlineStats, lineitem: its weight counts for nothing",
    ]


def test_an_untracked_index_on_no_column_is_named_and_not_dropped(call: Call, metadata: str) -> None:
    untracked = ("--untracked-inverted-index", '{"lineitem": ["typo"]}')
    result = call("tune", *LINEITEM, "--metadata", metadata, *untracked)
    assert result.exit_code == 0
    assert result.stderr == "starskip: warning: table lineitem has no column typo with an index\n"
    assert "drop" not in result.stdout


def test_more_indexes_than_there_are_columns_cost_no_time(advise: Tune) -> None:
    many = advise(*LINEITEM, "--max-indexes", "9" * 30)
    assert many == advise(*LINEITEM, "--max-indexes", "16")


def test_sizes_are_told_and_a_budget_is_kept_to(tune: Tune, call: Call, deep_store: Path) -> None:
    def sizes(advice: dict[str, Any]) -> list[int]:
        return [advice["size_bytes"][f"inverted:{name}"] for name in advice["inverted_index_columns"]]

    free = tune(*LINEITEM, "--max-indexes", "3", "--unit", "entries")["lineitem"]
    assert free["inverted_index_columns"] == ["l_suppkey", "l_shipmode", "l_partkey"]
    half = sum(sizes(free)) // 2
    (advice,) = tune(*LINEITEM, "--budget-bytes", str(half)).values()
    assert 0 < sum(sizes(advice)) <= half
    over = [r["columns"][0] for r in advice["refused"] if r["reason"] == "over_storage_budget"]
    assert over
    assert all(advice["size_bytes"][f"inverted:{name}"] > 0 for name in over)
    text = call("tune", *LINEITEM, "--segments", deep_store, "--max-indexes", "1").stdout
    assert re.search(r"1\. l_suppkey: alone .*, adds .*, takes \d+ kB$", text, re.MULTILINE)


def test_packed_metadata_knows_no_sizes(advise: Tune) -> None:
    assert advise(*LINEITEM)["lineitem"]["size_bytes"] == {}
    (advice,) = advise(*LINEITEM, "--budget-bytes", "1000000").values()
    assert advice["inverted_index_columns"] == []
    assert {"size_unknown"} <= {refused["reason"] for refused in advice["refused"]}


def test_any_setting_of_the_night_is_set_by_its_name(call: Call, metadata: str, logs: Path) -> None:
    asked = ("tune", "--log", logs, "--metadata", metadata, "--index", "inverted", "--tables", "lineitem")
    named = ("--set", "advice.max_indexes=1", "--set", "scoring.exclusive_vote_ratio=0.5")
    one = call(*asked, *named, "--format", "json")
    assert len(json.loads(one.stdout)["tables"]["lineitem"]["inverted_index_columns"]) == 1
    for text, said in (
        ("g0=1", "'g0' is not known"),
        ("advice.max_indexes=0", "advice.max_indexes: 0 is not allowed: use a whole number of at least 1"),
        ("sufficient_column_scans", "is not GROUP.NAME=VALUE"),
    ):
        wrong = call(*asked, "--set", text)
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert said in wrong.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-indexes", "3", "--set", "advice.max_indexes=4"), "advice.max_indexes is given two values"),
        (("--set", "max_indexes=4"), "--set: setting 'max_indexes' is not known: use advice.max_indexes"),
        (
            ("--set", "advice.max_indexes=3", "--set", "advice.max_indexes=4"),
            "advice.max_indexes is given two",
        ),
        (("--set", "workload.query_weights=x"), "--set: workload.query_weights is no JSON"),
    ],
)
def test_two_values_for_one_setting_and_weights_that_are_none(
    options: tuple[str, ...], said: str, call: Call, metadata: str, logs: Path
) -> None:
    asked = ("tune", "--log", logs, "--metadata", metadata, "--index", "inverted", "--tables", "lineitem")
    wrong = call(*asked, *options)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert said in wrong.stderr
    same = call(*asked, "--max-indexes", "1", "--set", "advice.max_indexes=1.0", "--format", "json")
    assert len(json.loads(same.stdout)["tables"]["lineitem"]["inverted_index_columns"]) == 1
