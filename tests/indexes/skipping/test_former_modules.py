"""Modules that users name or import are found by their former names, with a warning."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator

import pytest
from starskip.errors import ConfigError
from starskip.indexes.skipping.advice import measured_candidates
from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.contrib import user_agents
from starskip.indexes.skipping.former_modules import current_name
from starskip.indexes.skipping.registry import index_from_specification, load_modules
from starskip.predicates.expression import Call

HOME = "starskip.indexes.skipping"


@pytest.fixture(autouse=True)
def modules_as_they_were() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    for name in sys.modules.keys() - before.keys():
        if name.startswith("starskip.skipping") or name.endswith("_functions"):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("starskip.skipping.user_agents", f"{HOME}.contrib.user_agents"),
        ("starskip.skipping.metric_distances", f"{HOME}.contrib.metric_distances"),
        ("starskip.skipping.geospatial_functions", f"{HOME}.contrib.geospatial_functions"),
        (f"{HOME}.user_agents", f"{HOME}.contrib.user_agents"),
        ("starskip.skipping.index_types.prefix", f"{HOME}.index_types.affixes"),
        ("starskip.skipping.clause", f"{HOME}.clause"),
        ("starskip.skipping.expression", "starskip.predicates.expression"),
        (f"{HOME}.expression", "starskip.predicates.expression"),
        ("starskip.skipping", HOME),
        (f"{HOME}.contrib.user_agents", f"{HOME}.contrib.user_agents"),
        ("starskip.skippings", "starskip.skippings"),
        ("my_indexes", "my_indexes"),
    ],
)
def test_the_present_name(former: str, present: str) -> None:
    assert current_name(former) == present


@pytest.mark.parametrize("name", ["user_agents", "metric_distances", "geospatial_functions"])
def test_a_named_module_is_loaded_by_its_former_name(name: str, caplog: pytest.LogCaptureFixture) -> None:
    former = f"starskip.skipping.{name}"
    with caplog.at_level(logging.WARNING, "starskip.skipping"):
        load_modules([former])
    assert caplog.messages == [
        f"module {former} is called {HOME}.contrib.{name} now; the former name goes with the next release"
    ]
    assert sys.modules[former] is importlib.import_module(f"{HOME}.contrib.{name}")


def test_a_module_of_a_user_imports_the_same_classes(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "starskip.skipping"):
        former = importlib.import_module("starskip.skipping.clause")
        types = importlib.import_module("starskip.skipping.index_types.column_index")
    assert former.Clause is Clause
    assert former.__spec__.name == f"{HOME}.clause"
    assert types.__name__ == f"{HOME}.index_types.column_index"
    assert "module starskip.skipping.clause is called starskip.indexes.skipping.clause now" in caplog.text


@pytest.mark.parametrize("former", ["starskip.skipping.expression", f"{HOME}.expression"])
def test_what_other_families_share_is_imported_by_its_former_name(former: str) -> None:
    module = importlib.import_module(former)
    sys.modules.pop(former)
    assert module.Call is Call


def test_a_module_that_never_was_is_no_module() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("starskip.skipping.nothing_of_that_name")
    with pytest.raises(ConfigError, match=r"'starskip\.skipping\.nothing' of index types cannot be imported"):
        load_modules(["starskip.skipping.nothing"])


@pytest.mark.parametrize(
    "module", ["starskip.skipping.user_agents", f"{HOME}.user_agents", f"{HOME}.contrib.user_agents"]
)
def test_nights_know_the_functions_by_any_name_of_their_module(module: str) -> None:
    index = index_from_specification("formatted:c:user_agent")
    assert measured_candidates._unnamed(index, [module]) is None
    assert measured_candidates._unnamed(index, ["my_indexes"]) is not None


def test_without_the_library_of_user_agents_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(user_agents, "ua_parser", None)
    monkeypatch.setattr(user_agents, "version", missing)
    user_agents.get_agent_name.cache_clear()
    install = r"ua-parser: pip install 'starskip\[user-agents\]'$"
    with pytest.raises(ConfigError, match=install):
        index_from_specification("formatted:c:user_agent")
    with pytest.raises(ConfigError, match=install):
        user_agents.get_agent_name("Mozilla/5.0")


def test_without_the_library_of_geometry_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    for name in ("geospatial_functions", "geometry_predicates", "geometries"):
        monkeypatch.delitem(sys.modules, f"{HOME}.contrib.{name}", raising=False)
    with pytest.raises(ConfigError, match=r"^ST_Contains .* pip install 'starskip\[geospatial\]'$"):
        load_modules([f"{HOME}.contrib.geospatial_functions"])
