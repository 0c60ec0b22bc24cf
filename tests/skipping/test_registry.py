"""Specifications, types of users, modules that register them."""

from __future__ import annotations

from importlib.metadata import PathDistribution

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import ConfigError
from starskip.predicates.column_name import column_name, column_path
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.registry import comes_along, index_from_specification, load_modules, register


@pytest.mark.parametrize(
    "specification",
    [
        "minmax:ts",
        "nulls:a.b.c",
        "valuelist:`a.b`.c",
        "bloom:c",
        "bloom:c:0.001",
        "hybrid:c",
        "hybrid:c:500",
        "prefix:c:15",
        "suffix:c:3",
        "gaplist:c:5",
        "geobox:lat,lng",
        "geobox:pos.lat,pos.lng:3",
        "formatted:c:user_agent",
        "metricdist:c:levenshtein",
        "metricdist:x,y,z:euclidean",
        "partition:c",
        "minmax:`a column, with: signs`",
    ],
)
def test_a_specification_is_the_name_of_its_index(specification):
    assert index_from_specification(specification).specification == specification


@pytest.mark.parametrize(
    ("specification", "why"),
    [
        ("", "write KIND:COLUMN"),
        ("minmax", "write KIND:COLUMN"),
        ("minmax:", "write KIND:COLUMN"),
        ("minmax:a b", "backticks"),
        ("minmax:a..b", "write KIND:COLUMN"),
        ("zonemap:c", "no index type is called zonemap; known are bloom.* name its module with --types"),
        ("minmax:a,b", "takes one column"),
        ("minmax:a:1", "takes no arguments"),
        ("bloom:a:2", "ratio of false positives"),
        ("bloom:a:nan", "ratio of false positives"),
        ("bloom:a:0.1:0.2", "ratio of false positives"),
        ("hybrid:a:0", "hybrid:COLUMN:VALUES"),
        ("prefix:a", "prefix:COLUMN:CHARACTERS"),
        ("suffix:a:0", "suffix:COLUMN:CHARACTERS"),
        ("gaplist:a:0", "gaplist:COLUMN:GAPS"),
        ("formatted:a:json", "formatted:COLUMN:FORMAT, one of user_agent"),
    ],
)
def test_specifications_that_are_none(specification, why):
    with pytest.raises(ConfigError, match=why):
        index_from_specification(specification)


@given(st.lists(st.text(min_size=1), min_size=1).map(tuple))
def test_any_path_has_one_name(path):
    assert column_path(column_name(path)) == path


def test_a_dot_in_a_name_is_no_field():
    assert column_name(("a.b",)) != column_name(("a", "b")) == "a.b"


@pytest.mark.parametrize(
    ("data_type", "why"),
    [
        ("string collate UNICODE_CI", "another order than that of its bytes"),
        ("variant", "none of the types"),
        ("interval day to second", "none of the types"),
        ("array<int>", "none of the types"),
    ],
)
def test_types_without_an_order_of_bytes_are_refused(data_type, why):
    for kind in ("minmax", "valuelist", "bloom", "hybrid", "partition"):
        with pytest.raises(ConfigError, match=why):
            index_from_specification(f"{kind}:c").check({"c": data_type})
    index_from_specification("nulls:c").check({"c": data_type})


def test_a_column_that_is_not_there():
    for specification in ("minmax:c", "nulls:c", "geobox:c,d", "metricdist:c:euclidean"):
        with pytest.raises(ConfigError, match="the table has no column c"):
            index_from_specification(specification).check({"d": "double"})


class Own(ColumnIndex):
    kind = "own_type"


def test_a_type_of_a_user():
    assert register(Own) is Own
    assert index_from_specification("own_type:c").columns == ("c",)
    # A cell of a notebook that runs again.
    again = type("Own", (ColumnIndex,), {"kind": "own_type"})
    register(again)
    assert isinstance(index_from_specification("own_type:c"), again)


def test_a_type_of_a_user_takes_all_types_but_texts_of_a_collation():
    for data_type in ("int", "string", "array<int>", "variant"):
        Own(["c"]).check({"c": data_type})
    with pytest.raises(ConfigError, match="another order than that of its bytes"):
        Own(["c"]).check({"c": "string collate UNICODE_CI"})
    with pytest.raises(ConfigError, match="the table has no column c"):
        Own(["c"]).check({})


def test_types_that_come_with_starskip_are_no_users():
    assert all(comes_along(type(index_from_specification(each))) for each in ("minmax:c", "ipnetworks:c"))
    of_ours = type(index_from_specification("ipnetworks:c"))
    assert not comes_along(Own) and not comes_along(type("Own", (of_ours,), {}))


def test_whose_a_type_is_is_read_once_from_the_installed_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not comes_along(Own)
    monkeypatch.setattr(PathDistribution, "read_text", lambda *_: pytest.fail("read again"))
    assert not comes_along(Own)


@pytest.mark.parametrize("kind", ["minmax", "ipnetworks", "Own", "a:b", "", None])
def test_kinds_that_a_user_cannot_have(kind):
    with pytest.raises(ConfigError, match="must be a word"):
        register(type("Own", (ColumnIndex,), {"kind": kind}))


def test_a_module_that_cannot_be_imported(tmp_path, monkeypatch):
    (tmp_path / "broken_types.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        ConfigError, match="'broken_types' of index types cannot be imported: ZeroDivisionError"
    ):
        load_modules(["broken_types"])


@pytest.mark.parametrize("name", ["no_such_types", "no_such.types"])
def test_a_module_that_is_not_there(name):
    with pytest.raises(ConfigError, match=f"{name!r}.*Python finds none of that name.*PYTHONPATH"):
        load_modules([name])


def test_a_module_that_needs_another_one(tmp_path, monkeypatch):
    (tmp_path / "needy_types.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="ModuleNotFoundError: No module named 'no_such_library'"):
        load_modules(["needy_types"])
