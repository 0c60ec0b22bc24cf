"""FROM and ``--table NAME``: a store that was given a name answers to that name alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from seed_example import CONFIG, ROWS

QUERY = "SELECT SUM(Impressions) FROM {} WHERE Country = 'CA'"
FALLBACK = "SELECT SUM(Impressions) FROM {} WHERE Impressions > 1"
PLACES = {
    "tree": QUERY,
    "files": FALLBACK,
    "WITH": "WITH x AS (SELECT Impressions AS i FROM {}) SELECT SUM(i) FROM x",
    "subquery": "SELECT SUM(i) FROM (SELECT Impressions AS i FROM {}) y",
}


def sql(star_tree: Any, query: str, *options: str) -> Result:
    result: Result = star_tree.call("sql", "--star-tree", star_tree.tree, query, "--format", "json", *options)
    return result


def rows(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["rows"]


def require_refused(result: Result, *told: str) -> None:
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    assert all(each in result.stderr for each in told), result.stderr


@pytest.fixture
def named(star_tree: Any) -> Any:
    star_tree.built(star_tree.write("seed.csv", ROWS), CONFIG, options=("--table", "webViews"))
    return star_tree


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name",
    ["webViews", "webviews", "WEBVIEWS", '"webViews"', "db.webViews", '"db"."webViews"', '"db.webViews"'],
)
def test_a_named_store_answers_to_its_name(named: Any, place: str, name: str) -> None:
    """As Pinot finds a table: in any case, and without the database where only the rest is known."""
    expected = 600 if place == "tree" else 2200
    assert rows(sql(named, PLACES[place].format(name))) == [[expected]]
    if '"' not in name:
        assert rows(sql(named, PLACES[place].format(name), "--dialect", "spark")) == [[expected]]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name", ["airlineStats", "seed", "t", "web_views", "webViews_OFFLINE", "webViews.other", '"web"', "db.t"]
)
def test_any_other_name_is_an_error_that_says_both(named: Any, place: str, name: str) -> None:
    asked = name.replace('"', "")
    require_refused(sql(named, PLACES[place].format(name)), f"asks {asked}", "star-trees are of webViews")


@pytest.mark.parametrize(
    "from_",
    [
        "webViews, other",
        "webViews JOIN other ON 1 = 1",
        "other, webViews",
        "webViews CROSS JOIN (SELECT 1 AS x FROM other) y",
        "webViews, (VALUES (1), (2)) v(x)",
        "webViews, UNNEST([1, 2]) v",
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
def test_a_second_relation_is_an_error(star_tree: Any, from_: str, is_named: bool) -> None:
    options = ("--table", "webViews") if is_named else ()
    star_tree.built(star_tree.write("seed.csv", ROWS), CONFIG, options=options)
    require_refused(sql(star_tree, f"SELECT COUNT(*) FROM {from_}"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["t", "airlineStats", "db.seed"])
def test_without_a_name_any_one_stands_in_from(star_tree: Any, place: str, name: str) -> None:
    star_tree.built(star_tree.write("seed.csv", ROWS), CONFIG)
    assert rows(sql(star_tree, PLACES[place].format(name))) == [[600 if place == "tree" else 2200]]


def test_a_table_beside_itself_is_one_table(named: Any) -> None:
    query = "SELECT COUNT(*) FROM webViews a JOIN db.WEBVIEWS b ON a.Country = b.Country"
    assert rows(sql(named, query)) == [[2 * 2 + 2 * 2 + 3 * 3]]


@pytest.mark.parametrize("change", ["none", "growth", "rewrite", "rebuild", "rebuild by name", "damage"])
def test_the_name_survives(star_tree: Any, change: str) -> None:
    source = star_tree.write("seed/1.csv", ROWS).parent
    star_tree.built(source, CONFIG, options=("--table", "webViews"))
    match change:
        case "growth":
            star_tree.write("seed/2.csv", ROWS)
        case "rewrite":
            star_tree.write("seed/1.csv", ROWS.replace("400", "401"))
        case "damage":
            for path in star_tree.tree.rglob("*-base.parquet"):
                path.unlink()
    if change.startswith("rebuild"):
        star_tree.built(
            source, CONFIG, options=("--table", "webViews") if change == "rebuild by name" else ()
        )
    else:
        assert star_tree.refresh().exit_code == 0
    assert sql(star_tree, QUERY.format("webViews")).exit_code == 0
    require_refused(sql(star_tree, QUERY.format("seed")), "are of webViews")
    told = star_tree.call("star-tree", "describe", star_tree.tree, "--format", "json").stdout
    assert (json.loads(told)["table"], json.loads(told)["answers_to"]) == ("webViews", "webViews")


def test_a_store_without_a_name_gets_one_by_a_build_of_the_same_files(star_tree: Any) -> None:
    source = star_tree.write("seed.csv", ROWS)
    star_tree.built(source, CONFIG)
    star_tree.built(source, CONFIG, options=("--table", "webViews"))
    assert rows(sql(star_tree, QUERY.format("webViews"))) == [[600]]
    require_refused(sql(star_tree, QUERY.format("seed")), "are of webViews")


def test_a_store_of_another_table_is_left_alone(named: Any) -> None:
    other = named.write("other.csv", ROWS)
    require_refused(named.build(other, CONFIG), "of webViews", "give --table webViews")
    require_refused(
        named.build(other, CONFIG, options=("--table", "other")), "holds the star-trees of webViews"
    )
    named.built(other, CONFIG, options=("--table", "webViews"))
    assert rows(sql(named, QUERY.format("webViews"))) == [[600]]


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_no_name(star_tree: Any, name: str) -> None:
    result = star_tree.build(star_tree.write("seed.csv", ROWS), CONFIG, options=("--table", name))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--table" in result.stderr


def test_a_name_with_control_characters_stays_on_its_line(star_tree: Any) -> None:
    star_tree.built(star_tree.write("seed.csv", ROWS), CONFIG, options=("--table", "a\x1b[31m\nb"))
    require_refused(sql(star_tree, QUERY.format("t")), "a\\x1b[31m\\nb")
