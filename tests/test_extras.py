"""A missing library of an extra is one line that names the extra, as pyproject.toml has it."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest
from starskip.errors import MissingExtra
from starskip.extras import EXTRAS, missing_extra, needing_extra

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _library(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def test_the_table_of_extras_is_that_of_the_project() -> None:
    declared = {
        name: {_library(each) for each in libraries}
        for name, libraries in PROJECT["optional-dependencies"].items()
        if name != "all"
    }
    assert declared == {name: set(extra.libraries.values()) for name, extra in EXTRAS.items()}


def test_all_is_every_extra() -> None:
    assert PROJECT["optional-dependencies"]["all"] == [f"starskip[{','.join(sorted(EXTRAS))}]"]


def test_the_page_of_installing_has_every_extra_with_its_libraries() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for name in EXTRAS:
        assert re.search(rf"^\| `{name}` \|", page, re.MULTILINE), name


@pytest.mark.parametrize(
    ("extra", "module", "line"),
    [
        (
            "delta",
            "deltalake",
            "Delta tables need deltalake, which is not installed: pip install 'starskip[delta]'",
        ),
        (
            "star-trees",
            "duckdb",
            "Star-trees and computed filters need duckdb, which is not installed: "
            "pip install 'starskip[star-trees]'",
        ),
        (
            "airflow",
            "airflow.providers.standard",
            "Nights in Airflow need apache-airflow-providers-standard, which is not installed: "
            "pip install 'starskip[airflow]'",
        ),
    ],
)
def test_a_missing_library_is_one_line(
    extra: str, module: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing_extra(extra) == ""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as error, needing_extra(extra):
        importlib.import_module(module)
    assert (str(error.value), error.value.extra) == (line, extra)
    assert missing_extra(extra) == line


def test_a_library_that_lacks_a_library_of_its_own_is_to_be_upgraded() -> None:
    words = r"deltalake cannot be imported \(No module named 'arro3'\): pip install --upgrade"
    with pytest.raises(MissingExtra, match=words), needing_extra("delta"):
        raise ModuleNotFoundError("No module named 'arro3'", name="arro3")


def test_a_missing_module_of_our_own_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such"), needing_extra("delta"):
        import starskip.no_such  # noqa: F401


def test_nothing_is_said_where_the_library_is_there() -> None:
    with needing_extra("delta"):
        import deltalake
    assert deltalake is sys.modules["deltalake"]
