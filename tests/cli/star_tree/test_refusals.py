"""Refusals of ``starskip star-tree``: one line that names file, table or column, and exit code 3."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from seed_example import CONFIG, ROWS

LISTS = pa.table({"tags": [["x", "y"], ["z"]], "pair": [{"a": 1}, {"a": 2}], "name": ["x", "y"], "m": [1, 2]})


def require_refused(result: Result, *told: str) -> None:
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("starskip: ") and result.stderr.count("\n") == 1
    assert result.stderr.rstrip("\n").isprintable() and len(result.stderr) < 600
    for each in told:
        assert each in result.stderr


WRONG_CONFIGS: dict[str, tuple[Any, list[str]]] = {
    "unknown dimension": (
        ("name city", "SUM__m"),
        ["dimensionsSplitOrder", "lists has no column city", "tags"],
    ),
    "unknown aggregated column": (("name", "SUM__price"), ["SUM__price", "lists has no column price"]),
    "multi-value dimension": (("tags", "COUNT__*"), ["dimensionsSplitOrder", "tags of lists is multi-value"]),
    "multi-value aggregated": (("m", "MAX__tags"), ["MAX__tags", "column tags of lists is multi-value"]),
    "nested dimension": (("pair", "COUNT__*"), ["column pair of lists is struct", "plain values"]),
    "sum of texts": (("m", "SUM__name"), ["SUM__name", "name of lists is string, not a number"]),
    "DISTINCTCOUNT": (
        ("name", "DISTINCTCOUNT__m"),
        ["0.json", "DISTINCTCOUNT__m", "use", "DISTINCTCOUNTHLL"],
    ),
    "PERCENTILE95": (("name", "PERCENTILE95__m"), ["PERCENTILE95__m", "PERCENTILEEST or PERCENTILETDIGEST"]),
    "no such function": (("name", "MODE__m"), ["MODE__m", "no function of a star-tree"]),
    "star of another function": (("name", "SUM__*"), ["SUM__*", "only COUNT takes *"]),
    "no pair": (("name", "SUM"), ["'SUM' is not FUNCTION__column"]),
    "duplicate dimension": (("name m name", "COUNT__*"), ["dimensionsSplitOrder: name is there twice"]),
    "no dimension": (("", "COUNT__*"), ["at least one dimension"]),
    "no aggregation": (("name", ""), ["at least one pair"]),
    "control characters": (("\x1b[31mred", "COUNT__*"), ["\\x1b[31mred"]),
    "a long name": (("n" * 1_000_000, "COUNT__*"), ["no column nnn"]),
    "not JSON": ("{'dimensionsSplitOrder'", ["0.json: is not JSON"]),
    "too deep": ("[" * 100_000, ["0.json: is not JSON"]),
    "empty list": ("[]", ["0.json: is an empty list"]),
    "no object": ("[3]", ["0.json", "an entry must be an object"]),
    "unknown key": ('{"dimensionSplitOrder": ["name"]}', ["0.json: dimensionSplitOrder: is no key"]),
}


@pytest.mark.parametrize("wrong", WRONG_CONFIGS)
def test_a_wrong_configuration_is_refused_before_anything_is_written(
    star_tree: Any, tree_config: Any, wrong: str
) -> None:
    given, told = WRONG_CONFIGS[wrong]
    source = star_tree.write("lists.parquet", LISTS)
    require_refused(star_tree.build(source, given if isinstance(given, str) else tree_config(*given)), *told)
    assert not [path for path in star_tree.tree.rglob("*") if path.is_file()]


def test_a_configuration_that_is_no_file(star_tree: Any) -> None:
    source = star_tree.write("seed.csv", ROWS)
    require_refused(
        star_tree.build(source, options=("--config", "nowhere.json")), "nowhere.json: No such file"
    )


def parquet(*, damaged: bool = False) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [str(n) for n in range(9999)], "m": range(9999)}), sink)
    content = bytearray(sink.getvalue().to_pybytes())
    if damaged:
        content[40:400] = bytes(360)
    return bytes(content)


WRONG_SOURCES: dict[str, tuple[dict[str, str | bytes], list[str]]] = {
    "missing": ({}, ["source: there is no such file or folder"]),
    "no file of a known kind": ({"x.json": "{}"}, ["has no .csv and no .parquet file"]),
    "two kinds": (
        {"1.csv": "a,m\n1,2\n", "2.parquet": parquet()},
        [".csv and .parquet files; name a folder"],
    ),
    "not Parquet": ({"x.parquet": b"PAR1 but not for long"}, ["x.parquet: cannot be read"]),
    "empty Parquet": ({"x.parquet": b""}, ["x.parquet: cannot be read"]),
    "cut Parquet": ({"x.parquet": parquet()[:-9]}, ["x.parquet: cannot be read"]),
    "damaged rows": (
        {"1.parquet": parquet(), "2.parquet": parquet(damaged=True)},
        ["2.parquet: cannot be read"],
    ),
    "empty CSV": ({"x.csv": ""}, ["x.csv: cannot be read"]),
    "ragged CSV": ({"x.csv": "a,m\nx,1\ny,2,3\n"}, ["x.csv: cannot be read", "Row #3"]),
    "other columns": ({"1.csv": "a,m\nx,1\n", "2.csv": "a\nx\n"}, ["2.csv: column m is missing"]),
    "other types": ({"1.csv": "a,m\nx,1\n", "2.csv": "a,m\nx,much\n"}, ["2.csv: column m", "'much'"]),
}


@pytest.mark.parametrize("wrong", WRONG_SOURCES)
def test_a_source_that_cannot_be_read_leaves_the_former_tree(
    star_tree: Any, tree_config: Any, wrong: str
) -> None:
    sound = star_tree.write("former/source.csv", "a,m\nx,1\n")
    star_tree.built(sound, tree_config("a", "SUM__m"))
    files, told = WRONG_SOURCES[wrong]
    for name, content in files.items():
        star_tree.write(f"source/{name}", content)
    require_refused(star_tree.build(star_tree.folder / "source", tree_config("a", "SUM__m")), *told)
    assert star_tree.documents() == "a,SUM__m\nx,1\n"


def test_a_file_of_another_kind_is_named(star_tree: Any) -> None:
    source = star_tree.write("rows.txt", ROWS)
    require_refused(star_tree.build(source, CONFIG), "rows.txt: is neither a .csv nor a .parquet file")


@pytest.mark.parametrize(
    ("cast", "told"),
    [
        ("Locale=word", "column Locale: 'word' is no type such as string"),
        ("City=string", "there is no column City to cast to string"),
        ("Browser=int64", "column Browser: Row #2: CSV conversion error to int64: invalid value 'Chrome'"),
    ],
)
def test_a_cast_that_cannot_be_done(star_tree: Any, cast: str, told: str) -> None:
    source = star_tree.write("seed.csv", ROWS)
    require_refused(star_tree.build(source, CONFIG, options=("--cast", cast)), "seed.csv", told)


@pytest.mark.parametrize("place", ["notes", "a file", "the source", "below the source", "another table"])
def test_an_output_that_holds_something_else(star_tree: Any, tree_config: Any, place: str) -> None:
    source = star_tree.write("table/seed.csv", ROWS)
    tree = star_tree.tree
    match place:
        case "notes":
            before, told = star_tree.write("tree/notes.txt", "mine"), "holds something else (notes.txt)"
        case "a file":
            before, told = star_tree.write("tree", "mine"), "tree: is a file"
        case "the source":
            source = before = star_tree.write("tree/seed.csv", ROWS).parent
            told = "the table itself"
        case "below the source":
            source, before, told = star_tree.folder, source, "the table itself"
        case _:
            star_tree.built(star_tree.write("orders.csv", "a\n1\n"), tree_config("a", "COUNT__*"))
            before, told = tree, "holds the star-trees of orders; name a new folder, or one of seed"
    require_refused(star_tree.build(source, CONFIG), str(tree), told)
    assert before.exists()


@pytest.mark.parametrize("command", ["refresh", "describe", "documents"])
def test_a_place_without_a_tree_is_named(star_tree: Any, command: str) -> None:
    star_tree.write("file", "x")
    (star_tree.folder / "empty").mkdir()
    for place, told in (("nowhere", "no such folder"), ("file", "no such folder"), ("empty", "no star-tree")):
        require_refused(star_tree.call("star-tree", command, star_tree.folder / place), place, told)


def test_wrong_arguments_are_exit_code_2(star_tree: Any) -> None:
    source = star_tree.write("seed.csv", ROWS)
    for options in (("--cast", "Locale"), ("--cast", "=string"), ("--cast", "Locale=")):
        result = star_tree.build(source, CONFIG, options=options)
        assert result.exit_code == 2 and "is not COLUMN=TYPE" in result.stderr
    star_tree.built(source, CONFIG)
    for wrong in (
        ("build",),
        ("build", "--input", source, "--output", star_tree.tree),
        ("documents",),
        ("documents", star_tree.tree, "--tree", "0"),
        ("documents", star_tree.tree, "--format", "xml"),
        ("describe", star_tree.tree, "--format", "csv"),
        ("rebuild", star_tree.tree),
    ):
        result = star_tree.call("star-tree", *wrong)
        assert (result.exit_code, result.stdout) == (2, ""), wrong
